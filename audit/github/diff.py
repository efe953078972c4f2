"""Which lines of a pull request's diff can be commented on, and what they say.

The format: GitHub's `patch` of a file is a unified diff without its file header. A review comment may stand at every line of a hunk, and
one over several lines only within one hunk.
"""

import re
from collections.abc import Mapping

import msgspec

_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")


class Hunk(msgspec.Struct, frozen=True):
    """Consecutive lines of the new file: the number of the first, and all of them without their ends."""

    start: int
    lines: tuple[str, ...]

    def between(self, first: int, last: int) -> tuple[str, ...] | None:
        """The lines `first` to `last` (both included) where all of them are here."""
        if self.start <= first <= last < self.start + len(self.lines):
            return self.lines[first - self.start : last - self.start + 1]
        return None


def hunks(patch: str) -> tuple[Hunk, ...]:
    """The hunks of one file's patch, as they are in the new file."""
    found: list[tuple[int, list[str]]] = []
    for line in patch.split("\n"):
        if head := _HUNK.match(line):
            found.append((int(head[1]), []))
        elif found and (line[:1] in ("+", " ")):
            found[-1][1].append(line[1:])
    return tuple(Hunk(start, tuple(lines)) for start, lines in found if lines)


def lines_at(
    diff: Mapping[str, tuple[Hunk, ...]], path: str, first: int, last: int
) -> tuple[str, ...] | None:
    """The lines of a file that can be commented on together; None where they are not within one hunk."""
    for hunk in diff.get(path, ()):
        if (lines := hunk.between(first, last)) is not None:
            return lines
    return None
