"""Rows of result tables as statements: a metric, its value before and after."""

import re
from typing import Final

from audit.failure.claims.grammar import _QUALITY, _SPEED
from audit.failure.claims.model import Family, Sentence, Statement
from audit.failure.claims.quantities import quantities

_OLD: Final = re.compile(
    r"\b(?:main|master|base(?:line)?|before|old|previous|ref(?:erence)?|upstream|original)\b", re.IGNORECASE
)
_NEW: Final = re.compile(
    r"\b(?:pr|this|branch|after|new|candidate|ours|change|patch|head|proposed)\b", re.IGNORECASE
)


def table_statements(sentence: Sentence) -> list[Statement]:
    """The statement of a row `| validation loss | 1.04 | 1.03 |` under a header that tells both sides; nothing for other tables."""
    old = _column(sentence.header, _OLD)
    new = _column(sentence.header, _NEW)
    if old is None or new is None or old == new or max(old, new) >= len(sentence.cells):
        return []
    before, after = quantities(sentence.cells[old]), quantities(sentence.cells[new])
    metric = sentence.cells[0]
    family = Family.SPEED if _SPEED.search(metric) else Family.QUALITY if _QUALITY.search(metric) else None
    if family is None or len(before) != 1 or len(after) != 1 or 0 in (old, new):
        return []
    plain = Sentence(metric, sentence.line, sentence.cells, sentence.header)
    return [Statement(family, plain, metric.lower(), 0, (after[0], before[0]), after[0], before[0])]


def _column(header: tuple[str, ...], pattern: re.Pattern[str]) -> int | None:
    found = [i for i, cell in enumerate(header) if i and pattern.search(cell)]
    return found[0] if len(found) == 1 else None
