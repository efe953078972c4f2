"""Settings of the environment: packages that are declared and locked, Python, base images, variables of a container."""

import re
from collections.abc import Iterator

from audit.facts.model import BaseImage, ContainerFacts, DependencyFacts, LockFacts, Requirement, VersionFacts
from audit.state.names import concept
from audit.state.settings.commands import command_settings
from audit.state.settings.key import Found

_DEVELOPMENT = re.compile(
    r"(?:^|[-_./])(?:dev|devel|develop|development|tests?|testing|docs?|documentation|lint|linting|linters?|quality|typing|types|style|format|pre-?commit|ci|build|release|typecheck|mypy|notebooks?|sphinx|readthedocs|rtd)(?:[-_./]|$)",
    re.I,
)


def is_for_development(name: str) -> bool:
    """Whether a group or a file of requirements is for those who work on the code, not for those who run it."""
    return bool(_DEVELOPMENT.search(name))


def dependency_settings(file: str, facts: DependencyFacts) -> Iterator[Found]:
    """What a manifest declares."""
    aside = is_for_development(file.rpartition("/")[2]) or is_for_development(file.rpartition("/")[0])
    for requirement in facts.requirements:
        if requirement.name != "python" or not facts.python:
            yield _declared(requirement, aside)
    if facts.python:
        yield Found("execution.python", "", "python", facts.python, facts.python_line, "requires Python")
    for address, line in facts.indexes:
        yield Found("environment.index", "", "index", address, line, "package index")


def _declared(requirement: Requirement, aside: bool = False) -> Found:
    name = requirement.name
    group = requirement.group
    value = requirement.specifier.replace(" ", "") or "any version"
    if requirement.url:
        value = f"{requirement.url}" + (
            f"@{requirement.commit}"
            if requirement.commit and requirement.commit not in requirement.url
            else ""
        )
    if "," in value and not requirement.url:
        value = ",".join(sorted(value.split(",")))
    development = aside or is_for_development(group)
    kind = f"development.packages.{name}" if development else f"environment.packages.{name}.declared"
    key = name + (f"; {requirement.marker}" if requirement.marker else "")
    return Found(kind, group, key, value, requirement.line, f"requirement of {name}")


def lock_settings(facts: LockFacts) -> Iterator[Found]:
    """What a lock file fixes."""
    for name, version in facts.packages.items():
        yield Found(f"environment.packages.{name}.locked", "", name, version, 0, f"locked {name}")


def version_settings(facts: VersionFacts) -> Iterator[Found]:
    """`.python-version` and its like."""
    if facts.python:
        yield Found("execution.python", "", "python", facts.python, facts.line, "Python version")


def container_settings(facts: ContainerFacts) -> Iterator[Found]:
    """Base images, what is installed, variables that count, and what is run."""
    for image in facts.images:
        if not image.stage:
            yield Found("execution.container", "", "FROM", _image(image), image.line, "base image")
    for requirement in facts.requirements:
        yield _declared(requirement)
    for name, value, line in facts.env:
        known = concept(name)
        if known and known != "recording" and "$" not in value:
            yield Found(known, "", name, value, line, f"environment variable {name}")
    for command in facts.commands:
        yield from command_settings(command)


def _image(image: BaseImage) -> str:
    return image.image + (f":{image.tag}" if image.tag else "") + (f"@{image.digest}" if image.digest else "")
