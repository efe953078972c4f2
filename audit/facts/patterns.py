"""`.gitattributes` and the ignore files: one pattern a line."""

import re
from typing import Final

from audit.facts.extracted import Extracted
from audit.facts.model import PatternFacts

MAX_PATTERNS: Final = 5_000
_LONGEST: Final = 1_000
# gitattributes(5): a pattern in C quotes may hold blanks.
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.){0,1000})"[ \t]*(.*)')


def extract(text: str) -> Extracted:
    """(pattern, attributes, line) of every line that is neither empty nor a comment.

    Attributes are words with an `=` or of Git's own names behind a blank ("filter=lfs diff=lfs -text"); a
    line of an ignore file is all pattern, blanks included. A pattern with `!` keeps it.
    """
    patterns: list[tuple[str, str, int]] = []
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = raw.rstrip()[:_LONGEST]
        if not line or line.startswith("#"):
            continue
        if len(patterns) >= MAX_PATTERNS:
            return Extracted(
                PatternFacts(tuple(patterns)), f"more than {MAX_PATTERNS:,} patterns: the rest was left out"
            )
        patterns.append((*_split(line), number))
    return Extracted(PatternFacts(tuple(patterns)))


_ATTRIBUTE: Final = re.compile(
    r"[-!]?(?:text|binary|eol|diff|merge|filter|export-ignore|export-subst|linguist-[\w-]+|lockable|ident|whitespace"
    r"|working-tree-encoding|crlf|delta|conflict-marker-size)(?:=\S*)?|[\w-]+=\S*"
)


def _split(line: str) -> tuple[str, str]:
    if quoted := _QUOTED.fullmatch(line):
        return quoted[1].replace('\\"', '"'), quoted[2].strip()
    pattern, *attributes = line.split()
    if attributes and all(_ATTRIBUTE.fullmatch(word) for word in attributes):
        return pattern, " ".join(attributes)
    return line, ""
