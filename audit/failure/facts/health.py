"""Whether a history is sound: values that are not finite, spikes, divergence; where it ends and where it was best."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from audit.documents.verdict import Fact
from audit.failure.facts.formulas import diverged_from, spikes
from audit.failure.facts.histories import History, last_finite
from audit.failure.facts.make import fact, named, of_point, of_series
from audit.failure.facts.metrics import Meaning, plain
from audit.failure.facts.samples import yes_and_no
from audit.telemetry.model import Point, Series

_LOSSES = (Meaning.LOSS, Meaning.VALIDATION_LOSS)
_FINALS = (Meaning.LOSS, Meaning.VALIDATION_LOSS, Meaning.QUALITY, Meaning.ERROR)


def not_finite(history: History) -> Iterator[Fact]:
    """The onset of NaN or infinity in the loss: first step, last finite loss, how many, and what the gradient norm and the
    learning rate were. Nothing where every value is finite.
    """
    loss = history.main_loss()
    if loss is None:
        return
    points = loss.settled()
    bad = [point for point in points if not math.isfinite(point.value)]
    if not bad:
        return
    first = bad[0]
    yield fact(
        named("first_nonfinite_step", history), first.step, f'smallest step of "{loss.name}" whose value is not finite',
        [of_point(loss, first)],
    )  # fmt: skip
    before = [point for point in points if point.step < first.step]
    if before:
        yield fact(
            named("last_finite_loss", history),
            before[-1].value,
            f'"{loss.name}" at the step before',
            [of_point(loss, before[-1])],
        )
    yield fact(
        named("nonfinite_steps", history),
        len(bad),
        f'number of steps of "{loss.name}" whose value is not finite',
        [of_series(loss)],
    )
    later = [point for point in points if point.step > first.step and math.isfinite(point.value)]
    yield fact(
        named("finite_steps", history),
        len(points) - len(bad),
        f'number of steps of "{loss.name}" with a finite value',
        [of_series(loss)],
    )
    if later:
        yield fact(
            named("finite_again_at_step", history),
            later[0].step,
            "first finite value after it",
            [of_point(loss, later[0])],
        )
    yield from _around(history, first)


def _around(history: History, first: Point) -> Iterator[Fact]:
    for norm in history.of(Meaning.GRADIENT_NORM)[:1]:
        before = [p for p in norm.settled() if p.step < first.step and math.isfinite(p.value)]
        if before:
            peak = max(before, key=lambda p: p.value)
            yield fact(
                named("peak_finite_grad_norm", history),
                peak.value,
                f'largest finite "{norm.name}" before that step',
                [of_point(norm, peak)],
            )
        onset = next((p for p in norm.settled() if not math.isfinite(p.value)), None)
        if onset is not None and onset.step < first.step:
            yield fact(
                named("first_nonfinite_grad_norm_step", history), onset.step, f'smallest step of "{norm.name}" whose value is not finite',
                [of_point(norm, onset)],
            )  # fmt: skip
    for rate in history.of(Meaning.LEARNING_RATE)[:1]:
        at = next((p for p in rate.settled() if p.step == first.step), None)
        if at is not None:
            yield fact(
                named("learning_rate_at_onset", history),
                at.value,
                f'"{rate.name}" at that step',
                [of_point(rate, at)],
            )


_COUNTERS = re.compile(
    r"\b(?:nan|inf|skipped|overflow\w{0,3})\b.{0,20}\b(?:iterations|steps|batches|updates)\b"
)


def counted(history: History) -> Iterator[Fact]:
    """What a trainer counts where its loss is left out: Megatron-LM prints no loss that is NaN, only the count of such
    iterations; loss scalers count steps skipped.
    """
    for name, series in history.series.items():
        first = (
            next((point for point in series.points() if point.value > 0), None)
            if _COUNTERS.search(name)
            else None
        )
        if first is None:
            continue
        yield fact(
            named("first_step_with", history, series.name),
            first.step,
            f'first step whose "{series.name}" is above 0',
            [of_point(series, first)],
        )
        last = series.point(-1)
        yield fact(
            named("last", history, series.name), last.value, f'last "{series.name}"', [of_point(series, last)]
        )


def dead(history: History) -> Iterator[Fact]:
    """A loss that is exactly 0 to its end: what is logged of a run whose gradients became NaN under a filter."""
    loss = history.main_loss()
    points = loss.settled() if loss is not None else []
    zeros = len(points) - next(
        (n for n, point in enumerate(reversed(points)) if point.value != 0.0), len(points)
    )
    if loss is None or not 0 < zeros < len(points) - 1:
        return
    yield fact(
        named("loss_zero_since_step", history),
        points[zeros].step,
        f'first step from which "{loss.name}" is exactly 0',
        [of_point(loss, points[zeros])],
    )
    before = [point for point in points[:zeros] if math.isfinite(point.value)]
    if before:
        lowest = min(before, key=lambda point: point.value)
        yield fact(
            named("last_loss_before_zero", history),
            before[-1].value,
            f'"{loss.name}" at the step before',
            [of_point(loss, before[-1])],
        )
        yield fact(
            named("lowest_loss_before_zero", history),
            lowest.value,
            f'smallest "{loss.name}" before',
            [of_point(loss, lowest)],
        )
        yield fact(
            named("step_of_lowest_loss_before_zero", history),
            lowest.step,
            f"{loss.axis} of that",
            [of_point(loss, lowest)],
        )


def gradients(history: History) -> Iterator[Fact]:
    """Where the gradient norm stopped being finite while the loss that is logged stayed so, and the largest before."""
    for norm in history.of(Meaning.GRADIENT_NORM)[:1]:
        points = norm.settled()
        onset = next((point for point in points if not math.isfinite(point.value)), None)
        if onset is None:
            continue
        before = [point for point in points if point.step < onset.step]
        bad = sum(not math.isfinite(point.value) for point in points)
        formula = f'smallest step of "{norm.name}" whose value is not finite'
        yield fact(
            named("first_nonfinite_grad_norm_step", history), onset.step, formula, [of_point(norm, onset)]
        )
        yield fact(
            named("nonfinite_grad_norms", history),
            bad,
            f'values of "{norm.name}" that are not finite',
            [of_series(norm)],
        )
        if before:
            peak = max(before, key=lambda point: point.value)
            formula = f'largest finite "{norm.name}" before that step'
            yield fact(named("peak_finite_grad_norm", history), peak.value, formula, [of_point(norm, peak)])


def broken(history: History) -> Iterator[Fact]:
    """Whether the loss was written in several pieces (a resumed run), repeats steps, or lacks some of its regular ones."""
    loss = history.main_loss()
    if loss is None or loss.axis == "row" or loss.sampled or len(loss) < _MIN_STEPS:
        return
    steps = sorted(set(loss.steps))
    if len(loss.segments) > 1:
        yield fact(
            named("segments", history),
            len(loss.segments),
            "pieces of the history: the steps go back, or another file begins",
            [of_series(loss)],
        )
        yield fact(
            named("repeated_steps", history),
            len(loss) - len(steps),
            "values of steps that were written before",
            [of_series(loss)],
        )
    strides = Counter(b - a for a, b in pairwise(steps))
    stride, count = strides.most_common(1)[0]
    missing = sum((gap // stride - 1) * times for gap, times in strides.items() if gap % stride == 0)
    if missing and count >= _REGULAR * (len(steps) - 1):
        yield fact(
            named("missing_steps", history),
            missing,
            f"steps at a distance of {stride} that have no value",
            [of_series(loss)],
        )


_MIN_STEPS = 10
_REGULAR = 0.8
"""Share of the distances between steps that must be the usual one for a larger one to count as a hole."""


def unsteady(history: History) -> Iterator[Fact]:
    """Spikes and divergence of a loss whose values are all finite. Nothing where it has neither."""
    loss = history.main_loss()
    if loss is None:
        return
    points = loss.settled()
    values = [point.value for point in points]
    found = spikes(values)
    if found:
        worst = max(found, key=lambda spike: values[spike.index])
        yield fact(
            named("loss_spikes", history), len(found), "values above median + 8 * 1.4826 * MAD and 1.5 * median of the 50 before",
            [of_series(loss)],
        )  # fmt: skip
        yield fact(
            named("worst_spike_step", history),
            points[worst.index].step,
            "step of the highest of them",
            [of_point(loss, points[worst.index])],
        )
        yield fact(
            named("worst_spike_ratio", history),
            values[worst.index] / worst.base,
            "its value / median of the 50 before",
            [of_point(loss, points[worst.index])],
        )
    lowest = diverged_from(values)
    if lowest is not None:
        yield fact(
            named("diverging_since_step", history), points[lowest].step,
            "step of the lowest loss: the last tenth lies more than 20 % above it and rises", [of_point(loss, points[lowest])],
        )  # fmt: skip
        yield fact(
            named("lowest_loss", history),
            values[lowest],
            f'smallest "{loss.name}"',
            [of_point(loss, points[lowest])],
        )


def finals(history: History) -> Iterator[Fact]:
    """The last finite value of each loss and quality, and the best where it is another."""
    for series in (s for kind in _FINALS for s in history.of(kind)[:3]):
        last = last_finite(series)
        if last is None or yes_and_no(series):
            continue
        stem = (
            "stated" if plain(series.name).startswith("final ") else "final"
        )  # beside the series' own last value
        yield fact(
            named(stem, history, series.name),
            last.value,
            f'last finite "{series.name}"',
            [of_point(series, last)],
        )


def others(history: History) -> Iterator[Fact]:
    """The largest gradient norm and its step, and the last value of what else is watched (KL, entropy)."""
    for norm in history.of(Meaning.GRADIENT_NORM)[:1]:
        points = [point for point in norm.settled() if math.isfinite(point.value)]
        if len(points) > 1:
            peak = max(points, key=lambda point: point.value)
            yield fact(
                named("peak_grad_norm", history),
                peak.value,
                f'largest finite "{norm.name}"',
                [of_point(norm, peak)],
            )
            yield fact(
                named("step_of_peak_grad_norm", history),
                peak.step,
                f"{norm.axis} of that",
                [of_point(norm, peak)],
            )
    rest = [
        s
        for s in history.of(Meaning.OTHER)
        if s.axis != "row" and len(s) > 1 and _WATCHED.search(plain(s.name))
    ]
    for series in rest[:_MOST_OTHERS]:
        last = last_finite(series)
        if last is not None:
            yield fact(
                named("final", history, series.name),
                last.value,
                f'last finite "{series.name}"',
                [of_point(series, last)],
            )


_WATCHED = re.compile(
    r"\b(?:kl|entropy|length|margin|diff|ratio|norm|fraction|frac|scale|drift|sparsity|gap|coverage|top\d)\b"
)
_MOST_OTHERS = 4


def bests(history: History) -> Iterator[Fact]:
    """The best value of each evaluated metric and its step."""
    for kind in (Meaning.VALIDATION_LOSS, Meaning.QUALITY, Meaning.ERROR):
        for series in history.of(kind)[:2]:
            finite = [point for point in series.settled() if math.isfinite(point.value)]
            if len(finite) < 2 or yes_and_no(series):
                continue
            best = (max if kind is Meaning.QUALITY else min)(finite, key=lambda p: p.value)
            word = "largest" if kind is Meaning.QUALITY else "smallest"
            if best.step != finite[-1].step:
                yield fact(
                    named("best", history, series.name),
                    best.value,
                    f'{word} "{series.name}"',
                    [of_point(series, best)],
                )
            yield fact(
                named("best_step_of", history, series.name),
                best.step,
                f'{series.axis} of the {word} "{series.name}"',
                [of_point(series, best)],
            )


def beside_results(history: History) -> Iterator[Fact]:
    """The other numbers of the line that states a result without a step (`scored 117, skipped 3, mean score 0.58`)."""
    results = [s for kind in _FINALS for s in history.of(kind) if s.axis == "row"]
    line = max((s.lines[-1] for s in results), default=0)
    others = [
        s
        for s in history.series.values()
        if s.axis == "row" and line and s.lines[-1] == line and s not in results
    ]
    for series in others[:_MOST_BESIDE]:
        last = series.point(-1)
        if math.isfinite(last.value):
            yield fact(
                named("stated", history, series.name),
                last.value,
                f'"{series.name}" on the line of the result',
                [of_point(series, last)],
            )


_MOST_BESIDE = 4


def count_not_finite(history: History) -> Iterator[Fact]:
    """That every loss was finite, as a number."""
    loss = next((s for s in history.of(*_LOSSES) if len(s) > 1), None)
    if loss is not None and all(math.isfinite(value) for value in loss.values):
        yield fact(
            named("nonfinite_steps", history),
            0,
            f'number of steps of "{loss.name}" whose value is not finite',
            [of_series(loss)],
        )


def above(series: Series, limit: float) -> int:
    """How many recorded values are larger than a limit."""
    return sum(value > limit for value in series.values)
