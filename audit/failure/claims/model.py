"""A statement of the change's text that can be held against raw telemetry, and what came of it."""

import enum

import msgspec

from audit.documents.verdict import Claim, Fact


class Family(enum.Enum):
    """What a statement is about."""

    SPEED = "speed"
    MEMORY = "memory"
    QUALITY = "quality"
    STABILITY = "stability"
    COMPLETION = "completion"
    SCALE = "scale"
    REGRESSION = "regression"
    TESTS = "tests"
    DETERMINISM = "determinism"
    SPREAD = "spread"
    EVENTS = "events"
    ORIGIN = "origin"  # "unrelated", "flaky": whose failure it is


class Sentence(msgspec.Struct, frozen=True):
    """A sentence or table row of a text. `line` from 1; `cells` with `header` for a table's row. `heading`: of a heading."""

    text: str
    line: int
    cells: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    heading: bool = False


class Quantity(msgspec.Struct, frozen=True):
    """A number as a text states it. `value` in the unit without its multiple ("72.5k tokens/s" is 72500); `unit`: "x", "%", "pp", "", or
    a unit's name; `half` the half unit of its last digit; `relation`: "<", "<=", ">", ">=", "~" or "" as written in front.
    `start`, `end`: where it stands in its sentence.
    """

    value: float
    unit: str
    half: float
    relation: str
    start: int
    end: int


class Statement(msgspec.Struct, frozen=True):
    """A sentence read: its family, the metric in its words, whether it says better or worse (+1, -1, 0), and its numbers.

    `new`, `old`: both sides of "A instead of B". `bound`: "within 0.5 %", "below 0.1". `each`: what it is said of one by one
    ("every seed": `seed`), empty where it is said of all together.
    """

    family: Family
    sentence: Sentence
    metric: str
    direction: int = 0
    quantities: tuple[Quantity, ...] = ()
    new: Quantity | None = None
    old: Quantity | None = None
    bound: Quantity | None = None
    each: str = ""


class ClaimOutcome(msgspec.Struct, frozen=True):
    """A claim with its line in the text and the numbers that decided. `material`: it is about a measurable result, so that a merge
    could rest on it. `places`: the rows used.
    """

    claim: Claim
    line: int
    family: Family
    material: bool
    facts: tuple[Fact, ...] = ()
    places: tuple[str, ...] = ()
