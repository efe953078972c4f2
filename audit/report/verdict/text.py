"""The verdict for a terminal, a pipe or a log: the answer first, then what it rests on."""

from collections.abc import Iterator, Sequence

from audit.documents.verdict import Category, Role, Verdict
from audit.failure.plots import Plot
from audit.report.verdict.view import headline, place, value
from audit.safety.sanitize import cut, log_text, terminal

_LONGEST = 400
_MOST = 12


def render(verdict: Verdict, plots: Sequence[Plot] = ()) -> str:
    """The whole verdict as text with a newline at its end; a terminal shows no plots."""
    return log_text("\n".join(terminal(line) for line in _lines(verdict))) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield headline(verdict)
    if verdict.cause is not None:
        yield ""
        yield f"Cause: {place(verdict.cause.file, verdict.cause.line)}  [{verdict.cause.signature}]"
        yield f"  {cut(verdict.cause.text, _LONGEST)}"
        where = [
            f"job {verdict.cause.job}" if verdict.cause.job else "",
            f"step {verdict.cause.step}" if verdict.cause.step else "",
            f"rank {verdict.cause.rank}" if verdict.cause.rank is not None else "",
        ]
        if any(where):
            yield "  in " + ", ".join(part for part in where if part)
    yield ""
    yield verdict.recommendation
    for other in verdict.other_causes:
        yield f"Also: {place(other.file, other.line)}  [{other.signature}] {other.category.value}, {other.decision.value}"
    yield from _listed("Failing", verdict.failing)
    yield from _listed(
        "Numbers",
        [
            f"{fact.name} = {value(fact)}" + (f"   ({fact.formula})" if fact.formula else "")
            for fact in verdict.facts
        ],
    )
    yield from _listed(
        "Claims", [f"{claim.status.value}: {claim.text} - {claim.why}" for claim in verdict.claims]
    )
    yield from _listed(
        "Trace", [f"{place(step.path, step.line)} {step.symbol}: {step.why}" for step in verdict.trace]
    )
    yield from _listed(
        "Survived",
        [
            f"{place(piece.file, piece.line)} {piece.text}"
            for piece in verdict.evidence
            if piece.role is Role.RECOVERED
        ],
    )
    yield from _listed("Not", [f"{other.category.value}: {other.why_not}" for other in verdict.alternatives])
    yield from _listed(
        "Not known" if verdict.category is not Category.INCONCLUSIVE else "Needed", verdict.not_known
    )


def _listed(title: str, rows: Sequence[str]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"{title}:"
    for row in rows[:_MOST]:
        yield f"  {cut(row, _LONGEST)}"
    if len(rows) > _MOST:
        yield f"  and {len(rows) - _MOST} more"
