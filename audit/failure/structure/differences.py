"""The numbers that torch and NumPy print under a failed closeness check, and whether they are those of rounding."""

import re
from collections.abc import Iterable

import msgspec

from audit.failure.digits import decimal, integer
from audit.failure.structure.comparison import TIGHT

_N = r"(-?\d[\d.]*(?:[eE][-+]?\d+)?)"
_RELATIVE = re.compile(
    rf"(?:Greatest relative difference|Max relative difference(?: among violations)?|Relative difference): {_N}(?:.*?up to {_N} allowed)?"
)
_ABSOLUTE = re.compile(
    rf"(?:Greatest absolute difference|Max absolute difference(?: among violations)?|Absolute difference): {_N}(?:.*?up to {_N} allowed)?"
)
_NUMPY = re.compile(rf"Not equal to tolerance rtol={_N}, atol={_N}")
_SHARE = re.compile(r"Mismatched elements: (\d+) / (\d+)")
_FEW = 0.001
"""A share of elements so small that a wrong computation would hardly be confined to it."""
_NEAR = 3.0
"""A greatest difference of so many tolerances is at the tolerance's edge."""


class Differences(msgspec.Struct, frozen=True):
    """The greatest differences and what was allowed, each None where not printed; `share`: of mismatched elements."""

    absolute: float | None = None
    relative: float | None = None
    atol: float | None = None
    rtol: float | None = None
    share: float | None = None

    @property
    def of_rounding(self) -> bool:
        """Both the tolerance and the difference are of float32's resolution, so that another order of summation gives it."""
        if self.relative is None or self.rtol is None:
            return False
        return 0 < self.relative < TIGHT and self.rtol < TIGHT

    @property
    def at_the_edge(self) -> bool:
        """Hardly any element differs, and by little more than is allowed."""
        if self.share is None or self.absolute is None or not self.atol:
            return False
        return self.share <= _FEW and self.absolute <= _NEAR * self.atol


def differences(texts: Iterable[str]) -> Differences:
    """What the lines of one failed check state."""
    values: dict[str, float] = {}
    for text in texts:
        line = text[:400]
        for name, allowed, pattern in (("relative", "rtol", _RELATIVE), ("absolute", "atol", _ABSOLUTE)):
            if found := pattern.search(line):
                values[name] = decimal(found[1])
                if found[2]:
                    values[allowed] = decimal(found[2])
        if numpy := _NUMPY.search(line):
            values["rtol"], values["atol"] = decimal(numpy[1]), decimal(numpy[2])
        if share := _SHARE.search(line):
            values["share"] = integer(share[1]) / max(integer(share[2]), 1)
    return Differences(**values)
