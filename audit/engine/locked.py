"""The lock of a snapshot, held against that snapshot."""

from typing import TYPE_CHECKING

from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH, LockedManifest
from audit.documents.signals import Signals
from audit.documents.state import State
from audit.lock.check import declared_digest, held
from audit.lock.document import read_lock
from audit.lock.files import SnapshotFiles
from audit.lock.found import Surroundings
from audit.lock.held import Held
from audit.source.snapshot import EntryKind, Snapshot

if TYPE_CHECKING:  # pydantic is imported only where there is a manifest
    from audit.state.manifest_reading import Declared


def held_lock(
    snapshot: Snapshot, declared: "Declared | None", signals: Signals, *, lenient: bool
) -> Held | None:
    """The snapshot's lock and what of it no longer holds; None where there is no lock, or no manifest that it could be of.

    Raises DocumentError where the lock cannot be read; a lenient look takes it for none.
    """
    entry = next((e for e in snapshot.entries if e.path == LOCK_PATH and e.kind is EntryKind.FILE), None)
    if entry is None or declared is None:
        return None
    [(_, data)] = snapshot.reader.read([entry])
    try:
        if isinstance(data, str):
            raise DocumentError(f"{LOCK_PATH} cannot be read: {data}.")
        lock = read_lock(data)
    except DocumentError:
        if lenient:
            return None
        raise
    state = declared_state(declared)
    manifest = LockedManifest(declared.positions.name, declared_digest(state))
    return held(lock, manifest, surroundings(state, snapshot, signals))


def declared_state(declared: "Declared") -> State:
    """What the manifest declares."""
    from audit.state.manifest import state_of

    return state_of(declared.manifest, declared.positions)


def surroundings(state: State, snapshot: Snapshot, signals: Signals) -> Surroundings:
    """What a lock is made of and held against, as far as the snapshot alone tells it."""
    locks = () if signals.lockfile.value == "none" else signals.lockfile.evidence
    return Surroundings(
        declared=state,
        files=SnapshotFiles(snapshot),
        packages={
            name: (found.declared, found.locked)
            for name, found in signals.critical_dependencies.value.items()
        },
        lockfiles=tuple(sorted({found.path for found in locks})),
        machine=False,
    )
