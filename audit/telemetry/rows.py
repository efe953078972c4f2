"""Rows of named cells (CSV, JSON lines, Parquet, arrays of objects) as series, and as a table where they are no history."""

import math
from collections.abc import Callable, Iterable, Mapping

import msgspec

from audit.telemetry import axes
from audit.telemetry.building import Collector, renamed
from audit.telemetry.model import Format, Run, Scalar, Series, Table
from audit.telemetry.numbers import whole

MAX_TABLE_ROWS = 20_000
_MAX_TABLE_CELLS = 400_000
_MAX_TABLE_COLUMNS = 200
_MAX_CELL = 300


class _Shape(msgspec.Struct, frozen=True):
    """What the columns of a row mean: found once for each set of names."""

    step: str | None
    time: str | None
    split: str | None
    groups: tuple[str, ...]
    long: tuple[str, str] | None
    metrics: tuple[str, ...]


def _shape(names: tuple[str, ...]) -> _Shape:
    step, split = axes.step_column(names), axes.split_column(names)
    time, groups, long = axes.time_column(names), axes.group_columns(names), axes.long_columns(names)
    if long is not None:
        groups = [name for name in groups if name not in long]
    own = {step, time, split, "_runtime", *groups, *(long or ())}
    metrics = tuple(name for name in names if name not in own)
    return _Shape(step, time, split, tuple(groups), long, metrics)


class RowReader:
    """Takes rows one at a time. `number` turns a cell into a number, None where it holds none; `empty` says whether a cell
    holds nothing on purpose (JSON's null).
    """

    def __init__(
        self, source: str, run: str, format: Format, number: Callable[[object], float | None]
    ) -> None:
        self._source, self._run, self._format, self._number = source, run, format, number
        self._collector = Collector(format)
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._count: dict[str, int] = {}
        self._cells: list[tuple[int, Mapping[str, object]]] = []
        self._rows = 0
        self._held = 0
        self._labelled = False

    @property
    def rows(self) -> int:
        """How many rows were taken."""
        return self._rows

    def take(self, row: Mapping[str, object], line: int) -> None:
        """One row and the line it stands on, from 1."""
        self._rows += 1
        names = tuple(row)
        shape = self._shapes.get(names)
        if shape is None:
            shape = _shape(names)
            if len(self._shapes) < 1_000:  # hostile rows with ever new names
                self._shapes[names] = shape
        if self._rows <= MAX_TABLE_ROWS and self._held + len(row) <= _MAX_TABLE_CELLS:
            self._held += len(row)
            self._cells.append((line, row))
            self._labelled = self._labelled or bool(shape.groups)
        self._values(row, line, shape)

    def _values(self, row: Mapping[str, object], line: int, shape: _Shape) -> None:
        run = self._run_of(row, shape)
        count = self._count[run] = self._count.get(run, 0) + 1
        step = whole(row.get(shape.step)) if shape.step is not None else None
        axis = shape.step if shape.step is not None and step is not None else "row"
        where = count if step is None else step
        time = axes.seconds(self._number(row.get(shape.time))) if shape.time else math.nan
        for name, cell in self._metrics(row, shape):
            found = self._number(cell)
            if found is not None:
                self._collector.add(
                    name, where, found, run=run, source=self._source, axis=axis, time=time, line=line
                )
            elif isinstance(cell, str):
                self._labelled = self._labelled or bool(cell.strip())
            elif cell is None:
                self._collector.null(name, run=run, source=self._source, axis=axis)

    def _metrics(self, row: Mapping[str, object], shape: _Shape) -> Iterable[tuple[str, object]]:
        prefix = str(row.get(shape.split) or "")[:40] if shape.split else ""
        prefix = f"{prefix}/" if prefix else ""
        if shape.long is not None:
            name, held = shape.long
            return ((f"{prefix}{row.get(name)}", row.get(held)),)
        clock = (
            ()
            if shape.time is None or not math.isnan(axes.seconds(self._number(row.get(shape.time))))
            else (shape.time,)
        )
        return ((f"{prefix}{name}", row.get(name)) for name in (*shape.metrics, *clock))

    def _run_of(self, row: Mapping[str, object], shape: _Shape) -> str:
        labels = [
            f"{name}={str(cell)[:60]}"
            for name in shape.groups
            if isinstance(cell := row.get(name), str | int | float) and cell != ""
        ]
        return f"{self._run} [{', '.join(labels)}]" if labels else self._run

    def series(self, sampled: str = "") -> tuple[Series, ...]:
        """The histories: none where every row is of another run, as in a table of runs."""
        if self._is_listing():
            return ()
        found = self._collector.series(sampled)
        if len({series.run for series in found}) == 1:
            return tuple(renamed(series, run=self._run) for series in found)
        return found

    def _is_listing(self) -> bool:
        grouped = any(shape.groups for shape in self._shapes.values())
        return grouped and len(self._count) > 1 and max(self._count.values()) == 1

    def runs(self) -> tuple[Run, ...]:
        """One a row, where every row is of another run."""
        if not self._is_listing():
            return ()
        found = []
        for line, row in self._cells:
            shape = self._shapes.get(tuple(row)) or _shape(tuple(row))
            values = {
                name: number for name, cell in row.items() if (number := self._number(cell)) is not None
            }
            found.append(
                Run(
                    name=self._run_of(row, shape),
                    source=f"{self._source}:{line}",
                    format=self._format,
                    summary=values,
                )
            )
        return tuple(found)

    def tables(self) -> tuple[Table, ...]:
        """The rows themselves, where they hold more than one run's numbers."""
        if not self._labelled or not self._cells:
            return ()
        columns = tuple(dict.fromkeys(name for _, row in self._cells for name in row))[:_MAX_TABLE_COLUMNS]
        return (
            Table(
                source=self._source,
                format=self._format,
                columns=columns,
                rows=tuple(tuple(self._cell(row.get(name)) for name in columns) for _, row in self._cells),
                lines=tuple(line for line, _ in self._cells),
            ),
        )

    def _cell(self, cell: object) -> Scalar:
        number = self._number(cell)
        if number is not None:
            return number
        return cell[:_MAX_CELL] if isinstance(cell, str) and cell.strip() else None
