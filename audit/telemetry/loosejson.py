"""JSON as runs write it: `NaN` and `Infinity` allowed, and a document cut off in the middle read up to the cut."""

import json
import re

MAX_DOCUMENT = 32 * 2**20
"""Bytes of a document that is read as one: parsed it takes some ten times as much."""

_MAX_DEPTH = 200
_MARK = re.compile(r'["{}\[\],]')
_CLOSING = {"{": "}", "[": "]"}


def parsed(text: str) -> tuple[object, str]:
    """The document and, where it is cut or damaged, a note that says so. Raises ValueError where nothing can be read."""
    text = text.removeprefix("\ufeff")
    try:
        return json.loads(text), ""
    except json.JSONDecodeError as error:
        reason, line, position = error.msg, error.lineno, error.pos
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(str(error)) from None
    mended = _mended(text[:position])
    try:
        if mended is not None:
            return json.loads(mended), f"line {line}: {reason}: read up to the last whole value"
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"line {line}: {reason}")


def _mended(text: str) -> str | None:
    """The beginning of a document up to the last value known to be whole, with what was open closed; None where there is
    no such value.
    """
    open_at: list[str] = []
    end, closers = -1, ""
    at = 0
    while found := _MARK.search(text, at):
        at = found.end()
        mark = found.group()
        if mark == '"':
            at = _string_end(text, at)
            if at < 0:
                break
            continue
        if mark in _CLOSING:
            open_at.append(mark)
            if len(open_at) > _MAX_DEPTH:
                break
            continue
        if mark in "}]":
            if not open_at or _CLOSING[open_at.pop()] != mark:
                break
            end = at
        elif mark == ",":  # what stands before it is whole
            end = found.start()
        closers = "".join(_CLOSING[bracket] for bracket in reversed(open_at))
    return text[:end] + closers if end > 0 else None


_STRING = re.compile(r'[\\"]')


def _string_end(text: str, at: int) -> int:
    while found := _STRING.search(text, at):
        if found.group() == '"':
            return found.end()
        at = found.end() + 1
    return -1
