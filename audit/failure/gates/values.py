"""Values of the formula evaluator: plain data with its origins, and stand-ins for what a run leaves behind.

Every value is a `V`: data and where its numbers come from. Containers hold `V`s. What cannot be known is `UNKNOWN`, and whatever
is made of it is unknown too.
"""

import ast
from dataclasses import dataclass, field
from typing import Any, Final

from audit.failure.gates.model import Origin

MAX_INT: Final = 2**63
"""Integers beyond this are not kept: `10 ** 10 ** 10` is no gate."""
MAX_ITEMS: Final = 200_000
"""Longest list that is made."""
MAX_TEXT: Final = 10_000
"""Longest text that is made, in characters."""


class _Unknown:
    def __repr__(self) -> str:
        return "unknown"

    def __bool__(self) -> bool:
        raise TypeError("an unknown value is neither true nor false")


UNKNOWN: Final = _Unknown()

Origins = frozenset[Origin]
NO_ORIGINS: Final[Origins] = frozenset()
MAX_ORIGINS: Final = 64
"""Most origins kept of one value: a median of a thousand points has one origin a series, not a thousand."""


@dataclass(frozen=True, slots=True)
class V:
    """A value with the origins of its numbers."""

    data: Any
    origins: Origins = NO_ORIGINS

    @property
    def known(self) -> bool:
        return self.data is not UNKNOWN

    @property
    def number(self) -> float | None:
        """The value as a number, None where it is none. A truth value is none."""
        if isinstance(self.data, int | float) and not isinstance(self.data, bool):
            return float(self.data) if isinstance(self.data, float) or abs(self.data) < MAX_INT else None
        return None


NOTHING: Final = V(UNKNOWN)


def merged(*values: V) -> Origins:
    """The origins of all values."""
    found: Origins = NO_ORIGINS
    for value in values:
        if not value.origins <= found:
            found |= value.origins
    return found if len(found) <= MAX_ORIGINS else frozenset(sorted(found)[:MAX_ORIGINS])


class Array(list[V]):
    """A list that counts element by element: a NumPy array, a tensor, a column of a table."""


class Column(Array):
    """A column of a pandas table: its reductions leave out what is no number."""


@dataclass(frozen=True, slots=True)
class PathText:
    """A path that the code made: `Path("out") / "metrics.csv"`, possibly with a `*` of a glob."""

    path: str


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that was opened for reading."""

    path: str


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file that is data: what `json.loads` makes its value of."""

    path: str


@dataclass(frozen=True, slots=True)
class LineText:
    """A line of a data file, already read: what `json.loads` makes of it."""

    row: V


@dataclass(frozen=True, slots=True)
class AnyRun:
    """What some run recorded, when the file that it was read from is not at hand: a key is looked up among all series."""

    hint: str


@dataclass(frozen=True, slots=True)
class EventStore:
    """TensorBoard's accumulator over a folder."""

    hint: str


@dataclass(frozen=True, slots=True)
class Record:
    """An object with known attributes: a parsed command line, a recorded point."""

    fields: dict[str, V]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """A table of rows, each a dict from column to value."""

    rows: tuple[V, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """Something imported that is not of the repository, by its full dotted name; or a method of a known value."""

    name: str
    owner: V | None = None


@dataclass(frozen=True, slots=True)
class Approximate:
    """`pytest.approx(expected, rel=, abs=)`: None where the caller gave none."""

    expected: V
    rel: V | None
    abs: V | None


@dataclass(slots=True)
class ArgumentParser:
    """`argparse.ArgumentParser` as far as its defaults go: destination -> default, flag -> destination, and types."""

    defaults: dict[str, V] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    positionals: list[str] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Namespace:
    """Names of one scope; a function's scope looks into its module's where it has none."""

    path: str
    names: dict[str, V] = field(default_factory=dict)
    outer: "Namespace | None" = None

    def get(self, name: str) -> V | None:
        scope: Namespace | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def set(self, name: str, value: V) -> None:
        self.names[name] = value


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the repository."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Namespace
    owner: V | None = None


@dataclass(frozen=True, slots=True)
class Class:
    """A class of the repository."""

    node: ast.ClassDef
    scope: Namespace


def plain(value: Any, origins: Origins) -> V:
    """A parsed JSON or YAML value as `V`s, every part with the same origins. Bounded by the caller's text."""
    if isinstance(value, dict):
        return V({k: plain(v, _of(origins, k)) for k, v in value.items()}, origins)
    if isinstance(value, list):
        return V([plain(v, origins) for v in value[:MAX_ITEMS]], origins)
    if isinstance(value, str | int | float | bool) or value is None:
        return V(value, origins)
    return NOTHING


def _of(origins: Origins, key: Any) -> Origins:
    """Origins of what stands under `key`. Steps ("300") are no names: a series has one origin."""
    if isinstance(key, str) and key.removeprefix("-").isdecimal():
        return origins
    return frozenset(
        Origin(o.kind, f"{o.name}.{key}" if o.name else str(key), o.place) if len(o.name) < 300 else o
        for o in origins
    )


def raw(value: V, depth: int = 0) -> Any:
    """The data without origins. Raises ValueError where a part is unknown or no plain data."""
    data = value.data
    if depth > 8 or data is UNKNOWN:
        raise ValueError("unknown")
    if isinstance(data, list | tuple):
        return (tuple if isinstance(data, tuple) else list)(
            raw(item, depth + 1) if isinstance(item, V) else item for item in data
        )
    if isinstance(data, dict):
        return {key: raw(item, depth + 1) for key, item in data.items()}
    if data is None or isinstance(data, str | int | float | bool):
        return data
    raise ValueError("no plain data")


def items_of(value: V) -> list[V] | None:
    """The items of a list, tuple, set of values or of a dict's keys, as a list; None where that is not known."""
    data = value.data
    if isinstance(data, list | tuple):
        return list(data)
    if isinstance(data, dict):
        return [V(key, value.origins) for key in data]
    if isinstance(data, Frame):
        return list(data.rows)
    if isinstance(data, str):
        return [V(letter) for letter in data] if len(data) < 1000 else None
    return None
