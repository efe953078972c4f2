"""A lock, and what of it no longer holds. Apart from the checking, so that rules are loaded without the resolvers."""

import enum

import msgspec

from audit.documents.lock import Lock, Path


class Part(enum.Enum):
    """What of an experiment a value belongs to."""

    IDENTITY = "identity"
    GENERATION = "generation"
    FILE = "file"
    ENVIRONMENT = "environment"
    CUSTOM = "custom"
    OTHER = "other"


class Stale(msgspec.Struct, frozen=True):
    """A value of the lock that no longer holds; `message`: one sentence with both values."""

    path: Path
    message: str

    @property
    def part(self) -> Part:
        """What it belongs to."""
        path = self.path[2:] if self.path[0] == "stages" and len(self.path) > 2 else self.path
        if path[0] == "files" or any(key.endswith("sha256") for key in path):
            return Part.FILE
        if path[0] in ("models", "datasets"):
            return Part.IDENTITY
        known = {"generation": Part.GENERATION, "environment": Part.ENVIRONMENT, "custom": Part.CUSTOM}
        return known.get(path[0], Part.OTHER)


class Held(msgspec.Struct, frozen=True):
    """A lock, and what of it does not hold where it lies. `unknown`: values that could not be looked at."""

    lock: Lock
    stale: tuple[Stale, ...]
    unknown: tuple[Path, ...] = ()
