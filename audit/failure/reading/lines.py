"""Makes kept text into lines: cleaned, with the stream they belong to and the kinds they are."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from audit.failure.model import Kind, Line, Stream
from audit.failure.reading.clean import Clean, clean, without_escapes, year_of
from audit.failure.reading.context import Context
from audit.failure.scan.knowledge import Knowledge
from audit.failure.scan.marks import MARKS
from audit.failure.scan.sweep import Span

_LONGEST_RAW = 16 * 1024
_BLOCK = 64 * 1024
_NO_KINDS: frozenset[Kind] = frozenset()


class Maker:
    """Makes the lines of one log. `stream`: what is known of the whole log."""

    def __init__(
        self, source: str, stream: Stream, knowledge: Knowledge, *, numbered: bool, head: bytes
    ) -> None:
        self._source = source
        self._stream = stream
        self._knowledge = knowledge
        self._numbered = numbered
        self._year = year_of(head.decode("utf-8", "replace"))
        self._regexes = [re.compile(mark.pattern, re.MULTILINE) for mark in MARKS]
        self._streams: dict[tuple[object, ...], Stream] = {}
        self._sets: dict[frozenset[Kind], frozenset[Kind]] = {}
        self.cut = 0

    def lines(self, spans: Iterable[Span]) -> list[Line]:
        """The lines of all spans in order, each once; of a line that was kept in pieces the pieces together."""
        context = Context()
        lines: list[Line] = []
        done = 0
        for number, raw, candidates in self._raw(spans):
            if number < done:
                continue
            if number == done and lines:
                if lines[-1].raw != raw:
                    joined = self._line(number, f"{lines[-1].raw}\r{raw}", candidates, context)
                    lines[-1] = joined
                continue
            if number > done + 1:
                context.interrupted()
            done = number
            lines.append(self._line(number, raw, candidates, context))
        job = self._stream.job or context.job
        return [self._placed(line, job) for line in lines] if job else lines

    def single(self, number: int, data: bytes) -> Line:
        """A line that was not kept, from what is left of it."""
        return self._line(number, data.decode("utf-8", "replace"), (), Context())

    def _raw(self, spans: Iterable[Span]) -> Iterator[tuple[int, str, Iterable[int]]]:
        for span in spans:
            number = span.number
            for block in _in_blocks(span.data):
                kinds = self._candidates(block)
                for place, data in enumerate(block.removesuffix(b"\n").split(b"\n")):
                    yield number + place, self._decoded(data), kinds.get(place, ())
                number += block.count(b"\n")

    def _decoded(self, data: bytes) -> str:
        data = data.removesuffix(b"\r")
        if len(data) > _LONGEST_RAW:
            self.cut += 1
            half = _LONGEST_RAW // 2
            # Of a progress bar the last piece counts; of a long message its beginning, where its kind is told.
            mark = " …\r… " if b"\r" in data else " … "
            data = data[:half] + mark.encode() + data[-half:]
        return data.decode("utf-8", "replace")

    def _candidates(self, block: bytes) -> dict[int, set[int]]:
        """Line within the block -> marks that may be on it."""
        plain = without_escapes(block)
        matches = self._knowledge.marker.scan(plain)
        if matches is None:
            matches = self._knowledge.marker.first(plain)
        starts = [0, *(found.end() for found in re.finditer(rb"\n", plain))]
        candidates: dict[int, set[int]] = {}
        for index, end in matches:
            candidates.setdefault(bisect_right(starts, end - 1) - 1, set()).add(index)
        return candidates

    def _line(self, number: int, raw: str, candidates: Iterable[int], context: Context) -> Line:
        found = clean(raw, numbered=self._numbered, year=self._year)
        kinds = {MARKS[index].kind for index in candidates if self._regexes[index].search(found.text)}
        # GitLab's section marks stand before a carriage return, which hides them.
        if "section_" in raw and re.search(r"section_(start|end):\d+:", raw):
            kinds.add(Kind.STEP)
        if found.kernel:
            kinds.add(Kind.KERNEL)
        context.follow(raw, found, kinds)
        return Line(
            self._source,
            number,
            raw,
            found.text,
            found.time,
            self._stream_of(found, context),
            self._interned(kinds),
        )

    def _stream_of(self, found: Clean, context: Context) -> Stream:
        own = self._stream
        key = (
            found.job or own.job,
            found.step or own.step or context.step,
            found.rank if found.rank is not None else own.rank,
            found.worker or own.worker,
            own.attempt,
        )
        if key not in self._streams:
            self._streams[key] = Stream(*key)
        return self._streams[key]

    def _placed(self, line: Line, job: str) -> Line:
        if line.stream.job:
            return line
        key = (job, *(getattr(line.stream, name) for name in ("step", "rank", "worker", "attempt")))
        if key not in self._streams:
            self._streams[key] = Stream(*key)
        return Line(line.source, line.number, line.raw, line.text, line.time, self._streams[key], line.kinds)

    def _interned(self, kinds: set[Kind]) -> frozenset[Kind]:
        if not kinds:
            return _NO_KINDS
        frozen = frozenset(kinds)
        return self._sets.setdefault(frozen, frozen)


def _in_blocks(data: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(data):
        stop = data.rfind(b"\n", start, start + _BLOCK) + 1
        if stop <= start:
            stop = data.find(b"\n", start) + 1 or len(data)
        yield data[start:stop]
        start = stop
