"""A Markdown text as sentences and table rows with their lines, without what is no statement: code, quotes, comments, open checkboxes."""

import re
from collections.abc import Iterator
from typing import Final

from audit.failure.claims.model import Sentence

MAX_TEXT: Final = 400_000
"""Characters of a text that are read."""
MAX_LINE: Final = 4_000
MAX_SENTENCES: Final = 2_000

_FENCE: Final = re.compile(r"^\s{0,3}(```+|~~~+)")
_BOX: Final = re.compile(r"^\s*[-*+]\s+\[(?P<mark>[ xX])\]\s+")
_BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s+")
_RULE: Final = re.compile(r"(?=[^|]*\|)[\s:|-]{2,}+$")
_END: Final = re.compile(r"(?<=[.!?;])\s+(?=[A-Z0-9`*\"(])")
_MARKUP: Final = re.compile(r"(\*\*|__|`)")
_LINK: Final = re.compile(r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,600}\)")


def sentences(text: str) -> list[Sentence]:
    """The statements of a text in order. Never raises; linear in the text."""
    return [s for _, s in zip(range(MAX_SENTENCES), _read(text[:MAX_TEXT]), strict=False)]


def _read(text: str) -> Iterator[Sentence]:
    fence = ""
    comment = False
    header: tuple[str, ...] = ()
    lines = text.removeprefix("\ufeff").split("\n")
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r")[:MAX_LINE]
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence[:3]) else fence
            continue
        if mark:
            fence = mark[1]
            continue
        line, comment = _uncommented(line, comment)
        if line.lstrip().startswith(">") or not line.strip():
            header = () if not line.strip() else header
            continue
        if "|" in line and line.count("|") >= 2:
            if _RULE.match(line):
                continue
            cells = _cells(line)
            follows = lines[number] if number < len(lines) else ""
            if _RULE.match(follows[:MAX_LINE]):
                header = cells
            elif header:
                yield Sentence(plain(line.strip().strip("|")), number, cells, header)
            continue
        header = ()
        yield from _sentences(line, number)


def _uncommented(line: str, inside: bool) -> tuple[str, bool]:
    """A line without its HTML comments, and whether one goes on."""
    kept = ""
    while line:
        if inside:
            _, end, line = line.partition("-->")
            if not end:
                return kept, True
            inside = False
        before, start, line = line.partition("<!--")
        kept += before
        inside = bool(start)
    return kept, inside


def _cells(line: str) -> tuple[str, ...]:
    return tuple(plain(cell) for cell in line.strip().strip("|").split("|"))


def _sentences(line: str, number: int) -> Iterator[Sentence]:
    box = _BOX.match(line)
    if box and box["mark"] == " ":
        return
    heading = bool(_HEADING.match(line))
    body = _HEADING.sub("", _BULLET.sub("", _BOX.sub("", line)))
    for part in _END.split(plain(body)):
        if part.strip():
            yield Sentence(part.strip(), number, heading=heading)


def plain(text: str) -> str:
    """Text without Markdown's marks."""
    return _MARKUP.sub("", _LINK.sub(r"\1", text)).strip()
