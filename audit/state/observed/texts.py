"""Values as code, configuration and commands write them, made into values of the state."""

import ast
import re

from audit.documents.state import Scalar, Value

MAX_ITEMS = 50
"""Most items of a list that is taken as a value."""
MAX_TEXT = 4_000
"""Longest text that is taken as a value, in characters."""

_INTEGER = re.compile(r"[-+]?\d{1,18}(?:_\d{3})*")
_REAL = re.compile(r"[-+]?(?:\d{1,18}\.\d*|\.\d+|\d{1,18}(?=[eE]))(?:[eE][-+]?\d{1,3})?")
_WORDS: dict[str, Scalar] = {
    "true": True,
    "false": False,
    "yes": True,
    "no": False,
    "none": None,
    "null": None,
    "~": None,
}
_PLACEHOLDER = re.compile(
    r"[<>{}$…]|\.\.\.|^\?{3}$|^\[(?-i:[A-Z_ ]+)\]?$|^\[\w+$|^\w+\]$"
    r"|(?:^|[/_\-])(?:path[/_\-]to|your[\w\-]*|my[/_\-]\w+|xxx+|foo|todo)(?:[/_.\-]|$)",
    re.IGNORECASE,
)


def typed(text: str) -> Value:
    """The value that a word of a configuration or a command stands for, as YAML 1.2 and people read it ("2e-5" is a number)."""
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    if _INTEGER.fullmatch(word):
        return int(word.replace("_", ""))
    if _REAL.fullmatch(word):
        return float(word)
    if word[:1] in "[(" and word[-1:] in ")]" and len(word) < MAX_TEXT:
        items = [item.strip().strip("'\"") for item in word[1:-1].split(",") if item.strip()]
        if len(items) <= MAX_ITEMS and not any(c in word[1:-1] for c in "[](){}"):
            return tuple(_scalar(item) for item in items)
    return word.strip("'\"") if word[:1] == word[-1:] else word


def _scalar(text: str) -> Scalar:
    value = typed(text)
    return text if isinstance(value, tuple) else value


def is_placeholder(text: str) -> bool:
    """Whether a word of a command stands for something that the reader is to fill in, or a variable that is not known."""
    return bool(_PLACEHOLDER.search(text))


class NoLiteral(Exception):
    """An expression that is no literal."""


def literal(text: str) -> Value:
    """The value of an expression's text. Raises NoLiteral where it is none, or too large."""
    if not text or len(text) > MAX_TEXT or text[-1] == "…":
        raise NoLiteral
    first = text[0]
    if not (first in "'\"([{-+." or first.isdigit() or text in ("True", "False", "None")):
        raise NoLiteral
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = _arithmetic(text)
    return _value(value)


def _arithmetic(text: str) -> object:
    """A product, quotient or power of plain numbers (`5 * 32`, `1 / 4`)."""
    match = _PRODUCT.fullmatch(text)
    if match is None:
        raise NoLiteral
    left, right = (float(part) if not part.isdigit() else int(part) for part in (match[1], match[3]))
    if match[2] == "*":
        return left * right
    if match[2] == "**":
        if abs(right) > 64 or abs(left) > 1024:
            raise NoLiteral
        return left**right
    if not right:
        raise NoLiteral
    return left / right


_PRODUCT = re.compile(r"(\d{1,12}(?:\.\d*)?(?:e-?\d{1,2})?) (\*\*|\*|/) (\d{1,12}(?:\.\d*)?(?:e-?\d{1,2})?)")


def _value(value: object) -> Value:
    if isinstance(value, str):
        if value.endswith("…") or len(value) > MAX_TEXT:
            raise NoLiteral
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple, set)) and len(value) <= MAX_ITEMS:
        items = sorted(value, key=str) if isinstance(value, set) else list(value)
        if all(item is None or isinstance(item, (str, int, float)) for item in items):
            return tuple(items)
    raise NoLiteral
