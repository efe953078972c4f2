"""The composite action's script on this machine, and the action under act."""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e import payloads
from tests.e2e.repositories import make_change, publish
from tests.e2e.runner import ROOT, Runner

WORKFLOW = """\
name: composite
on: pull_request
permissions: {}
jobs:
  audit:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v7
      - id: ml-audit
        uses: OWNER/ml-audit/composite@v1
        with:
          comment: "off"
          fail-on: never
      - env:
          SCORE: ${{ steps.ml-audit.outputs.score }}
        run: test -n "$SCORE"
"""


def test_the_script_installs_the_lock_and_runs_the_action(engine, tmp_path: Path):
    """Inputs that are not valid end it with exit code 2 before anything is audited, which shows that they arrived."""
    output = tmp_path / "output"
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
        "PYTHON": sys.executable if sys.version_info < (3, 14) else "python3",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_WORKSPACE": str(tmp_path),
        "INPUT_FAIL_ON": "sometimes",
    }
    script = ["bash", str(ROOT / "composite" / "run.sh")]
    for _ in range(2):  # the second time the environment is there
        done = subprocess.run(
            [*script, "audit"], env=environment, cwd=tmp_path, check=False, capture_output=True, text=True
        )
        assert done.returncode == 2, done.stdout + done.stderr
        assert "fail-on" in done.stdout + done.stderr and "sometimes" in done.stdout + done.stderr
    assert (tmp_path / "ml-audit" / "venv" / "installed.lock").exists()


def test_under_act(runner: Runner, github, tmp_path: Path):
    change = make_change(tmp_path / "trainer")
    publish(github, change)
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, WORKFLOW)
    assert ran.jobs == {"audit": "success"}, ran.text
    assert ran.outputs["conclusion"] == "success"
    assert "ml-audit" in ran.summary
