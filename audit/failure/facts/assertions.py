"""What failed assertions state, as errors, ratios and shares."""

import math
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.make import fact
from audit.failure.gates.assertion import assertion_numbers
from audit.failure.gates.model import Assertion
from audit.failure.model import Line

_MOST = 3
_EPSILON = 2.0**-23
"""The distance from 1 to the next float32."""

_ROUNDING = 1e-4
"""Below that an error is worth telling in units of float32's precision."""


def facts(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """Of the first assertions that differ in their numbers, those in the cause's log first."""
    found = assertion_numbers(
        [line for line in lines if line.text.lstrip().startswith(("E ", "AssertionError"))]
    )
    if cause is not None:
        found.sort(key=lambda one: one.source != cause.source)
    distinct: dict[tuple[float | int | None, ...], Assertion] = {}
    for one in found:
        distinct.setdefault((one.actual, one.expected, one.absolute, one.mismatched), one)
    for number, one in enumerate(list(distinct.values())[:_MOST], 1):
        yield from _of(one, "" if number == 1 else f"_{number}")


def _of(one: Assertion, suffix: str) -> Iterator[Fact]:
    place = f"{one.source}:{one.line}"
    if one.mismatched is not None and one.total:
        inputs = [FactInput("mismatched", one.mismatched, place), FactInput("elements", one.total, place)]
        yield fact(
            f"mismatched_fraction{suffix}",
            one.mismatched / one.total,
            "mismatched elements / all elements",
            inputs,
        )
    if one.mismatched is not None or one.kind in ("tensors", "arrays"):
        for name, value in (("absolute", one.absolute), ("relative", one.relative)):
            if value is not None:
                yield fact(
                    f"max_{name}_difference{suffix}",
                    value,
                    f"greatest {name} difference that the assertion states",
                    [FactInput(name, value, place)],
                )
    elif one.actual is not None and one.expected is not None:
        inputs = [FactInput("actual", one.actual, place), FactInput("expected", one.expected, place)]
        if one.expected and math.isfinite(one.actual / one.expected):
            yield fact(
                f"actual_over_expected{suffix}", one.actual / one.expected, "actual / expected", inputs
            )
        if one.relative is not None:
            yield fact(
                f"relative_error{suffix}", one.relative, "abs(actual - expected) / abs(expected)", inputs
            )
    if one.relative is not None and 0 < one.relative < _ROUNDING:
        yield fact(
            f"error_in_float32_epsilons{suffix}",
            one.relative / _EPSILON,
            "relative error / 2**-23",
            [FactInput("relative error", one.relative, place)],
        )


_REFERENCES = ("golden", "expected", "reference", "baseline", "desired")


def between(told: Sequence[Fact]) -> Iterator[Fact]:
    """The errors between a number and its reference that a line states without them; small relative errors that were told
    in units of float32's precision.
    """
    known = {fact.name: fact for fact in reversed(told)}
    actual, reference = (
        known.get("actual"),
        next((known[name] for name in _REFERENCES if name in known), None),
    )
    if actual is not None and reference is not None and _is_number(actual) and _is_number(reference):
        a, b = float(actual.value or 0), float(reference.value or 0)
        inputs = [*actual.inputs, *reference.inputs]
        yield fact("stated_delta", a - b, f"actual - {reference.name}", inputs)
        if b and math.isfinite(a / b):
            yield fact(
                "stated_relative_error",
                abs(a - b) / abs(b),
                f"abs(actual - {reference.name}) / abs({reference.name})",
                inputs,
            )
            if 0 < abs(a - b) / abs(b) < _ROUNDING:
                yield fact(
                    "stated_error_in_float32_epsilons",
                    abs(a - b) / abs(b) / _EPSILON,
                    "relative error / 2**-23",
                    inputs,
                )
    errors = [
        one
        for one in told
        if one.name.endswith("relative_error") and _is_number(one) and 0 < float(one.value or 0) < _ROUNDING
    ]
    for one in errors[:1]:
        yield fact(
            f"{one.name}_in_float32_epsilons",
            float(one.value or 0) / _EPSILON,
            "relative error / 2**-23",
            one.inputs,
        )


def _is_number(one: Fact) -> bool:
    return isinstance(one.value, int | float) and not isinstance(one.value, bool) and math.isfinite(one.value)
