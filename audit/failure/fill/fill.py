"""A verdict in the form that a schema or an example document asks for: filled from the verdict alone, or refused."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from audit.documents.verdict import Verdict
from audit.failure.fill.shape import SchemaError, Shape, read_shape
from audit.failure.fill.vocabulary import (
    ALTERNATIVE,
    BOOLEANS,
    CAUSE,
    CLAIM,
    EVIDENCE,
    FACT,
    INPUT,
    TOOL,
    TRACE,
    VERDICT,
    WORDS,
    allowed_word,
    folded,
)

_MISSING: Final = object()
_TABLES: Final[dict[str, Mapping[str, str]]] = {
    "verdict": VERDICT,
    "cause": CAUSE,
    "other_causes": CAUSE,
    "evidence": EVIDENCE,
    "facts": FACT,
    "inputs": INPUT,
    "claims": CLAIM,
    "trace": TRACE,
    "alternatives": ALTERNATIVE,
    "tool": TOOL,
}


class CannotFillError(ValueError):
    """The document cannot be filled honestly. `fields`: (path in the document, why)."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self.fields = tuple(fields)
        told = "; ".join(f"{path}: {why}" for path, why in self.fields[:20])
        super().__init__(f"the document asked for cannot be filled from the verdict: {told}")


class _Refused(Exception):
    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.fields = [(path or "the document", why)]


def fill(verdict: Verdict, schema: str) -> str:
    """The JSON document that `schema` (the text of a JSON schema, or of an example document) asks for.

    Fields are recognised by their names and types; a field that may be left out and that the verdict does not hold is left out. Raises
    CannotFillError with the fields that cannot be filled, SchemaError where the file asks for no document.
    """
    shape = read_shape(schema)
    filler = _Filler(verdict)
    try:
        made = filler.object(shape, filler.root, "verdict", "")
    except _Refused as refused:
        raise CannotFillError(refused.fields) from None
    return json.dumps(made, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


class _Filler:
    def __init__(self, verdict: Verdict) -> None:
        self.root: dict[str, Any] = _plain(msgspec.to_builtins(verdict))
        self.root.update(_derived(verdict))
        self.facts = {folded(f.name): f.value for f in reversed(verdict.facts)}

    # -- objects -----------------------------------------------------------------------------------------------------

    def object(self, shape: Shape, context: Mapping[str, Any], kind: str, path: str) -> Any:
        """An object of known fields, or a map from names to numbers."""
        if shape.options and not shape.fields:
            return self._first_option(shape.options, path, lambda o: self.object(o, context, kind, path))
        if kind == "facts" and not shape.fields:
            return self._fact_map(shape, path)
        made: dict[str, Any] = {}
        refused: list[tuple[str, str]] = []
        for name, inner in shape.fields:
            here = f"{path}.{name}" if path else name
            try:
                value = self.field(name, inner, context, kind, here)
            except _Refused as error:
                if name in shape.required:
                    refused += error.fields
                continue
            if value is not _MISSING:
                made[name] = value
            elif name in shape.required:
                refused.append((here, "the verdict holds nothing of that name"))
        for name in sorted(shape.required - {n for n, _ in shape.fields}):
            refused.append((f"{path}.{name}" if path else name, "required, but not described"))
        if refused:
            raise _Refused_all(refused)
        if len(made) < shape.shortest:
            raise _Refused(path, f"at least {shape.shortest} fields are asked for")
        return made

    def field(self, name: str, shape: Shape, context: Mapping[str, Any], kind: str, path: str) -> Any:
        """The value of one field: by what its name means here, else a group of fields of the same thing, else a fact of that name."""
        plain = folded(name)
        if shape.may("boolean") and "boolean" in shape.kinds and kind == "verdict":
            truth = self._truth(plain)
            if truth is not _MISSING:
                return self.value(truth, shape, path, "")
        meaning = _TABLES[kind].get(plain) if kind in _TABLES else plain
        if meaning is not None and meaning in context:
            value = context[meaning]
            if value is None and meaning != "cause" and not shape.nullable:
                value = self._fact(plain, shape)
            return self._shaped(value, meaning, shape, context, path)
        if "object" in shape.kinds and shape.fields:
            return self.object(shape, context, kind, path)
        if kind == "verdict":
            fact = self._fact(plain, shape)
            if fact is not _MISSING:
                return self.value(fact, shape, path, "")
        if (
            len(shape.values) == 1
            and isinstance(shape.values[0], str | int | float | bool)
            and not isinstance(shape.values[0], bool)
        ):
            return shape.values[0]  # a constant such as a version tag says nothing about the run
        return None if shape.nullable else _MISSING

    def _truth(self, name: str) -> Any:
        found = BOOLEANS.get(name)
        if found is None:
            return _MISSING
        return self.root[found[0]] in found[1]

    def _fact(self, name: str, shape: Shape) -> Any:
        """A fact of that very name, or the only one whose name ends in it."""
        if not (shape.may("number") or shape.may("integer")):
            return _MISSING
        if name in self.facts:
            return self.facts[name]
        near = {k: v for k, v in self.facts.items() if k.endswith("_" + name) and name.count("_")}
        return next(iter(near.values())) if len(near) == 1 else _MISSING

    def _fact_map(self, shape: Shape, path: str) -> dict[str, Any]:
        if shape.others is not None and not (shape.others.may("number") or shape.others.may("string")):
            raise _Refused(path, "facts are numbers and texts")
        wanted = shape.others or Shape()
        made: dict[str, Any] = {}
        for fact in self.root["facts"]:
            try:
                made.setdefault(fact["name"], self.value(fact["value"], wanted, f"{path}.{fact['name']}", ""))
            except _Refused:
                continue
        return made

    # -- values ------------------------------------------------------------------------------------------------------

    def _shaped(self, value: Any, meaning: str, shape: Shape, context: Mapping[str, Any], path: str) -> Any:
        """A value in the form asked for: as it is, as a text, as the first of several, as a list of one."""
        if value is _MISSING:
            return _MISSING
        if shape.options:
            return self._first_option(
                shape.options, path, lambda o: self._shaped(value, meaning, o, context, path)
            )
        if value is None:
            if shape.nullable or not shape.kinds:
                return None
            raise _Refused(path, "there is none in this verdict")
        if shape.values and isinstance(value, list | dict):
            raise _Refused(path, f"none of the allowed values says what {meaning} does")
        if isinstance(value, list):
            return self._list(value, meaning, shape, path)
        if isinstance(value, dict):
            if shape.may("object") and (shape.fields or not shape.kinds or "object" in shape.kinds):
                return self.object(shape, value, meaning, path) if shape.fields else _visible(value)
            if shape.may("string"):
                return self.value(_as_text(value, meaning), shape, path, meaning)
            if "array" in shape.kinds:
                return self._list([value], meaning, shape, path)
            raise _Refused(path, f"{meaning} is an object in the verdict")
        if "array" in shape.kinds and not shape.may("string"):
            return self._list([value], meaning, shape, path)
        if "object" in shape.kinds and shape.fields:
            return self.object(shape, context, "verdict", path)
        return self.value(value, shape, path, meaning)

    def _list(self, items: list[Any], meaning: str, shape: Shape, path: str) -> Any:
        if not shape.kinds or "array" in shape.kinds:
            inner = shape.item or Shape()
            made = [
                self._shaped(item, meaning, inner, item if isinstance(item, dict) else {}, f"{path}[{i}]")
                for i, item in enumerate(items)
            ]
            made = made[: shape.longest] if shape.longest is not None else made
            if len(made) < shape.shortest:
                raise _Refused(path, f"{shape.shortest} or more are asked for, the verdict has {len(made)}")
            return made
        if "object" in shape.kinds:
            if meaning == "facts" and not shape.fields:
                return self._fact_map(shape, path)
            if meaning == "facts":
                return self._named_facts(shape, path)
            if not items:
                raise _Refused(path, "there is none in this verdict")
            return self._shaped(
                items[0], meaning, shape, items[0] if isinstance(items[0], dict) else {}, path
            )
        if "integer" in shape.kinds or "number" in shape.kinds:
            return self.value(len(items), shape, path, "")
        if "boolean" in shape.kinds:
            raise _Refused(path, f"{meaning} is a list in the verdict")
        texts = [item if isinstance(item, str) else _as_text(item, meaning) for item in items]
        if not texts and not shape.nullable:
            return self.value("none", shape, path, "")
        return self.value("; ".join(texts), shape, path, "") if texts else None

    def _named_facts(self, shape: Shape, path: str) -> Any:
        """`metrics: {relative_error: 0.02}`: facts by the names asked for."""
        made: dict[str, Any] = {}
        refused: list[tuple[str, str]] = []
        for name, inner in shape.fields:
            value = self._fact(folded(name), inner)
            if value is not _MISSING:
                made[name] = self.value(value, inner, f"{path}.{name}", "")
            elif inner.nullable:
                made[name] = None
            elif name in shape.required:
                refused.append((f"{path}.{name}", "no fact of that name was computed"))
        if refused:
            raise _Refused_all(refused)
        return made

    def _first_option(self, options: Sequence[Shape], path: str, attempt: Callable[[Shape], Any]) -> Any:
        refused: list[tuple[str, str]] = []
        for option in options:
            try:
                made = attempt(option)
            except _Refused as error:
                refused += error.fields
                continue
            if made is not _MISSING and not (made is None and not option.nullable):
                return made
        if any(option.nullable for option in options):
            return None
        raise _Refused_all(refused or [(path, "none of the alternatives can be filled")])

    def value(self, value: Any, shape: Shape, path: str, meaning: str) -> Any:
        """A plain value, checked against the shape; words are said in the vocabulary asked for."""
        if shape.values:
            return self._enumerated(value, shape, path, meaning)
        if isinstance(value, bool):
            if shape.may("boolean"):
                return value
            raise _Refused(path, "a truth value where another type is asked for")
        if isinstance(value, int | float):
            return _number(value, shape, path)
        text = str(value)
        if not shape.may("string"):
            raise _Refused(path, _why_not_text(meaning, shape))
        if isinstance(shape.example, str) and meaning in WORDS and shape.example.isupper():
            text = text.upper()
        return _text(text, shape, path)

    def _enumerated(self, value: Any, shape: Shape, path: str, meaning: str) -> Any:
        if value in shape.values:
            return value
        found = allowed_word(meaning, str(value), shape.values) if isinstance(value, str) else None
        if found is None:
            allowed = ", ".join(str(v) for v in shape.values[:12])
            raise _Refused(path, f"none of the allowed values means {value!r} ({allowed})")
        return found


def _Refused_all(fields: list[tuple[str, str]]) -> _Refused:  # makes one
    made = _Refused("", "")
    made.fields = fields
    return made


def _why_not_text(meaning: str, shape: Shape) -> str:
    if meaning == "confidence":
        return "confidence is high, medium or low: a number would be made up"
    return f"{meaning or 'it'} is a text in the verdict, asked for is {' or '.join(shape.kinds)}"


def _number(value: float, shape: Shape, path: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise _Refused(path, "the number is not finite")
    if shape.may("number") or (shape.may("integer") and float(value).is_integer()):
        low, high = shape.least, shape.most
        if (low is not None and value < low) or (high is not None and value > high):
            raise _Refused(path, f"{value:g} lies outside of the allowed range")
        whole = "integer" in shape.kinds and "number" not in shape.kinds
        return int(value) if whole else value
    if shape.may("string"):
        return _text(f"{value:.10g}" if isinstance(value, float) else str(value), shape, path)
    raise _Refused(path, f"a number where {' or '.join(shape.kinds)} is asked for")


_FORMATS: Final = ("date-time", "date", "time", "uri", "url", "email", "uuid", "ipv4", "ipv6", "hostname")


_CAN_BE_CUT: Final = 10
"""Characters in which the beginning of a sentence still says something; half a name or a category says something else."""


def _text(text: str, shape: Shape, path: str) -> str:
    if shape.format in _FORMATS:
        raise _Refused(path, f"a text of the format {shape.format} is asked for")
    if shape.longest is not None and len(text) > shape.longest:
        if shape.longest < _CAN_BE_CUT or " " not in text:
            raise _Refused(path, f"{len(text)} characters do not fit into {shape.longest}")
        text = text[: shape.longest - 1] + "…"
    if len(text) < shape.shortest:
        raise _Refused(path, f"{shape.shortest} characters or more are asked for")
    if shape.pattern and not _fits(shape.pattern, text):
        raise _Refused(path, f"the text does not fit the pattern {shape.pattern[:80]}")
    return text


_PLAIN_PATTERN: Final = re.compile(
    r"^\^?(?:\[[^\[\]]{1,60}\]|\\[dwsDWS]|[\w ./:-])(?:[+*]|\{\d+(?:,\d*)?\})?\$?$"
)


def _fits(pattern: str, text: str) -> bool:
    """Whether a text fits a pattern of one repeated class; others are somebody's and may never end, so nothing is said to fit them."""
    if not _PLAIN_PATTERN.match(pattern):
        return False
    try:
        return re.search(pattern, text[:10_000]) is not None
    except re.error:
        return False


def _plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _visible(value: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in value.items() if v is not None}


def _as_text(value: Any, meaning: str) -> str:
    """An object of the verdict as one line."""
    if not isinstance(value, dict):
        return str(value)
    if meaning == "facts":
        unit = f" {value['unit']}" if value.get("unit") else ""
        number = f"{value['value']:.6g}" if isinstance(value["value"], float) else value["value"]
        return f"{value['name']} = {number}{unit}" + (
            f" ({value['formula']})" if value.get("formula") else ""
        )
    if meaning == "claims":
        return f"{value['status']}: {value['text']} ({value['why']})"
    if meaning == "alternatives":
        return f"{value['category']}: {value['why_not']}"
    if meaning == "tool":
        return f"{value['name']} {value['version']}"
    place = value.get("file") or value.get("path") or ""
    where = f"{place}:{value['line']}" if place and value.get("line") else place
    what = value.get("text") or value.get("why") or ""
    return f"{where}: {what}".strip(": ") if where else str(what)


def _derived(verdict: Verdict) -> dict[str, Any]:
    """What a flat document asks for: parts of the cause, the first failing test, the innermost place in the code."""
    cause = verdict.cause
    inner = next(
        (s for s in verdict.trace if "innermost" in s.why or "comparison" in s.why),
        verdict.trace[-1] if verdict.trace else None,
    )
    about = f"{cause.file}:{cause.line}: {cause.text}" if cause is not None else "no single cause"
    return {
        "summary": f"{verdict.category.value}: {about}. {verdict.recommendation}".strip(),
        "cause_text": cause.text if cause else None,
        "cause_file": cause.file if cause else None,
        "cause_line_number": cause.line if cause else None,
        "signature": cause.signature if cause else None,
        "job": cause.job if cause else None,
        "step": cause.step if cause else None,
        "rank": cause.rank if cause else None,
        "test": next((name for name in verdict.failing if "::" in name), None),
        "source_file": inner.path if inner else None,
        "source_line": inner.line if inner else None,
        "function": (inner.symbol or None) if inner else None,
    }


__all__ = ["CannotFillError", "SchemaError", "fill"]
