"""Lists inside sentences and lists of evidence: never longer than a reader takes in, and never cut in silence."""

from collections.abc import Iterable, Sequence

from audit.documents.place import Place

EVIDENCE_LIMIT = 100
"""Places that one finding holds; reports for people show fewer. Suppressions by path and baselines look at all of them."""

OUTCOME_LIMIT = 40
"""Findings that one rule gives one by one; the rest is counted in a last one."""


def listed(items: Sequence[str], limit: int = 4, word: str = "and") -> str:
    """ "a, b and c"; beyond `limit` items "a, b and 7 more"."""
    if len(items) > limit:
        return f"{', '.join(items[: limit - 1])} and {len(items) - limit + 1} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """ "1 file", "3 files"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def capped(places: Iterable[Place], limit: int = EVIDENCE_LIMIT) -> tuple[Place, ...]:
    """The first places, the last of them saying how many were left out."""
    found = tuple(dict.fromkeys(places))
    if len(found) <= limit:
        return found
    last = found[limit - 1]
    note = f"{last.note + '; ' if last.note else ''}and {len(found) - limit} more"
    return (*found[: limit - 1], Place(last.path, last.line, note))
