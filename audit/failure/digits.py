"""Whole numbers as logs write them."""

_LONGEST = 18
"""Digits that fit 64 bits; a log may write any number of them, and Python refuses to read, divide or print some."""


def integer(digits: str) -> int:
    """The number that digits write; of absurdly many only the first count."""
    return int(digits[:_LONGEST])
