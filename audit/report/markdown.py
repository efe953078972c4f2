"""The report as GitHub Markdown: for a job summary, a comment, or a file.

GitHub refuses a comment above 65,536 characters and a summary above 1 MiB, so a caller names a budget: the
worst findings stay, the rest is counted, and nothing is ever cut within a sentence, a span or a fence.
"""

import functools
from collections.abc import Sequence
from typing import Any

from audit.documents.finding import Finding, Status
from audit.documents.report import Report
from audit.report import view
from audit.report.fitting import largest, utf8_bytes
from audit.report.templates import render_markdown
from audit.safety.sanitize import cut, cut_bytes, printable

_TEMPLATE = "report.md.j2"
_MOST_PLACES = 5
_MOST_LISTED = 50
_LONGEST = 1_000
_LONGEST_PATH = 200
_SHORTEST_ROW = 20
_TITLES = {"CRITICAL": "Critical", "WARNING": "Warning", "INFO": "Info"}

Row = dict[str, Any]


def render(report: Report, *, rules: view.Rules | None = None, budget: int | None = None) -> str:
    """The report in at most `budget` UTF-8 bytes (so at most as many characters); None: as long as it is.

    Below about 2,000 bytes only the verdict, the outcomes and the coverage are left.
    """
    total = len(view.failures(report))
    if budget is None:
        return _rendered(report, rules, total, _MOST_LISTED)
    most = min(total, budget // _SHORTEST_ROW)
    for listed in (_MOST_LISTED, 5, 0):
        drawn = functools.partial(_rendered, report, rules, listed=listed)
        found = largest(most, drawn, utf8_bytes, budget)
        if found is not None:
            return found
    lines = (view.verdict(report), view.outcomes(report), view.coverage(report))
    return cut_bytes("".join(f"    {printable(line)}\n" for line in lines), budget)


def _rendered(report: Report, rules: view.Rules | None, shown: int, listed: int) -> str:
    context = {
        "report": report,
        "sections": _sections(report, rules, shown),
        "insights": [cut(text, _LONGEST) for text in report.insights[:listed]],
        "terse": listed == 0,
        "dimensions": [_dimension(title, dimension) for title, dimension in view.dimensions(report)],
        "others": _others(report, listed),
        "gaps": _gaps(report, listed),
        "notes": [cut(note, _LONGEST) for note in report.coverage.notes[:listed]],
        "outcomes": view.outcomes(report),
        "coverage": view.coverage(report),
        "origin": view.origin(report),
    }
    return render_markdown(_TEMPLATE, context)


def _sections(report: Report, rules: view.Rules | None, shown: int) -> list[Row]:
    failures = view.failures(report)
    sections = []
    for severity in view.SEVERITIES:
        chosen = view.of_severity(failures, severity)
        if chosen:
            rows = [_row(finding, rules) for finding in chosen[: max(shown, 0)]]
            shown -= len(rows)
            sections.append(
                {
                    "title": _TITLES[severity.value],
                    "total": len(chosen),
                    "rows": rows,
                    "hidden": len(chosen) - len(rows),
                }
            )
    return sections


def _row(finding: Finding, rules: view.Rules | None) -> Row:
    return {
        "message": cut(finding.message if finding.message.strip() else finding.rule, _LONGEST) or "-",
        "rule": cut(finding.rule, _LONGEST_PATH),
        "url": view.rule_url(finding, rules),
        "new": finding.new is True,
        "places": [
            {"where": cut(view.where(place), _LONGEST_PATH), "note": cut(place.note, _LONGEST_PATH)}
            for place in finding.evidence[:_MOST_PLACES]
        ],
        "more_places": max(len(finding.evidence) - _MOST_PLACES, 0),
        "why": cut(view.why_of(finding, rules), _LONGEST),
        "mend": cut(view.mend_of(finding, rules), _LONGEST),
    }


def _dimension(title: str, dimension: Any) -> Row:
    return {
        "title": title,
        "score": "n/a" if dimension.score is None else f"{dimension.score:.1f}",
        "losses": [{"points": f"{loss.points:g}", "rule": loss.rule} for loss in dimension.why],
    }


def _listing(title: str, rows: Sequence[Any], listed: int) -> Row:
    return {"title": title, "total": len(rows), "rows": rows[:listed], "hidden": max(len(rows) - listed, 0)}


def _others(report: Report, listed: int) -> list[Row]:
    groups = []
    for status, title in ((Status.NOT_CHECKED, "Not checked"), (Status.SUPPRESSED, "Suppressed")):
        chosen = view.with_status(report, status)
        if chosen and listed:
            rows = [
                {"rule": finding.rule, "message": cut(finding.message, _LONGEST)}
                for finding in chosen[:listed]
            ]
            groups.append({**_listing(title, chosen, listed), "rows": rows})
    return groups


def _gaps(report: Report, listed: int) -> list[Row]:
    seen = report.coverage
    groups = (("Files read in part", seen.partial), ("Files skipped", seen.skipped))
    return [_listing(title, gaps, listed) for title, gaps in groups if gaps and listed]
