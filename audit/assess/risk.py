"""How likely it is that somebody else cannot get the same result: LOW, MEDIUM or HIGH."""

from collections.abc import Iterable

from audit.documents.finding import Finding, Severity, Status

HIGH_BELOW = 6.0
LOW_FROM = 8.5
HIGH_CRITICALS = 3


def risk(score: float, findings: Iterable[Finding]) -> str:
    """HIGH: a score below 6.0, or critical findings of three rules or more. LOW: a score of 8.5 or more and no critical finding. MEDIUM: the rest.

    The thresholds are those at which readers of some fifty public repositories put the borders of their own judgement, as far as a score
    can tell them apart. Rules are counted, not findings: one mistake repeated in ten files is one kind of trouble. Suppressed findings do not count.
    """
    critical = {f.rule for f in findings if f.status is Status.FAIL and f.severity is Severity.CRITICAL}
    if score < HIGH_BELOW or len(critical) >= HIGH_CRITICALS:
        return "HIGH"
    return "LOW" if score >= LOW_FROM and not critical else "MEDIUM"
