"""When two declarations of a package's versions mean the same: pip's, Poetry's and conda's spellings of one range."""

import re
from functools import lru_cache

from audit.documents.state import Value

_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>|\^|~|=)?v?(\d[\w.+!*]*|\*)")
_LONGEST = 200

Clauses = frozenset[tuple[str, tuple[str, ...]]]


def same_versions(a: Value, b: Value) -> bool:
    """Whether two declarations allow the same versions; what is none of the known spellings is compared to the letter."""
    if a == b:
        return True
    first, second = clauses(str(a)), clauses(str(b))
    return first is not None and first == second


@lru_cache(1 << 12)
def clauses(text: str) -> Clauses | None:
    """The bounds of a declaration, each as an operator and a version without trailing zeros; None for what is no such thing (an address)."""
    plain = text.replace(" ", "").strip("()")
    if len(plain) > _LONGEST:
        return None
    if plain in ("", "*", "anyversion"):
        return frozenset()
    found: set[tuple[str, tuple[str, ...]]] = set()
    for part in plain.split(","):
        match = _CLAUSE.fullmatch(part)
        if match is None:
            return None
        found |= _bounds(match[1] or "==", match[2])
    return frozenset(found)


def _bounds(operator: str, version: str) -> set[tuple[str, tuple[str, ...]]]:
    """`^1.2` as `>=1.2` and `<2`; `=1.2` of conda as `==1.2.*`."""
    if version == "*":
        return set()
    parts = tuple(version.lower().split("."))
    if operator == "=":
        return {("==", parts if parts[-1] == "*" else (*parts, "*"))}
    if operator in ("^", "~", "~="):
        return {(">=", _trimmed(parts)), ("<", _trimmed(_above(operator, parts)))}
    return {("==" if operator == "===" else operator, parts if parts[-1] == "*" else _trimmed(parts))}


def _above(operator: str, parts: tuple[str, ...]) -> tuple[str, ...]:
    """The version below which a compatible release stays."""
    numbers = [int(digits[0]) if (digits := re.match(r"\d{1,9}", part)) else 0 for part in parts]
    if operator == "^":
        place = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
    elif operator == "~":
        place = min(1, len(numbers) - 1)
    else:
        place = max(len(numbers) - 2, 0)
    return tuple(str(number) for number in (*numbers[:place], numbers[place] + 1))


def _trimmed(parts: tuple[str, ...]) -> tuple[str, ...]:
    while len(parts) > 1 and parts[-1] == "0":
        parts = parts[:-1]
    return parts
