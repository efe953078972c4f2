"""A run's series held against stored values, step by step."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from audit.failure.gates.model import Series as Paired

_VALUE_KEYS: Final = ("values", "steps", "data", "history")


def stored_series(value: Any) -> dict[int, float] | None:
    """Stored values by step: `{"values": {"1": 2.5}}`, `{"1": 2.5}`, or a list (its index is the step); None where it is none.

    "nan" is a value as JSON spells it where a trainer wrote text.
    """
    if isinstance(value, dict):
        for key in _VALUE_KEYS:
            if isinstance(value.get(key), dict | list):
                return _offset(stored_series(value[key]), value)
        if not value or not all(
            isinstance(k, str | int) and str(k).removeprefix("-").isdecimal() and len(str(k)) < 16
            for k in value
        ):
            return None
        return {int(k): number for k, v in value.items() if (number := _number(v)) is not None}
    if isinstance(value, list) and len(value) > 1 and all(_number(v) is not None for v in value):
        return {i: _number(v) or 0.0 for i, v in enumerate(value)}
    return None


def _offset(found: dict[int, float] | None, block: dict[str, Any]) -> dict[int, float] | None:
    """A list of values counts from `start_step` by `step_interval` where the block says so."""
    start, interval = block.get("start_step"), block.get("step_interval", 1)
    if (
        found is None
        or not isinstance(block.get("values"), list)
        or not isinstance(start, int)
        or not isinstance(interval, int)
    ):
        return found
    return {start + index * interval: value for index, value in found.items()}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in ("nan", "inf", "-inf"):
        return float(value)
    return None


def pair(
    actual: Mapping[int, float],
    golden: Mapping[int, float],
    over: Callable[[float, float], bool] | None = None,
    allowance: int | None = None,
) -> Paired | None:
    """`actual` against `golden` at the golden steps. `over(actual, golden)` says whether a step is outside the tolerance; a value
    that is not finite on one side only always is. None where no step is on both sides.
    """
    steps = sorted(step for step in golden if step in actual)
    if not steps:
        return None
    worst_rel = worst_abs = (-1.0, steps[0])
    outside: list[int] = []
    different: list[int] = []
    signs: set[bool] = set()
    for step in steps:
        a, g = actual[step], golden[step]
        absolute = _difference(a, g)
        relative = absolute / abs(g) if g and math.isfinite(g) else (0.0 if absolute == 0 else math.inf)
        worst_rel = max(worst_rel, (relative, step), key=lambda pair: pair[0])
        worst_abs = max(worst_abs, (absolute, step), key=lambda pair: pair[0])
        if absolute > 0:
            different.append(step)
        if absolute == math.inf or (over is not None and absolute > 0 and over(a, g)):
            outside.append(step)
            signs.add(a > g)
    return Paired(
        steps=len(steps),
        missing=len(golden) - len(steps),
        worst_relative=worst_rel[0],
        worst_relative_step=worst_rel[1],
        worst_absolute=worst_abs[0],
        worst_absolute_step=worst_abs[1],
        final_step=steps[-1],
        final_actual=actual[steps[-1]],
        final_golden=golden[steps[-1]],
        first_different=different[0] if different else None,
        over=len(outside) if over is not None else None,
        first_over=outside[0] if over is not None and outside else None,
        allowance=allowance,
        same_sign=len(signs) == 1 and len(outside) > 1,
    )


def _difference(a: float, g: float) -> float:
    """`abs(a - g)`; two values that are not finite in the same way do not differ."""
    if math.isfinite(a) and math.isfinite(g):
        return abs(a - g)
    return 0.0 if a == g or (math.isnan(a) and math.isnan(g)) else math.inf
