"""Which of a sentence's numbers is the value, which one the change: others count things, name steps, or belong to something else."""

import re
from collections.abc import Sequence
from typing import Final

from audit.failure.claims.model import Quantity, Statement
from audit.failure.digits import integer

_COUNTED: Final = re.compile(
    r"\s(?:[a-z-]+ )?[a-z]{2,}s\b(?!\s*(?:than|better|worse|lower|higher))", re.IGNORECASE
)
"""`3 datasets`, `8 held-out tasks`."""
_NAMED: Final = re.compile(
    r"\b(?:steps?|iterations?|iters?|epochs?|seeds?|layers?|top|version|tables?|fig(?:ure|\.)?|sections?|batch(?: size)?|rank|level|stage"
    r"|part|phase|k|n)[ =:]$",
    re.IGNORECASE,
)
_OF_MANY: Final = re.compile(r"\s?(?:/|of|out of)\s?(?:the )?\d")
_MANY: Final = re.compile(r"\d\s?(?:/|of|out of)\s?(?:the )?$")
_LINK: Final = re.compile(
    r"(?:\b(?:is|was|of|to|reach(?:es|ed|ing)?|hits?|scor(?:es|ed)|achiev(?:es|ed)|gets?|got|stays?(?: at)?|stands at|ends at|below|under"
    r"|above|over|at least|at most|than"
    r"|about|around|than|exceeds?)|[=:≈~<>≤≥(])\s*$",
    re.IGNORECASE,
)
_BY: Final = re.compile(
    r"(?:\b(?:by(?: (?:about|around|roughly|at least|at most|more than|less than|up to|over|nearly|almost))?|gains?(?: of)?"
    r"|improv\w+(?: of)?|drops?(?: of)?|reduc\w+(?: of)?"
    r"|increas\w+(?: of)?|decreas\w+(?: of)?|up|down|rises?|falls?|loses?|costs?|adds?)|[(=,:+\-−–~≈]|\bis|\bare|\ba|\ban)\s*+(?:[+\-−–~≈]\s*+)?$",
    re.IGNORECASE,
)
_THAN: Final = re.compile(
    r"\s?(?:relative(?:ly)?|absolute|abs\.?|rel\.?)?\s?(?:better|worse|lower|higher|less|more|drop|gain|improvement|increase|decrease"
    r"|reduction|degradation|regression|loss)\b",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    r"\s?(?:fewer|less|more|faster|slower|smaller|larger|longer|shorter|of the|of all|cheaper|sparsity|sparse|dropout"
    r"|warm-?up)\b(?! (?:accura|loss|error|perplex|score))",
    re.IGNORECASE,
)
_WORDS: Final = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def whole(word: str | None) -> int | None:
    """A count in digits or as a word."""
    if not word:
        return None
    if word.isdecimal():
        return integer(word)
    lowered = word.lower()
    return _WORDS.index(lowered) if lowered in _WORDS else None


def values(statement: Statement) -> list[Quantity]:
    """The numbers that can be the metric's value, the likeliest first: after a linking word, then near to the metric."""
    text = statement.sentence.text
    at = text.lower().find(statement.metric.rpartition(" ")[2]) if statement.metric else 0
    found = [q for q in statement.quantities if q.unit in ("", "%", "pp") and not _counts(q, text)]
    return sorted(
        found, key=lambda q: (_LINK.search(text[: q.start]) is None and not q.relation, abs(q.start - at))
    )


def _counts(q: Quantity, text: str) -> bool:
    """Whether a number counts or names something rather than being a metric's value."""
    before, after = text[max(0, q.start - 24) : q.start], text[q.end : q.end + 40]
    if q.unit:
        return False
    written = text[q.start : q.end].strip()
    return bool(
        _NAMED.search(before)
        or _OF_MANY.match(after)
        or _MANY.search(before)
        or written[-1:] in "kKMBGT"
        or (written.isdecimal() and _COUNTED.match(after))
    )


def amounts(statement: Statement, among: Sequence[str] = ("%", "pp", "x", "")) -> list[Quantity]:
    """The numbers that state a change of the metric: `by 0.02`, `1.2 points better`, `(+3 %)`; not a share of something else
    (`with 10 % fewer steps`), and of plain numbers only those that are called a change.
    """
    text = statement.sentence.text
    found = []
    for q in statement.quantities:
        if (
            q.unit not in among
            or q in (statement.new, statement.old)
            or _OTHERS.match(text[q.end : q.end + 30])
        ):
            continue
        before, after = text[max(0, q.start - 30) : q.start], text[q.end : q.end + 40]
        called = (
            bool(_BY.search(before))
            or bool(_THAN.match(after))
            or text[q.start - 1 : q.start] in ("+", "-", "−", "–")
        )
        if q.unit == "pp" or (called and (q.unit or (not _counts(q, text) and _plainly(before, after)))):
            found.append(q)
    return found


_PLAINLY: Final = re.compile(
    r"\b(?:by(?: \w+){0,2}|gains?|gain of|improvement of|drop of)\s*+(?:[+\-−–~≈]\s*+)?$|[+\-−–]\s*+$",
    re.IGNORECASE,
)


def _plainly(before: str, after: str) -> bool:
    return bool(_PLAINLY.search(before)) or bool(_THAN.match(after))
