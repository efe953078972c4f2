"""Numbers of many samples: yes and no per question with the error of their share, repeated measures side by side, results of earlier runs."""

import math
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts import noise
from audit.failure.facts.arms import listed
from audit.failure.facts.formulas import binomial_error, finite, mean, ratio, standard_deviation
from audit.failure.facts.histories import RECORD, History, is_record_of_runs
from audit.failure.facts.make import fact, of_point, of_series
from audit.failure.facts.metrics import Meaning, meaning, plain, slug
from audit.telemetry.model import Series, Telemetry

_MIN_SAMPLES = 10
_MOST_REPEATS = 200
"""More values without steps are samples of another kind than repetitions of a measurement."""

_MOST = 3


def shares(runs: Sequence[History], telemetry: Telemetry, told: Sequence[Fact]) -> Iterator[Fact]:
    """Of each metric that is 0 or 1 a sample: how many there are, their share, its standard error, and the distance of that share from
    a limit and from the mean of earlier runs in such errors.
    """
    past = [points for name, points in records(telemetry) if meaning(name) is Meaning.QUALITY]
    for run in runs[:4]:
        for series in [s for s in run.series.values() if yes_and_no(s)][:_MOST]:
            yield from _share(series, past[0] if past else [], told)


def _share(series: Series, past: Sequence[FactInput], told: Sequence[Fact]) -> Iterator[Fact]:
    share, count = mean(series.values), len(series)
    name = slug(series.name)
    inputs = [of_series(series)]
    error = binomial_error(share, count)
    yield fact(f"{name}_rate", share, f'mean of "{series.name}"', inputs)
    yield fact(f"{name}_samples", count, "samples", inputs)
    yield fact(f"{name}_positive", int(sum(series.values)), f'samples with "{series.name}"', inputs)
    yield fact(f"{name}_standard_error", error, "sqrt(p * (1 - p) / n)", inputs)
    if error <= 0:
        return
    own = FactInput(name, share, series.source)
    for value, limit in _limits(told)[:1]:
        formula = "(p - limit) / standard error"
        yield fact(f"{name}_margin_in_standard_errors", (share - value) / error, formula, [own, limit])
        yield fact(f"{name}_minus_limit", share - value, "p - limit", [own, limit])
    if past:
        middle = mean([float(point.value or 0) for point in past])
        formula = "(p - mean of earlier runs) / standard error"
        yield fact("change_in_standard_errors", (share - middle) / error, formula, [own, *past[:10]])


def yes_and_no(series: Series) -> bool:
    """Whether a series holds 0 or 1 for each of many samples, and no course over steps."""
    return series.axis == "row" and len(series) >= _MIN_SAMPLES and {*series.values} <= {0.0, 1.0}


def _limits(told: Sequence[Fact]) -> list[tuple[float, FactInput]]:
    return [
        (float(one.value), FactInput(one.name, one.value, one.inputs[0].source if one.inputs else ""))
        for one in told
        if (one.name == "limit" or one.name.endswith("_limit"))
        and isinstance(one.value, int | float)
        and 0 < one.value < 1
    ]


def records(telemetry: Telemetry) -> list[tuple[str, list[FactInput]]]:
    """The metrics of files of earlier results that have one row a run (`run,accuracy`), with the value of each."""
    found: dict[tuple[str, str], list[FactInput]] = {}
    for run in listed(telemetry):
        for series in run.series.values():
            stem = plain(series.source.rsplit("/", 1)[-1].split(".")[0])
            if (
                RECORD.search(stem)
                and math.isfinite(series.values[-1])
                and meaning(series.name) is not Meaning.OTHER
            ):
                point = series.point(-1)
                found.setdefault((series.source, series.name), []).append(
                    of_point(series, point, run.label[-40:])
                )
    for series in telemetry.series:
        if is_record_of_runs(series):
            finite_ones = [p for p in series.points() if math.isfinite(p.value)]
            found.setdefault(
                (series.source, series.name), [of_point(series, p, f"run {p.step}") for p in finite_ones]
            )
    return [(name, points) for (_, name), points in found.items() if len(points) > 1]


def earlier(telemetry: Telemetry, told: Sequence[Fact]) -> Iterator[Fact]:
    """The mean and the scatter of earlier runs, and how far from them the number lies that the job was judged by."""
    for name, points in records(telemetry)[:_MOST]:
        values = [float(point.value or 0) for point in points]
        yield fact(
            f"{slug(name)}_history_mean", mean(values), f"mean of {len(values)} earlier runs", points[:20]
        )
        yield fact(
            f"{slug(name)}_history_deviation",
            standard_deviation(values),
            "standard deviation (n - 1) of the earlier runs",
            points[:20],
        )
        own = next(
            (
                one
                for one in told
                if one.name in ("actual", slug(name)) and isinstance(one.value, int | float)
            ),
            None,
        )
        if own is None or isinstance(own.value, bool):
            continue
        value = FactInput(own.name, own.value, own.inputs[0].source if own.inputs else "")
        spread = standard_deviation(values)
        yield fact(
            f"{slug(name)}_change_from_history",
            float(own.value or 0) - mean(values),
            "value - mean of the earlier runs",
            [value, *points[:20]],
        )
        if spread > 0 and len(values) >= noise.MIN_RUNS:
            yield fact(
                f"{slug(name)}_z",
                (float(own.value or 0) - mean(values)) / spread,
                "(value - mean) / standard deviation",
                [value, *points[:20]],
            )


def repeats(candidate: History, baseline: History) -> Iterator[Fact]:
    """Two lists of one measure without steps: the change of the mean, and the scatter of each."""
    for name, new in list(candidate.series.items())[:_MOST]:
        old = baseline.series.get(name)
        if old is None or not _is_list(new) or not _is_list(old):
            continue
        a, b = finite(new.values), finite(old.values)
        change = ratio(mean(a), mean(b))
        inputs = [of_series(new, "candidate"), of_series(old, "baseline")]
        stem = slug(new.name)
        yield fact(f"mean_{stem} [candidate]", mean(a), f"mean of {len(a)}", inputs[:1])
        yield fact(f"mean_{stem} [baseline]", mean(b), f"mean of {len(b)}", inputs[1:])
        if change is None:
            continue
        yield fact(
            f"mean_{stem}_relative_change", change - 1, "mean of candidate / mean of baseline - 1", inputs
        )
        for values, part in ((b, "baseline"), (a, "candidate")):
            if len(values) > 1 and mean(values):
                yield fact(
                    f"{stem}_variation [{part}]", standard_deviation(values) / abs(mean(values)), "standard deviation (n - 1) / mean", inputs
                )  # fmt: skip
        error = math.hypot(
            standard_deviation(a) / math.sqrt(len(a)), standard_deviation(b) / math.sqrt(len(b))
        )
        if error > 0:
            yield fact(
                f"mean_{stem}_change_in_standard_errors",
                (mean(a) - mean(b)) / error,
                "difference of the means / its standard error",
                inputs,
            )


def _is_list(series: Series) -> bool:
    return series.axis == "row" and 2 <= len(finite(series.values)) <= _MOST_REPEATS
