"""The runs in what was read: which series belong together, which run is judged and which one it is held against."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from audit.failure.facts.metrics import Meaning, meaning, plain
from audit.telemetry.model import Format, Point, Run, Series, Telemetry

_BASELINE = re.compile(
    r"\b(?:base(?:line)?|main|master|ref(?:erence)?|before|old|control|prev(?:ious)?|trunk|upstream|golden)\b"
)
_CANDIDATE = re.compile(r"\b(?:cand(?:idate)?|pr|new|after|head|feature|change|treatment|current)\b")
_SAME = 1e-6
"""Two histories whose ends agree to float32's precision are one, written to two places."""


class History(msgspec.Struct, frozen=True, eq=False):
    """One run: its series by plain name, and the record of it, if any. `label`: its name for a reader, empty where there is only
    one run. `from_log`: read from lines of a log, which are rounded and leave steps out.
    """

    label: str
    series: dict[str, Series]
    record: Run | None = None
    from_log: bool = False

    def of(self, *meanings: Meaning) -> list[Series]:
        """The series that mean one of these, in the order written, the longest first of those with one meaning."""
        found = [s for s in self.series.values() if meaning(s.name) in meanings]
        return sorted(found, key=lambda s: -len(s))

    def main_loss(self) -> Series | None:
        """The loss that is optimised: of several the one with most points."""
        return next(iter(self.of(Meaning.LOSS)), None) or next(iter(self.of(Meaning.VALIDATION_LOSS)), None)

    def last_step(self) -> int | None:
        """The last step that any series with steps reaches; the last epoch where epochs are all that is counted."""
        steps = [max(s.steps) for s in self.series.values() if s.axis not in ("row", "epoch") and len(s)]
        steps = steps or [max(s.steps) for s in self.series.values() if s.axis == "epoch" and len(s)]
        recorded = self.record.last_step if self.record else None
        return max([*steps, *([recorded] if recorded is not None else [])], default=None)


def histories(telemetry: Telemetry, logged: Telemetry | None = None) -> list[History]:
    """The runs, each once. Log lines count only where the files hold no history."""
    found = _grouped(telemetry, from_log=False)
    distinct = _distinct(found)
    if not distinct and logged is not None:
        distinct = _distinct(_grouped(logged, from_log=True))
    if len(distinct) == 1:
        return [msgspec.structs.replace(distinct[0], label="")]
    return distinct


def logged_histories(logged: Telemetry) -> list[History]:
    """The runs that log lines tell of."""
    found = _distinct(_grouped(logged, from_log=True))
    return [msgspec.structs.replace(found[0], label="")] if len(found) == 1 else found


def _grouped(telemetry: Telemetry, *, from_log: bool) -> list[History]:
    sources = {run.source: run for run in telemetry.runs}
    names = {run.name: run for run in telemetry.runs}
    runs: dict[tuple[str, str], dict[str, Series]] = {}
    for series in telemetry.series:
        if series.format is Format.GOLDEN or not len(series) or is_record_of_runs(series):
            continue
        label, prefix = _without_split(series, telemetry)
        held = runs.setdefault((label, _root(series)), {})
        name = plain(f"{prefix} {series.name}")
        if name not in held or len(held[name]) < len(series):
            held[name] = msgspec.structs.replace(series, name=f"{prefix}/{series.name}") if prefix else series
    labels = _labels(list(runs))
    return [
        History(labels[key], series, _record(key[0], series, names, {} if from_log else sources), from_log)
        for key, series in runs.items()
    ]


def _record(
    run: str, series: Mapping[str, Series], names: Mapping[str, Run], sources: Mapping[str, Run]
) -> Run | None:
    """The record of the same file or of the same name, else the settings that lie beside the file."""
    source = next(iter(series.values())).source
    beside = source.rpartition("/")[0]
    return (
        sources.get(source)
        or names.get(run)
        or next(
            (r for r in sources.values() if r.format is Format.SETTINGS and _home(r.source) == beside), None
        )
    )


def _home(source: str) -> str:
    return source.rpartition("/")[0].removesuffix("/.hydra").removesuffix("/files")


def _root(series: Series) -> str:
    """What keeps two runs of one name apart: the file, or the folder of a store that has a file for each metric."""
    if series.format in (Format.TENSORBOARD, Format.STDOUT):
        return ""
    return series.source.partition("/metrics/")[0] if series.format is Format.MLFLOW else series.source


def _labels(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The run's name, and the parts of its path that differ where several have one name."""
    named: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        named.setdefault(key[0], []).append(key)
    labels = {}
    for name, same in named.items():
        paths = [re.split(r"[/.]", root) for _, root in same]
        for key, path in zip(same, paths, strict=True):
            own = [part for part in path if not all(part in other for other in paths)]
            labels[key] = f"{'/'.join(own)} {name}" if len(same) > 1 and own else name
    return labels


_SPLITS = frozenset(("train", "training", "val", "valid", "validation", "eval", "evaluation", "test"))


def _without_split(series: Series, telemetry: Telemetry) -> tuple[str, str]:
    """Run and split of a TensorBoard folder such as `logs/train` beside `logs/validation`: Keras writes one run so."""
    parent, _, last = series.run.rpartition("/")
    if series.format is not Format.TENSORBOARD or last.lower() not in _SPLITS:
        return series.run, ""
    beside = {other.run for other in telemetry.series if other.run.rpartition("/")[0] == parent}
    if len(beside) < 2 or not all(
        run.rpartition("/")[2].lower() in _SPLITS for run in beside if run != parent
    ):
        return series.run, ""
    return parent or "run", "" if last.lower().startswith("train") else last


RECORD = re.compile(
    r"\b(?:history|histories|nightly|nightlies|trend|past|previous|earlier|last runs|past runs|baseline runs)\b"
)


def is_record_of_runs(series: Series) -> bool:
    """Whether a series is one number of each of many runs, as a file of earlier results holds them, and no run's course."""
    stem = plain(series.source.rsplit("/", 1)[-1].split(".")[0])
    return (
        series.axis == "row"
        and len(series) > 1
        and bool(RECORD.search(stem) or RECORD.search(plain(series.run)))
    )


def _distinct(found: Sequence[History]) -> list[History]:
    kept: list[History] = []
    for history in found:
        twin = next((i for i, other in enumerate(kept) if _same(history, other)), None)
        if twin is None:
            kept.append(history)
        else:
            kept[twin] = _merged(kept[twin], history)
    return kept


def _same(a: History, b: History) -> bool:
    """Whether two histories are one run written twice: they share a metric, and all they share agree. Two that their names tell apart,
    or that lie in two files of one kind and other names, are two runs that came out equal.
    """
    if {part(a.label), part(b.label)} == {"baseline", "candidate"} or _siblings(a, b):
        return False
    shared = [name for name in a.series if name in b.series and len(a.series[name]) > 1]
    return bool(shared) and all(_equal(a.series[name], b.series[name]) for name in shared)


def _siblings(a: History, b: History) -> bool:
    """Two files of one kind with the same columns. Digits that only rounding tells apart are of one run, exported twice."""
    first, second = (next(iter(history.series.values())) for history in (a, b))
    names = [one.source.rsplit("/", 1)[-1] for one in (first, second)]
    alike = (
        first.format is second.format
        and first.format in _FILES_OF_RUNS
        and a.series.keys() == b.series.keys()
    )
    return (
        alike
        and names[0] != names[1]
        and all(series.values[-1] == b.series[name].values[-1] for name, series in a.series.items())
    )


_FILES_OF_RUNS = (Format.CSV, Format.JSONL)


def _equal(a: Series, b: Series) -> bool:
    if len(a) != len(b) or a.steps[-1] != b.steps[-1]:
        return False
    return all(_close(a.values[i], b.values[i]) for i in (0, len(a) // 2, -1))


def _close(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= _SAME * max(abs(a), abs(b))


def _merged(first: History, second: History) -> History:
    """One run of both, under the label that says more."""
    told = [history.label for history in (first, second) if part(history.label)]
    return History(
        label=told[0] if told else first.label,
        series=second.series | first.series,
        record=first.record or second.record,
        from_log=first.from_log and second.from_log,
    )


def part(label: str) -> str:
    """What a run's name says about its part in a comparison: `baseline`, `candidate`, or nothing."""
    words = plain(label)
    if _BASELINE.search(words):
        return "baseline"
    return "candidate" if _CANDIDATE.search(words) else ""


def compared(runs: Sequence[History]) -> tuple[History, History] | None:
    """The run judged and the one it is held against, where the names of exactly two tell them apart."""
    if len(runs) != 2:
        return None
    parts = [part(run.label) for run in runs]
    if parts.count("baseline") == 1:
        base = parts.index("baseline")
    elif parts.count("candidate") == 1:
        base = 1 - parts.index("candidate")
    else:
        return None
    return runs[1 - base], runs[base]


def replicates(runs: Sequence[History]) -> bool:
    """Whether the runs are repetitions: two at least, under names that differ in a number only."""
    stems = {re.sub(r"\d+", "#", run.label) for run in runs}
    return len(runs) > 1 and len(stems) == 1 and "#" in next(iter(stems))


def last_finite(series: Series) -> Point | None:
    """The last value of the settled history that is finite."""
    return next((point for point in reversed(series.settled()) if math.isfinite(point.value)), None)


def by_step(points: Iterable[Point]) -> dict[int, Point]:
    """The points by their step."""
    return {point.step: point for point in points}
