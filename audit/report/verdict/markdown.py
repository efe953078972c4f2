"""The verdict as Markdown, for a comment, a summary or a file."""

from collections.abc import Sequence

from audit.documents.verdict import Role, Verdict
from audit.failure.plots import Plot
from audit.report.templates import render_markdown
from audit.report.verdict.view import CATEGORIES, DECISIONS, place, value
from audit.safety.sanitize import cut

_TEMPLATE = "verdict.md.j2"
_LONGEST = 600
_MOST = 20


def render(verdict: Verdict, plots: Sequence[Plot] = ()) -> str:
    """The whole verdict as Markdown with a newline at its end; Markdown shows no plots."""
    cause = verdict.cause
    context = {
        "category": CATEGORIES[verdict.category],
        "code": verdict.category.value,
        "decision": DECISIONS[verdict.decision],
        "confidence": verdict.confidence.value,
        "recommendation": cut(verdict.recommendation, _LONGEST),
        "cause": None
        if cause is None
        else {
            "place": place(cause.file, cause.line),
            "text": cut(cause.text, _LONGEST),
            "signature": cause.signature,
            "step": cause.step,
            "rank": cause.rank,
        },
        "others": [
            {
                "place": place(other.file, other.line),
                "signature": other.signature,
                "category": other.category.value,
                "decision": other.decision.value,
            }
            for other in verdict.other_causes
        ],
        "failing": [cut(name, 200) for name in verdict.failing[:_MOST]],
        "more_failing": max(0, len(verdict.failing) - _MOST),
        "facts": [
            {"name": fact.name, "value": value(fact), "formula": cut(fact.formula, 200)}
            for fact in verdict.facts[:_MOST]
        ],
        "claims": [
            {
                "text": cut(claim.text, 300),
                "status": claim.status.value.replace("_", " "),
                "why": cut(claim.why, 300),
            }
            for claim in verdict.claims[:_MOST]
        ],
        "trace": [
            {"place": place(step.path, step.line), "symbol": step.symbol, "why": step.why}
            for step in verdict.trace[:_MOST]
        ],
        "evidence": [
            {
                "place": place(piece.file, piece.line),
                "text": cut(piece.text, 300),
                "role": piece.role.value.replace("_", " "),
            }
            for piece in verdict.evidence
            if piece.role is not Role.CAUSE
        ][:_MOST],
        "alternatives": [
            {"category": other.category.value, "why": other.why_not} for other in verdict.alternatives
        ],
        "not_known": [cut(text, 300) for text in verdict.not_known[:_MOST]],
    }
    return render_markdown(_TEMPLATE, context)
