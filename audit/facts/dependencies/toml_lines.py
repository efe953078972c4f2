"""TOML values together with the lines on which they stand: tomllib reads values, but forgets lines."""

import re
import tomllib
from typing import Any

MAX_CHARS = 2_000_000
_MAX_BRACKETS = 200
"""Deepest nesting that tomllib is given: it recurses."""

_MAX_SEARCH = 2_000
"""How many lines behind its key a value is looked for."""
_MAX_SEARCHES = 200_000
"""How many lines all searches of one file may look at; behind that a value's line is its key's."""

_HEADER = re.compile(r"(\[\[?)([^\]\n]+)\]")
_KEY = re.compile(
    r"((?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*'))*)[ \t]*="
)
_QUOTES = str.maketrans("", "", "\"' \t")


class _Table:
    """Where a table stands: its lines from `first` (the header) to `last`, and the lines of its keys."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.last = first
        self.keys: dict[str, int] = {}

    def add(self, key: str, line: int) -> None:
        """Notes the line of a key, and that of the first part of a dotted one."""
        self.keys.setdefault(key, line)
        self.keys.setdefault(key.partition(".")[0], line)


class TomlText:
    """A TOML text: `data`, and where things stand in it. `error` says why it could not be read ("" where it
    could)."""

    def __init__(self, text: str) -> None:
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self.error = ""
        self.data: dict[str, Any] = {}
        if len(text) > MAX_CHARS:
            self.error = f"longer than {MAX_CHARS:,} characters"
        elif _nested(text) or any(_is_long_key(line) for line in text.split("\n")):
            self.error = f"nested deeper than {_MAX_BRACKETS} levels"
        else:
            try:
                self.data = tomllib.loads(text)
            except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
                self.error = f"not TOML: {str(error)[:200]}"
        self.lines = text[:MAX_CHARS].split("\n")
        self._tables = self._find_tables()
        self._searches = _MAX_SEARCHES

    def _find_tables(self) -> dict[str, list[_Table]]:
        """Every table by its dotted name; the root is "". Tables of an array share a name."""
        current = _Table(0)
        tables = {"": [current]}
        for number, line in enumerate(self.lines, 1):
            bare = line.lstrip()
            if bare.startswith("[") and (found := _HEADER.match(bare)):
                current = _Table(number)
                tables.setdefault(found[2].translate(_QUOTES), []).append(current)
            elif (key := _KEY.match(bare)) is not None:
                current.add(key[1].translate(_QUOTES), number)
            current.last = number
        return tables

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
        for found in self._tables.get(table, ()):
            start = found.first
            if dotted:  # the whole dotted key, or the first part of it: a key with an inline table
                start = found.keys.get(".".join(dotted), 0) or found.keys.get(dotted[0], 0)
            if not start:
                continue
            best = best or start
            if not value:
                return start
            line = self._value_line(value, max(start, after, 1), found.last)
            if line:
                return line
        return best

    def _value_line(self, value: str, first: int, last: int) -> int:
        """The line of the string `value`: in its quotes, or (for what needed escapes or is part of one) bare."""
        last = min(last, first + _MAX_SEARCH, first + self._searches)
        for needles in ((f'"{value}"', f"'{value}'"), (value,)):
            for number in range(first, last + 1):
                line = self.lines[number - 1]
                if any(needle in line for needle in needles) and not line.lstrip().startswith("#"):
                    self._searches -= number - first
                    return number
            self._searches -= last - first
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


def _is_long_key(line: str) -> bool:
    """Whether a dotted key is so long that tomllib, whose time grows with its square, must not see it."""
    return (
        line.count(".") > _MAX_BRACKETS
        and line.partition("=")[0].count(".") > _MAX_BRACKETS
        and not line.lstrip().startswith("#")
    )


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
