"""Profiles that the audited repository defines for itself, in `.ml-audit/profiles/`: read as hostile, every mistake with file and line."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from audit.documents.errors import DocumentError
from audit.documents.manifest import is_setting, settings
from audit.documents.mistakes import Mistake, Positions, complaints, document_error
from audit.facts.strict_yaml import read_yaml
from audit.profiles.definitions import OWN_FOLDER, Detection, Profile, is_own, profiles
from audit.source.snapshot import EntryKind, Snapshot

if TYPE_CHECKING:
    from audit.facts.strict_yaml import Reading

_MOST: Final = 20
"""Files that are read; so many kinds of experiment in one repository are a mistake."""
_ADVICE: Final = "See docs/manifest.md, or `ml-audit schema profile`; `ml-audit profiles show NAME` shows what a shipped profile holds."


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,60}$")]
Names = Annotated[tuple[Name, ...], BeforeValidator(_several), Field(max_length=20)]
Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]{0,99}$")]
Phrase = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+( [a-z0-9]+){0,4}$", max_length=60)]
Rule = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+\.[a-z0-9_.-]+$", max_length=100)]
SettingName = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class OwnDetection(BaseModel):
    """What tells that a repository holds such an experiment: libraries made for it (`imports`) or that serve it among others (`helpers`), and the words
    that files, classes and functions of such code are named with; `ignore`: words that only look like it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    imports: Annotated[tuple[Module, ...], Field(max_length=200)] = ()
    helpers: Annotated[tuple[Module, ...], Field(max_length=200)] = ()
    words: Annotated[tuple[Phrase, ...], Field(max_length=60)] = ()
    ignore: Annotated[tuple[Phrase, ...], Field(max_length=60)] = ()


class OwnProfile(BaseModel):
    """One file. `name`: the file's name where it is left out; `extends`: shipped profiles and own ones; `required`: manifest fields;
    `severities`: what rules cost here, by id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name | None = None
    about: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500)]
    extends: Names = ("core",)
    required: Annotated[tuple[SettingName, ...], Field(max_length=200)] = ()
    severities: Annotated[dict[Rule, Literal["critical", "warning", "info"]], Field(max_length=500)] = {}
    detection: OwnDetection | None = None


class _Read(msgspec.Struct, frozen=True):
    """A profile with the places of its keys."""

    profile: Profile
    positions: Positions


def known_profiles(snapshot: Snapshot, rules: Sequence[str] = ()) -> dict[str, Profile]:
    """The shipped profiles and those of the snapshot, by name. `rules`: the ids that there are; none: they are not checked. Raises DocumentError.

    Ask `has_own` first: this module imports pydantic.
    """
    entries = [e for e in snapshot.entries if e.kind is EntryKind.FILE and is_own(e.path)]
    files = []
    for entry, data in snapshot.reader.read(entries[: _MOST + 1]):
        if isinstance(data, str):
            raise DocumentError(f"{entry.path} cannot be read: {data}.", _ADVICE)
        files.append((entry.path, data))
    return profiles() | own_profiles(files, rules)


def own_profiles(files: Sequence[tuple[str, bytes]], rules: Sequence[str] = ()) -> dict[str, Profile]:
    """The profiles that `files` (path, content) define, by name.

    Raises DocumentError with every mistake of the first file that has one, or of how they extend each other.
    """
    if len(files) > _MOST:
        raise DocumentError(f"{OWN_FOLDER} holds more than {_MOST} files.", _ADVICE)
    found: dict[str, _Read] = {}
    for path, data in sorted(files):
        read = _read(path, data, rules)
        name = read.profile.name
        if (other := found.get(name)) is not None:
            mark = read.positions.nearest(("name",))
            mistake = Mistake(*mark, f"{other.profile.path} defines the profile {name}, too")
            raise document_error([mistake], path, _ADVICE)
        found[name] = read
    for read in found.values():
        if mistakes := list(_lineage(read, {name: each.profile for name, each in found.items()})):
            raise document_error(mistakes, read.positions.name, _ADVICE)
    return {name: read.profile for name, read in found.items()}


def _read(path: str, data: bytes, rules: Sequence[str]) -> _Read:
    reading = read_yaml(data)
    if not reading.whole:
        raise document_error(reading.mistakes, path, _ADVICE)
    positions = Positions(path, reading.marks)
    mistakes = list(reading.mistakes)
    own = _validated(reading, positions, mistakes)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if own is not None:
        mistakes += _words(own, stem, positions, rules)
    if mistakes or own is None:
        raise document_error(mistakes, path, _ADVICE)
    shown = own.detection
    detection = (
        Detection(
            "names",
            frozenset(shown.imports),
            frozenset(shown.helpers),
            tuple(shown.words),
            tuple(shown.ignore),
        )
        if shown and (shown.imports or shown.helpers or shown.words)
        else Detection()
    )
    return _Read(
        Profile(stem, own.about, own.extends, own.required, dict(own.severities), detection, path), positions
    )


def _validated(reading: "Reading", positions: Positions, mistakes: list[Mistake]) -> OwnProfile | None:
    if not isinstance(reading.value, dict):
        if not mistakes:
            expected = ", ".join(OwnProfile.model_fields)
            mistakes.append(Mistake(*positions.nearest(()), f"a table is expected: {expected}"))
        return None
    try:
        return OwnProfile.model_validate(
            {key: value for key, value in reading.value.items() if value is not None}
        )
    except ValidationError as error:
        mistakes += complaints(error, OwnProfile, positions)
        return None


def _words(own: OwnProfile, stem: str, positions: Positions, rules: Sequence[str]) -> Iterator[Mistake]:
    """What names nothing that there is."""
    if own.name not in (None, stem):
        yield Mistake(
            *positions.nearest(("name",)),
            f"name: a file called {own.name}.yaml is expected to define {own.name}",
        )
    if not re.fullmatch(r"[a-z0-9_-]{1,60}", stem):
        yield Mistake(
            1, 1, "the file's name is the profile's: lower-case letters, digits, - and _ are expected"
        )
    if stem in profiles():
        yield Mistake(
            *positions.nearest(("name",)),
            f"{stem} is a shipped profile; give this one another name and extend it",
        )
    for index, field in enumerate(own.required):
        if not is_setting(field):
            near = difflib.get_close_matches(field, settings(), 1, 0.6)
            hint = f"; perhaps {near[0].replace('*', 'ROLE')}" if near else ""
            yield Mistake(
                *positions.nearest(("required", index)),
                f"required: {field} names no setting of the manifest{hint}",
            )
    for rule in own.severities:
        if rules and rule not in rules:
            near = difflib.get_close_matches(rule, rules, 1, 0.6)
            hint = f"; perhaps {near[0]}" if near else ""
            yield Mistake(
                *positions.nearest(("severities", rule)), f"severities: there is no rule {rule}{hint}"
            )


def _lineage(read: _Read, own: Mapping[str, Profile]) -> Iterator[Mistake]:
    """Parents that there are not, and a profile that reaches itself."""
    there = {**profiles(), **own}
    for index, parent in enumerate(read.profile.extends):
        if parent not in there:
            near = difflib.get_close_matches(parent, there, 1, 0.5)
            hint = f"; perhaps {near[0]}" if near else f"; there are {', '.join(sorted(there))}"
            yield Mistake(
                *read.positions.nearest(("extends", index)), f"extends: there is no profile {parent}{hint}"
            )
    reached: dict[str, tuple[str, ...]] = {}
    pending: list[tuple[str, tuple[str, ...]]] = [
        (parent, (read.profile.name, parent)) for parent in read.profile.extends
    ]
    while pending:
        name, way = pending.pop()
        if name in reached or name not in there:
            continue
        reached[name] = way
        pending += [(parent, (*way, parent)) for parent in there[name].extends]
    if read.profile.name in reached:
        circle = " -> ".join(reached[read.profile.name])
        yield Mistake(*read.positions.nearest(("extends",)), f"extends: the profile extends itself: {circle}")
