"""The runs that claims are held against, and the numbers that they yield: values at equal steps, steady rates, spreads."""

import math
import re
from collections.abc import Sequence
from statistics import median
from typing import Final

import msgspec

from audit.documents.verdict import FactInput
from audit.failure.facts.arms import Arms, arms, listed, results
from audit.failure.facts.formulas import deviation, finite, steady
from audit.failure.facts.histories import (
    History,
    by_step,
    compared,
    histories,
    last_finite,
    logged_histories,
    replicates,
)
from audit.failure.facts.make import of_series
from audit.failure.facts.metrics import Meaning, is_evaluation, meaning, plain
from audit.failure.facts.performance import whole_rate
from audit.telemetry.model import Point, Series, Telemetry

_HELD_OUT: Final = re.compile(r"\b(?:val|valid|validation|eval|evaluation|test|dev|held)\b")
MIN_STEADY: Final = 10
"""Fewer steps give no steady rate."""


class Runs(msgspec.Struct, frozen=True, eq=False):
    """All runs, and of two that are told apart the changed one and the one it is held against. `arms`: where both were repeated, the
    repetitions; the two are then their means.
    """

    all: tuple[History, ...]
    candidate: History | None
    baseline: History | None
    arms: Arms | None = None

    @property
    def seeds(self) -> bool:
        """Whether the runs are repetitions of one experiment."""
        return replicates(self.all)

    @property
    def judged(self) -> History | None:
        """The run that statements without a comparison are about: the only one, or the candidate."""
        return self.all[0] if len(self.all) == 1 else self.candidate

    @property
    def examined(self) -> Sequence[History]:
        """The runs that statements about every value are about: the one in question with all its repetitions, or else all."""
        if self.arms is not None:
            return list(self.arms.candidate.runs.values())
        return [self.judged] if self.judged is not None else self.all


def runs_of(telemetry: Telemetry, text: str = "", logged: Telemetry | None = None) -> Runs:
    """The runs of what was read; `text` may name the variant that is meant. What lines of a log tell (`logged`) counts only where no
    file holds a run.
    """
    found = histories(telemetry) or listed(telemetry) or results(telemetry)
    if not found and logged is not None:
        found = logged_histories(logged)
    pair = compared(found) or _named_by(text, found)
    if pair is not None:
        return Runs(tuple(found), *pair)
    repeated = arms(found, text)
    if repeated is not None:
        return Runs(tuple(found), repeated.candidate.mean, repeated.baseline.mean, repeated)
    return Runs(tuple(found), None, None)


_HELD_AGAINST: Final = (
    r"(?:than|over|within \w{1,9}(?: \w{1,9})? of|vs|versus|against|compared (?:to|with)|instead of"
    r"|relative to|replac\w{1,4}|baseline)(?: is| the| our| plain){0,2} "
)


def _named_by(text: str, found: Sequence[History]) -> tuple[History, History] | None:
    """(candidate, baseline) of two runs that only the text tells apart: "Lion trains faster than AdamW"."""
    if len(found) != 2:
        return None
    words = " ".join(plain(line.lower()) for line in text[:_MOST_TEXT].splitlines())
    own = [set(plain(run.label.lower()).split()) for run in found]
    held = [
        any(
            re.search(rf"\b{_HELD_AGAINST}{re.escape(word)}\b", words)
            for word in own[i] - own[1 - i]
            if not word.isdecimal()
        )
        for i in (0, 1)
    ]
    if held.count(True) != 1:
        return None
    base = held.index(True)
    return found[1 - base], found[base]


_MOST_TEXT: Final = 20_000


def series_for(metric: str, history: History, *kinds: Meaning) -> Series | None:
    """The series that a claim's metric means: the one of that name, else the first of its kind, held-out data where it says so."""
    words = plain(metric)
    held_out = bool(_HELD_OUT.search(words))
    named = [
        s
        for s in history.series.values()
        if words and (plain(s.name) == words or _last_words(words) <= set(plain(s.name).split()))
    ]
    pool = [s for s in named if is_evaluation(s.name) == held_out] or (
        named if named and not held_out else []
    )
    if len(pool) == 1:
        return pool[0]
    if pool:
        exact = [s for s in pool if plain(s.name).endswith(words)]
        return max(exact or pool, key=len)
    candidates = history.of(*kinds)
    chosen = [s for s in candidates if is_evaluation(s.name) == held_out] or ([] if held_out else candidates)
    return chosen[0] if chosen else None


def _last_words(words: str) -> set[str]:
    return {w for w in words.split() if not _HELD_OUT.match(w)}


def kinds_of(metric: str) -> tuple[Meaning, ...]:
    """Which meanings a quality metric's word may have."""
    kind = meaning(metric)
    if kind in (Meaning.LOSS, Meaning.VALIDATION_LOSS):
        return (
            (Meaning.VALIDATION_LOSS,)
            if kind is Meaning.VALIDATION_LOSS
            else (Meaning.LOSS, Meaning.VALIDATION_LOSS)
        )
    if kind is Meaning.OTHER:
        return (Meaning.VALIDATION_LOSS, Meaning.QUALITY, Meaning.ERROR, Meaning.LOSS)
    return (kind,)


_COMMON: Final = frozenset(
    "results acc accuracy norm none stderr score mean metrics metric value values val test eval test all em exact match".split()
)


def metrics_in(text: str, runs: Runs) -> list[str]:
    """Of results that hold scores of several tasks under long names (`results.hellaswag.acc_norm,none`) those that a sentence means, by
    the words that tell them apart; empty where it names none.
    """
    run = runs.candidate or runs.judged
    if run is None or len(run.series) < 2 or any(len(series) > 1 for series in run.series.values()):
        return []
    words = set(re.findall(r"[a-z0-9]+", text.lower()))
    scored = {}
    for key, series in run.series.items():
        parts = set(re.findall(r"[a-z0-9]+", series.name.lower())) - _COMMON
        if (
            meaning(series.name) in (Meaning.QUALITY, Meaning.ERROR, Meaning.VALIDATION_LOSS, Meaning.LOSS)
            and "stderr" not in key
        ):
            scored[series.name] = len(parts & words)
    best = max(scored.values(), default=0)
    return [name for name, score in scored.items() if score == best] if best else []


class Ends(msgspec.Struct, frozen=True):
    """Both runs' last values of a metric, and their values at the last step that both have."""

    new: Point
    old: Point
    new_common: Point
    old_common: Point
    same_end: bool


def ends(new: Series, old: Series, at: int | None = None) -> Ends | None:
    """None where a run has no finite value or the runs share no step. `at`: the step that a text names, where both have it."""
    last_new, last_old = last_finite(new), last_finite(old)
    if last_new is None or last_old is None:
        return None
    a, b = by_step(new.settled()), by_step(old.settled())
    common = [s for s in a if s in b and math.isfinite(a[s].value) and math.isfinite(b[s].value)]
    if not common:
        return None
    step = at if at in common else max(common)
    return Ends(last_new, last_old, a[step], b[step], last_new.step == last_old.step == step)


class Rate(msgspec.Struct, frozen=True):
    """A rate or a duration over the steady window. `noise`: its relative uncertainty. `inverse`: it is a duration, so less is faster."""

    value: float
    whole: float
    noise: float
    inverse: bool
    source: FactInput
    unit: str


def rate_of(history: History, duration: bool | None = None) -> Rate | None:
    """The steady throughput of a run, or its step time (`duration` says which is wanted)."""
    kinds = [Meaning.STEP_TIME, Meaning.THROUGHPUT] if duration else [Meaning.THROUGHPUT, Meaning.STEP_TIME]
    for kind in kinds:
        for series in history.of(kind):
            values = finite(series.values)
            kept = steady(series.values)
            if len(kept) < MIN_STEADY:
                continue
            middle = median(kept)
            times = next(iter(history.of(Meaning.STEP_TIME)), None)
            whole = whole_rate(series, times) if kind is Meaning.THROUGHPUT else None
            whole = sum(values) / len(values) if whole is None else whole
            noise = 3 * deviation(kept) / abs(middle) / math.sqrt(len(kept)) if middle else math.inf
            return Rate(
                middle,
                whole,
                noise,
                kind is Meaning.STEP_TIME,
                of_series(series),
                series.name,
            )
    return None


def speed_ratio(new: Rate, old: Rate, whole: bool = False) -> float | None:
    """How much faster: rates as they are, durations turned over."""
    a, b = (new.whole, old.whole) if whole else (new.value, old.value)
    if not a or not b or new.inverse != old.inverse:
        return None
    return b / a if new.inverse else a / b


def last_points(runs: Sequence[History], metric: str, *kinds: Meaning) -> list[tuple[History, Series, Point]]:
    """The last finite value of a metric in each run that has it."""
    found = []
    for run in runs:
        series = series_for(metric, run, *kinds)
        point = last_finite(series) if series is not None else None
        if series is not None and point is not None:
            found.append((run, series, point))
    return found
