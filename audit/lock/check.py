"""A lock held against what is there now, without a network: what the manifest declares, files, dependencies."""

import hashlib

import msgspec

from audit.documents.lock import Lock, LockedManifest, LockSource, Path, Resolved
from audit.documents.state import State
from audit.lock.found import Found, Surroundings
from audit.lock.held import Held, Stale
from audit.lock.resolve import answers_of, asked_of, is_of_machine

_HERE = frozenset({LockSource.MANIFEST, LockSource.FILESYSTEM, LockSource.REPOSITORY, LockSource.PROVIDER})
"""Sources that can be asked again without a network."""


def declared_digest(state: State) -> str:
    """A digest of what a manifest declares: a comment, the order of keys or a line's end makes no lock stale."""
    rows = [[path, leaf.value] for path, leaf in sorted(state.leaves.items())]
    return hashlib.sha256(msgspec.json.encode(rows)).hexdigest()


def held(lock: Lock, manifest: LockedManifest, around: Surroundings) -> Held:
    """`lock` against the tree `around`, which has no hub and no machine."""
    now = answers_of(around)
    found: list[Stale] = []
    unknown: list[Path] = []
    folders = {path[:count] for path in now for count in range(1, len(path))}
    for path, resolved in lock.values.items():
        if is_of_machine(path):
            continue
        if path not in now:
            if path not in folders and not any(path[:count] in now for count in range(1, len(path))):
                found.append(Stale(path, f"{_spelt(path)} is locked, and nothing asks for it any more."))
        elif reason := _differs(path, resolved, now[path]):
            found.append(Stale(path, reason))
        elif resolved.source is LockSource.FILESYSTEM and now[path].source not in _HERE:
            unknown.append(path)
    found += [Stale(path, f"{_spelt(path)} is not locked yet.") for path in now if path not in lock.values]
    if not found and lock.manifest.sha256 != manifest.sha256:
        found.append(Stale(("manifest",), f"{manifest.path} declares something else than what was locked."))
    return Held(lock, tuple(found), tuple(unknown))


def _differs(path: Path, resolved: Resolved, now: Found) -> str:
    """Why a value no longer holds, "" where it does or that cannot be told from here."""
    if now.source not in _HERE:
        before = asked_of(resolved)
        if now.asked and before != now.asked:
            return f"{_spelt(path)} was locked for {before or 'something else'}, and {now.asked} is declared."
        return ""
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
