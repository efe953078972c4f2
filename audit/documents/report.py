"""The audit report, schema version 1: every format is rendered from it, and it reads back strictly."""

import msgspec

from audit.documents.finding import Finding
from audit.documents.place import Gap, Place
from audit.documents.signals import Signals

SCHEMA_VERSION = 1


class Tool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The program that wrote the document."""

    name: str
    version: str


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points that one rule's findings took from a dimension."""

    rule: str
    points: float
    message: str


class Dimension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the eight dimensions. `score` 0 to 10, None where nothing of it applies; `weight` its share of the whole."""

    score: float | None
    weight: float
    why: tuple[Loss, ...] = ()


class Dimensions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The eight dimensions of the score."""

    environment: Dimension
    determinism: Dimension
    documentation: Dimension
    testing: Dimension
    ci_cd: Dimension
    benchmarking: Dimension
    data: Dimension
    configuration: Dimension


class Analysis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the repository holds, as plain yes or no."""

    has_readme: bool
    has_license: bool
    has_pyproject: bool
    has_requirements: bool
    has_tests: bool
    has_examples: bool
    has_ci: bool
    has_benchmarks: bool
    has_dataset_docs: bool


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How it is kept, as plain yes or no."""

    has_pinned_dependencies: bool
    has_seed_control: bool
    has_training_loop: bool
    has_config_files: bool


class Patterns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What it is built with, as plain yes or no."""

    uses_pytorch: bool
    uses_tensorflow: bool
    uses_jax: bool
    uses_distributed: bool
    uses_all_reduce: bool
    uses_dataparallel: bool


class DetectedProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of experiment that the code holds. `confidence`: high, medium, low."""

    profile: str
    confidence: str
    evidence: tuple[Place, ...] = ()


class Profiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Declared in a manifest or by flag, resolved with their parents, and detected from the code."""

    declared: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    detected: tuple[DetectedProfile, ...] = ()


class Summary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of outcomes; the first three are failures by severity, `new` and `fixed` None without a baseline."""

    critical: int
    warning: int
    info: int
    passed: int
    not_applicable: int
    not_checked: int
    suppressed: int
    new: int | None = None
    fixed: int | None = None


class Baseline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The earlier state that was compared with: what it was named by, its score and risk, and its failures that are gone now."""

    name: str
    commit: str | None
    score: float
    risk: str
    fixed: tuple[Finding, ...] = ()


class Coverage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the audit looked at: all files of the snapshot, those parsed whole, in part, or left out, and why."""

    files: int
    parsed: int
    partial: tuple[Gap, ...] = ()
    skipped: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything the audit has to say of one target."""

    schema_version: int
    tool: Tool
    repository: str
    commit: str | None
    level: int
    generated_at: str
    score: float
    risk: str
    dimensions: Dimensions
    analysis: Analysis
    quality: Quality
    patterns: Patterns
    signals: Signals
    profiles: Profiles
    findings: tuple[Finding, ...]
    insights: tuple[str, ...]
    summary: Summary
    coverage: Coverage
    baseline: Baseline | None = None
