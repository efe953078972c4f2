"""All readers, in the order in which they are asked, and the one way to read what a user gives."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from audit.documents.place import Gap
from audit.telemetry import (
    delimited,
    documents,
    hf_trainer,
    junit,
    mlflow,
    mllog,
    parquet,
    settings_file,
    tensorboard,
    wandb,
)
from audit.telemetry.artifact import Artifact, collect, from_bytes
from audit.telemetry.model import Telemetry, joined

_MAX_UNKNOWN = 20
"""Files of no known format that are named one by one."""

Group = tuple[Artifact, ...]


class Reader(msgspec.Struct, frozen=True):
    """`group`: of the artifacts not taken yet those that belong to this reader, by what is read together. `read`: reads one
    group, and never raises for what a file holds.
    """

    name: str
    group: Callable[[Sequence[Artifact]], list[Group]]
    read: Callable[[Group], Telemetry]


def _single(name: str, fits: Callable[[Artifact], bool], read: Callable[[Group], Telemetry]) -> Reader:
    return Reader(name, lambda artifacts: [(artifact,) for artifact in artifacts if fits(artifact)], read)


READERS: tuple[Reader, ...] = (
    Reader("TensorBoard event files", tensorboard.group, tensorboard.read),
    Reader("W&B offline run", wandb.group, wandb.read),
    _single("MLflow SQLite store", mlflow.is_database, mlflow.read_database),
    Reader("MLflow file store", mlflow.group_store, mlflow.read_store),
    _single("Parquet", parquet.is_parquet, parquet.read),
    _single("JUnit XML", junit.is_report, junit.read),
    _single("MLPerf log", mllog.is_log, mllog.read),
    _single("JSON lines", documents.is_json_lines, documents.read_lines),
    _single("JSON", documents.is_json, documents.read),
    _single("settings file", settings_file.is_settings, settings_file.read),
    _single("CSV and TSV", delimited.is_delimited, delimited.read),
)


def read(paths: Sequence[Path]) -> Telemetry:
    """All telemetry in the files and folders given. Never raises for what they hold: what was not read, or not read whole, is
    in `gaps`.
    """
    artifacts, gaps = collect(paths)
    return joined([Telemetry(gaps=tuple(gaps)), read_artifacts(artifacts)])


def read_bytes(name: str, data: bytes) -> Telemetry:
    """The telemetry of one file whose content is at hand, such as golden values in a repository's snapshot."""
    return read_artifacts([from_bytes(name, data)])


def read_artifacts(artifacts: Sequence[Artifact]) -> Telemetry:
    """As `read`, of artifacts."""
    left, superseded = _without_old_states(artifacts)
    parts: list[Telemetry] = []
    for reader in READERS:
        groups = reader.group(left)
        parts += [reader.read(group) for group in groups]
        taken = {id(artifact) for group in groups for artifact in group}
        left = [artifact for artifact in left if id(artifact) not in taken]
    gaps = [
        Gap(artifact.name, "an earlier state of a run whose later state was read") for artifact in superseded
    ]
    parts.append(Telemetry(gaps=(*gaps, *_unknown(left))))
    return joined(parts)


def _without_old_states(artifacts: Sequence[Artifact]) -> tuple[list[Artifact], list[Artifact]]:
    states = [artifact for artifact in artifacts if artifact.file == "trainer_state.json"]
    _, superseded = hf_trainer.newest(states)
    old = {id(artifact) for artifact in superseded}
    return [artifact for artifact in artifacts if id(artifact) not in old], superseded


def _unknown(left: Sequence[Artifact]) -> list[Gap]:
    named = [
        Gap(artifact.name, "empty" if not artifact.head else "no format that is known here")
        for artifact in left
        if artifact.explicit or len(left) <= _MAX_UNKNOWN
    ]
    if len(named) < len(left):
        named.append(
            Gap(left[0].name, f"one of {len(left) - len(named)} files of no format that is known here")
        )
    return named
