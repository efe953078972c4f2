"""Parquet histories, read with pyarrow where the extra `parquet` is installed."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from audit.documents.place import Gap
from audit.telemetry.artifact import Artifact
from audit.telemetry.model import Format, Telemetry
from audit.telemetry.numbers import value
from audit.telemetry.rows import RowReader

_MAGIC = b"PAR1"
_MAX_ROWS = 2_000_000
_BATCH = 10_000


def is_parquet(artifact: Artifact) -> bool:
    """Whether it starts as such a file does."""
    return artifact.head.startswith(_MAGIC)


def read(files: Sequence[Artifact]) -> Telemetry:
    """The columns of numbers as series."""
    artifact = files[0]
    try:
        arrow, storage = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        return _unread(artifact, "Parquet is read with the extra `parquet` only: it is not installed")
    reader = RowReader(artifact.name, artifact.file.split(".")[0], Format.PARQUET, value)
    try:
        with storage.ParquetFile(artifact.path) as file:
            names = [field.name for field in file.schema_arrow if _is_plain(arrow.types, field.type)]
            for batch in file.iter_batches(batch_size=_BATCH, columns=names):
                for row in batch.to_pylist():
                    reader.take(row, 0)
                if reader.rows >= _MAX_ROWS:
                    break
    except (arrow.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        return _unread(artifact, f"damaged or cut: {str(error)[:200]}")
    return Telemetry(
        series=reader.series(), tables=reader.tables(), runs=reader.runs(), files=(artifact.name,)
    )


def _is_plain(types: Any, kind: object) -> bool:
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_string(kind)
    )


def _unread(artifact: Artifact, why: str) -> Telemetry:
    return Telemetry(files=(artifact.name,), gaps=(Gap(artifact.name, why),))
