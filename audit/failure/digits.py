"""Numbers as logs write them."""

import math

_LONGEST = 18
"""Digits that fit 64 bits; a log may write any number of them, and Python refuses to read, divide or print some."""


def integer(digits: str) -> int:
    """The number that digits write; of absurdly many only the first count."""
    return int(digits[:_LONGEST])


def decimal(text: str) -> float:
    """The number that digits and points write; NaN, which holds no comparison, where they write none (`1.2.3`)."""
    try:
        return float(text)
    except ValueError:
        return math.nan
