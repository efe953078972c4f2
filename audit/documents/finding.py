"""One rule's outcome."""

import enum

import msgspec

from audit.documents.place import Place


class Severity(enum.Enum):
    """How much a finding stands in the way of reproducing the repository."""

    CRITICAL = "CRITICAL"
    WARNING = "WARNING"
    INFO = "INFO"

    @property
    def rank(self) -> int:
        """0 for INFO, 2 for CRITICAL: higher is worse."""
        return ("INFO", "WARNING", "CRITICAL").index(self.value)


class Status(enum.Enum):
    """What came of a rule: `not_checked` is said wherever the rule could not look, never passed over."""

    FAIL = "fail"
    PASS = "pass"  # noqa: S105
    NOT_APPLICABLE = "not_applicable"
    NOT_CHECKED = "not_checked"
    SUPPRESSED = "suppressed"


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """Replaces the lines `start_line`..`end_line` (from 1, both included) of `path` by `replacement`.

    An `end_line` one less than `start_line` inserts before `start_line`.
    """

    path: str
    start_line: int
    end_line: int
    replacement: str


class Fix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The mend: a sentence, and edits where a machine can make them. `safe`: the edits cannot change behaviour."""

    text: str
    safe: bool = False
    edits: tuple[Edit, ...] = ()


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One outcome of one rule. `new` is None until a baseline was compared."""

    rule: str
    category: str
    severity: Severity
    status: Status
    level: int
    message: str
    evidence: tuple[Place, ...] = ()
    fix: Fix | None = None
    fingerprint: str = ""
    new: bool | None = None
