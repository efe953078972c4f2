"""What well-known libraries do for those who call them, kept as data in `knowledge.yaml`: extensible without code."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml


class Effect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a call brings with it. `call`: regular expression on the whole resolved name."""

    call: str
    seeds: tuple[str, ...] = ()
    checkpoint: tuple[str, ...] = ()
    tracking: tuple[str, ...] = ()
    distributed: tuple[str, ...] = ()


class Knowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """See the comments in `knowledge.yaml` for each field."""

    effects: tuple[Effect, ...]
    trainers: dict[str, tuple[str, ...]]
    heads: dict[str, tuple[str, ...]]
    critical: frozenset[str]
    aliases: dict[str, str]
    distributions: dict[str, tuple[str, ...]]
    libraries: frozenset[str]
    images: dict[str, tuple[str, ...]]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def knowledge() -> Knowledge:
    """The shipped knowledge, checked against its type."""
    text = (Path(__file__).parent / "knowledge.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return msgspec.convert(data, Knowledge)


@cache
def effects_of(name: str) -> tuple[Effect, ...]:
    """The effects that a resolved call name has."""
    return tuple(effect for effect in knowledge().effects if _compiled(effect.call).fullmatch(name))
