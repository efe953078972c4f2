"""The words of `vocabulary.yaml`, by which settings are found in code and commands."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What keywords of a kind of call are; see the comments in `vocabulary.yaml`."""

    name: str
    concept: str = ""
    own: Mapping[str, str] = {}


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sets of names; see the comments in `vocabulary.yaml`."""

    seeds: frozenset[str]
    determinism: frozenset[str]
    not_settings: frozenset[str]
    ambiguous: frozenset[str]
    vague: frozenset[str]
    programs: frozenset[str]
    launcher_flags: frozenset[str]
    common: frozenset[str]
    frameworks: frozenset[str]
    counters: frozenset[str]
    tools: frozenset[str]


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    words: Words
    families: tuple[Family, ...]


@cache
def _vocabulary() -> Vocabulary:
    text = (Path(__file__).parent / "vocabulary.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return msgspec.convert(data, Vocabulary)


@cache
def words() -> Words:
    """The shipped sets of names, checked against their type."""
    return _vocabulary().words


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Family], ...]:
    return tuple((re.compile(family.name), family) for family in _vocabulary().families)


@lru_cache(1 << 12)
def family_of(name: str) -> Family | None:
    """The family of the calls whose last name is `name`; None where it is of none that is known."""
    return next((family for pattern, family in _patterns() if pattern.fullmatch(name)), None)
