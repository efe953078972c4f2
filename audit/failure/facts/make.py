"""Facts in one form."""

from collections.abc import Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.histories import History
from audit.failure.facts.metrics import slug
from audit.telemetry.model import Point, Series


def fact(
    name: str, value: float | int, formula: str, inputs: Sequence[FactInput] = (), unit: str = ""
) -> Fact:
    """One fact; a whole number stays one where it is given as one."""
    return Fact(name=name, value=value, unit=unit, formula=formula, inputs=tuple(inputs))


def of_point(series: Series, point: Point, name: str = "") -> FactInput:
    """A recorded value as an input."""
    return FactInput(
        name=name or f"{series.name} at {series.axis} {point.step}",
        value=point.value,
        source=series.place(point),
    )


def of_series(series: Series, what: str = "values") -> FactInput:
    """A whole series as an input: how many values of it went in."""
    span = f"{series.axis} {min(series.steps)} to {max(series.steps)}" if len(series) else "empty"
    return FactInput(name=f"{what} of {series.name}", value=len(series), source=f"{series.source} ({span})")


def named(stem: str, history: History, metric: str = "") -> str:
    """A fact's name: stem, metric, and the run where there are several."""
    words = slug(metric) if metric else ""
    parts = [part for part in (stem, words.removeprefix(f"{stem}_")) if part]
    return "_".join(parts) + (f" [{history.label}]" if history.label else "")
