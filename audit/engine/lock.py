"""One lock: made, or held against the tree as it is. What the command and the action share."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import audit as package
from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH, Lock, LockedManifest
from audit.documents.state import State
from audit.engine.assessment import Inquiry, assess
from audit.engine.locked import declared_state, surroundings
from audit.engine.options import Effects
from audit.facts.cache import FactCache, default_folder
from audit.lock.document import read_lock
from audit.lock.files import DiskFiles
from audit.lock.found import Surroundings
from audit.source.open import open_snapshot

_MAX_MANIFEST = 2 * 2**20
_JOBS = 8
_MANIFEST = "ml-audit.yaml"


class LockOptions(msgspec.Struct, frozen=True):
    """What is locked, and how. `folder`: the root of a work tree. `machine`: whether the machine that this runs on is part of the lock."""

    folder: Path
    offline: bool = False
    verify_api: bool = False
    hash_large: bool = False
    jobs: int | None = None
    machine: bool = True
    use_cache: bool = True


class Locked(msgspec.Struct, frozen=True):
    """A lock beside the one that it takes the place of (None where there is none, or none that can be read)."""

    lock: Lock
    before: Lock | None
    note: str = ""


def make(options: LockOptions, effects: Effects) -> Locked:
    """The lock of the folder's manifest as things are now; nothing is written.

    Raises DocumentError where there is no manifest or it is not valid, SourceError where the folder cannot be read. A network that does not
    answer is no error: the lock says so.
    """
    from audit.lock.resolve import resolve

    before, note = _before(options.folder)
    with _surroundings(options, effects) as (around, manifest):
        tool = f"ml-audit {package.__version__}"
        lock = resolve(around, manifest, before, tool, _moment(effects.clock()))
    return Locked(lock, before, note)


def check(options: LockOptions, effects: Effects) -> tuple[str, ...]:
    """What of the folder's lock no longer holds, in sentences, without a network; nothing where all does.

    Raises DocumentError where there is no lock or no manifest, or one that cannot be read.
    """
    from audit.lock.check import held

    data = _read(options.folder, LOCK_PATH, 8 * 2**20)
    if data is None:
        raise DocumentError(f"There is no {LOCK_PATH} in {options.folder}.", "`ml-audit lock` writes it.")
    lock = read_lock(data)
    options = msgspec.structs.replace(options, offline=True, machine=False)
    with _surroundings(options, effects) as (around, manifest):
        return tuple(one.message for one in held(lock, manifest, around).stale)


def _before(folder: Path) -> tuple[Lock | None, str]:
    """The lock that is there. One that cannot be read is made anew, and said."""
    data = _read(folder, LOCK_PATH, 8 * 2**20)
    if data is None:
        return None, ""
    try:
        return read_lock(data), ""
    except DocumentError as error:
        return None, f"The lock that was there could not be read, nothing of it is kept: {error.message}"


@contextmanager
def _surroundings(options: LockOptions, effects: Effects) -> Iterator[tuple[Surroundings, LockedManifest]]:
    from audit.net.hub import Hub, endpoint_of, token_of

    declared, manifest = _declared(options.folder)
    environ = effects.environ
    around = msgspec.structs.replace(
        _in_snapshot(declared, options, effects),
        files=DiskFiles(str(options.folder), options.hash_large),
        root=str(options.folder),
        environ=environ,
        jobs=options.jobs or _JOBS,
        verify_api=options.verify_api and not options.offline,
        machine=options.machine,
        step=effects.step,
    )
    if options.offline:
        yield around, manifest
        return
    with Hub(endpoint_of(environ), token_of(environ)) as hub:
        yield msgspec.structs.replace(around, hub=hub), manifest


def _declared(folder: Path) -> tuple[State, LockedManifest]:
    """The manifest as State, and its digest: of what it declares, so that a comment or a line's end makes no lock stale."""
    from audit.lock.check import declared_digest
    from audit.state.manifest_reading import read_declared

    data = _read(folder, _MANIFEST, _MAX_MANIFEST)
    if data is None:
        raise DocumentError(
            f"There is no {_MANIFEST} in {folder}.", "`ml-audit init` writes one from the code."
        )
    declared = read_declared(data, _MANIFEST)
    state = declared_state(declared)
    return state, LockedManifest(_MANIFEST, declared_digest(state))


def _in_snapshot(declared: State, options: LockOptions, effects: Effects) -> Surroundings:
    """What the repository's own files tell: dependencies as declared and locked."""
    kept = FactCache(default_folder(effects.environ)) if options.use_cache else None
    try:
        with open_snapshot(str(options.folder), environ=effects.environ, progress=effects.step) as snapshot:
            inquiry = Inquiry(0, (), None, int(effects.clock()), effects.files, lenient=True)
            return surroundings(declared, snapshot, assess(snapshot, inquiry, kept).signals)
    finally:
        if kept is not None:
            kept.close()


def _read(folder: Path, name: str, limit: int) -> bytes | None:
    """The content of a file of the folder, one byte more than `limit` where it is larger; None where there is none. A link is not followed."""
    files = DiskFiles(str(folder), whole=False)
    content = files.read_small(name, limit)
    if content is None and files.holds(name):
        raise DocumentError(f"{name} is larger than {limit // 2**20} MiB, or no regular file.")
    return content


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
