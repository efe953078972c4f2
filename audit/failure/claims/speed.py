"""Claims about speed and memory: ratios over the steady window, never over a warm-up."""

import math
import re
from collections.abc import Sequence
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.quality import _no_pair
from audit.failure.claims.result import SUPPORTED, Result, agrees, fact, shown, unknown, verdict
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
    """A statement about throughput, step time or a speed-up. Of several numbers each has to hold."""
    ratios, pair = _claimed_ratios(statement)
    absolute = _absolutes(statement)
    if runs.candidate is None or runs.baseline is None:
        return (
            _absolute(statement, runs.judged, absolute[0])
            if absolute and not ratios
            else unknown(_no_pair(runs))
        )
    text = statement.sentence.text.lower()
    duration = any(w in text for w in ("step time", "step-time", "iteration time", "time per", "latency"))
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
    if pair is not None:
        found = _ratio(statement, [pair], runs, (new, old, steady), told, facts)
        if found.status is not SUPPORTED:
            return found
        if not ratios:
            return _sides(statement, new, old, told, facts) or found
    if not ratios and absolute:
        return _absolute(statement, runs.candidate, absolute[0], duration)
    return _ratio(statement, ratios, runs, (new, old, steady), told, facts)


def _ratio(
    statement: Statement,
    ratios: Sequence[Quantity],
    runs: Runs,
    rates: tuple[Rate, Rate, float],
    told: str,
    facts: list[Fact],
) -> Result:
    """How many times faster, against what a sentence states of it."""
    new, old, steady = rates
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


def _sides(statement: Statement, new: Rate, old: Rate, told: str, facts: list[Fact]) -> Result | None:
    """Both values of "A instead of B", where their unit is the recorded one's; None where they agree or cannot be compared."""
    for claimed, rate in ((statement.new, new), (statement.old, old)):
        scale = _in_units_of(rate, claimed) if claimed is not None else None
        if claimed is None or scale is None:
            continue
        if abs(claimed.value * scale - rate.value) > _FAR_OFF * rate.value:
            return unknown(f"{told}: the ratio holds, the values stated are not those recorded", facts)
    return None


_FAR_OFF: Final = 0.1
"""Two machines differ by some per cent; beyond a tenth it is another measure."""


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


def _claimed_ratios(statement: Statement) -> tuple[list[Quantity], Quantity | None]:
    """How many times faster a sentence states: "4.0x", "12 % faster", "30 % less time"; and what "A instead of B" comes to."""
    text = statement.sentence.text.lower()
    found: list[Quantity] = []
    pair = None
    for q in statement.quantities:
        if q.unit == "x" and q.value > 0:
            slower = "slower" in text and "faster" not in text
            found.append(_as(q, 1 / q.value if slower else q.value, q.half / (q.value**2 if slower else 1)))
        elif q.unit == "%":
            found.extend(_of_percent(q, text))
    a, b = statement.new, statement.old
    if a is not None and b is not None and a.value and b.value:
        inverse = a.unit in _DURATIONS or (not a.unit and any(w in text for w in _TIME_WORDS))
        value = b.value / a.value if inverse else a.value / b.value
        pair = _as(a, value, value * (a.half / abs(a.value) + b.half / abs(b.value)), relation="")
    return found, pair


_DURATIONS: Final = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def _absolutes(statement: Statement) -> list[Quantity]:
    """Rates, and durations of a step, that a sentence states."""
    text = statement.sentence.text.lower()
    step = any(word in text for word in ("step", "iteration", "latency", "batch", "per it"))
    return [
        q
        for q in statement.quantities
        if q not in (statement.new, statement.old)
        and ("/s" in q.unit or "per s" in q.unit or (step and q.unit in ("ms", "s", "µs")))
    ]


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
    if new.inverse and old.value:
        reduction = 1 - new.value / old.value
        facts.append(
            fact(
                "steady_time_reduction",
                reduction,
                "1 - candidate / baseline over the steady window",
                new.source,
                old.source,
            )
        )
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


def _absolute(statement: Statement, run: History | None, claimed: Quantity, duration: bool = False) -> Result:
    """ "runs at 18k tokens/s", "a step takes 210 ms", of the run in question."""
    rate = rate_of(run, duration or claimed.unit in _DURATIONS) if run is not None else None
    scale = _in_units_of(rate, claimed) if rate is not None else None
    if rate is None or scale is None:
        return unknown("the run given has no series in the unit stated over enough steps")
    name = "steady_step_time" if rate.inverse else "steady_throughput"
    facts = [fact(name, rate.value, f'median of "{rate.unit}" over the steady window', rate.source)]
    told = f"median over the steady window {shown(rate.value)} ({rate.unit})"
    if agrees(claimed, rate.value, rate.value * max(CLOCK, rate.noise), scale):
        return verdict(True, told, facts)
    if not rate.inverse and not _work(rate.unit):
        return unknown(f"{told}: of what is not told", facts)
    if ("per gpu" in statement.sentence.text.lower() or "/gpu" in statement.sentence.text.lower()) != (
        "gpu" in rate.unit.lower()
    ):
        return unknown(f"{told}: of one device or of all", facts)
    return verdict(False, told, facts)


_WORK: Final = {
    "tok": "token", "sample": "sample", "seq": "sample", "im": "image", "req": "request", "it": "step", "step": "step", "frame": "frame", "fps": "frame",
}  # fmt: skip


def _work(unit: str) -> str:
    """What a rate counts: the word before "per second" in its name."""
    words = plain(unit).split()
    return next((kind for word in words for stem, kind in _WORK.items() if word.startswith(stem)), "")


def _in_units_of(rate: Rate, claimed: Quantity) -> float | None:
    """What a stated number is multiplied with to be in a recorded series' unit; None where they measure different things."""
    if rate.inverse != (claimed.unit in _DURATIONS):
        return None if claimed.unit else 1.0
    if rate.inverse:
        name = plain(rate.unit)
        unit = 1e-3 if "ms" in name.split() or name.endswith("ms") else 1e-6 if "us" in name.split() else 1.0
        return _DURATIONS[claimed.unit] / unit
    stated, recorded = _work(claimed.unit), _work(rate.unit)
    return None if stated and recorded and stated != recorded else 1.0


# -- memory ----------------------------------------------------------------------------------------------------------

NOISE: Final = 0.002
"""Allocators round by some MiB: the least relative uncertainty of a peak."""
_MORE_OR_LESS: Final = re.compile(r"\s?(?:less|lower|fewer|smaller|more|higher|larger|saved)\b")
_BYTES: Final = {"GiB": 2.0**30, "GB": 1e9, "MiB": 2.0**20, "MB": 1e6, "KiB": 1024.0, "kB": 1e3}


def check_memory(statement: Statement, runs: Runs) -> Result:
    """A statement about peak memory: the largest recorded value."""
    new = _peak(runs.candidate or runs.judged)
    if new is None:
        return unknown("the runs given record no memory")
    amount = next((q for q in statement.quantities if q.unit in ("%", "x")), None)
    absolute = next((q for q in statement.quantities if q.unit in _BYTES), None)
    old = _peak(runs.baseline)
    if absolute is not None:
        found = _bytes(statement, absolute, new, old)
        if amount is None or found.status is not SUPPORTED:
            return found
    if old is None or not old[0]:
        return unknown(_no_pair(runs) if runs.baseline is None else "the baseline records no memory")
    ratio = new[0] / old[0]
    what = "largest recorded memory, candidate over baseline"
    facts = [
        fact("peak_memory_ratio", ratio, what, new[1], old[1]),
        fact("peak_memory_reduction", 1 - ratio, "1 - candidate / baseline", new[1], old[1]),
    ]
    told = f"peak memory {shown(ratio)} times the baseline's"
    less = _is_less(statement) or (amount is not None and amount.value < 0)
    if amount is None:
        holds = ratio < 1 if less else ratio > 1
        return verdict(holds, told, facts) if statement.direction else unknown(told, facts)
    if amount.unit == "x":
        return verdict(agrees(amount, 1 / ratio if less else ratio), told, facts)
    value = 1 + math.copysign(abs(amount.value) / 100, -1 if less else 1)
    claimed = Quantity(value, "x", amount.half / 100, "", amount.start, amount.end)
    return verdict(agrees(claimed, ratio, NOISE) or (less and ratio < value), told, facts)


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
    before = statement.sentence.text[max(0, stated.start - 12) : stated.start].lower()
    after = statement.sentence.text[stated.end : stated.end + 12].lower()
    leads_to = re.search(
        r"\b(?:to|at|of|is|now|only|just)\s*[~≈]?\s*$", before
    ) is not None and not _MORE_OR_LESS.match(after)
    changes = (_is_less(statement) or statement.direction > 0) and not stated.relation and not leads_to
    difference = statement.new is None and changes
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
