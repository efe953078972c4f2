"""The numbers of a gate as facts of the verdict: value, limit, distance, change against the reference, and a series' errors."""

import math
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from audit.documents.verdict import Fact, FactInput
from audit.failure.gates.model import GateOutcome
from audit.failure.gates.model import Series as Paired
from audit.failure.gates.rundata import RunData

EPSILON: Final = 2.0**-23
"""Relative distance of neighbouring float32 numbers."""
_FINE: Final = 1e-4
"""Relative errors below this are told in float32 units too: they may be rounding."""

_NAME: Final = re.compile(r"[^a-z0-9]+")


def with_facts(outcome: GateOutcome, data: RunData) -> GateOutcome:
    """The outcome with its facts."""
    stem = _NAME.sub("_", (outcome.metric or outcome.symbol or "gate").lower()).strip("_") or "gate"
    facts = [*_plain(outcome, stem, data)]
    if outcome.series is not None:
        facts += series_facts(outcome.series, stem, _place(outcome, data), _stored_place(outcome))
    return msgspec.structs.replace(outcome, facts=tuple(facts))


def _place(outcome: GateOutcome, data: RunData) -> str:
    """Where the actual value stands: the file, and the row where one point has exactly that value."""
    series = data.one(outcome.metric) if outcome.metric else None
    if series is None:
        return ""
    for index in range(len(series) - 1, -1, -1):
        if series.values[index] == outcome.actual:
            return series.place(series.point(index))
    return series.source


def _stored_place(outcome: GateOutcome) -> str:
    return next(
        (f"{o.place} {o.name}".strip() for o in outcome.origins if o.kind == "stored"),
        f"{outcome.path}:{outcome.line}",
    )


def _limit_place(outcome: GateOutcome) -> str:
    order = ("stored", "argument", "environment", "constant")
    found = sorted((o for o in outcome.origins if o.kind in order), key=lambda o: order.index(o.kind))
    return f"{found[0].place} {found[0].name}".strip() if found else f"{outcome.path}:{outcome.line}"


def _plain(outcome: GateOutcome, stem: str, data: RunData) -> Iterator[Fact]:
    actual, limit, reference = outcome.actual, outcome.limit, outcome.reference
    if actual is None:
        return
    a = FactInput("actual", actual, _place(outcome, data))
    yield Fact(f"{stem}", actual, formula=outcome.rule, inputs=(a,))
    if outcome.operator == "close":
        yield from _closeness(outcome, stem, a)
        return
    if limit is not None:
        b = FactInput("limit", limit, _limit_place(outcome))
        yield Fact(f"{stem}_limit", limit, formula="limit of the gate", inputs=(b,))
        if limit and math.isfinite(actual):
            upper = outcome.operator in ("<", "<=")
            if outcome.derived and upper and limit < _FINE:
                yield from _in_units(stem, abs(actual), a)
            if outcome.derived and upper and 0 < limit < 1 and actual > -1:
                yield Fact(
                    f"{stem}_over_limit",
                    (1 + actual) / (1 + limit) - 1,
                    formula="(1 + actual) / (1 + limit) - 1",
                    inputs=(a, b),
                )
            elif upper:
                yield Fact(
                    f"{stem}_over_limit", actual / limit - 1, formula="actual / limit - 1", inputs=(a, b)
                )
            else:
                yield Fact(
                    f"{stem}_below_limit", 1 - actual / limit, formula="1 - actual / limit", inputs=(a, b)
                )
            yield Fact(f"{stem}_to_limit", actual / limit, formula="actual / limit", inputs=(a, b))
        yield Fact(f"{stem}_minus_limit", actual - limit, formula="actual - limit", inputs=(a, b))
    if reference is not None and reference != limit and math.isfinite(actual):
        r = FactInput("reference", reference, _stored_place(outcome))
        yield Fact(f"{stem}_reference", reference, formula="stored value", inputs=(r,))
        yield Fact(
            f"{stem}_relative_change", actual / reference - 1, formula="actual / reference - 1", inputs=(a, r)
        )
        yield Fact(f"{stem}_drop", 1 - actual / reference, formula="1 - actual / reference", inputs=(a, r))
        yield Fact(f"{stem}_delta", actual - reference, formula="actual - reference", inputs=(a, r))
    if outcome.noise is not None:
        n = FactInput("noise", outcome.noise, _stored_place(outcome))
        yield Fact(
            f"{stem}_noise",
            outcome.noise,
            formula="run-to-run deviation that the repository states, relative",
            inputs=(n,),
        )
        base = reference if reference is not None else limit
        if base and limit is not None and outcome.noise > 0:
            yield Fact(
                f"{stem}_miss_in_deviations",
                (actual - limit) / (outcome.noise * abs(base)),
                formula="(actual - limit) / (noise * abs(reference))",
                inputs=(a, n),
            )


def _in_units(stem: str, error: float, *inputs: FactInput) -> Iterator[Fact]:
    """A small relative error in units of float32 resolution."""
    if 0 < error < _FINE:
        yield Fact(
            f"{stem}_error_over_float32_eps",
            error / EPSILON,
            formula="relative error / 2**-23",
            inputs=inputs,
        )


def _closeness(outcome: GateOutcome, stem: str, a: FactInput) -> Iterator[Fact]:
    actual, expected = outcome.actual, outcome.limit
    if actual is None or expected is None or not math.isfinite(actual) or not math.isfinite(expected):
        return
    e = FactInput("expected", expected, _stored_place(outcome))
    difference = abs(actual - expected)
    yield Fact(f"{stem}_expected", expected, formula="stored value", inputs=(e,))
    yield Fact(f"{stem}_absolute_error", difference, formula="abs(actual - expected)", inputs=(a, e))
    if expected:
        yield Fact(
            f"{stem}_relative_error",
            difference / abs(expected),
            formula="abs(actual - expected) / abs(expected)",
            inputs=(a, e),
        )
        yield from _in_units(stem, difference / abs(expected), a, e)
        yield Fact(f"{stem}_ratio", actual / expected, formula="actual / expected", inputs=(a, e))


def series_facts(series: Paired, stem: str, actual: str, golden: str) -> list[Fact]:
    """A series held against stored values, in numbers."""
    inputs = (FactInput("actual", None, actual), FactInput("golden", None, golden))
    final = series.final_actual - series.final_golden
    facts = [
        Fact(
            f"{stem}_max_relative_error",
            series.worst_relative,
            formula="max over golden steps of abs(actual - golden) / abs(golden)",
            inputs=inputs,
        ),
        Fact(
            f"{stem}_worst_step",
            series.worst_relative_step,
            unit="step",
            formula="step of that maximum",
            inputs=inputs,
        ),
        Fact(
            f"{stem}_max_absolute_error",
            series.worst_absolute,
            formula="max over golden steps of abs(actual - golden)",
            inputs=inputs,
        ),
        Fact(
            f"{stem}_final",
            series.final_actual,
            formula=f"value at step {series.final_step}",
            inputs=inputs[:1],
        ),
        Fact(f"{stem}_final_delta", final, formula="actual - golden at the last golden step", inputs=inputs),
    ]
    if series.final_golden:
        facts.append(
            Fact(
                f"{stem}_final_relative_error",
                abs(final) / abs(series.final_golden),
                formula="abs(actual - golden) / abs(golden) at the last golden step",
                inputs=inputs,
            )
        )
    facts += _in_units(f"{stem}_max", series.worst_relative, *inputs)
    if series.over is not None:
        facts.append(
            Fact(
                f"{stem}_steps_over_limit",
                series.over,
                formula="golden steps outside the tolerance",
                inputs=inputs,
            )
        )
        if series.first_over is not None:
            facts.append(
                Fact(
                    f"{stem}_first_step_over",
                    series.first_over,
                    unit="step",
                    formula="first golden step outside the tolerance",
                    inputs=inputs,
                )
            )
    return facts
