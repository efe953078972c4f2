"""The verdict as a comment, check or summary: what failed and what to do on top, as much of the rest as fits."""

from collections.abc import Callable
from typing import Any

import msgspec

from audit.documents.verdict import Category, Verdict
from audit.report.templates import render_markdown
from audit.report.verdict import markdown
from audit.report.verdict.view import headline

_TEMPLATE = "failure.md.j2"
# What is left out first, where it does not all fit.
_LEAST_NEEDED: tuple[dict[str, Any], ...] = (
    {},
    {"evidence": ()},
    {"trace": (), "alternatives": ()},
    {"facts": ()},
    {"claims": (), "not_known": ()},
    {"failing": (), "other_causes": ()},
)


def render(
    verdict: Verdict, passed: bool, fits: Callable[[str], bool], *, commit: str = "", run_url: str = ""
) -> str:
    """The Markdown, with a newline at its end. `passed`: whether the job goes on; `fits`: whether a text is short enough."""
    left_out: dict[str, Any] = {}
    for more in _LEAST_NEEDED:
        left_out |= more
        kept = msgspec.structs.replace(verdict, **left_out)
        text = _drawn(kept, passed, commit, run_url, shortened=bool(left_out))
        if fits(text):
            return text
    return render_markdown("short.md.j2", {"headline": headline(verdict), "passed": passed})


def _drawn(verdict: Verdict, passed: bool, commit: str, run_url: str, *, shortened: bool) -> str:
    # The verdict's own Markdown is sanitized already, and stands below a heading of ours.
    head = {
        "headline": headline(verdict),
        # Red where the gate closes; green only where nothing failed: a verdict that lets the job go on is still about a failure.
        "sign": "❌" if not passed else "✅" if verdict.category is Category.PASSED else "⚠",
        "pre_existing": verdict.pre_existing,
        "shortened": shortened,
        "commit": commit[:12],
        "run_url": run_url,
        "tool": f"{verdict.tool.name} {verdict.tool.version}",
    }
    above, below = (render_markdown(_TEMPLATE, head | {"above": part}) for part in (True, False))
    return f"{above}{markdown.render(verdict)}{below}"
