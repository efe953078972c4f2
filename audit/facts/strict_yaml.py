"""YAML that a person writes for this program: plain tables, lists and words, with the place of each, within bounds.

Read from libyaml's events, so that nothing is constructed and nothing that YAML can do beyond plain data (anchors, aliases, tags, merge keys, several
documents) gets anywhere: each is a mistake with its line. Values stay text as written, for whoever knows which type is meant: a revision
`1234567` is no number, and `2e-5` is one.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from audit.documents.mistakes import MAX_MISTAKES, Mark, Mistake, Path
from audit.facts.yaml_nodes import BREAKS, Loader

MAX_BYTES: Final = 256 * 1024
MAX_NODES: Final = 20_000
MAX_DEPTH: Final = 16
_MAX_KEY: Final = 200


class Text(str):
    """A scalar as written. `plain`: without quotes, so that YAML's own types are meant where no other is asked for."""

    __slots__ = ("plain",)
    plain: bool

    def __new__(cls, value: str, plain: bool) -> "Text":
        made = super().__new__(cls, value)
        made.plain = plain
        return made


class Reading(msgspec.Struct, frozen=True):
    """What a text says. `value`: dicts, lists and `Text`, None for null; `marks`: where each key (of a table) or item (of a list) stands, by path;
    `whole`: whether it was read to its end, so that what is missing in it is missing; `flow`: tables and lists that are written in brackets."""

    value: Any
    marks: dict[Path, Mark]
    mistakes: tuple[Mistake, ...]
    whole: bool = True
    flow: frozenset[Path] = frozenset()


class _Stop(Exception):
    """Reading on makes no sense."""


def read_yaml(data: bytes) -> Reading:
    """What `data` says, with every mistake that can be told in one pass. Never raises; at most MAX_BYTES are read."""
    if len(data) > MAX_BYTES:
        return Reading(None, {}, (Mistake(1, 1, f"the file is larger than {MAX_BYTES // 1024} KiB"),), False)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        mistake = Mistake(before.count(b"\n") + 1, column, "the file is not UTF-8; save it as UTF-8")
        return Reading(None, {}, (mistake,), False)
    builder = _Builder()
    whole = False
    text = text.removeprefix("\ufeff").translate(BREAKS)
    try:
        for event in _events(text):
            builder.take(event)
        whole = True
    except _Stop:
        pass
    except yaml.YAMLError as error:
        builder.mistakes.append(_broken(error, text))
    except (RecursionError, UnicodeError, ValueError) as error:
        builder.mistakes.append(Mistake(1, 1, f"this is no YAML ({type(error).__name__})"))
    return Reading(
        builder.root, builder.marks, tuple(sorted(set(builder.mistakes))), whole, frozenset(builder.flow)
    )


def _events(text: str) -> Iterator[Any]:
    loader: Any = Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _broken(error: yaml.YAMLError, text: str) -> Mistake:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    if mark is not None:
        # What is missing at the end stands behind the last line for libyaml.
        lines = text.removesuffix("\n").split("\n")
        beyond = mark.line >= len(lines)
        line, column = (len(lines), len(lines[-1]) + 1) if beyond else (mark.line + 1, mark.column + 1)
        return Mistake(line, column, f"this is no YAML: {problem}")
    position = getattr(error, "position", None)
    before = text.encode()[:position] if isinstance(position, int) and position >= 0 else b""
    return Mistake(before.count(b"\n") + 1, 1, f"this is no YAML: {problem}")


class _Open:
    """A table or list that is being read. `key`: that of the value to come, "" where a key is to come."""

    __slots__ = ("key", "path", "value")

    def __init__(self, value: Any, path: Path) -> None:
        self.value = value
        self.path = path
        self.key = ""


class _Builder:
    def __init__(self) -> None:
        self.root: Any = None
        self.marks: dict[Path, Mark] = {}
        self.mistakes: list[Mistake] = []
        self.flow: set[Path] = set()
        self._open: list[_Open] = []
        self._documents = 0
        self._nodes = 0

    def take(self, event: Any) -> None:
        """One event of the text."""
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._stop(
                    event, "only one YAML document is expected; remove the line `---` and what follows"
                )
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self._open.pop()

    def _node(self, event: Any) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop(event, f"more than {MAX_NODES:,} values")
        if isinstance(event, yaml.AliasEvent):
            self._say(event, f"the alias *{event.anchor} is not read; write the value out")
        else:
            if event.anchor:
                self._say(
                    event,
                    f"the anchor &{event.anchor} is not read; write the values out where they are needed",
                )
            if event.tag and event.tag != "!":
                self._say(event, f"the tag {_short(event.tag)} is not read; remove it")
        top = self._open[-1] if self._open else None
        if top is not None and isinstance(top.value, dict) and not top.key:
            self._key(event, top)
            return
        path: Path = (
            () if top is None else (*top.path, top.key if isinstance(top.value, dict) else len(top.value))
        )
        if path not in self.marks:
            self.marks[path] = _mark(event)
        self._put(top, self._value(event, path))

    def _key(self, event: Any, top: _Open) -> None:
        name = event.value if isinstance(event, yaml.ScalarEvent) else ""
        if not name or len(name) > _MAX_KEY:
            self._stop(event, "a key must be a word")
        if name == "<<" and not event.style:
            self._say(event, "the merge key << is not read; write the values out")
        path = (*top.path, name)
        if path in self.marks:
            self._say(
                event, f"{_short(name)} is written twice, first in line {self.marks[path][0]}; keep one"
            )
        else:
            self.marks[path] = _mark(event)
        top.key = name

    def _value(self, event: Any, path: Path) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            plain = not event.style
            return None if plain and event.value in _NULLS else Text(event.value, plain)
        if isinstance(event, yaml.AliasEvent):
            return None
        if len(self._open) >= MAX_DEPTH:
            self._stop(event, f"nested deeper than {MAX_DEPTH} levels")
        if event.flow_style:
            self.flow.add(path)
        return {} if isinstance(event, yaml.MappingStartEvent) else []

    def _put(self, top: _Open | None, value: Any) -> None:
        path: Path = ()
        if top is None:
            self.root = value
        elif isinstance(top.value, dict):
            key, top.key = top.key, ""
            path = (*top.path, key)
            top.value.setdefault(key, value)
        else:
            path = (*top.path, len(top.value))
            top.value.append(value)
        if isinstance(value, (dict, list)):
            self._open.append(_Open(value, path))

    def _say(self, event: Any, what: str) -> None:
        self.mistakes.append(Mistake(*_mark(event), what))
        if len(self.mistakes) >= MAX_MISTAKES:
            raise _Stop

    def _stop(self, event: Any, what: str) -> None:
        self._say(event, what)
        raise _Stop


_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


def _mark(event: Any) -> Mark:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30}(?:_[0-9]{1,9}){0,9})")
_FLOAT: Final = re.compile(r"[-+]?(?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,3})?")


def scalar(text: str) -> bool | int | float | str:
    """The value of a scalar for which no type is asked: YAML 1.2's own, numbers like `2e-5` included, unless it is in quotes."""
    if not isinstance(text, Text) or not text.plain:
        return str(text)
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if abs(value) != float("inf") else str(text)
    return str(text)


def untyped(value: Any) -> Any:
    """`value` with YAML's own types all the way down, entries that say nothing left out."""
    if isinstance(value, dict):
        return {key: untyped(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [untyped(item) for item in value if item is not None]
    return scalar(value) if isinstance(value, str) else value


_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def quoted(text: str) -> str:
    """The text in double quotes: JSON's escapes are YAML's, too, but for characters that YAML does not take as they are."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))
