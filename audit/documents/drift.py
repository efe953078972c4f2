"""What changed between two states of an experiment, and how much each change matters. Schema version 1."""

import enum

import msgspec

from audit.documents.report import Tool
from audit.documents.state import Leaf

SCHEMA_VERSION = 1


class DriftSeverity(enum.Enum):
    """How far a change puts the numbers of the two states out of comparison."""

    HIGH = "HIGH"
    MEDIUM_HIGH = "MEDIUM_HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"
    NONE = "NONE"

    @property
    def rank(self) -> int:
        """0 for NONE, 4 for HIGH: higher is worse."""
        return ("NONE", "LOW", "MEDIUM", "MEDIUM_HIGH", "HIGH").index(self.value)


class ChangeKind(enum.Enum):
    """What became of a value."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One setting with two values. `setting`: its path in the state; `before`, `after`: None where that side does not have it.
    `relative`: (after - before) / |before| of two finite numbers, before not zero. `diff`: unified diff of a changed text, bounded."""

    setting: str
    kind: ChangeKind
    severity: DriftSeverity
    why: str
    before: Leaf | None
    after: Leaf | None
    relative: float | None = None
    diff: str = ""


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the two that were compared. `kind`: "code", "manifest", "lock" or "run"."""

    name: str
    kind: str
    commit: str | None = None


class Drift(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All changes, the weightiest first. `same`: how many settings agree. `comparable`: False where a change of severity HIGH is among them.
    `notes`: what could not be compared, and why."""

    schema_version: int
    tool: Tool
    a: Side
    b: Side
    comparable: bool
    summary: dict[str, int]
    changes: tuple[Change, ...]
    same: int
    notes: tuple[str, ...] = ()
