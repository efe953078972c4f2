"""When two values of a setting mean the same, however they are written, and by how much two numbers differ.

A value reaches a state as YAML, JSON, a Python literal, a command's word or a line of a log: `2e-5`, `0.00002` and `"2e-5"` are one learning rate.
What must be equal to the letter is not read as a number: as versions, `3.1` and `3.10` are two.
"""

import math
import re

from audit.documents.state import Scalar, Value

_TOLERANCE = 1e-9
"""Relative: far above what writing a double in decimal and reading it back loses, far below any change that somebody makes."""

# At most 40 characters: no setting needs more, and Python's int() is quadratic in the length of its text.
_NUMBER = re.compile(
    r"[-+]?(?:(?:0|[1-9]\d{0,39}(?:_\d{1,3}){0,12})(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?"
)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,39}(?:_\d{1,3}){0,12})")
_BOOLEANS = {"true": True, "false": False}
_NOTHING = frozenset({"none", "null", "~"})
_INFINITIES = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, ".inf": math.inf, "-.inf": -math.inf}
_MOST_LIST = 10_000

_VERBATIM = re.compile(
    r"(?:^|[._])(?:id|revision|version|tag|digest|sha256|commit|python|image|url|path|text)$|^(?:dependencies|environment|containers)\."
)


def is_verbatim(setting: str) -> bool:
    """Whether values of this path are compared to the letter: identities, versions, paths and texts are no numbers."""
    return bool(_VERBATIM.search(setting))


def same(a: Value, b: Value, *, verbatim: bool = False) -> bool:
    """Whether two values mean the same.

    Numbers are equal within 1e-9, as text too; truth values and nothing in either spelling (`True`, `"true"`; `None`, `null`); lists item by item,
    also where one is written as text (`"[a, b]"`, `"a,b"`) or holds one item only; texts but for line ends and quotes around them.
    A truth value is not a number: 1 is not True. `verbatim`: texts are compared to the letter but for line ends.
    """
    if verbatim:
        return _verbatim(a) == _verbatim(b)
    first, second = normal(a), normal(b)
    if isinstance(first, tuple) or isinstance(second, tuple):
        return _same_lists(first, second)
    return _same_scalars(first, second)


def same_setting(setting: str, a: Value, b: Value) -> bool:
    """`same` for the values of one path of a state: see `is_verbatim`."""
    return same(a, b, verbatim=is_verbatim(setting))


def normal(value: Value) -> Value:
    """`value` in its plainest form: numbers, truth values and nothing out of their text, a bracketed text as list, LF line ends, no quotes."""
    if isinstance(value, tuple):
        return tuple(_normal_scalar(item) for item in value)
    if isinstance(value, str) and (items := _bracketed(value)) is not None:
        return items
    return _normal_scalar(value)


def number(value: Value) -> int | float | None:
    """The number that a value is or spells; None where it is none (a truth value is none)."""
    plain = normal(value)
    return None if isinstance(plain, (bool, str, tuple)) else plain


def relative(a: Value, b: Value) -> float | None:
    """(b - a) / |a| of two finite numbers; None where either is none or a is zero."""
    before, after = number(a), number(b)
    if before is None or after is None or before == 0:
        return None
    try:
        change = (after - before) / abs(before)
    except OverflowError:
        return None
    return change if math.isfinite(change) else None


def _verbatim(value: Value) -> Value:
    if isinstance(value, tuple):
        return tuple(_unix(item) if isinstance(item, str) else item for item in value)
    if isinstance(value, str):
        return _unix(value)
    return value if value is None or isinstance(value, bool) else str(value)


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _normal_scalar(value: Scalar) -> Scalar:
    if not isinstance(value, str):
        return value
    text = value.strip() if len(value) < 200 else value
    if len(text) < 100:
        if _NUMBER.fullmatch(text):
            return _parsed(text)
        low = text.lower()
        if low in _BOOLEANS:
            return _BOOLEANS[low]
        if low in _NOTHING:
            return None
        if low in _INFINITIES:
            return _INFINITIES[low]
    return _unix(_unquoted(value))


def _parsed(text: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text)


def _unquoted(text: str) -> str:
    """The text between one pair of quotes that hold all of it."""
    quote = text[:1]
    if len(text) > 1 and quote in "'\"" and text.endswith(quote) and quote not in text[1:-1]:
        return text[1:-1]
    return text


def _bracketed(text: str) -> tuple[Scalar, ...] | None:
    """The items of `[a, b]` or `(a, b)` without brackets inside; None for other texts."""
    inner = text.strip()
    if len(inner) > _MOST_LIST or inner[:1] + inner[-1:] not in ("[]", "()") or len(inner) < 2:
        return None
    inner = inner[1:-1].strip()
    if any(mark in inner for mark in "[](){}\n"):
        return None
    return tuple(_normal_scalar(item.strip()) for item in inner.removesuffix(",").split(",")) if inner else ()


def _same_lists(a: Value, b: Value) -> bool:
    first, second = _items(a, b), _items(b, a)
    if len(first) != len(second):
        return False
    return all(_same_scalars(x, y) for x, y in zip(first, second, strict=True))


def _items(value: Value, other: Value) -> tuple[Scalar, ...]:
    """`value` as list beside the list `other`: a text is divided at commas, or at spaces where it has none."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, str) and isinstance(other, tuple) and len(other) > 1 and len(value) <= _MOST_LIST:
        parts = value.split(",") if "," in value else value.split()
        return tuple(_normal_scalar(part.strip()) for part in parts)
    return (value,)


def _same_scalars(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return _close(a, b)
    return a == b


def _close(a: float, b: float) -> bool:
    try:
        x, y = float(a), float(b)
    except OverflowError:
        return a == b
    return (math.isnan(x) and math.isnan(y)) or math.isclose(x, y, rel_tol=_TOLERANCE, abs_tol=0.0)
