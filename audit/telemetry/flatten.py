"""Nested JSON as flat names: numbers for series and summaries, scalars for settings."""

from collections.abc import Iterator, Mapping

from audit.telemetry.model import Scalar
from audit.telemetry.numbers import value

_DEPTH = 8
_MAX_NAMES = 5_000
_MAX_TEXT = 1_000


def _walk(item: object, name: str, depth: int) -> Iterator[tuple[str, object]]:
    if not isinstance(item, Mapping):
        yield name, item
    elif depth < _DEPTH:
        for key, inner in item.items():
            yield from _walk(inner, f"{name}.{key}" if name else str(key), depth + 1)


def numbers(document: Mapping[str, object]) -> dict[str, float]:
    """The numbers in a document by dotted name; lists and text are left out."""
    found: dict[str, float] = {}
    for name, item in _walk(document, "", 0):
        number = value(item)
        if number is not None and len(found) < _MAX_NAMES:
            found[name] = number
    return found


def settings(document: Mapping[str, object]) -> dict[str, Scalar]:
    """The scalars in a document by dotted name. An object `{"value": …, "desc": …}`, as W&B writes a setting, is its value."""
    found: dict[str, Scalar] = {}
    plain = {
        key: item["value"]
        if isinstance(item, Mapping) and set(item) <= {"value", "desc"} and "value" in item
        else item
        for key, item in document.items()
    }
    for name, item in _walk(plain, "", 0):
        if (item is None or isinstance(item, str | int | float | bool)) and len(found) < _MAX_NAMES:
            found[name] = item[:_MAX_TEXT] if isinstance(item, str) else item
    return found
