"""The drift between two states of an experiment: two commits, a commit and a work tree, two documents."""

import contextlib
import hashlib
from collections.abc import Sequence

import msgspec

from audit.documents.drift import Drift, Side
from audit.documents.errors import DocumentError
from audit.documents.lock import LOCK_PATH
from audit.documents.state import State
from audit.engine.assessment import program_digest
from audit.engine.levels import MANIFESTS
from audit.engine.options import Effects
from audit.engine.sides import LOCK, MANIFEST, Told, alike, document, in_snapshot
from audit.facts.cache import FactCache, opened
from audit.source.open import open_snapshot
from audit.source.snapshot import Entry, EntryKind, Snapshot


class DiffOptions(msgspec.Struct, frozen=True):
    """`a`, `b`: targets (PATH, PATH@REF, owner/repo[@ref]), manifests or locks. `profiles`: kinds of experiment that raise severities."""

    a: str
    b: str
    profiles: tuple[str, ...] = ()
    jobs: int | None = None
    use_cache: bool = True


def diff(options: DiffOptions, effects: Effects) -> Drift:
    """The drift from `a` to `b`. Raises SourceError, NetworkError and DocumentError where a side cannot be read."""
    first, second = document(options.a), document(options.b)
    if first is not None and second is not None:
        return _of_states(first, second, options)
    with opened(effects.environ, use=options.use_cache) as kept:
        if first is None and second is None:
            return _of_snapshots(options, effects, kept)
        beside = first or second
        assert beside is not None  # noqa: S101 (one of them is one)
        effects.step(f"Reading {options.b if first else options.a}")
        named = options.b if first else options.a
        with open_snapshot(named, environ=effects.environ, progress=effects.step) as snapshot:
            other = _beside(beside, named, snapshot, options, effects, kept)
        return _of_states(first or other, second or other, options)


def _of_states(a: Told, b: Told, options: DiffOptions) -> Drift:
    from audit.safety.redact import redacted
    from audit.state.drift import drift

    before, after, notes = alike(a, b)
    return redacted(drift(before, after, before=a.side, after=b.side, profiles=options.profiles, notes=notes))


def _beside(
    document: Told,
    name: str,
    snapshot: Snapshot,
    options: DiffOptions,
    effects: Effects,
    kept: FactCache | None,
) -> Told:
    """What a snapshot says beside a lock or manifest: its own document of that kind, else what its code shows of the experiment."""
    commit = snapshot.git.commit if snapshot.git else None
    own = in_snapshot(snapshot, document.side.kind)
    if own is not None:
        return Told(own, Side(name, document.side.kind, commit))
    from audit.engine.observing import observed

    found = observed(snapshot, effects, kept, options.jobs)
    return Told(found[0].state if found else State({}), Side(name, "code", commit))


def _of_snapshots(options: DiffOptions, effects: Effects, kept: FactCache | None) -> Drift:
    effects.step(f"Reading {options.a}")
    with open_snapshot(options.a, environ=effects.environ, progress=effects.step) as before:
        effects.step(f"Reading {options.b}")
        with open_snapshot(options.b, environ=effects.environ, progress=effects.step) as after:
            return drift_of(
                before,
                after,
                kept,
                effects,
                names=(options.a, options.b),
                profiles=options.profiles,
                jobs=options.jobs,
            )


def drift_of(
    before: Snapshot,
    after: Snapshot,
    kept: FactCache | None,
    effects: Effects,
    *,
    names: tuple[str, str],
    profiles: Sequence[str] = (),
    jobs: int | None = None,
) -> Drift:
    """The drift between two snapshots: only files that differ are looked at. The answer is kept with what else follows from trees."""
    pairs = differing(before, after)
    if kept is None:
        return _compared(before, after, pairs, kept, effects, names, profiles, jobs)
    sides = [_side(name, snapshot) for name, snapshot in zip(names, (before, after), strict=True)]
    key = _key(pairs, sides, profiles)
    if (value := kept.get_many([key], "derived").get(key)) is not None:
        with contextlib.suppress(msgspec.MsgspecError):  # a damaged row costs the work once more
            return msgspec.msgpack.decode(value, type=Drift)
    found = _compared(before, after, pairs, kept, effects, names, profiles, jobs)
    with contextlib.suppress(UnicodeEncodeError):  # a file name that is not UTF-8: compared anew each time
        kept.put_many([(key, msgspec.msgpack.encode(found))], int(effects.clock()), "derived")
    return found


Entries = tuple[Entry, ...]


def _key(pairs: tuple[Entries, Entries], sides: Sequence[Side], profiles: Sequence[str]) -> bytes:
    """The key of a drift: all that it follows from, this program's code too."""
    digest = hashlib.sha256(b"drift" + program_digest())
    files = [[(entry.path, entry.blob) for entry in entries] for entries in pairs]
    digest.update(repr((files, sides, tuple(profiles))).encode("utf-8", "surrogatepass"))
    return digest.digest()


def _compared(
    before: Snapshot,
    after: Snapshot,
    pairs: tuple[Entries, Entries],
    kept: FactCache | None,
    effects: Effects,
    names: tuple[str, str],
    profiles: Sequence[str],
    jobs: int | None,
) -> Drift:
    from audit.safety.redact import redacted
    from audit.state.drift import drift

    effects.step("Comparing settings")
    first, second = (
        _read(snapshot, entries, kept, effects, jobs)
        for snapshot, entries in zip((before, after), pairs, strict=True)
    )
    # What one side could not be read of is no change of the other.
    unread = first.unread | second.unread
    a, b = first.without(unread), second.without(unread)
    notes = [f"{path} was not compared: it could not be read whole." for path in sorted(unread)[:_MOST_NOTES]]
    if len(unread) > _MOST_NOTES:
        notes.append(f"{len(unread) - _MOST_NOTES} more files were not compared.")
    touched = {entry.path for entries in pairs for entry in entries}
    for kind, paths in ((MANIFEST, MANIFESTS), (LOCK, (LOCK_PATH,))):
        if not touched.isdisjoint(paths):
            a, b, said = _with_documents(a, b, before, after, kind)
            notes += said
    sides = [_side(name, snapshot) for name, snapshot in zip(names, (before, after), strict=True)]
    # Compared first, blackened then: two credentials that differ are a change.
    return redacted(drift(a, b, before=sides[0], after=sides[1], profiles=profiles, notes=notes))


_MOST_NOTES = 10


def _with_documents(
    a: State, b: State, before: Snapshot, after: Snapshot, kind: str
) -> tuple[State, State, list[str]]:
    """The states with what manifests or locks say, where both sides have one; a lock's word takes the place of a manifest's."""
    try:
        first, second = in_snapshot(before, kind), in_snapshot(after, kind)
    except DocumentError as error:
        return a, b, [f"The {kind} was not compared: {error.message}"]
    if first is None or second is None:
        return a, b, []
    return State(a.leaves | first.leaves), State(b.leaves | second.leaves), []


class _Side(msgspec.Struct, frozen=True):
    """What the files of one side state. `unread`: those with settings of which some may be missing."""

    state: State
    unread: frozenset[str]

    def without(self, paths: frozenset[str]) -> State:
        """The state without what these files state."""
        if not paths:
            return self.state
        leaves = {
            path: leaf
            for path, leaf in self.state.leaves.items()
            if leaf.place is None or leaf.place.path not in paths
        }
        return State(leaves)


def differing(before: Snapshot, after: Snapshot) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The files of each side that the other does not have with the same content at the same path."""
    old, new = ({e.path: e for e in s.entries if e.kind is EntryKind.FILE} for s in (before, after))
    return (
        tuple(e for path, e in old.items() if path not in new or new[path].blob != e.blob),
        tuple(e for path, e in new.items() if path not in old or old[path].blob != e.blob),
    )


def _side(name: str, snapshot: Snapshot) -> Side:
    return Side(name, "code", snapshot.git.commit if snapshot.git else None)


def _read(
    snapshot: Snapshot, entries: Sequence[Entry], kept: FactCache | None, effects: Effects, jobs: int | None
) -> _Side:
    from audit.facts.collect import collect, default_jobs
    from audit.state.settings.projection import counts, is_data_file, is_prompt_file, settings_of

    part = msgspec.structs.replace(snapshot, entries=tuple(entries))
    facts = collect(
        part, jobs=jobs or default_jobs(), cache=kept, now=int(effects.clock()), progress=effects.files
    ).facts
    texts = _texts(snapshot, [entry for entry in entries if is_prompt_file(entry.path)])
    data = {
        entry.path: entry.blob
        for entry in entries
        if is_data_file(entry.path) or (is_prompt_file(entry.path) and entry.path not in texts)
    }
    unread = frozenset(path for path, file in facts.items() if file.partial and counts(path))
    return _Side(settings_of(facts, texts, data), unread)


_MOST_TEXTS = 500
_LONGEST_TEXT = 64 * 1024


def _texts(snapshot: Snapshot, entries: Sequence[Entry]) -> dict[str, str]:
    """The contents of prompts; one that is too long for a prompt is left to its digest among the data."""
    from audit.facts.decode import decode

    small = [entry for entry in entries if (entry.size or 0) <= _LONGEST_TEXT][:_MOST_TEXTS]
    found: dict[str, str] = {}
    for entry, data in snapshot.reader.read(small):
        if isinstance(data, bytes) and len(data) <= _LONGEST_TEXT:
            found[entry.path] = decode(data)[0]
    return found
