"""Claims about speed and memory: ratios over the steady window, never over a warm-up."""

import math
from collections.abc import Sequence
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.quality import _no_pair
from audit.failure.claims.result import Result, agrees, fact, shown, unknown, verdict
from audit.failure.claims.runs import Rate, Runs, rate_of, speed_ratio
from audit.failure.facts.formulas import finite
from audit.failure.facts.histories import History
from audit.failure.facts.make import of_series
from audit.failure.facts.metrics import Meaning, plain

CLOCK: Final = 0.02
"""Relative uncertainty of a rate however many steps it is taken over: clocks, machines and their load differ by that much."""

_COMPARABLE: Final = frozenset(
    "batch seq length len dtype precision bf gpu gpus device devices world nodes hardware accum accumulation tp pp dp block".split()
)
"""Words of settings in which two runs must agree for their speeds to be compared."""

_TIME_WORDS: Final = ("latency", "time", "runtime", "duration", "overhead", "ms")
_LESS: Final = (
    "less",
    "lower",
    "reduc",
    "decreas",
    "drop",
    "cut",
    "down",
    "short",
    "fewer",
    "sav",
    "slower",
    "smaller",
)


def check_speed(statement: Statement, runs: Runs) -> Result:
    """A statement about throughput, step time or a speed-up."""
    ratios = _claimed_ratios(statement)
    absolute = next((q for q in statement.quantities if "/s" in q.unit or "per s" in q.unit), None)
    if runs.candidate is None or runs.baseline is None:
        return (
            _absolute(statement, runs, absolute)
            if absolute is not None and not ratios
            else unknown(_no_pair(runs))
        )
    duration = any(
        w in statement.sentence.text.lower() for w in ("step time", "step-time", "iteration time", "time per")
    )
    new, old = rate_of(runs.candidate, duration), rate_of(runs.baseline, duration)
    steady = speed_ratio(new, old) if new and old else None
    if new is None or old is None or steady is None:
        return unknown("the runs given have no throughput or step times over enough steps")
    different = _different(runs.candidate, runs.baseline)
    if different:
        return unknown(f"the runs are not comparable: they differ in {', '.join(different[:4])}")
    facts = _facts(new, old, steady)
    told = (
        f"over the steady window {shown(steady)}x ({shown(new.value)} against {shown(old.value)}, {new.unit})"
    )
    noise = steady * max(CLOCK, new.noise + old.noise)
    if not ratios:
        return _wordy(statement, steady, noise, told, facts)
    if statement.bound is not None and statement.bound.unit == "%" and _neutral(statement):
        held = abs(steady - 1) * 100 <= statement.bound.value + 100 * noise
        return verdict(held, told, facts)
    if any(agrees(claimed, steady, noise) for claimed in ratios):
        return verdict(True, told, facts)
    if all(1 < claimed.value < steady and not claimed.relation for claimed in ratios):
        return verdict(True, f"{told}: more than is stated", facts)
    whole = speed_ratio(new, old, whole=True)
    if whole is not None and any(agrees(claimed, whole, whole * CLOCK) for claimed in ratios):
        told += f"; the stated ratio comes out only with the warm-up included ({shown(whole)}x)"
    return verdict(False, told, facts)


def _different(new: History, old: History) -> list[str]:
    """Recorded settings in which two runs differ and without which their speeds cannot be compared."""
    if new.record is None or old.record is None:
        return []
    a, b = new.record.settings, old.record.settings
    return [key for key in a if key in b and a[key] != b[key] and set(plain(key).split()) & _COMPARABLE]


def _neutral(statement: Statement) -> bool:
    text = statement.sentence.text.lower()
    return any(
        w in text
        for w in (
            "within",
            "no slow",
            "unaffected",
            "unchanged",
            "overhead",
            "not slower",
            "neutral",
            "match",
            "same",
        )
    )


def _claimed_ratios(statement: Statement) -> list[Quantity]:
    """How many times faster a sentence states, in every reading: "4.0x", "12 % faster", "30 % less time", "A instead of B"."""
    text = statement.sentence.text.lower()
    found = []
    for q in statement.quantities:
        if q.unit == "x" and q.value > 0:
            slower = "slower" in text and "faster" not in text
            found.append(_as(q, 1 / q.value if slower else q.value, q.half / (q.value**2 if slower else 1)))
        elif q.unit == "%":
            found.extend(_of_percent(q, text))
    if (
        statement.new is not None
        and statement.old is not None
        and statement.new.value
        and statement.old.value
    ):
        a, b = statement.new, statement.old
        inverse = a.unit in ("ms", "s", "µs", "min", "h") or (
            not a.unit and any(w in text for w in _TIME_WORDS)
        )
        value = b.value / a.value if inverse else a.value / b.value
        found.append(_as(a, value, value * (a.half / abs(a.value) + b.half / abs(b.value)), relation=""))
    return found


def _of_percent(q: Quantity, text: str) -> list[Quantity]:
    share, half = abs(q.value) / 100, q.half / 100
    about_time = any(w in text for w in _TIME_WORDS) and "throughput" not in text and "faster" not in text
    less = q.value < 0 or any(w in text for w in _LESS)
    if about_time:
        factor = 1 - share if less else 1 + share
        return [_as(q, 1 / factor, half / factor**2, relation="")] if factor > 0 else []
    if less and "faster" not in text:  # "at most 5 % slower" is at least 0.95 times as fast
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(q.relation, q.relation)
        return [_as(q, 1 - share, half, flipped)]
    return [_as(q, 1 + share, half)]


def _as(q: Quantity, value: float, half: float, relation: str | None = None) -> Quantity:
    return Quantity(value, "x", half, q.relation if relation is None else relation, q.start, q.end)


def _facts(new: Rate, old: Rate, steady: float) -> list[Fact]:
    facts = [
        fact(
            "steady_speed_ratio",
            steady,
            "median of the steady window, candidate over baseline",
            new.source,
            old.source,
        ),
        fact("steady_candidate", new.value, f'median of "{new.unit}" over the steady window', new.source),
        fact("steady_baseline", old.value, f'median of "{old.unit}" over the steady window', old.source),
    ]
    whole = speed_ratio(new, old, whole=True)
    if whole is not None:
        facts.append(
            fact(
                "whole_speed_ratio",
                whole,
                "work over time of all steps, warm-up included, candidate over baseline",
                new.source,
                old.source,
            )
        )
    return facts


def _wordy(statement: Statement, steady: float, noise: float, told: str, facts: Sequence[Fact]) -> Result:
    text = statement.sentence.text.lower()
    if _neutral(statement) or "no " in text:
        return verdict(steady >= 1 - max(noise, 0.03), told, facts)
    slower = "slower" in text or statement.direction < 0
    if abs(steady - 1) <= noise:
        return unknown(f"{told}: within the noise of the measure", facts)
    return verdict(steady < 1 if slower else steady > 1, told, facts)


def _absolute(statement: Statement, runs: Runs, claimed: Quantity) -> Result:
    """ "runs at 18k tokens/s", of the only run."""
    run = runs.judged
    rate = rate_of(run) if run is not None else None
    if rate is None or rate.inverse:
        return unknown("the run given has no throughput over enough steps")
    facts = [
        fact("steady_throughput", rate.value, f'median of "{rate.unit}" over the steady window', rate.source)
    ]
    told = f"median over the steady window {shown(rate.value)} ({rate.unit})"
    return verdict(agrees(claimed, rate.value, rate.value * max(CLOCK, rate.noise)), told, facts)


# -- memory ----------------------------------------------------------------------------------------------------------

_BYTES: Final = {"GiB": 2.0**30, "GB": 1e9, "MiB": 2.0**20, "MB": 1e6, "KiB": 1024.0, "kB": 1e3}


def check_memory(statement: Statement, runs: Runs) -> Result:
    """A statement about peak memory: the largest recorded value."""
    new = _peak(runs.candidate or runs.judged)
    if new is None:
        return unknown("the runs given record no memory")
    amount = next((q for q in statement.quantities if q.unit in ("%", "x")), None)
    absolute = next((q for q in statement.quantities if q.unit in _BYTES), None)
    if absolute is not None and (statement.new is None or amount is None):
        return _bytes(statement, absolute, new, _peak(runs.baseline))
    old = _peak(runs.baseline)
    if old is None or not old[0]:
        return unknown(_no_pair(runs) if runs.baseline is None else "the baseline records no memory")
    ratio = new[0] / old[0]
    what = "largest recorded memory, candidate over baseline"
    facts = [fact("peak_memory_ratio", ratio, what, new[1], old[1])]
    told = f"peak memory {shown(ratio)} times the baseline's"
    less = _is_less(statement) or (amount is not None and amount.value < 0)
    if amount is None:
        holds = ratio < 1 if less else ratio > 1
        return verdict(holds, told, facts) if statement.direction else unknown(told, facts)
    if amount.unit == "x":
        return verdict(agrees(amount, 1 / ratio if less else ratio), told, facts)
    value = 1 + math.copysign(abs(amount.value) / 100, -1 if less else 1)
    claimed = Quantity(value, "x", amount.half / 100, "", amount.start, amount.end)
    return verdict(agrees(claimed, ratio) or (less and ratio < value), told, facts)


def _is_less(statement: Statement) -> bool:
    text = statement.sentence.text.lower()
    return statement.direction < 0 or any(word in text for word in _LESS)


def _bytes(
    statement: Statement, stated: Quantity, new: tuple[float, FactInput], old: tuple[float, FactInput] | None
) -> Result:
    """ "30 GB", "from 40 GB to 30 GB", "10 GB less"."""
    scale = _unit_of(new[1].name)
    if scale is None:
        return unknown(f'the unit of "{new[1].name}" is not told')
    facts = [fact("peak_memory", new[0], f'largest "{new[1].name}"', new[1])]
    told = f"peak {shown(new[0])} ({new[1].name})"
    difference = (
        statement.new is None and (_is_less(statement) or statement.direction > 0) and not stated.relation
    )
    if (statement.new is not None or difference) and old is None:
        return unknown(f"{told}; the baseline's is not recorded", facts)
    if old is not None:
        facts.append(fact("peak_memory_baseline", old[0], f'largest "{old[1].name}"', old[1]))
    if statement.new is not None and statement.old is not None and old is not None:
        sides = ((statement.new, new[0]), (statement.old, old[0]))
        return verdict(
            all(_says(q, value * scale) for q, value in sides), f"{told}, {shown(old[0])} before", facts
        )
    if difference and old is not None:
        return verdict(_says(stated, abs(old[0] - new[0]) * scale), f"{told}, {shown(old[0])} before", facts)
    return verdict(_says(stated, new[0] * scale), told, facts)


def _says(stated: Quantity, value: float) -> bool:
    """Whether a number of bytes is what a text states; GB is read as 10**9 and, as many print it, as 2**30 bytes."""
    units = {_BYTES.get(stated.unit, 1e9), _BYTES.get(stated.unit.replace("B", "iB"), 1e9)}
    return any(agrees(stated, value / unit) for unit in units) or any(
        agrees(stated, value / u) for u in (1e9,) if not stated.unit
    )


def _peak(run: History | None) -> tuple[float, FactInput] | None:
    for series in run.of(Meaning.MEMORY) if run is not None else ():
        values = finite(series.values)
        if values:
            return max(values), FactInput(series.name, max(values), of_series(series).source)
    return None


def _unit_of(name: str) -> float | None:
    """Bytes of the unit that a series' name tells."""
    words = name.lower()
    for key, scale in (("gib", 2.0**30), ("gb", 1e9), ("mib", 2.0**20), ("mb", 1e6), ("bytes", 1.0)):
        if key in words:
            return scale
    return None
