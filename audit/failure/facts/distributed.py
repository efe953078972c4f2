"""What several ranks' reports say together: who timed out, after how long, and how long after the cause."""

import math
import re
from collections.abc import Iterator, Sequence
from statistics import median

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.formulas import steady
from audit.failure.facts.make import fact
from audit.failure.facts.metrics import Meaning, meaning
from audit.failure.model import Line
from audit.telemetry.model import Series, Telemetry

_MARK = "Watchdog caught collective operation timeout"
_TIMEOUT = re.compile(r"Timeout\(ms\)=(\d{1,12})")
_RAN = re.compile(r"ran for (\d{1,12}) milliseconds")
_SEQUENCE = re.compile(r"SeqNum=(\d{1,15})")
_RANK = re.compile(r"\[[Rr]ank ?(\d{1,6})\]")


def facts(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """Of NCCL's watchdog: its timeout, the ranks it spoke for, the sequence numbers, and the time since the cause."""
    yield from _first_observed(lines)
    found = [
        line
        for line in lines
        if _MARK in line.text and "terminated with exception" not in line.text and "what()" not in line.text
    ]
    if not found:
        return
    first = found[0]
    timeout = _TIMEOUT.search(first.text)
    if timeout is not None:
        yield fact(
            "collective_timeout_ms",
            integer(timeout[1]),
            "Timeout(ms) of the watchdog's line",
            [FactInput("timeout", integer(timeout[1]), _place(first))],
            unit="ms",
        )
    ranks = {who for line in found if (who := _who(line)) is not None}
    if ranks:
        inputs = [
            FactInput(f"rank {who}", "timed out", _place(line))
            for line in found[:20]
            if (who := _who(line)) is not None
        ]
        yield fact(
            "ranks_with_collective_timeout",
            len(ranks),
            "ranks for which a watchdog reported a timeout",
            inputs,
        )
    sequences = {integer(match[1]) for line in found if (match := _SEQUENCE.search(line.text))}
    if sequences:
        yield fact(
            "lowest_sequence_number",
            min(sequences),
            "smallest SeqNum of the timeouts",
            [FactInput("SeqNum", min(sequences), _place(first))],
        )
    timed = [line for line in found if line.time is not None]
    since = _time_of(cause, lines) if cause is not None and cause not in found else None
    if cause is not None and since is not None and timed:
        earliest = min(timed, key=lambda line: line.time or 0.0)
        delay = (earliest.time or 0.0) - since
        if delay > 0:
            inputs = [
                FactInput("first timeout", earliest.time, _place(earliest)),
                FactInput("cause", since, _place(cause)),
            ]
            yield fact(
                "delay_after_cause_s",
                delay,
                "time of the first timeout - time of the cause",
                inputs,
                unit="s",
            )


_REPORTED = re.compile(r"\s*(rank|exitcode)\s*: (-?\d{1,6})\b")
_REPORT_LINES = 10


def _first_observed(lines: Sequence[Line]) -> Iterator[Fact]:
    """The rank and exit code that torchrun's report names as observed first: a pointer to where to look, no cause."""
    start = next(
        (n for n, line in enumerate(lines) if "Root Cause (first observed failure)" in line.text), None
    )
    if start is None:
        return
    told: set[str] = set()
    for line in lines[start + 1 : start + 1 + _REPORT_LINES]:
        found = _REPORTED.match(line.text)
        if found is not None and found[1] not in told:
            told.add(found[1])
            name = "first_observed_rank" if found[1] == "rank" else "first_observed_exit_code"
            yield fact(
                name,
                integer(found[2]),
                f"{found[1]} in the launcher's report",
                [FactInput(found[1], integer(found[2]), _place(line))],
            )


_NEAR = 100
"""Lines of a traceback or a report before the cause, of which only the first has the time."""


def _time_of(cause: Line, lines: Sequence[Line]) -> float | None:
    """The time of the cause's line, or of the last line with one before it in its source."""
    if cause.time is not None:
        return cause.time
    before = (
        line
        for line in reversed(lines)
        if line.source == cause.source and cause.number - _NEAR <= line.number < cause.number
    )
    return next((line.time for line in before if line.time is not None), None)


def _who(line: Line) -> int | None:
    told = _RANK.search(line.raw)
    return integer(told[1]) if told is not None else line.stream.rank


def _place(line: Line) -> str:
    return f"{line.source}:{line.number}"


def silence(logged: Telemetry, cause: Line | None, lines: Sequence[Line]) -> Iterator[Fact]:
    """How long before the cause's line the last metric was logged: a run that was slow logs to its end, one that hung does not."""
    end = _time_of(cause, lines) if cause is not None else None
    times = [
        (series.times[-1], series)
        for series in logged.series
        if series.axis != "row" and math.isfinite(series.times[-1])
    ]
    if end is None or cause is None or not times:
        return
    last, series = max(times, key=lambda item: item[0])
    if end - last < _NOTABLE_SILENCE:
        return
    inputs = [
        FactInput("last metric", last, series.place(series.point(-1))),
        FactInput("cause", end, _place(cause)),
    ]
    yield fact(
        "silent_seconds", end - last, "time of the cause - time of the last metric line", inputs, unit="s"
    )


_NOTABLE_SILENCE = 10.0
"""Seconds; steps, evaluations and checkpoints take as long."""

_RANKS = 3
_STRAGGLES = 1.2


def stragglers(logged: Telemetry) -> Iterator[Fact]:
    """The rank whose steps take longest over the middle one, where ranks log their own times."""
    by_rank: dict[str, tuple[float, Series]] = {}
    for series in logged.series:
        found = re.search(r"\brank (\d{1,6})\b", series.run)
        if (
            found is not None
            and meaning(series.name) is Meaning.STEP_TIME
            and (values := steady(series.values))
        ):
            by_rank.setdefault(found[1], (median(values), series))
    if len(by_rank) < _RANKS:
        return
    middle = median(time for time, _ in by_rank.values())
    rank, (slowest, series) = max(by_rank.items(), key=lambda item: item[1][0])
    if middle > 0 and slowest / middle >= _STRAGGLES:
        inputs = [
            FactInput(f"median of rank {rank}", slowest, series.source),
            FactInput("median of all", middle),
        ]
        yield fact("slowest_rank", int(rank), "rank with the largest median step time", inputs)
        yield fact(
            "slowest_rank_ratio", slowest / middle, "its median step time / the median over ranks", inputs
        )
