"""Claims about what a model reached: losses, scores, their changes, and that nothing got worse."""

import math
import re
from itertools import pairwise
from statistics import fmean
from typing import Final

import msgspec

from audit.documents.verdict import Fact
from audit.failure.claims.each import check_each
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.result import SUPPORTED, Result, agrees, fact, shown, unknown, verdict
from audit.failure.claims.runs import Ends, Runs, ends, kinds_of, last_points, series_for
from audit.failure.claims.stated import amounts, values
from audit.failure.digits import integer
from audit.failure.facts.formulas import deviation, finite, relative_error
from audit.failure.facts.histories import History, by_step, last_finite
from audit.failure.facts.make import of_point
from audit.failure.facts.metrics import Meaning, meaning, slug
from audit.telemetry.model import Series

EQUAL: Final = 0.005
"""Relative change up to which two single runs count as equal where the text states no tolerance."""
WORSE: Final = 0.02
"""Relative change from which a single run counts as worse where the text states no tolerance; between both, noise decides."""


def check_quality(statement: Statement, runs: Runs) -> Result:
    """A statement about a loss or a score. All of its numbers count: of a change told both ways each way has to hold."""
    if statement.each:
        return check_each(statement, runs)
    if statement.new is not None and statement.old is not None:
        found = _pair(statement, runs, statement.new, statement.old)
        change = next(iter(amounts(statement, ("%", "pp"))), None)
        if found.status is not SUPPORTED or change is None:
            return found
        told = msgspec.structs.replace(statement, quantities=(change,), bound=None)
        second = _change(told, runs)
        return found if second.status is SUPPORTED else second
    if _compares(statement):
        text = statement.sentence.text.lower()
        plain_loss = statement.metric in ("loss", "losses") and not any(
            q.unit in ("", "%", "pp", "x") for q in statement.quantities
        )
        if plain_loss and _IDENTICAL.search(text):
            return _identical(statement, runs)
        return check_regression(runs) if plain_loss and _neutral(text) else _change(statement, runs)
    return _value(statement, runs)


_IDENTICAL: Final = re.compile(r"\b(?:identical|exactly the same|same curves?|overlaps? exactly)\b")


def _identical(statement: Statement, runs: Runs) -> Result:
    """ "The loss curve is identical to main": at every common step, not only at the end."""
    found = _both(statement, runs)
    if isinstance(found, Result):
        return found
    new, old, at = found
    a, b = by_step(new.settled()), by_step(old.settled())
    common = [step for step in a if step in b]
    worst = max((relative_error(a[step].value, b[step].value) for step in common), default=math.inf)
    facts = [
        *_ends_facts(new, old, at),
        fact(f"{slug(new.name)}_max_relative_difference", worst, f"largest of {len(common)} common steps"),
    ]
    told = f"{new.name} differs by at most {worst:.2%} over {len(common)} common steps"
    stated = next((q for q in statement.quantities if q.unit in ("step", "steps", "iterations")), None)
    if worst > EQUAL:
        return verdict(False, told, facts) if worst > WORSE else unknown(told, facts)
    if stated is not None and max(common) + 1 < stated.value:
        return unknown(f"{told}; {shown(stated.value)} are stated", facts)
    return verdict(True, told, facts)


_LINKED: Final = re.compile(r"\b(?:to|reach(?:es|ed|ing)?|hits?|now|ends? at)\s[~≈]?\d", re.IGNORECASE)
"""A number that a change leads to."""
_COMPARING: Final = ("than", "main", "baseline", "regress", "unchanged", "match", "degrad", "improv", "increase", "decrease", "drop", "reduc", "lower",
                     "higher", "better", "worse", "within", "gain", "no change", "same as", "before")  # fmt: skip


def _compares(statement: Statement) -> bool:
    text = statement.sentence.text.lower()
    return any(word in text for word in _COMPARING) or bool(amounts(statement))


def _both(statement: Statement, runs: Runs) -> tuple[Series, Series, Ends] | Result:
    if runs.candidate is None or runs.baseline is None:
        return unknown(_no_pair(runs))
    kinds = kinds_of(statement.metric)
    new = series_for(statement.metric, runs.candidate, *kinds)
    old = series_for(statement.metric, runs.baseline, *kinds)
    if new is None or old is None:
        return unknown(f"the runs given have no series for {statement.metric or 'the metric'}")
    found = ends(new, old, _step(statement))
    if found is None:
        return unknown(f'both runs have no common step of "{new.name}"')
    return new, old, found


def _no_pair(runs: Runs) -> str:
    if len(runs.all) < 2:
        return "a comparison needs two runs; " + ("one was given" if runs.all else "none was given")
    return "which of the runs given is the change and which its baseline is not told by their names"


def _pair(statement: Statement, runs: Runs, new: Quantity, old: Quantity) -> Result:
    """ "A instead of B": both values, and that they are of the same step."""
    found = _both(statement, runs)
    if isinstance(found, Result):
        return found
    a, b, at = found
    facts = _ends_facts(a, b, at)
    last_new, last_old = at.new.value, at.old.value
    scale_new, scale_old = _scale(new, last_new), _scale(old, last_old)
    as_last = agrees(new, last_new, scale=scale_new) and agrees(old, last_old, scale=scale_old)
    named = _step(statement) == at.new_common.step
    if named:
        a_value, b_value = at.new_common.value, at.old_common.value
        holds = agrees(new, a_value, scale=_scale(new, a_value)) and agrees(
            old, b_value, scale=_scale(old, b_value)
        )
        return verdict(
            holds, f"at step {at.new_common.step}: {shown(a_value)} and {shown(b_value)} before", facts
        )
    if at.same_end:
        told = f"at step {at.new.step}: {shown(last_new)} and {shown(last_old)} before"
        return verdict(as_last, told, facts)
    claimed = new.value / old.value if old.value else math.nan
    real = at.new_common.value / at.old_common.value if at.old_common.value else math.nan
    half = abs(claimed) * (new.half / abs(new.value or 1) + old.half / abs(old.value or 1))
    why = (
        f"the runs have different lengths (last values at step {at.new.step} and {at.old.step}); at step {at.new_common.step}, which both have,"
        f" it is {shown(at.new_common.value)} and {shown(at.old_common.value)}"
    )
    return verdict(abs(real - claimed) <= half + 1e-9, why, facts)


def _scale(claimed: Quantity, recorded: float) -> float:
    """A claim in per cent of a metric that is recorded as a fraction."""
    return 0.01 if claimed.unit == "%" and abs(recorded) <= 1.5 else 1.0


def _ends_facts(new: Series, old: Series, at: Ends) -> list[Fact]:
    name = slug(new.name)
    a, b = of_point(new, at.new_common, "candidate"), of_point(old, at.old_common, "baseline")
    made = [
        fact(f"{name}_candidate", at.new.value, "last value of the candidate", of_point(new, at.new)),
        fact(f"{name}_baseline", at.old.value, "last value of the baseline", of_point(old, at.old)),
    ]
    if at.old_common.value:
        ratio = at.new_common.value / at.old_common.value
        step = f"at {new.axis} {at.new_common.step}"
        if at.new_common.value < at.old_common.value:
            drop = at.old_common.value - at.new_common.value
            made.append(fact(f"{name}_drop", drop, f"baseline - candidate {step}", a, b))
        made.append(
            fact(
                f"{name}_change",
                at.new_common.value - at.old_common.value,
                f"candidate - baseline {step}",
                a,
                b,
            )
        )
        made.append(fact(f"{name}_relative_change", ratio - 1, f"candidate / baseline - 1 {step}", a, b))
        made.append(fact(f"{name}_ratio", ratio, f"candidate / baseline {step}", a, b))
    return made


def _change(statement: Statement, runs: Runs) -> Result:
    found = _both(statement, runs)
    if isinstance(found, Result):
        return found
    new, old, at = found
    facts = _ends_facts(new, old, at)
    before, after = at.old_common.value, at.new_common.value
    relative = (after - before) / abs(before) if before else math.inf
    told = f"{new.name} at step {at.new_common.step}: {shown(after)} against {shown(before)}, {relative:+.2%}"
    if statement.bound is not None:
        return _within(statement.bound, after - before, relative, before, told, facts)
    lower_is_better = meaning(new.name) is not Meaning.QUALITY
    changes = amounts(statement)
    targets = [q for q in values(statement) if q not in changes]
    results = [
        _amount(statement, q, after - before, relative, lower_is_better, told, facts) for q in changes[:1]
    ]
    if targets:
        reached = any(agrees(q, after, scale=_scale(q, after)) for q in targets)
        stands = any(agrees(q, before, scale=_scale(q, before)) for q in targets)
        # One number that is neither may belong to something else; two cannot both.
        results.append(verdict(True, told, facts) if reached else unknown(f"{told}: what the number stated is of could not be told", facts)
                       if stands or len(targets) > 1 or _LINKED.search(statement.sentence.text) is None else verdict(False, told, facts))  # fmt: skip
    if results:
        return next((r for r in results if r.status is not SUPPORTED), results[0])
    return _direction(statement, relative, lower_is_better, told, facts, new)


def _within(
    bound: Quantity, absolute: float, relative: float, before: float, told: str, facts: list[Fact]
) -> Result:
    """ "within 0.5 % of main": relative, or points where the metric itself is a fraction; contradicted where every reading is."""
    readings = [abs(relative) * 100] if bound.unit == "%" else [abs(absolute)]
    if bound.unit in ("%", "pp") and abs(before) <= 1.5:
        readings = [abs(absolute) * 100] if bound.unit == "pp" else [*readings, abs(absolute) * 100]
    held = [value <= bound.value * (1 + 1e-9) for value in readings]
    if any(held) and not all(held):
        return unknown(
            f"{told}: as a relative change and in points the statement comes out differently", facts
        )
    return verdict(all(held), f"{told}; stated: within {shown(bound.value)} {bound.unit}".rstrip(), facts)


def _amount(
    statement: Statement,
    amount: Quantity,
    absolute: float,
    relative: float,
    lower_is_better: bool,
    told: str,
    facts: list[Fact],
) -> Result:
    """ "accuracy up 2 pp", "loss 3 % lower", both readings of per cent."""
    sign = _sign(statement, lower_is_better)
    value = abs(amount.value) * (sign or math.copysign(1, amount.value))
    claimed = Quantity(
        value, amount.unit, amount.half, amount.relation if value >= 0 else "", amount.start, amount.end
    )
    if amount.unit == "x":
        readings = [1 + relative, 1 / (1 + relative) if relative > -1 else math.inf]
        claimed = amount
    elif amount.unit == "pp":
        readings = [absolute * 100, absolute]
    elif not amount.unit:
        readings = [absolute]
    else:
        readings = [relative * 100, absolute * 100]
    if any(agrees(claimed, r) for r in readings):
        return verdict(True, told, facts)
    better = -1 if lower_is_better else 1
    if (
        amount.unit != "x"
        and sign == better
        and not amount.relation
        and readings[0] * better > abs(amount.value)
    ):
        return verdict(True, f"{told}: more than is stated", facts)
    return verdict(False, told, facts)


def _sign(statement: Statement, lower_is_better: bool) -> int:
    text = statement.sentence.text.lower()
    if any(word in text for word in ("improv", "better", "gain")):
        return -1 if lower_is_better else 1
    if any(word in text for word in ("worse", "degrad", "regress")):
        return 1 if lower_is_better else -1
    return statement.direction


def _direction(
    statement: Statement, relative: float, lower_is_better: bool, told: str, facts: list[Fact], series: Series
) -> Result:
    """No number: better, or not worse. Between equal and clearly worse only the noise of repeated runs could decide."""
    worse = relative if lower_is_better else -relative
    text = statement.sentence.text.lower()
    wants_better = any(w in text for w in ("improv", "better", "gain")) and "no " not in text
    wants_better = wants_better or (
        statement.direction != 0
        and not _neutral(text)
        and _sign(statement, lower_is_better) == (-1 if lower_is_better else 1)
    )
    scatter = _scatter(series)
    if wants_better:
        if worse > EQUAL:
            return verdict(False, told, facts)
        return (
            verdict(True, told, facts)
            if worse < -max(EQUAL, scatter)
            else unknown(f"{told}: within what single runs differ by; noise unknown", facts)
        )
    if worse > max(WORSE, 3 * scatter):
        return verdict(False, told, facts)
    if worse <= EQUAL and (worse >= -EQUAL or "unchanged" not in text):
        return verdict(True, told, facts)
    return unknown(f"{told}: noise unknown, one run each cannot decide", facts)


def _neutral(text: str) -> bool:
    return any(
        w in text for w in ("no ", "not ", "without", "unchanged", "match", "same", "neutral", "identical")
    )


def _scatter(series: Series) -> float:
    """How much neighbouring values of the end of a history differ, relative to them."""
    tail = finite(series.values[-20:])
    if len(tail) < 5:
        return 0.0
    steps = [b - a for a, b in pairwise(tail)]
    middle = abs(sum(tail) / len(tail))
    return deviation(steps) / middle / math.sqrt(2) if middle else 0.0


def _value(statement: Statement, runs: Runs) -> Result:
    """ "reaches 0.93 accuracy": the last value of the run in question, the best one where the text says so."""
    run = runs.judged
    if run is None and runs.seeds:
        return _of_seeds(statement, runs)
    stated = values(statement)
    quantity = stated[0] if stated else None
    if run is None or quantity is None:
        return unknown(
            "which run is meant is not told" if quantity is not None else "no number to compare with"
        )
    series = series_for(statement.metric, run, *kinds_of(statement.metric))
    point = last_finite(series) if series is not None else None
    if series is None or point is None:
        return unknown(f"the run given has no series for {statement.metric or 'the metric'}")
    lower_is_better = meaning(series.name) is not Meaning.QUALITY
    recorded = finite(series.values)
    best = min(recorded) if lower_is_better else max(recorded)
    step = _step(statement)
    there = next((p for p in series.settled() if p.step == step), None) if step is not None else None
    if there is not None and quantity.unit != "steps":
        at_step = f"{series.name} at step {there.step}: {shown(there.value)}"
        made = fact(
            f"{slug(series.name)}_at_step",
            there.value,
            f"value at step {there.step}",
            of_point(series, there),
        )
        return verdict(agrees(quantity, there.value, scale=_scale(quantity, there.value)), at_step, [made])
    wants_best = "best" in statement.sentence.text.lower() or "peak" in statement.sentence.text.lower()
    computed = best if wants_best else point.value
    scale = _scale(quantity, computed)
    told = f"{series.name}: last {shown(point.value)} at step {point.step}, best {shown(best)}"
    name = slug(series.name)
    facts = [
        fact(f"final_{name}", point.value, "last finite value", of_point(series, point)),
        fact(f"best_{name}", best, "best finite value"),
    ]
    if agrees(quantity, computed, scale=scale):
        return verdict(True, told, facts)
    if not wants_best and agrees(quantity, best, scale=scale):
        return verdict(False, f"{told}: the stated value is the best one, not the last", facts)
    if any(agrees(q, computed, scale=_scale(q, computed)) for q in stated[1:]):
        return unknown(f"{told}: which of the numbers is the value could not be told", facts)
    return verdict(False, told, facts)


def _of_seeds(statement: Statement, runs: Runs) -> Result:
    """A value of repeated runs is their mean; the best of them has to be called so."""
    quantity = next(iter(values(statement)), None)
    found = last_points(runs.all, statement.metric, *kinds_of(statement.metric))
    if quantity is None or len(found) < 2:
        return unknown("the runs given do not have the metric")
    lasts = [p.value for _, _, p in found]
    name = found[0][1].name
    best = max(lasts) if meaning(name) is Meaning.QUALITY else min(lasts)
    mean = fmean(lasts)
    inputs = [of_point(s, p) for _, s, p in found[:20]]
    facts = [fact(f"mean_{slug(name)}", mean, "mean of the last values of all runs", *inputs),
             fact(f"best_{slug(name)}", best, "best last value of all runs", *inputs)]  # fmt: skip
    told = f"{name} over {len(lasts)} runs: mean {shown(mean)}, best {shown(best)}"
    if "best" in statement.sentence.text.lower():
        return verdict(agrees(quantity, best, scale=_scale(quantity, best)), told, facts)
    if agrees(quantity, mean, scale=_scale(quantity, mean)):
        return verdict(True, told, facts)
    if agrees(quantity, best, scale=_scale(quantity, best)):
        told += "; the stated value is that of the best run alone"
    return verdict(False, told, facts)


_AT_STEP: Final = re.compile(
    r"\b(?:at|after|by) (?:step|iteration|iter) (?P<a>\d{1,9})\b|\b(?:at|after) (?P<b>\d{1,9}) (?:steps|iterations|iters)\b",
    re.IGNORECASE,
)


def _step(statement: Statement) -> int | None:
    """The step that a sentence names: "at step 150", "after 240 steps"."""
    found = _AT_STEP.search(statement.sentence.text)
    return integer(found["a"] or found["b"]) if found else None


def check_regression(runs: Runs, statement: Statement | None = None) -> Result:
    """ "No regressions" of anything: every quality metric that both runs have, against what the sentence allows, if it says so."""
    if runs.candidate is None or runs.baseline is None:
        return unknown(_no_pair(runs))
    allowed = (
        next((q.value / 100 for q in statement.quantities if q.unit in ("%", "pp")), None)
        if statement is not None
        else None
    )
    worse, unsure, facts = [], [], []
    for new, old in _shared(runs.candidate, runs.baseline):
        at = ends(new, old)
        if at is None or not at.old_common.value:
            continue
        relative = (at.new_common.value - at.old_common.value) / abs(at.old_common.value)
        change = relative if meaning(new.name) is not Meaning.QUALITY else -relative
        facts += _ends_facts(new, old, at)
        if change > (max(WORSE, 3 * _scatter(new)) if allowed is None else allowed):
            worse.append(f"{new.name} {relative:+.2%}")
        elif change > EQUAL and allowed is None:
            unsure.append(f"{new.name} {relative:+.2%}")
    if worse:
        return verdict(False, f"worse than the baseline: {', '.join(worse)}", facts)
    if unsure or not facts:
        return unknown(
            f"within what single runs differ by: {', '.join(unsure)}"
            if unsure
            else "the runs share no quality metric",
            facts,
        )
    return verdict(True, "no shared metric is worse", facts)


def _shared(new: History, old: History) -> list[tuple[Series, Series]]:
    kinds = (Meaning.VALIDATION_LOSS, Meaning.QUALITY, Meaning.ERROR, Meaning.LOSS)
    return [
        (s, old.series[name])
        for name, s in new.series.items()
        if name in old.series and meaning(s.name) in kinds
    ][:8]
