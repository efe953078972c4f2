"""Contexts made of a few files, with signals set by hand: a rule is tested apart from what computes its signals."""

from collections.abc import Mapping
from typing import Any

import msgspec

from audit.documents.finding import Status
from audit.documents.signals import Checkpoint, CriticalDependency, HubCalls, Signal, Signals
from audit.rules.catalogue import rule
from audit.rules.rule import Context, Outcome
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath
from audit.source.snapshot import GitState, Snapshot
from tests.signals.building import build

_PLAIN: dict[str, Any] = {
    "readme": True,
    "license": "MIT",
    "lockfile": "none",
    "training_loop": "raw_torch",
    "python_version": None,
    "dataset_pinned": None,
    "dataloader_worker_seeding": None,
    "critical_dependencies": {},
    "checkpoint": Checkpoint(),
    "hub_calls": HubCalls(),
}
_LISTS = frozenset(
    """dependency_manifest frameworks seed_control determinism_flags nondeterminism distributed experiment_tracking config_driven
    config_conflicts dataset_sources model_ids dataset_ids api_models training_method quantization secrets_tracked performance_hints""".split()
)


def signals(**values: Any) -> Signals:
    """Signals with these values (a Signal, or a plain value without evidence); what is not given is absent."""
    filled = {}
    for name in Signals.__struct_fields__:
        value = values.pop(name, _PLAIN.get(name, () if name in _LISTS else False))
        filled[name] = value if isinstance(value, Signal) else Signal(value)
    assert not values, f"no such signal: {values}"
    return Signals(**filled)


def context(
    files: Mapping[str, str | bytes] | None = None,
    *,
    git: GitState | str | None = "as built",
    repository: str = "someone/project",
    snapshot: Mapping[str, Any] | None = None,
    **values: Any,
) -> Context:
    """The context of a repository with these files. `git` replaces its state, `snapshot` further fields of the snapshot; the rest are signals."""
    built = build(files or {"main.py": "print(1)\n"}, repository)
    changed: Snapshot = msgspec.structs.replace(built.snapshot, **dict(snapshot or {}))
    if not isinstance(git, str):
        changed = msgspec.structs.replace(changed, git=git)
    built.snapshot = changed
    return Context(built, TrainingPath(built), signals(**values))


def bodies(given: Context, **replaced: Any) -> Context:
    """The same context with the facts of some files replaced: {path: body} under the name `facts`."""
    files: dict[str, Any] = replaced.pop("facts")
    repository: Repository = given.repository
    for path, body in files.items():
        repository.facts[path] = msgspec.structs.replace(repository.facts[path], body=body)
    return Context(repository, TrainingPath(repository), given.signals)


def outcomes(identifier: str, given: Context) -> list[Outcome]:
    """What the rule says."""
    return list(rule(identifier).check(given))


def failures(identifier: str, given: Context) -> list[str]:
    """The messages of what failed."""
    return [each.message for each in outcomes(identifier, given) if each.status is Status.FAIL]


def status(identifier: str, given: Context) -> Status:
    """The status of a rule that gives one outcome."""
    (only,) = outcomes(identifier, given)
    return only.status


def unpinned(declared: str = "unversioned") -> CriticalDependency:
    return CriticalDependency(declared, exact=False)


def pinned(version: str) -> CriticalDependency:
    return CriticalDependency(f"=={version}", exact=True)
