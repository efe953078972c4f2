"""Training that went wrong by its own numbers: where the loss stopped being one, and whether the data were so before it."""

import re

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene, StepView
from audit.failure.model import Kind, Line
from audit.failure.structure.progress import metric_line
from audit.failure.structure.steps import Job

_LOSS = re.compile(
    r"(?:[Ll]oss|LOSS|perplexity|ppl)['\"]?(?: value)?\s?[:=]?\s{0,3}['\"]?(?P<value>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf))\b",
    re.IGNORECASE,
)
_NAN_ITERATIONS = re.compile(r"number of nan iterations:\s{1,8}[1-9]")
_BAD = re.compile(r"[-+]?(?:nan|inf)$", re.IGNORECASE)
_BAD_DATA = re.compile(
    r"\b\d+ (?:non-?finite|nan|inf(?:inite)?|null|missing|invalid)\b|\b(?:non-?finite|nan|infinit\w*|inf)\b.{0,60}\b(?:in|column|feature|"
    r"input|row|cell|batch|sample|data|value)s?\b|"
    r"\b(?:column|feature|input|row|cell|batch|sample|data|array|tensor)s?\b.{0,60}\b(?:contains?|has|have|with|is)\b.{0,20}\b(?:non-?finite|"
    r"nan|inf)\b|invalid value encountered|max=\+?inf|(?:min|mean|std)=nan",
    re.IGNORECASE,
)


def find(scene: Scene, job: Job) -> list[Candidate]:
    """The first step whose loss is no number, where it stayed so to the end of its training; the data's fault where their own report says so."""
    for step in job.steps:
        if step.teardown:
            continue
        found = _in_step(scene.view(step))
        if found is not None:
            return [found]
    return []


def _in_step(view: StepView) -> Candidate | None:
    first_bad: Line | None = None
    finite_before = 0
    finite_since = 0
    bad = 0
    for line in view.step.lines:
        state = _state(line)
        if state is None:
            continue
        if state:
            bad += 1
            first_bad = first_bad or line
            finite_since = 0
        elif first_bad is None:
            finite_before += 1
        else:
            finite_since += 1
    if first_bad is None:
        return None
    outcome = Outcome.RECOVERED if finite_since > 0 else Outcome.TERMINAL
    if finite_before == 0 and (data := _data_line(view, first_bad)) is not None:
        return Candidate(
            data,
            "nonfinite_input",
            Category.DATA_CONFIG,
            Strength.NAMED,
            Origin.TRAINING,
            view.step,
            outcome,
            True,
            count=bad,
            why="No step had a finite loss, and before the first one the data are reported to hold values that are not finite.",
            context=(first_bad,),
        )
    return Candidate(
        first_bad,
        "loss_not_finite",
        Category.ML_REGRESSION,
        Strength.NAMED,
        Origin.TRAINING,
        view.step,
        outcome,
        finite_before >= 10,
        count=bad,
        why="The loss was finite before this step and is not from it on."
        if finite_before
        else "The loss is not finite from the first step that is shown.",
    )


def _state(line: Line) -> bool | None:
    """True: the line's loss is no number; False: it is one; None: it has none."""
    text = line.text
    if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP, Kind.TEST, Kind.TEST_ID} or not metric_line(text):
        return None
    values = [match["value"] for match in _LOSS.finditer(text[:2000])]
    if any(_BAD.match(value) for value in values) or _NAN_ITERATIONS.search(text):
        return True
    return False if values else None


def _data_line(view: StepView, before: Line) -> Line | None:
    """The data's own report of values that are not finite, before training began."""
    for line in view.step.lines:
        if line.number >= before.number:
            return None
        if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST, Kind.TEST_ID} or "0 non-finite" in line.text:
            continue
        if _BAD_DATA.search(line.text[:2000]) and _state(line) is None:
            return line
    return None
