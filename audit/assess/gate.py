"""The gate: whether findings let a change pass. Pure; computed before anything is rendered, and nothing rendered changes it."""

import enum
from collections.abc import Iterable

import msgspec

from audit.documents.finding import Finding, Severity, Status


class FailOn(enum.Enum):
    """The threshold: findings at or above it close the gate."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"

    def reached_by(self, severity: Severity) -> bool:
        """Whether a finding of this severity closes the gate."""
        return self is not FailOn.NEVER and severity.rank >= Severity(self.value.upper()).rank


class Scope(enum.Enum):
    """Which findings are asked: all, or those that a baseline does not have."""

    ALL = "all"
    NEW = "new"


class Gate(msgspec.Struct, frozen=True):
    """The decision and what it rests on."""

    passed: bool
    blocking: tuple[Finding, ...] = ()
    fail_on: FailOn = FailOn.CRITICAL
    scope: Scope = Scope.ALL
    drift: str = ""
    """Why the change of the experiment closes it, "" where it does not."""

    @property
    def exit_code(self) -> int:
        """0 where the change may pass, 1 where not."""
        return 0 if self.passed else 1


def gate(findings: Iterable[Finding], fail_on: FailOn, scope: Scope) -> Gate:
    """Closed by every failing finding at or above the threshold within the scope.

    With scope NEW a finding that was compared with no baseline (`new` is None) counts as new: what is not known must not let anything through.
    """
    blocking = tuple(
        finding
        for finding in findings
        if finding.status is Status.FAIL
        and fail_on.reached_by(finding.severity)
        and (scope is Scope.ALL or finding.new is not False)
    )
    return Gate(not blocking, blocking, fail_on, scope)
