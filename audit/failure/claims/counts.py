"""Claims that are settled by counting: finished runs and steps, tokens, tests, values that are not finite, equal values, spread."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import stdev
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.result import Result, agrees, fact, shown, unknown, verdict
from audit.failure.claims.runs import Runs, kinds_of, last_points
from audit.failure.digits import integer
from audit.failure.facts.completion import tokens
from audit.failure.facts.formulas import diverged_from, spikes
from audit.failure.facts.histories import History, by_step
from audit.failure.facts.make import of_point, of_series
from audit.failure.facts.metrics import Meaning
from audit.failure.facts.settings import Settings
from audit.failure.model import Reading
from audit.telemetry.model import Outcome, Series, Telemetry

_OF: Final = re.compile(r"\b(?P<n>\d{1,5})\s?(?:/|of|out of)\s?(?P<m>\d{1,5})\b")
_SEEDS: Final = re.compile(
    r"\ball (?:of the )?(?P<n>\d{1,5})? ?(?:seeds|runs)\b|\b(?P<k>\d{1,5}) (?:seeds|runs)\b", re.IGNORECASE
)
_BAD_STATUS: Final = ("failed", "crashed", "aborted", "killed", "running", "unfinished")


def check_completion(statement: Statement, runs: Runs) -> Result:
    """ "All 5 of 5 seeds finished the full 400 steps." """
    if not runs.all:
        return unknown("no run's history was given")
    goal = _goal(statement, runs)
    lasts = [(run, last) for run in runs.all if (last := run.last_step()) is not None]
    if goal is None or not lasts:
        return unknown("how many steps a whole run has is not told")
    done = [run for run, last in lasts if _reached(run, last, goal) and not _ended_badly(run)]
    facts = [
        fact("finished_runs", len(done), f"runs that reached step {goal}", *_lasts(lasts)),
        fact("finish_rate", len(done) / len(lasts), f"runs that reached step {goal} / all", *_lasts(lasts)),
    ]
    cut = [(run, last) for run, last in lasts if run not in done]
    if len(cut) == 1:
        facts.append(fact("last_step", cut[0][1], "largest step recorded", *_lasts(cut)))
    told = f"{len(done)} of {len(lasts)} runs reached step {goal}"
    told += "".join(f"; {run.label or 'the run'} ended at step {last}" for run, last in cut[:3])
    claimed = _claimed_runs(statement.sentence.text)
    if claimed is None:
        return verdict(not cut, told, facts)
    if len(lasts) < claimed:
        return (
            unknown(f"{told}; {claimed} are stated, the histories of {len(lasts)} were given", facts)
            if not cut
            else verdict(False, told, facts)
        )
    return verdict(len(done) >= claimed, told, facts)


def _goal(statement: Statement, runs: Runs) -> int | None:
    stated = next(
        (int(q.value) for q in statement.quantities if q.unit in ("step", "steps", "iterations", "iters")),
        None,
    )
    if stated is not None:
        return stated
    planned = {
        run.record.planned_steps for run in runs.all if run.record is not None and run.record.planned_steps
    }
    if len(planned) == 1:
        return planned.pop()
    lasts = [last for run in runs.all if (last := run.last_step()) is not None]
    return max(lasts, default=None) if len(lasts) > 1 else None


def _reached(run: History, last: int, goal: int) -> bool:
    """The last step that is logged may lie one logging interval before the last step taken."""
    series = max(run.series.values(), key=len)
    steps = sorted(set(series.steps))
    interval = min((b - a for a, b in pairwise(steps)), default=1)
    return last > goal - max(interval, 1)


def _ended_badly(run: History) -> bool:
    record = run.record
    if record is None:
        return False
    return bool(record.exit_code) or (record.status or "").lower() in _BAD_STATUS


def _lasts(lasts: Sequence[tuple[History, int]]) -> list[FactInput]:
    return [
        FactInput(run.label or "last step", last, next((s.source for s in run.series.values()), ""))
        for run, last in lasts[:20]
    ]


def _claimed_runs(text: str) -> int | None:
    found = _OF.search(text)
    if found:
        return integer(found["n"])
    seeds = _SEEDS.search(text)
    number = (seeds["n"] or seeds["k"]) if seeds else None
    return integer(number) if number else None


def check_scale(statement: Statement, runs: Runs, facts: Iterable[Fact]) -> Result:
    """ "1.024M tokens were consumed", "trained for 400 steps"."""
    stated = next((q for q in statement.quantities if q.unit in ("token", "tokens")), None)
    if stated is None:
        return _steps(statement, runs)
    computed = _tokens(runs, list(facts))
    if computed is None or not isinstance(computed.value, int | float):
        return unknown("how many tokens a step takes is not told by the files given")
    claimed = fact("claimed_tokens", stated.value, "as stated", FactInput("stated", stated.value))
    made = [computed, claimed]
    if stated.value and computed.value < stated.value:
        made.append(
            fact(
                "token_shortfall",
                1 - float(computed.value) / stated.value,
                "1 - tokens / stated tokens",
                *computed.inputs,
            )
        )
    return verdict(
        agrees(stated, float(computed.value)), f"{int(computed.value):,} tokens: {computed.formula}", made
    )


def _tokens(runs: Runs, facts: Sequence[Fact]) -> Fact | None:
    names = ("tokens_total", "tokens_seen", "tokens_consumed", "num_input_tokens_seen")
    known = next((f for name in names for f in facts if f.name.startswith(name)), None)
    if known is not None:
        return known
    made = list(tokens(list(runs.all), Settings(), None))
    return next((f for f in made if f.name.startswith("tokens_total")), None)


def _steps(statement: Statement, runs: Runs) -> Result:
    stated = next(
        (q for q in statement.quantities if q.unit in ("step", "steps", "iterations", "iters")), None
    )
    run = runs.judged
    last = run.last_step() if run is not None else None
    if stated is None or run is None or last is None:
        return unknown("the number is in no file given")
    facts = [fact("last_step", last, "largest step recorded", *_lasts([(run, last)]))]
    return verdict(
        _reached(run, last, int(stated.value)) and last <= stated.value + 1, f"the last step is {last}", facts
    )


# -- values ----------------------------------------------------------------------------------------------------------


def check_stability(statement: Statement, runs: Runs) -> Result:
    """No NaN, no spikes, no divergence: of the run in question, of all where they are repetitions."""
    series = [
        s
        for run in runs.examined
        for s in run.of(Meaning.LOSS, Meaning.GRADIENT_NORM, Meaning.VALIDATION_LOSS)
    ]
    if not series:
        return unknown("the runs given have no loss")
    text = statement.sentence.text.lower()
    number = next((quantity for quantity in statement.quantities if not quantity.unit), None)
    if number is not None:
        return _bounded(text, number, series)
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
            facts.append(
                fact(
                    f"spikes {s.name}",
                    len(found),
                    "values above median + 8 deviations and 1.5 medians of the 50 before",
                    of_series(s),
                )
            )
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
    if max(len(s) for s in series) < 20:
        return unknown("fewer than 20 values: too few to say", facts)
    return verdict(True, f"{sum(len(s) for s in series)} values looked at", facts)


_BOUND: Final = re.compile(
    r"(?P<not>\b(?:never|not|no|without|n't)\b[^.;,:]{0,40}?)?"
    r"\b(?:(?P<upper>below|under|less than|lower than|at most|within)|(?P<lower>above|over|at least|more than|higher than|exceed(?:s|ed|ing)?))\b"
)
_NORM: Final = re.compile(r"\bgrad(?:ient)?s?[ _-]?norms?\b|\bnorms? of the gradients?\b")


def _bounded(text: str, number: Quantity, series: Sequence[Series]) -> Result:
    """ "The gradient norm stays below 1.5": every value of the metric that is named, against the number that is stated."""
    said = [bool(word["upper"]) != bool(word["not"]) for word in _BOUND.finditer(text)]
    upper = bool(said) and said[0]
    norms = _NORM.search(text) is not None
    named = [s for s in series if norms == ("norm" in s.name.lower())]
    if len(set(said)) != 1 or not named or not (norms or "loss" in text):
        return unknown("which values the number stated is to bound could not be told")
    facts: list[Fact] = []
    held = True
    told: list[str] = []
    for each in named:
        points = list(each.points())
        loose = next((point for point in points if not math.isfinite(point.value)), None)
        if loose is not None:
            return verdict(False, f"{each.name} is not finite at step {loose.step}", facts)
        point = (max if upper else min)(points, key=lambda point: point.value)
        word = "max" if upper else "min"
        facts.append(fact(f"{word}_{each.name}", point.value, f"{word} of the series", of_point(each, point)))
        held = held and (point.value <= number.value if upper else point.value >= number.value)
        told.append(f"{each.name} has {shown(point.value)} at step {point.step}")
    return verdict(held, "; ".join(told[:3]), facts)


def check_determinism(runs: Runs) -> Result:
    """Two runs with equal values at every common step."""
    pair = (runs.candidate, runs.baseline) if runs.candidate and runs.baseline else tuple(runs.all[:2])
    if len(pair) < 2 or pair[0] is None or pair[1] is None:
        return unknown("it takes two runs to tell; " + ("one was given" if runs.all else "none was given"))
    compared: list[tuple[Series, Series]] = [
        (s, pair[1].series[n]) for n, s in pair[0].series.items() if n in pair[1].series
    ]
    losses = [(a, b) for a, b in compared if "loss" in a.name.lower() or "norm" in a.name.lower()]
    if not losses:
        return unknown("the runs share no loss")
    facts, worst = [], None
    for a, b in losses:
        x, y = by_step(a.settled()), by_step(b.settled())
        different = [
            s
            for s in sorted(x)
            if s in y and x[s].value != y[s].value and (x[s].value == x[s].value or y[s].value == y[s].value)
        ]
        gap = max((abs(x[s].value - y[s].value) for s in different), default=0.0)
        facts.append(
            fact(
                f"max_difference {a.name}",
                gap,
                "max over common steps of abs(a - b)",
                of_series(a),
                of_series(b),
            )
        )
        if different and (worst is None or different[0] < worst[1]):
            worst = (a.name, different[0], gap)
    if worst is not None:
        return verdict(
            False, f"{worst[0]} differs from step {worst[1]} on, by up to {shown(worst[2])}", facts
        )
    return verdict(True, "all common values are equal", facts)


def check_spread(statement: Statement, runs: Runs) -> Result:
    """ "The final loss varies little between seeds (spread below 0.1)": over the runs that finished."""
    looked = runs.examined if runs.arms is not None else runs.all
    if len(looked) < 2:
        return unknown("a spread needs several runs; " + ("one was given" if runs.all else "none was given"))
    lasts = [last for run in looked if (last := run.last_step()) is not None]
    done = [run for run in looked if lasts and (run.last_step() or 0) >= max(lasts)]
    found = last_points(done, statement.metric, *kinds_of(statement.metric))
    if len(found) < 2:
        return unknown("fewer than two finished runs have the metric")
    values = [p.value for _, _, p in found]
    inputs = [of_point(s, p) for _, s, p in found[:20]]
    name = found[0][1].name
    spread, deviation = max(values) - min(values), stdev(values)
    facts = [
        fact(f"final_spread {name}", spread, "largest - smallest last value of the finished runs", *inputs),
        fact(
            f"final_deviation {name}",
            deviation,
            "standard deviation (n - 1) of the last values of the finished runs",
            *inputs,
        ),
    ]
    told = f"over {len(done)} of {len(looked)} runs that finished: spread {shown(spread)}, standard deviation {shown(deviation)}"
    bound = statement.bound or next((q for q in statement.quantities if q.unit in ("", "%")), None)
    if bound is None:
        return unknown(f"{told}; no bound is stated", facts)
    text = statement.sentence.text.lower()
    wanted = deviation if "deviation" in text or re.search(r"\bstd\b|±", text) else spread
    scale = 0.01 * abs(sum(values) / len(values)) if bound.unit == "%" else 1.0
    return verdict(agrees(bound, wanted, scale=scale), told, facts)


# -- tests -----------------------------------------------------------------------------------------------------------

_SUMMARY: Final = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped|xfailed|xpassed)\b")


_ALL_TESTS: Final = re.compile(r"\ball (?:of the )?(?P<n>\d{1,6}) (?:[\w-]+ ){0,4}tests?\b", re.IGNORECASE)


def check_tests(statement: Statement, telemetry: Telemetry, reading: Reading | None) -> Result:
    """ "All tests pass": by test reports, else by the summary lines of the log."""
    counts = _report_counts(telemetry) or _log_counts(reading)
    if counts is None:
        return unknown("no test report and no summary of tests was given")
    passed, failed, skipped = (
        counts.get("passed", 0),
        counts.get("failed", 0) + counts.get("error", 0),
        counts.get("skipped", 0),
    )
    facts = [fact("tests_passed", passed, "tests that passed"), fact("tests_failed", failed, "tests that failed or could not be run"),
             fact("tests_skipped", skipped, "tests skipped")]  # fmt: skip
    told = f"{passed} passed, {failed} failed, {skipped} skipped"
    if failed or not passed:
        return verdict(False, told, facts)
    stated = next((q for q in statement.quantities if q.unit in ("test", "tests")), None)
    if stated is None and (all_of := _ALL_TESTS.search(statement.sentence.text)):
        return verdict(passed >= integer(all_of["n"]), told, facts)  # a skipped test has not passed
    return verdict(stated is None or _enough(stated, passed), told, facts)


def _enough(stated: Quantity, passed: int) -> bool:
    return agrees(Quantity(stated.value, "", 0.0, stated.relation, 0, 0), passed)


def _report_counts(telemetry: Telemetry) -> dict[str, int] | None:
    if not telemetry.tests:
        return None
    made: dict[str, int] = {}
    for results in telemetry.tests:
        made["passed"] = made.get("passed", 0) + results.count(Outcome.PASSED, Outcome.XPASSED)
        made["failed"] = made.get("failed", 0) + max(
            results.count(Outcome.FAILED), results.declared.get("failures", 0)
        )
        made["error"] = made.get("error", 0) + max(
            results.count(Outcome.ERROR), results.declared.get("errors", 0)
        )
        made["skipped"] = made.get("skipped", 0) + results.count(Outcome.SKIPPED)
    return made


def _log_counts(reading: Reading | None) -> dict[str, int] | None:
    made: dict[str, int] = {}
    for line in reading.lines if reading else ():
        text = line.text.strip("= ")
        if " in " not in text or not _SUMMARY.match(text):
            continue
        for number, word in _SUMMARY.findall(text[:400]):
            key = "error" if word.startswith("error") else word
            made[key] = made.get(key, 0) + integer(number)
    return made or None
