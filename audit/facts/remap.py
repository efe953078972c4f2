"""Moving the facts of an embedded Python text to the lines of the file that it stands in."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from audit.facts.python.model import PythonFacts

_LINE_FIELDS: Final = frozenset({"line", "end_line"})
_SAID: Final = re.compile(r"\bline (\d{1,9})\b")


def remap_lines(facts: PythonFacts, lines: Sequence[int]) -> PythonFacts:
    """`facts` with every line field, however deep, replaced: line n becomes `lines[n - 1]` (the last one
    beyond the end)."""
    if not lines:
        return facts
    moved: PythonFacts = _moved(facts, lines)
    return msgspec.structs.replace(moved, why=remap_text(facts.why, lines))


def remap_text(said: str, lines: Sequence[int]) -> str:
    """A sentence about "line n" with the line replaced likewise."""
    return _SAID.sub(lambda match: f"line {_at(lines, int(match[1]))}", said) if lines else said


def _at(lines: Sequence[int], line: int) -> int:
    return lines[min(max(line, 1), len(lines)) - 1]


def _moved(value: Any, lines: Sequence[int]) -> Any:
    """Rebuilt along the structure of the Structs, so that a field added to them later is moved too."""
    if isinstance(value, tuple):
        # Tuples of text are most of them, and hold no line.
        return (
            tuple(_moved(item, lines) for item in value) if value and not isinstance(value[0], str) else value
        )
    if not isinstance(value, msgspec.Struct):
        return value
    fields = {}
    for name in value.__struct_fields__:
        field = getattr(value, name)
        fields[name] = _at(lines, field) if name in _LINE_FIELDS else _moved(field, lines)
    return type(value)(**fields)
