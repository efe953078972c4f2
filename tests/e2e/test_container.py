"""The container alone, on work trees that do not belong to its user."""

import subprocess
from pathlib import Path

import pytest

from tests.e2e.container import container
from tests.e2e.repositories import NAME, SECRET, Change, make_change, publish
from tests.e2e.runner import RUNNER_IMAGE
from tests.fakegithub import TOKENS, FakeGitHub


@pytest.fixture
def change(image: str, tmp_path: Path, github: FakeGitHub) -> Change:
    """The pull request, checked out by the runner's own user, as on a machine of one's own."""
    made = make_change(tmp_path / "trainer")
    publish(github, made)
    subprocess.run(
        [
            "docker",
            "run",
            "--rm",
            f"--volume={made.folder}:/trainer",
            RUNNER_IMAGE,
            "chown",
            "-R",
            "1001:1001",
            "/trainer",
        ],
        check=True,
    )
    return made


def run(github: FakeGitHub, change: Change, scratch: Path, *variables: str, **inputs: str) -> tuple[int, str]:
    """Exit code, and what was written to the log."""
    scratch.mkdir()
    command = container(github, change, scratch, **inputs)
    command[2:2] = [f"--env={variable}" for variable in variables]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_a_work_tree_of_another_user(github: FakeGitHub, change: Change, tmp_path: Path):
    code, said = run(github, change, tmp_path / "scratch")
    assert code == 1, said
    outputs = (tmp_path / "scratch" / "output").read_text("utf-8")
    assert "conclusion" in outputs and "findings-new" in outputs
    assert (change.folder / "ml-audit-report" / "report.json").exists()
    assert len(github.world.repositories[NAME].comments) == 1


def test_debug_logs_hold_no_secret(github: FakeGitHub, change: Change, tmp_path: Path):
    code, said = run(github, change, tmp_path / "scratch", "RUNNER_DEBUG=1", fail_on="never")
    assert code == 0, said
    assert "::debug::" in said
    assert TOKENS.write not in said and SECRET not in said


@pytest.mark.parametrize(
    ("name", "value"), [("fail_on", "sometimes"), ("annotations", "many"), ("mode", "x")]
)
def test_an_input_that_is_not_valid(
    github: FakeGitHub, change: Change, tmp_path: Path, name: str, value: str
):
    code, said = run(github, change, tmp_path / "scratch", **{name: value})
    assert code == 2
    assert name.replace("_", "-") in said and value in said and "allowed" in said
    assert github.requests == []


def test_an_audit_that_cannot_be_done(github: FakeGitHub, change: Change, tmp_path: Path):
    code, said = run(github, change, tmp_path / "scratch", path="nowhere")
    assert code == 3 and "nowhere" in said
    code, said = run(github, change, tmp_path / "again", path="nowhere", on_error="warn")
    assert code == 0 and "::warning" in said
