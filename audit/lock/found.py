"""What a resolver answers, and what it may ask."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from audit.documents.lock import LockSource, Path
from audit.documents.state import Confidence, State, Value
from audit.net.hub import Hub, Reason, UnavailableError


class Found(msgspec.Struct, frozen=True):
    """One answer, not yet dated: see `Resolved`. `asked`: it would have to be asked again over a network, so that an earlier answer to the
    same question stands in where this one says only that nobody answered."""

    value: Value
    source: LockSource
    confidence: Confidence
    note: str = ""
    asked: str = ""


class Files(Protocol):
    """The files that a manifest can name, by their path from its folder."""

    def holds(self, path: str) -> bool:
        """Whether there is a file or folder of this path."""
        ...

    def digest(self, path: str) -> Found:
        """What is in it, in one value."""
        ...


class Surroundings(msgspec.Struct, frozen=True):
    """All that resolvers may look at. `declared`: the manifest; `files`: those that it can name; `hub`: None offline; `root`: the folder on the disk where
    an environment may lie, "" where there is none.

    `packages`: (declared, locked) of each critical package; `lockfiles`: paths of dependency lock files; `step`: is told what is being asked.
    """

    declared: State
    files: Files
    packages: Mapping[str, tuple[str, str | None]]
    lockfiles: tuple[str, ...]
    hub: Hub | None = None
    root: str = ""
    environ: Mapping[str, str] = {}
    jobs: int = 4
    verify_api: bool = False
    machine: bool = True
    step: Callable[[str], None] = lambda text: None

    def said(self, *path: str) -> Value:
        """What the manifest declares at a path, None where nothing."""
        leaf = self.declared.leaves.get(".".join(path))
        return leaf.value if leaf is not None else None

    def text(self, *path: str) -> str:
        """The same as text, "" where nothing is declared."""
        value = self.said(*path)
        return str(value) if value is not None and not isinstance(value, tuple) else ""

    def names(self, *prefix: str) -> list[str]:
        """The keys that stand below a path, sorted: roles of models, names of stages."""
        head = ".".join(prefix) + "."
        return sorted(
            {path[len(head) :].partition(".")[0] for path in self.declared.leaves if path.startswith(head)}
        )


Answers = dict[Path, Found]

_SOURCES = {
    Reason.MISSING: LockSource.NOT_FOUND,
    Reason.FORBIDDEN: LockSource.FORBIDDEN,
    Reason.RATE_LIMIT: LockSource.RATE_LIMITED,
    Reason.NETWORK: LockSource.NETWORK_ERROR,
}
TRANSIENT = frozenset({LockSource.OFFLINE, LockSource.RATE_LIMITED, LockSource.NETWORK_ERROR})
"""Sources that say nothing about the value: an earlier answer to the same question is better."""


def unavailable(error: UnavailableError, asked: str) -> Found:
    """What could not be had, and why."""
    return Found(None, _SOURCES[error.reason], Confidence.UNRESOLVED, error.note, asked)


def offline(asked: str) -> Found:
    """What was not asked for, because no network may be used."""
    return Found(None, LockSource.OFFLINE, Confidence.UNRESOLVED, "not asked, offline", asked)


def exact(value: Value, source: LockSource, note: str = "", asked: str = "") -> Found:
    """An identity that cannot mean another thing tomorrow."""
    return Found(value, source, Confidence.EXACT, note, asked)


def unresolved(source: LockSource, note: str, asked: str = "") -> Found:
    """What is known to matter and not known."""
    return Found(None, source, Confidence.UNRESOLVED, note, asked)
