"""The failure verdict, schema version 1: what failed, why, how sure, what to do. Every format is rendered from it, and it reads back strictly."""

import enum

import msgspec

from audit.documents.report import Tool

SCHEMA_VERSION = 1


class Category(enum.Enum):
    """What kind of thing went wrong."""

    ML_REGRESSION = "ml_regression"
    CORRECTNESS = "correctness"
    DATA_CONFIG = "data_config"
    INFRA_RUNTIME = "infra_runtime"
    METRIC_POLICY = "metric_policy"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"


class Decision(enum.Enum):
    """What to do with the change."""

    BLOCK = "block"
    ALLOW = "allow"
    RERUN = "rerun"
    FIX_CONFIG = "fix_config"
    FIX_CODE = "fix_code"
    NEED_EVIDENCE = "need_evidence"


class Confidence(enum.Enum):
    """`high`: the evidence closes the question; `medium`: the best reading, another is possible; `low`: a lead."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class ClaimStatus(enum.Enum):
    """What raw telemetry says of a claim."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    NOT_DERIVABLE = "not_derivable"


class EvidenceKind(enum.Enum):
    """Where a piece of evidence comes from."""

    LOG = "log"
    METRIC = "metric"
    CONFIG = "config"
    SOURCE = "source"
    CLAIM = "claim"


class Trust(enum.Enum):
    """How far a piece of evidence is trusted: `raw` outranks `derived`, which outranks `prose`."""

    RAW = "raw"
    DERIVED = "derived"
    PROSE = "prose"


class Role(enum.Enum):
    """What a piece of evidence is to the verdict."""

    CAUSE = "cause"
    CONSEQUENCE = "consequence"
    CONTEXT = "context"
    RECOVERED = "recovered"
    RULED_OUT = "ruled_out"


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The one line that names a root cause.

    `file` as the command line named it (`log.txt`, `logs.zip!job/1_step.txt`), `line` counts from 1 and ends at LF,
    `text` is the line, trimmed and redacted, `signature` the id of what it is known as.
    """

    file: str
    line: int
    text: str
    signature: str
    job: str | None = None
    step: str | None = None
    rank: int | None = None


class OtherCause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A further root cause, independent of the first: its own category and decision."""

    file: str
    line: int
    text: str
    signature: str
    category: Category
    decision: Decision
    job: str | None = None
    step: str | None = None
    rank: int | None = None


class FactInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number that went into a fact. `source`: `file:line`, `file:row`, or a series and its step."""

    name: str
    value: float | int | str | bool | None
    source: str = ""


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A number recomputed from raw evidence, with the formula and what went into it. Fractions are fractions, not per cent."""

    name: str
    value: float | int | str | bool | None
    unit: str = ""
    formula: str = ""
    inputs: tuple[FactInput, ...] = ()


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence of the change's text, and what raw telemetry says of it."""

    text: str
    status: ClaimStatus
    why: str


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A span of a log, a metric, a configuration, source or claim line that the verdict rests on."""

    kind: EvidenceKind
    trust: Trust
    file: str
    line: int | None
    text: str
    role: Role


class TraceStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in the repository between the workflow and the failing comparison. `symbol`: a function, job, step or key."""

    path: str
    line: int | None
    symbol: str
    why: str


class Alternative(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A category that a reader could think of, and the evidence against it."""

    category: Category
    why_not: str


class Verdict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything the failure analysis has to say of one run.

    `cause` is None where nothing failed or the evidence cannot decide; otherwise a line of a given log or of the claims.
    `pre_existing` is None unless a run of the base commit was given.
    """

    schema_version: int
    tool: Tool
    category: Category
    decision: Decision
    confidence: Confidence
    cause: Cause | None
    other_causes: tuple[OtherCause, ...]
    pre_existing: bool | None
    failing: tuple[str, ...]
    passed_checks: tuple[str, ...]
    facts: tuple[Fact, ...]
    claims: tuple[Claim, ...]
    evidence: tuple[Evidence, ...]
    trace: tuple[TraceStep, ...]
    alternatives: tuple[Alternative, ...]
    recommendation: str
    not_known: tuple[str, ...]
