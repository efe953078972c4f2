"""The release: action.yml names the built image by digest, nothing else changes; the workflow's own scripts, with stand-ins for Docker and GitHub."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from audit import __version__
from tests.engine.repositories import git
from tools.release import released

ROOT = Path(__file__).parent.parent
ACTION = (ROOT / "action.yml").read_text("utf-8")
IMAGE = f"docker://ghcr.io/owner/ml-audit@sha256:{'0a' * 32}"
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))


def test_the_image_takes_the_place_of_the_dockerfile():
    before, after = yaml.safe_load(ACTION), yaml.safe_load(released(ACTION, IMAGE))
    assert before["runs"].pop("image") == "Dockerfile"
    assert after["runs"].pop("image") == IMAGE
    assert before == after


@pytest.mark.parametrize(
    "image",
    [
        "docker://ghcr.io/owner/ml-audit:1.2.3",
        f"ghcr.io/owner/ml-audit@sha256:{'0a' * 32}",
        IMAGE + "0",
        IMAGE + "\nx",
        "",
    ],
)
def test_only_an_image_by_digest_is_released(image):
    with pytest.raises(ValueError, match="not an image by digest"):
        released(ACTION, image)


def test_a_released_action_is_not_released_again():
    with pytest.raises(ValueError, match="exactly once"):
        released(released(ACTION, IMAGE), IMAGE)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository with what the scripts touch, and stand-ins for `docker`, `gh` and the tools that are not everywhere."""
    origin, work, tools = tmp_path / "origin.git", tmp_path / "work", tmp_path / "bin"
    work.mkdir()
    tools.mkdir()
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(origin))
    git(work, "init", "-q", "-b", "main")
    git(work, "remote", "add", "origin", str(origin))
    for name in ("action.yml", "Dockerfile", "audit/__init__.py", "tools/release.py"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_bytes((ROOT / name).read_bytes())
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Source")
    git(work, "push", "-q", "origin", "main")
    for name, says in (("docker", f"echo sha256:{'0b' * 32}"), ("gh", 'echo "$@" >> "$SAID"')):
        (tools / name).write_text(f"#!/bin/sh\n{says}\n")
        (tools / name).chmod(0o755)
    return work


def run(clone: Path, job: str, **variables: str) -> int:
    """Runs the last script of a job of the workflow, as the runner would; its exit code."""
    script = [step["run"] for step in WORKFLOW["jobs"][job]["steps"] if "run" in step][-1]
    environment = {
        "PATH": f"{clone.parent / 'bin'}:{os.environ['PATH']}",
        "HOME": str(clone.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "SAID": str(clone.parent / "said"),
        "GITHUB_OUTPUT": str(clone.parent / "output"),
        **variables,
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=clone, env=environment, check=False
    ).returncode


def prepare(clone: Path, version: str, ref: str = "refs/heads/main") -> int:
    return run(clone, "prepare", VERSION=version, REF=ref, REPOSITORY="Owner/ML-Audit")


def test_a_release_is_prepared(clone):
    assert prepare(clone, __version__) == 0
    said = dict(line.split("=", 1) for line in (clone.parent / "output").read_text().splitlines())
    assert said == {
        "image": "ghcr.io/owner/ml-audit",
        "base": f"python:3.13-slim-trixie@sha256:{'0b' * 32}",
    }


def test_a_release_of_another_branch_version_or_twice_is_refused(clone):
    assert prepare(clone, __version__, "refs/heads/topic") != 0
    assert prepare(clone, "9.9.9") != 0
    assert prepare(clone, "$(touch x)") != 0
    git(clone, "push", "-q", "origin", f"HEAD:refs/tags/v{__version__}")
    assert prepare(clone, __version__) != 0


def test_a_release_is_published(clone):
    digest = f"sha256:{'0a' * 32}"
    source = git(clone, "rev-parse", "HEAD")
    variables = {"IMAGE": "ghcr.io/owner/ml-audit", "DIGEST": digest, "GH_TOKEN": "t"}
    assert run(clone, "publish", VERSION="1.2.3", **variables) == 0
    tagged = git(clone, "ls-remote", "origin", "refs/tags/v1.2.3").split()[0]
    assert git(clone, "rev-parse", f"{tagged}^") == source
    assert git(clone, "diff", "--name-only", source, tagged).split() == ["action.yml"]
    assert f"image: docker://ghcr.io/owner/ml-audit@{digest}" in git(clone, "show", f"{tagged}:action.yml")
    assert git(clone, "ls-remote", "origin", "refs/tags/v1").split()[0] == tagged
    assert git(clone, "ls-remote", "origin", "refs/heads/main").split()[0] == source
    assert "release create v1.2.3 --verify-tag" in (clone.parent / "said").read_text()

    # The next release moves v1.
    git(clone, "switch", "-q", "--detach", source)
    assert run(clone, "publish", VERSION="1.2.4", **variables) == 0
    assert git(clone, "ls-remote", "origin", "refs/tags/v1").split()[0] != tagged
