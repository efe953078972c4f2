"""The action's inputs and outputs: the one table that `action.yml`, `composite/action.yml`, the README and the JSON schema are made of.

A container gets an input as `INPUT_` and its name in upper case, hyphens kept (`INPUT_FAIL-ON`); a step of a composite action passes it with
underscores (`INPUT_FAIL_ON`), because not every shell hands on a variable with a hyphen. An input that is not set and one that is empty arrive alike, so
empty means unset.
"""

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    ValidationError,
)
from pydantic.fields import FieldInfo

from audit.assess.gate import FailOn, Scope
from audit.github.destination import CommentMode
from audit.safety.redact import redact

MOST_ANNOTATIONS = 300
"""More on one pull request make its page slow (one with 270 review comments timed out)."""

_SHOWN = 200


class InputError(Exception):
    """One or several inputs are not valid. `problems`: one sentence for each, naming the input, its value and what is allowed."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


class Mode(enum.Enum):
    """What the action does."""

    AUDIT = "audit"
    FAILURE = "failure"
    PUBLISH = "publish"


class OnError(enum.Enum):
    """What becomes of the job when the audit itself cannot be done."""

    FAIL = "fail"
    WARN = "warn"


class Allowed:
    """What an input may hold, in words: for errors and for the tables."""

    def __init__(self, words: str) -> None:
        self.words = words


def _switch(value: Any) -> Any:
    """YAML's own words for yes and no, which reach an action as text."""
    return {"true": True, "false": False}.get(str(value).lower(), value)


def _off(value: Any) -> Any:
    """YAML reads a plain `off` as false."""
    return "off" if str(value).lower() == "false" else value


def _words(value: Any) -> Any:
    """The items of a list written on several lines or with commas."""
    return tuple(dict.fromkeys(filter(None, (item.strip() for item in re.split(r"[,\n]", str(value))))))


def _lines(value: Any) -> Any:
    """The items of a list of paths, one a line: a path may hold a comma."""
    return tuple(dict.fromkeys(filter(None, (item.strip() for item in str(value).splitlines()))))


Switch = Annotated[bool, BeforeValidator(_switch)]
Path = Annotated[
    str,
    StringConstraints(max_length=1000, pattern=r"^[^\x00-\x1f]+$"),
    Allowed("a path, relative to the workspace"),
]
Paths = Annotated[
    tuple[Path, ...], BeforeValidator(_lines), Field(max_length=200), Allowed("paths, one a line")
]
Ref = Annotated[
    str,
    StringConstraints(max_length=255, pattern=r"^[^-\x00-\x20\x7f~^:?*\[\\][^\x00-\x20\x7f~^:?*\[\\]*$"),
    Allowed("a branch, tag or commit"),
]
Profile = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]{1,60}$")]
Category = Literal[
    "ml_regression", "correctness", "data_config", "infra_runtime", "metric_policy", "unsupported_claim",
    "inconclusive", "never",
]  # fmt: skip


class Inputs(BaseModel):
    """Every input of the action, by its name with hyphens."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.replace("_", "-"),
        title="Inputs of the ml-audit action",
    )

    path: Path | None = Field(
        None,
        description=(
            "Folder of the checkout to audit; unset: the workspace. With mode publish: the downloaded report, or the folder it lies "
            "in; unset: the run's artifact ml-audit-report."
        ),
    )
    repo_url: (
        Annotated[
            str,
            StringConstraints(max_length=500, pattern=r"^[^\x00-\x20]+$"),
            Allowed("an address, or owner/repo"),
        ]
        | None
    ) = Field(
        None,
        description="Another repository to audit instead of the checkout. Its result goes to this run's summary and artifact only.",
    )
    ref: Ref | None = Field(
        None,
        description="Branch, tag or commit to audit, of `repo-url` (unset: its default branch) or of the checkout (unset: the event's).",
    )
    mode: Mode = Field(
        Mode.AUDIT,
        description=(
            "What to do: audit the repository, explain a failed run, or publish the report that a run "
            "without write access left."
        ),
    )
    level: Literal["auto", "0", "1", "2"] | None = Field(
        None, description="Which rules run; unset: what `.ml-audit/config.yaml` says, or auto."
    )
    profiles: Annotated[
        tuple[Profile, ...],
        BeforeValidator(_words),
        Field(max_length=50),
        Allowed("names, with commas between"),
    ] = Field((), description="Kinds of experiment that the repository is taken to hold.")
    fail_on: FailOn | None = Field(
        None,
        description=(
            "The least severity of a finding that fails the job; unset: what `.ml-audit/config.yaml` says (of a pull request, that "
            "of its base, without which never counts as critical), or critical."
        ),
    )
    fail_on_scope: Scope | None = Field(
        None,
        description=(
            "Whether only findings that the baseline lacks can fail the job, or all; unset: new on pull requests and in merge "
            "queues, all elsewhere. Without a baseline every finding counts as new."
        ),
    )
    fail_on_drift: Literal["high", "medium_high", "medium", "low", "never"] | None = Field(
        None,
        description=(
            "The least severity of a change of the experiment since the baseline that fails the job; unset: none. On a pull request whose "
            "baseline cannot be read it fails the job, too."
        ),
    )
    fail_on_verdict: Annotated[
        tuple[Category, ...],
        BeforeValidator(_words),
        Allowed("categories with commas between, or never: " + ", ".join(get_args(Category)[:-1])),
    ] = Field((), description="Verdicts on a failed run that fail the job; unset: none.")
    baseline: Annotated[
        str,
        StringConstraints(max_length=1000, pattern=r"^[^-\x00-\x1f][^\x00-\x1f]*$"),
        Allowed("auto, none, a ref, or a JSON report"),
    ] = Field(
        "auto",
        description="What findings are compared with. auto: the merge base of a pull request, the commit before a push.",
    )
    logs: Paths = Field((), description="Logs of the failed run: files, folders, archives.")
    run_id: Annotated[int, Field(ge=1), Allowed("the number of a workflow run")] | None = Field(
        None, description="The workflow run whose logs are read; unset: the one that triggered this."
    )
    metrics: Paths = Field((), description="Metrics of the failed run: files or folders.")
    golden: Path | None = Field(None, description="Metrics of a good run to compare with.")
    claims: Path | None = Field(
        None, description="Claims about the run that are checked against its telemetry."
    )
    comment: CommentMode = Field(
        CommentMode.ALWAYS,
        description="When the pull request's comment is written: always, on new or fixed findings or a changed experiment, on any finding, never.",
    )
    comment_key: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,99}$"),
            Allowed("letters, digits, blanks, . _ / -"),
        ]
        | None
    ) = Field(
        None,
        description="Tells this comment and check from those of other jobs; unset: workflow and job name, so give one to each leg of a matrix.",
    )
    check_run: Switch = Field(True, description="Whether a check run with annotations is written.")
    annotations: Annotated[
        int, Field(ge=0, le=MOST_ANNOTATIONS), Allowed(f"a number from 0 to {MOST_ANNOTATIONS}")
    ] = Field(50, description="How many findings are annotated at most.")
    suggestions: Switch = Field(
        False,
        description="Whether safe fixes are suggested in a review, where the pull request touches the lines.",
    )
    lock: Annotated[Literal["off", "check", "update"], BeforeValidator(_off)] = Field(
        "off",
        description=(
            "check: a lock that is missing, or that no longer holds for manifest, files or dependencies, closes the gate. update: what "
            "`ml-audit.yaml` declares is resolved anew, and the lock that there should be lies in `output-dir`."
        ),
    )
    output_dir: Path = Field(
        "ml-audit-report",
        description="Folder for report.json, report.html, report.sarif, diff.json and diff.md; with mode failure for verdict.json and so on.",
    )
    sarif_file: Path | None = Field(
        None, description="Another place for the SARIF report; unset: in `output-dir`."
    )
    ca_bundle: Path | None = Field(
        None, description="PEM file with the certificate authorities of a GitHub server of your own."
    )
    on_error: OnError = Field(
        OnError.FAIL, description="Whether the job fails when the audit itself cannot be done, or only warns."
    )
    github_token: Annotated[SecretStr, Allowed("a token")] | None = Field(
        None, description="Token that reads the repository and writes comment and check."
    )
    repo_token: Annotated[SecretStr, Allowed("a token")] | None = Field(
        None, description="Token that reads a private `repo-url`."
    )


GIVEN = {"github-token": "${{ github.token }}"}
"""Defaults that the workflow fills in before the action starts."""

_OF_FAILURE = ("fail-on-verdict", "logs", "run-id", "metrics", "golden", "claims")

OUTPUTS: Mapping[str, str] = {
    "conclusion": "success, failure (the gate is closed), error (the audit could not be done) or skipped (there was nothing to audit).",
    "score": "The score, 0.0 to 10.0.",
    "risk": "LOW, MEDIUM or HIGH.",
    "findings-total": "How many findings fail.",
    "findings-new": "How many of them the baseline lacks; empty without a baseline.",
    "highest-severity": "CRITICAL, WARNING or INFO, of the findings that the gate looks at; empty where there are none.",
    "drift": "HIGH, MEDIUM_HIGH, MEDIUM or LOW: the gravest change of the experiment since the baseline; NONE where nothing changed; empty without a baseline.",
    "verdict": "The category of the failure verdict; empty without one.",
    "decision": "What the failure verdict advises; empty without one.",
    "report-json": "Path of the report (with mode failure: the verdict) as JSON, relative to the workspace.",
    "report-html": "Path of the same as HTML.",
    "lock-file": "Path of the lock that `lock: update` made; empty where none was.",
    "diff-file": "Path of what changed in the experiment as JSON (diff.md lies beside it); empty without a baseline.",
    "sarif-file": "Path of the same as SARIF.",
    "comment-url": "Address of the comment; empty where none was written.",
    "check-url": "Address of the check run; empty where none was written.",
}


def named(environ: Mapping[str, str]) -> dict[str, str]:
    """What the environment says of the inputs, by name; those that are empty are left out."""
    found = {}
    for name in names():
        upper = f"INPUT_{name.upper()}"
        value = (environ.get(upper) or environ.get(upper.replace("-", "_")) or "").strip()
        if value:
            found[name] = value
    return found


def names() -> tuple[str, ...]:
    """The names of the inputs, in the order of the tables."""
    return tuple(name.replace("_", "-") for name in Inputs.model_fields)


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """The inputs of this run. Raises InputError."""
    given = named(environ)
    try:
        inputs = Inputs.model_validate(given)
    except ValidationError as error:
        raise InputError(tuple(dict.fromkeys(_problems(error, given)))) from None
    if problems := tuple(_contradictions(inputs)):
        raise InputError(problems)
    return inputs


def _problems(error: ValidationError, given: Mapping[str, str]) -> Iterator[str]:
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        name = str(item["loc"][0])
        field = Inputs.model_fields[name.replace("-", "_")]
        yield f"The input {name} has the value {_quoted(given[name])}; allowed: {allowed(field)}."


def _quoted(value: str) -> str:
    """A value as an error shows it: a token that went into the wrong input must not."""
    shown = redact(value)
    return f'"{shown[:_SHOWN]}{"…" if len(shown) > _SHOWN else ""}"'


def _contradictions(inputs: Inputs) -> Iterator[str]:
    if "never" in inputs.fail_on_verdict and len(inputs.fail_on_verdict) > 1:
        yield "The input fail-on-verdict names never beside categories; give one or the other."
    if inputs.repo_token and not inputs.repo_url:
        yield "The input repo-token is set, but repo-url is not; the checkout is read without it."
    if inputs.mode is not Mode.AUDIT and (inputs.repo_url or inputs.ref):
        yield f"The inputs repo-url and ref belong to mode audit; mode {inputs.mode.value} takes what the run was about."
    for name in _OF_FAILURE if inputs.mode is not Mode.FAILURE else ():
        if getattr(inputs, name.replace("-", "_")) not in (None, (), ("never",)):
            yield f"The input {name} is set, but it belongs to mode failure, not to mode {inputs.mode.value}."
    if inputs.logs and inputs.run_id is not None:
        yield "The inputs logs and run-id both say where the logs are; give one of them."


def allowed(field: FieldInfo) -> str:
    """What an input may hold, in words."""
    for item in (*field.metadata, *_inner(field.annotation)):
        if isinstance(item, Allowed):
            return item.words
    if options := choices(field):
        return ", ".join(options)
    raise TypeError(f"An input of type {field.annotation} says not what it allows.")


def choices(field: FieldInfo) -> tuple[str, ...]:
    """The words that an input is limited to; none where it is free."""
    if field.annotation is bool:
        return ("true", "false")
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return tuple(member.value for member in kind)
        if getattr(kind, "__origin__", None) is Literal:
            return tuple(get_args(kind))
    return ()


def _inner(annotation: Any) -> Iterator[Any]:
    """The marks inside of an optional type."""
    for kind in get_args(annotation):
        yield from getattr(kind, "__metadata__", ())
