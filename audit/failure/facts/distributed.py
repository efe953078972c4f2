"""What several ranks' reports say together: who timed out, after how long, and how long after the cause."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.make import fact
from audit.failure.model import Line

_MARK = "Watchdog caught collective operation timeout"
_TIMEOUT = re.compile(r"Timeout\(ms\)=(\d{1,12})")
_RAN = re.compile(r"ran for (\d{1,12}) milliseconds")
_SEQUENCE = re.compile(r"SeqNum=(\d{1,15})")
_RANK = re.compile(r"\[[Rr]ank ?(\d{1,6})\]")


def facts(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """Of NCCL's watchdog: its timeout, the ranks it spoke for, the sequence numbers, and the time since the cause."""
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
            int(timeout[1]),
            "Timeout(ms) of the watchdog's line",
            [FactInput("timeout", int(timeout[1]), _place(first))],
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
    sequences = {int(match[1]) for line in found if (match := _SEQUENCE.search(line.text))}
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
    return int(told[1]) if told is not None else line.stream.rank


def _place(line: Line) -> str:
    return f"{line.source}:{line.number}"
