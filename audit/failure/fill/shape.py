"""The document that is asked for, as shapes: from a JSON schema, or from an example document."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

MAX_TEXT: Final = 1_000_000
MAX_DEPTH: Final = 24
MAX_SHAPES: Final = 5_000
"""Most places of the document: `$ref`s may repeat each other."""


class SchemaError(ValueError):
    """The file is neither a JSON schema nor an example document."""


class Shape(msgspec.Struct, frozen=True):
    """What may stand at one place. `kinds`: JSON types, empty for any. `values`: the allowed values of `enum` or `const`. `fields` with
    `required` of an object; `others` the shape of further keys (None: none allowed is not said), `closed` where there may be none.
    `item` of an array. `options`: alternatives of `anyOf` and `oneOf`. `example`: the value of an example document.
    """

    kinds: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    fields: tuple[tuple[str, "Shape"], ...] = ()
    required: frozenset[str] = frozenset()
    others: "Shape | None" = None
    closed: bool = False
    item: "Shape | None" = None
    options: tuple["Shape", ...] = ()
    least: float | None = None
    most: float | None = None
    shortest: int = 0
    longest: int | None = None
    pattern: str = ""
    format: str = ""
    example: Any = None

    @property
    def nullable(self) -> bool:
        """Whether null may stand here."""
        return "null" in self.kinds or (None in self.values) or any(o.nullable for o in self.options)

    def may(self, kind: str) -> bool:
        """Whether a value of a JSON type may stand here."""
        return not self.kinds or kind in self.kinds or (kind == "integer" and "number" in self.kinds)


_KEYWORDS: Final = ("$schema", "$defs", "definitions", "$ref", "allOf", "anyOf", "oneOf")
_TYPES: Final = ("object", "array", "string", "number", "integer", "boolean", "null")


def read_shape(text: str) -> Shape:
    """The shape that a file asks for. Raises SchemaError."""
    if len(text) > MAX_TEXT:
        raise SchemaError(f"longer than {MAX_TEXT:,} characters")
    document = _load(text)
    if is_schema(document):
        return _Reader(document).shape(document, 0)
    if isinstance(document, dict) and document:
        return _of_example(document, 0)
    raise SchemaError("neither a JSON schema of an object nor an example document")


def _load(text: str) -> Any:
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"no JSON: {error}") from error


def is_schema(document: Any) -> bool:
    """Whether a document is a JSON schema: it says so, or describes an object's properties as schemas."""
    if not isinstance(document, dict):
        return False
    if any(key in document for key in _KEYWORDS):
        return True
    properties = document.get("properties")
    described = isinstance(properties, dict) and all(isinstance(v, dict | bool) for v in properties.values())
    return document.get("type") == "object" and described


class _Reader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.left = MAX_SHAPES

    def shape(self, schema: Any, depth: int, seen: tuple[str, ...] = ()) -> Shape:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise SchemaError(f"deeper than {MAX_DEPTH} levels, or more than {MAX_SHAPES:,} places")
        if schema is True or schema == {}:
            return Shape()
        if not isinstance(schema, dict):
            raise SchemaError("a part of the schema is no object")
        schema, seen = self._resolved(schema, seen)
        kinds = schema.get("type", ())
        kinds = (kinds,) if isinstance(kinds, str) else tuple(k for k in _listed(kinds) if k in _TYPES)
        options = [o for key in ("anyOf", "oneOf") for o in _listed(schema.get(key))]
        values = tuple(_listed(schema.get("enum"))) or ((schema["const"],) if "const" in schema else ())
        properties = schema.get("properties")
        extra = schema.get("additionalProperties")
        items = schema.get("items")
        fields = properties.items() if isinstance(properties, dict) else ()
        return Shape(
            kinds=kinds or (("object",) if properties else ("array",) if isinstance(items, dict) else ()),
            values=values,
            fields=tuple((str(k), self.shape(v, depth + 1, seen)) for k, v in fields),
            required=frozenset(k for k in _listed(schema.get("required")) if isinstance(k, str)),
            others=self.shape(extra, depth + 1, seen) if isinstance(extra, dict) else None,
            closed=extra is False,
            item=self.shape(items, depth + 1, seen) if isinstance(items, dict) else None,
            options=tuple(self.shape(o, depth + 1, seen) for o in options),
            least=_number(schema.get("minimum")),
            most=_number(schema.get("maximum")),
            shortest=_whole(schema.get("minItems"))
            or _whole(schema.get("minLength"))
            or _whole(schema.get("minProperties"))
            or 0,
            longest=_whole(schema.get("maxItems"))
            if "maxItems" in schema
            else _whole(schema.get("maxLength")),
            pattern=str(schema.get("pattern", "")),
            format=str(schema.get("format", "")),
        )

    def _resolved(
        self, schema: dict[str, Any], seen: tuple[str, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """A schema with its `$ref` followed and its `allOf` parts taken together."""
        merged = {k: v for k, v in schema.items() if k not in ("$ref", "allOf")}
        parts = [self._target(str(schema["$ref"]), seen)] if "$ref" in schema else []
        seen = (*seen, str(schema["$ref"])) if "$ref" in schema else seen
        parts += [p for p in _listed(schema.get("allOf")) if isinstance(p, dict)]
        for part in parts:
            inner, seen = self._resolved(part, seen)
            for key, value in inner.items():
                merged[key] = _both(key, merged[key], value) if key in merged else value
        return merged, seen

    def _target(self, reference: str, seen: tuple[str, ...]) -> dict[str, Any]:
        if not reference.startswith("#") or seen.count(reference) > 2:
            raise SchemaError(f"the reference {reference[:100]} leads out of the file, or in a circle")
        here: Any = self.root
        for part in reference.removeprefix("#").strip("/").split("/") if reference.strip("#/") else []:
            name = part.replace("~1", "/").replace("~0", "~")
            here = here.get(name) if isinstance(here, dict) else None
        if not isinstance(here, dict):
            raise SchemaError(f"the reference {reference[:100]} leads nowhere")
        return here


_LEAST: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_MOST: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")


def _both(key: str, one: Any, other: Any) -> Any:
    """What a keyword asks for where two parts of a schema use it at once. Raises SchemaError where nothing can fit both."""
    if one == other or key in ("title", "description", "examples", "default"):
        return one
    numbers = all(isinstance(value, int | float) for value in (one, other))
    if key == "properties" and isinstance(one, dict) and isinstance(other, dict):
        shared = {name: {"allOf": [one[name], other[name]]} for name in one if name in other}
        return {**other, **one, **shared}
    if key == "required":
        return [*_listed(one), *_listed(other)]
    if key in _LEAST and numbers:
        return max(one, other)
    if key in _MOST and numbers:
        return min(one, other)
    if key == "additionalProperties" and (one is False or other is False):
        return False
    if key in ("type", "enum"):
        left, right = ([value] if isinstance(value, str) else _listed(value) for value in (one, other))
        fits = [value for value in left if value in right or (value == "integer" and "number" in right)]
        fits += [value for value in right if value == "integer" and "number" in left and value not in fits]
        if not fits:
            raise SchemaError(f"nothing can be of the {key}s {str(one)[:60]} and {str(other)[:60]} at once")
        return fits
    if key in ("const", "pattern", "format"):
        raise SchemaError(f"two parts of one schema ask for a {key} each")
    return one


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _of_example(value: Any, depth: int) -> Shape:
    """An example's shape: its keys are all asked for, its values tell the types. A null tells nothing."""
    if depth > MAX_DEPTH:
        raise SchemaError(f"deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if value and _is_map(value):
            return Shape(
                kinds=("object",), others=_of_example(next(iter(value.values())), depth + 1), example=value
            )
        fields = tuple((str(k), _of_example(v, depth + 1)) for k, v in value.items())
        return Shape(
            kinds=("object",),
            fields=fields,
            required=frozenset(k for k, _ in fields),
            closed=bool(fields),
            example=value,
        )
    if isinstance(value, list):
        return Shape(
            kinds=("array",), item=_of_example(value[0], depth + 1) if value else None, example=value
        )
    if isinstance(value, bool):
        return Shape(kinds=("boolean",), example=value)
    if isinstance(value, int | float):
        return Shape(kinds=("number",), example=value)
    if value is None:
        return Shape(example=None)
    text = str(value)
    # "high | medium | low", "one of: a, b": an example that lists what may stand there.
    choices = _choices(text)
    return Shape(kinds=("string",), values=choices, example=text)


_CHOICE: Final = re.compile(r"^<?\s*(?:one of:?\s*)?([\w-]{1,40}(?:\s*[|/]\s*[\w-]{1,40}){1,20})\s*>?$")


def _choices(text: str) -> tuple[str, ...]:
    found = _CHOICE.match(text[:900])
    parts = (
        [p.strip() for p in re.split(r"[|/]", found[1])]
        if found and ("|" in text or text.startswith("<"))
        else []
    )
    return tuple(parts) if len(parts) > 1 else ()


def _is_map(value: Mapping[str, Any]) -> bool:
    """Whether keys are names of things rather than of fields: `<metric>`, `metric_name`, `...`."""
    return all(
        re.match(r"^(?:<.*>|\{.*\}|\.\.\.|(?:metric|test|fact|name)_?(?:name|1|a)?)$", k) for k in value
    )


__all__ = ["SchemaError", "Shape", "is_schema", "read_shape"]
