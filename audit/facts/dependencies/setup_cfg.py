"""setup.cfg: the declarative form of setuptools' keywords, with the lines that configparser forgets.

Source: https://setuptools.pypa.io/en/latest/userguide/declarative_config.html.
"""

import re
from collections.abc import Iterator

from audit.facts.dependencies.line import is_project, parse_requirement
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement

Entry = tuple[str, str, list[tuple[str, int]]]
"""(section, key, the value's lines with their numbers)."""

_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([\w.\-:\"' ]+?)[ \t]*[=:][ \t]*(.*)")
_FILE = re.compile(r"file:\s*(.+)")


def extract(text: str) -> Extracted:
    """The facts of a setup.cfg; one with settings of tools only declares nothing."""
    requirements: list[Requirement] = []
    includes: list[str] = []
    words: dict[str, tuple[str, int]] = {}
    scripts: dict[str, str] = {}
    invalid: list[tuple[str, int]] = []
    tools: list[str] = []
    declares = False
    for section, key, values in read_ini(text):
        if section not in tools:
            tools.append(section)
        lines = [(v, n) for v, n in values if v]
        listing = _group_of(section, key)
        if listing is not None:
            declares = True
            for value, number in lines:
                _one(value, number, listing, (requirements, includes, invalid))
        elif section == "options.entry_points" and key == "console_scripts":
            scripts.update(_pair(value) for value, _ in lines if "=" in value)
        elif section in {"metadata", "options"} and lines:
            words.setdefault(key.replace("-", "_"), lines[0])
            if key == "classifiers":
                licences = [v for v, _ in lines if v.startswith("License ::")]
                if licences:
                    words.setdefault("license", (licences[-1].rsplit("::", 1)[-1].strip(), 0))
    python = words.get("python_requires", ("", 0))
    return Extracted(
        DependencyFacts(
            declares=declares,
            requirements=tuple(requirements),
            includes=tuple(includes),
            python=python[0],
            python_line=python[1],
            name=words.get("name", ("", 0))[0],
            scripts=scripts,
            license=words.get("license", ("", 0))[0],
            tools=tuple(tools),
            invalid=tuple(invalid),
        )
    )


def read_ini(text: str) -> Iterator[Entry]:
    """The entries of an INI text in order; comments and blank lines left out, continuation lines kept
    apart."""
    section = ""
    current: Entry | None = None
    indent = 0
    for number, raw in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1):
        line = raw.rstrip()
        bare = line.lstrip()
        if not bare or bare.startswith(("#", ";")):
            continue
        width = len(line) - len(bare)
        if current is not None and width > indent:
            current[2].append((re.split(r"\s#", bare, maxsplit=1)[0].rstrip(), number))
            continue
        if current is not None:
            yield current
            current = None
        header = _SECTION.match(bare)
        if header is not None:
            section = header[1].strip()
            continue
        found = _KEY.match(bare)
        if found is not None:
            indent = width
            value = re.split(r"\s#", " " + found[2], maxsplit=1)[0].strip()
            current = (section, found[1].strip(), [(value, number)])
    if current is not None:
        yield current


def _group_of(section: str, key: str) -> str | None:
    """The group whose requirements this entry lists, None for any other entry."""
    if section == "options" and key in {"install_requires", "tests_require"}:
        return "" if key == "install_requires" else "test"
    if section == "options.extras_require":
        return key
    return None


def _one(
    value: str,
    line: int,
    group: str,
    found: tuple[list[Requirement], list[str], list[tuple[str, int]]],
) -> None:
    requirements, includes, invalid = found
    file = _FILE.match(value)
    if file is not None:
        includes += [part.strip() for part in file[1].split(",") if part.strip()]
        return
    if value.startswith("%(") or is_project(value):
        return
    # `a; b` on one line is two requirements only where what follows is no marker.
    requirement = parse_requirement(value, line, group=group)
    if requirement is None:
        invalid.append((value[:300], line))
    else:
        requirements.append(requirement)


def _pair(text: str) -> tuple[str, str]:
    name, _, reference = text.partition("=")
    return name.strip(), reference.strip()
