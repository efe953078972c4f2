"""Repeated runs of two variants (`variant`, `seed` columns, `main_seed0.csv` beside `ema_seed0.csv`): each variant's mean, and pairs of
runs that share a seed.
"""

import math
import re
from array import array
from collections.abc import Iterator, Sequence

import msgspec

from audit.documents.verdict import Fact
from audit.failure.facts.formulas import mean, standard_deviation
from audit.failure.facts.histories import History, by_step, part
from audit.failure.facts.make import fact, of_point
from audit.failure.facts.metrics import Meaning, meaning, plain, slug
from audit.telemetry import axes
from audit.telemetry.model import Format, Point, Run, Series, Telemetry

REPETITIONS = frozenset(("seed", "trial", "trial id", "fold", "replica", "run", "run id", "repeat", "rep"))
"""What tells repetitions of one experiment apart; anything else that differs tells experiments apart."""
_CROSSED = frozenset(("task", "env", "env id", "dataset"))
"""What both variants are run on: compared like with like."""

_LABELS = re.compile(r"\[(?P<labels>[^\[\]]*=[^\[\]]*)\]\s*\Z")
_SEED = re.compile(
    r"(?:(?<![a-z])(?:seed|run|fold|trial|rep|s|r)[-_ ]?)?(?P<number>\d{1,9})(?!.*\d)", re.IGNORECASE
)
"""The last number of a name, with the word before it."""
_EVALUATED = (Meaning.QUALITY, Meaning.VALIDATION_LOSS, Meaning.ERROR, Meaning.LOSS)
_MOST_PAIRS = 10
_MOST_METRICS = 2


class Arm(msgspec.Struct, frozen=True, eq=False):
    """The runs of one variant by what tells them apart (`seed 0`), and their mean as one history. `keys`: that in its parts."""

    name: str
    runs: dict[str, History]
    keys: dict[str, dict[str, str]]
    mean: History


class Arms(msgspec.Struct, frozen=True, eq=False):
    """The variant that is judged and the one it is held against."""

    candidate: Arm
    baseline: Arm

    def pairs(self) -> list[tuple[str, History, History]]:
        """(what tells it apart, candidate's run, baseline's run) of each repetition that both have."""
        return [
            (key, run, self.baseline.runs[key])
            for key, run in self.candidate.runs.items()
            if key in self.baseline.runs
        ]


def listed(telemetry: Telemetry) -> list[History]:
    """Rows of a table with one row a run, as histories of one point."""
    return [made for run in telemetry.runs if _LABELS.search(run.name) and (made := _of_row(run)) is not None]


_WITH_SERIES = (Format.WANDB, Format.HF_TRAINER, Format.MLLOG, Format.STDOUT)


def results(telemetry: Telemetry) -> list[History]:
    """Files of results without a history (an evaluation's JSON), as histories of one point under their files' names."""
    alone = [
        run
        for run in telemetry.runs
        if run.summary and run.format not in _WITH_SERIES and not _LABELS.search(run.name)
    ]
    made = [(run, history) for run in alone if (history := _of_row(run)) is not None]
    return [msgspec.structs.replace(history, label=run.source.rsplit(".", 1)[0]) for run, history in made]


def _of_row(run: Run) -> History | None:
    if not run.summary:
        return None
    counter = axes.step_column(run.summary)
    step = run.summary[counter] if counter is not None else 0.0
    step = step if abs(step) < 2**63 else 0.0  # NaN and what no column of whole numbers holds
    grouping = set(axes.group_columns(run.summary))
    source, _, line = run.source.rpartition(":")
    number = int(line) if line.isdecimal() else 0
    series = {
        plain(key): _series(key, run.name, source or run.source, run, counter, [(int(step), value, number)])
        for key, value in run.summary.items()
        if key != counter and key not in grouping
    }
    return History(run.name, series, run) if series else None


def _series(
    name: str,
    run: str,
    source: str,
    like: Run | Series,
    axis: str | None,
    rows: Sequence[tuple[int, float, int]],
) -> Series:
    return Series(
        name=name, run=run, source=source, format=like.format, axis=axis or "row",
        steps=array("q", [step for step, _, _ in rows]), values=array("d", [value for _, value, _ in rows]),
        times=array("d", [math.nan] * len(rows)), lines=array("q", [line for _, _, line in rows]),
    )  # fmt: skip


def arms(runs: Sequence[History], text: str = "") -> Arms | None:
    """The two variants among the runs, one of them known as the baseline by its name; of more than two the one that `text` names.
    None where the names do not tell.
    """
    told = [_keys(run) for run in runs]
    if len(told) < 3:
        return None
    varied = _telling(told)
    if varied is None:
        return None
    groups: dict[str, dict[str, tuple[History, dict[str, str]]]] = {}
    for run, keys in zip(runs, told, strict=True):
        own = {key: value for key, value in keys.items() if key not in (varied, "file", "name")}
        label = ", ".join(f"{key} {value}" for key, value in own.items())
        groups.setdefault(keys.get(varied, ""), {}).setdefault(label, (run, own))
    base = [name for name in groups if part(name) == "baseline"]
    others = [name for name in groups if name not in base]
    if len(others) > 1:
        others = [name for name in others if _named(name, text)]
    if len(base) != 1 or len(others) != 1 or max(len(groups[base[0]]), len(groups[others[0]])) < 2:
        return None
    return Arms(_arm(others[0], groups[others[0]]), _arm(base[0], groups[base[0]]))


def _keys(run: History) -> dict[str, str]:
    """What a run's label says of it: `[seed=0, variant=main]`, or of `main_seed0` the name and the number."""
    found = _LABELS.search(run.label)
    if found is not None:
        pairs = (item.partition("=") for item in found["labels"].split(", "))
        told = {plain(key): value.strip() for key, _, value in pairs}
        return {"file": plain(run.label[: found.start()]), **told}
    number = _SEED.search(run.label)
    if number is None:
        return {"name": plain(run.label)}
    return {"name": plain(run.label[: number.start()] + run.label[number.end() :]), "seed": number["number"]}


def _telling(told: Sequence[dict[str, str]]) -> str | None:
    """The one key, other than seeds and tasks, under which the runs differ."""
    keys = dict.fromkeys(key for one in told for key in one)
    varied = [
        key for key in keys if key not in REPETITIONS | _CROSSED and len({one.get(key) for one in told}) > 1
    ]
    if len(varied) > 1 and "file" in varied:  # a file for each variant says the same once more
        parted = [tuple(one.get("file") == told[0].get("file") for one in told)]
        varied = [
            key
            for key in varied
            if key == "file" or tuple(one.get(key) == told[0].get(key) for one in told) not in parted
        ]
    return varied[0] if len(varied) == 1 else None


def _named(name: str, text: str) -> bool:
    words = plain(name.lower())
    return bool(words) and any(
        re.search(rf"\b{re.escape(words)}\b", plain(line.lower())) for line in text[:20_000].splitlines()
    )


def _arm(name: str, held: dict[str, tuple[History, dict[str, str]]]) -> Arm:
    runs = {label: run for label, (run, _) in held.items()}
    return Arm(name, runs, {label: own for label, (_, own) in held.items()}, _mean(name, list(runs.values())))


def _mean(name: str, runs: Sequence[History]) -> History:
    """The mean over the runs at the steps that all of them have."""
    series = {}
    for key, first in runs[0].series.items():
        if not all(key in run.series for run in runs):
            continue
        points = [by_step(run.series[key].settled()) for run in runs]
        steps = sorted(set(points[0]).intersection(*points[1:]))
        if steps:
            rows = [(step, mean([one[step].value for one in points]), 0) for step in steps]
            label = f"{name} (mean of {len(runs)} runs)"
            series[key] = _series(first.name, label, first.source, first, first.axis, rows)
    return History(name, series)


def at_end(new: History, old: History, metric: str) -> tuple[Point, Point] | None:
    """Both runs' finite values of a metric at the last step that both have."""
    a, b = (by_step(run.series[metric].settled()) if metric in run.series else {} for run in (new, old))
    common = [
        step for step in a if step in b and math.isfinite(a[step].value) and math.isfinite(b[step].value)
    ]
    return (a[max(common)], b[max(common)]) if common else None


def metrics(found: Arms) -> list[str]:
    """The evaluated metrics that both variants have, held-out ones first."""
    shared = [key for key in found.candidate.mean.series if key in found.baseline.mean.series]
    return [
        key for kind in _EVALUATED for key in shared if meaning(found.candidate.mean.series[key].name) is kind
    ]


def facts(found: Arms) -> Iterator[Fact]:
    """Each variant's mean, the difference of the means, and that of each repetition."""
    for metric in metrics(found)[:_MOST_METRICS]:
        name = slug(found.candidate.mean.series[metric].name)
        for one in (found.candidate, found.baseline):
            ends = [_last(run, metric) for run in one.runs.values()]
            known = [(run, p) for run, p in zip(one.runs.values(), ends, strict=True) if p is not None]
            values = [p.value for _, p in known]
            inputs = [of_point(run.series[metric], p, run.label[:80]) for run, p in known[:20]]
            if values:
                yield fact(f"mean_{name} [{one.name}]", mean(values), f"mean over {len(values)} runs", inputs)
            if len(values) > 1:
                yield fact(
                    f"deviation_of_{name} [{one.name}]", standard_deviation(values), "standard deviation (n - 1) of the runs", inputs
                )  # fmt: skip
        yield from differences(found, metric)


def _last(run: History, metric: str) -> Point | None:
    found = at_end(run, run, metric)
    return found[0] if found is not None else None


def differences(found: Arms, metric: str) -> Iterator[Fact]:
    """Candidate - baseline of each repetition, their mean, and how many are better."""
    series = found.candidate.mean.series.get(metric)
    if series is None:
        return
    name = slug(series.name)
    made: list[tuple[str, float, Fact]] = []
    for key, new, old in found.pairs():
        ends = at_end(new, old, metric)
        if ends is None:
            continue
        a, b = ends
        inputs = [
            of_point(new.series[metric], a, found.candidate.name),
            of_point(old.series[metric], b, found.baseline.name),
        ]
        formula = f"{found.candidate.name} - {found.baseline.name} at {series.axis} {a.step}"
        made.append(
            (key, a.value - b.value, fact(f"{name}_difference [{key}]", a.value - b.value, formula, inputs))
        )
    if len(made) < 2:
        return
    inputs = [one for _, _, single in made for one in single.inputs][:20]
    gaps = [gap for _, gap, _ in made]
    better = sum(gap > 0 if meaning(series.name) is Meaning.QUALITY else gap < 0 for gap in gaps)
    yield fact(
        f"mean_{name}_difference",
        mean(gaps),
        f"mean of {found.candidate.name} - {found.baseline.name} over {len(made)} pairs",
        inputs,
    )
    yield fact(
        f"{name}_pairs_better",
        better,
        f"pairs of {len(made)} in which {found.candidate.name} is better",
        inputs,
    )
    yield from [single for _, _, single in made[:_MOST_PAIRS]]
