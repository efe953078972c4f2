"""`.ml-audit/config.yaml`: which findings a repository knowingly lives with, and its own defaults.

The file belongs to the audited repository, so it is read as hostile: bounded, nothing constructed, and every mistake is an error with file
and line: a suppression that is silently not understood would be worse than none.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from audit.documents.mistakes import Hints, Mistake, Positions, complaints, document_error
from audit.facts.strict_yaml import read_yaml
from audit.safety.redact import redact

CONFIG_PATH = ".ml-audit/config.yaml"
_ADVICE = 'See "Living with a finding" in the README, or `ml-audit schema config`.'
_HINTS = Hints(missing={"reason": "every suppression says why"})

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
    """The configuration in `data`; an empty file is an empty one. Raises DocumentError with file, line and column of every mistake."""
    reading = read_yaml(data)
    if not reading.whole:
        raise document_error(reading.mistakes, name, _ADVICE)
    positions = Positions(name, reading.marks)
    mistakes = list(reading.mistakes)
    value = {} if reading.value is None else reading.value
    config: Config | None = None
    if isinstance(value, dict):
        try:
            config = Config.model_validate({key: item for key, item in value.items() if item is not None})
        except ValidationError as error:
            mistakes += complaints(error, Config, positions, _HINTS)
    else:
        expected = ", ".join(Config.model_fields)
        mistakes.append(Mistake(*positions.nearest(()), f"a table is expected: {expected}"))
    if mistakes or config is None:
        raise document_error(mistakes, name, _ADVICE)
    return config
