"""Settings that frameworks keep beside a run's metrics: Lightning's `hparams.yaml`, W&B's `files/config.yaml`, Hydra's
`.hydra/config.yaml`.
"""

from collections.abc import Sequence

import yaml

from audit.documents.place import Gap
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.flatten import settings
from audit.telemetry.model import Format, Run, Telemetry

_NAMES = frozenset(("hparams.yaml", "config.yaml"))
_MAX_BYTES = 256 * 1024
_MAX_ALIASES = 100
"""Aliases of aliases multiply; settings use a handful."""


def is_settings(artifact: Artifact) -> bool:
    """Whether it has one of the names under which the frameworks write it."""
    return artifact.file in _NAMES


def read(files: Sequence[Artifact]) -> Telemetry:
    """The settings as the record of a run, named as its folder."""
    artifact = files[0]
    try:
        raw = artifact.read(_MAX_BYTES + 1)
        document = _document(raw)
    except DAMAGED:
        return _unread(artifact, "damaged: it does not unpack to its end")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return _unread(artifact, f"no readable YAML: {type(error).__name__}")
    if not isinstance(document, dict):
        return _unread(artifact, "holds no settings")
    found = settings({str(key): item for key, item in document.items()})
    folder = artifact.folder.removesuffix("/.hydra").removesuffix("/files")
    run = Run(
        name=folder.rsplit("/", 1)[-1] or artifact.file,
        source=artifact.name,
        format=Format.SETTINGS,
        settings=found,
    )
    return Telemetry(runs=(run,), files=(artifact.name,))


def _document(raw: bytes) -> object:
    text = raw.decode("utf-8", "replace")
    if len(raw) > _MAX_BYTES or text.count("*") > _MAX_ALIASES:
        raise ValueError("too large")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, Loader=loader)  # noqa: S506 a safe loader: tags of Python objects are refused


def _unread(artifact: Artifact, why: str) -> Telemetry:
    return Telemetry(files=(artifact.name,), gaps=(Gap(artifact.name, why),))
