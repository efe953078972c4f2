"""Stories for the tests of comment, check and summary."""

import msgspec

from audit.assess.gate import FailOn, Scope, gate
from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from audit.documents.report import Baseline, Report
from audit.report.links import Links
from audit.report.story import Story

from . import samples

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LINKS = Links(
    "https://github.com", "example/gpt", COMMIT, "", "https://github.com/example/gpt/actions/runs/77"
)
BASE = Baseline("main", "fedcba9876543210fedcba9876543210fedcba98", 6.9, "LOW", (samples.FINDINGS[1],))


def story(
    report: Report | None = None,
    fail_on: FailOn = FailOn.CRITICAL,
    scope: Scope = Scope.NEW,
    *,
    baseline: Baseline | None = BASE,
    rules=samples.RULES,
    links: Links | None = LINKS,
) -> Story:
    report = msgspec.structs.replace(report or samples.report(), baseline=baseline)
    return Story(report, gate(report.findings, fail_on, scope), rules, links)


def finding(number: int = 1, severity: Severity = Severity.WARNING, new: bool | None = True) -> Finding:
    return Finding(
        f"code.rule{number}",
        "code",
        severity,
        Status.FAIL,
        0,
        f"It is so, number {number}.",
        (Place(f"src/file{number}.py", number, "note"),),
        fingerprint=f"f{number}",
        new=new,
    )


def of(
    findings, fixed=(), fail_on: FailOn = FailOn.CRITICAL, scope: Scope = Scope.NEW, compared=True
) -> Story:
    """A story of these findings."""
    findings = tuple(findings)
    new = sum(f.new is True for f in findings)
    report = samples.report(
        findings=findings,
        summary=samples.summary(findings, new if compared else None, len(fixed) if compared else None),
    )
    base = Baseline("main", None, 6.4, "MEDIUM", tuple(fixed)) if compared else None
    return story(report, fail_on, scope, baseline=base)


def hostile(count: int = 60, texts=samples.EVIL) -> Story:
    """Every text is hostile: of the report, of what was fixed, of the rules, of the baseline's name."""
    report = samples.hostile(count, texts)
    base = Baseline(texts[2], texts[3], 1.0, texts[4], report.findings[:40])
    rules = samples.evil_rules() if texts is samples.EVIL else {}
    return story(report, baseline=base, rules=rules)
