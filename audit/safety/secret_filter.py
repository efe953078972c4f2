"""A quick look at whether a text can hold a credential at all: one pass of Hyperscan with all shapes at once.

It lets through more than there is, never less: the shapes with open ends, words around a value by their outline. What it lets
through is read by the expressions that decide.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

_REPEAT: Final = re.compile(r"\{(\d+)(,?)\d*\}\+?")
_VALUE: Final = r"""s?(?:[_-][\w\x80-\xff-]{0,120})?["'\]]{0,2}[ \t]{0,4}(?:=>|[=:,( ])[\s]{0,4}["']{0,3}[A-Za-z0-9_\-+/=.~!@#$%^&*]{20}"""
_OTHERS: Final = (
    r"-----BEGIN",
    r"""://[^\s:/@"'<>{}$%\[\]]{0,400}:[^\s/@"'<>]{3}""",
    r"\d{8}:AA[A-Za-z0-9_-]{33}",
)


def compiled(shapes: Sequence[str], words: str) -> Callable[[str], bool] | None:
    """Answers whether a text can hold one of `shapes`, or a value behind one of `words`; None where Hyperscan cannot be had."""
    try:
        import hyperscan
    except ImportError:  # no wheel for this platform
        return None
    expressions = [*map(_outline, shapes), f"(?i:{words}){_VALUE}", *_OTHERS]
    database = hyperscan.Database()
    database.compile(
        expressions=[expression.encode() for expression in expressions],
        ids=list(range(len(expressions))),
        flags=hyperscan.HS_FLAG_SINGLEMATCH,
    )

    def may_hold(text: str) -> bool:
        found: list[int] = []

        def hit(number: int, *_: Any) -> bool:
            found.append(number)
            return True  # one is enough: the scan ends here

        try:
            database.scan(text.encode("utf-8", "surrogatepass"), match_event_handler=hit)
        except hyperscan.ScanTerminated:
            return True
        return bool(found)

    return may_hold


def _outline(shape: str) -> str:
    """The shape as Hyperscan takes it: no groups with a name, nothing possessive, and repetitions without an upper end, which would cost it states."""
    return _REPEAT.sub(r"{\1\2}", shape.replace("(?P<key>", "(?:"))
