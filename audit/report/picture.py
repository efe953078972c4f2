"""The geometry of the report's pictures: numbers for inline SVG, no markup."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from audit.documents.report import Dimension

_WIDTH, _HEIGHT = 500, 344
_X, _Y, _RADIUS = 250.0, 172.0, 122.0
_LABEL = 14.0
_LINE = 15.0


@dataclass(frozen=True)
class Axis:
    """One dimension: its axis ends at (x, y), its label stands at (label_x, label_y), its value at `dot`."""

    title: str
    score: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    dot: tuple[float, float] | None


@dataclass(frozen=True)
class Radar:
    """A radar chart in user units; `rings` and `area` are polygons as SVG's `points` attribute wants them."""

    width: int
    height: int
    x: float
    y: float
    axes: tuple[Axis, ...]
    rings: tuple[str, ...]
    area: str
    description: str


def radar(dimensions: Sequence[tuple[str, Dimension]]) -> Radar:
    """The dimensions clockwise from the top; one that does not apply has an axis but no corner of the
    area."""
    turns = [2 * math.pi * number / len(dimensions) for number in range(len(dimensions))]
    axes = tuple(
        _axis(title, dimension.score, turn)
        for (title, dimension), turn in zip(dimensions, turns, strict=True)
    )
    return Radar(
        width=_WIDTH,
        height=_HEIGHT,
        x=_X,
        y=_Y,
        axes=axes,
        rings=tuple(_points([_at(turn, level) for turn in turns]) for level in (2.5, 5.0, 7.5, 10.0)),
        area=_points([axis.dot for axis in axes if axis.dot]),
        description="; ".join(f"{axis.title} {axis.score}" for axis in axes),
    )


def _axis(title: str, score: float | None, turn: float) -> Axis:
    x, y = _at(turn, 10.0)
    label_x, label_y = _at(turn, 10.0, _LABEL)
    side, up = math.sin(turn), math.cos(turn)
    # Two lines stand beside their point, above it at the top, below it at the bottom.
    label_y = round(
        label_y - up * _LINE * 0.6 - (_LINE * 0.4 if up > 0.9 else 0.0) + (3.0 if up < -0.9 else 0.0), 1
    )
    return Axis(
        title=title,
        score="not applicable" if score is None else f"{score:.1f}",
        x=x,
        y=y,
        label_x=label_x,
        label_y=label_y,
        anchor="middle" if abs(side) < 0.1 else "start" if side > 0 else "end",
        dot=None if score is None else _at(turn, min(max(score, 0.0), 10.0)),
    )


def _at(turn: float, score: float, beyond: float = 0.0) -> tuple[float, float]:
    reach = _RADIUS * score / 10 + beyond
    return round(_X + reach * math.sin(turn), 1), round(_Y - reach * math.cos(turn), 1)


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in corners)
