"""What a repository has of its own for this program, and which rules that lets run."""

import msgspec

from audit.engine.options import HIGHEST_LEVEL
from audit.profiles.definitions import is_own
from audit.source.snapshot import Entry, EntryKind, Snapshot

MANIFESTS = ("ml-audit.yaml", "reprollm.yaml")
"""The manifest, and the one of the tool whose users move here; the first that there is counts."""
LOCK = "ml-audit.lock"
_RUNS = ".ml-audit/runs/"
_OWN = (*MANIFESTS, LOCK, ".ml-audit/")


class Landmarks(msgspec.Struct, frozen=True):
    """`manifest`: its entry; `lock`, `runs`, `profiles`: whether there is a lock, a recorded run, a profile of the repository's own."""

    manifest: Entry | None = None
    lock: bool = False
    runs: bool = False
    profiles: bool = False

    @property
    def level(self) -> int:
        """The highest level for which there is something to look at: 1 with a manifest, 2 with a lock or runs."""
        return 2 if self.lock or self.runs else 1 if self.manifest else 0


def landmarks(snapshot: Snapshot) -> Landmarks:
    """What the snapshot has at its root."""
    found = [e for e in snapshot.entries if e.path.startswith(_OWN) and e.kind is EntryKind.FILE]
    by_path = {entry.path: entry for entry in found}
    return Landmarks(
        manifest=next((by_path[name] for name in MANIFESTS if name in by_path), None),
        lock=LOCK in by_path,
        runs=any(path.startswith(_RUNS) for path in by_path),
        profiles=any(is_own(path) for path in by_path),
    )


def not_followed(snapshot: Snapshot) -> str:
    """What is said of a manifest that is a link, "" where there is none: links are not followed."""
    links = [e.path for e in snapshot.entries if e.kind is EntryKind.SYMLINK and e.path in MANIFESTS]
    return f"{links[0]} is a symbolic link, which is not followed: it was not read." if links else ""


def level_of(snapshot: Snapshot, asked: str) -> int:
    """The level at which the snapshot is audited; `asked` ("auto", "0", "1", "2") lowers it, and never raises it."""
    there = min(landmarks(snapshot).level, HIGHEST_LEVEL)
    return there if asked == "auto" else min(int(asked), there)
