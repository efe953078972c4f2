"""What was looked at, and what was not: every file of the snapshot is accounted for."""

from audit.documents.place import Gap
from audit.documents.report import Coverage
from audit.facts.collect import Collection
from audit.source.snapshot import EntryKind, Snapshot


def coverage(snapshot: Snapshot, collection: Collection) -> Coverage:
    """Every file is parsed, partial, skipped, or of a kind that carries no facts: those are counted in a note and were not opened."""
    files = [entry for entry in snapshot.entries if entry.kind is not EntryKind.SUBMODULE]
    partial = [
        Gap(path, facts.partial)
        for path, facts in collection.facts.items()
        if facts.partial and facts.body is not None
    ]
    unread = [
        Gap(path, facts.partial or "nothing in it could be read")
        for path, facts in collection.facts.items()
        if facts.body is None
    ]
    links = [
        Gap(entry.path, "a symbolic link, not followed") for entry in files if entry.kind is EntryKind.SYMLINK
    ]
    parsed = sum(facts.body is not None and not facts.partial for facts in collection.facts.values())
    skipped = sorted({*collection.skipped, *snapshot.gaps, *unread, *links})
    without = len({entry.path for entry in files} - collection.facts.keys() - {gap.path for gap in skipped})
    notes = list(snapshot.notes)
    if without:
        notes.append(
            f"Not opened, of kinds that carry no facts (data, pictures, binaries, other languages): {without}."
        )
    return Coverage(len(files), parsed, tuple(sorted(partial)), tuple(skipped), tuple(notes))
