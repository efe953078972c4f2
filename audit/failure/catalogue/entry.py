"""What the catalogue holds once it is read, and where its files are."""

from pathlib import Path

import msgspec

from audit.failure.model import Signature

UNITS = ("GiB", "s", "ms", "fraction", "count", "number", "text")
"""What a capture may be: sizes become GiB, per cent become fractions, `text` stays text."""


class Entry(msgspec.Struct, frozen=True):
    """A signature with what finds it. `unless`: patterns that take back a match on the same line; `captures`: group -> unit;
    `positive`, `negative`: whole lines that it must and must not meet; `ordinary`: lines that no signature of the family may meet.
    """

    signature: Signature
    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()
    captures: dict[str, str] = {}
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    ordinary: tuple[str, ...] = ()


def files() -> list[Path]:
    """The shipped families, by name."""
    return sorted(Path(__file__).parent.glob("*.yaml"))
