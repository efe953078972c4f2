"""What a comparator's code would have read from the run's files, made again from telemetry.

The job wrote `out/metrics.csv`; a person has it as `metrics/history.csv`, or only as event files. So a path in the code is a hint:
the file of the same name, else the only one of its kind, else whichever run holds the key that is asked for. Where several
runs would answer, the answer is unknown unless one of them is the one whose number the log shows.
"""

import math
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from audit.failure.gates.model import Origin
from audit.failure.gates.values import NOTHING, AnyRun, Frame, V
from audit.telemetry.model import Format, Run, Series, Table, Telemetry

STEP_NAMES: Final = ("step", "_step", "iteration", "iter", "global_step", "epoch", "episode")
_NOT_WORD: Final = re.compile(r"[^a-z0-9]+")
_ROW_FORMATS: Final = {
    "csv": (Format.CSV, Format.LIGHTNING, Format.WANDB_EXPORT),
    "tsv": (Format.CSV,),
    "jsonl": (Format.JSONL,),
    "ndjson": (Format.JSONL,),
    "json": (Format.JSON, Format.HF_TRAINER, Format.GOLDEN),
    "parquet": (Format.PARQUET,),
}


def folded(name: str) -> str:
    """A metric's name without case and punctuation: "lm loss", "lm-loss" and "LM_Loss" are one."""
    return _NOT_WORD.sub("", name.lower())


def same_metric(asked: str, recorded: str) -> int:
    """How well a recorded name answers an asked one: 3 the same, 2 but for case and punctuation, 1 its last part, 0 not."""
    if asked == recorded:
        return 3
    if folded(asked) == folded(recorded) and folded(asked):
        return 2
    last = folded(re.split(r"[/.]", recorded)[-1])
    return 1 if last and last == folded(re.split(r"[/.]", asked)[-1]) else 0


class RunData:
    """Answers what code asks of a run's files. `shown(number)` says whether the log shows a number, for the choice among runs."""

    def __init__(self, telemetry: Telemetry, shown: Callable[[float], bool]) -> None:
        self._telemetry = telemetry
        self._shown = shown
        self._rows: dict[str, list[V]] = {}
        self.series: tuple[Series, ...] = tuple(s for s in telemetry.series if s.format is not Format.GOLDEN)

    def find(self, asked: str, among: Iterable[Series] | None = None) -> list[Series]:
        """The series that answer a metric's name best, of any run."""
        best, found = 0, []
        for series in self.series if among is None else among:
            score = same_metric(asked, series.name)
            if score > best:
                best, found = score, [series]
            elif score and score == best:
                found.append(series)
        return found

    def one(self, asked: str, among: Iterable[Series] | None = None) -> Series | None:
        """The series of that name of the run in question; None where none or several are."""
        found = [s for s in self.find(asked, among) if len(s)]
        if len(found) < 2:
            return found[0] if found else None
        written = [s for s in found if s.format is not Format.STDOUT]
        if written and len(written) < len(found):
            return self.one(asked, written)
        if _identical(found):
            return max(found, key=len)
        told = [s for s in found if self._shown(s.point(-1).value)]
        return told[0] if len(told) == 1 else None

    def rows(self, hint: str) -> list[V] | None:
        """The rows of the file that a path means, as dicts; None where no file answers."""
        source = self._source(hint)
        if source is None:
            return None
        if source not in self._rows:
            self._rows[source] = self._made(source)
        return self._rows[source]

    def _source(self, hint: str) -> str | None:
        ending = hint.rpartition(".")[2].lower()
        formats = _ROW_FORMATS.get(ending)
        sources: dict[str, Format] = {}
        for series in self.series:
            sources.setdefault(series.source, series.format)
        for table in self._telemetry.tables:
            sources.setdefault(table.source, table.format)
        for run in self._telemetry.runs:
            sources.setdefault(run.source, run.format)
        wanted = [s for s, f in sources.items() if formats is None or f in formats]
        return best_path(hint, wanted)

    def _made(self, source: str) -> list[V]:
        for table in self._telemetry.tables:
            if table.source == source:
                return _table_rows(table)
        return _series_rows([s for s in self.series if s.source == source])

    def document(self, hint: str) -> V:
        """The JSON document that a path means: its history under the name its format uses, its summary and settings."""
        source = self._source(hint)
        if source is None:
            return V(AnyRun(hint))
        made: dict[str, V] = {}
        for run in self._telemetry.runs:
            if run.source == source:
                made.update(_run_values(run))
        if any(s.source == source and s.format is Format.HF_TRAINER for s in self.series):
            made["log_history"] = V(self.rows(hint) or [])
        for series in self.series:
            if series.source == source and len(series):
                made.setdefault(series.name, last_value(series))
        return V(_nested(made))

    def lookup(self, key: str) -> V:
        """The last value of a metric of the run in question."""
        series = self.one(key)
        return last_value(series) if series is not None else NOTHING

    def tags(self) -> list[V]:
        """Names of all scalar series of event files, else of any run."""
        return [V(name) for name in dict.fromkeys(s.name for s in self._event_series())]

    def _event_series(self) -> Sequence[Series]:
        events = [s for s in self.series if s.format is Format.TENSORBOARD]
        return events or self.series

    def scalars(self, tag: str) -> Series | None:
        """The series of a tag of event files."""
        return self.one(tag, self._event_series())

    def frame(self, hint: str) -> V:
        """A table of a run's file."""
        rows = self.rows(hint)
        return V(Frame(tuple(rows))) if rows is not None else NOTHING


def _nested(flat: dict[str, V]) -> dict[str, V]:
    """A document from its flattened names: `results.gsm8k.acc` lies in `results`, `gsm8k`; the flat names stay."""
    made = dict(flat)
    for name, value in flat.items():
        here = made
        *parts, last = name.split(".")
        for part in parts:
            inner = here.setdefault(part, V({}))
            if not isinstance(inner.data, dict):
                break
            here = inner.data
        else:
            here.setdefault(last, value)
    return made


def best_path(hint: str, paths: Sequence[str]) -> str | None:
    """The path that a hint means: of the same name, else the one that shares most words with it, else the only one."""
    if not paths:
        return None
    name = posixpath.basename(hint)
    same = [p for p in paths if posixpath.basename(p.replace("!", "/")) == name]
    pool = same or list(paths)
    if len(pool) == 1:
        return pool[0]
    asked = _words(hint)
    scores = sorted(((len(asked & _words(p)), p) for p in pool), reverse=True)
    return scores[0][1] if scores[0][0] > scores[1][0] else None


_WORD: Final = re.compile(r"[a-z]+|\d+")


def _words(path: str) -> set[str]:
    return set(_WORD.findall(posixpath.splitext(path.lower())[0]))


def _identical(found: Sequence[Series]) -> bool:
    """Whether all are recordings of one run: the same values at the steps that they share, in single precision."""
    first = {p.step: p.value for p in found[0].points()}
    for other in found[1:]:
        shared = [(first[p.step], p.value) for p in other.points() if p.step in first]
        if not shared or any(
            not math.isclose(a, b, rel_tol=1e-6) and not (math.isnan(a) and math.isnan(b)) for a, b in shared
        ):
            return False
    return True


def metric_origin(series: Series) -> frozenset[Origin]:
    return frozenset((Origin("metric", series.name, series.source),))


def last_value(series: Series) -> V:
    """The value written last."""
    return V(series.point(-1).value, metric_origin(series))


def points_of(series: Series) -> list[tuple[int, V]]:
    """(step, value) in the order written."""
    origins = metric_origin(series)
    return [(step, V(value, origins)) for step, value in zip(series.steps, series.values, strict=True)]


def _series_rows(group: Sequence[Series]) -> list[V]:
    """Rows of a file from its series: cells of one line (else of one step) stand together."""
    rows: dict[tuple[int, int], dict[str, V]] = {}
    names = [s.name for s in group]
    text = any(s.format in (Format.CSV, Format.LIGHTNING, Format.WANDB_EXPORT) for s in group)
    for series in group:
        origins = metric_origin(series)
        for step, value, line in zip(series.steps, series.values, series.lines, strict=True):
            row = rows.setdefault((line, step if not line else 0), {})
            row[series.name] = V(value, origins)
            if series.axis != "row":
                row.setdefault(series.axis, V(step))
            row.setdefault("\0step", V(step))
    ordered = [rows[key] for key in sorted(rows)]
    if text:  # an empty cell of a CSV file is an empty text
        for row in ordered:
            for name in names:
                row.setdefault(name, V(""))
    return [V(row) for row in ordered]


def _table_rows(table: Table) -> list[V]:
    rows = []
    for cells in table.rows:
        row: dict[str, V] = {}
        for name, cell in zip(table.columns, cells, strict=False):
            origin = frozenset((Origin("metric", name, table.source),))
            row[name] = V("" if cell is None else cell, origin)
        rows.append(V(row))
    return rows


def _run_values(run: Run) -> dict[str, V]:
    def origin(key: str) -> frozenset[Origin]:
        return frozenset((Origin("metric", key, run.source),))

    made: dict[str, Any] = {key: V(value) for key, value in run.settings.items()}
    made.update({key: V(value, origin(key)) for key, value in run.summary.items()})
    if run.last_step is not None:
        made["global_step"] = V(run.last_step, origin("global_step"))
    if run.planned_steps is not None:
        made["max_steps"] = V(run.planned_steps)
    return made


def cell(row: dict[Any, V], key: Any) -> V | None:
    """A row's cell; the step answers to each of its usual names where no column has that name."""
    if key in row:
        return row[key]
    if key in STEP_NAMES and "\0step" in row:
        return row["\0step"]
    if isinstance(key, str) and "\0step" in row:
        near = [name for name in row if isinstance(name, str) and same_metric(key, name) == 2]
        return row[near[0]] if len(near) == 1 else None
    return None
