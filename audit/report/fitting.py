"""As much of a rendering as fits: what matters least is left out, and nothing is ever cut in two."""

from collections.abc import Callable


def utf16_units(text: str) -> int:
    """The length as GitHub may count it: a character beyond the basic plane is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """The length in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def largest(most: int, draw: Callable[[int], str], fits: Callable[[str], bool]) -> str | None:
    """`draw(n)` for the largest n from 0 to `most` that fits, by bisection (longer with each n); None where not even `draw(0)` does."""
    whole = draw(most)
    if fits(whole):
        return whole
    low, high, best = 0, most - 1, None
    while low <= high:
        middle = (low + high) // 2
        text = draw(middle)
        if fits(text):
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best
