"""The report as GitHub workflow commands: annotations on the files, then the verdict as ordinary lines.

The runner keeps ten annotations of a level per step and cuts a message at 4,096 characters
(ExecutionContext.cs), so no more are written: findings of one rule in one file share an annotation, and what
is left over is told in a line.
"""

from collections.abc import Iterator, Sequence

from audit.documents.finding import Finding, Severity
from audit.documents.place import Place
from audit.documents.report import Report
from audit.report import view
from audit.safety.sanitize import command, log_line, terminal

_PER_LEVEL = 10
_LONGEST_MESSAGE = 4000
_LONGEST_TITLE = 255
_LONGEST_PATH = 300
_MOST_PLACES = 5

LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, *, rules: view.Rules | None = None) -> str:
    """At most ten commands of each level, what was left out, and the verdict; a newline at the end."""
    lines = annotation_lines(view.failures(report), rules)
    # A report read from elsewhere may hold any text as its risk or tool name.
    lines += [log_line(terminal(line)) for line in _closing(report)]
    return "\n".join(lines) + "\n"


def annotation_lines(
    findings: Sequence[Finding],
    rules: view.Rules | None,
    *,
    prefix: str = "",
    most: int = _PER_LEVEL * len(Severity),
) -> list[str]:
    """At most `most` commands, ten of each level, the worst first, and what was left out. `prefix`: the audited folder in the repository."""
    lines: list[str] = []
    for severity, level in LEVELS.items():
        groups = _groups(view.of_severity(findings, severity))
        shown = min(len(groups), _PER_LEVEL, most)
        most -= shown
        lines += [_annotation(level, group, rules, prefix) for group in groups[:shown]]
        if left := sum(len(group) for group in groups[shown:]):
            what = "finding of level {} is" if left == 1 else "findings of level {} are"
            lines.append(f"{left} more {what.format(severity.value)} in the report, not annotated.")
    return lines


def _groups(findings: list[Finding]) -> list[list[Finding]]:
    """Findings of one rule in one file together; groups stand where their first finding stood."""
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in findings:
        path = finding.evidence[0].path if finding.evidence else None
        groups.setdefault((finding.rule, path), []).append(finding)
    return list(groups.values())


def _annotation(level: str, group: list[Finding], rules: view.Rules | None, prefix: str) -> str:
    first = group[0]
    place = first.evidence[0] if first.evidence else None
    title = ": ".join(filter(None, (first.rule, view.title_of(first, rules))))
    properties = {
        "file": _file(place, prefix) if place else None,
        "line": place.line if place else None,
        "title": terminal(title, _LONGEST_TITLE),
    }
    return command(level, "\n".join(_said(group, rules)), properties, _LONGEST_MESSAGE)


def _file(place: Place, prefix: str) -> str:
    folder = prefix.strip("/")
    return f"{folder}/{place.path}" if folder else place.path


def _said(group: list[Finding], rules: view.Rules | None) -> Iterator[str]:
    """The first finding, how to mend it, then the others: what is cut off at the end matters least."""
    first, *others = group
    yield terminal(first.message) + _also(first.evidence[1:])
    if mend := view.mend_of(first, rules):
        yield f"Fix: {terminal(mend)}"
    for other in others:
        yield terminal(other.message) + _also(other.evidence)


def _also(places: Sequence[Place]) -> str:
    if not places:
        return ""
    shown = ", ".join(terminal(view.where(place), _LONGEST_PATH) for place in places[:_MOST_PLACES])
    more = len(places) - _MOST_PLACES
    return f" ({shown} and {more} more)" if more > 0 else f" ({shown})"


def _closing(report: Report) -> Iterator[str]:
    yield f"{report.tool.name}: {view.verdict(report)}"
    yield f"{report.tool.name}: {view.outcomes(report)}"
    yield f"{report.tool.name}: {view.coverage(report)}"
