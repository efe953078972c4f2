"""The verdict as one HTML file that needs nothing else, with plots of the metrics around the event as inline SVG."""

from collections.abc import Sequence

from audit.documents.verdict import Verdict
from audit.failure.plots import Plot
from audit.report.templates import render_html
from audit.report.verdict.plot import drawn
from audit.report.verdict.view import CATEGORIES, DECISIONS, headline, place, value

_TEMPLATE = "verdict.html.j2"


def render(verdict: Verdict, plots: Sequence[Plot] = ()) -> str:
    """The whole page."""
    context = {
        "verdict": verdict,
        "title": headline(verdict),
        "category": CATEGORIES[verdict.category],
        "decision": DECISIONS[verdict.decision],
        "cause_place": place(verdict.cause.file, verdict.cause.line) if verdict.cause else "",
        "facts": [
            {
                "name": fact.name,
                "value": value(fact),
                "formula": fact.formula,
                "inputs": "; ".join(
                    f"{one.name} {one.value if one.value is not None else ''} ({one.source})"
                    for one in fact.inputs[:4]
                ),
            }
            for fact in verdict.facts
        ],
        "evidence": [
            {
                "place": place(piece.file, piece.line),
                "text": piece.text,
                "role": piece.role.value.replace("_", " "),
                "trust": piece.trust.value,
            }
            for piece in verdict.evidence
        ],
        "others": [
            {
                "place": place(other.file, other.line),
                "text": other.text,
                "signature": other.signature,
                "category": other.category.value,
                "decision": other.decision.value,
            }
            for other in verdict.other_causes
        ],
        "trace": [
            {"place": place(step.path, step.line), "symbol": step.symbol, "why": step.why}
            for step in verdict.trace
        ],
        "plots": [picture for picture in map(drawn, plots) if picture is not None],
    }
    return render_html(_TEMPLATE, context)
