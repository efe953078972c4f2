"""Claims about the course of a run: no NaN, no spikes, a value that keeps to one side of a limit."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from audit.documents.verdict import Fact
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.result import Result, fact, shown, unknown, verdict
from audit.failure.claims.runs import Runs
from audit.failure.digits import integer
from audit.failure.facts.formulas import diverged_from, spikes, warm_up
from audit.failure.facts.histories import History
from audit.failure.facts.make import of_point, of_series
from audit.failure.facts.metrics import Meaning, is_evaluation, plain, slug
from audit.telemetry.model import Point, Series

_MIN_VALUES: Final = 20
_WATCHED: Final = (Meaning.LOSS, Meaning.GRADIENT_NORM, Meaning.VALIDATION_LOSS)
_STEPS: Final = ("step", "steps", "iteration", "iterations", "iter", "iters")


def check_stability(statement: Statement, runs: Runs) -> Result:
    """No NaN, no spikes, no divergence: of the run in question, of all where they are repetitions."""
    text = statement.sentence.text.lower()
    series = [s for run in runs.examined for s in run.of(*_WATCHED)]
    limits = list(_limits(text, statement.quantities))
    if limits:
        return _bounded(text, limits, runs)
    if not series:
        return unknown("the runs given have no loss")
    if any(not q.unit and not _names_a_step(text, q) for q in statement.quantities):
        return unknown("which values the number stated is to bound could not be told")
    found = _sound(text, series)
    short = _too_short(statement, runs.examined) if found.status.value == "supported" else None
    return short if short is not None else found


def _names_a_step(text: str, q: Quantity) -> bool:
    return re.search(r"\b(?:step|iteration|epoch|seed|run|rank)s? $", text[: q.start]) is not None


def _sound(text: str, series: Sequence[Series]) -> Result:
    bad: list[str] = []
    facts: list[Fact] = []
    for s in series:
        count = sum(not math.isfinite(v) for v in s.values)
        facts.append(fact(f"nonfinite {s.name}", count, "values that are not finite", of_series(s)))
        if count:
            first = next(p for p in s.points() if not math.isfinite(p.value))
            bad.append(f"{s.name} is not finite at {count} steps, first at {first.step}")
    losses = [s for s in series if "loss" in s.name.lower()]
    if any(w in text for w in ("spike", "smooth", "stable")):
        for s in losses:
            found = [x for x in spikes(s.values) if not math.isnan(s.values[x.index])]
            formula = "values above median + 8 deviations and 1.5 medians of the 50 before"
            facts.append(fact(f"spikes {s.name}", len(found), formula, of_series(s)))
            if found and ("spike" in text or any(x.back is None for x in found)):
                bad.append(f"{s.name} has {len(found)} spikes, first at {s.steps[found[0].index]}")
    if any(w in text for w in ("diverg", "stable", "converge")):
        bad += [
            f"{s.name} rises at its end above its lowest value"
            for s in losses
            if diverged_from(s.values) is not None
        ]
    if bad:
        return verdict(False, "; ".join(bad[:3]), facts)
    if max(len(s) for s in series) < _MIN_VALUES:
        return unknown(f"fewer than {_MIN_VALUES} values: too few to say", facts)
    return verdict(True, f"{sum(len(s) for s in series)} values looked at", facts)


def _too_short(statement: Statement, runs: Sequence[History]) -> Result | None:
    """That the runs are shorter, or fewer, than the sentence says: what it states of the rest is in no file."""
    steps = next((q for q in statement.quantities if q.unit in _STEPS), None)
    lasts = [last for run in runs if (last := run.last_step()) is not None]
    if steps is not None and lasts:
        last, interval = max(lasts), _interval(runs)
        if last + max(interval, 1) < steps.value:
            facts = [
                fact("last_step", last, "largest step recorded"),
                fact("stated_steps", steps.value, "as stated"),
            ]
            return unknown(f"the runs given end at step {last}; {shown(steps.value)} are stated", facts)
    count = next((q for q in statement.quantities if q.unit in ("seed", "seeds", "run", "runs")), None)
    if count is not None and count.value > len(runs):
        return unknown(f"{len(runs)} runs were given; {shown(count.value)} are stated")
    return None


def _interval(runs: Sequence[History]) -> int:
    series = max((s for run in runs for s in run.series.values()), key=len, default=None)
    steps = sorted(set(series.steps)) if series is not None else []
    return min((b - a for a, b in pairwise(steps)), default=1)


# -- limits ------------------------------------------------------------------------------------------------------------

_BOUND: Final = re.compile(
    r"(?P<not>\b(?:never|not|no|without|n't)\b[^.;,:]{0,40}?)?"
    r"\b(?:(?P<upper>below|under|less than|lower than|at most|no more than|within)|(?P<lower>above|over|at least|more than|higher than|no less than"
    r"|exceed(?:s|ed|ing)?)|(?P<between>between))\b"
)
_SIGNS: Final = {"<": True, "<=": True, ">": False, ">=": False}
_FAR: Final = 14
"""Characters between a word of comparison and its number."""


class _Limit(msgspec.Struct, frozen=True):
    value: float
    upper: bool


def _limits(text: str, quantities: Sequence[Quantity]) -> Iterator[_Limit]:
    """The limits that a sentence states: the number after each word of comparison, turned round where it is denied."""
    plainly = [q for q in quantities if not q.unit and not _names_a_step(text, q)]
    used: set[int] = set()
    for word in _BOUND.finditer(text):
        after = [q for q in plainly if 0 <= q.start - word.end() <= _FAR]
        if word["between"] and len(plainly) > 1 and after:
            pair = plainly[plainly.index(after[0]) :][:2]
            used |= {q.start for q in pair}
            yield from (_Limit(q.value, upper) for q, upper in zip(pair, (False, True), strict=False))
        elif after and not word["between"] and after[0].start not in used:
            used.add(after[0].start)
            yield _Limit(after[0].value, bool(word["upper"]) != bool(word["not"]))
    for q in plainly:
        written = text[max(0, q.start - 4) : q.start].strip()[-2:]
        if q.start not in used and written[-1:] in ("<", ">", "≤", "≥", "=") and q.relation in _SIGNS:
            yield _Limit(q.value, _SIGNS[q.relation])


_FROM: Final = re.compile(
    r"\b(?:after|from|past|beyond|since)(?: the first)? (?:(?:step|iteration) (?P<a>\d{1,9})|(?P<b>\d{1,9}) (?:steps|iterations))"
)
_WARM: Final = re.compile(r"\b(?:after|past|once)\b[^.]{0,12}\bwarm-?up\b")
_WHOLE: Final = re.compile(r"\b(?:never|every|each|all|throughout|always|at no|any)\b")
_SHARE_OF_START: Final = 0.1


def _bounded(text: str, limits: Sequence[_Limit], runs: Runs) -> Result:
    """ "The gradient norm stays below 1.5": every value of the metric that is named, against the number that is stated."""
    named = [(run, s) for run in runs.examined for s in _named(text, run)]
    if not named or len({limit.upper for limit in limits}) != len(limits):
        return unknown("which values the number stated is to bound could not be told")
    facts: list[Fact] = []
    told: list[str] = []
    broken, early = False, True
    for run, series in named:
        points = _from(text, series)
        loose = next((point for point in points if not math.isfinite(point.value)), None)
        if loose is not None:
            return verdict(False, f"{series.name} is not finite at step {loose.step}", facts)
        for limit in limits if points else ():
            point = (max if limit.upper else min)(points, key=lambda one: one.value)
            facts += _extreme(series, point, limit, run)
            told.append(f"{series.name} has {shown(point.value)} at step {point.step}")
            out = [p for p in points if (p.value > limit.value if limit.upper else p.value < limit.value)]
            broken = broken or bool(out)
            early = early and all(
                p.step <= points[0].step + _SHARE_OF_START * (points[-1].step - points[0].step) for p in out
            )
    why = "; ".join(told[:3])
    if broken and early and "loss" in text and not _WHOLE.search(text) and "norm" not in text:
        return unknown(f"{why}: only at the start", facts)  # a loss begins high
    if not broken and any(run.from_log and not _contiguous(series) for run, series in named):
        return unknown(f"{why}; the log prints some steps only", facts)
    return verdict(not broken, why, facts)


def _extreme(series: Series, point: Point, limit: _Limit, run: History) -> list[Fact]:
    word = "max" if limit.upper else "min"
    suffix = f" [{run.label}]" if run.label else ""
    name = slug(series.name)
    return [
        fact(f"{word}_{name}{suffix}", point.value, f'{word} of "{series.name}"', of_point(series, point)),
        fact(
            f"step_of_{word}_{name}{suffix}",
            point.step,
            f'{series.axis} of the {word} of "{series.name}"',
            of_point(series, point),
        ),
    ]


def _contiguous(series: Series) -> bool:
    return len(series) > 1 and max(series.steps) - min(series.steps) == len(set(series.steps)) - 1


def _from(text: str, series: Series) -> list[Point]:
    """The points that the sentence is about: all, or those from a step or the warm-up's end on."""
    points = series.settled()
    start = _FROM.search(text)
    if start is not None:
        first = integer(start["a"] or start["b"])
        return [point for point in points if point.step >= first]
    return points[warm_up(len(points)) :] if _WARM.search(text) else points


_DROPPED: Final = frozenset(("train", "training", "global", "total", "the", "step", "value", "mean", "avg"))
_SAME: Final = {
    "gradient": "grad",
    "gradients": "grad",
    "grads": "grad",
    "norms": "norm",
    "losses": "loss",
    "divergence": "div",
}
_NORM: Final = re.compile(r"\bgrad(?:ient)?s?[ _-]?norms?\b|\bnorms? of the gradients?\b|\bgnorm\b")


def _named(text: str, run: History) -> list[Series]:
    """The series that a sentence names: all words of their names are in it, of losses those of the data it speaks of."""
    if _NORM.search(text):
        return run.of(Meaning.GRADIENT_NORM)
    words = {_SAME.get(word, word) for word in plain(text).split()}
    exact = [s for s in run.series.values() if (own := _words(s.name)) and own <= words and own != {"loss"}]
    if exact:
        return exact
    if "loss" not in words:
        return []
    held_out = any(is_evaluation(word) for word in words)
    return run.of(Meaning.VALIDATION_LOSS if held_out else Meaning.LOSS) or run.of(
        Meaning.LOSS, Meaning.VALIDATION_LOSS
    )


def _words(name: str) -> set[str]:
    return {_SAME.get(word, word) for word in plain(name).split()} - _DROPPED
