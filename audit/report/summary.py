"""The job summary: the whole report, with a picture of the dimensions, within GitHub's 1 MiB a step.

What does not fit is left out from the end and counted; the JSON report has it all.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from audit.documents.finding import Status
from audit.report import view
from audit.report.comment import context
from audit.report.fitting import largest, utf8_bytes
from audit.report.story import Story, chapters, headline
from audit.report.templates import render_markdown
from audit.safety.sanitize import cut

TEMPLATE = "summary.md.j2"
MAX_SUMMARY = 1_000_000
"""UTF-8 bytes; the runner drops a summary of more than 1 MiB and makes that an error."""
_LIMITS = {"blocking": 5_000, "new": 5_000, "fixed": 1_000, "known": 5_000}
_MOST_LISTED = 200
_MOST_REMARKS = 20
_LONGEST = 600
_LONGEST_PATH = 200


def render(
    story: Story,
    *,
    remarks: Sequence[str] = (),
    budget: int = MAX_SUMMARY,
    draw: Callable[[str, dict[str, Any]], str] = render_markdown,
) -> str:
    """The summary in at most `budget` UTF-8 bytes, a newline at its end. `remarks`: what else a reader should know, such as a comment that
    could not be written."""
    parts = chapters(story)
    findings = (parts.blocking, parts.new, parts.fixed, parts.known)
    most = sum(min(len(rows), limit) for rows, limit in zip(findings, _LIMITS.values(), strict=True))
    for terse in (False, True):

        def drawn(shown: int, *, terse: bool) -> str:
            values = context(story, parts, shown, terse=terse, limits=_LIMITS)
            return draw(TEMPLATE, values | _more(story, terse, remarks))

        made = functools.partial(drawn, terse=terse)
        if (text := largest(most, made, utf8_bytes, budget)) is not None:
            return text
    return render_markdown("short.md.j2", {"headline": headline(story), "passed": story.gate.passed})


def _more(story: Story, terse: bool, remarks: Sequence[str]) -> dict[str, Any]:
    """What the summary has beyond the comment."""
    report = story.report
    listed = 0 if terse else _MOST_LISTED
    gaps = (("Read in part", report.coverage.partial), ("Skipped", report.coverage.skipped))
    return {
        "elsewhere": "the JSON report",
        "run_url": "",  # the summary stands there itself
        "remarks": [cut(text, _LONGEST) for text in remarks[:_MOST_REMARKS]],
        "insights": [cut(text, _LONGEST) for text in report.insights[:listed]],
        "picture": [
            {"title": title, "score": f"{part.score:.1f}"}
            for title, part in view.dimensions(report)
            if part.score is not None
        ],
        "outcomes": view.outcomes(report),
        "passed_rules": sorted({f.rule for f in report.findings if f.status is Status.PASS})[:listed],
        "gaps": [
            {
                "title": title,
                "total": len(rows),
                "rows": [
                    {"path": cut(gap.path, _LONGEST_PATH), "why": cut(gap.why, _LONGEST)}
                    for gap in rows[:listed]
                ],
                "hidden": max(len(rows) - listed, 0),
            }
            for title, rows in gaps
            if rows
        ],
    }
