"""`.ml-audit/config.yaml`: which findings a repository knowingly lives with, and its own defaults.

The file belongs to the audited repository, so it is read as hostile: bounded, nothing constructed, and every mistake is an error with file
and line: a suppression that is silently not understood would be worse than none.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from audit.assess.errors import DocumentError
from audit.facts.yaml_nodes import YamlError, compose, line_of
from audit.safety.redact import redact

CONFIG_PATH = ".ml-audit/config.yaml"
MAX_BYTES = 256 * 1024
_MAX_STEPS = 20_000
_MAX_DEPTH = 12
_ADVICE = 'See "Living with a finding" in the README, or `ml-audit schema config`.'

RulePattern = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+\.([a-z0-9_.-]+|\*)$", max_length=100)]
PathPattern = Annotated[str, StringConstraints(min_length=1, max_length=300)]
# Quoted in every report.
Reason = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500), AfterValidator(redact)
]


class Ignore(BaseModel):
    """Findings that are known and accepted. `rule`: an id, or a whole category as "category.*". `paths`: shell patterns in which `*` also crosses
    folders, or folders with a slash at their end; none means everywhere. `reason` is shown with every report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: RulePattern
    reason: Reason
    paths: Annotated[tuple[PathPattern, ...], Field(max_length=200)] = ()


class Config(BaseModel):
    """The whole file. Options of the command line win over `level`, `fail_on` and `profiles`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ignore: Annotated[tuple[Ignore, ...], Field(max_length=1000)] = ()
    level: Literal["auto", "0", "1", "2"] | None = None
    fail_on: Literal["critical", "warning", "info", "never"] | None = None
    profiles: Annotated[
        tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,60}$")], ...], Field(max_length=50)
    ] = ()


def parse_config(data: bytes, name: str = CONFIG_PATH) -> Config:
    """The configuration in `data`; an empty file is an empty one. Raises DocumentError with file and line."""
    if len(data) > MAX_BYTES:
        raise DocumentError(f"{name} is larger than {MAX_BYTES // 1024} KiB.", _ADVICE)
    try:
        documents = compose(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise DocumentError(f"{name} is not UTF-8.", _ADVICE) from None
    except YamlError as error:
        raise DocumentError(f"{name}:{error.line or 1}: {error}.", _ADVICE) from None
    if len(documents) > 1:
        raise DocumentError(f"{name}:{line_of(documents[1])}: only one YAML document is expected.", _ADVICE)
    if not documents or _plain_null(documents[0]):
        return Config()
    reading = _Reading(name)
    value = reading.value(documents[0], (), 0)
    if not isinstance(value, dict):
        raise DocumentError(
            f"{name}:{line_of(documents[0])}: a mapping is expected (ignore, level, fail_on, profiles).",
            _ADVICE,
        )
    try:
        return Config.model_validate(value)
    except ValidationError as error:
        raise DocumentError("; ".join(_complaints(error, reading, name)), _ADVICE) from None


def _plain_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


class _Reading:
    """Plain values of nodes, every scalar as its text, and the line of each place."""

    def __init__(self, name: str) -> None:
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._name = name
        self._steps = 0

    def value(self, node: yaml.Node, place: tuple[str | int, ...], depth: int) -> Any:
        """Raises DocumentError beyond the bounds and at a key that is written twice."""
        self._steps += 1
        self.lines.setdefault(place, line_of(node))
        if self._steps > _MAX_STEPS or depth > _MAX_DEPTH:
            raise DocumentError(
                f"{self._name}:{line_of(node)}: nested too deeply, or too much of it.", _ADVICE
            )
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, place, depth))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*place, index), depth + 1) for index, child in enumerate(node.value)]
        return None if _plain_null(node) else str(node.value)

    def _pairs(
        self, node: yaml.MappingNode, place: tuple[str | int, ...], depth: int
    ) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for key, child in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            if not name or name in seen:
                raise DocumentError(
                    f"{self._name}:{line_of(key)}: {name or 'a key'} is written twice or is no plain word.",
                    _ADVICE,
                )
            seen.add(name)
            self.lines[(*place, name)] = line_of(key)
            yield name, self.value(child, (*place, name), depth + 1)


def _complaints(error: ValidationError, reading: _Reading, name: str) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False, include_context=False)[:5]:
        place = tuple(item["loc"])
        known = next(place[:end] for end in range(len(place), -1, -1) if place[:end] in reading.lines)
        where = ".".join(map(str, place)) or "the file"
        if item["type"] == "missing":
            said = "is missing" + (": every suppression says why" if place[-1] == "reason" else "")
        elif item["type"] == "extra_forbidden":
            said = "is not a key that is known"
        else:
            said = str(item["msg"])
        yield f"{name}:{reading.lines[known]}: {where}: {said}."
