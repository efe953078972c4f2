"""Turns a signature's pattern, written for Python's `re`, into what a fast scanner looks for in raw bytes.

The scanner sees a log as it lies on the disk: time stamps, rank prefixes, carriage returns. A trigger therefore finds every
line that the pattern would match once the line is cleaned, and some more; the pattern itself then decides on the cleaned line.
"""

import re
from collections.abc import Sequence
from typing import Any

# The parser of `re` itself, so that both sides read a pattern alike.
from re import _constants as codes  # type: ignore[attr-defined]  # isort: skip
from re import _parser  # type: ignore[attr-defined]  # isort: skip

# What stands before the text proper once prefixes are taken off: nothing, or the last character of a prefix.
_BEGIN = rb"(?:^|[\s\]:>)|])"
# Hyperscan expands bounded repeats into states; a long one costs more than it selects.
_LONGEST_REPEAT = 8
_RARE = 4
"""Characters of a text that is not on every other line: at 4 the scan is twice as fast as with whole patterns and meets a fifth more lines (measured on
39,000 lines of failures); at 10 the gain is gone."""
_CATEGORIES = {
    codes.CATEGORY_DIGIT: rb"\d",
    codes.CATEGORY_NOT_DIGIT: rb"\D",
    codes.CATEGORY_SPACE: rb"\s",
    codes.CATEGORY_NOT_SPACE: rb"\S",
    codes.CATEGORY_WORD: rb"\w\x80-\xff",
    codes.CATEGORY_NOT_WORD: rb"\W",
}
_SPECIAL = frozenset(rb"\^$.|?*+()[]{}-&~#/")
Node = tuple[Any, Any]


class UnsupportedPatternError(ValueError):
    """The pattern uses what a linear-time scanner cannot do, or would match everywhere. `args[0]` says what."""


def trigger(pattern: str) -> bytes:
    """The bytes expression (Hyperscan's and RE2's common syntax, multi-line) that meets every line that `pattern` may match.

    Raises UnsupportedPatternError.
    """
    expression = _sequence(_telling(_trimmed(_parsed(pattern))))
    if not expression:
        raise UnsupportedPatternError("it matches the empty line")
    return expression


def literals(pattern: str) -> tuple[bytes, ...]:
    """Texts one of which stands in every line that `pattern` matches, each at least two bytes.

    Raises UnsupportedPatternError where the pattern needs no such text: it would have to be tried on every line.
    """
    found = _required(_parsed(pattern))
    if not found or min(map(len, found)) < 2:
        raise UnsupportedPatternError("it needs no text of at least two characters")
    return tuple(sorted(found))


def _parsed(pattern: str) -> list[Node]:
    try:
        return list(_parser.parse(pattern, re.MULTILINE))
    except re.error as error:
        raise UnsupportedPatternError(str(error)) from None


def _trimmed(nodes: Sequence[Node]) -> list[Node]:
    """Without what may follow at the end: every further character that a trailing repeat takes would be one more report."""
    kept = list(nodes)
    while kept:
        code, value = kept[-1]
        repeat = code in (codes.MAX_REPEAT, codes.MIN_REPEAT)
        at_end = code is codes.AT and value in (codes.AT_END, codes.AT_END_STRING, codes.AT_BOUNDARY)
        if at_end or (repeat and value[0] == 0):
            kept.pop()
        elif repeat and value[1] != value[0]:
            kept[-1] = (code, (value[0], value[0], value[2]))
            break
        elif code is codes.SUBPATTERN:
            inner = _trimmed(value[3])
            kept.pop()
            if inner:
                kept.append((code, (*value[:3], inner)))
                break
        elif code is codes.BRANCH:
            branches = [_trimmed(branch) for branch in value[1]]
            kept.pop()
            if all(branches):
                kept.append((code, (value[0], branches)))
                break
        else:
            break
    return kept


def _telling(nodes: list[Node]) -> list[Node]:
    """The part of a pattern whose texts say most, where `.*` and its like divide it: a gap keeps a scanner's automaton awake to the end of each line that
    began well, which halves its speed, and the cleaned line is matched whole anyway. All of it where no part needs a text long enough to be rare.
    """
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if _is_gap(node):
            parts.append([])
        else:
            parts[-1].append(node)
    best = max(reversed(parts), key=_shortest)
    return _trimmed(best) if len(parts) > 1 and _shortest(best) >= _RARE else nodes


def _is_gap(node: Node) -> bool:
    code, value = node
    if code not in (codes.MAX_REPEAT, codes.MIN_REPEAT) or len(value[2]) != 1:
        return False
    endless = value[1] is codes.MAXREPEAT or value[1] > _LONGEST_REPEAT
    return bool(endless and _wide(*value[2][0]))


def _shortest(nodes: Sequence[Node]) -> int:
    """Characters of the shortest of the texts of which one has to be there."""
    return min(map(len, _required(nodes)), default=0)


def _sequence(nodes: Sequence[Node]) -> bytes:
    return b"".join(_one(code, value) for code, value in nodes)


def _one(code: Any, value: Any) -> bytes:
    if code is codes.LITERAL:
        return _literal(value)
    if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
        return _character(code, value) + (b"{1,4}" if _wide(code, value) else b"")
    if code is codes.BRANCH:
        return b"(?:" + b"|".join(_sequence(branch) for branch in value[1]) + b")"
    if code is codes.SUBPATTERN:
        if value[1] or value[2]:
            raise UnsupportedPatternError("flags inside a pattern")
        return b"(?:" + _sequence(value[3]) + b")"
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return _repeat(*value)
    if code is codes.AT:
        return _at(value)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        raise UnsupportedPatternError("looking around; `unless` says what must not stand in the line")
    raise UnsupportedPatternError(f"{str(code).lower()} is not known to linear-time scanners")


def _literal(value: int) -> bytes:
    text = chr(value).encode()
    return b"".join(b"\\" + bytes([byte]) if byte in _SPECIAL else _printable(byte) for byte in text)


def _printable(byte: int) -> bytes:
    return bytes([byte]) if 0x20 <= byte < 0x7F else b"\\x%02x" % byte


def _character(code: Any, value: Any) -> bytes:
    """One byte of what the node stands for."""
    if code is codes.ANY:
        return b"."
    if code is codes.NOT_LITERAL:
        return rb"[^\n]" if value > 127 else b"[^" + _literal(value) + rb"\n]"
    return _class(value)


def _wide(code: Any, value: Any) -> bool:
    """One character of it may be several bytes (what `_class` spells out is not meant)."""
    if code is codes.IN:
        return value[0][0] is codes.NEGATE or any(
            item
            in (
                codes.CATEGORY_WORD,
                codes.CATEGORY_NOT_WORD,
                codes.CATEGORY_NOT_SPACE,
                codes.CATEGORY_NOT_DIGIT,
            )
            for kind, item in value
            if kind is codes.CATEGORY
        )
    return code in (codes.ANY, codes.NOT_LITERAL)


def _class(items: Sequence[Node]) -> bytes:
    """A set of characters. What is beyond ASCII is spelt out, but for ranges, which stand for any such bytes."""
    negated = items[0][0] is codes.NEGATE
    members, wide = b"", []
    for code, value in items[negated:]:
        if code is codes.LITERAL:
            if value < 128:
                members += _literal(value)
            else:
                wide.append(_literal(value))
        elif code is codes.RANGE:
            if value[1] > 127:
                wide.append(rb"[\x80-\xff]{1,4}")
            if value[0] < 128:
                members += _literal(value[0]) + b"-" + _literal(min(value[1], 127))
        else:
            members += _CATEGORIES[value]
    if negated:
        return rb"[^\n]" if wide else b"[^" + members + rb"\n]"
    if not wide:
        return b"[" + members + b"]"
    return b"(?:" + b"|".join([*([b"[" + members + b"]"] if members else []), *wide]) + b")"


def _repeat(least: int, most: Any, nodes: Sequence[Node]) -> bytes:
    single = len(nodes) == 1 and nodes[0][0] in (codes.ANY, codes.IN, codes.NOT_LITERAL)
    inner = _character(*nodes[0]) if single else b"(?:" + _sequence(nodes) + b")"
    # Characters beyond ASCII are several bytes: an upper bound in characters is none in bytes.
    endless = most is codes.MAXREPEAT or most > _LONGEST_REPEAT or (single and most > 1 and _wide(*nodes[0]))
    if (least, most) == (1, 1):
        return _sequence(nodes)
    if (least, most) == (0, 1):
        return b"(?:" + _sequence(nodes) + b")?"
    if endless:
        return inner + {0: b"*", 1: b"+"}.get(least, b"{%d,}" % min(least, _LONGEST_REPEAT))
    return inner + (b"{%d}" % least if least == most else b"{%d,%d}" % (least, most))


def _at(value: Any) -> bytes:
    if value in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
        return _BEGIN
    if value in (codes.AT_BOUNDARY, codes.AT_UNI_BOUNDARY):
        # A word may end at a letter beyond ASCII here and not there: the cleaned line decides.
        return rb"\b"
    # The end of a line: colours, blanks and a carriage return may stand before it.
    return b""


def _required(nodes: Sequence[Node]) -> frozenset[bytes]:
    """The best set of texts, one of which has to be there: the one whose shortest text is longest."""
    best: frozenset[bytes] = frozenset()
    run = b""
    for code, value in [*nodes, (codes.AT, codes.AT_END)]:
        if code is codes.LITERAL:
            run += chr(value).encode()
            continue
        candidates = [frozenset({run})] if run else []
        run = b""
        if code is codes.SUBPATTERN:
            candidates.append(_required(value[3]))
        elif code is codes.BRANCH:
            parts = [_required(branch) for branch in value[1]]
            candidates.append(frozenset().union(*parts) if all(parts) else frozenset())
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and value[0] > 0:
            inner = _required(value[2])
            single = len(value[2]) == 1 and value[2][0][0] is codes.LITERAL
            candidates.append(frozenset(text * value[0] for text in inner) if single else inner)
        best = max([best, *candidates], key=lambda texts: min(map(len, texts), default=0))
    return best
