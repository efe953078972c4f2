"""The path of a setting that code states: what it is, in which file, and by which name it goes there.

`training.learning_rate@train.py::main::optimizer.lr`: a learning rate, in `train.py`, in the function `main`, the argument `lr` of what is
assigned to `optimizer`. Neither lines nor the order of statements are part of it.
"""

import re
from functools import lru_cache

import msgspec

from audit.documents.state import Value

_NUMBERED = re.compile(r"(.*)#\d{1,6}", re.DOTALL)


class Found(msgspec.Struct, frozen=True):
    """One setting as a reader of one kind of file finds it. `concept`: its path in a canonical state; `scope`: where in the file (a function, the
    program that a flag is of), "" for the file itself; `key`: its name there; `resolved`: whether `value` is one and not the text of an expression that
    only a run decides; `detail`: how it is stated, in words."""

    concept: str
    scope: str
    key: str
    value: Value
    line: int
    detail: str
    resolved: bool = True


class Name(msgspec.Struct, frozen=True):
    """The parts of a setting's path. `file`, `scope`, `key` are "" for a path of a manifest or lock."""

    concept: str
    file: str = ""
    scope: str = ""
    key: str = ""

    @property
    def path(self) -> str:
        """The path as a state holds it."""
        if not self.file:
            return self.concept
        parts = (self.file, self.scope, self.key) if self.scope else (self.file, self.key)
        return f"{self.concept}@" + "::".join(part.replace("::", ":") for part in parts)

    @property
    def plain_key(self) -> str:
        """The key without the number that tells equal ones apart."""
        match = _NUMBERED.fullmatch(self.key)
        return match[1] if match else self.key


@lru_cache(1 << 12)
def parsed(path: str) -> Name:
    """The parts of a path."""
    concept, at, rest = path.partition("@")
    if not at:
        return Name(path)
    parts = rest.split("::")
    if len(parts) < 2:
        return Name(concept, rest)
    return Name(concept, parts[0], "::".join(parts[1:-1]), parts[-1])
