"""Blackening credentials in whatever is quoted: evidence, logs, command lines, patches."""

from functools import cache
from typing import TypeVar

from audit.safety.secrets import suspects
from audit.safety.texts import with_texts

T = TypeVar("T")


def redact(text: str) -> str:
    """`text` with every string that could be a credential replaced by `[redacted: KIND]`. Never raises."""
    parts: list[str] = []
    position = 0
    for match in suspects(text):
        parts += (text[position : match.start], f"[redacted: {match.kind}]")
        position = match.end
    return "".join([*parts, text[position:]])


def redacted(document: T) -> T:
    """`document` (Structs, dicts, lists, tuples) with every string in it redacted, paths and keys too."""
    return with_texts(document, cache(redact))
