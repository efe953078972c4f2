"""One lock: made, or held against the tree as it is. What the command and the action share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

import audit as package
from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH, Lock, LockedManifest
from audit.documents.signals import Signals
from audit.engine.assessment import Inquiry, assess
from audit.engine.levels import MANIFESTS
from audit.engine.locked import declared_state, surroundings
from audit.engine.options import Effects, moment
from audit.facts.cache import opened
from audit.lock.document import MAX_BYTES, read_lock
from audit.lock.files import DiskFiles, SnapshotFiles
from audit.lock.found import Surroundings
from audit.source.open import open_snapshot
from audit.source.snapshot import Snapshot

_MAX_MANIFEST = 2 * 2**20
_JOBS = 8


class LockOptions(msgspec.Struct, frozen=True):
    """What is locked, and how.

    `target`: a folder; with `on_disk` off also PATH@REF: files are then those of the snapshot, and the machine that this runs on is not part of the lock.
    """

    target: str
    offline: bool = False
    verify_api: bool = False
    hash_large: bool = False
    jobs: int | None = None
    on_disk: bool = True
    use_cache: bool = True


class Locked(msgspec.Struct, frozen=True):
    """A lock beside the text of the one that it takes the place of ("" where there is none). `unchanged`: it is that one; `note`: what was wrong with it."""

    lock: Lock
    before: str = ""
    unchanged: bool = False
    note: str = ""


def make(options: LockOptions, effects: Effects, signals: Signals | None = None) -> Locked:
    """The lock of the target's manifest as things are now; nothing is written. `signals`: those of the target, where an audit has them already.

    Raises DocumentError where there is no manifest or it is not valid, SourceError where the target cannot be read. A network that does not
    answer is no error: the lock says so.
    """
    from audit.lock.resolve import resolve

    with _looking(options, effects, signals) as looked:
        text = _read(looked.files, LOCK_PATH, MAX_BYTES, options)
        before, note = _before(text)
        tool = f"ml-audit {package.__version__}"
        lock = resolve(looked.around, looked.manifest, before, tool, moment(effects.clock()))
    return Locked(lock, (text or b"").decode("utf-8", "replace"), lock is before, note)


def check(options: LockOptions, effects: Effects) -> tuple[str, ...]:
    """What of the target's lock no longer holds, in sentences, without a network; nothing where all does.

    Raises DocumentError where there is no lock or no manifest, or one that cannot be read.
    """
    from audit.lock.check import held

    with _looking(msgspec.structs.replace(options, offline=True), effects) as looked:
        data = _read(looked.files, LOCK_PATH, MAX_BYTES, options)
        if data is None:
            raise DocumentError(f"There is no {LOCK_PATH}{_where(options)}.", "`ml-audit lock` writes it.")
        around = msgspec.structs.replace(looked.around, machine=False)
        return tuple(one.message for one in held(read_lock(data), looked.manifest, around).stale)


class _Looked(msgspec.Struct, frozen=True):
    around: Surroundings
    manifest: LockedManifest
    files: DiskFiles | SnapshotFiles


@contextmanager
def _looking(options: LockOptions, effects: Effects, signals: Signals | None = None) -> Iterator[_Looked]:
    """The target with all that a lock is made of, while the block runs."""
    from audit.lock.check import declared_digest
    from audit.net.hub import Hub, endpoint_of, token_of
    from audit.state.manifests import read_any

    environ = effects.environ
    with open_snapshot(options.target, environ=environ, progress=effects.step) as snapshot:
        disk = DiskFiles(options.target, options.hash_large)
        files = disk if options.on_disk else SnapshotFiles(snapshot)
        read = ((name, _read(files, name, _MAX_MANIFEST, options)) for name in MANIFESTS)
        name, data = next((pair for pair in read if pair[1] is not None), (MANIFESTS[0], None))
        if data is None:
            advice = "`ml-audit init` writes one from the code."
            raise DocumentError(f"There is no {name}{_where(options)}.", advice)
        state = declared_state(read_any(data, name))
        signals = signals or _signals(snapshot, options, effects)
        around = msgspec.structs.replace(
            surroundings(state, snapshot, signals),
            files=files,
            root=options.target if options.on_disk else "",
            environ=environ,
            jobs=options.jobs or _JOBS,
            verify_api=options.verify_api and not options.offline,
            machine=options.on_disk,
            step=effects.step,
        )
        manifest = LockedManifest(name, declared_digest(state))
        if options.offline:
            yield _Looked(around, manifest, files)
            return
        with Hub(endpoint_of(environ), token_of(environ)) as hub:
            yield _Looked(msgspec.structs.replace(around, hub=hub), manifest, files)


def _signals(snapshot: Snapshot, options: LockOptions, effects: Effects) -> Signals:
    inquiry = Inquiry(0, (), None, int(effects.clock()), effects.files, lenient=True)
    with opened(effects.environ, use=options.use_cache) as kept:
        return assess(snapshot, inquiry, kept).signals


def _before(data: bytes | None) -> tuple[Lock | None, str]:
    """The lock that is there. One that cannot be read is made anew, and said."""
    if data is None:
        return None, ""
    try:
        return read_lock(data), ""
    except DocumentError as error:
        return None, f"The lock that was there could not be read, nothing of it is kept: {error.message}"


def _read(files: DiskFiles | SnapshotFiles, name: str, limit: int, options: LockOptions) -> bytes | None:
    """The content of a file of the root; None where there is none. A link is not followed."""
    content = files.read_small(name, limit)
    if content is None and (
        files.holds(name) or (options.on_disk and os.path.lexists(f"{options.target}/{name}"))
    ):
        raise DocumentError(
            f"{name}{_where(options)} is larger than {limit // 2**20} MiB, or no regular file: links are not followed.",
            "Put the file itself there.",
        )
    return content


def _where(options: LockOptions) -> str:
    return "" if options.target == "." else f" in {options.target}"
