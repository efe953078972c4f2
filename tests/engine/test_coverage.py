from audit.documents.place import Gap
from audit.engine.coverage import coverage
from audit.facts.collect import collect
from audit.source.snapshot import Entry, EntryKind, Snapshot
from tests.signals.building import MemoryReader

CONTENTS = {
    "a.py": b"import torch\n",
    "old.py": b"print 'two'\n",
    "config.yaml": b"\x00\x01binary",
    "big.json": b"{}",
    "picture.png": b"\x89PNG",
    "link": b"a.py",
}
ENTRIES = (
    Entry("a.py", "1", size=13),
    Entry("big.json", "2", size=10**9),
    Entry("config.yaml", "3", size=8),
    Entry("link", "4", EntryKind.SYMLINK, 4),
    Entry("old.py", "5", size=12),
    Entry("picture.png", "6", size=4),
    Entry("sub", "7", EntryKind.SUBMODULE),
)


def test_every_file_is_accounted_for():
    snapshot = Snapshot(
        "x/y", ENTRIES, MemoryReader(CONTENTS), gaps=(Gap("gone.py", "never fetched"),), notes=("A note.",)
    )
    seen = coverage(snapshot, collect(snapshot, jobs=1, cache=None, now=0))
    assert (seen.files, seen.parsed) == (6, 1)
    assert [gap.path for gap in seen.partial] == ["old.py"]
    skipped = {gap.path: gap.why for gap in seen.skipped}
    assert skipped.pop("big.json").startswith("953.7 MiB, over the limit")
    assert skipped == {
        "config.yaml": "binary content",
        "gone.py": "never fetched",
        "link": "a symbolic link, not followed",
    }
    assert seen.notes == (
        "A note.",
        "Not opened, of kinds that carry no facts (data, pictures, binaries, other languages): 1.",
    )


def test_a_file_that_is_read_and_told_about_is_counted_once():
    gap = Gap("a.py", "the archive holds it twice; the first was taken")
    snapshot = Snapshot("x/y", ENTRIES[:1], MemoryReader(CONTENTS), gaps=(gap,))
    seen = coverage(snapshot, collect(snapshot, jobs=1, cache=None, now=0))
    assert (seen.files, seen.parsed, seen.skipped, seen.notes) == (1, 1, (gap,), ())


def test_the_highest_level_is_that_of_the_catalogue():
    from audit.engine.options import HIGHEST_LEVEL
    from audit.rules.catalogue import RULES

    assert max(rule.level for rule in RULES) == HIGHEST_LEVEL
