"""The arithmetic of the facts."""

import math
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.failure.facts import formulas
from audit.failure.facts.formulas import (
    binomial_error,
    diverged_from,
    percentile,
    relative_error,
    spikes,
    standard_deviation,
    steady,
    t_tail,
    warm_up,
)

FLOATS = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=120)


@pytest.mark.parametrize(
    ("count", "skipped"), [(0, 0), (9, 0), (10, 5), (40, 5), (100, 5), (240, 12), (1000, 50)]
)
def test_warm_up_is_five_steps_or_five_per_cent(count: int, skipped: int) -> None:
    assert warm_up(count) == skipped


def test_a_steady_window_leaves_out_warm_up_and_outliers() -> None:
    values = [9.0] * 5 + [1.0, 1.01, 0.99] * 30 + [5.0, math.nan]
    assert set(steady(values)) == {1.0, 1.01, 0.99}


@pytest.mark.parametrize(("actual", "golden", "error"), [
    (1.1, 1.0, 0.1), (-1.0, 1.0, 2.0), (0.25, 0.0, 0.25), (0.0, 0.0, 0.0), (math.nan, 1.0, math.inf), (1.0, math.inf, math.inf),
])  # fmt: skip
def test_relative_error(actual: float, golden: float, error: float) -> None:
    assert relative_error(actual, golden) == pytest.approx(error)


def test_percentiles_are_interpolated() -> None:
    assert [percentile([4.0, 1.0, 3.0, 2.0], share) for share in (0, 0.5, 1)] == [1.0, 2.5, 4.0]


def test_standard_deviation_divides_by_one_less() -> None:
    assert standard_deviation([1.0, 2.0, 3.0]) == 1.0
    assert standard_deviation([1.0]) == 0.0


def test_a_recovered_spike() -> None:
    (spike,) = spikes([1.0, 1.02, 0.98] * 20 + [7.0, 4.0, 1.05] + [1.0] * 20)
    assert (spike.index, spike.base, spike.back) == (60, 1.0, 62)


def test_a_level_that_stays_up_is_one_spike_that_is_not_back() -> None:
    found = spikes([1.0, 1.02, 0.98] * 20 + [7.0] * 40)
    assert [(spike.index, spike.back) for spike in found] == [(60, None)]


def test_noise_and_short_series_have_no_spikes() -> None:
    assert spikes([1.0, 1.3, 0.8, 1.2] * 30) == []
    assert spikes([1.0] * 10 + [50.0]) == []


@given(FLOATS)
def test_the_quick_way_past_most_values_loses_no_spike(values: list[float]) -> None:
    """A value that is a spike by the definition lies within one that was found, or in the stretch that one covers."""
    found = spikes(values)
    covered = {
        i
        for s in found
        for i in range(s.index, (s.back if s.back is not None else s.index + formulas.SPIKE_WINDOW) + 1)
    }
    for index in range(20, len(values)):
        window = [v for v in values[max(0, index - 50) : index] if math.isfinite(v)]
        if len(window) < 20 or not math.isfinite(values[index]) or index in covered:
            continue
        middle = median(window)
        limit = max(middle + 8 * formulas.deviation(window), 1.5 * middle)
        assert middle <= 0 or not values[index] > limit


def test_divergence_says_where_the_loss_was_lowest() -> None:
    falling = [5.0 - 0.04 * i for i in range(100)]
    assert diverged_from([*falling, *(1.1 + 0.1 * i for i in range(50))]) == 99


@pytest.mark.parametrize("values", [
    [5.0 - 0.04 * i for i in range(100)],  # it falls
    [5.0 - 0.04 * i for i in range(100)] + [1.5] * 50,  # a level above the lowest that does not rise
    [1.0, 2.0, 3.0],  # too few
    [1.0] * 30 + [math.nan],  # not finite: another fact
])  # fmt: skip
def test_no_divergence(values: list[float]) -> None:
    assert diverged_from(values) is None


def test_binomial_error() -> None:
    assert binomial_error(0.5, 100) == 0.05
    assert binomial_error(0.9, 0) == 0.0


@pytest.mark.parametrize(("t", "degrees", "tail"), [  # tables of Student's distribution
    (0.0, 5, 0.5), (1.812461, 10, 0.05), (2.228139, 10, 0.025), (1.644854, 1e7, 0.05), (6.313752, 1, 0.05), (-1.812461, 10, 0.95),
])  # fmt: skip
def test_students_distribution(t: float, degrees: float, tail: float) -> None:
    assert t_tail(t, degrees) == pytest.approx(tail, abs=1e-6)


@given(FLOATS)
def test_nothing_raises(values: list[float]) -> None:
    steady(values), spikes(values), diverged_from(values), standard_deviation(values)
    if formulas.finite(values):
        formulas.mean(formulas.finite(values)), percentile(formulas.finite(values), 0.99)
