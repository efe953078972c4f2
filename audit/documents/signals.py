"""The signals: one answer each about the repository, with evidence. Names and value types are the design's."""

from typing import Any, Generic, TypeVar

import msgspec

from audit.documents.place import Place

T = TypeVar("T")


class Signal(msgspec.Struct, Generic[T], frozen=True, forbid_unknown_fields=True):
    """A value with its evidence; a value of None means that the question does not apply to this repository."""

    value: T
    evidence: tuple[Place, ...] = ()


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the shipped training code writes."""

    model: bool = False
    optimizer: bool = False
    rng_state: bool = False
    progress: bool = False


class HubCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls that load from the hub: how many, with a commit as revision, with a revision passed on as a variable."""

    total: int = 0
    pinned: int = 0
    passthrough: int = 0


class HubId(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """A model or dataset id of the hub that stands as a literal in code or configuration."""

    id: str
    path: str
    line: int | None
    pinned: bool = False


class ApiModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """A model behind an API. `pinnability`: dated_snapshot, month_day_snapshot, mutable_alias, versioned, deployment_name,
    hosted_weights."""

    provider: str
    id: str
    pinnability: str
    path: str = ""
    line: int | None = None


class ConflictPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """One of the places of a conflict, with the value that stands there."""

    path: str
    line: int | None
    value: str


class ConfigConflict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One setting with different values in places that claim to describe one run."""

    setting: str
    places: tuple[ConflictPlace, ...]
    note: str = ""


class CriticalDependency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package that the numbers depend on. `declared`: the declaration as a reader would say it ("==2.4.1", "unversioned",
    "imported, not declared"); `exact`: one version and no other is asked for."""

    declared: str
    exact: bool
    locked: str | None = None


class Signals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All signals of one repository, in the order in which reports show them."""

    readme: Signal[bool]
    license: Signal[str | None]
    citation: Signal[bool]
    dependency_manifest: Signal[tuple[str, ...]]
    lockfile: Signal[str]
    python_version: Signal[str | None]
    critical_dependencies: Signal[dict[str, CriticalDependency]]
    container: Signal[bool]
    tests: Signal[bool]
    ci_tests: Signal[bool]
    benchmarks: Signal[bool]
    frameworks: Signal[tuple[str, ...]]
    training_loop: Signal[str]
    seed_control: Signal[tuple[str, ...]]
    determinism_flags: Signal[tuple[str, ...]]
    dataloader_worker_seeding: Signal[bool | None]
    nondeterminism: Signal[tuple[Place, ...]]
    distributed: Signal[tuple[str, ...]]
    all_reduce: Signal[bool]
    mixed_precision: Signal[bool]
    gradient_accumulation: Signal[bool]
    checkpoint: Signal[Checkpoint | None]
    resume: Signal[bool]
    evaluation: Signal[bool]
    experiment_tracking: Signal[tuple[str, ...]]
    config_driven: Signal[tuple[str, ...]]
    config_conflicts: Signal[tuple[ConfigConflict, ...]]
    dataset_sources: Signal[tuple[str, ...]]
    dataset_pinned: Signal[str | None]
    hub_calls: Signal[HubCalls]
    trust_remote_code: Signal[bool]
    model_ids: Signal[tuple[HubId, ...]]
    dataset_ids: Signal[tuple[HubId, ...]]
    api_models: Signal[tuple[ApiModel, ...]]
    training_method: Signal[tuple[str, ...]]
    quantization: Signal[tuple[str, ...]]
    judge: Signal[bool]
    secrets_tracked: Signal[tuple[str, ...]]
    performance_hints: Signal[tuple[Place, ...]]

    def named(self, name: str) -> Signal[Any]:
        """The signal called `name`; AttributeError where there is none."""
        signal: Signal[Any] = getattr(self, name)
        return signal
