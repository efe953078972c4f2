"""Lines for a manifest: what it does not say, as the code has it, for somebody to look at and take.

Nothing runs differently for a line of the manifest, so these edits are safe. A line is only added to a table that is there and written as a block: of two
findings about one new table each would write its head.
"""

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from audit.documents.finding import Edit
from audit.documents.mistakes import Path, Positions
from audit.documents.state import Leaf, Value
from audit.facts.strict_yaml import quoted

if TYPE_CHECKING:  # pydantic is imported only where a manifest was read
    from audit.state.manifest_reading import Declared

_PLAIN_PATH: Final = re.compile(r"[\w./+-]{1,200}", re.A)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.A)
_WORDS: Final = frozenset("true false yes no on off null none y n".split())
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")
"""Bytes that are no UTF-8, as Python holds them."""
_LONGEST: Final = 300


def edits(declared: "Declared", found: Iterable[tuple[str, Leaf]]) -> tuple[Edit, ...]:
    """What of the (path, value) can be written into the manifest as lines of their own, those for one place together."""
    merged: dict[tuple[int, int], Edit] = {}
    for path, leaf in found:
        edit = _edit(declared, tuple(path.split(".")), leaf)
        if edit is None:
            continue
        before = merged.get(lines := (edit.start_line, edit.end_line))
        text = edit.replacement if before is None else before.replacement + edit.replacement
        merged[lines] = Edit(edit.path, *lines, text)
    return tuple(merged.values())


def _edit(declared: "Declared", path: Path, leaf: Leaf) -> Edit | None:
    place = leaf.place
    value = written(leaf.value)
    if place is None or not place.line or not _PLAIN_PATH.fullmatch(place.path) or not value:
        return None
    if not _is_valid(path, leaf.value):
        return None
    entry = f"{path[-1]}: {value}  # from {place.path}:{place.line}\n"
    positions = declared.positions
    if any(path[:end] in positions.flow for end in range(len(path))):
        return None
    if path in positions.marks:
        return _in_place(positions, path, entry)
    if (column := _column_of_entries(positions, path[:-1])) is None:
        return None
    head, _ = positions.marks[path[:-1]]
    return Edit(positions.name, head + 1, head, " " * (column - 1) + entry)


def _in_place(positions: Positions, path: Path, entry: str) -> Edit | None:
    """The line of a key that says nothing yet, written anew, where it stands alone on its line."""
    line, column = positions.marks[path]
    on_it = [each for each, mark in positions.marks.items() if each and mark[0] == line]
    if on_it != [path]:
        return None
    return Edit(positions.name, line, line, " " * (column - 1) + entry)


def _column_of_entries(positions: Positions, table: Path) -> int | None:
    """In which column the keys of `table` begin, if each of them has a line of its own."""
    head = positions.marks.get(table)
    below = [
        mark for path, mark in positions.marks.items() if len(path) == len(table) + 1 and path[:-1] == table
    ]
    if not table or head is None or not below:
        return None
    lines, columns = [line for line, _ in below], {column for _, column in below}
    if len(columns) > 1 or len(set(lines)) < len(lines) or min(lines) <= head[0]:
        return None
    return columns.pop()


def written(value: Value) -> str:
    """The value as YAML on one line, "" for one that is better written by hand."""
    if isinstance(value, tuple):
        items = [written(item) for item in value]
        text = f"[{', '.join(items)}]" if items and all(items) else ""
    elif isinstance(value, str):
        plain = _PLAIN_WORD.fullmatch(value) and value.lower() not in _WORDS
        text = value if plain else quoted(value)
    else:
        text = "" if value is None else json.dumps(value)
    return text if len(text) <= _LONGEST and not _NO_TEXT.search(text) else ""


def _is_valid(path: Path, value: Value) -> bool:
    """Whether the manifest takes the value there."""
    from pydantic import ValidationError

    from audit.documents.manifest import Manifest

    whole: object = list(value) if isinstance(value, tuple) else value
    for key in reversed(path):
        whole = {str(key): whole}
    try:
        Manifest.model_validate(whole)
    except ValidationError:
        return False
    return True
