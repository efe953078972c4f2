"""What docs/action.md says in numbers and names is what the code does."""

from pathlib import Path

import pytest

from audit.action import claimed, inputs
from audit.engine.exit_codes import ExitCode
from audit.github import client, review
from audit.github.overriding import FOLDER, NAMES
from audit.report import comment, sarif, summary

PAGE = (Path(__file__).parent.parent / "docs" / "action.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ("comment", f"{comment.MAX_COMMENT:,} characters"),
        ("annotations of the check run", f"at most {inputs.MOST_ANNOTATIONS}"),
        ("summary", f"{summary.MAX_SUMMARY:,} bytes"),
        ("suggestions", f"{review._MOST_SUGGESTIONS} in a review"),
        ("SARIF", f"{sarif._MOST_RESULTS:,} results"),
        ("GitHub's rate limits", f"{client.BUDGET:.0f} seconds"),
        ("report of the first run", f"{claimed.LARGEST // 2**20} MiB, {claimed._MOST_FINDINGS:,} findings"),
    ],
)
def test_limits(row, number):
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {row} |")]
    assert number in line


def test_exit_codes():
    for code in ExitCode:
        if code.value < 5:
            assert f"\n| {code.value} | " in PAGE


def test_templates():
    assert f"`{FOLDER}/`" in PAGE
    assert all(f"`{name}`" in PAGE for name in NAMES)
    for block in ("head", "blocking", "new", "fixed", "known", "details", "foot"):
        assert f"`{block}`" in PAGE
