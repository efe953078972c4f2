"""The arithmetic of the facts, on plain lists of numbers. No function raises for what the numbers are."""

import math
from collections.abc import Sequence
from statistics import fmean, median

WARM_UP_SHARE = 0.05
WARM_UP_STEPS = 5
"""The first steps compile, allocate and fill caches: the larger of five steps and 5 % of all is left out."""

_OUTLIER = 3.0
_SIGMA = 1.4826
"""Median absolute deviation of a normal distribution times this is its standard deviation."""

SPIKE_WINDOW = 50
_SPIKE_DEVIATIONS = 8.0
_SPIKE_RATIO = 1.5
_RECOVERED_RATIO = 1.1
_DIVERGED_RATIO = 1.2
_MIN_POINTS = 20
"""Fewer points say nothing about a trend."""


def warm_up(count: int) -> int:
    """How many of the first values a steady window leaves out: none where too few would remain."""
    skip = max(WARM_UP_STEPS, math.ceil(WARM_UP_SHARE * count))
    return skip if count - skip >= WARM_UP_STEPS else 0


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean of at least one value, infinite where their sum is beyond a float, NaN of both infinities."""
    try:
        return fmean(values)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan


def finite(values: Sequence[float]) -> list[float]:
    """The values that are finite."""
    return [value for value in values if math.isfinite(value)]


def deviation(values: Sequence[float]) -> float:
    """The standard deviation as the median absolute deviation tells it, so that single outliers do not count."""
    middle = median(values)
    return _SIGMA * median(abs(value - middle) for value in values)


def steady(values: Sequence[float]) -> list[float]:
    """The finite values after the warm-up, without those far from the others (evaluations, checkpoints)."""
    kept = finite(values[warm_up(len(values)) :])
    if len(kept) < WARM_UP_STEPS:
        return kept
    middle, width = median(kept), deviation(kept)
    return [value for value in kept if abs(value - middle) <= _OUTLIER * width] if width else kept


def relative_error(actual: float, reference: float) -> float:
    """|actual - reference| / |reference|, the absolute error where the reference is 0; infinite where one of them is not finite."""
    if not (math.isfinite(actual) and math.isfinite(reference)):
        return math.inf
    error = abs(actual - reference)
    return error / abs(reference) if reference else error


def ratio(a: float, b: float) -> float | None:
    """a / b, None where that is no finite number."""
    return a / b if b and math.isfinite(a) and math.isfinite(b) and math.isfinite(a / b) else None


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies, interpolated (of at least one value)."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def standard_deviation(values: Sequence[float]) -> float:
    """Of a sample (divisor n - 1), 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(sum((value - middle) * (value - middle) for value in values) / (len(values) - 1))


class Spike:
    """A value far above those before it: its index, its height over their median, and where the series was back."""

    def __init__(self, index: int, base: float, back: int | None) -> None:
        self.index, self.base, self.back = index, base, back


def spikes(values: Sequence[float]) -> list[Spike]:
    """The finite values above median + 8 deviations and 1.5 times the median of the 50 before (20 at least); neighbours count
    as one. Back: the first within 1.1 times that median within 50 steps.
    """
    found: list[Spike] = []
    floors = _floors(values)
    index = _MIN_POINTS
    while index < len(values):
        value = values[index]
        block = index // SPIKE_WINDOW
        # The window lies within these two blocks, and its median is not below their minimum: most values end here.
        if not math.isfinite(value) or value <= _SPIKE_RATIO * min(floors[max(0, block - 1)], floors[block]):
            index += 1
            continue
        window = finite(values[max(0, index - SPIKE_WINDOW) : index])
        middle = median(window) if len(window) >= _MIN_POINTS else 0.0
        if middle <= 0 or value <= max(middle + _SPIKE_DEVIATIONS * deviation(window), _SPIKE_RATIO * middle):
            index += 1
            continue
        after = range(index + 1, min(len(values), index + 1 + SPIKE_WINDOW))
        back = next((i for i in after if values[i] <= _RECOVERED_RATIO * middle), None)
        found.append(Spike(index, middle, back))
        index = (back if back is not None else index + SPIKE_WINDOW) + 1
    return found


def _floors(values: Sequence[float]) -> list[float]:
    """The smallest finite value of each block as long as the window."""
    blocks = range(0, len(values), SPIKE_WINDOW)
    return [min(finite(values[at : at + SPIKE_WINDOW]), default=math.inf) for at in blocks]


def diverged_from(values: Sequence[float]) -> int | None:
    """The index of the lowest value, where the last tenth (10 values at least) lies more than 20 % above it and rises; else
    None. A series of fewer than 20 finite values has no trend.
    """
    kept = finite(values)
    if len(kept) < _MIN_POINTS or len(kept) < len(values):
        return None
    size = max(10, len(kept) // 10)
    tail = kept[-size:]
    low = min(kept)
    reference = low * _DIVERGED_RATIO if low > 0 else low + 0.2 * abs(low)
    if median(tail) <= reference or slope(kept[-2 * size :]) <= 0:
        return None
    return kept.index(low)


def slope(values: Sequence[float]) -> float:
    """Theil and Sen's slope: the median over all pairs, of at most 100 values evenly taken."""
    stride = max(1, len(values) // 100)
    kept = [(i, values[i]) for i in range(0, len(values), stride)]
    slopes = [(b - a) / (j - i) for n, (i, a) in enumerate(kept) for j, b in kept[n + 1 :]]
    return median(slopes) if slopes else 0.0


def binomial_error(share: float, count: float) -> float:
    """The standard error of a share measured on so many samples."""
    return math.sqrt(max(share * (1 - share), 0.0) / count) if count > 0 else 0.0


def t_tail(t: float, degrees: float) -> float:
    """P(T > t) of Student's distribution, by the regularised incomplete beta function (Numerical Recipes 6.4)."""
    if degrees <= 0 or math.isnan(t):
        return math.nan
    tail = 0.5 * _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))
    return tail if t > 0 else 1 - tail


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / (c if abs(c) > tiny else tiny)
            result *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return result
