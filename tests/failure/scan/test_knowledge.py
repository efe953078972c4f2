from pathlib import Path

import pytest

from audit.failure.scan import knowledge as module
from audit.failure.scan.knowledge import knowledge
from audit.failure.scan.matcher import LiteralMatcher

made = knowledge.__wrapped__


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two signatures instead of five hundred."""
    few = {entry.signature.id: entry for entry in knowledge().entries}
    monkeypatch.setattr(
        "audit.failure.catalogue.load.load", lambda paths: (few["disk_full"], few["cuda_oom"])
    )


def test_what_was_compiled_is_kept_and_used(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(tmp_path)
    (file,) = tmp_path.iterdir()
    monkeypatch.setattr(module, "_made", lambda: pytest.fail("compiled again"))
    second = made(tmp_path)
    assert second.entries == first.entries
    line = b"OSError: [Errno 28] No space left on device\n"
    assert {second.owners[index] for index, _ in second.finder.scan(line) or []} >= {0}
    assert file.name.startswith("signatures-")


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_cache_is_made_again(tmp_path: Path, quick: None, damage: bytes | None) -> None:
    made(tmp_path)
    (file,) = tmp_path.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[:-1000] + bytes(1000) if damage is None else damage)
    again = made(tmp_path)
    assert [entry.signature.id for entry in again.entries] == ["disk_full", "cuda_oom"]
    assert again.marker.scan(b"Traceback (most recent call last):\n")


def test_a_folder_that_cannot_be_written_is_no_matter(tmp_path: Path, quick: None) -> None:
    (tmp_path / "file").write_text("")
    assert made(tmp_path / "file").entries


def test_without_hyperscan_every_sample_is_met_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.failure.scan.matcher.hyperscan_version", lambda: "")
    slow = made(None)
    assert isinstance(slow.finder, LiteralMatcher)
    block = b"".join(line.encode() + b"\n" for entry in slow.entries for line in entry.positive)
    lines = [(index, line) for index, entry in enumerate(slow.entries) for line in entry.positive]
    met = {
        (slow.owners[index], block.count(b"\n", 0, end - 1))
        for index, end in slow.finder._found(block, once=False)
    }
    assert [line for place, (index, line) in enumerate(lines) if (index, place) not in met] == []
