"""The experiment as one flat map: which value each setting has, who says so, and how sure that is."""

import enum

import msgspec

from audit.documents.place import Place

Scalar = None | bool | int | float | str
Value = Scalar | tuple[Scalar, ...]
"""What a setting can hold: tables are spelt out as further paths, lists stay together."""


class Source(enum.Enum):
    """Who says a value."""

    CODE = "code"
    MANIFEST = "manifest"
    LOCK = "lock"
    RUN = "run"


class Confidence(enum.Enum):
    """How sure a value is. `observed`: the code says so, and a run may be started otherwise; `unresolved`: known to matter, not known."""

    EXACT = "exact"
    DECLARED = "declared"
    OBSERVED = "observed"
    UNRESOLVED = "unresolved"


class Leaf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One value. `detail`: how it came about, in words ("default of --lr", "TrainingArguments(learning_rate=)"); `place`: where it stands."""

    value: Value
    source: Source
    confidence: Confidence
    detail: str = ""
    place: Place | None = None


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`leaves`: by dotted path ("models.primary.revision", "training.learning_rate"), sorted. `alternatives`: other values of the same path
    that lost to the one in `leaves`, kept because a contradiction is a finding."""

    leaves: dict[str, Leaf]
    alternatives: dict[str, tuple[Leaf, ...]] = {}
