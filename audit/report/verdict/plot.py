"""A plot as inline SVG, as numbers that a template prints: no script, no outside address."""

import math
from collections.abc import Sequence
from typing import Any

from audit.failure.plots import Plot

WIDTH, HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 12, 12, 28
_WIDE_RANGE = 1e3
"""Above this ratio of the largest to the smallest value a plot is drawn on a logarithmic axis."""


def drawn(plot: Plot) -> dict[str, Any] | None:
    """The plot's lines in SVG coordinates; None where it has no two finite values."""
    values = [value for curve in plot.curves for value in curve.values if value is not None]
    steps = [step for curve in plot.curves for step in curve.steps]
    if plot.limit is not None:
        values.append(plot.limit)
    if len(values) < 2 or len(steps) < 2:
        return None
    logarithmic = min(values) > 0 and max(values) / min(values) > _WIDE_RANGE
    scaled = [math.log10(value) if logarithmic else value for value in values]
    low, high = _widened(min(scaled), max(scaled))
    first, last = _widened(min(steps), max(steps))

    def x(step: float) -> float:
        return round(_LEFT + (step - first) / (last - first) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        number = math.log10(value) if logarithmic else value
        return round(_TOP + (high - number) / (high - low) * (HEIGHT - _TOP - _BOTTOM), 1)

    return {
        "metric": plot.metric,
        "axis": plot.axis,
        "logarithmic": logarithmic,
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "bottom": HEIGHT - _BOTTOM,
        "top": _TOP,
        "curves": [
            {"run": curve.run, "paths": _paths(curve.steps, curve.values, x, y)} for curve in plot.curves
        ],
        "event": x(plot.event) if plot.event is not None and first <= plot.event <= last else None,
        "event_step": _number(plot.event) if plot.event is not None else "",
        "limit": y(plot.limit) if plot.limit is not None else None,
        "limit_value": _number(plot.limit) if plot.limit is not None else "",
        "low": _number(10**low if logarithmic else low),
        "high": _number(10**high if logarithmic else high),
        "first": _number(min(steps)),
        "last": _number(max(steps)),
    }


def _widened(low: float, high: float) -> tuple[float, float]:
    room = max(0.5, abs(low) * 0.1)  # half a unit is nothing beside a very large number
    return (low - room, high + room) if low == high else (low, high)


def _paths(steps: Sequence[float], values: Sequence[float | None], x: Any, y: Any) -> list[str]:
    """Runs of finite values as point lists: a gap stays a gap."""
    paths: list[str] = []
    points: list[str] = []
    for step, value in zip(steps, values, strict=True):
        if value is None:
            if points:
                paths.append(" ".join(points))
            points = []
        else:
            points.append(f"{x(step)},{y(value)}")
    return [*paths, " ".join(points)] if points else paths


def _number(value: float) -> str:
    return f"{value:.4g}"
