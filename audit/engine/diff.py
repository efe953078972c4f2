"""The drift between two states of an experiment: two commits, a commit and a work tree, two documents."""

from collections.abc import Sequence

import msgspec

from audit.documents.drift import Drift, Side
from audit.documents.state import State
from audit.engine.options import Effects
from audit.facts.cache import FactCache, default_folder
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
    kept = FactCache(default_folder(effects.environ)) if options.use_cache else None
    try:
        return _of_snapshots(options, effects, kept)
    finally:
        if kept is not None:
            kept.close()


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
    """The drift between two snapshots: only files that differ are looked at."""
    from audit.safety.redact import redacted
    from audit.state.drift import drift

    old, new = differing(before, after)
    effects.step("Comparing settings")
    a, b = (
        _settings(snapshot, entries, kept, effects, jobs)
        for snapshot, entries in ((before, old), (after, new))
    )
    sides = [_side(name, snapshot) for name, snapshot in zip(names, (before, after), strict=True)]
    # Compared first, blackened then: two credentials that differ are a change.
    return redacted(drift(a, b, before=sides[0], after=sides[1], profiles=profiles))


def differing(before: Snapshot, after: Snapshot) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The files of each side that the other does not have with the same content at the same path."""
    old, new = ({e.path: e for e in s.entries if e.kind is EntryKind.FILE} for s in (before, after))
    return (
        tuple(e for path, e in old.items() if path not in new or new[path].blob != e.blob),
        tuple(e for path, e in new.items() if path not in old or old[path].blob != e.blob),
    )


def _side(name: str, snapshot: Snapshot) -> Side:
    return Side(name, "code", snapshot.git.commit if snapshot.git else None)


def _settings(
    snapshot: Snapshot, entries: Sequence[Entry], kept: FactCache | None, effects: Effects, jobs: int | None
) -> State:
    from audit.facts.collect import collect, default_jobs
    from audit.state.settings.projection import settings_of

    part = msgspec.structs.replace(snapshot, entries=tuple(entries))
    facts = collect(
        part, jobs=jobs or default_jobs(), cache=kept, now=int(effects.clock()), progress=effects.files
    ).facts
    return settings_of(facts)
