"""Findings and rules made for the tests of this floor."""

from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from audit.rules.rule import Rule, passed


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


def rule(
    identifier: str,
    dimension: str = "environment",
    points: float = 2.0,
    severity: Severity = Severity.WARNING,
) -> Rule:
    return Rule(identifier, severity, "T", "W", "F", dimension, points, "p", "f", lambda _: [passed("ok")])
