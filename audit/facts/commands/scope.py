"""What a shell text's variables hold, as far as reading the text alone can tell."""

import re
from dataclasses import dataclass

_POSITIONAL = re.compile(r"\$(?:[0-9@*#?!]|\{[0-9@*#]+\})")

MAX_VARIABLES = 2_000
MAX_FRAGMENTS = 1_000
"""Most fragments of one value."""
MAX_VALUE = 4_000
"""Longest value that is kept, in characters."""
BUDGET = 1_000_000
"""Most characters and fragments that one text may gain by expansion; what lies beyond stays as written."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a word on one line; `split`: it came from an unquoted expansion, so that its blanks end
    words."""

    text: str
    line: int
    split: bool = False


Value = tuple[Fragment, ...]


class Scope:
    """Variables and the branches that set them.

    A value set in a branch holds inside it. Behind the branch it holds only where nothing else was assigned
    before it or in another branch: which of two values counts is then not known, and none is expanded.
    """

    def __init__(self, values: dict[str, Value] | None = None, budget: int = BUDGET) -> None:
        self.values: dict[str, Value] = dict(values or {})
        self.budget = budget
        self.assigned: list[tuple[str, str, int]] = []
        self._blocks: list[dict[str, Value | None]] = []
        self._ambiguous: set[str] = set()
        self._given_up: set[str] = set()

    def define(self, name: str, text: str) -> None:
        """`name` holds `text` before the text starts; it counts as standing where it is used."""
        self.set(name, (Fragment(text, 0),))

    def record(self, name: str, text: str, line: int) -> None:
        """Notes an assignment as it is written, whether or not it can be expanded."""
        if len(self.assigned) < MAX_VARIABLES:
            self.assigned.append((name, text[:MAX_VALUE], line))

    def lookup(self, name: str) -> Value | None:
        """The value to write in place of `name`, None where it is not known or too much was expanded."""
        value = self.values.get(name)
        if value is None:
            return None
        cost = len(value) + sum(len(piece.text) for piece in value)
        if cost > self.budget:
            return None
        self.budget -= cost
        return value

    def set(self, name: str, value: Value | None) -> None:
        """`name` holds `value` from here on; None: something that is not known."""
        before = self.values.get(name)
        if self._blocks:
            touched = self._blocks[-1]
            if name not in touched:
                touched[name] = before
            elif before is not None and value != before:
                self._ambiguous.add(name)
        self.values.pop(name, None)
        if value is not None and len(self.values) < MAX_VARIABLES and _is_plain(value):
            self.values[name] = value

    def append(self, name: str, value: Value, line: int, *, array: bool) -> None:
        """`name+=value`. A value that grew too long is given up, so that appending to it stays cheap."""
        if name in self._given_up:
            return
        before = self.values.get(name, (Fragment(f"${name}", line),))
        joint = (Fragment(" ", line, split=True),) if array else ()
        self.set(name, (*before, *joint, *value))
        if name not in self.values:
            self._given_up.add(name)

    def undo(self, name: str, before: Value | None) -> None:
        """Takes back an assignment that stood in front of a command and so holds for that command only."""
        self.values.pop(name, None)
        if before is not None:
            self.values[name] = before

    def enter(self) -> None:
        """A branch, loop or function body starts."""
        if len(self._blocks) < MAX_VARIABLES:
            self._blocks.append({})

    def switch(self) -> None:
        """Another branch of the same choice starts: what was known before it is known again."""
        for name, before in self._blocks[-1].items() if self._blocks else ():
            if before is not None:
                self.values[name] = before

    def leave(self) -> None:
        """The branch, loop or function body ends."""
        if not self._blocks:
            return
        for name, before in self._blocks.pop().items():
            changed = before is not None and before != self.values.get(name)
            if changed or name in self._ambiguous:
                self.values.pop(name, None)
            if self._blocks:
                self._blocks[-1].setdefault(name, before)
        if not self._blocks:
            self._ambiguous.clear()


def _is_plain(value: Value) -> bool:
    if _POSITIONAL.fullmatch("".join(piece.text for piece in value[:3])):
        return False
    if len(value) > MAX_FRAGMENTS or sum(len(piece.text) for piece in value) > MAX_VALUE:
        return False
    return not any("$(" in piece.text or "`" in piece.text for piece in value)
