"""TOML values together with the lines on which they stand: tomllib reads values, but forgets lines."""

import re
import tomllib
from typing import Any

MAX_CHARS = 2_000_000
_MAX_BRACKETS = 200
"""Deepest nesting that tomllib is given: it recurses."""

_HEADER = re.compile(r"^[ \t]*(\[\[?)([^\]\n]+)\]", re.MULTILINE)
_QUOTES = str.maketrans("", "", "\"' \t")


class TomlText:
    """A TOML text: `data`, and where things stand in it. `error` says why it could not be read ("" where it
    could)."""

    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self.error = ""
        self.data: dict[str, Any] = {}
        if len(text) > MAX_CHARS:
            self.error = f"longer than {MAX_CHARS:,} characters"
        elif _nested(text):
            self.error = f"nested deeper than {_MAX_BRACKETS} levels"
        else:
            try:
                self.data = tomllib.loads(text)
            except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
                self.error = f"not TOML: {str(error)[:200]}"
        self.lines = text[:MAX_CHARS].split("\n")
        self._tables = self._find_tables()

    def _find_tables(self) -> list[tuple[str, int, int]]:
        """(dotted name, first line, last line) of every table, lines from 1; the root is ""."""
        starts: list[tuple[str, int]] = [("", 0)]
        for number, line in enumerate(self.lines, 1):
            if line.lstrip().startswith("[") and (found := _HEADER.match(line)):
                starts.append((found[2].translate(_QUOTES), number))
        ends = [start - 1 for _, start in starts[1:]] + [len(self.lines)]
        return [(name, first, last) for (name, first), last in zip(starts, ends, strict=True)]

    def line(self, table: str, key: str = "", value: str = "", after: int = 0) -> int:
        """The line of `key` in `table`, or of the text `value` behind it; the table's line, or 1, where not
        found.

        The table may be written as a header, as a dotted key of a table above it, or as an inline table.
        """
        parts = table.split(".")
        for depth in range(len(parts), -1, -1):
            dotted = [*parts[depth:], key] if key else parts[depth:]
            found = self._find(".".join(parts[:depth]), [part for part in dotted if part], value, after)
            if found:
                return found
        return 1

    def _find(self, table: str, dotted: list[str], value: str, after: int) -> int:
        best = 0
        for name, first, last in self._tables:
            if name != table:
                continue
            start = first
            if dotted:
                start = self._key_line(".".join(dotted), first + 1, last)
                if not start:  # a key of an inline table, or behind a dotted one
                    start = next(
                        (n for n in (self._key_line(k, first + 1, last) for k in dotted[:1]) if n), 0
                    )
            if not start:
                continue
            best = best or start
            if not value:
                return start
            for number in range(max(start, after, 1), last + 1):
                if value in self.lines[number - 1]:
                    return number
        return best

    def _key_line(self, key: str, first: int, last: int) -> int:
        for number in range(first, last + 1):
            line = self.lines[number - 1].lstrip()
            if line.startswith((key, f'"{key}"', f"'{key}'")):
                rest = line.lstrip("\"'")[len(key) :].lstrip("\"' \t")
                if rest.startswith(("=", ".")):
                    return number
        return 0


def _nested(text: str) -> bool:
    """Whether some line of brackets could drive a recursive reader too deep: a bound, not a parse."""
    depth = deepest = 0
    for found in re.finditer(r"[\[\]{}\n]", text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth = max(0, depth - 1)
    return deepest > _MAX_BRACKETS


def table(data: Any, *path: str) -> dict[str, Any]:
    """The table under `path`, empty where there is none or it is none."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def strings(data: Any) -> list[str]:
    """The strings of a list; a single string is a list of itself."""
    if isinstance(data, str):
        return [data]
    return [item for item in data if isinstance(item, str)] if isinstance(data, list) else []
