"""pip's requirements and constraints files, and what `pip freeze` and `conda list --export` write under that
name.

Source: https://pip.pypa.io/en/stable/reference/requirements-file-format/.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from audit.facts.dependencies.line import is_project, parse_conda, parse_requirement, without_credentials
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement

MAX_REQUIREMENTS = 10_000
MAX_INVALID = 200
_MAX_TEXT = 300
"""Longest invalid line that is kept, in characters."""

_HASH = re.compile(r"\s--hash[= ]\S+")
_CONDA_LINE = re.compile(r"[A-Za-z0-9_][\w.-]*=[^=\s]+=[^=\s]+")
_EXPORT_HEADER = "# This file may be used to create an environment using"
_INDEXES = frozenset({"-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--pypi-url"})


@dataclass(slots=True)
class _Found:
    requirements: list[Requirement] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    indexes: list[tuple[str, int]] = field(default_factory=list)
    invalid: list[tuple[str, int]] = field(default_factory=list)
    project: bool = False


def extract(text: str) -> Extracted:
    """The facts of a requirements file. What is no requirement is kept in `invalid`, as written and cut
    short."""
    text = text.removeprefix("\ufeff")
    logical = list(_logical_lines(text))
    export = _is_conda_export(text, logical)
    found = _Found()
    partial = ""
    for content, line in logical:
        if len(found.requirements) >= MAX_REQUIREMENTS:
            partial = f"only the first {MAX_REQUIREMENTS:,} requirements were read"
            break
        if export:
            _conda_line(content, line, found)
        else:
            _read(content, line, found)
    lines = text.split("\n")
    return Extracted(
        DependencyFacts(
            declares=bool(found.requirements or found.includes or found.invalid or found.project),
            requirements=tuple(_with_text(each, lines) for each in found.requirements),
            includes=tuple(found.includes),
            constraints=tuple(found.constraints),
            indexes=tuple(found.indexes),
            invalid=tuple(found.invalid[:MAX_INVALID]),
            conda_export=export,
        ),
        partial,
    )


def _with_text(requirement: Requirement, lines: list[str]) -> Requirement:
    """The requirement with its line, where that is all of it and may have to be written anew."""
    if requirement.exact or requirement.url or requirement.source != "pip" or requirement.line > len(lines):
        return requirement
    raw = lines[requirement.line - 1]
    plain = len(raw) <= _MAX_TEXT and raw.isprintable() and not raw.rstrip().endswith("\\")
    alone = parse_requirement(_without_comment(raw.strip()), requirement.line) if plain else None
    same = alone is not None and (alone.name, alone.specifier) == (requirement.name, requirement.specifier)
    return msgspec.structs.replace(requirement, text=raw) if same else requirement


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """(content, line) with continuations joined and comments taken off, empty ones left out."""
    parts: list[str] = []
    start = 0
    for number, raw in enumerate(
        text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n"), 1
    ):
        line = raw.rstrip()
        start = start or number
        if line.lstrip().startswith("#"):
            line = ""
            continued = False
        else:
            continued = line.endswith("\\")
            line = line[:-1] if continued else line
        parts.append(line.strip())
        if continued:
            continue
        content = _without_comment(" ".join(part for part in parts if part))
        if content:
            yield content, start
        parts, start = [], 0
    content = _without_comment(" ".join(part for part in parts if part))
    if content:
        yield content, start


def _without_comment(line: str) -> str:
    if "#" not in line:
        return line.strip()
    if line.startswith("#"):
        return ""
    # Only the first blank before a `#` starts the comment: an address may carry `#egg=`.
    for mark in (" #", "\t#"):
        line = line.partition(mark)[0]
    return line.strip()


def _is_conda_export(text: str, logical: list[tuple[str, int]]) -> bool:
    if text.lstrip().startswith(_EXPORT_HEADER):
        return True
    matching = sum(1 for content, _ in logical if _CONDA_LINE.fullmatch(content))
    return matching > 2 and matching * 2 > len(logical)


def _conda_line(content: str, line: int, found: _Found) -> None:
    """`name=version=build`; the build `pypi_0` says that pip installed it."""
    requirement = parse_conda(content, line) if content[:1] != "@" else None
    if requirement is None:
        found.invalid.append((content[:_MAX_TEXT], line))
        return
    found.requirements.append(requirement)


def _read(content: str, line: int, found: _Found) -> None:
    if content.startswith("-"):
        _read_option(content, line, found)
        return
    hashed = _HASH.search(content) is not None
    stripped = _strip_options(content)
    if is_project(stripped):
        found.project = True
        return
    requirement = parse_requirement(stripped, line, hashed=hashed)
    if requirement is None:
        found.invalid.append((without_credentials(content)[:_MAX_TEXT], line))
    else:
        found.requirements.append(requirement)


def _strip_options(content: str) -> str:
    at = content.find(" --")
    return content[:at].strip() if at >= 0 else content


def _read_option(content: str, line: int, found: _Found) -> None:
    """`-r file`, `-rfile`, `--requirement=file` and the like; options that only steer pip say nothing
    here."""
    name, value = _split_option(content)
    if name in {"-r", "--requirement"}:
        found.includes.append(value)
    elif name in {"-c", "--constraint"}:
        found.includes.append(value)
        found.constraints.append(value)
    elif name in _INDEXES:
        found.indexes.append((without_credentials(value), line))
    elif name in {"-e", "--editable"}:
        value = _strip_options(value)
        if is_project(value):
            found.project = True
            return
        requirement = parse_requirement(value, line, editable=True)
        if requirement is None:
            found.invalid.append((content[:_MAX_TEXT], line))
        else:
            found.requirements.append(requirement)


def _split_option(content: str) -> tuple[str, str]:
    head, _, rest = content.partition(" ")
    if head.startswith("--"):
        name, equals, value = head.partition("=")
        return name, (value if equals else rest).strip().strip("'\"")
    return head[:2], (head[2:].lstrip("=") or rest).strip().strip("'\"")
