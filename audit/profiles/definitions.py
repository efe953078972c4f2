"""The shipped profiles, read from YAML, and their inheritance."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml


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
    """A kind of experiment. `required`: manifest fields; `severities`: rule -> severity where the profile raises it."""

    name: str
    about: str
    extends: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    severities: dict[str, str] = {}
    detection: Detection = Detection()


@cache
def profiles() -> dict[str, Profile]:
    """All shipped profiles by name, checked against their type."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for file in sorted((Path(__file__).parent / "shipped").glob("*.yaml")):
        profile = msgspec.convert(yaml.load(file.read_text(encoding="utf-8"), Loader=loader), Profile)  # noqa: S506
        found[profile.name] = profile
    return found


def resolve(names: Iterable[str]) -> tuple[Profile, ...]:
    """The named profiles with all that they extend, parents first, each once. KeyError for a name that is unknown."""
    ordered: dict[str, Profile] = {}

    def add(name: str, below: tuple[str, ...]) -> None:
        if name in below:
            raise ValueError(f"profile {name} extends itself")
        profile = profiles()[name]
        for parent in profile.extends:
            add(parent, (*below, name))
        ordered.setdefault(name, profile)

    for name in ("core", *sorted(names)):
        add(name, ())
    return tuple(ordered.values())
