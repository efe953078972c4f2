"""Mistakes in a document that a person wrote: each with its place, what is allowed there, and the nearest right word."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from audit.documents.errors import DocumentError
from audit.safety.redact import redact

if TYPE_CHECKING:  # pydantic is imported only where such a document is read
    from pydantic import BaseModel, ValidationError

MAX_MISTAKES: Final = 50
"""Mistakes that one error tells."""

Path = tuple[str | int, ...]
"""The keys and indices that lead to a value."""
Mark = tuple[int, int]
"""Line and column, both from 1."""


class Mistake(msgspec.Struct, frozen=True, order=True):
    """What is wrong at a line and column, and how to mend it."""

    line: int
    column: int
    what: str


class Positions(msgspec.Struct, frozen=True):
    """Where each key of a document stands. `name`: the file's path; `marks`: line and column from 1, by the keys (and indices) that lead there; `flow`:
    tables and lists that are written in brackets."""

    name: str
    marks: dict[Path, Mark]
    flow: frozenset[Path] = frozenset()

    def nearest(self, path: Path) -> Mark:
        """The mark of `path`, else of the closest table around it."""
        for end in range(len(path), -1, -1):
            if (mark := self.marks.get(path[:end])) is not None:
                return mark
        return (1, 1)


def document_error(mistakes: Iterable[Mistake], name: str, advice: str) -> DocumentError:
    """The error that tells all mistakes, in the order of the file; `name`: its path."""
    ordered = sorted(set(mistakes))
    # A key can hold a line break: a mistake is one line all the same.
    said = [(each, " ".join(each.what.split()).rstrip(".")) for each in ordered[:MAX_MISTAKES]]
    lines = [f"{name}:{each.line}:{each.column}: {what}." for each, what in said]
    if len(ordered) > MAX_MISTAKES:
        lines.append(f"{name}: {len(ordered) - MAX_MISTAKES} more mistakes.")
    return DocumentError(redact("\n".join(lines)), advice)


# What is wrong, in words ------------------------------------------------------------------------------------------------


class Hints(msgspec.Struct, frozen=True):
    """What is known of a document's words. `called`: what others call a key -> its name here; `missing`: why a key has to be there; `elsewhere`: given an
    unknown key's name and path, where it belongs, or ""."""

    called: Mapping[str, str] = {}
    missing: Mapping[str, str] = {}
    elsewhere: Callable[[str, Path], str] = lambda _key, _path: ""


NO_HINTS: Final = Hints()


def complaints(
    error: "ValidationError", model: "type[BaseModel]", positions: Positions, hints: Hints = NO_HINTS
) -> Iterator[Mistake]:
    """The mistakes that pydantic's error about a `model` tells, at most MAX_MISTAKES of them."""
    for item in error.errors(include_url=False)[:MAX_MISTAKES]:
        path: Path = ()
        for part in item["loc"]:
            if part not in _TAGS or (*path, part) in positions.marks:
                path = (*path, part)
        where = ".".join(map(str, path)) or "the file"
        yield Mistake(*positions.nearest(path), f"{where}: {_said(item, path, model, hints)}")


_TAGS: Final = frozenset({"[key]", "line", "table", "int", "float", "bool", "str"})
"""What pydantic puts between the keys: which alternative of a type it tried."""


def _said(item: Mapping[str, Any], path: Path, model: "type[BaseModel]", hints: Hints) -> str:
    kind, given = item["type"], _given(item.get("input"))
    limits = item.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path, model, hints)
    if kind == "literal_error":
        choices = _choices(path, model)
        near = difflib.get_close_matches(str(item.get("input", "")).lower()[:100], choices, 1, 0.6)
        hint = f"; perhaps {near[0]}" if near else ""
        return f"one of {', '.join(choices) or limits.get('expected', '')} is expected, not {given}{hint}"
    if kind == "value_error":
        return str(limits.get("error", item["msg"]))
    if kind == "missing":
        why = hints.missing.get(str(path[-1]))
        return f"is missing: {why}" if why else "is missing"
    if kind == "string_pattern_mismatch":
        return f"{given} does not fit {limits.get('pattern')}{_NAMED if 'a-z][a-z0-9_]{0,31}' in limits.get('pattern', '') else ''}"
    if kind == "too_long":
        return f"at most {limits.get('max_length')} entries are allowed, there are {len(item['input'])}"
    if kind in _BOUNDS:
        return f"{_BOUNDS[kind].format(**limits)} is expected, not {given}"
    if kind in _EXPECTED:
        return f"{_EXPECTED[kind]} is expected, not {given}"
    return f"{item['msg'][:1].lower()}{item['msg'][1:]}"


_NAMED: Final = ": a name of lower-case letters, digits and underscores, at most 32"
_BOUNDS: Final = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "{le:g} or less",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "a text of {min_length} or more characters",
}
_EXPECTED: Final = {
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "a text",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "a list",
    "list_type": "a list",
}


def _given(value: object) -> str:
    """What stands there instead, short."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    text = " ".join(str(value).split())
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"


def _section_at(path: Path, model: "type[BaseModel]") -> "type[BaseModel] | None":
    """The section that `path` leads to, keys of one's own skipped."""
    section: type[BaseModel] | None = model
    keys = iter(path)
    for key in keys:
        field = section.model_fields.get(str(key)) if section is not None else None
        if field is None:
            return None
        section, keyed = sections_of(field.annotation)
        if keyed:
            next(keys, None)
    return section


def _choices(path: Path, model: "type[BaseModel]") -> list[str]:
    section = _section_at(path[:-1], model)
    field = section.model_fields.get(str(path[-1])) if section else None
    found: list[str] = []
    pending = [field.annotation] if field else []
    while pending:
        args = get_args(pending.pop())
        found += [each for each in args if isinstance(each, str)]
        pending += [each for each in args if not isinstance(each, str)]
    return found


def _unknown_key(path: Path, model: "type[BaseModel]", hints: Hints) -> str:
    key = str(path[-1])
    section = _section_at(path[:-1], model)
    known = list(section.model_fields) if section else []
    near = hints.called.get(key.lower())
    if near not in known:
        near = next(iter(difflib.get_close_matches(key.lower()[:100], known, 1, 0.6)), None)
    allowed = f" Allowed: {', '.join(known)}" if known else ""
    if near:
        return f"this key is not known; perhaps {near}?{allowed}"
    elsewhere = hints.elsewhere(key.lower(), path)
    return f"this key is not known here{'; perhaps ' + elsewhere + '?' if elsewhere else '.'}{allowed}"


def sections_of(annotation: Any) -> "tuple[type[BaseModel] | None, bool]":
    """The section that a field's type names, None for a value; and whether it stands in a table under keys of one's own."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    args: tuple[Any, ...] = getattr(annotation, "__args__", ())
    if getattr(annotation, "__origin__", None) is dict:
        below, _ = sections_of(args[1])
        return below, below is not None
    for each in args:
        found = sections_of(each)
        if found[0] is not None:
            return found
    return None, False
