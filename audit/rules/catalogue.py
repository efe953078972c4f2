"""All rules, and what running them gives."""

import hashlib
from collections import Counter
from collections.abc import Iterable

from audit.documents.finding import Finding, Fix, Severity, Status
from audit.rules import (
    benchmarks,
    code,
    commanded,
    configuration,
    contradicted,
    data,
    dataset,
    determinism,
    documentation,
    environment,
    evaluation,
    execution,
    generation,
    hub,
    judge,
    locked,
    manifest,
    model,
    notebooks,
    privacy,
    prompt,
    security,
    testing,
    train,
    training,
)
from audit.rules.rule import Context, Outcome, Rule, not_checked

RULES: tuple[Rule, ...] = (
    *code.RULES,
    *environment.RULES,
    *determinism.RULES,
    *data.RULES,
    *hub.RULES,
    *training.RULES,
    *configuration.RULES,
    *documentation.RULES,
    *testing.RULES,
    *benchmarks.RULES,
    *notebooks.RULES,
    *security.RULES,
    # Level 1: what a manifest says.
    *execution.RULES,
    *manifest.RULES,
    *model.RULES,
    *dataset.RULES,
    *generation.RULES,
    *prompt.RULES,
    *evaluation.RULES,
    *judge.RULES,
    *train.RULES,
    *privacy.RULES,
    *contradicted.RULES,
    *commanded.RULES,
    # Level 2: what a lock holds.
    *locked.RULES,
)

_BY_ID = {rule.id: rule for rule in RULES}


def rule(identifier: str) -> Rule:
    """The rule with this id; KeyError where there is none."""
    return _BY_ID[identifier]


def run(context: Context, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """What every rule finds, the worst first, then by rule, path and line.

    A rule that raises becomes a `not_checked` finding that says so; one that gives no outcome, too: none is passed over.
    """
    findings: list[Finding] = []
    for each in rules:
        findings += _findings(each, _outcomes(each, context))
    return ordered(findings)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then by rule, path and line."""
    return tuple(sorted(findings, key=_order))


def _outcomes(each: Rule, context: Context) -> list[Outcome]:
    try:
        outcomes = list(each.check(context))
    except Exception as error:  # the last net under every rule: one of them must not end the audit
        return [
            not_checked(
                f"This rule failed on the repository ({type(error).__name__}); that is a fault of the audit."
            )
        ]
    return outcomes or [not_checked("This rule gave no answer; that is a fault of the audit.")]


def _findings(each: Rule, outcomes: list[Outcome]) -> list[Finding]:
    seen: Counter[str] = Counter()
    findings = []
    for outcome in outcomes:
        path = outcome.evidence[0].path if outcome.evidence else ""
        identity = "\0".join((each.id, path, " ".join(outcome.key.split()).lower()))
        ordinal = seen[identity]
        seen[identity] += 1
        text = identity if not ordinal else f"{identity}\0{ordinal}"
        failing = outcome.status is Status.FAIL
        findings.append(
            Finding(
                rule=each.id,
                category=each.category,
                severity=outcome.severity or each.severity,
                status=outcome.status,
                level=each.level,
                message=outcome.message,
                evidence=outcome.evidence,
                fix=(outcome.fix or Fix(each.fix)) if failing else outcome.fix,
                fingerprint=hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(),
            )
        )
    return findings


_STATUS_ORDER = (Status.FAIL, Status.NOT_CHECKED, Status.PASS, Status.NOT_APPLICABLE, Status.SUPPRESSED)
_SEVERITY_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


def _order(finding: Finding) -> tuple[int, int, str, str, int, str, str]:
    first = finding.evidence[0] if finding.evidence else None
    return (
        _STATUS_ORDER.index(finding.status),
        _SEVERITY_ORDER.index(finding.severity),
        finding.rule,
        first.path if first else "",
        (first.line or 0) if first else 0,
        finding.message,
        finding.fingerprint,
    )
