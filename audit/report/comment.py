"""The comment on a pull request: whether it may be merged, what has to be mended, then everything else, folded.

Rows are left out by priority until it fits: first what the base has too, then what was fixed, then what is new and does not block, at
last what blocks; each section tells how many of its rows are missing.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from audit.documents.finding import Finding, Severity, Status
from audit.report import view
from audit.report.drift.markdown import section
from audit.report.fitting import largest, utf16_units
from audit.report.story import Chapters, Story, chapters, counts_line, headline, score_line
from audit.report.templates import render_markdown
from audit.safety.sanitize import basic_plane, cut

TEMPLATE = "comment.md.j2"
CHECK_TEMPLATE = "check.md.j2"
MAX_COMMENT = 60_000
"""UTF-16 units of a comment or a check's text; GitHub refuses more than 65,536 characters (422 "body is too long")."""

_MOST_PLACES = 3
_LONGEST = 600
_LONGEST_PATH = 160
# A reader scrolls through no more; the summary has them all.
LIMITS: Mapping[str, int] = {"blocking": 100, "new": 50, "fixed": 30, "known": 50}
_LISTED = 20
_MARKS = {Severity.CRITICAL: "Critical", Severity.WARNING: "Warning", Severity.INFO: "Info"}

Row = dict[str, Any]
Render = Callable[[str, dict[str, Any]], str]


def render(story: Story, *, budget: int = MAX_COMMENT, draw: Render = render_markdown) -> str:
    """The comment in at most `budget` UTF-16 units, a newline at its end. `draw` renders a template by its name."""
    return _fitted(story, TEMPLATE, draw, utf16_units, budget)


def render_check(story: Story, *, budget: int = MAX_COMMENT, draw: Render = render_markdown) -> str:
    """The text of the check run, which GitHub takes in the basic plane alone: the comment without its head."""
    text = _fitted(story, CHECK_TEMPLATE, draw, lambda text: len(basic_plane(text)), budget)
    return basic_plane(text)


def _fitted(story: Story, template: str, draw: Render, measure: Callable[[str], int], budget: int) -> str:
    parts = chapters(story)
    sizes = (parts.blocking, parts.new, parts.fixed, parts.known)
    most = sum(min(len(rows), limit) for rows, limit in zip(sizes, LIMITS.values(), strict=True))
    # A template of the repository may be too long whatever it is given: ours is not.
    for drawing in dict.fromkeys((draw, render_markdown)):
        for terse in (False, True):
            made = functools.partial(_drawn, story, parts, template, drawing, terse)
            if (text := largest(most, made, measure, budget)) is not None:
                return text
    return render_markdown("short.md.j2", {"headline": headline(story), "passed": story.gate.passed})


def _drawn(story: Story, parts: Chapters, template: str, draw: Render, terse: bool, shown: int) -> str:
    return draw(template, context(story, parts, shown, terse=terse))


def context(
    story: Story, parts: Chapters, shown: int, *, terse: bool = False, limits: Mapping[str, int] = LIMITS
) -> dict[str, Any]:
    """What the templates are given: plain data. `shown`: rows of findings in all; `limits`: of each section; `terse`: without the folded
    details."""
    report = story.report
    sections: dict[str, Row] = {}
    for name in LIMITS:
        findings: Sequence[Finding] = getattr(parts, name)
        number = min(shown, len(findings), limits[name])
        shown -= number
        rows = [_row(finding, story, linked=name != "fixed") for finding in findings[:number]]
        sections[name] = {"total": len(findings), "rows": rows, "hidden": len(findings) - number}
    baseline = report.baseline
    return {
        "headline": headline(story),
        "passed": story.gate.passed,
        "score_line": score_line(report),
        "counts_line": counts_line(story),
        "remark": story.remark,
        "compared": report.summary.new is not None,
        "fail_on": story.gate.fail_on.value,
        "scope": story.gate.scope.value,
        **sections,
        "drift": _drift(story, limits, terse=terse),
        "terse": terse,
        "elsewhere": "the job summary",
        "dimensions": [_dimension(title, part) for title, part in view.dimensions(report)],
        "others": [] if terse else _others(story),
        "partial": len(report.coverage.partial),
        "skipped": len(report.coverage.skipped),
        "coverage": view.coverage(report),
        "notes": [cut(note, _LONGEST) for note in report.coverage.notes[:_LISTED]],
        "commit": (report.commit or "")[:12],
        "commit_url": story.links.commit_page(report.commit) if story.links and report.commit else "",
        "base": cut(baseline.name, _LONGEST_PATH) if baseline else "",
        "base_commit": (baseline.commit or "")[:12] if baseline else "",
        "run_url": story.links.run if story.links else "",
        "tool": f"{report.tool.name} {report.tool.version}",
        "level": report.level,
    }


_DRIFT_ROWS = {"comment": 30, "terse": 10}
_DRIFT_DIFFS = 3


def _drift(story: Story, limits: Mapping[str, int], *, terse: bool) -> Row | None:
    """What changed in the experiment: as many rows as a comment bears, or as many as the summary's sections have."""
    if story.drift is None:
        return None
    shown = (
        _DRIFT_ROWS["terse"]
        if terse
        else _DRIFT_ROWS["comment"]
        if limits is LIMITS
        else limits["known"] // 10
    )
    return section(story.drift, shown=shown, diffs=0 if terse else _DRIFT_DIFFS, links=story.links)


def _row(finding: Finding, story: Story, *, linked: bool) -> Row:
    places = finding.evidence[:_MOST_PLACES]
    return {
        "severity": _MARKS[finding.severity],
        "message": cut(finding.message if finding.message.strip() else finding.rule, _LONGEST) or "-",
        "rule": cut(finding.rule, _LONGEST_PATH),
        "rule_url": view.rule_url(finding, story.rules),
        "places": [
            {
                "where": cut(view.where(place), _LONGEST_PATH),
                "url": story.links.place(place) if linked and story.links else "",
            }
            for place in places
        ],
        "more_places": len(finding.evidence) - len(places),
        "why": cut(view.why_of(finding, story.rules), _LONGEST),
        "mend": cut(view.mend_of(finding, story.rules), _LONGEST),
    }


def _dimension(title: str, dimension: Any) -> Row:
    return {
        "title": title,
        "score": "n/a" if dimension.score is None else f"{dimension.score:.1f}",
        "losses": [
            {"points": f"{loss.points:g}", "rule": cut(loss.rule, _LONGEST_PATH)} for loss in dimension.why
        ],
    }


_OTHERS: Mapping[Status, str] = {Status.NOT_CHECKED: "Not checked", Status.SUPPRESSED: "Suppressed"}


def _others(story: Story) -> list[Row]:
    groups = []
    for status, title in _OTHERS.items():
        if chosen := view.with_status(story.report, status):
            rows = [
                {"rule": cut(finding.rule, _LONGEST_PATH), "message": cut(finding.message, _LONGEST)}
                for finding in chosen[:_LISTED]
            ]
            groups.append(
                {"title": title, "total": len(chosen), "rows": rows, "hidden": len(chosen) - len(rows)}
            )
    return groups
