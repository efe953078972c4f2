"""Findings and rules made for the tests of this floor."""

from audit.assess.score import Cost
from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place


def finding(
    rule: str = "a.one",
    severity: Severity = Severity.WARNING,
    status: Status = Status.FAIL,
    message: str = "It is so.",
    place: tuple[str, int | None] | None = ("train.py", 3),
    fingerprint: str = "",
    new: bool | None = None,
) -> Finding:
    evidence = (Place(*place),) if place else ()
    return Finding(
        rule, rule.partition(".")[0], severity, status, 0, message, evidence, None, fingerprint, new
    )


def cost(dimension: str = "environment", points: float = 2.0, severity: Severity = Severity.WARNING) -> Cost:
    return Cost(severity, dimension, points)
