"""Environment files, key files and plain text: names at most, never a value."""

import re
from typing import Final

from audit.facts.extracted import Extracted
from audit.facts.model import TextFacts

MAX_VARIABLES: Final = 1_000
_ASSIGNMENT: Final = re.compile(
    r"[ \t]*+(?:export[ \t]++)?(?P<name>[A-Za-z_][\w.-]{0,200})[ \t]*+=[ \t]*+(?P<value>.?)"
)


def extract(text: str) -> Extracted:
    """The names of the variables that are given a value; an empty template has none."""
    names: list[tuple[str, int]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = _ASSIGNMENT.match(line)
        if match is None or match["value"].strip() in ("", "#"):
            continue
        if len(names) >= MAX_VARIABLES:
            return Extracted(
                TextFacts(tuple(names)), f"more than {MAX_VARIABLES:,} variables: the rest was left out"
            )
        names.append((match["name"], number))
    return Extracted(TextFacts(tuple(names)))


def extract_text(text: str) -> Extracted:
    """Text without facts of its own: that it was read lets its envelope speak."""
    del text
    return Extracted(TextFacts())
