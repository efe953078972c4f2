"""What a check comes to, and how close is close enough."""

import math
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import ClaimStatus, Fact, FactInput
from audit.failure.claims.model import Quantity

SUPPORTED, CONTRADICTED, NOT_DERIVABLE = (
    ClaimStatus.SUPPORTED,
    ClaimStatus.CONTRADICTED,
    ClaimStatus.NOT_DERIVABLE,
)


class Result(msgspec.Struct, frozen=True):
    """A status with its reason and numbers."""

    status: ClaimStatus
    why: str
    facts: tuple[Fact, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        """The rows that were used."""
        return tuple(dict.fromkeys(i.source for f in self.facts for i in f.inputs if i.source))


def unknown(why: str, facts: Sequence[Fact] = ()) -> Result:
    return Result(NOT_DERIVABLE, why, tuple(facts))


def verdict(holds: bool, why: str, facts: Sequence[Fact] = ()) -> Result:
    return Result(SUPPORTED if holds else CONTRADICTED, why, tuple(facts))


def agrees(claimed: Quantity, computed: float, noise: float = 0.0, scale: float = 1.0) -> bool:
    """Whether a computed number is what a text states: within the half unit of its last digit or the measure's noise, whichever is
    larger, in the direction that "at least", "below" and the like give. `scale`: the claim's unit in the computed one's.
    """
    value, half = claimed.value * scale, claimed.half * abs(scale)
    slack = max(half * 1.0000001, noise, 1e-9 * abs(value))
    if not math.isfinite(computed):
        return False
    if claimed.relation in ("<", "<="):
        return computed <= value + noise + 1e-12 * abs(value)
    if claimed.relation in (">", ">="):
        return computed >= value - noise - 1e-12 * abs(value)
    if claimed.relation == "~":
        slack = max(slack, 0.1 * abs(value))  # "about": a tenth
    return abs(computed - value) <= slack


def shown(value: float) -> str:
    """A number in a sentence: five significant digits."""
    return f"{value:.5g}"


def fact(name: str, value: float, formula: str, *inputs: FactInput) -> Fact:
    return Fact(name=name, value=value, formula=formula, inputs=inputs)
