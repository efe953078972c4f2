"""Checks that a script makes and prints: the line that says which one did not hold.

Looked for after the last sign of life of the step: a gate runs when its work is done.
"""

import re
from collections import Counter
from collections.abc import Sequence

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength, gate_did_not_run
from audit.failure.cause.classify import judge
from audit.failure.cause.scene import StepView
from audit.failure.cause.wording import EVENT, NO_CHECK
from audit.failure.model import Kind, Line
from audit.failure.structure.comparison import comparison
from audit.failure.structure.progress import metric_line

_MOST_LINES = 20_000
"""Lines at a step's end of which the forms are counted."""
_TAIL = 60
"""Lines before a step's end in which its own verdict stands."""
_RAN_NOTHING = re.compile(
    r"\b(?:0|no|zero) (?:[\w-]{1,20} ){0,2}(?:tests?|test cases?|checks?|comparisons?|assertions?|benchmarks?)(?: (?:were|was|have been|have))?(?: actually)?"
    r" (?:executed|ran|run|collected|selected|performed|made)\b|"
    r"\b(?:tests?|test cases?|checks?|comparisons?|assertions?|benchmarks?)(?: that were)? (?:executed|ran|run|collected|selected|performed|made) ?[:=]? ?0\b|"
    r"\b(?:executed|ran|collected|selected) (?:0|no|zero) (?:[\w-]{1,20} )?(?:tests?|test cases?|checks?|comparisons?|benchmarks?)\b|"
    r"\b(?:all|every)(?: of the)?(?: \d{1,6})? (?:[\w-]{1,20} )?(?:tests?|test cases?|checks?|benchmarks?) (?:were |was |are |is )?skipped\b",
    re.IGNORECASE,
)
"""A check of checks: it says that there was nothing to be right or wrong."""
_DIGITS = re.compile(r"[-+]?\d[\d.,]*+(?:e[-+]?\d++)?", re.IGNORECASE)
WEIGHT = {
    Category.CORRECTNESS: 0,
    Category.ML_REGRESSION: 1,
    Category.DATA_CONFIG: 2,
    Category.METRIC_POLICY: 3,
    Category.INFRA_RUNTIME: 4,
}


def find(view: StepView) -> list[Candidate]:
    """The failed checks that the end of a step states, the weightiest first."""
    inside = [(found.first, found.last, found.source) for found in view.tracebacks]
    spans = [(session.first.number, session.last.number, session.first.source) for session in view.sessions]
    context = view.step.command or view.step.name
    found: list[Candidate] = []
    forms = _Forms(view.step.lines)
    for line in _tail(view, forms):
        text = line.text.removeprefix("##[error]")  # a script's own annotation
        if line.kinds & {Kind.ECHO, Kind.SOURCE} or text.startswith(("##[", "[command]", "+ ", "$ ")):
            continue
        if EVENT.match(line.text[:160]) or NO_CHECK.search(line.text[:600]):
            continue  # `(x12 over 15m)` counts, and compares nothing
        if any(
            low <= line.number <= high and source == line.source for low, high, source in (*inside, *spans)
        ):
            continue
        if _RAN_NOTHING.search(text[:600]):
            found.append(gate_did_not_run(line, view.step, "No test ran, so nothing was checked."))
            continue
        checked = comparison(text, context)
        if checked is None or checked.strength < 2:
            continue
        if metric_line(line.text) and checked.strength < 3 and forms.repeated(line):
            continue
        judged = judge(
            "",
            text,
            [hit for hit in view.hits_on(line) if not hit.discounted],
            context=context,
        )
        if judged.comparison is None:
            continue
        found.append(
            Candidate(
                line,
                judged.signature,
                judged.category,
                Strength.GENERIC if judged.strength is Strength.GENERIC else Strength.NAMED,
                Origin.GATE,
                view.step,
                Outcome.TERMINAL,
                False,
                judged.hit,
                judged.comparison,
                (view.step.label,),
                why=judged.why,
            )
        )
    return sorted(
        found,
        key=lambda candidate: (
            -_explicit(candidate),
            WEIGHT.get(candidate.category or Category.INFRA_RUNTIME, 4),
            candidate.line.number,
        ),
    )


class _Forms:
    """How often lines of one form, whatever their numbers, come in the end of a step; counted when first asked."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines[-_MOST_LINES:]
        self._counts: Counter[str] | None = None

    def repeated(self, line: Line) -> bool:
        """Whether lines of this form come again and again: progress beside a target, and no gate."""
        if self._counts is None:
            self._counts = Counter(_form(other) for other in self._lines)
        return self._counts[_form(line)] > 1


def _form(line: Line) -> str:
    return _DIGITS.sub("#", line.text[:200])


def weight(candidate: Candidate) -> int:
    """Of failed checks the lowest is the one to name: what it looks at first, then how much its line tells."""
    return 3 * WEIGHT.get(candidate.category or Category.INFRA_RUNTIME, 4) + 2 - _explicit(candidate)


def _explicit(candidate: Candidate) -> int:
    """How much of a check a line tells: both numbers and their relation, both numbers, words."""
    found = candidate.comparison
    if found is None or found.strength < 3:
        return 1 if found is not None and found.actual is not None and found.limit is not None else 0
    return 2


def _tail(view: StepView, forms: _Forms) -> Sequence[Line]:
    lines = [line for line in view.step.lines if line is not view.step.end]
    alive = {number for numbers in view.alive.values() for number in numbers}
    last = next(
        (
            index
            for index in range(len(lines) - 1, -1, -1)
            if lines[index].number in alive and not _checks(forms, lines[index])
        ),
        -1,
    )
    after = lines[last + 1 :]
    return after[-_TAIL:] if any(line.text.strip() for line in after) else lines[-_TAIL:]


def _checks(forms: _Forms, line: Line) -> bool:
    """Whether a line with a sign of life states a failed check itself (`epoch 3: accuracy 0.71 < required 0.90`)."""
    checked = comparison(line.text)
    if checked is None or checked.strength < 2:
        return False
    return checked.strength >= 3 or (checked.limit is not None and not forms.repeated(line))
