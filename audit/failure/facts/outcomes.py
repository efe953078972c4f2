"""Histories of yes and no (an episode finished, a request succeeded): rates over all and at the end, and runs that got there."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.formulas import mean
from audit.failure.facts.histories import History
from audit.failure.facts.make import fact, of_series
from audit.failure.facts.metrics import plain, slug
from audit.failure.facts.settings import Settings
from audit.telemetry.model import Series, Telemetry

_MIN_TRIALS = 10
_DEFAULT_WINDOW = 20
"""Trials of which a final rate is taken where the log does not say how many."""

_LAST = re.compile(r"\blast (\d{1,4})\b")
REQUIRED = frozenset(
    ("required", "threshold", "target", "success threshold", "solved threshold", "solve threshold", "min success rate", "pass threshold",
     "required rate", "target rate", "min rate")
)  # fmt: skip


def rates(runs: Sequence[History], settings: Settings, logged: Telemetry) -> Iterator[Fact]:
    """For each such metric the rate over all trials, the mean final rate, and the share of runs whose final rate is what is
    required, where a setting says what that is.
    """
    for found in _of_yes_and_no(runs)[:2]:
        window = min(_window(logged), *(len(series) for series in found))
        values = [value for series in found for value in series.values]
        inputs = [of_series(series, series.run) for series in found[:20]]
        stem = slug(found[0].name)
        yield fact(f"{stem}_rate", mean(values), f'trials with "{found[0].name}" / all', inputs)
        ends = [mean(series.values[-window:]) for series in found]
        yield fact(
            f"final_{stem}_rate_mean",
            mean(ends),
            f"mean over runs of the rate of the last {window} trials",
            inputs,
        )
        required = settings.number(REQUIRED)
        if required is not None and 0 < required.value <= 1 and len(found) > 1:
            there = sum(end >= required.value for end in ends)
            limit = FactInput(required.name, required.value, required.place)
            yield fact(
                f"runs_at_required_{stem}_rate",
                there,
                f"runs whose last {window} trials have at least the required rate",
                [limit],
            )
            yield fact(
                f"share_at_required_{stem}_rate", there / len(ends), "those runs / all", [limit, *inputs]
            )


def _of_yes_and_no(runs: Sequence[History]) -> list[list[Series]]:
    """By metric the histories of those that hold 0 and 1 and nothing else, both of them in one run or another."""
    by_name: dict[str, list[Series]] = {}
    for run in runs:
        for name, series in run.series.items():
            by_name.setdefault(name, []).append(series)
    return [
        found
        for found in by_name.values()
        if min(map(len, found)) >= _MIN_TRIALS
        and {value for series in found for value in series.values} == {0.0, 1.0}
    ]


def _window(logged: Telemetry) -> int:
    told = {integer(found[1]) for series in logged.series if (found := _LAST.search(plain(series.name)))}
    return max(told.pop(), 1) if len(told) == 1 else _DEFAULT_WINDOW
