"""Run-to-run deviation that a repository states beside a limit: in the file of the baseline, or in a comment."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_STATED: Final = re.compile(
    r"(?:standard deviations?|std\.? ?dev|stdev|std|sigma|σ|run[- ]to[- ]run (?:variation|noise|spread)|noise|variation|cv)\b"
    r"[^\d\n±]{0,24}±?\s*(?P<n>\d{1,6}(?:\.\d{1,12})?(?:e-?\d{1,3})?)\s{0,2}(?P<p>%|per ?cent)?",
    re.IGNORECASE,
)
_PLUS_MINUS: Final = re.compile(r"(?:±|\+/-|\+-)\s{0,2}(?P<n>\d{1,6}(?:\.\d{1,12})?)\s{0,2}(?P<p>%)?")
_KEY: Final = re.compile(r"(^|_)(std|stdev|stddev|sigma|cv|noise|deviation)($|_)", re.IGNORECASE)


def stated(texts: Iterable[str], reference: float | None) -> float | None:
    """The relative deviation that texts state of a reference: per cent as they are, plain numbers as a fraction of the reference."""
    for text in texts:
        for pattern in (_STATED, _PLUS_MINUS):
            for found in pattern.finditer(text[:20_000]):
                noise = _relative(float(found["n"]), bool(found["p"]), reference)
                if noise is not None:
                    return noise
    return None


def _relative(value: float, percent: bool, reference: float | None) -> float | None:
    if percent:
        return value / 100
    if reference in (None, 0.0) or not math.isfinite(reference or 0.0):
        return None
    made = value / abs(reference or 1.0)
    return made if 0 < made < 0.5 else None  # a deviation of half the value is no deviation of it


def beside(document: Any, key: str, reference: float | None) -> float | None:
    """The deviation stated in a stored document: a key such as `tokens_per_sec_std` or `std` beside the value, or a sentence."""
    block = _parent(document, key)
    if not isinstance(block, Mapping):
        return None
    for name, value in block.items():
        if _KEY.search(str(name)) and isinstance(value, int | float) and not isinstance(value, bool):
            percent = str(name).lower().endswith(("pct", "percent", "cv")) and value >= 1
            noise = (
                value
                if str(name).lower().endswith("cv") and value < 1
                else _relative(float(value), percent, reference)
            )
            if noise is not None:
                return float(noise)
    own = key.rpartition(".")[2]
    others = [str(k) for k in block if str(k) != own and len(str(k)) > 3]
    sentences = [v for v in block.values() if isinstance(v, str)]
    # A sentence that names another value of the block speaks of that one.
    return stated((s for s in sentences if own in s or not any(o in s for o in others)), reference)


def _parent(document: Any, key: str) -> Any:
    here = document
    for part in key.split(".")[:-1]:
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def comments_near(text: str, line: int, before: int = 3) -> list[str]:
    """Comments of the lines just above `line`, and of that line itself."""
    lines = text.split("\n")
    near = lines[max(0, line - 1 - before) : line]
    return [part for row in near if (part := row.partition("#")[2])]
