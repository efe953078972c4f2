"""Turns what a pattern captured into values with units."""

import math
import re

from audit.failure.model import Capture

_SIZE = re.compile(r"([\d.]+) ?([KMGTP]?)(?:i?B|bytes)?", re.IGNORECASE)
_GIB = {"": 2**-30, "K": 2**-20, "M": 2**-10, "G": 1.0, "T": 1024.0, "P": 1024.0**2}
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?")
# pytest and torch quote values whole; more is no number.
_LONGEST = 300


def captures(match: re.Match[str], units: dict[str, str]) -> tuple[Capture, ...]:
    """One for each group that took part in the match, in the order of the pattern."""
    found = []
    for name, text in match.groupdict().items():
        if text is not None:
            short = text.strip()[:_LONGEST]
            found.append(Capture(name, short, units[name], _value(short, units[name])))
    return tuple(found)


def _value(text: str, unit: str) -> float | None:
    if unit == "text":
        return None
    if unit == "GiB":
        size = _SIZE.fullmatch(text)
        return _finite(size[1], _GIB[size[2].upper()]) if size else None
    number = _NUMBER.search(text)
    if number is None:
        return None
    return _finite(number[0].replace("_", ""), 0.01 if unit == "fraction" else 1.0)


def _finite(text: str, factor: float) -> float | None:
    try:
        value = float(text) * factor
    except ValueError:
        return None
    return value if math.isfinite(value) else None
