"""One side of a comparison that is a document: a lock file or a manifest, on this machine or in a snapshot."""

from pathlib import Path

import msgspec

from audit.documents.drift import Side
from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH
from audit.documents.state import State
from audit.engine.levels import MANIFESTS
from audit.source.snapshot import EntryKind, Snapshot

LOCK, MANIFEST = "lock", "manifest"
_CALLED = {LOCK: "A lock", MANIFEST: "A manifest", "code": "The code", "run": "A run"}
_LARGEST = 16 * 2**20


class Told(msgspec.Struct, frozen=True):
    """What a side says, and what it is."""

    state: State
    side: Side


def document(name: str) -> Told | None:
    """The lock or manifest in the file `name`; None where that is no file. Raises DocumentError."""
    try:
        path = Path(name).expanduser()
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except (OSError, RuntimeError, ValueError):
        return None
    kind = LOCK if path.name.endswith(".lock") else MANIFEST
    return Told(_state(kind, data, path.name), Side(name, kind))


def in_snapshot(snapshot: Snapshot, kind: str) -> State | None:
    """What the snapshot's own lock or manifest says; None where it has none. Raises DocumentError."""
    names = (LOCK_PATH,) if kind == LOCK else MANIFESTS
    for name in names:
        entry = next((e for e in snapshot.entries if e.path == name and e.kind is EntryKind.FILE), None)
        if entry is not None:
            [(_, data)] = snapshot.reader.read([entry])
            if isinstance(data, str):
                raise DocumentError(f"{name} cannot be read: {data}.")
            return _state(kind, data, name)
    return None


def _state(kind: str, data: bytes, name: str) -> State:
    if len(data) > _LARGEST:
        raise DocumentError(f"{name} is larger than {_LARGEST // 2**20} MiB.")
    if name.rpartition("/")[2] == "reprollm.lock":
        from audit.state.reprollm_lock import read_reprollm_lock

        return read_reprollm_lock(data, name)
    if kind == LOCK:
        from audit.lock.document import read_lock
        from audit.lock.projection import state_of as of_lock

        return of_lock(read_lock(data, name), name)
    from audit.engine.locked import declared_state
    from audit.state.manifests import read_any

    return declared_state(read_any(data, name))


def alike(a: Told, b: Told) -> tuple[State, State, tuple[str, ...]]:
    """The two states as far as they can be compared: where one is of another kind than the other, what both speak of."""
    if a.side.kind == b.side.kind:
        return a.state, b.state, ()
    both = a.state.leaves.keys() & b.state.leaves.keys()
    left = len(a.state.leaves) + len(b.state.leaves) - 2 * len(both)
    note = f"{_CALLED[a.side.kind]} was compared with {_CALLED[b.side.kind].lower()}: {left} settings that only one of them speaks of were left out."
    first, second = (
        State({path: leaf for path, leaf in told.state.leaves.items() if path in both}) for told in (a, b)
    )
    return first, second, (note,) if left else ()
