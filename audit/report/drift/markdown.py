"""A drift as GitHub Markdown: a whole document, and the section of a comment or summary that tells it."""

import functools
from typing import Any

from audit.documents.drift import ChangeKind, Drift, DriftSeverity
from audit.report.drift import view
from audit.report.fitting import largest, utf8_bytes
from audit.report.links import Links
from audit.report.templates import render_markdown
from audit.safety.sanitize import cut

TEMPLATE = "drift.md.j2"
MAX_BYTES = 1_000_000
"""UTF-8 bytes of a document: what a job summary may have."""
_LONGEST = 160
_LONGEST_DIFF = 4_000
_MOST_DIFFS = 10
_FOLDED_FROM = 8
"""Rows from which a section is folded: with more, a comment is about nothing else."""


def render(drift: Drift, *, budget: int = MAX_BYTES) -> str:
    """The document in at most `budget` UTF-8 bytes."""

    def drawn(shown: int, diffs: int) -> str:
        values = section(drift, shown=shown, diffs=diffs)
        sides = {"a": cut(drift.a.name, _LONGEST), "b": cut(drift.b.name, _LONGEST)}
        return render_markdown(TEMPLATE, {"drift": values, "fold": False, **sides})

    for diffs in (len(drift.changes), _MOST_DIFFS, 0):
        text = largest(len(drift.changes), functools.partial(drawn, diffs=diffs), utf8_bytes, budget)
        if text is not None:
            return text
    return render_markdown("short.md.j2", {"headline": view.headline(drift), "passed": True})


def section(
    drift: Drift, *, shown: int, diffs: int = _MOST_DIFFS, links: Links | None = None
) -> dict[str, Any]:
    """What the template of the section is given. `shown`: how many rows at most; `diffs`: how many of their texts' differences."""
    told = [change for change in drift.changes if change.severity is not DriftSeverity.NONE]
    grouped = view.grouped(told)
    rows = [_row(row, links, change) for row, change in grouped[:shown]]
    texts = [{"name": row["name"], "where": row["where"], "diff": row["diff"]} for row in rows if row["diff"]]
    return {
        "headline": view.headline(drift),
        "total": len(grouped),
        "rows": rows,
        "hidden": len(grouped) - len(rows),
        "diffs": texts[:diffs],
        "folded": len(grouped) > _FOLDED_FROM or all(change.severity is DriftSeverity.LOW for change in told),
        "comparable": drift.comparable,
        "notes": [cut(note, _LONGEST) for note in drift.notes],
    }


def _row(row: view.Row, links: Links | None, change: Any) -> dict[str, Any]:
    leaf = change.after or change.before
    linked = (
        links is not None
        and change.kind is not ChangeKind.REMOVED
        and leaf is not None
        and leaf.place is not None
    )
    return {
        "severity": view.TITLES[row.severity],
        "name": cut(row.name, _LONGEST),
        "concept": row.concept if row.concept not in (row.name, "experiment.files") else "",
        "where": cut(row.where, _LONGEST),
        "url": links.place(leaf.place) if linked and links and leaf and leaf.place else "",
        "more": row.more,
        "kind": row.kind.value,
        "before": cut(row.before, _LONGEST),
        "after": cut(row.after, _LONGEST),
        "by": row.by.replace("-", "−"),
        "why": row.why,
        "diff": cut(row.diff, _LONGEST_DIFF),
    }
