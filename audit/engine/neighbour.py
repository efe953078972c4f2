"""The assessment of a tree that says the same as one assessed before.

Most of what follows from a tree follows from the facts of all its files together. Where a change leaves every fact as it was but for its
line (a comment, white space, a document string, a statement that no fact speaks of), the earlier assessment holds: only lines are
moved in it, and the rules about the state of Git are asked anew. Whatever is in doubt is assessed in full.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TypeVar, cast

import msgspec

from audit.documents.finding import Edit
from audit.facts.model import FileFacts, PythonFacts
from audit.source.snapshot import Entry, EntryKind, GitState, Snapshot

MOST_CHANGED = 50
"""Files that may differ: with more, hardly ever all of them say the same."""
_LINES = frozenset({"line", "end_line"})

Lines = dict[int, int]
T = TypeVar("T")


class Neighbour(msgspec.Struct, frozen=True):
    """A tree that was assessed: what its assessment followed from, and the key under which that is kept."""

    entries: tuple[Entry, ...]
    git: GitState | None
    notes: tuple[str, ...]
    rest: str
    assessment: bytes

    @classmethod
    def of(cls, snapshot: Snapshot, assessment: bytes) -> "Neighbour":
        """`assessment`: the key of the row that holds it."""
        return cls(
            snapshot.entries,
            snapshot.git,
            snapshot.notes,
            repr((snapshot.repository, snapshot.gaps)),
            assessment,
        )


class Move(msgspec.Struct, frozen=True):
    """What became of the lines of the files that changed: by path, old line to new line."""

    lines: dict[str, Lines]


class InDoubt(Exception):
    """The earlier assessment cannot be shown to hold."""


def changed(before: Neighbour, snapshot: Snapshot) -> list[tuple[Entry, Entry]] | None:
    """The Python files that differ, old and new; None where something else differs, too, or too much."""
    now = Neighbour.of(snapshot, b"")
    if before.rest != now.rest or len(before.entries) != len(now.entries) or _unlike(before.git, now.git):
        return None
    pairs: list[tuple[Entry, Entry]] = []
    for old, new in zip(before.entries, now.entries, strict=True):
        if old == new:
            continue
        alike = old.path == new.path and old.tracked == new.tracked and old.kind is new.kind is EntryKind.FILE
        if not alike or not new.path.endswith(".py") or len(pairs) >= MOST_CHANGED:
            return None
        pairs.append((old, new))
    return pairs


def _unlike(before: GitState | None, now: GitState | None) -> bool:
    """Whether one is a work tree and the other is none: rules about files ask for that."""
    return (before is None) != (now is None) or (
        before is not None and now is not None and (before.modified is None) != (now.modified is None)
    )


def moves(pairs: Mapping[str, tuple[FileFacts, FileFacts]]) -> Move:
    """Where lines went. Raises InDoubt where any other fact of a file changed."""
    return Move({path: _lines(old, new) for path, (old, new) in pairs.items()})


def _lines(old: FileFacts, new: FileFacts) -> Lines:
    before: list[int] = []
    after: list[int] = []
    if not isinstance(old.body, PythonFacts) or _bare(old, before) != _bare(new, after):
        raise InDoubt
    moved: Lines = {}
    for was, now in zip(before, after, strict=True):
        if moved.setdefault(was, now) != now:
            raise InDoubt  # what stood on one line stands on two
    order = [moved[line] for line in sorted(moved)]
    if any(a >= b for a, b in pairwise(order)):
        raise InDoubt  # statements changed places
    return moved


def _bare(value: object, lines: list[int]) -> object:
    """`value` without its line numbers, which are added to `lines` in the order in which they stand."""
    if isinstance(value, FileFacts):
        value = msgspec.structs.replace(value, size=0)
    if isinstance(value, msgspec.Struct):
        whole_file = getattr(value, "kind", "") == "module"
        parts: list[object] = [type(value).__name__]
        for name in value.__struct_fields__:
            part = getattr(value, name)
            if name not in _LINES:
                parts.append(_bare(part, lines))
            elif not whole_file:
                lines.append(part)
        return parts
    if isinstance(value, (tuple, list)):
        return [_bare(each, lines) for each in value]
    return value


def moved(document: T, move: Move) -> T:
    """`document` with every place in the files that changed at its new line. Raises InDoubt where one is not known."""
    return cast(T, _Mover(move).moved(document))


class _Mover:
    def __init__(self, move: Move) -> None:
        self.lines = move.lines
        # In sentences a place is `path:line`.
        names = "|".join(re.escape(path) for path in sorted(move.lines, key=len, reverse=True))
        self.place = re.compile(rf"(?<![\w./-])({names}):(\d+)\b")

    def moved(self, value: object) -> object:
        if isinstance(value, str):
            return self.place.sub(self._in_text, value) if ":" in value else value
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        if isinstance(value, dict):
            return {self.moved(key): self.moved(item) for key, item in value.items()}
        if isinstance(value, (tuple, list)):
            return type(value)(self.moved(item) for item in value)
        return value

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        path = getattr(value, "path", None)
        if isinstance(value, Edit) and path in self.lines:
            raise InDoubt  # an edit has lines of its own and a text that stands on them
        changes: dict[str, object] = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            if name == "line" and path in self.lines and old is not None:
                changes[name] = self._line(path, old)
            elif (new := self.moved(old)) != old:
                changes[name] = new
        return msgspec.structs.replace(value, **changes) if changes else value

    def _in_text(self, match: re.Match[str]) -> str:
        return f"{match[1]}:{self._line(match[1], int(match[2]))}"

    def _line(self, path: str, line: int) -> int:
        lines = self.lines[path]
        if line == 1:
            # The first line also stands for the file as a whole.
            if lines.get(1, 1) != 1:
                raise InDoubt
            return 1
        if line not in lines:
            raise InDoubt
        return lines[line]
