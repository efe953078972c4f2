"""Results without a history: single numbers of a run, of two runs side by side, and of many earlier runs."""

import math
from collections.abc import Iterator, Sequence
from statistics import median

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts import noise
from audit.failure.facts.formulas import ratio, steady
from audit.failure.facts.histories import History, is_record_of_runs, last_finite, part
from audit.failure.facts.make import fact, of_point, of_series
from audit.failure.facts.metrics import Meaning, meaning, plain, slug
from audit.failure.facts.settings import Setting, Settings
from audit.telemetry.model import Format, Run, Series, Table, Telemetry

_TELLING = (
    Meaning.QUALITY, Meaning.VALIDATION_LOSS, Meaning.LOSS, Meaning.ERROR, Meaning.THROUGHPUT, Meaning.STEP_TIME, Meaning.MEMORY
)  # fmt: skip
_WITH_SERIES = (Format.WANDB, Format.HF_TRAINER, Format.MLLOG, Format.STDOUT)
"""Whose summary is the end of series that are there too."""

_MOST = 6
_MOST_COMPARED = 4

SAMPLES = frozenset(
    ("num samples", "n samples", "eval samples", "test samples", "eval rows", "num eval samples", "n examples", "num examples",
     "test size", "eval size", "num questions", "questions", "effective", "val rows", "test rows")
)  # fmt: skip


def single(telemetry: Telemetry) -> Iterator[Fact]:
    """The telling numbers of runs that have no series, and their changes where two runs' names tell them apart."""
    alone = _without_series(telemetry)
    pair = _pair(alone)
    if pair is not None:
        yield from _compared(*pair)
    for run in alone[:2]:
        for key in _telling(run)[:_MOST]:
            name = slug(key) if len(alone) == 1 else f"{slug(key)} [{_label(run)}]"
            yield fact(name, run.summary[key], f'"{key}" as recorded', [_input(run, key)])


def _without_series(telemetry: Telemetry) -> list[Run]:
    return [run for run in telemetry.runs if run.summary and run.format not in _WITH_SERIES]


def _telling(run: Run) -> list[str]:
    keys = [key for key in run.summary if "stderr" not in key and math.isfinite(run.summary[key])]
    ranked = [(order, key) for order, kind in enumerate(_TELLING) for key in keys if meaning(key) is kind]
    return [key for _, key in sorted(ranked, key=lambda item: item[0])]


def _label(run: Run) -> str:
    return run.source.rsplit(".", 1)[0] if part(run.source) and not part(run.name) else run.name


def _input(run: Run, key: str, name: str = "") -> FactInput:
    return FactInput(name or key, run.summary[key], run.source)


def _pair(runs: Sequence[Run]) -> tuple[Run, Run] | None:
    """Candidate and baseline, by the names of the two runs or of their files."""
    if len(runs) != 2:
        return None
    parts = [part(run.name) or part(run.source) for run in runs]
    if parts.count("baseline") == 1:
        base = parts.index("baseline")
    elif parts.count("candidate") == 1:
        base = 1 - parts.index("candidate")
    else:
        return None
    return runs[1 - base], runs[base]


def _compared(new: Run, old: Run) -> Iterator[Fact]:
    for key in [key for key in _telling(new) if key in old.summary][:_MOST_COMPARED]:
        a, b = new.summary[key], old.summary[key]
        change = ratio(a, b)
        inputs = [_input(new, key, "candidate"), _input(old, key, "baseline")]
        if change is not None:
            yield fact(f"{slug(key)}_relative_change", change - 1, "candidate / baseline - 1", inputs)
            yield fact(f"{slug(key)}_ratio", change, "candidate / baseline", inputs)
        yield fact(f"{slug(key)}_delta", a - b, "candidate - baseline", inputs)
        if a < b:
            yield fact(f"{slug(key)}_drop", b - a, "baseline - candidate", inputs)
        errors = [run.summary.get(_error_key(key)) for run in (new, old)]
        if errors[0] and errors[1]:
            size = math.hypot(errors[0], errors[1])
            yield fact(
                f"{slug(key)}_change_in_standard_errors",
                (a - b) / size,
                "(candidate - baseline) / sqrt(se1^2 + se2^2)",
                inputs,
            )
            yield fact(
                f"{slug(key)}_distance_in_standard_errors",
                abs(a - b) / size,
                "|candidate - baseline| / sqrt(se1^2 + se2^2)",
                inputs,
            )


def _error_key(key: str) -> str:
    """lm-evaluation-harness writes `acc,none` beside `acc_stderr,none`."""
    metric, comma, kind = key.partition(",")
    return f"{metric}_stderr{comma}{kind}"


_BENCHMARK_NAMES = ("fullname", "name", "benchmark")
_BENCHMARK_VALUES = ("stats.median", "stats.mean", "real_time", "cpu_time", "median", "mean", "time")


def benchmarks(telemetry: Telemetry) -> Iterator[Fact]:
    """Of two tables of named benchmarks, by whose file names the baseline is known: the ratios that are farthest from 1."""
    found = [(table, rows) for table in telemetry.tables if (rows := _named_values(table))]
    if len(found) != 2:
        return
    parts = [part(table.source) for table, _ in found]
    if parts.count("baseline") != 1 and parts.count("candidate") != 1:
        return
    base = parts.index("baseline") if parts.count("baseline") == 1 else 1 - parts.index("candidate")
    (_, old), (_, new) = found[base], found[1 - base]
    ratios = [
        (change, name)
        for name in new
        if name in old and (change := ratio(new[name][0], old[name][0])) is not None
    ]
    for change, name in sorted(ratios, key=lambda item: -abs(math.log(item[0])) if item[0] > 0 else 0)[
        :_MOST_COMPARED
    ]:
        inputs = [FactInput("candidate", *new[name]), FactInput("baseline", *old[name])]
        yield fact(f"{name[:80]}_ratio", change, "candidate / baseline", inputs)


def _named_values(table: Table) -> dict[str, tuple[float, str]]:
    """Value and place by benchmark name, empty for a table of something else."""
    name = next((column for column in _BENCHMARK_NAMES if column in table.columns), None)
    held = next((column for column in _BENCHMARK_VALUES if column in table.columns), None)
    if name is None or held is None:
        return {}
    pairs = zip(table.column(name), table.column(held), strict=True)
    return {
        str(key): (float(value), f"{table.source} {key}"[:200])
        for key, value in pairs
        if isinstance(value, int | float) and isinstance(key, str)
    }


def against_earlier_runs(telemetry: Telemetry, runs: Sequence[History]) -> Iterator[Fact]:
    """Where a file holds a metric of many earlier runs: how far from them the run's own number lies, in their noise."""
    for record in [series for series in telemetry.series if is_record_of_runs(series)][:20]:
        own = _own(record, telemetry, runs)
        if own is None:
            continue
        past = [of_point(record, point, f"run {point.step}") for point in record.points()]
        yield from noise.against(slug(record.name), own, past)


def _own(record: Series, telemetry: Telemetry, runs: Sequence[History]) -> FactInput | None:
    """The run's own number of that metric: the steady median of a rate, the last of anything else, or a single result."""
    name = plain(record.name)
    for run in runs:
        series = run.series.get(name)
        if series is None:
            continue
        if meaning(series.name) in (Meaning.THROUGHPUT, Meaning.STEP_TIME) and (
            values := steady(series.values)
        ):
            return FactInput(f"median {series.name}", median(values), of_series(series).source)
        last = last_finite(series)
        return of_point(series, last) if last is not None else None
    for one in _without_series(telemetry):
        for key in one.summary:
            if plain(key) == name:
                return _input(one, key)
    return None


def margins(
    telemetry: Telemetry, runs: Sequence[History], told: Sequence[Fact], known: Settings
) -> Iterator[Fact]:
    """How many standard errors lie between a share and the limit that it missed or held, as the facts before these tell
    them.
    """
    limits = [
        f
        for f in told
        if (f.name == "limit" or f.name.endswith("_limit")) and isinstance(f.value, float) and 0 < f.value < 1
    ]
    if not limits:
        return
    limit = FactInput(limits[0].name, limits[0].value, limits[0].inputs[0].source if limits[0].inputs else "")
    for value, error, samples in _shares(telemetry, runs, known):
        if any(
            isinstance(f.value, int | float) and math.isclose(f.value, float(value.value or 0), abs_tol=6e-4)
            for f in told
        ):
            yield from noise.margin(slug(value.name), value, limit, samples=samples, error=error)
            return


def _shares(
    telemetry: Telemetry, runs: Sequence[History], known: Settings
) -> Iterator[tuple[FactInput, FactInput | None, FactInput | None]]:
    """Recorded shares with their recorded error, or with the number of samples they were measured on."""
    configured = known.number(SAMPLES)
    samples = (
        FactInput(configured.name, configured.value, configured.place) if configured is not None else None
    )
    for run in telemetry.runs:
        counted = _counted(run)
        for key in _telling(run):
            if meaning(key) is not Meaning.QUALITY or not 0 <= run.summary[key] <= 1:
                continue
            metric, comma, kind = key.partition(
                ","
            )  # lm-evaluation-harness: `acc,none` beside `acc_stderr,none`
            stderr = f"{metric}_stderr{comma}{kind}"
            error = _input(run, stderr) if stderr in run.summary else None
            told = FactInput(counted.name, counted.value, counted.place) if counted is not None else samples
            yield _input(run, key, key.rpartition(".")[2]), error, told
    for history in runs:
        for series in history.of(Meaning.QUALITY):
            last = last_finite(series)
            if last is not None and 0 <= last.value <= 1 and samples is not None:
                yield of_point(series, last, series.name), None, samples


def _counted(run: Run) -> Setting | None:
    for key, value in run.summary.items():
        words = plain(key)
        if plain(key.rpartition(".")[2]) in SAMPLES or ("samples" in words and words.endswith("effective")):
            return Setting(key, value, run.source)
    return None
