"""Reads the logs of a failure: one pass over each, constant memory, whatever their size and state."""

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from audit.documents.place import Gap
from audit.failure.model import Hit, Line, LogSource, Reading
from audit.failure.reading.captures import captures
from audit.failure.reading.lines import Maker
from audit.failure.reading.sources import LogError, Opened, opened
from audit.failure.reading.unpack import Budget, UnpackError
from audit.failure.scan.knowledge import Knowledge, knowledge
from audit.failure.scan.matcher import Matcher
from audit.failure.scan.sweep import BLOCK, Limits, Sweep, Swept, blocks, joined

__all__ = ["LogError", "read"]

# What may come out of all compressed logs together; at some 500 MB/s that is half a minute.
_MOST_UNPACKED = 16 * 2**30
# Below this a second thread costs more than it saves.
_WORTH_THREADS = 64 * 2**20
_MOST_THREADS = 4
# By so much of a log's beginning is told whether its lines are numbered, and of which year they are.
_HEAD = 65_536
_NUMBERED = re.compile(rb"^ {0,4}\d{1,5}: ?", re.MULTILINE)


def read(
    paths: Sequence[Path],
    *,
    stdin: BinaryIO | None = None,
    cache: Path | None = None,
    limits: Limits | None = None,
) -> Reading:
    """The logs behind `paths` (files, compressed files, archives, folders, `-`). `cache`: folder in which the compiled catalogue is
    kept. Raises LogError for a path that is not there; whatever is wrong with a log's content becomes a gap.
    """
    budget = Budget(_MOST_UNPACKED)
    logs: list[Opened] = []
    gaps: list[Gap] = []
    for path in paths:
        found, missed = opened(path, budget, stdin)
        logs += found
        gaps += missed
    return _Reader(knowledge(cache), (limits or Limits()).shared(len(logs))).all(logs, gaps)


class _Reader:
    def __init__(self, known: Knowledge, limits: Limits) -> None:
        self._known = known
        self._limits = limits

    def all(self, logs: list[Opened], gaps: list[Gap]) -> Reading:
        sources: list[LogSource] = []
        lines: list[Line] = []
        hits: list[Hit] = []
        times: dict[str, list[tuple[float, float]]] = {}
        # Whole jobs come after the steps that were kept of them: what steps cover is not told twice.
        for log in sorted(logs, key=lambda log: log.rest_of is not None):
            source, kept, found, missed = self._one(log)
            if log.rest_of is not None:
                kept, found = _outside(kept, found, times.get(log.rest_of, []))
            elif log.stream.job and log.stream.step and (span := _span(kept)):
                times.setdefault(log.stream.job, []).append(span)
            sources.append(source)
            lines += kept
            hits += found
            gaps += missed
        return Reading(tuple(sources), tuple(lines), tuple(hits), tuple(gaps))

    def _one(self, log: Opened) -> tuple[LogSource, list[Line], list[Hit], list[Gap]]:
        gaps: list[Gap] = []
        swept, head, numbered = self._swept(log, gaps)
        maker = Maker(log.name, log.stream, self._known, numbered=numbered, head=head)
        lines = maker.lines(swept.spans)
        hits = self._hits(swept, lines, maker)
        if swept.lost:
            gaps.append(
                Gap(
                    log.name,
                    f"{swept.lost} of the places between beginning and end that say something were not kept",
                )
            )
        if maker.cut or swept.pieces:
            gaps.append(Gap(log.name, "lines of more than 16 KiB are kept in part"))
        whole = not any(gap.path == log.name and "kept" not in gap.why for gap in gaps)
        source = LogSource(log.name, swept.lines, swept.size, log.stream, whole, swept.ends_in_line)
        return source, lines, hits, gaps

    def _swept(self, log: Opened, gaps: list[Gap]) -> tuple[Swept, bytes, bool]:
        if log.path is not None and (ranges := _ranges(log.path)):
            head = next(blocks(log.chunks()), b"")[:_HEAD]
            numbered = _is_numbered(head)
            return self._in_threads(log.path, ranges, numbered=numbered), head, numbered
        head, numbered = b"", False
        sweep = Sweep(self._known, self._known.finder, self._limits)
        try:
            for block in blocks(log.chunks()):
                if not head:
                    head = block[:_HEAD]
                    numbered = _is_numbered(head)
                    sweep = Sweep(self._known, self._known.finder, self._limits, numbered=numbered)
                sweep.feed(block)
        except UnpackError as error:
            gaps.append(Gap(log.name, str(error.args[0])))
        except OSError as error:
            gaps.append(Gap(log.name, f"cannot be read: {error.strerror or error}"))
        return sweep.result(), head, numbered

    def _in_threads(self, path: Path, ranges: list[tuple[int, int]], *, numbered: bool) -> Swept:
        from concurrent.futures import ThreadPoolExecutor

        def part(matcher: Matcher, limits: Limits, start: int, stop: int) -> Swept:
            sweep = Sweep(self._known, matcher, limits, numbered=numbered)
            for block in blocks(_range(path, start, stop)):
                sweep.feed(block)
            return sweep.result()

        matchers = [self._known.finder, *(self._known.finder.clone() for _ in ranges[1:])]
        with ThreadPoolExecutor(len(ranges)) as pool:
            limits = self._limits.parts(len(ranges))
            parts = [
                pool.submit(part, matcher, limit, *where)
                for matcher, limit, where in zip(matchers, limits, ranges, strict=True)
            ]
            return joined([each.result() for each in parts])

    def _hits(self, swept: Swept, lines: list[Line], maker: Maker) -> list[Hit]:
        hits = []
        for finding in swept.findings:
            entry = self._known.entries[finding.entry]
            place = bisect_left(lines, finding.number, key=lambda line: line.number)
            kept = place < len(lines) and lines[place].number == finding.number
            line = lines[place] if kept else maker.single(finding.number, finding.line)
            taken = captures(finding.match, entry.captures)
            hits.append(Hit(entry.signature, line, taken, finding.text, swept.counts[finding.entry]))
        return hits


def _is_numbered(head: bytes) -> bool:
    """Most lines begin with a number and a colon: `srun -l`, `ctest -V`."""
    count = head.count(b"\n")
    return count >= 3 and len(_NUMBERED.findall(head)) > 0.6 * count


def _ranges(path: Path) -> list[tuple[int, int]]:
    """Byte ranges of a large file that begin and end at line ends; none for a small one."""
    size = path.stat().st_size
    threads = min(_MOST_THREADS, os.cpu_count() or 1, size // _WORTH_THREADS + 1)
    if threads < 2:
        return []
    cuts = [0]
    with path.open("rb") as stream:
        for part in range(1, threads):
            stream.seek(size * part // threads)
            stream.readline(2**20)
            cuts.append(stream.tell())
    cuts.append(size)
    return [(start, stop) for start, stop in pairwise(cuts) if stop > start]


def _range(path: Path, start: int, stop: int) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as stream:
        stream.seek(start)
        left = stop - start
        while left > 0 and (piece := stream.read(min(BLOCK, left))):
            left -= len(piece)
            yield piece.removeprefix(b"\xef\xbb\xbf") if start == 0 and left + len(piece) == stop else piece


def _span(lines: list[Line]) -> tuple[float, float] | None:
    times = [line.time for line in lines if line.time is not None]
    return (min(times), max(times)) if times else None


def _outside(
    lines: list[Line], hits: list[Hit], covered: list[tuple[float, float]]
) -> tuple[list[Line], list[Hit]]:
    """Without what was written while a step ran whose own file was read; a line without a time goes with the one before."""
    kept: list[Line] = []
    inside = False
    for line in lines:
        if line.time is not None:
            inside = any(start <= line.time <= stop for start, stop in covered)
        if not inside:
            kept.append(line)
    numbers = {line.number for line in kept}
    return kept, [hit for hit in hits if hit.line.number in numbers]
