"""Profiles: the shipped ones, read from YAML, and how they inherit."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

OWN_FOLDER = ".ml-audit/profiles/"
"""Where the audited repository defines profiles of its own (`audit.profiles.own` reads them)."""


def is_own(path: str) -> bool:
    """Whether the file at `path` of a repository defines a profile."""
    folder, _, name = path.rpartition("/")
    return folder + "/" == OWN_FOLDER and name.endswith((".yaml", ".yml"))


class Detection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a profile is recognised. `by`: which detector of `detect.py` decides.

    For "names": `imports` are libraries made for the purpose, `helpers` libraries that serve others too, `words` the words (in this order, `pass at k` for
    `estimate_pass_at_k`) that files, folders, classes and functions of such code are named with, `ignore` names that only
    look like it. `needs` "language_model": only where the repository also queries or runs one. `anchors`: names alone are not
    enough for more than low confidence: a library made for the purpose has to be there, or an entry point that reaches such code
    and a model. `tools`: asking a model with tools to call speaks for the profile.
    """

    by: str = ""
    imports: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    needs: str = ""
    anchors: bool = False
    tools: bool = False


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of experiment. `required`: manifest fields; `severities`: rule -> severity where the profile raises it; `path`: the file that defines it
    in the audited repository, "" for a shipped one."""

    name: str
    about: str
    extends: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    severities: dict[str, str] = {}
    detection: Detection = Detection()
    path: str = ""


@cache
def profiles() -> dict[str, Profile]:
    """All shipped profiles by name, checked against their type."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for file in sorted((Path(__file__).parent / "shipped").glob("*.yaml")):
        profile = msgspec.convert(yaml.load(file.read_text(encoding="utf-8"), Loader=loader), Profile)  # noqa: S506
        found[profile.name] = profile
    return found


def resolve(names: Iterable[str], known: Mapping[str, Profile] | None = None) -> tuple[Profile, ...]:
    """The named profiles with all that they extend, parents first, each once. `known`: all that there are (the shipped ones).

    KeyError for a name that is unknown. What `own_profiles` gave has no cycles.
    """
    there = profiles() if known is None else known
    ordered: dict[str, Profile] = {}

    def add(name: str, below: tuple[str, ...]) -> None:
        if name in below:
            raise ValueError(f"profile {name} extends itself")
        if name in ordered:
            return
        profile = there[name]
        for parent in profile.extends:
            add(parent, (*below, name))
        ordered.setdefault(name, profile)

    for name in ("core", *sorted(names)):
        add(name, ())
    return tuple(ordered.values())


_SEVERITIES = ("info", "warning", "critical")


def severities(names: Iterable[str], known: Mapping[str, Profile] | None = None) -> dict[str, str]:
    """The severity that the named profiles ask of rules: a profile's own word goes before its parents', and of several profiles the gravest holds."""
    there = profiles() if known is None else known
    settled: dict[str, dict[str, str]] = {}
    for profile in resolve(names, there):  # parents first
        settled[profile.name] = _gravest(settled[each] for each in profile.extends) | profile.severities
    return _gravest(settled[name] for name in ("core", *names))


def _gravest(several: Iterable[dict[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in several:
        for rule, severity in each.items():
            found[rule] = max(found.get(rule, "info"), severity, key=_SEVERITIES.index)
    return found


def required(resolved: Iterable[Profile]) -> dict[str, str]:
    """Every manifest field that the profiles require, with the first profile that does."""
    found: dict[str, str] = {}
    for profile in resolved:
        for field in profile.required:
            found.setdefault(field, profile.name)
    return found
