"""What of a change cannot be compared is said, never taken for sameness."""

import time
from pathlib import Path

import pytest

from audit.engine.diff import DiffOptions, diff
from audit.engine.options import Effects
from tests.engine.repositories import commit, repository, write


def drift(folder: Path):
    effects = Effects(time.time, {"HOME": str(folder), "PATH": "/usr/bin:/bin"})
    return diff(DiffOptions(f"{folder}@HEAD", str(folder), use_cache=False), effects)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    deep = '{"lr":' * 20_000 + "1" + "}" * 20_000
    there = repository(
        tmp_path / "r",
        {"train.py": "import torch\n", "conf/deep.json": deep, "prompts/a.txt": "word " * 20_000},
    )
    commit(there)
    return there


def test_a_configuration_that_cannot_be_read_is_named(folder: Path) -> None:
    write(folder, {"conf/deep.json": '{"lr":' * 20_000 + "2" + "}" * 20_000})
    found = drift(folder)
    assert found.changes == ()
    assert found.notes == ("conf/deep.json was not compared: it could not be read whole.",)


def test_a_prompt_too_long_to_be_shown_is_compared_by_its_content(folder: Path) -> None:
    write(folder, {"prompts/a.txt": "Word " + "word " * 19_999})
    [change] = drift(folder).changes
    assert (change.severity.value, change.diff) == ("HIGH", "")
    assert "prompts/a.txt" in change.setting
