"""Two runs side by side: what changed in loss, quality and speed, with and without warm-up."""

import math
from collections.abc import Iterator
from statistics import median

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.formulas import finite, ratio, relative_error, steady
from audit.failure.facts.histories import History, by_step, last_finite
from audit.failure.facts.make import fact, of_point, of_series
from audit.failure.facts.metrics import Meaning, meaning, plain, slug
from audit.failure.facts.performance import warm_up_share, whole_rate, window
from audit.telemetry.model import Series

_VALUES = (Meaning.VALIDATION_LOSS, Meaning.QUALITY, Meaning.ERROR, Meaning.LOSS)
_SPEEDS = (Meaning.THROUGHPUT, Meaning.STEP_TIME)
_MIN_POINTS = 10
_ROUNDING = 1e-6
"""float32 holds seven digits: what agrees to six differs by rounding, or by how it was printed."""


def compare(candidate: History, baseline: History) -> Iterator[Fact]:
    """The changes of the candidate against the baseline, the evaluated metrics first."""
    shared = [name for name in candidate.series if name in baseline.series]
    for kind in _VALUES:
        for name in [name for name in shared if meaning(candidate.series[name].name) is kind][:2]:
            yield from _ends(candidate.series[name], baseline.series[name])
    for kind in _SPEEDS:
        for name in [name for name in shared if meaning(candidate.series[name].name) is kind][:1]:
            yield from _speed(candidate.series[name], baseline.series[name])
    yield from _whole(candidate, baseline)
    differing = _differing_settings(candidate, baseline)
    if differing:
        sources = [
            FactInput(run.label, None, run.record.source)
            for run in (candidate, baseline)
            if run.record is not None
        ]
        yield Fact(
            "settings_that_differ",
            ", ".join(differing)[:300],
            "",
            "recorded settings with other values in the two runs",
            tuple(sources),
        )
    for history, part in ((candidate, "candidate"), (baseline, "baseline")):
        series = history.main_loss()
        if series is not None:
            yield fact(f"{part}_steps", len(series.settled()), "recorded steps", [of_series(series)])


def _ends(new: Series, old: Series) -> Iterator[Fact]:
    """At the last step that both have; the last values themselves where that is not the end of both."""
    a, b = by_step(new.settled()), by_step(old.settled())
    common = [
        step for step in a if step in b and math.isfinite(a[step].value) and math.isfinite(b[step].value)
    ]
    last_new, last_old = last_finite(new), last_finite(old)
    name = slug(new.name)
    if common:
        step = max(common)
        p, q = a[step], b[step]
        change = ratio(p.value, q.value)
        inputs = [of_point(new, p, "candidate"), of_point(old, q, "baseline")]
        if change is not None:
            yield fact(
                f"{name}_relative_change",
                change - 1,
                f"candidate / baseline - 1 at {new.axis} {step}",
                inputs,
            )
            yield fact(f"{name}_ratio", change, f"candidate / baseline at {new.axis} {step}", inputs)
            if change < 1:
                formula = f"1 - candidate / baseline at {new.axis} {step}"
                yield fact(f"{name}_relative_drop", 1 - change, formula, inputs)
        yield fact(f"{name}_delta", p.value - q.value, f"candidate - baseline at {new.axis} {step}", inputs)
        yield from _course(new, old, sorted(common), name)
    for point, series, part in ((last_new, new, "candidate"), (last_old, old, "baseline")):
        if point is not None:
            yield fact(
                f"final_{name} [{part}]",
                point.value,
                f'last finite "{series.name}"',
                [of_point(series, point)],
            )


def _course(new: Series, old: Series, common: list[int], name: str) -> Iterator[Fact]:
    """Where two curves part, and how far at most. A ratio that is the same at the first step and at the last is a scale."""
    a, b = by_step(new.settled()), by_step(old.settled())
    if len(common) < _MIN_POINTS:
        return
    errors = [(relative_error(a[step].value, b[step].value), step) for step in common]
    first = next((step for error, step in errors if error > _ROUNDING), None)
    if first is None:
        yield fact(
            f"{name}_different_steps",
            0,
            f"steps of {len(common)} common ones whose relative difference is above 1e-6",
            [of_series(new), of_series(old)],
        )
        return
    worst, at = max(errors)
    yield fact(
        f"{name}_max_relative_difference",
        worst,
        f"largest relative difference, at {new.axis} {at}",
        [of_point(new, a[at]), of_point(old, b[at])],
    )
    yield fact(
        f"{name}_first_different_step",
        first,
        "first common step whose relative difference is above 1e-6",
        [of_point(new, a[first]), of_point(old, b[first])],
    )


def _speed(new: Series, old: Series) -> Iterator[Fact]:
    a, b = steady(new.values), steady(old.values)
    if min(len(a), len(b)) < _MIN_POINTS:
        return
    change = ratio(median(a), median(b))
    if change is not None:
        inputs = [of_series(new, "candidate"), of_series(old, "baseline")]
        yield fact(
            f"steady_{slug(new.name)}_reduction",
            1 - change,
            "1 - median of candidate / median of baseline",
            inputs,
        )
        yield fact(
            f"steady_{slug(new.name)}_ratio", change, f"median of candidate / median of baseline: {window(new)}; {window(old)}",
            [of_series(new, "candidate"), of_series(old, "baseline")],
        )  # fmt: skip
    whole = ratio(
        sum(finite(new.values)) / len(finite(new.values)), sum(finite(old.values)) / len(finite(old.values))
    )
    if whole is not None:
        yield fact(
            f"mean_{slug(new.name)}_ratio", whole, "mean of candidate / mean of baseline, warm-up included",
            [of_series(new, "candidate"), of_series(old, "baseline")],
        )  # fmt: skip


def _whole(candidate: History, baseline: History) -> Iterator[Fact]:
    """The ratio of work over whole time, and how much of the baseline's time was warm-up."""
    rates = [next(iter(run.of(Meaning.THROUGHPUT)), None) for run in (candidate, baseline)]
    times = [next(iter(run.of(Meaning.STEP_TIME)), None) for run in (candidate, baseline)]
    new, old = (whole_rate(r, t) if r is not None else None for r, t in zip(rates, times, strict=True))
    change = ratio(new, old) if new is not None and old is not None else None
    if change is not None:
        inputs = [
            of_series(rate, part)
            for rate, part in zip(rates, ("candidate", "baseline"), strict=True)
            if rate is not None
        ]
        yield fact(
            "overall_throughput_ratio",
            change,
            "total work / total time, candidate over baseline, warm-up included",
            inputs,
        )
    for series, part in zip(times, ("candidate", "baseline"), strict=True):
        share = warm_up_share(series) if series is not None else None
        if share is not None and series is not None:
            yield fact(
                f"warm_up_share [{part}]",
                share,
                f'"{series.name}" of the warm-up steps / of all',
                [of_series(series)],
            )


def _differing_settings(candidate: History, baseline: History) -> list[str]:
    """The names of recorded settings in which the two runs differ: a ratio of runs that differ in more than the change is
    none of the change.
    """
    if candidate.record is None or baseline.record is None:
        return []
    a, b = candidate.record.settings, baseline.record.settings
    ignored = ("out", "output dir", "run name", "name", "log dir")
    return [
        key for key in a if key in b and a[key] != b[key] and plain(key.rsplit(".", 1)[-1]) not in ignored
    ]
