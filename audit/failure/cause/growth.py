"""Memory that ran out: where the run's own lines show that it grew with every step at one batch size, something is kept that should not be (label policy 1)."""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate
from audit.failure.cause.scene import StepView, stream_of
from audit.failure.digits import decimal
from audit.failure.structure.progress import metric_line

_USED = re.compile(
    r"\b(?:\w{0,20}(?:mem(?:ory)?|alloc(?:ated)?|rss|vram|resident)\w{0,20})['\"]?[ =:(]{1,4}(?:\w{1,10} )?"
    r"(?P<value>\d{1,9}(?:\.\d{1,6})?) ?(?P<unit>[KMGT]i?B?|bytes)?",
    re.IGNORECASE,
)
_LEAST = 8
"""Values that make a growth: fewer are a warm-up."""
_RISING = 0.85
"""Share of the intervals in which memory rises."""


def decide(view: StepView, candidate: Candidate) -> Candidate:
    """The candidate, as the code's where memory rose with every step to its end."""
    if candidate.category is not Category.INFRA_RUNTIME or not _of_memory(candidate):
        return candidate
    values = _values(view, candidate)
    if not _grows(values):
        return candidate
    return msgspec.structs.replace(
        candidate,
        signature="memory_grows",
        category=Category.CORRECTNESS,
        sure=False,
        why=f"Memory in use rose from {values[0]:g} to {values[-1]:g} over {len(values)} lines, step by step: something is kept from every step.",
    )


def _of_memory(candidate: Candidate) -> bool:
    return candidate.hit is not None and candidate.hit.signature.family == "memory"


def _values(view: StepView, candidate: Candidate) -> list[float]:
    """Memory in use as the step's own lines tell it before the candidate, in their unit."""
    found: list[float] = []
    for line in view.streams.get(stream_of(candidate.line), ()):
        if line.number >= candidate.line.number:
            break
        if (
            metric_line(line.text)
            and (used := _USED.search(line.text[:600]))
            and (value := decimal(used["value"])) is not None
        ):
            found.append(value)
    return found


def _grows(values: Sequence[float]) -> bool:
    """Whether values rise by much, nearly always, and in their second half no slower than by a third of the first's rate."""
    if len(values) < _LEAST or values[0] <= 0 or values[-1] < 1.5 * values[0]:
        return False
    steps = [after - before for before, after in pairwise(values)]
    half = len(steps) // 2
    early, late = sum(steps[:half]) / half, sum(steps[half:]) / (len(steps) - half)
    return sum(step > 0 for step in steps) >= _RISING * len(steps) and late >= early / 3
