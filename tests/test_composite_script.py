"""Where the composite action keeps downloaded wheels, and under which key."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "composite" / "run.sh"


def run(folder: Path, word: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHON": sys.executable,
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    return subprocess.run(
        ["bash", SCRIPT, word], env=environment, check=False, capture_output=True, text=True
    )


@pytest.fixture(autouse=True)
def bash() -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")


def test_place(tmp_path):
    assert run(tmp_path, "place").returncode == 0
    said = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert said["wheels"] == f"{tmp_path}/ml-audit/wheels"
    system, machine, python, digest = said["key"].removeprefix("ml-audit-").split("-")
    assert system == sys.platform and machine and python == f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert len(digest) == 16 and int(digest, 16)


def test_another_word_is_refused(tmp_path):
    done = run(tmp_path, "nothing")
    assert done.returncode == 2 and "run.sh place" in done.stderr
