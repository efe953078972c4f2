"""Frames of the traceback around a log line that lie in the checkout."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from audit.failure.digits import integer
from audit.failure.gates.checkout import Checkout
from audit.failure.model import Line
from audit.failure.trace.paths import in_checkout

REACH: Final = 400
"""Lines before the cause in which its traceback may begin."""

_PYTHON: Final = re.compile(
    r'File "(?P<path>[^"\n]{1,500})", line (?P<line>\d{1,7})(?:, in (?P<function>[\w.<>]{1,200}))?'
)
_PYTEST: Final = re.compile(
    r"^(?:E\s+)?(?P<path>[\w./\\-]{1,300}\.py):(?P<line>\d{1,7}): ?(?:in (?P<function>[\w.<>]{1,200})|(?P<what>[\w.]{0,100}))"
)
_NATIVE: Final = re.compile(
    r"(?:^|\s|\()(?P<path>[\w./+-]{1,300}\.(?:c|cc|cpp|cu|cuh|h|hpp|rs|go|ts|js)):(?P<line>\d{1,7})\b"
)
_HEADER: Final = re.compile(r"Traceback \(most recent call last\)|^_{3,} .* _{3,}$|^={3,} ")


class Place(msgspec.Struct, frozen=True):
    """A frame in the checkout, in the order printed (the innermost last)."""

    path: str
    line: int
    function: str


def frames_around(lines: Sequence[Line], source: str, number: int, checkout: Checkout) -> list[Place]:
    """The checkout's frames of the traceback or test report that a line of a log belongs to; those of the line itself first of all."""
    own = [line for line in lines if line.source == source]
    at = next((i for i, line in enumerate(own) if line.number >= number), len(own))
    block = _block(own, at)
    found = [place for line in block for place in _of(line.text, checkout)]
    return list({(p.path, p.line): p for p in found}.values())


def _block(own: Sequence[Line], at: int) -> Sequence[Line]:
    """The lines from the head of the traceback or section before a line to its end, or to the footer behind it."""
    if at >= len(own):
        return ()
    number = own[at].number
    first = at
    while first > 0 and number - own[first - 1].number < REACH:
        first -= 1
        if _HEADER.search(own[first].text[:300]):
            break
    else:
        first = at
    last = at + 1
    while last < len(own) and own[last].number - number <= 40 and not _HEADER.search(own[last].text[:300]):
        last += 1
    return own[first:last]


def _of(text: str, checkout: Checkout) -> Iterator[Place]:
    for pattern in (_PYTHON, _PYTEST, _NATIVE):
        for match in pattern.finditer(text[:2_000]):
            path = in_checkout(match["path"], checkout)
            if path is not None:
                yield Place(path, integer(match["line"]), match.groupdict().get("function") or "")
                break
