"""The value that an expression's text spells, where it spells one."""

import ast
import math
import re
from functools import lru_cache

from audit.documents.state import Scalar, Value

_LONGEST = 5_000  # more than the facts keep of any text
_ARITHMETIC = re.compile(r"[\d\s.eE+\-*/()_]{1,100}")
_CONSTANT = re.compile(r"(?:torch|tensorflow|jax|numpy|keras|optax|flax)(?:\.\w{1,60}){1,5}")
_CAST = re.compile(r"(?:float|int|str|bool)\((.{1,100})\)")
_MOST_EXPONENT = 64


class Unknown(Exception):
    """The text spells no value: only a run decides it."""


@lru_cache(1 << 12)
def value_of(text: str) -> Value:
    """The value of a literal, of arithmetic on numbers, or the name of a library's constant (`torch.bfloat16`). Raises Unknown."""
    if not text or len(text) > _LONGEST or "…" in text:
        raise Unknown
    if _CONSTANT.fullmatch(text):
        return text
    if match := _CAST.fullmatch(text):
        return value_of(match[1].strip("'\""))
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = _computed(text) if _ARITHMETIC.fullmatch(text) else _put_together(text)
    return _as_value(value)


def entries_of(text: str) -> dict[str, Value]:
    """The items of a dictionary's text, nested ones under dotted keys; those that spell no value are left out. Empty for what is no dictionary."""
    if text[:1] != "{" or len(text) > _LONGEST or "…" in text:
        return {}
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    found: dict[str, Value] = {}
    stack: list[tuple[str, ast.expr]] = [("", node)]
    while stack:
        prefix, part = stack.pop()
        if isinstance(part, ast.Dict):
            for key, value in zip(part.keys, part.values, strict=True):
                if isinstance(key, ast.Constant):
                    stack.append((f"{prefix}.{key.value!s}" if prefix else str(key.value), value))
        elif prefix:
            try:
                found[prefix] = value_of(ast.unparse(part))
            except (Unknown, RecursionError):
                continue
    return dict(sorted(found.items()))


def _as_value(value: object) -> Value:
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        if not all(item is None or isinstance(item, (bool, int, float, str)) for item in items):
            return repr(value)
        return tuple(item for item in items)
    if value is None or isinstance(value, (bool, int, float, str)):
        return _bounded(value)
    raise Unknown


def _bounded(value: Scalar) -> Scalar:
    if isinstance(value, int) and value.bit_length() > 63:
        return str(value) if value.bit_length() < 4_000 else "a very large integer"
    return value


def _put_together(text: str) -> str:
    """Texts that are added to one another, as long ones are written."""
    if text[:1] not in "'\"" or " + " not in text:
        raise Unknown
    try:
        node: ast.expr = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise Unknown from None
    parts: list[str] = []
    while (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
    ):
        parts.append(str(node.right.value) if isinstance(node.right.value, str) else "")
        node = node.left
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not all(parts):
        raise Unknown
    return node.value + "".join(reversed(parts))


def _computed(text: str) -> int | float:
    """The result of arithmetic on numbers, bounded."""
    try:
        return _evaluated(ast.parse(text, mode="eval").body, 0)
    except (SyntaxError, ValueError, ArithmeticError, MemoryError, RecursionError):
        raise Unknown from None


def _evaluated(node: ast.expr, depth: int) -> int | float:
    if depth > 20:
        raise Unknown
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluated(node.operand, depth + 1)
        return -value if isinstance(node.op, ast.USub) else value
    if not isinstance(node, ast.BinOp):
        raise Unknown
    left, right = _evaluated(node.left, depth + 1), _evaluated(node.right, depth + 1)
    match node.op:
        case ast.Add():
            value = left + right
        case ast.Sub():
            value = left - right
        case ast.Mult():
            value = left * right
        case ast.Div():
            value = left / right
        case ast.FloorDiv():
            value = left // right
        case ast.Pow() if abs(right) <= _MOST_EXPONENT and abs(left) <= 10_000:
            value = left**right
        case _:
            raise Unknown
    if (
        isinstance(value, complex)
        or (isinstance(value, float) and not math.isfinite(value))
        or abs(value) > 1e30
    ):
        raise Unknown
    return value
