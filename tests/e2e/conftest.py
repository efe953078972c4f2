"""An engine, the action's image, a GitHub on the loopback; without an engine these tests are skipped, in `.ci/run` they fail instead."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.runner import ACT, IMAGE, ROOT, RUNNER_IMAGE, Runner
from tests.fakegithub import TOKENS, FakeGitHub
from tools.release import FROM_SOURCE


def _engine() -> str:
    """Why there is no engine to test with; "" where there is one."""
    if not os.environ.get("DOCKER_HOST"):
        return (
            "DOCKER_HOST is not set, so there is no Docker Engine to run the action on (.ci/run starts one)"
        )
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "version"], check=False, capture_output=True).returncode
    ):
        return "the Docker Engine that DOCKER_HOST names does not answer"
    if not ACT.exists():
        return "act is not installed (requirements/e2e.lock)"
    return ""


@pytest.fixture(scope="session")
def engine() -> None:
    """A Docker Engine that answers, with the image that jobs run in."""
    if reason := _engine():
        if os.environ.get("ML_AUDIT_E2E") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    if subprocess.run(
        ["docker", "image", "inspect", RUNNER_IMAGE], check=False, capture_output=True
    ).returncode:
        subprocess.run(["docker", "pull", "--quiet", RUNNER_IMAGE], check=True)


@pytest.fixture(scope="session")
def image(engine: None) -> str:
    """The action's image, built from this source."""
    # The legacy builder where BuildKit's plugin is missing; both are to build it.
    has_buildkit = (
        subprocess.run(["docker", "buildx", "version"], check=False, capture_output=True).returncode == 0
    )
    done = subprocess.run(
        ["docker", "build", "--quiet", "--tag", IMAGE, ROOT],
        env={**os.environ, "DOCKER_BUILDKIT": "1" if has_buildkit else "0"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return IMAGE


@pytest.fixture(scope="session")
def action(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The action as a release has it: action.yml names the image. The composite one lies beside, with the source that it runs."""
    folder = tmp_path_factory.mktemp("action")
    text = (ROOT / "action.yml").read_text("utf-8")
    assert FROM_SOURCE in text
    (folder / "action.yml").write_text(text.replace(FROM_SOURCE, f"\n  image: docker://{image}\n"), "utf-8")
    for name in ("audit", "templates", "composite", "requirements"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "entrypoint.py", folder)
    return folder


@pytest.fixture
def github(github_server: FakeGitHub) -> FakeGitHub:
    """The fake GitHub of this test."""
    return github_server


@pytest.fixture
def runner(action: Path, github: FakeGitHub, tmp_path: Path) -> Iterator[Runner]:
    """A runner whose jobs may write."""
    artifacts = tmp_path / "artifacts"
    artifacts.mkdir()
    yield Runner(action, artifacts, github.api_url, github.graphql_url, TOKENS.write)
