"""Numbers as files write them."""

import math

_WORDS = {"true": 1.0, "false": 0.0}
_NOT_FINITE = {
    "nan": math.nan, "+nan": math.nan, "-nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf,
    "infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf,
}  # fmt: skip
_LONGEST = 400


def number(text: str) -> float | None:
    """The number that a cell holds (`nan`, `inf`, `true` among them), None where it holds none or nothing.

    Stricter than `float`: no underscores, and no digits but ASCII.
    """
    if len(text) > _LONGEST:
        return None
    try:
        found = float(text)
    except ValueError:
        return _WORDS.get(text.strip().lower()) if len(text) < 10 else None
    return found if text.isascii() and "_" not in text else None


def value(item: object) -> float | None:
    """The number that a JSON value is: numbers, true and false, and the words for what is not finite; None of all else."""
    if isinstance(item, bool):
        return float(item)
    if isinstance(item, int | float):
        try:
            return float(item)
        except OverflowError:
            return math.inf if item > 0 else -math.inf
    if isinstance(item, str) and len(item) < 10:
        return _NOT_FINITE.get(item.strip().lower())
    return None


def whole(item: object) -> int | None:
    """A step: an integer, or a float or text that is one; None of all else."""
    if isinstance(item, str):
        item = number(item)
    found = value(item)
    return int(found) if found is not None and math.isfinite(found) and found == int(found) else None
