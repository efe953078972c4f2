"""Numbers as texts state them: "2.3x", "+12 %", "72.5k tokens/s", "1.024M tokens", "≤ 1e-3", "5 of 5"."""

import math
import re
from typing import Final

from audit.failure.claims.model import Quantity
from audit.failure.digits import integer

MAX_TEXT: Final = 4_000
_MULTIPLES: Final = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_RELATIONS: Final = {
    "<": "<",
    "≤": "<=",
    "<=": "<=",
    ">": ">",
    "≥": ">=",
    ">=": ">=",
    "~": "~",
    "≈": "~",
    "±": "~",
    "∼": "~",
}
_UNITS: Final = (
    r"%|percentage points?|percent|per cent|pp\b|pts?\b|points?\b|x(?![\w])|×|-?fold\b|times\b"
    r"|tokens?\s?(?:/|per )\s?s(?:ec(?:ond)?)?\b|toks?/s\b|t/s\b|samples?\s?(?:/|per )\s?s(?:ec(?:ond)?)?\b|images?/s\b|img/s\b|it/s\b|steps?/s\b"
    r"|iterations?/s\b|req/s\b|tok/s\b|ms\b|µs\b|us\b|seconds?\b|secs?\b|s\b|minutes?\b|min\b|hours?\b|h\b|GiB\b|GB\b|MiB\b|MB\b|KiB\b|kB\b"
    r"|tokens?\b|steps?\b|iterations?\b|iters?\b|epochs?\b|seeds?\b|runs?\b|samples?\b|params?\b|parameters\b|tests?\b|GPUs?\b"
)
_QUANTITY: Final = re.compile(
    rf"(?P<relation>(?<![-=])(?:<=|>=|[<>≤≥~≈±∼]))?\s{{0,2}}(?P<sign>[+\-−–])?(?<![\w.])(?P<number>\d{{1,15}}(?:,\d{{3}}){{0,5}}(?:\.\d{{1,20}})?(?:[eE][-+]?\d{{1,3}})?)"
    rf"(?P<multiple>[kKMBGT](?![A-Za-z]))?\s{{0,2}}(?P<unit>{_UNITS})?"
)
_RANGE: Final = re.compile(r"\d\s?[–-]\s?$")
_CANONICAL: Final = {
    "percent": "%", "per cent": "%", "percentage point": "pp", "percentage points": "pp", "pts": "pp", "pt": "pp", "point": "pp", "points": "pp",
    "×": "x", "times": "x", "fold": "x", "-fold": "x", "second": "s", "seconds": "s", "sec": "s", "secs": "s", "minute": "min", "minutes": "min",
    "hour": "h", "hours": "h", "us": "µs",
}  # fmt: skip


def quantities(text: str) -> list[Quantity]:
    """The numbers of a sentence in order. Bounded, never raises."""
    found = []
    for match in _QUANTITY.finditer(text[:MAX_TEXT]):
        made = _quantity(match, text)
        if made is not None:
            found.append(made)
    return found


def _quantity(match: re.Match[str], text: str) -> Quantity | None:
    before = text[max(0, match.start("number") - 24) : match.start("number")]
    after = text[match.end("number") : match.end("number") + 3]
    if before[-1:] in ("#", "@", "_", "/") or (after[:1] == "." and after[1:2].isdigit()) or after[:1] == "_":
        return None  # an issue, a revision, a version, a part of a name
    if match["sign"] and text[max(0, match.start("sign") - 1) : match.start("sign")].isalpha():
        return None  # a part of a name: `ResNet-50`, `top-5`
    if before.endswith(("v", "V")) and len(before) > 1 and not before[-2].isalnum():
        return None
    number = match["number"].replace(",", "")
    factor = _MULTIPLES.get(match["multiple"] or "", 1.0)
    unit = _canonical(match["unit"] or "")
    sign = (
        -1.0
        if match["sign"] in ("-", "−", "–") and not _RANGE.search(text[: match.start("number")][-4:])
        else 1.0
    )
    relation = _RELATIONS.get(match["relation"] or "", "") or _word_relation(before)
    value = sign * float(number) * factor
    if not math.isfinite(value):
        return None
    return Quantity(
        value,
        unit,
        _half(number) * factor,
        relation,
        match.start("number"),
        match.end(),
    )


def _canonical(unit: str) -> str:
    plain = " ".join(unit.lower().split()) if unit not in ("GiB", "GB", "MiB", "MB", "KiB", "kB") else unit
    return _CANONICAL.get(plain, plain)


def _half(number: str) -> float:
    """The half unit of a number's last stated digit: 0.05 of "4.0", 0.5 of "72", 5e-4 of "1e-3"."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"5e{(integer(exponent) if exponent else 0) - decimals - 1}")


_WORDS: Final = (
    ("at most ", "<="), ("no more than ", "<="), ("below ", "<"), ("under ", "<"), ("less than ", "<"), ("smaller than ", "<"), ("within ", "<="),
    ("at least ", ">="), ("no less than ", ">="), ("above ", ">"), ("more than ", ">"), ("over ", ">"), ("greater than ", ">"), ("exceeds ", ">"),
    ("about ", "~"), ("around ", "~"), ("approximately ", "~"), ("roughly ", "~"), ("nearly ", "~"), ("almost ", "~"), ("up to ", "<="),
)  # fmt: skip


def _word_relation(before: str) -> str:
    text = before.lower()
    return next(
        (relation for words, relation in _WORDS if text.endswith((words, words + "+", words + "-"))), ""
    )
