"""The image: small, byte-compiled, without tools to build with, and as GitHub asks a container action to be."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runner import RUNNER_IMAGE

BEYOND_BASE = 150 * 10**6


def docker(*arguments: str) -> str:
    done = subprocess.run(["docker", *arguments], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def inside(image: str, script: str) -> str:
    return docker("run", "--rm", "--network", "none", "--entrypoint", "sh", image, "-c", script).strip()


@pytest.fixture(scope="module")
def about(image: str) -> dict[str, Any]:
    [found] = json.loads(docker("image", "inspect", image))
    assert isinstance(found, dict)
    return found


def test_its_size_beyond_the_base(image, about):
    [base] = json.loads(docker("image", "inspect", RUNNER_IMAGE))
    assert 0 < about["Size"] - base["Size"] < BEYOND_BASE


def test_it_is_as_github_asks(about):
    assert about["Config"]["User"] in ("", "root")
    assert about["Config"]["WorkingDir"] in ("", "/")
    assert about["Config"]["Entrypoint"][-1] == "/opt/ml-audit/app/entrypoint.py"


def test_it_says_what_it_is(about):
    labels = {
        name.removeprefix("org.opencontainers.image."): text
        for name, text in about["Config"]["Labels"].items()
    }
    assert labels["title"] == "ml-audit" and labels["licenses"] == "Apache-2.0"
    assert {"source", "version", "revision", "description"} <= set(labels)


def test_no_tools_to_build_with_and_no_caches(image):
    assert inside(image, "command -v gcc cc make g++ ld; true") == ""
    assert inside(image, "ls /opt/ml-audit/bin | grep -x pip; true") == ""
    assert (
        inside(
            image, "find /root/.cache /var/lib/apt/lists /var/cache/apt /tmp -mindepth 1 2> /dev/null; true"
        )
        == ""
    )


def test_everything_is_byte_compiled(image):
    script = """
        find /opt/ml-audit/app /opt/ml-audit/lib -name '*.py' -printf '%h/__pycache__/%f\\n' | sed 's/\\.py$/.cpython-313.pyc/' |
        while read -r file; do [ -f "$file" ] || echo "$file"; done
    """
    assert inside(image, script) == ""


def test_git_has_what_reading_and_fetching_need(image):
    assert inside(image, "git --version").startswith("git version 2.")
    assert inside(image, "ldd /usr/lib/git-core/git-remote-https /usr/bin/git | grep 'not found'; true") == ""
    assert inside(image, "cd /tmp && git init -q . 2>/dev/null && git status --short && echo fine") == "fine"


def test_with_arguments_it_is_the_command(image):
    assert docker("run", "--rm", image, "--version").startswith("ml-audit")


def test_modules_of_the_workspace_are_not_imported(image, tmp_path: Path):
    """Not from the working directory, and not where PYTHONPATH says."""
    for name in ("audit.py", "msgspec.py", "sitecustomize.py"):
        (tmp_path / name).write_text("raise SystemExit('imported from the workspace')\n")
    done = docker(
        "run", "--rm", "--volume", f"{tmp_path}:/github/workspace", "--workdir", "/github/workspace",
        "--env", "PYTHONPATH=/github/workspace", image, "--version",
    )  # fmt: skip
    assert done.startswith("ml-audit")
