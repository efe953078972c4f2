"""Training that went wrong by its own numbers: where the loss stopped being one, and whether the data were so before it."""

import re
from collections.abc import Iterable

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene, StepView, StreamKey, stream_of
from audit.failure.cause.wording import MEANT_SO
from audit.failure.digits import integer
from audit.failure.model import Kind, Line
from audit.failure.structure.progress import metric_line
from audit.failure.structure.steps import Job

_SERIES = re.compile(
    r"(?P<name>[\w/.-]{0,30}(?:loss|perplexity|ppl|grad(?:ient)?[ _]?norm|gnorm))['\"]?(?: value)?\s?[:=]?\s{0,3}['\"]?"
    r"(?P<value>[-+]?(?:\d++(?:\.\d*+)?(?:e[-+]?\d++)?|nan|inf(?:inity)?))\b",
    re.IGNORECASE,
)
_ROW = re.compile(
    r"[|│]\s{0,10}(?P<name>[\w/ .-]{0,40}(?:loss|norm))\s{0,60}[|│]\s{0,30}(?P<value>[-+]?(?:\d[\d.]{0,20}(?:e[-+]?\d{1,4})?|nan|inf))\s{0,30}[|│]",
    re.IGNORECASE,
)
"""A row of the tables by which libraries of reinforcement learning log."""
_NAN_ITERATIONS = re.compile(r"number of nan iterations:\s{1,8}(?P<count>\d{1,9})")
_BAD = re.compile(r"[-+]?(?:nan|inf)", re.IGNORECASE)
_NORM = re.compile(r"norm$", re.IGNORECASE)
_STOPPED = frozenset(
    "training_stopped_not_finite loss_scale_at_minimum monitored_metric_not_finite training_diverged".split()
)
"""Signatures by which a program says itself that its training came to nothing."""
_BAD_DATA = re.compile(
    r"\b[1-9]\d{0,12} (?:non-?finite|nan|inf(?:inite)?|null|missing|invalid)\b|\b(?:non-?finite|nan|infinit\w*|inf)\b.{0,60}\b(?:in|column|feature|"
    r"input|row|cell|batch|sample|data|value)s?\b|"
    r"\b(?:column|feature|input|row|cell|batch|sample|data|array|tensor)s?\b.{0,60}\b(?:contains?|has|have|with|is)\b.{0,20}\b(?:non-?finite|"
    r"nan|inf)\b|invalid value encountered|max=\+?inf|(?:min|mean|std)=nan",
    re.IGNORECASE,
)


def find(scene: Scene, job: Job) -> list[Candidate]:
    """The first step whose loss is no number, where it stayed so to the end of its training; the data's fault where their own report says so."""
    found = [
        candidate
        for step in job.steps
        if not step.teardown and (candidate := _in_step(scene.view(step))) is not None
    ]
    lasting = [candidate for candidate in found if candidate.outcome is Outcome.TERMINAL]
    return (lasting or found)[:1]


class _Series:
    """One series as it comes in: since when it has not been a number any more (None: it is one), and on how many lines."""

    def __init__(self) -> None:
        self.since: Line | None = None
        self.length = 0
        self.bad = 0
        self.first: Line | None = None

    def add(self, line: Line, *, bad: bool) -> None:
        if not bad:
            self.since, self.length = None, 0
            return
        self.since, self.first = self.since or line, self.first or line
        self.length, self.bad = self.length + 1, self.bad + 1


def _in_step(view: StepView) -> Candidate | None:
    series: dict[tuple[StreamKey, str], _Series] = {}
    finite: list[int] = []
    for line in view.step.lines:
        values = _values(line)
        if values and not any(values.values()):
            finite.append(line.number)
        for name, bad in values.items():
            series.setdefault((stream_of(line), name), _Series()).add(line, bad=bad)
    ended = [one for (_, name), one in series.items() if _stays(name, one, series.values())]
    first = min((one.since for one in ended if one.since is not None), key=_number, default=None)
    said = _said(view, finite[-1] if finite else 0)
    if said is not None and (first is None or said.number < first.number):
        first = said
    outcome = Outcome.TERMINAL
    if first is None:
        first = min(
            (one.first for one in series.values() if one.first is not None), key=_number, default=None
        )
        outcome = Outcome.RECOVERED
    if first is None:
        return None
    count = sum(one.bad for one in series.values()) or 1
    return _candidate(view, first, outcome, sum(number < first.number for number in finite), count)


def _candidate(view: StepView, first: Line, outcome: Outcome, finite_before: int, count: int) -> Candidate:
    if finite_before == 0 and (data := _data_line(view, first)) is not None:
        return Candidate(
            data,
            "nonfinite_input",
            Category.DATA_CONFIG,
            Strength.NAMED,
            Origin.TRAINING,
            view.step,
            outcome,
            True,
            count=count,
            why="No step had a finite loss, and before the first one the data are reported to hold values that are not finite.",
            context=(first,),
        )
    return Candidate(
        first,
        "loss_not_finite",
        Category.ML_REGRESSION,
        Strength.NAMED,
        Origin.TRAINING,
        view.step,
        outcome,
        finite_before >= 10,
        count=count,
        why="The loss and its gradients were finite before this line and are not from it on."
        if finite_before
        else "The loss is not finite from the first step that is shown.",
    )


def _number(line: Line) -> int:
    return line.number


def _stays(name: str, one: _Series, others: Iterable[_Series]) -> bool:
    """Whether a series is no number to its end. The norm of the gradients alone is so where a scaled step was skipped, once."""
    if one.since is None:
        return False
    return (
        one.length > 1 or not _NORM.search(name) or any(other.since for other in others if other is not one)
    )


def _values(line: Line) -> dict[str, bool]:
    """The series of a training line, each with whether its value is no number."""
    text = line.text[:2000]
    row = _ROW.match(text)
    if (
        line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP, Kind.TEST, Kind.TEST_ID}
        or not (row or metric_line(text))
        or MEANT_SO.search(text)
    ):
        return {}
    found = {match["name"].lower(): bool(_BAD.match(match["value"])) for match in _SERIES.finditer(text)}
    if row is not None:
        found[row["name"].lower()] = bool(_BAD.match(row["value"]))
    if skipped := _NAN_ITERATIONS.search(text):
        found["nan iterations"] = integer(skipped["count"]) > 0
    return found


def _said(view: StepView, after: int) -> Line | None:
    """The program's own word that it gave training up, where no finite value follows; an exception that says so is found as one."""
    raised = {(link.line.source, link.line.number) for found in view.tracebacks for link in found.links}
    for hit in view.hits:
        line = hit.line
        if MEANT_SO.search(line.text[:600]):
            continue
        if hit.signature.id in _STOPPED and line.number > after and (line.source, line.number) not in raised:
            return line
    return None


def _data_line(view: StepView, before: Line) -> Line | None:
    """The data's own report of values that are not finite, before training began."""
    for line in view.step.lines:
        if line.number >= before.number:
            return None
        if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST, Kind.TEST_ID} or "0 non-finite" in line.text:
            continue
        if _BAD_DATA.search(line.text[:2000]) and not _values(line):
            return line
    return None
