"""Where something stands: the evidence that every signal and finding carries."""

import msgspec


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True, omit_defaults=False):
    """A place in the audited repository.

    `path` is relative to the repository's root, POSIX, as Git spells it (bytes that are not UTF-8 are
    surrogate-escaped; `audit.safety` makes them printable). `line` counts from 1; None names the file as a whole.
    """

    path: str
    line: int | None = None
    note: str = ""


class Gap(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """A file that was not read, or not read whole, and why: what a report must not pass over in silence."""

    path: str
    why: str
