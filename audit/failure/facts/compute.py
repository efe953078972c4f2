"""All facts of a case, few and in order: what is wrong with the numbers first, what is merely so last."""

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from audit.documents.verdict import Category, Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts import (
    arms,
    assertions,
    comparison,
    completion,
    counts,
    data_files,
    distributed,
    health,
    memory,
    mlperf,
    nearby,
    noise,
    notices,
    outcomes,
    performance,
    probes,
    results,
    samples,
    stated,
)
from audit.failure.facts.histories import History, compared, histories, logged_histories, replicates
from audit.failure.facts.make import fact, named, of_series
from audit.failure.facts.metrics import Meaning
from audit.failure.facts.settings import CLIP, Settings, of_run, settings
from audit.failure.model import DISCOUNTED, Kind, Line, Reading
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry
from audit.telemetry.stdout import LineCollector

MOST = 36
_MAX_RUNS = 4
"""Runs that are reported one by one; more are reported together only."""

_UNHEARD = DISCOUNTED | {Kind.COMMAND}


def of_log(reading: Reading | None) -> Telemetry:
    """The metrics that lines of the logs tell, as telemetry. Command lines, echoed scripts, program text and dumps are left out."""
    collector = LineCollector()
    cut = (
        {(source.name, source.lines) for source in reading.sources if source.ends_in_line}
        if reading
        else set()
    )
    for line in reading.lines if reading is not None else ():
        if (
            line.kinds & _UNHEARD or (line.source, line.number) in cut
        ):  # the last number of a cut line is cut too
            continue
        text = line.raw if "\r" in line.raw else line.text
        collector.add(text, line.source, line.number, _SEPARATOR + _SEPARATOR.join(_writer(line)), line.time)
    return _shortened(collector.telemetry())


_SEPARATOR = "\x1f"


def _writer(line: Line) -> tuple[str, ...]:
    stream = line.stream
    return (
        stream.job or "",
        stream.step or "",
        f"rank {stream.rank}" if stream.rank is not None else "",
        stream.worker or "",
        f"attempt {stream.attempt}" if stream.attempt else "",
    )


def _shortened(telemetry: Telemetry) -> Telemetry:
    """The runs under names that say only what tells them apart."""
    full = dict.fromkeys([s.run for s in telemetry.series] + [run.name for run in telemetry.runs])
    parts = {name: name.split(_SEPARATOR) for name in full}
    width = max((len(p) for p in parts.values()), default=0)
    telling = [i for i in range(width) if len({p[i] if i < len(p) else "" for p in parts.values()}) > 1]
    names = {
        name: " ".join(" ".join(p[i] for i in telling if i < len(p)).split()) or p[0].strip()
        for name, p in parts.items()
    }
    return msgspec.structs.replace(
        telemetry,
        series=tuple(msgspec.structs.replace(s, run=names[s.run]) for s in telemetry.series),
        runs=tuple(msgspec.structs.replace(run, name=names[run.name]) for run in telemetry.runs),
    )


def compute(
    telemetry: Telemetry,
    reading: Reading | None = None,
    repo: Snapshot | None = None,
    category: Category | None = None,
    cause: Line | None = None,
    told: Sequence[Fact] = (),
) -> list[Fact]:
    """The facts that telemetry, log lines and settings yield, at most `MOST`, each name once.

    `category` moves what such a case turns on to the front, `cause` is the line of the log that was found to be it, `told`
    holds the facts that stand before these: what log lines state and those hold is not said again. Never raises for
    what the inputs hold.
    """
    lines = reading.lines if reading is not None else ()
    logged = of_log(reading)
    runs = histories(telemetry, logged)
    known = settings(repo, reading)
    parts: dict[str, Iterable[Fact]] = {
        "cause": _unsaid(
            chain(
                assertions.between(told),
                assertions.facts(lines, cause),
                stated.facts(lines, cause),
                probes.facts(lines),
                notices.facts(lines),
            ),
            told,
        ),
        "memory": chain(
            memory.facts(lines),
            data_files.pointers(repo, reading) if category is Category.DATA_CONFIG else (),
        ),
        "ranks": chain(
            distributed.facts(lines, cause),
            distributed.silence(logged, cause, lines),
            distributed.stragglers(logged),
        ),
        "health": _health(runs, repo, reading),
        "comparison": chain(
            _comparison(runs),
            _of_variants(runs, telemetry),
            samples.shares(runs, telemetry, told),
            samples.earlier(telemetry, told),
        ),
        "runs": _repeated(runs, known, logged),
        "mlperf": mlperf.compliance(_events(telemetry, logged)),
        "ends": _ends(runs),
        "completion": _completion(runs, logged, reading, known),
        "speed": _speed(runs, known, logged, closely=category in _OF_SPEED),
        "limits": _limits(runs, known),
        "results": chain(
            results.margins(telemetry, runs, told, known),
            results.against_earlier_runs(telemetry, runs),
            results.single(telemetry),
            results.benchmarks(telemetry),
        ),
        "recorded": noise.recorded_errors(telemetry),
        "nearby": _unsaid(nearby.facts(lines, cause, told), told),
        "tests": chain(
            counts.reports(telemetry), _unsaid(counts.printed(reading) if reading is not None else (), told)
        ),
    }
    first = _ORDERS.get(category, ()) if category is not None else ()
    order = (*first, *(name for name in _USUAL if name not in first))
    return _distinct(chain.from_iterable(_sound(parts[name]) for name in order))


def _sound(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Up to where the numbers of a hostile file (`1e308` rows, NaN samples) lead a formula beyond what numbers can hold."""
    with contextlib.suppress(ArithmeticError, ValueError):
        yield from facts


_USUAL = (
    "health", "comparison", "runs", "mlperf", "results", "ends", "limits", "tests", "completion", "cause", "memory", "ranks", "speed", "recorded", "nearby",
)  # fmt: skip
_ORDERS = {
    Category.INFRA_RUNTIME: ("cause", "memory", "ranks", "tests", "completion"),
    Category.DATA_CONFIG: ("cause", "memory", "ranks", "tests", "health", "completion"),
    Category.CORRECTNESS: ("tests", "cause", "health", "limits", "ranks", "completion"),
    Category.METRIC_POLICY: ("cause", "comparison", "results", "completion", "health", "ends", "limits", "speed"),
}  # fmt: skip
"""What a case of the category turns on; the rest follows in the usual order."""


_OF_SPEED = (Category.METRIC_POLICY, Category.UNSUPPORTED_CLAIM)
"""Categories that a mean, a percentile or a wall time can decide."""


def _unsaid(facts: Iterable[Fact], told: Sequence[Fact]) -> Iterator[Fact]:
    known = {fact.value for fact in told}
    return (fact for fact in facts if fact.value not in known)


def _events(telemetry: Telemetry, logged: Telemetry) -> Telemetry:
    return telemetry if telemetry.events or not logged.events else logged


def _shown(runs: Sequence[History]) -> Sequence[History]:
    """The runs that are reported one by one: of ranks that log the same only the first."""
    if len(runs) > 1 and runs[0].from_log and compared(runs) is None:
        return ()
    return runs if len(runs) <= _MAX_RUNS and not replicates(runs) else ()


def _health(runs: Sequence[History], repo: Snapshot | None, reading: Reading | None) -> Iterator[Fact]:
    sick = False
    for run in runs[: 2 * _MAX_RUNS]:
        found = list(health.not_finite(run))
        sick = sick or bool(found)
        yield from found
    if sick:
        yield from data_files.cells(repo, reading)
    for run in _shown(runs) or _first_of_ranks(runs):
        yield from health.counted(run)
        yield from health.dead(run)
        yield from health.gradients(run)
        yield from health.broken(run)
        yield from health.unsteady(run)


def _comparison(runs: Sequence[History]) -> Iterator[Fact]:
    pair = compared(runs)
    if pair is not None:
        yield from samples.repeats(*pair)
        yield from comparison.compare(*pair)


def _of_variants(runs: Sequence[History], telemetry: Telemetry) -> Iterator[Fact]:
    recorded = runs if runs and not runs[0].from_log else arms.listed(telemetry)
    found = arms.arms(recorded)
    if found is not None:
        yield from arms.facts(found)


def _repeated(runs: Sequence[History], known: Settings, logged: Telemetry) -> Iterator[Fact]:
    if replicates(runs) and not runs[0].from_log:
        planned = completion.planned_steps(runs[0], known, logged)
        yield from completion.several(runs, planned)
        yield from completion.tokens(runs, known, planned)
    yield from outcomes.rates(runs, known, logged)


def _ends(runs: Sequence[History]) -> Iterator[Fact]:
    if compared(runs) is not None:
        for run in runs:
            yield from health.bests(run)
        return
    for run in _shown(runs) or _first_of_ranks(runs):
        yield from health.finals(run)
        yield from health.bests(run)
        yield from health.count_not_finite(run)
        yield from health.others(run)
        if run.from_log:
            yield from health.beside_results(run)


def _first_of_ranks(runs: Sequence[History]) -> Sequence[History]:
    """Of many runs in a log the one that is told of last, and of ranks that tell the same the lowest."""
    if not runs or not runs[0].from_log:
        return ()
    stepping = [run for run in runs if run.last_step() is not None] or runs
    stepping = [run for run in stepping if run.main_loss() is not None] or stepping  # no download's bar
    lowest = min(_rank(run.label) for run in stepping)
    own = [run for run in stepping if _rank(run.label) == lowest]
    return [max(own, key=lambda run: max(max(series.lines) for series in run.series.values()))]


def _rank(label: str) -> int:
    found = re.search(r"\brank (\d{1,6})\b", label)
    return integer(found[1]) if found else 0


def _completion(
    runs: Sequence[History], logged: Telemetry, reading: Reading | None, known: Settings
) -> Iterator[Fact]:
    shown = _shown(runs) or _first_of_ranks(runs)
    for run in shown:
        planned = completion.planned_steps(run, known, logged)
        yield from completion.single(run, planned)
        if len(shown) == 1:
            yield from completion.tokens([run], known, planned)
    for run in _told_of_samples(logged):
        yield from completion.lost_work(run, reading, known)
        yield from completion.consumed(run, known)


def _told_of_samples(logged: Telemetry) -> Sequence[History]:
    """The one run of a log that its sample counts and checkpoints are of: of several runs nobody knows, of ranks the lowest."""
    runs = logged_histories(logged)
    lowest = min((_rank(run.label) for run in runs if run.last_step() is not None), default=0)
    counted = [run for run in runs if run.of(Meaning.SAMPLES) and _rank(run.label) == lowest] or runs[:1]
    return [msgspec.structs.replace(counted[0], label="")] if len(counted) == 1 else ()


def _speed(runs: Sequence[History], known: Settings, logged: Telemetry, *, closely: bool) -> Iterator[Fact]:
    for run in _shown(runs) or _first_of_ranks(runs):
        yield from performance.projected(run, completion.planned_steps(run, known, logged))
        yield from performance.rates(run, closely=closely)
        yield from performance.step_times(run)
        yield from performance.memory(run)
        if closely:
            yield from performance.wall_time(run)
            yield from performance.percentiles(run)


def _limits(runs: Sequence[History], known: Settings) -> Iterator[Fact]:
    """How often the gradient norm was above what it is clipped to."""
    for run in _shown(runs):
        for norm in run.of(Meaning.GRADIENT_NORM)[:1]:
            record = run.record
            clip = of_run(record.settings, CLIP, record.source) if record is not None else None
            clip = clip or known.number(CLIP)
            if clip is None or clip.value <= 0 or norm.sampled:
                continue
            inputs = [of_series(norm), FactInput(clip.name, clip.value, clip.place)]
            yield fact(
                named("steps_clipped", run),
                health.above(norm, clip.value),
                f'steps with "{norm.name}" > {clip.name}',
                inputs,
            )


def _distinct(facts: Iterable[Fact]) -> list[Fact]:
    kept: dict[str, Fact] = {}
    for found in facts:
        if isinstance(found.value, float) and not math.isfinite(found.value):
            continue  # a number that no document can hold
        kept.setdefault(found.name, found)
        if len(kept) == MOST:
            break
    return list(kept.values())
