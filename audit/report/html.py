"""The report as one HTML file that needs nothing else: no network, no script, no font, no picture file.

Filters work by CSS alone. The page's own Content-Security-Policy forbids scripts and every outside address,
so that even an escape that failed could neither run nor report anything.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from audit.documents.finding import Finding, Status
from audit.documents.place import Gap
from audit.documents.report import Dimension, Report
from audit.report import view
from audit.report.picture import radar
from audit.report.templates import render_html
from audit.safety.sanitize import cut, safe_url

_TEMPLATE = "report.html.j2"
_MOST_FINDINGS = 5_000
_MOST_OPEN = 10
_MOST_PLACES = 20
_MOST_GAPS = 500
_LONGEST = 2_000
_LONGEST_PATH = 300

Row = dict[str, Any]


def render(report: Report, *, rules: view.Rules | None = None) -> str:
    """The whole page."""
    failures = view.failures(report)
    dimensions = view.dimensions(report)
    context = {
        "report": report,
        "repository": cut(report.repository, _LONGEST_PATH),
        "risk": report.risk.lower() if report.risk in ("LOW", "MEDIUM", "HIGH") else "unknown",
        "verdict": view.verdict(report),
        "outcomes": view.outcomes(report),
        "coverage": view.coverage(report),
        "origin": view.origin(report),
        "score": f"{report.score:.1f}",
        "filled": f"{min(max(report.score, 0.0), 10.0) * 10:.1f}",
        "radar": radar(dimensions),
        "dimensions": [_dimension(title, dimension) for title, dimension in dimensions],
        "total": len(failures),
        "sections": _sections(failures, rules),
        "compared": report.summary.new is not None,
        "insights": [cut(text, _LONGEST) for text in report.insights],
        "others": _others(report),
        "signals": _signals(report),
        "profiles": _profiles(report),
        "gaps": [_gaps("Read in part", report.coverage.partial), _gaps("Skipped", report.coverage.skipped)],
        "notes": [cut(note, _LONGEST) for note in report.coverage.notes],
    }
    return render_html(_TEMPLATE, context)


def _sections(failures: Sequence[Finding], rules: view.Rules | None) -> list[Row]:
    shown = failures[:_MOST_FINDINGS]
    sections = []
    for severity in view.SEVERITIES:
        chosen = view.of_severity(failures, severity)
        rows = [_finding(finding, rules) for finding in view.of_severity(shown, severity)]
        if chosen:
            sections.append(
                {
                    "name": severity.value.lower(),
                    "title": severity.value.capitalize(),
                    "total": len(chosen),
                    "rows": rows,
                    "hidden": len(chosen) - len(rows),
                    "open": severity is view.SEVERITIES[0] and len(chosen) <= _MOST_OPEN,
                }
            )
    return sections


def _finding(finding: Finding, rules: view.Rules | None) -> Row:
    places = finding.evidence[:_MOST_PLACES]
    return {
        "rule": cut(finding.rule, _LONGEST_PATH),
        "category": cut(finding.category, 60),
        "message": cut(finding.message, _LONGEST),
        "new": finding.new is True,
        "where": cut(view.where(places[0]), _LONGEST_PATH) if places else "",
        "places": [
            {"where": cut(view.where(place), _LONGEST_PATH), "note": cut(place.note, _LONGEST_PATH)}
            for place in places
        ],
        "more_places": len(finding.evidence) - len(places),
        "title": cut(view.title_of(finding, rules), _LONGEST_PATH),
        "why": cut(view.why_of(finding, rules), _LONGEST),
        "mend": cut(view.mend_of(finding, rules), _LONGEST),
        "url": safe_url(view.rule_url(finding, rules)) or "",
        "safe": bool(finding.fix and finding.fix.safe),
        "edits": [
            {
                "what": _edit_words(edit.start_line, edit.end_line),
                "path": cut(edit.path, _LONGEST_PATH),
                "text": cut(edit.replacement, _LONGEST),
            }
            for edit in (finding.fix.edits if finding.fix else ())[:_MOST_PLACES]
        ],
    }


def _edit_words(start: int, end: int) -> str:
    if end < start:
        return f"Insert before line {start}"
    return f"Replace line {start}" if end == start else f"Replace lines {start} to {end}"


def _dimension(title: str, dimension: Dimension) -> Row:
    score = dimension.score
    return {
        "title": title,
        "applies": score is not None,
        "score": "n/a" if score is None else f"{score:.1f}",
        "filled": "0" if score is None else f"{min(max(score, 0.0), 10.0) * 10:g}",
        "grade": "none" if score is None else "good" if score >= 7.5 else "fair" if score >= 5 else "poor",
        "weight": f"{dimension.weight * 100:g} %",
        "losses": [
            {"points": f"{loss.points:g}", "rule": cut(loss.rule, 100), "message": cut(loss.message, 300)}
            for loss in dimension.why
        ],
    }


def _others(report: Report) -> list[Row]:
    groups = (
        (Status.NOT_CHECKED, "Not checked"),
        (Status.SUPPRESSED, "Suppressed"),
        (Status.PASS, "Passed"),
        (Status.NOT_APPLICABLE, "Not applicable"),
    )
    listed = []
    for status, title in groups:
        chosen = view.with_status(report, status)
        rows = [
            {"rule": cut(finding.rule, 100), "message": cut(finding.message, 500)}
            for finding in chosen[:_MOST_GAPS]
        ]
        listed.append({"title": title, "total": len(chosen), "rows": rows, "hidden": len(chosen) - len(rows)})
    return listed


def _signals(report: Report) -> list[Row]:
    rows = []
    for name in msgspec.structs.fields(type(report.signals)):
        signal = report.signals.named(name.name)
        rows.append(
            {
                "name": name.name,
                "value": cut(view.value_text(signal.value), 500),
                "places": [cut(view.where(place), _LONGEST_PATH) for place in signal.evidence[:3]],
            }
        )
    return rows


def _profiles(report: Report) -> list[Row]:
    found = report.profiles
    detected = [f"{profile.profile} ({profile.confidence})" for profile in found.detected]
    rows = (("Declared", found.declared), ("Resolved", found.resolved), ("Detected", detected))
    return [{"title": title, "value": cut(view.value_text(names), 500)} for title, names in rows]


def _gaps(title: str, gaps: Sequence[Gap]) -> Row:
    rows = [
        {"path": cut(gap.path, _LONGEST_PATH), "why": cut(gap.why, _LONGEST_PATH)}
        for gap in gaps[:_MOST_GAPS]
    ]
    return {"title": title, "total": len(gaps), "rows": rows, "hidden": len(gaps) - len(rows)}
