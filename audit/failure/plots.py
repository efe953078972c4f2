"""Which series a reader wants to see beside the verdict, and the window around the event."""

import math
import re
from collections.abc import Sequence

import msgspec

from audit.failure.gates.model import GateOutcome
from audit.telemetry.model import Series, Telemetry

MOST_PLOTS = 4
MOST_POINTS = 400
"""Points of a plot: more cannot be told apart at its width."""
_WANTED = re.compile(
    r"loss|acc|grad|reward|return|score|perplexity|throughput|tokens|iteration[-_ ]time|learning[-_ ]rate|\blr\b",
    re.IGNORECASE,
)
_ORDER = ("loss", "grad", "acc", "reward", "tokens", "time", "learning", "lr")


class Curve(msgspec.Struct, frozen=True):
    """One run's values, `steps` and `values` of one length; a value that is not finite is None."""

    run: str
    steps: tuple[float, ...]
    values: tuple[float | None, ...]


class Plot(msgspec.Struct, frozen=True):
    """A metric of one or more runs. `event`: the step at which it went wrong, `limit`: a gate's limit on the metric itself."""

    metric: str
    axis: str
    curves: tuple[Curve, ...]
    event: float | None = None
    limit: float | None = None


def plots(telemetry: Telemetry, gates: Sequence[GateOutcome]) -> tuple[Plot, ...]:
    """The metrics of failed gates, then loss and its companions, each with the runs that have it."""
    missed = [gate for gate in gates if gate.passed is False and gate.metric]
    named = [gate.metric for gate in missed]
    names = dict.fromkeys(
        [
            *named,
            *sorted({series.name for series in telemetry.series if _WANTED.search(series.name)}, key=_rank),
        ]
    )
    found: list[Plot] = []
    for name in names:
        series = [one for one in telemetry.named(name) if len(one) > 1][:4]
        if not series:
            continue
        gate = next((gate for gate in missed if gate.metric == name), None)
        event = _event(series[0], gate)
        limit = gate.limit if gate is not None and not gate.derived else None
        found.append(Plot(name, series[0].axis, tuple(_curve(one, event) for one in series), event, limit))
        if len(found) == MOST_PLOTS:
            break
    return tuple(found)


def _rank(name: str) -> tuple[int, str]:
    lowered = name.lower()
    return next((index for index, word in enumerate(_ORDER) if word in lowered), len(_ORDER)), name


def _event(series: Series, gate: GateOutcome | None) -> float | None:
    """The first value that is not finite, else the worst or the first step over the gate's tolerance."""
    for step, value in zip(series.steps, series.values, strict=True):
        if not math.isfinite(value):
            return float(step)
    if gate is not None and gate.series is not None:
        return float(
            gate.series.first_over if gate.series.first_over is not None else gate.series.worst_relative_step
        )
    return None


def _curve(series: Series, event: float | None) -> Curve:
    """The values, around the event where there are too many for a plot."""
    points = [(float(step), float(value)) for step, value in zip(series.steps, series.values, strict=True)]
    if len(points) > MOST_POINTS and event is not None:
        middle = min(range(len(points)), key=lambda index: abs(points[index][0] - event))
        low = max(0, min(middle - MOST_POINTS // 2, len(points) - MOST_POINTS))
        points = points[low : low + MOST_POINTS]
    elif len(points) > MOST_POINTS:
        stride = math.ceil(len(points) / MOST_POINTS)
        points = [*points[::stride], points[-1]]
    return Curve(
        series.run,
        tuple(step for step, _ in points),
        tuple(value if math.isfinite(value) else None for _, value in points),
    )
