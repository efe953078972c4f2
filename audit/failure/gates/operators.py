"""Arithmetic and comparisons on values, element by element for arrays; what overflows or mixes kinds is unknown."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, Final

from audit.failure.gates.library import bounded
from audit.failure.gates.values import (
    MAX_ITEMS,
    MAX_TEXT,
    NOTHING,
    Approximate,
    Array,
    PathText,
    V,
    merged,
    raw,
)

MAX_CONSTANT: Final = 1e300
"""Largest literal that is kept."""

_BINARY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: Final[dict[type, tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}


def symbol(node: ast.cmpop) -> str:
    """The comparison as it is written, "" for one that is not of numbers."""
    return _COMPARE[type(node)][0] if type(node) in _COMPARE else ""


def binary(node: ast.operator, left: V, right: V) -> V:
    """`left node right`."""
    if not left.known or not right.known:
        return NOTHING
    if isinstance(left.data, Array) or isinstance(right.data, Array):
        return _spread(lambda a, b: binary(node, a, b), left, right)
    if isinstance(node, ast.Div) and isinstance(left.data, PathText):
        return _joined(left, right)
    if isinstance(node, ast.Pow):
        return _power(left, right)
    if isinstance(node, ast.BitAnd | ast.BitOr | ast.BitXor):
        return _bits(node, left, right)
    function = _BINARY.get(type(node))
    if function is None or not _allowed(node, left.data, right.data):
        return NOTHING
    try:
        return bounded(function(left.data, right.data), left, right)
    except (ArithmeticError, TypeError, ValueError):
        return NOTHING


def _allowed(node: ast.operator, left: Any, right: Any) -> bool:
    """Numbers with numbers; text and lists may only be joined, within bounds."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return True
    if isinstance(node, ast.Add) and type(left) is type(right) and isinstance(left, str | list | tuple):
        return len(left) + len(right) <= (MAX_TEXT if isinstance(left, str) else MAX_ITEMS)
    return False


def _joined(left: V, right: V) -> V:
    part = right.data.path if isinstance(right.data, PathText) else right.data
    if not isinstance(part, str):
        return NOTHING
    return V(PathText(part if part.startswith("/") else f"{left.data.path}/{part}"), merged(left, right))


def _power(left: V, right: V) -> V:
    base, exponent = left.number, right.number
    if base is None or exponent is None or abs(exponent) > 400:
        return NOTHING
    try:
        made = base**exponent
    except (ArithmeticError, ValueError):
        return NOTHING
    if isinstance(made, complex):
        return NOTHING
    whole = isinstance(left.data, int) and isinstance(right.data, int) and exponent >= 0 and abs(made) < 2**53
    return V(int(made) if whole else made, merged(left, right))


def _bits(node: ast.operator, left: V, right: V) -> V:
    if not isinstance(left.data, int) or not isinstance(right.data, int):
        return NOTHING
    functions: dict[type, Callable[[int, int], int]] = {
        ast.BitAnd: operator.and_,
        ast.BitOr: operator.or_,
        ast.BitXor: operator.xor,
    }
    return bounded(functions[type(node)](left.data, right.data), left, right)


def _spread(function: Callable[[V, V], V], left: V, right: V) -> V:
    """Element by element, one number against each element where a side is no list."""
    a = left.data if isinstance(left.data, list) else None
    b = right.data if isinstance(right.data, list) else None
    if a is not None and b is not None:
        if len(a) != len(b):
            return NOTHING
        return V(Array(function(x, y) for x, y in zip(a, b, strict=True)), merged(left, right))
    if a is not None:
        return V(Array(function(x, right) for x in a), merged(left, right))
    return V(Array(function(left, y) for y in b or ()), merged(left, right))


def unary(node: ast.unaryop, value: V) -> V:
    """`-x`, `+x`, `not x`, `~x`."""
    if isinstance(value.data, Array) and not isinstance(node, ast.Not):
        return V(Array(unary(node, item) for item in value.data), value.origins)
    if isinstance(node, ast.Not):
        truth = truth_of(value)
        return NOTHING if truth is None else V(not truth, value.origins)
    if isinstance(node, ast.Invert):
        return V(not value.data, value.origins) if isinstance(value.data, bool) else NOTHING
    if value.number is None:
        return NOTHING
    return V(-value.data if isinstance(node, ast.USub) else value.data, value.origins)


def truth_of(value: V) -> bool | None:
    """Whether a value counts as true, None where that is not known."""
    data = value.data
    if data is None or isinstance(data, bool | int | float | str | list | tuple | dict):
        return bool(data)
    return None


def compare(node: ast.cmpop, left: V, right: V) -> V:
    """`left node right`. Approximate values compare as pytest compares them."""
    if isinstance(node, ast.Is | ast.IsNot):
        return _identity(node, left, right)
    if not left.known or not right.known:
        return NOTHING
    if isinstance(node, ast.In | ast.NotIn):
        return _membership(node, left, right)
    if isinstance(left.data, Approximate) or isinstance(right.data, Approximate):
        return _approximately(node, left, right)
    if isinstance(left.data, Array) or isinstance(right.data, Array):
        return _spread(lambda a, b: compare(node, a, b), left, right)
    try:
        result = _COMPARE[type(node)][1](raw(left), raw(right))
    except (TypeError, ValueError, KeyError):
        return NOTHING
    return V(bool(result), merged(left, right))


def _identity(node: ast.cmpop, left: V, right: V) -> V:
    if not left.known or (left.data is not None and right.data is not None):
        return NOTHING
    same = left.data is None and right.data is None
    return V(same if isinstance(node, ast.Is) else not same)


def _membership(node: ast.cmpop, left: V, right: V) -> V:
    if not isinstance(left.data, str | int | float | bool | None):
        return NOTHING
    if isinstance(right.data, dict):
        found = left.data in right.data
    elif isinstance(right.data, str):
        if not isinstance(left.data, str):
            return NOTHING
        found = left.data in right.data
    elif isinstance(right.data, list | tuple):
        if not all(item.known for item in right.data):
            return NOTHING
        found = any(item.data == left.data for item in right.data)
    else:
        return NOTHING
    return V(found if isinstance(node, ast.In) else not found, merged(left))


def tolerances(value: Approximate) -> tuple[float, float] | None:
    """(relative, absolute) tolerance of `pytest.approx`: 1e-6 and 1e-12 unless given; an absolute one alone switches the relative off."""
    if value.rel is None and value.abs is not None:
        absolute = value.abs.number
        return None if absolute is None else (0.0, absolute)
    rel = 1e-6 if value.rel is None else value.rel.number
    absolute = 1e-12 if value.abs is None else value.abs.number
    return None if rel is None or absolute is None else (rel, absolute)


def _approximately(node: ast.cmpop, left: V, right: V) -> V:
    if not isinstance(node, ast.Eq | ast.NotEq):
        return NOTHING
    approx, other = (left, right) if isinstance(left.data, Approximate) else (right, left)
    allowed = tolerances(approx.data)
    if allowed is None:
        return NOTHING
    close = _near(other, approx.data.expected, *allowed)
    if close is None:
        return NOTHING
    return V(close if isinstance(node, ast.Eq) else not close, merged(left, right))


def _near(actual: V, expected: V, rel: float, absolute: float) -> bool | None:
    """pytest's rule: `abs(actual - expected) <= max(rel * abs(expected), absolute)`."""
    if actual.number is not None and expected.number is not None:
        a, e = actual.number, expected.number
        if a == e:
            return True
        if not math.isfinite(a) or not math.isfinite(e):
            return False
        return abs(a - e) <= max(rel * abs(e), absolute)
    if isinstance(actual.data, list | tuple) and isinstance(expected.data, list | tuple):
        if len(actual.data) != len(expected.data):
            return False
        parts = [_near(a, e, rel, absolute) for a, e in zip(actual.data, expected.data, strict=True)]
        return None if None in parts else all(parts)
    return None
