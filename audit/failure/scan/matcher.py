"""Finds which of many patterns occur in a block of bytes, and where each occurrence ends.

Hyperscan where it is installed; else a slower matcher of the same answers, made of literals and Python's own `re`.
"""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from audit.failure.scan.trigger import UnsupportedPatternError, literals, trigger

Match = tuple[int, int]
"""Index of the pattern, offset behind its last byte."""

# Blocks in which everything matches everywhere are given up: the caller asks again for one match a pattern.
MOST_MATCHES = 20_000


class Matcher(Protocol):
    """One way of matching."""

    def scan(self, block: bytes) -> list[Match] | None:
        """All matches in a block of whole lines, several a pattern; None where there are more than MOST_MATCHES."""

    def first(self, block: bytes) -> list[Match]:
        """The first match of each pattern in the block."""

    def clone(self) -> "Matcher":
        """Another of the same patterns, for another thread."""


def hyperscan_version() -> str:
    """Version of the installed Hyperscan binding, empty without one."""
    try:
        import hyperscan
    except ImportError:
        return ""
    return str(getattr(hyperscan, "__version__", "unknown"))


def compiled(patterns: Sequence[str]) -> bytes:
    """The patterns' database, serialised. Takes half a second for 400 patterns."""
    import hyperscan

    return bytes(hyperscan.dumpb(_database(patterns, hyperscan.HS_FLAG_MULTILINE)))


def _database(patterns: Sequence[str], flags: int) -> Any:
    import hyperscan

    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[trigger(pattern) for pattern in patterns],
        ids=list(range(len(patterns))),
        elements=len(patterns),
        flags=[flags] * len(patterns),
    )
    return database


class HyperscanMatcher:
    """Reads a database that `compiled` made of the patterns. Raises hyperscan.error where it is for another machine or damaged."""

    def __init__(self, patterns: Sequence[str], serialised: bytes) -> None:
        import hyperscan

        self._patterns = patterns
        self._stopped = hyperscan.ScanTerminated
        self._all = hyperscan.loadb(serialised, hyperscan.HS_MODE_BLOCK)
        self._first: Any = None
        self._scratches: list[Any] = [hyperscan.Scratch(self._all), None]

    def scan(self, block: bytes) -> list[Match] | None:
        found: list[Match] = []
        append = found.append

        def report(index: int, _start: int, end: int, _flags: int, _context: Any) -> bool | None:
            append((index, end))
            return True if len(found) > MOST_MATCHES else None

        try:
            self._all.scan(block, match_event_handler=report, scratch=self._scratches[0])
        except self._stopped:
            return None
        return found

    def first(self, block: bytes) -> list[Match]:
        import hyperscan

        if self._first is None:  # seldom needed, so made when it is
            self._first = _database(
                self._patterns, hyperscan.HS_FLAG_MULTILINE | hyperscan.HS_FLAG_SINGLEMATCH
            )
            self._scratches[1] = hyperscan.Scratch(self._first)
        found: list[Match] = []

        def report(index: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            found.append((index, end))

        self._first.scan(block, match_event_handler=report, scratch=self._scratches[1])
        return found

    def clone(self) -> "HyperscanMatcher":
        import hyperscan

        other = HyperscanMatcher.__new__(HyperscanMatcher)
        other._patterns, other._stopped = self._patterns, self._stopped
        other._all, other._first = self._all, self._first
        other._scratches = [
            hyperscan.Scratch(self._all),
            hyperscan.Scratch(self._first) if self._first else None,
        ]
        return other


class LiteralMatcher:
    """Looks for the texts that patterns need, and tries the patterns on the lines where one stands."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._owners: dict[bytes, list[int]] = {}
        self._always: list[int] = []
        self._patterns = [re.compile(trigger(pattern), re.MULTILINE) for pattern in patterns]
        for index, pattern in enumerate(patterns):
            try:
                texts = literals(pattern)
            except UnsupportedPatternError:
                self._always.append(index)
                continue
            for text in texts:
                self._owners.setdefault(text, []).append(index)

    def scan(self, block: bytes) -> list[Match] | None:
        found = self._found(block, once=False)
        return None if len(found) > MOST_MATCHES else found

    def first(self, block: bytes) -> list[Match]:
        return self._found(block, once=True)

    def clone(self) -> "LiteralMatcher":
        return self

    def _found(self, block: bytes, *, once: bool) -> list[Match]:
        found: list[Match] = []
        for index, lines in self._candidates(block).items():
            for start, stop in sorted(lines):
                if match := self._patterns[index].search(block[start:stop]):
                    found.append((index, start + match.end()))
                    if once or len(found) > MOST_MATCHES:
                        break
        return found

    def _candidates(self, block: bytes) -> dict[int, set[tuple[int, int]]]:
        """Pattern -> the lines (begin, end) in which a text that it needs stands."""
        candidates: dict[int, set[tuple[int, int]]] = {}
        for text, owners in self._owners.items():
            place = block.find(text)
            while place >= 0:
                start, stop = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place)
                stop = len(block) if stop < 0 else stop
                for index in owners:
                    candidates.setdefault(index, set()).add((start, stop))
                place = block.find(text, stop)
        if self._always:
            ends = [found.end() for found in re.finditer(rb"\n|\Z", block)]
            every = set(zip([0, *ends[:-1]], ends, strict=True))
            candidates |= dict.fromkeys(self._always, every)
        return candidates
