"""How fast a run went: steady rates, whole rates, warm-up, slowing down, and how long it would have taken."""

import math
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.formulas import finite, mean, percentile, steady, warm_up
from audit.failure.facts.histories import History
from audit.failure.facts.make import fact, named, of_point, of_series
from audit.failure.facts.metrics import Meaning, is_evaluation
from audit.telemetry.model import Series

_MIN_POINTS = 10
"""Fewer steps give no steady rate."""

_GROWN = 1.1
"""Caching allocators settle within some per cent."""

_SLOWER = 1.25
"""Step times vary by some per cent, on shared machines by ten or twenty; beyond that a run has slowed down."""


def rates(history: History, *, closely: bool = False) -> Iterator[Fact]:
    """The rate of each throughput series of the training over the steady window and over the whole time; `closely`: the plain
    mean too, where the whole time is known.
    """
    times = _step_times(history)
    for series in [series for series in history.of(Meaning.THROUGHPUT) if not is_evaluation(series.name)][:2]:
        values = finite(series.values)
        if len(values) < _MIN_POINTS:
            continue
        yield fact(
            named("steady", history, series.name), median(steady(series.values)), f'median of "{series.name}" {window(series)}',
            [of_series(series)], unit=series.name,
        )  # fmt: skip
        whole = whole_rate(series, times)
        if whole is None or closely:
            yield fact(
                named("mean", history, series.name),
                mean(values),
                f'mean of "{series.name}"',
                [of_series(series)],
                unit=series.name,
            )
        if whole is not None and times is not None:
            yield fact(
                named("overall", history, series.name), whole, f'sum of "{series.name}" * "{times.name}" / sum of "{times.name}", warm-up included',
                [of_series(series), of_series(times)], unit=series.name,
            )  # fmt: skip


def window(series: Series) -> str:
    """How the steady window of a series was chosen, in words."""
    skip = warm_up(len(series))
    return (
        f"without the first {skip} of {len(series)} and without outliers beyond 3 MAD"
        if skip
        else f"of all {len(series)}"
    )


def whole_rate(rate: Series, times: Series | None) -> float | None:
    """Work over time of a whole run, from the rate and the duration of each step; None where steps are missing in one."""
    if times is None or list(rate.steps) != list(times.steps):
        return None
    pairs = [(r, t) for r, t in zip(rate.values, times.values, strict=True) if r >= 0 and t > 0]
    total = sum(t for _, t in pairs)
    return sum(r * t for r, t in pairs) / total if len(pairs) == len(rate) and total else None


def _step_times(history: History) -> Series | None:
    return next(iter(history.of(Meaning.STEP_TIME)), None)


def step_times(history: History) -> Iterator[Fact]:
    """The steady step time, the share of the time that the warm-up took, and whether the run slowed down."""
    times = _step_times(history)
    if times is None or len(finite(times.values)) < _MIN_POINTS:
        return
    unit = "ms" if "ms" in times.name.lower() else "s"
    yield fact(
        named("steady", history, times.name),
        median(steady(times.values)),
        f'median of "{times.name}" {window(times)}',
        [of_series(times)],
        unit=unit,
    )
    yield fact(
        named("mean", history, times.name),
        mean(finite(times.values)),
        f'mean of "{times.name}"',
        [of_series(times)],
        unit=unit,
    )
    share = warm_up_share(times)
    if share is not None:
        skip = warm_up(len(times))
        yield fact(
            named("warm_up_share", history),
            share,
            f'"{times.name}" of the first {skip} steps / of all',
            [of_series(times)],
        )
    kept = steady(times.values)
    quarter = len(kept) // 4
    if quarter >= _MIN_POINTS:
        early, late = median(kept[:quarter]), median(kept[-quarter:])
        if early > 0 and late / early >= _SLOWER:
            yield fact(
                named("slowed_down", history),
                late / early,
                f'median "{times.name}" of the last quarter / of the first',
                [of_series(times)],
            )


def warm_up_share(times: Series) -> float | None:
    """The time of the warm-up steps over that of all; None where every step is not recorded."""
    values = finite(times.values)
    skip, total = warm_up(len(times)), sum(values)
    contiguous = len(times) > 1 and times.steps[-1] - times.steps[0] == len(times) - 1
    return (
        sum(values[:skip]) / total
        if skip and total > 0 and contiguous and len(values) == len(times)
        else None
    )


def memory(history: History) -> Iterator[Fact]:
    """The peak of each memory series, and by how much the steady level grew where it only ever grows: a leak's mark."""
    for series in history.of(Meaning.MEMORY)[:1]:
        values = finite(series.values)
        if len(values) < _MIN_POINTS:
            continue
        yield fact(
            named("peak", history, series.name), max(values), f'largest "{series.name}"', [of_series(series)]
        )
        last = series.point(-1)
        yield fact(
            named("last", history, series.name), last.value, f'last "{series.name}"', [of_point(series, last)]
        )
        yield from _slope(history, series)
        kept = values[warm_up(len(values)) :]
        tenth = max(1, len(kept) // 10)
        levels = [median(kept[at : at + tenth]) for at in range(0, len(kept) - tenth + 1, tenth)]
        if kept[0] > 0 and levels[-1] > levels[0] * _GROWN and all(b >= a for a, b in pairwise(levels)):
            yield fact(
                named("growth_of", history, series.name), levels[-1] / levels[0], "median of the last tenth / of the first, none in between falls",
                [of_series(series)],
            )  # fmt: skip


def _slope(history: History, series: Series) -> Iterator[Fact]:
    """How much it grows a step, where it never falls by more than its own rounding."""
    points = [point for point in series.settled() if math.isfinite(point.value)]
    rise, span = points[-1].value - points[0].value, points[-1].step - points[0].step
    falls = sum(max(0.0, a.value - b.value) for a, b in pairwise(points))
    if rise > 0 and span > 0 and falls <= 0.05 * rise and points[-1].value > points[0].value * _GROWN:
        yield fact(
            named("growth_per_step_of", history, series.name), rise / span, "(last - first) / steps between",
            [of_point(series, points[0]), of_point(series, points[-1])],
        )  # fmt: skip


def wall_time(history: History) -> Iterator[Fact]:
    """From the first recorded value to the last."""
    times = [
        time
        for series in history.series.values()
        for time in (series.times[0], series.times[-1])
        if math.isfinite(time)
    ]
    if times and max(times) > min(times):
        yield fact(
            named("recorded_wall_seconds", history),
            max(times) - min(times),
            "time of the last recorded value - of the first",
            unit="s",
        )


def percentiles(history: History) -> Iterator[Fact]:
    """The spread of the step times."""
    times = _step_times(history)
    values = finite(times.values) if times is not None else []
    if times is None or len(values) < 2 * _MIN_POINTS:
        return
    for share in (0.9, 0.99):
        yield fact(
            named(f"p{share * 100:.0f}", history, times.name),
            percentile(values, share),
            f'{share * 100:.0f}th percentile of "{times.name}"',
            [of_series(times)],
        )
    yield fact(named("max", history, times.name), max(values), f'largest "{times.name}"', [of_series(times)])


def projected(history: History, planned: FactInput | None) -> Iterator[Fact]:
    """How long all planned steps would take at the mean step time, where the run ended before them."""
    times, last = _step_times(history), history.last_step()
    if times is None or planned is None or not isinstance(planned.value, int | float) or last is None:
        return
    values = finite(times.values)
    if not values or last >= planned.value:
        return
    scale = 1e-3 if "ms" in times.name.lower() else 1.0
    each = mean(values) * scale
    yield fact(
        named("projected_seconds", history),
        planned.value * each,
        f'planned steps * mean "{times.name}"',
        [planned, of_series(times)],
        unit="s",
    )
    yield fact(
        named("elapsed_seconds", history),
        last * each,
        f'steps taken * mean "{times.name}"',
        [of_series(times)],
        unit="s",
    )
