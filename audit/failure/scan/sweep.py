"""One pass over one log: counts its lines, finds what stands in it, and keeps a bounded part of its text.

Kept are the beginning, the end, and the surroundings of every signature and structural mark between, as many as fit: the first and the last.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from audit.failure.model import Kind
from audit.failure.reading.clean import matchable, without_escapes
from audit.failure.scan.knowledge import Knowledge
from audit.failure.scan.marks import Mark
from audit.failure.scan.matcher import Match, Matcher

# Small blocks stay in the processor's cache: throughput halves at 4 MiB.
BLOCK = 128 * 1024
# A "line" beyond this (a progress bar of hours, one JSON document) is scanned in pieces and kept in part.
_LONGEST_LINE = 2**20
_KEPT_OF_PIECE = 8 * 1024
# Patterns are tried on no more than this around the place where the scanner saw one.
_BEFORE_MATCH, _AFTER_MATCH = 3000, 1000
# The scanner sees more than patterns confirm, and a pattern may take time that grows with the square of the text: once so many characters
# were tried in vain, no more than this much is.
_TRIED_IN_VAIN = 128 * 1024
_NARROW_BEFORE, _NARROW_AFTER = 300, 100
# Lines around a finding; a traceback's text follows its first line.
_BEFORE, _AFTER, _AFTER_TRACEBACK = 20, 40, 150
# A block with more matches than this is dense: the next ones are asked for one match a pattern, except every so many.
_DENSE, _DENSE_BLOCKS = 2000, 16


class Limits(msgspec.Struct, frozen=True):
    """Bytes of text that a pass keeps of one log: all of it up to `whole`; of a longer one its beginning, its end, and what matters
    between; `hits` of one signature, at the beginning and at the end. What is kept becomes lines, at some 10 µs each.
    """

    whole: int = 3 * 2**20
    head: int = 2**19
    tail: int = 2**20
    between: int = 2**20
    hits: int = 100

    def shared(self, count: int) -> "Limits":
        """The same memory for `count` logs; each is left enough to be of use."""
        if count <= 1:
            return self
        whole, head, tail, between = (
            max(size // count, 4096) for size in (self.whole, self.head, self.tail, self.between)
        )
        return Limits(whole, head, tail, between, max(self.hits // count, 5))

    def parts(self, count: int) -> list["Limits"]:
        """For successive parts of one large log: the first has its beginning, the last its end."""
        between, hits = self.between // count, self.hits
        return [
            Limits(0, self.head if part == 0 else 0, self.tail if part == count - 1 else 0, between, hits)
            for part in range(count)
        ]


class Span(NamedTuple):
    """Whole lines as they stand in the log; `number` is that of the first."""

    number: int
    data: bytes


class Finding(NamedTuple):
    """A confirmed signature: index of its entry, line (its bytes cut around the match, without escapes), the text it was tried on and the match in it."""

    entry: int
    number: int
    line: bytes
    text: str
    match: re.Match[str]


class Swept(msgspec.Struct):
    """What a pass leaves. `counts`: entry -> lines it was met on (where `dense`, at least); `lost`: windows that did not fit."""

    lines: int
    size: int
    ends_in_line: bool
    spans: list[Span]
    findings: list[Finding]
    counts: dict[int, int]
    lost: int
    dense: bool
    pieces: int


def blocks(chunks: Iterable[bytes], least: int = BLOCK // 2) -> Iterator[bytes]:
    """Blocks of whole lines, of `least` bytes or more (the last may be shorter); a line of more than a mebibyte comes in
    pieces, all but the last without a line end.
    """
    waiting: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            waiting.append(chunk)
            size += len(chunk)
            if size < least:
                continue
            whole = b"".join(waiting) if len(waiting) > 1 else chunk
            cut = whole.rfind(b"\n") + 1 or (size if size > _LONGEST_LINE else 0)
            if cut:
                yield whole[:cut]
            waiting = [whole[cut:]]
            size -= cut
    except Exception:
        if rest := b"".join(waiting):  # what came before the damage counts
            yield rest
        raise
    if rest := b"".join(waiting):
        yield rest


class Sweep:
    """Feed it blocks in order, then ask for the result."""

    def __init__(
        self, knowledge: Knowledge, matcher: Matcher, limits: Limits, *, numbered: bool = False
    ) -> None:
        self._knowledge = knowledge
        self._matcher = matcher
        self._numbered = numbered
        self._keeper = _Keeper(limits)
        self._hits = limits.hits
        self._lines = 0
        self._size = 0
        self._open = False
        self._pieces = 0
        self._first: dict[int, list[Finding]] = {}
        self._last: dict[int, deque[tuple[int, bytes, int]]] = {}
        self._counts: dict[int, int] = {}
        self._dense_left = 0
        self._dense = False
        self._in_vain = 0

    def feed(self, block: bytes) -> None:
        plain = without_escapes(block)
        matches = self._matches(plain)
        wanted = self._taken(plain, matches) if matches else []
        if plain is not block and wanted:
            wanted = _moved(wanted, block)
        count = block.count(b"\n")
        self._keeper.keep(self._lines, block, count, wanted, continued=self._open)
        self._size += len(block)
        self._lines += count
        self._open = not block.endswith(b"\n")
        self._pieces += self._open

    def result(self) -> Swept:
        findings = [finding for found in self._first.values() for finding in found]
        for entry, waiting in self._last.items():
            for number, line, end in waiting:
                if found := self._confirmed(entry, number, line, end):
                    findings.append(found)
        findings.sort(key=lambda finding: (finding.number, finding.entry))
        return Swept(
            self._lines + self._open,
            self._size,
            self._open,
            self._keeper.spans(),
            findings,
            self._counts,
            self._keeper.lost,
            self._dense,
            self._pieces - self._open,
        )

    def _matches(self, plain: bytes) -> list[Match]:
        if self._dense_left:
            self._dense_left -= 1
            return self._matcher.first(plain)
        matches = self._matcher.scan(plain)
        if matches is None:
            matches = self._matcher.first(plain)
            self._dense, self._dense_left = True, _DENSE_BLOCKS
        elif len(matches) > _DENSE and len(plain) >= BLOCK // 2:
            self._dense, self._dense_left = True, _DENSE_BLOCKS
        return matches

    def _taken(self, plain: bytes, matches: list[Match]) -> list["_Wanted"]:
        """Notes the signatures; the lines whose surroundings matter."""
        owners = self._knowledge.owners
        wanted: list[_Wanted] = []
        line, start, stop = 0, 0, 0
        seen: set[int] = set()
        for index, end in sorted(matches, key=_end):
            if end > stop:  # on another line than the match before
                line += plain.count(b"\n", start, end - 1)
                start = plain.rfind(b"\n", 0, end - 1) + 1
                stop = plain.find(b"\n", end - 1) + 1 or len(plain)
                seen.clear()
            owner = owners[index]
            if isinstance(owner, Mark):
                after = _AFTER_TRACEBACK if owner.kind is Kind.TRACEBACK else _AFTER
            elif owner in seen or not self._noted(
                owner, self._lines + 1 + line, plain[start:stop], end - start
            ):
                continue
            else:
                seen.add(owner)
                after = _AFTER
            if not wanted or wanted[-1].line != line or wanted[-1].after < after:
                wanted.append(_Wanted(line, start, after))
        return wanted

    def _noted(self, entry: int, number: int, line: bytes, end: int) -> bool:
        first = self._first.setdefault(entry, [])
        if len(first) >= self._hits:
            # Enough are confirmed: of the rest the last are looked at when the log has ended.
            near = (
                line[max(0, end - _BEFORE_MATCH) : end + _AFTER_MATCH] if len(line) > _KEPT_OF_PIECE else line
            )
            end = min(end, _BEFORE_MATCH) if near is not line else end
            self._last.setdefault(entry, deque(maxlen=self._hits)).append((number, near, end))
            self._counts[entry] += 1
            return False
        found = self._confirmed(entry, number, line, end)
        if found is None:
            return False
        if not first or first[-1].number != number:
            self._counts[entry] = self._counts.get(entry, 0) + 1
            first.append(found)
        return True

    def _confirmed(self, entry: int, number: int, line: bytes, end: int) -> Finding | None:
        narrow = self._in_vain > _TRIED_IN_VAIN
        near = _around(line, end, _NARROW_BEFORE, _NARROW_AFTER) if narrow else _around(line, end)
        text = matchable(near.decode("utf-8", "replace"), numbered=self._numbered)
        match = self._knowledge.confirmed(entry, text)
        if match is None:
            self._in_vain += len(text)
        return Finding(entry, number, near, text, match) if match else None


def _around(line: bytes, end: int, before: int = _BEFORE_MATCH, after: int = _AFTER_MATCH) -> bytes:
    """The line; of a long one the piece between carriage returns that the match ends in, of a long piece what is near."""
    line = line.rstrip(b"\r\n")
    if len(line) <= before + after:
        return line
    start = max(line.rfind(b"\r", 0, max(end - 1, 0)) + 1, end - before, 0)
    stop = line.find(b"\r", end)
    return line[start : min(stop if stop >= 0 else len(line), end + after)]


def _end(match: Match) -> int:
    return match[1]


class _Wanted(NamedTuple):
    """A line of a block (from 0, and the offset at which it begins) that is kept with `after` lines more, and some before."""

    line: int
    start: int
    after: int


def _moved(wanted: list[_Wanted], block: bytes) -> list[_Wanted]:
    """The same lines in the block as it stands in the log, which has terminal escapes besides."""
    starts = [0, *(found.end() for found in re.finditer(rb"\n", block))]
    return [_Wanted(each.line, starts[each.line], each.after) for each in wanted]


class _Keeper:
    """Decides what text is kept, within the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._head: list[Span] = []
        # What follows the head, as long as the log may still be small enough to be kept whole.
        self._rest: list[Span] | None = []
        self._tail: deque[Span] = deque()
        self._first: list[Span] = []
        self._last: deque[Span] = deque()
        self._sizes = {"head": 0, "rest": 0, "tail": 0, "first": 0, "last": 0}
        self._previous = b""
        self._carry = 0
        self.lost = 0

    def keep(self, before: int, block: bytes, count: int, wanted: list[_Wanted], *, continued: bool) -> None:
        """`before`, `count`: line ends before and in the block; `continued`: it begins within a line."""
        if len(block) > _LONGEST_LINE and b"\n" not in block:
            block = b"" if continued else block[:_KEPT_OF_PIECE]
            if not block:
                return
        room = self._limits.head - self._sizes["head"]
        cut = len(block) if room >= len(block) else block.find(b"\n", room) + 1 if room > 0 else 0
        if cut:
            self._head.append(Span(before + 1, block[:cut]))
            self._sizes["head"] += len(block)
        if cut == len(block):
            # Lines of the next block that belong to a finding of this one.
            self._carry = max((each.line + each.after + 1 for each in wanted), default=0) - count
        else:
            self._windows(before, block, wanted)
            self._to_tail(Span(before + 1 + block.count(b"\n", 0, cut), block[cut:]))
        self._previous = block

    def _follows(self, span: Span) -> None:
        if self._rest is not None:
            self._rest.append(span)
            self._sizes["rest"] += len(span.data)
            if self._sizes["head"] + self._sizes["rest"] > self._limits.whole:
                self._rest = None

    def _to_tail(self, span: Span) -> None:
        self._follows(span)
        self._tail.append(span)
        self._sizes["tail"] += len(span.data)
        while len(self._tail) > 1 and self._sizes["tail"] - len(self._tail[0].data) >= self._limits.tail:
            self._sizes["tail"] -= len(self._tail.popleft().data)

    def _windows(self, before: int, block: bytes, wanted: list[_Wanted]) -> None:
        # Lines that belong together: the first with its offset, the last with its offset, the last line needed.
        clusters: list[list[int]] = [[0, 0, 0, 0, self._carry - 1]] if self._carry > 0 else []
        for line, start, after in wanted:
            if clusters and line - _BEFORE <= clusters[-1][4] + 1:
                clusters[-1][2:] = [line, start, max(clusters[-1][4], line + after)]
            else:
                clusters.append([line, start, line, start, line + after])
        carried, self._carry = self._carry > 0, 0
        for index, (first, begin, last, start, needed) in enumerate(clusters):
            place, behind = _back(block, begin, min(_BEFORE, first))
            if first < _BEFORE and not (carried and index == 0):
                self._behind(before, _BEFORE - first)
            end, self._carry = _forward(block, start, needed - last + 1)
            self._store(Span(before + 1 + first - behind, block[place:end]))

    def _behind(self, before: int, count: int) -> None:
        """The last lines of the previous block."""
        place = len(self._previous)
        found = 0
        while found < count + 1 and place > 0:
            place = self._previous.rfind(b"\n", 0, place)
            if place < 0:
                return
            found += 1
        self._store(Span(before + 2 - found, self._previous[place + 1 :]))

    def _store(self, span: Span) -> None:
        half = self._limits.between // 2
        if not span.data:
            return
        if self._sizes["first"] + len(span.data) <= half and not self._last:
            self._first.append(span)
            self._sizes["first"] += len(span.data)
            return
        self._last.append(span)
        self._sizes["last"] += len(span.data)
        while len(self._last) > 1 and self._sizes["last"] > half:
            self._sizes["last"] -= len(self._last.popleft().data)
            self.lost += 1

    def spans(self) -> list[Span]:
        """All kept text in order; spans may overlap."""
        if self._rest is not None:
            self.lost = 0
            return [*self._head, *self._rest]
        if self._tail and (spare := self._sizes["tail"] - self._limits.tail) > 0:
            number, data = self._tail[0]
            cut = data.rfind(b"\n", 0, spare) + 1
            self._tail[0] = Span(number + data.count(b"\n", 0, cut), data[cut:])
        tail = self._tail[0].number if self._tail else None
        between = [span for span in (*self._first, *self._last) if tail is None or span.number < tail]
        return sorted([*self._head, *between, *self._tail], key=lambda span: span.number)


def _back(block: bytes, start: int, count: int) -> tuple[int, int]:
    """Where the line `count` lines before the one at `start` begins, and how many there were."""
    place = start
    for stepped in range(count):
        if place == 0:
            return 0, stepped
        place = block.rfind(b"\n", 0, place - 1) + 1
    return place, count


def _forward(block: bytes, start: int, count: int) -> tuple[int, int]:
    """Where the line `count` lines after the one at `start` begins, and how many lines the block lacks."""
    place = start
    for stepped in range(count):
        place = block.find(b"\n", place) + 1
        if place == 0 or place == len(block):
            return len(block), count - stepped - 1
    return place, 0


def joined(parts: list[Swept]) -> Swept:
    """The passes over successive parts of one log as one."""
    whole = parts[0]
    for part in parts[1:]:
        shift = whole.lines
        whole.spans += [Span(span.number + shift, span.data) for span in part.spans]
        whole.findings += [finding._replace(number=finding.number + shift) for finding in part.findings]
        for entry, count in part.counts.items():
            whole.counts[entry] = whole.counts.get(entry, 0) + count
        whole.lines += part.lines
        whole.size += part.size
        whole.lost += part.lost
        whole.pieces += part.pieces
        whole.dense |= part.dense
        whole.ends_in_line = part.ends_in_line
    return whole
