"""CSV and TSV: plain histories, Lightning's sparse `metrics.csv`, exports of W&B charts and histories, of TensorBoard and MLflow."""

import csv
from collections.abc import Iterator, Sequence

from audit.documents.place import Gap
from audit.telemetry import axes
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.building import renamed
from audit.telemetry.model import Format, Series, Telemetry
from audit.telemetry.numbers import number
from audit.telemetry.rows import RowReader

_DELIMITERS = ",\t;|"
_SAMPLES = (500, 1_000, 1_500)
"""Points that W&B's exports sample a history down to: the API's default, and the charts'."""

_BOM = "\ufeff"


def is_delimited(artifact: Artifact) -> bool:
    """Whether its first lines have the same number of cells, more than one, under a row of names."""
    lines = _decoded(artifact.head).splitlines()
    lines = lines[:-1] if len(lines) > 2 and len(artifact.head) >= 8192 else lines
    rows = [line for line in lines if line.strip()][:12]
    if not rows or "\0" in rows[0] or rows[0].lstrip()[:1] in ("{", "[", "<"):
        return False
    named = artifact.file.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz"))
    delimiter = _delimiter(rows[0])
    if named and delimiter is None:
        return len(rows) > 1 and number(rows[0]) is None  # a single column under its name
    if delimiter is None:
        return False
    widths = [len(row) for row in csv.reader(rows, delimiter=delimiter)]
    return named or (len(rows) > 2 and len(set(widths)) == 1 and _has_numbers(rows[1:], delimiter))


def _has_numbers(rows: Sequence[str], delimiter: str) -> bool:
    return all(any(number(cell) is not None for cell in row.split(delimiter)) for row in rows)


def _delimiter(line: str) -> str | None:
    best = max(_DELIMITERS, key=line.count)
    return best if line.count(best) else None


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace").removeprefix(_BOM)


def read(files: Sequence[Artifact]) -> Telemetry:
    """The series of one file, and its rows where they hold more than one run."""
    artifact = files[0]
    rows = _Rows(artifact)
    try:
        header = rows.header()
    except (csv.Error, *DAMAGED) as error:
        return Telemetry(files=(artifact.name,), gaps=(Gap(artifact.name, f"not readable as CSV: {error}"),))
    kind = _kind(header, artifact)
    chart = _chart_runs(header)
    stem = artifact.file.split(".")[0]
    reader = RowReader(artifact.name, stem, kind, _cell)
    single = _single_series(header, artifact)
    for line, cells in rows:
        row = dict(zip(header, cells, strict=False))
        reader.take({single: row["Value"], **_without(row, "Value")} if single else row, line)
    series = reader.series()
    if chart:
        series = tuple(_of_chart(one) for one in series if one.name in chart)
    if kind is Format.WANDB_EXPORT:
        series = tuple(_sampling(one, reader.rows) for one in series)
    return Telemetry(
        series=series,
        tables=() if chart else reader.tables(),
        runs=reader.runs(),
        files=(artifact.name,),
        gaps=tuple(Gap(artifact.name, problem) for problem in _problems(rows, series, reader.rows)),
    )


def _problems(rows: "_Rows", series: tuple[Series, ...], count: int) -> Iterator[str]:
    if rows.problem:
        yield rows.problem
    if not count:
        yield "holds a header and no rows" if rows.named else "is empty"


def _cell(cell: object) -> float | None:
    return number(cell) if isinstance(cell, str) else None


def _without(row: dict[str, str], name: str) -> dict[str, str]:
    return {key: cell for key, cell in row.items() if key != name}


class _Rows:
    """The rows after the header with their line numbers; `problem` says why not all could be read."""

    def __init__(self, artifact: Artifact) -> None:
        self.problem = ""
        self.named = False
        self._artifact = artifact
        self._ended = True
        self._first: list[str] | None = None
        first = _decoded(artifact.head).split("\n", 1)[0]
        self._reader = csv.reader(self._text(), delimiter=_delimiter(first) or ",")
        self._header: list[str] = []

    def _text(self) -> Iterator[str]:
        utf16 = self._artifact.head[:2] in (b"\xff\xfe", b"\xfe\xff")
        if utf16:
            yield from _decoded(self._artifact.read(64 * 2**20)).splitlines(keepends=True)
            return
        first = True
        for line in self._artifact.lines():
            text = line.decode("utf-8", "replace")
            yield (text.removeprefix(_BOM) if first else text) + "\n"
            first = False

    def header(self) -> list[str]:
        """The names of the columns: those of the first row, or `column 1` and so on where that holds numbers only.

        Raises csv.Error or one of `DAMAGED` where there is no first row to be had.
        """
        cells = next(self._reader, [])
        if cells and all(number(cell) is not None for cell in cells):
            self._first = cells
            cells = [f"column {index}" for index in range(1, len(cells) + 1)]
        self.named = any(cell.strip() for cell in cells)
        self._header = [cell.strip() or f"column {index}" for index, cell in enumerate(cells, 1)]
        return self._header

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        if self._first is not None:
            yield 1, self._first
        short: tuple[int, list[str]] | None = None
        try:
            for cells in self._reader:
                if short is not None:
                    yield short  # a row of fewer cells in the middle is what it is
                    short = None
                if len(cells) < len(self._header) and cells:
                    short = (self._reader.line_num, cells)
                elif cells:
                    yield self._reader.line_num, cells
        except csv.Error as error:
            self.problem = f"line {self._reader.line_num}: {error}: read up to there"
        except DAMAGED:
            self.problem = "damaged: it does not unpack to its end"
        if short is not None:
            self.problem = self.problem or f"ends within a row, at line {short[0]}: that row was left out"


def _kind(header: Sequence[str], artifact: Artifact) -> Format:
    names = {name.lower() for name in header}
    if _chart_runs(header) or {"_step", "_runtime", "_timestamp"} <= names:
        return Format.WANDB_EXPORT
    if {"epoch", "step"} <= names and artifact.file.startswith("metrics.csv"):
        return Format.LIGHTNING
    return Format.CSV


def _single_series(header: Sequence[str], artifact: Artifact) -> str:
    """The metric's name in a download of one TensorBoard curve (`Wall time,Step,Value`), which only the file's name tells."""
    if [name.lower() for name in header] != ["wall time", "step", "value"]:
        return ""
    stem = artifact.file.rsplit(".", 1)[0]
    return stem.partition("-tag-")[2] or stem


def _chart_runs(header: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Run and metric of each column of a W&B chart export (`run - metric`, beside `…__MIN` and `…__MAX`), empty where it
    is no such export.
    """
    others = [
        name for name in header if axes.step_column([name]) is None and not name.startswith("Relative Time")
    ]
    found = {}
    for name in others:
        run, dash, metric = name.rpartition(" - ")
        if not dash:
            return {}
        if not metric.endswith(("__MIN", "__MAX")) and axes.step_column([metric]) is None:
            found[name] = (run, metric)
    return found


def _of_chart(series: Series) -> Series:
    run, _, metric = series.name.rpartition(" - ")
    return renamed(series, run=run, name=metric)


def _sampling(series: Series, rows: int) -> Series:
    """Marks what looks like a sample: as many rows as W&B hands out at most, with steps between them left out."""
    steps = series.steps
    strides = {steps[i] - steps[i - 1] for i in range(1, len(steps))}
    if rows not in _SAMPLES or strides <= {1}:
        return series
    return renamed(series, sampled=f"{rows} rows, as many as the export samples a longer history down to")
