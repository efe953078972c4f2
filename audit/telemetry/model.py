"""What telemetry is once read: series of numbers, tables, test results, run records, and what could not be read.

Nothing here interprets. A value that is not finite stays where it stood, a cell that was empty is no value, a step
written twice is kept twice: `Series.settled` is the one place where a later value replaces an earlier one.
"""

import enum
import math
from array import array
from collections.abc import Iterator, Sequence

import msgspec

from audit.documents.place import Gap

Scalar = str | int | float | bool | None
"""One setting or summary value of a run."""


class Format(enum.Enum):
    """Which reader a value came from."""

    TENSORBOARD = "tensorboard"
    WANDB = "wandb"
    WANDB_EXPORT = "wandb export"
    MLFLOW = "mlflow"
    HF_TRAINER = "transformers trainer state"
    LIGHTNING = "lightning csv"
    CSV = "csv"
    JSONL = "json lines"
    JSON = "json"
    PARQUET = "parquet"
    MLLOG = "mlperf log"
    GOLDEN = "golden values"
    STDOUT = "log lines"
    JUNIT = "junit xml"
    PYTEST_JSON = "pytest json report"
    SETTINGS = "settings file"


class Point(msgspec.Struct, frozen=True, gc=False):
    """One recorded value. `time`: seconds since the epoch, None where unknown. `line`: line (text) or row of the
    source, from 1, None where the source has none.
    """

    step: int
    value: float
    time: float | None
    line: int | None


class Series(msgspec.Struct, frozen=True, eq=False):
    """The values of one metric in one run, in the order in which they were written.

    `run`: which run, as the source tells them apart (W&B display name or id, MLflow run name, TensorBoard folder,
    else the file). `source`: the file, as the verdict prints it. `axis`: what `steps` counts, by the name the
    source uses (`step`, `_step`, `iteration`, `epoch`, `episode`), or `row` where it has no such column.
    `steps`, `values`, `times` (seconds since the epoch, NaN: unknown) and `lines` (0: none) have one entry a
    point. `segments`: indexes at which a segment starts, the first being 0; a new one starts where the step goes
    back (a resumed or restarted run) or another file of the run begins. `nulls`: how often the value was
    written as null. `sampled`: why this is known not to be the whole history, else empty.
    """

    name: str
    run: str
    source: str
    format: Format
    axis: str
    steps: "array[int]"
    values: "array[float]"
    times: "array[float]"
    lines: "array[int]"
    segments: tuple[int, ...] = (0,)
    nulls: int = 0
    sampled: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def point(self, index: int) -> Point:
        """The point at an index (negative ones count from the end). Raises IndexError beyond the ends."""
        time = self.times[index]
        return Point(
            self.steps[index],
            self.values[index],
            None if math.isnan(time) else time,
            self.lines[index] or None,
        )

    def points(self) -> Iterator[Point]:
        """All points in the order written."""
        return (self.point(index) for index in range(len(self.values)))

    def settled(self) -> list[Point]:
        """One point a step, by ascending step: of several for a step the one written last, as a resumed run means
        it.
        """
        last = {step: index for index, step in enumerate(self.steps)}
        return [self.point(last[step]) for step in sorted(last)]

    def place(self, point: Point) -> str:
        """Where a point stands, for a fact's input: `metrics/run.csv:12`, or the file and the step."""
        return f"{self.source}:{point.line}" if point.line else f"{self.source} {self.axis} {point.step}"


class Table(msgspec.Struct, frozen=True, eq=False):
    """Rows of a source that are not one run's history: results by seed, episode or benchmark, a runs table.

    `columns` are the names in order, `rows` their cells (None: empty), `lines` the line of each row from 1 (0:
    none).
    """

    source: str
    format: Format
    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    lines: tuple[int, ...]

    def column(self, name: str) -> list[Scalar]:
        """The cells of a column. Raises ValueError where there is none of that name."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]


class Outcome(enum.Enum):
    """What became of a test. ERROR: it could not be run (fixture, collection, crash)."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    RERUN = "rerun"


class TestCase(msgspec.Struct, frozen=True):
    """One test of a report. `id`: as pytest prints it where the report allows it (`tests/test_a.py::test_b[1]`), else
    `classname.name`. `message`: the first line of the failure, `text` its whole text, cut at a bound. `seconds`:
    None where not recorded.
    """

    __test__ = False  # no test for pytest to collect
    id: str
    outcome: Outcome
    seconds: float | None = None
    message: str = ""
    text: str = ""
    file: str | None = None
    line: int | None = None


class TestResults(msgspec.Struct, frozen=True):
    """A test report. `declared`: the counts that the report itself states (`tests`, `failures`, `errors`, `skipped`, …),
    which need not agree with its cases: tools leave out attempts and fold outcomes together.
    """

    __test__ = False
    source: str
    format: Format
    cases: tuple[TestCase, ...]
    declared: dict[str, int]
    seconds: float | None = None
    exit_code: int | None = None

    def count(self, *outcomes: Outcome) -> int:
        """How many cases have one of the outcomes."""
        return sum(case.outcome in outcomes for case in self.cases)


class Run(msgspec.Struct, frozen=True):
    """What a source says about a run as a whole. `settings`: its configuration, nested keys joined by a dot.
    `summary`: values without a history (last or best values, averages). `status`: the source's own word
    (`FINISHED`, `RUNNING`, `success`, `aborted`), `exit_code` where recorded. `planned_steps`: steps it was to take,
    `last_step`: the step the source itself says it reached. Times in seconds since the epoch.
    """

    name: str
    source: str
    format: Format
    settings: dict[str, Scalar] = {}
    summary: dict[str, float] = {}
    status: str | None = None
    exit_code: int | None = None
    planned_steps: int | None = None
    last_step: int | None = None
    started: float | None = None
    ended: float | None = None


class MlEvent(msgspec.Struct, frozen=True):
    """One `:::MLLOG` line. `kind`: INTERVAL_START, INTERVAL_END, POINT_IN_TIME. `line` counts from 1."""

    source: str
    line: int
    time_ms: float
    kind: str
    key: str
    value: Scalar
    metadata: dict[str, Scalar]


class Telemetry(msgspec.Struct, frozen=True, eq=False):
    """All that was read. `files`: every file that was read, as the verdict prints it; `gaps`: files not read, or not read
    whole, and why.
    """

    series: tuple[Series, ...] = ()
    tables: tuple[Table, ...] = ()
    tests: tuple[TestResults, ...] = ()
    runs: tuple[Run, ...] = ()
    events: tuple[MlEvent, ...] = ()
    files: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def named(self, name: str) -> list[Series]:
        """The series of that name, of any run."""
        return [series for series in self.series if series.name == name]


def joined(parts: Sequence[Telemetry]) -> Telemetry:
    """Several readings as one, in the order given."""
    return Telemetry(
        series=tuple(series for part in parts for series in part.series),
        tables=tuple(table for part in parts for table in part.tables),
        tests=tuple(results for part in parts for results in part.tests),
        runs=tuple(run for part in parts for run in part.runs),
        events=tuple(event for part in parts for event in part.events),
        files=tuple(name for part in parts for name in part.files),
        gaps=tuple(gap for part in parts for gap in part.gaps),
    )
