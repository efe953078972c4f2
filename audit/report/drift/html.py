"""A drift as one HTML file that needs nothing else."""

from audit.documents.drift import Drift
from audit.report.drift import view
from audit.report.templates import render_html
from audit.safety.sanitize import cut

_TEMPLATE = "drift.html.j2"
_MOST = 5_000
_LONGEST = 400


def render(drift: Drift) -> str:
    """The whole page."""
    rows = view.rows(drift.changes)
    groups = []
    for severity in view.SEVERITIES:
        chosen = view.of_severity(rows, severity)
        if chosen:
            groups.append(
                {
                    "title": view.TITLES[severity],
                    "grade": severity.value.lower(),
                    "total": len(chosen),
                    "rows": [_row(row) for row in chosen[:_MOST]],
                    "hidden": max(len(chosen) - _MOST, 0),
                }
            )
    context = {
        "title": view.headline(drift),
        "a": cut(drift.a.name, _LONGEST),
        "b": cut(drift.b.name, _LONGEST),
        "groups": groups,
        "hidden": view.hidden(drift),
        "same": drift.same,
        "notes": drift.notes,
        "tool": f"{drift.tool.name} {drift.tool.version}",
    }
    return render_html(_TEMPLATE, context)


def _row(row: view.Row) -> dict[str, str]:
    return {
        "name": cut(row.name, _LONGEST),
        "concept": row.concept if row.concept not in (row.name, "experiment.files") else "",
        "where": cut(row.places, _LONGEST),
        "kind": row.kind.value,
        "before": row.before,
        "after": row.after,
        "by": row.by,
        "why": row.why,
        "diff": row.diff,
    }
