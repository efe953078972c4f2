"""A lock held against what is there now, without a network: what the manifest declares, files, dependencies."""

import hashlib

import msgspec

from audit.documents.lock import Lock, LockedManifest, LockSource, Path, Resolved
from audit.documents.state import State
from audit.lock.found import Found, Surroundings
from audit.lock.resolve import answers_of, asked_of, is_of_machine

_HERE = frozenset({LockSource.MANIFEST, LockSource.FILESYSTEM, LockSource.REPOSITORY, LockSource.PROVIDER})
"""Sources that can be asked again without a network."""


def declared_digest(state: State) -> str:
    """A digest of what a manifest declares: a comment, the order of keys or a line's end makes no lock stale."""
    rows = [[path, leaf.value] for path, leaf in sorted(state.leaves.items())]
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


def stale(lock: Lock, manifest: LockedManifest, around: Surroundings) -> tuple[str, ...]:
    """What of `lock` no longer holds, a sentence each, in the lock's order. `around`: without a hub, and not of the machine."""
    now = answers_of(around)
    found = []
    for path, resolved in lock.values.items():
        if is_of_machine(path):
            continue
        if path not in now:
            if not any(path[: len(other)] == other or other[: len(path)] == path for other in now):
                found.append(f"{_spelt(path)} is locked, and nothing asks for it any more.")
        elif reason := _differs(path, resolved, now[path]):
            found.append(reason)
    found += [f"{_spelt(path)} is not locked yet." for path in now if path not in lock.values]
    if not found and lock.manifest.sha256 != manifest.sha256:
        found.append(f"{manifest.path} declares something else than what was locked.")
    return tuple(found)


def _differs(path: Path, resolved: Resolved, now: Found) -> str:
    """Why a value no longer holds, "" where it does or that cannot be told from here."""
    if now.source not in _HERE:
        before = asked_of(resolved)
        return (
            f"{_spelt(path)} was locked for {before}, and {now.asked} is declared."
            if before != now.asked
            else ""
        )
    if now.value == resolved.value:
        return ""
    if now.value is None:
        return f"{_spelt(path)} was locked, but {now.note}"
    return f"{_spelt(path)} was {_short(resolved.value)} when locked, and is {_short(now.value)}."


def _spelt(path: Path) -> str:
    return ".".join(path)


def _short(value: object) -> str:
    text = "not known" if value is None else str(value)
    return text if len(text) <= 90 else text[:89] + "…"
