"""How far a number is from a limit or a history, measured in its own noise."""

import math
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.formulas import binomial_error, mean, standard_deviation
from audit.failure.facts.make import fact
from audit.telemetry.model import Telemetry

MIN_RUNS = 5
"""Fewer earlier runs give no estimate of the noise worth the name."""

UNKNOWN = "noise unknown: it takes at least five earlier runs of the same job"


def margin(
    name: str,
    value: FactInput,
    limit: FactInput,
    *,
    samples: FactInput | None = None,
    error: FactInput | None = None,
) -> Iterator[Fact]:
    """(value - limit) in standard errors: the error as recorded, or that of a share measured on so many samples.

    Nothing where neither is known, or the error is 0.
    """
    if not isinstance(value.value, int | float) or not isinstance(limit.value, int | float):
        return
    if error is not None and isinstance(error.value, int | float):
        size, formula, inputs = float(error.value), "standard error as recorded", [error]
    elif samples is not None and isinstance(samples.value, int | float) and 0 <= value.value <= 1:
        size, formula, inputs = (
            binomial_error(value.value, samples.value),
            "sqrt(p * (1 - p) / n)",
            [value, samples],
        )
    else:
        return
    if size > 0 and math.isfinite(size):
        yield fact(f"{name}_standard_error", size, formula, inputs)
        yield fact(
            f"{name}_margin_in_standard_errors",
            (value.value - limit.value) / size,
            "(value - limit) / standard error",
            [value, limit],
        )


def against(name: str, value: FactInput, history: Sequence[FactInput]) -> Iterator[Fact]:
    """(value - mean) in standard deviations of the earlier runs; `UNKNOWN` below five of them."""
    past = [
        float(item.value)
        for item in history
        if isinstance(item.value, int | float) and math.isfinite(item.value)
    ]
    if not isinstance(value.value, int | float) or not past:
        return
    if len(past) < MIN_RUNS:
        yield Fact(f"{name}_noise", UNKNOWN, "", f"{len(past)} earlier runs", tuple(history))
        return
    middle, spread = mean(past), standard_deviation(past)
    inputs = list(history[:20])
    yield fact(f"{name}_history_mean", middle, f"mean of {len(past)} earlier runs", inputs)
    yield fact(f"{name}_history_deviation", spread, "standard deviation (n - 1) of the earlier runs", inputs)
    if spread > 0:
        yield fact(
            f"{name}_z",
            (value.value - middle) / spread,
            "(value - mean) / standard deviation",
            [value, *inputs],
        )


def recorded_errors(telemetry: Telemetry) -> Iterator[Fact]:
    """Results that an evaluation stored with their own standard error (`acc` beside `acc_stderr`, as lm-evaluation-harness
    writes them).
    """
    for run in telemetry.runs:
        for key, error in run.summary.items():
            base = key.replace("_stderr", "", 1)
            if base == key or base not in run.summary or not error > 0:
                continue
            short = base.removeprefix("results.")
            yield fact(
                short,
                run.summary[base],
                f"{base} as recorded",
                [FactInput(base, run.summary[base], run.source)],
            )
            yield fact(
                f"{short}_standard_error", error, f"{key} as recorded", [FactInput(key, error, run.source)]
            )
