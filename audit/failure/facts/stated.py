"""The numbers of the cause's own line with their units, and what follows from them: ratios of sizes, products, differences, lists."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.make import fact
from audit.failure.model import Line
from audit.telemetry.stdout import parse

_UNITS = r"[KMGTP]i?B\b|[KMGTP]i\b|[KMGT]\b(?! ?[a-z]?=)|bytes\b|B\b|%|milliseconds?\b|ms\b|µs\b|us\b|seconds?\b|secs?\b|s\b|minutes?\b|min\b|hours?\b|h\b"
_NUMBER = re.compile(
    rf"(?<![\w.:-])(?<![A-Za-z_]/)(?<!\./)(?P<number>[-+]?(?:\d{{1,3}}(?:,\d{{3}}){{1,5}}|\d{{1,19}})(?:\.\d{{1,12}})?(?:e[-+]?\d{{1,3}})?)"
    rf"(?:(?P<unit> ?(?:{_UNITS}))|(?![\w:-]|\.\d|/[^\d\s]))(?!\w)"
)
_WORD = re.compile(r"([A-Za-z_][\w.]{0,40})\W{0,6}\Z")
_MOST = 12
_NAMELESS = frozenset(
    "a an the of in is are was at on to for from by than and or but with which has have got be e which that it as only now".split()
)
_CANONICAL = {
    "milliseconds": "ms", "millisecond": "ms", "seconds": "s", "second": "s", "secs": "s", "sec": "s", "minutes": "min", "minute": "min",
    "hours": "h", "hour": "h", "bytes": "B", "us": "µs",
}  # fmt: skip
_BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_BINARY = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50}
_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_COMPARED = re.compile(
    r"!=|==|[<>≤≥]|\b(?:vs\.?|versus|than|exceed\w*|greater|larger|longer|less|smaller|maximum|limit|but|expected|got|instead|only"
    r"|available|of|while|out of range|mismatch|not equal)\b",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"(?P<factors>\d{1,9}(?: ?[*x×] ?\d{1,9}){1,6})")
_FACTOR = re.compile(r"\d{1,9}")


class Stated:
    """One number of the line: its value, unit and name, and in bytes or seconds where the unit is one."""

    def __init__(self, name: str, text: str, unit: str, at: int) -> None:
        self.name, self.text, self.unit, self.at = name, text, unit, at
        self.value = float(text.replace(",", ""))
        self.size = _in_bytes(self.value, unit)
        # A share is a fraction, whatever the line writes.
        told = self.value / 100 if unit == "%" else self.value
        self.plain = int(told) if told.is_integer() and unit != "%" else told
        self.told_unit = "" if unit == "%" else unit
        self.seconds = self.value * _SECONDS[unit] if unit in _SECONDS else None


def _in_bytes(value: float, unit: str) -> float | None:
    if unit in _BYTES:
        return value * _BYTES[unit]
    return value * _BINARY[unit[0]] if unit and unit[0] in _BINARY and unit[1:] in ("", "i", "iB") else None


def facts(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """Of the cause's line, and of the lists of numbers that the lines after it give."""
    if cause is None or len(cause.text) > 2_000:
        return
    place = f"{cause.source}:{cause.number}"
    stated = parse(cause.text)
    if stated is not None and stated.step is not None:
        return  # a metric line: its numbers are those of a series
    yield from _products(cause.text, place)
    if "to allocate" not in cause.text:  # `memory` reads an allocator's report
        found = numbers_of(cause.text)
        yield from _relations(cause.text, found, place)
        yield from _values(found, place)
    yield from _lists(lines, cause)


def numbers_of(text: str) -> list[Stated]:
    """The numbers of a line with their units and the words before them, each once."""
    text = re.sub(r"^\W*\w+ [\d:]+(?:\.\d+)? ", "", text)
    found: list[Stated] = []
    for match in _NUMBER.finditer(text):
        word = _WORD.search(text[: match.start()])
        named = word is not None and word[1].lower() not in _NAMELESS
        unit = (match["unit"] or "").strip()
        one = Stated(
            word[1].lower() if word is not None and named else "",
            match["number"],
            _CANONICAL.get(unit, unit),
            match.start(),
        )
        if math.isfinite(one.value) and all(
            (one.value, one.unit) != (other.value, other.unit) for other in found
        ):
            found.append(one)
        if len(found) == _MOST:
            break
    return found


def _values(found: Sequence[Stated], place: str) -> Iterator[Fact]:
    names: set[str] = set()
    for index, one in enumerate(found, 1):
        name = f"{one.name}_in_cause" if one.name else f"number_{index}_in_cause"
        name = f"{name}_{index}" if name in names else name
        names.add(name)
        inputs = [FactInput("number", one.text + one.unit, place)]
        yield fact(name, one.plain, "as the cause's line says", inputs, unit=one.told_unit)


def _relations(text: str, found: Sequence[Stated], place: str) -> Iterator[Fact]:
    """Of two sizes, two durations or two shares the ratio and the difference, and of two plain numbers that the line compares; of two
    shapes the sizes that differ.
    """
    for kind in ("size", "seconds"):
        alike = [(one, float(getattr(one, kind))) for one in found if getattr(one, kind)]
        for (a, x), (b, y) in list(pairwise(alike))[:2]:
            if x != y:
                yield from _of_two(a, b, x, y, place)
    shares = [one for one in found if one.unit == "%"]
    if len(shares) > 1 and shares[0].value != shares[1].value:
        a, b = shares[:2]
        gap = a.value / 100 - b.value / 100
        yield fact(_pair("minus", a, b), gap, "first - second of the cause's line", _inputs(a, b, place))
        yield fact(_pair("minus", b, a), -gap, "second - first of the cause's line", _inputs(b, a, place))
    shapes = list(_shapes(text))
    for first, second in pairwise(shapes):
        different = [(x, y) for x, y in zip(first, second, strict=False) if x != y]
        if len(first) == len(second) and different:
            x, y = different[0]
            inputs = [FactInput("first", x, place), FactInput("second", y, place)]
            yield fact("size_in_first_shape", x, "size that differs, first shape", inputs)
            yield fact("size_in_second_shape", y, "size that differs, second shape", inputs)
            yield fact("shape_difference", abs(x - y), "difference of these sizes", inputs)
            break
    plain = [one for one in found if not one.unit]
    if len(plain) < 2 or shapes or _COMPARED.search(text) is None:
        return
    a, b = _compared(text, plain)
    yield fact(
        _pair("minus", a, b),
        _whole(a.value - b.value),
        "first - second of the cause's line",
        _inputs(a, b, place),
    )
    if a.value < b.value:
        yield fact(
            _pair("minus", b, a),
            _whole(b.value - a.value),
            "second - first of the cause's line",
            _inputs(b, a, place),
        )
    yield from _of_two(a, b, a.value, b.value, place)


def _of_two(a: Stated, b: Stated, x: float, y: float, place: str) -> Iterator[Fact]:
    if y and math.isfinite(x / y):
        yield fact(_pair("over", a, b), x / y, "first / second of the cause's line", _inputs(a, b, place))
        yield fact(
            _pair("against", a, b), x / y - 1, "first / second - 1 of the cause's line", _inputs(a, b, place)
        )


_SHAPED = re.compile(r"[\[(](?P<sizes>\d{1,9}(?:, ?\d{1,9}){0,7}),?[\])]")


def _shapes(text: str) -> Iterator[list[int]]:
    for _, found in zip(range(6), _SHAPED.finditer(text), strict=False):
        yield [integer(size) for size in _FACTOR.findall(found["sizes"])]


def _compared(text: str, plain: Sequence[Stated]) -> tuple[Stated, Stated]:
    """The two numbers on both sides of the word of comparison, else the last two."""
    for one, other in pairwise(plain):
        if _COMPARED.search(text[one.at : other.at + 40]):
            return one, other
    return plain[-2], plain[-1]


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _pair(word: str, a: Stated, b: Stated) -> str:
    return f"{a.name or 'first'}_{word}_{b.name or 'second'}"


def _inputs(a: Stated, b: Stated, place: str) -> list[FactInput]:
    return [
        FactInput(a.name or "first", a.text + a.unit, place),
        FactInput(b.name or "second", b.text + b.unit, place),
    ]


def _products(text: str, place: str) -> Iterator[Fact]:
    """`256 != 8 * 4 * 4`: what the factors come to, and the other side over it."""
    found = _PRODUCT.search(text)
    if found is None:
        return
    factors = [integer(digits) for digits in _FACTOR.findall(found["factors"])]
    product = math.prod(factors)
    inputs = [FactInput("factor", factor, place) for factor in factors]
    yield fact("product_in_cause", product, " * ".join(map(str, factors)), inputs)
    before = re.search(r"(?<![\w.])(\d{1,12}) ?(?:!=|==?|=/=|vs\.?|<>) ?$", text[: found.start()])
    after = re.match(r" ?(?:!=|==?|=/=|vs\.?) ?(\d{1,12})(?![\w.])", text[found.end() :])
    other = before or after
    if other is not None and product:
        yield fact(
            "stated_over_product",
            integer(other[1]) / product,
            "stated / product",
            [FactInput("stated", other[1], place), *inputs],
        )


_LIST = re.compile(
    r"\b(?P<what>indices|indexes|ids|ranks|parameters|params|keys|rows|columns|layers|shards|nodes"
    r"|seeds)\b[^:\d]{0,80}(?: \d{1,6})?:? ?[\[({]?(?P<numbers>\d{1,9}(?:,? \d{1,9}){1,400})[\])}]?",
    re.IGNORECASE,
)
_NEAR = 12


def _lists(lines: Sequence[Line], cause: Line) -> Iterator[Fact]:
    """How many the line, or one close after it, lists: `Parameter indices …: 148 149 150 151`."""
    near = [
        line for line in lines if line.source == cause.source and 0 <= line.number - cause.number <= _NEAR
    ]
    for line in near:
        found = _LIST.search(line.text) if len(line.text) < 4_000 else None
        if found is None:
            continue
        numbers = _FACTOR.findall(found["numbers"])
        what = found["what"].lower()
        yield fact(
            f"listed_{what}",
            len(numbers),
            f"{what} that the line lists",
            [FactInput("list", found["numbers"][:200], f"{line.source}:{line.number}")],
        )
        return
