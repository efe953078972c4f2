"""How much a change matters, and why: the table of `severity.yaml`, and what versions, options and switches make of it."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from audit.documents.drift import ChangeKind, DriftSeverity
from audit.documents.state import Leaf, Value
from audit.state.values import normal

OFF = "An option that is off changes nothing until somebody uses it."
_ORDER = (
    DriftSeverity.NONE,
    DriftSeverity.LOW,
    DriftSeverity.MEDIUM,
    DriftSeverity.MEDIUM_HIGH,
    DriftSeverity.HIGH,
)


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table; see the comments in `severity.yaml`."""

    match: tuple[str, ...]
    severity: DriftSeverity
    why: str
    versions: bool = False


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table: `changes` in the order in which they are asked, and what profiles put in front of them."""

    changes: tuple[Entry, ...]
    profiles: dict[str, tuple[Entry, ...]] = {}


@cache
def table() -> Table:
    """The shipped table, checked against its type."""
    text = (Path(__file__).parent / "severity.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return msgspec.convert(data, Table)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in glob.split("*")), re.DOTALL)


@lru_cache(1 << 14)
def entry_for(concept: str, profiles: tuple[str, ...] = ()) -> Entry:
    """The entry of the table that decides about a setting's path."""
    own = [entry for name in profiles for entry in table().profiles.get(name, ())]
    path = _without_stage(concept[:_LONGEST])
    return next(
        entry
        for entry in (*own, *table().changes)
        if any(_pattern(glob).fullmatch(path) for glob in entry.match)
    )


def _without_stage(concept: str) -> str:
    """The path of a stage's setting without the stage."""
    parts = concept.split(".", 2)
    return parts[2] if len(parts) == 3 and parts[0] == "stages" else concept


def judged(
    concept: str, kind: ChangeKind, before: Leaf | None, after: Leaf | None, profiles: Sequence[str] = ()
) -> tuple[DriftSeverity, str]:
    """Severity of one change and why it matters."""
    entry = entry_for(concept, tuple(profiles))
    severity, why = entry.severity, entry.why
    leaf = after or before
    if severity is DriftSeverity.NONE or leaf is None:
        return severity, why
    if kind is ChangeKind.CHANGED:
        if (
            entry.versions
            and before is not None
            and after is not None
            and not _weighty(before.value, after.value)
        ):
            return _lower(severity), why
        return severity, why
    if _is_off(leaf.value) and not (concept.endswith(_ZERO_COUNTS) and normal(leaf.value) == 0):
        return DriftSeverity.LOW, OFF
    if entry.versions or concept.startswith(("custom.", "evaluation.code.")):
        return min(severity, DriftSeverity.LOW, key=lambda s: s.rank), why
    if (
        leaf.detail.startswith(("default of", "requirement of", "text of"))
        and severity.rank > DriftSeverity.LOW.rank
    ):
        return _lower(severity), why
    return severity, why


def _lower(severity: DriftSeverity) -> DriftSeverity:
    return _ORDER[max(severity.rank - 1, DriftSeverity.LOW.rank)]


def _is_off(value: Value) -> bool:
    plain = normal(value)
    return plain is None or plain is False or (plain in ("", "none", "???", (), 0) and plain is not True)


_LONGEST = 200  # characters of a path that patterns are tried on: a document from elsewhere may hold anything
_ZERO_COUNTS = ("temperature", "seed", "few_shot")
"""Settings of which zero is a value like any other."""
_EXACT = re.compile(r"(?:===?)?v?(\d[\w.+!-]{0,60})")


def _weighty(before: Value, after: Value) -> bool:
    """Whether two versions differ in more than their last part; a range on both sides decides less than a pin."""
    first, second = _version(before), _version(after)
    if first is None and second is None:
        return False
    if first is None or second is None:
        return True
    return first[:2] != second[:2]


def _version(value: Value) -> tuple[int, ...] | None:
    """The release of the one version that a value asks for; None where it asks for none or several."""
    match = _EXACT.fullmatch(str(value).strip())
    if match is None or "*" in match[1]:
        return None
    numbers = re.match(r"\d{1,9}(?:\.\d{1,9}){0,5}", match[1])
    parts = tuple(int(part) for part in numbers[0].split(".")) if numbers else (0,)
    return (*parts, 0, 0)[: max(len(parts), 3)]
