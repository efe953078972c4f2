"""Claims that are settled by counting: finished runs and steps, tokens, equal values, spread."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import stdev
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.result import Result, agrees, fact, shown, unknown, verdict
from audit.failure.claims.runs import Runs, kinds_of, last_points
from audit.failure.claims.stated import whole
from audit.failure.digits import integer
from audit.failure.facts.completion import tokens
from audit.failure.facts.histories import History, by_step, last_finite
from audit.failure.facts.make import of_point, of_series
from audit.failure.facts.metrics import Meaning
from audit.failure.facts.settings import Settings
from audit.telemetry.model import Series

_OF: Final = re.compile(r"\b(?P<n>\d{1,5})\s?(?:/|of|out of)\s?(?P<m>\d{1,5})\b")
_SEEDS: Final = re.compile(
    r"\ball (?:of the )?(?P<n>\w{1,6})? ?(?:seeds|runs)\b|\b(?P<k>\w{1,6}) (?:seeds|runs)\b", re.IGNORECASE
)
_BAD_STATUS: Final = ("failed", "crashed", "aborted", "killed", "running", "unfinished")


def check_completion(statement: Statement, runs: Runs) -> Result:
    """ "All 5 of 5 seeds finished the full 400 steps." """
    if not runs.all:
        return unknown("no run's history was given")
    epochs = next((q for q in statement.quantities if q.unit in ("epoch", "epochs")), None)
    if epochs is not None and not any(q.unit in _STEP_UNITS for q in statement.quantities):
        return _epochs(epochs, statement, runs)
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


_STEP_UNITS: Final = ("step", "steps", "iterations", "iters", "iteration")


def _epochs(stated: Quantity, statement: Statement, runs: Runs) -> Result:
    """ "finished 3 epochs": what counts epochs in each run, from 0 or from 1."""
    reached: list[tuple[History, float]] = []
    for run in runs.all:
        counted = [max(s.values) for s in run.of(Meaning.EPOCH) if len(s)] + [
            max(s.steps) + (min(s.steps) == 0) for s in run.series.values() if s.axis == "epoch" and len(s)
        ]
        if counted:
            reached.append((run, max(counted)))
    if not reached:
        return unknown("how many epochs were run is in no file given")
    done = [run for run, last in reached if last >= stated.value - _PART_OF_AN_EPOCH]
    facts = [fact("epochs_done", max(last for _, last in reached), "largest epoch recorded")]
    told = f"{len(done)} of {len(reached)} runs came to epoch {shown(stated.value)}"
    claimed = _claimed_runs(statement.sentence.text) or len(reached)
    if claimed > len(reached):
        return unknown(f"{told}; {claimed} are stated", facts)
    return verdict(len(done) >= claimed and not any(_ended_badly(run) for run in done), told, facts)


_PART_OF_AN_EPOCH: Final = 0.05
"""Trainers log the epoch as a fraction, and the last batch may be left out."""


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
    return whole(seeds["n"] or seeds["k"]) if seeds else None


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
    if computed.value:
        made.append(
            fact(
                "stated_over_counted_tokens",
                stated.value / float(computed.value),
                "stated tokens / tokens",
                *computed.inputs,
            )
        )
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
    counted = [(run, s) for run in runs.all for s in run.of(Meaning.SAMPLES) if "token" in s.name.lower()]
    ends = [(s, point) for _, s in counted if (point := last_finite(s)) is not None]
    if ends and len(counted) == len(ends) == len(runs.all):
        return fact(
            "tokens_seen",
            sum(p.value for _, p in ends),
            "as the trainer counted them",
            *(of_point(s, p) for s, p in ends[:20]),
        )
    for run in runs.all if len(runs.all) == 1 else ():
        record = run.record
        value = record.summary.get("num_input_tokens_seen") if record is not None else None
        if record is not None and value:
            source = FactInput("num_input_tokens_seen", value, record.source)
            return fact("tokens_seen", value, "as the trainer counted them", source)
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


def check_determinism(statement: Statement, runs: Runs) -> Result:
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
    common = max(
        (step for step in by_step(losses[0][0].settled()) if step in by_step(losses[0][1].settled())),
        default=0,
    )
    steps = next((q for q in statement.quantities if q.unit in _STEP_UNITS), None)
    if worst is not None:
        return verdict(
            False, f"{worst[0]} differs from step {worst[1]} on, by up to {shown(worst[2])}", facts
        )
    if steps is not None and common + 1 < steps.value:
        return unknown(f"the runs given share steps up to {common}; {shown(steps.value)} are stated", facts)
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
