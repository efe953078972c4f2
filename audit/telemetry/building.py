"""Collects values into series, within bounds, and keeps apart what must not be mixed."""

import math
from array import array

import msgspec

from audit.telemetry.model import Format, Series

MAX_SERIES = 5_000
"""Series of one reading. Runs that log every layer have some thousands."""

MAX_POINTS = 2_000_000
"""Points of one reading: 64 MB in columns of eight bytes."""

_MAX_OF_ONE = 250_000
"""Points of one series: formulas take it apart point by point, at some 300 bytes each."""

_THIN_FROM = 1_000
"""A shorter series is never thinned: it costs nothing, and each of its points may matter."""

_MAX_NAME = 200
_UNKNOWN = math.nan


class _Column:
    """One metric of one run while it grows. Where the whole gets too long every second finite value is dropped, so that the
    range stays covered; what is not finite, and the last value, always stays.
    """

    def __init__(self, axis: str, source: str) -> None:
        self.axis = axis
        self.source = source
        self.steps = array("q")
        self.values = array("d")
        self.times = array("d")
        self.lines = array("q")
        self.breaks: list[int] = []
        self.nulls = 0
        self.stride = 1
        self.seen = 0
        self.skipped: tuple[int, float, float, int] | None = None

    def add(self, step: int, value: float, time: float, line: int) -> None:
        self.seen += 1
        if self.stride > 1 and self.seen % self.stride and math.isfinite(value):
            self.skipped = (step, value, time, line)
            return
        self._append(step, value, time, line)

    def _append(self, step: int, value: float, time: float, line: int) -> None:
        self.skipped = None
        self.steps.append(step)
        self.values.append(value)
        self.times.append(time)
        self.lines.append(line)

    def mark(self) -> None:
        """The next value starts a segment."""
        self.flush()
        if not self.breaks or self.breaks[-1] != len(self.values):
            self.breaks.append(len(self.values))

    def flush(self) -> None:
        if self.skipped is not None:
            self._append(*self.skipped)

    def thin(self) -> int:
        """Drops every second finite value; says how many went."""
        before = len(self.values)
        kept = [
            i
            for i, value in enumerate(self.values)
            if i % 2 == 0 or not math.isfinite(value) or i == before - 1
        ]
        at = {index: position for position, index in enumerate(kept)}
        self.breaks = [
            next((at[i] for i in range(start, before) if i in at), len(kept)) for start in self.breaks
        ]
        for name in ("steps", "values", "times", "lines"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, (column[i] for i in kept)))
        self.stride *= 2
        return before - len(kept)

    def segments(self) -> tuple[int, ...]:
        steps = self.steps
        back = (i for i in range(1, len(steps)) if steps[i] < steps[i - 1])
        return tuple(sorted({0, *back, *(i for i in self.breaks if 0 < i < len(steps))}))


class Collector:
    """Takes values one at a time and hands out the series. `format` is that of all of them.

    Values beyond `MAX_SERIES` series are dropped and counted in `dropped`; steps beyond 64 bits are clamped.
    """

    def __init__(self, format: Format) -> None:
        self.format = format
        self.dropped = 0
        self._columns: dict[tuple[str, str, str], _Column] = {}
        self._points = 0

    def __len__(self) -> int:
        return len(self._columns)

    def _column(self, run: str, name: str, axis: str, source: str) -> _Column | None:
        column = self._columns.get((run, name, axis))
        if column is None:
            if len(self._columns) >= MAX_SERIES or not name or len(name) > _MAX_NAME:
                self.dropped += 1
                return None
            column = self._columns[run, name, axis] = _Column(axis, source)
        return column

    def add(
        self,
        name: str,
        step: int,
        value: float,
        *,
        run: str,
        source: str,
        axis: str = "step",
        time: float = _UNKNOWN,
        line: int = 0,
    ) -> None:
        """One value; see `Series` for what the fields mean."""
        column = self._column(run, name, axis, source)
        if column is None:
            return
        column.add(max(min(step, 2**63 - 1), -(2**63)), value, time, line)
        self._points += 1
        if len(column.values) > _MAX_OF_ONE:
            self._points -= column.thin()
        if self._points > MAX_POINTS:
            self._shrink()

    def null(self, name: str, *, run: str, source: str, axis: str = "step") -> None:
        """The metric was written without a value."""
        column = self._column(run, name, axis, source)
        if column is not None:
            column.nulls += 1

    def new_segment(self, run: str) -> None:
        """What comes next of this run was written by another process, or to another file."""
        for (owner, _, _), column in self._columns.items():
            if owner == run:
                column.mark()

    def _shrink(self) -> None:
        for column in self._columns.values():
            if len(column.values) > _THIN_FROM:
                column.thin()
        self._points = sum(len(column.values) for column in self._columns.values())

    def series(self, sampled: str = "") -> tuple[Series, ...]:
        """What was collected, in the order of first appearance; names that only ever held nulls are left out."""
        return tuple(
            self._finished(run, name, column, sampled)
            for (run, name, _), column in self._columns.items()
            if column.seen
        )

    def _finished(self, run: str, name: str, column: _Column, sampled: str) -> Series:
        column.flush()
        thinned = f"one value in {column.stride} kept: the history is too long" if column.stride > 1 else ""
        return Series(
            name=name,
            run=run,
            source=column.source,
            format=self.format,
            axis=column.axis,
            steps=column.steps,
            values=column.values,
            times=column.times,
            lines=column.lines,
            segments=column.segments(),
            nulls=column.nulls,
            sampled="; ".join(reason for reason in (sampled, thinned) if reason),
        )


def renamed(series: Series, **changes: object) -> Series:
    """The series with other fields."""
    return msgspec.structs.replace(series, **changes)
