"""What every rendering says alike: the order of the findings, the verdict line, counts, coverage, values.

Nothing here is sanitized: each renderer does that for its own surface, at the last moment.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from audit.documents.report import Dimension, Report
from audit.documents.rule import RuleText

Rules = Mapping[str, RuleText]

SEVERITIES = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)

DIMENSIONS: tuple[tuple[str, str], ...] = (
    ("environment", "Environment"),
    ("determinism", "Determinism"),
    ("documentation", "Documentation"),
    ("testing", "Testing"),
    ("ci_cd", "CI/CD"),
    ("benchmarking", "Benchmarking"),
    ("data", "Data"),
    ("configuration", "Configuration"),
)


def dimensions(report: Report) -> list[tuple[str, Dimension]]:
    """The eight dimensions with their titles, in the document's order."""
    return [(title, getattr(report.dimensions, name)) for name, title in DIMENSIONS]


def with_status(report: Report, status: Status) -> list[Finding]:
    """The findings of one status, worst first, new before old, else in the report's order."""
    chosen = [finding for finding in report.findings if finding.status is status]
    return sorted(chosen, key=lambda finding: (-finding.severity.rank, finding.new is not True))


def failures(report: Report) -> list[Finding]:
    """The findings to act on, in the order to act on them."""
    return with_status(report, Status.FAIL)


def of_severity(findings: Iterable[Finding], severity: Severity) -> list[Finding]:
    """Those of one severity, order kept."""
    return [finding for finding in findings if finding.severity is severity]


def verdict(report: Report) -> str:
    """The line that a reader in a hurry needs: `score 7.5/10, risk MEDIUM, 2 critical, 5 warning, 3 info`."""
    summary = report.summary
    line = (
        f"score {report.score:.1f}/10, risk {report.risk}, "
        f"{summary.critical} critical, {summary.warning} warning, {summary.info} info"
    )
    against = [f"{n} {word}" for n, word in ((summary.new, "new"), (summary.fixed, "fixed")) if n is not None]
    return f"{line} ({', '.join(against)})" if against else line


def outcomes(report: Report) -> str:
    """The outcomes that are no failure, counted; zeros too, so that a suppression is never passed over."""
    summary = report.summary
    return (
        f"{summary.passed} passed, {summary.suppressed} suppressed, "
        f"{summary.not_checked} not checked, {summary.not_applicable} not applicable"
    )


def coverage(report: Report) -> str:
    """How much of the snapshot was looked at, zeros too."""
    seen = report.coverage
    return (
        f"{seen.files} files seen, {seen.parsed} parsed, "
        f"{len(seen.partial)} in part, {len(seen.skipped)} skipped"
    )


def origin(report: Report) -> str:
    """Which commit was audited, at which level, by what."""
    commit = f"commit {report.commit}" if report.commit else "no commit"
    return f"{commit}, level {report.level}, {report.tool.name} {report.tool.version}"


def where(place: Place) -> str:
    """`path:line`, or the path alone where the whole file is meant."""
    return place.path if place.line is None else f"{place.path}:{place.line}"


def title_of(finding: Finding, rules: Rules | None) -> str:
    """The rule's title, or nothing where the catalogue does not know it."""
    return rules[finding.rule].title if rules and finding.rule in rules else ""


def why_of(finding: Finding, rules: Rules | None) -> str:
    """Why the rule matters, or nothing where the catalogue does not know it."""
    return rules[finding.rule].why if rules and finding.rule in rules else ""


def mend_of(finding: Finding, rules: Rules | None) -> str:
    """The finding's own fix, or else the rule's general one."""
    if finding.fix and finding.fix.text.strip():
        return finding.fix.text
    return rules[finding.rule].fix if rules and finding.rule in rules else ""


def rule_url(finding: Finding, rules: Rules | None) -> str:
    """The address of the rule's page, or nothing."""
    return rules[finding.rule].url if rules and finding.rule in rules else ""


_MOST_ITEMS = 12


def value_text(value: Any) -> str:
    """A signal's value as a reader would say it; a long list is cut and says by how much."""
    return _spoken(msgspec.to_builtins(value))


def _spoken(value: Any) -> str:
    match value:
        case None:
            return "not applicable"
        case bool():
            return "yes" if value else "no"
        case dict():
            return _listed(
                [f"{key}: {_spoken(item)}" for key, item in value.items() if item not in (None, "")]
            )
        case list() | tuple():
            return _listed([_spoken(item) for item in value])
    return str(value)


def _listed(items: list[str]) -> str:
    more = len(items) - _MOST_ITEMS
    shown = ", ".join(items[:_MOST_ITEMS]) or "none"
    return f"{shown} and {more} more" if more > 0 else shown
