"""As much of a rendering as fits: what matters least is left out, and nothing is ever cut in two."""

from collections.abc import Callable


def utf16_units(text: str) -> int:
    """The length as GitHub may count it: a character beyond the basic plane is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """The length in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


_EXACT = 64
_CLOSE = 0.9


def largest(most: int, draw: Callable[[int], str], measure: Callable[[str], int], budget: int) -> str | None:
    """`draw(n)` for the largest n from 0 to `most` whose measure is within the budget; None where not even `draw(0)` is.

    Each draw costs time that grows with n, and length grows about evenly with n, so the next n is where the budget is expected to be
    reached. Of more than a few dozen rows, an n that fills nine tenths of the budget is good enough.
    """
    whole = draw(most)
    above = measure(whole)
    if above <= budget:
        return whole
    best = draw(0)
    below = measure(best)
    if below > budget:
        return None
    low, high = 0, most
    for attempt in range(2 * most.bit_length() + 2):
        if high - low <= 1 or (most > _EXACT and below >= budget * _CLOSE):
            break
        expected = low + int((high - low) * (budget - below) / max(above - below, 1))
        # Rows of very unequal length mislead the expectation: every other step halves the range.
        middle = min(max(expected, low + 1), high - 1) if attempt % 2 == 0 else (low + high) // 2
        text = draw(middle)
        if (size := measure(text)) <= budget:
            low, below, best = middle, size, text
        else:
            high, above = middle, size
    return best
