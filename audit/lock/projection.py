"""A lock as State: what was resolved stands where the manifest's word stood."""

from audit.documents.lock import LOCK_PATH, Lock
from audit.documents.place import Place
from audit.documents.state import Leaf, Source, State


def state_of(lock: Lock, name: str = LOCK_PATH) -> State:
    """Every value of the lock by its dotted path. `name`: the file, for places."""
    leaves = {
        ".".join(path): Leaf(
            resolved.value,
            Source.LOCK,
            resolved.confidence,
            resolved.note or resolved.source.value,
            Place(name, lock.lines.get(path)),
        )
        for path, resolved in lock.values.items()
    }
    return State(dict(sorted(leaves.items())))
