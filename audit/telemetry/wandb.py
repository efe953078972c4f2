"""Weights & Biases offline runs (`run-<id>.wandb`): a LevelDB-like log of protobuf records.

Source of the layouts: the LevelDB log format (google/leveldb `doc/log_format.md`) with zlib's CRC-32 in place of
CRC-32C, and wandb's `proto/wandb_internal.proto`.
"""

import json
import math
import zlib
from collections.abc import Iterator, Sequence

from audit.documents.place import Gap
from audit.telemetry import protobuf
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.building import Collector
from audit.telemetry.flatten import numbers, settings
from audit.telemetry.model import Format, Run, Scalar, Telemetry
from audit.telemetry.numbers import value, whole
from audit.telemetry.protobuf import WireError, submessage, text

_IDENT = b":W&B"
_HEADER = 7
_BLOCK = 32_768
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SEED = {kind: zlib.crc32(bytes([kind])) for kind in (_FULL, _FIRST, _MIDDLE, _LAST)}
_MAX_RECORD = 64 * 2**20
_MAX_JSON = 64 * 1024
"""A longer value is a table or a histogram, no number."""

_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = 2, 3, 5, 17, 18
_OWN = ("_step", "_runtime", "_timestamp", "_wandb")


def is_run(artifact: Artifact) -> bool:
    """Whether it starts as such a log does."""
    return artifact.head.startswith(_IDENT)


def group(artifacts: Sequence[Artifact]) -> list[tuple[Artifact, ...]]:
    """Each log with what the client keeps beside it (`files/`, `logs/`): environment, debug logs and a summary that the log
    holds too.
    """
    runs = {artifact.folder: [artifact] for artifact in artifacts if is_run(artifact)}
    for artifact in artifacts:
        for part in ("files", "logs"):
            folder, found, _ = artifact.name.partition(f"/{part}/")
            if found and folder in runs:
                runs[folder].append(artifact)
                break
    alone = [
        (artifact,) for artifact in artifacts if is_run(artifact) and runs[artifact.folder][0] is not artifact
    ]
    return [tuple(files) for files in runs.values()] + alone


def read(files: Sequence[Artifact]) -> Telemetry:
    """The run in one log; a damaged or unfinished log is read as far as it goes."""
    artifact = files[0]
    reading = _Reading(artifact)
    records = _Records(artifact)
    unreadable = 0
    for record in records:
        try:
            reading.take(record)
        except (WireError, RecursionError):
            unreadable += 1
    problems = [records.problem] if records.problem else []
    if unreadable:
        problems.append(f"{unreadable} records are no wandb records")
    return Telemetry(
        series=reading.collector.series(),
        runs=(reading.run(),),
        files=tuple(file.name for file in files),
        gaps=(Gap(artifact.name, "; ".join(problems)),) if problems else (),
    )


class _Records:
    """The records of the log, until its end or damage (`problem`). A block with a wrong checksum is left out."""

    def __init__(self, artifact: Artifact) -> None:
        self.problem = ""
        self._artifact = artifact

    def __iter__(self) -> Iterator[bytes]:
        pending: list[bytes] | None = None
        try:
            for kind, part in self._parts():
                if kind in (_FULL, _FIRST):
                    pending = []
                if pending is None:
                    continue
                pending.append(part)
                if sum(map(len, pending)) > _MAX_RECORD:
                    pending = None
                elif kind in (_FULL, _LAST):
                    yield b"".join(pending)
                    pending = None
        except DAMAGED:
            self.problem = "damaged: it does not unpack to its end"
        if pending:
            self.problem = self.problem or "ends within a record: read up to there"

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        wrong = 0
        offset = _HEADER  # the file's own header counts into the first block
        with self._artifact.open() as stream:
            stream.read(_HEADER)
            while block := stream.read(_BLOCK - offset):
                at = 0
                while len(block) - at >= _HEADER:
                    checksum = int.from_bytes(block[at : at + 4], "little")
                    size = int.from_bytes(block[at + 4 : at + 6], "little")
                    kind = block[at + 6]
                    part = block[at + _HEADER : at + _HEADER + size]
                    if kind not in _SEED or len(part) < size:
                        if any(block[at:]):  # zeros fill what a crash left unwritten
                            self.problem = "damaged or cut: read up to the damage"
                        break
                    at += _HEADER + size
                    if zlib.crc32(part, _SEED[kind]) == checksum:
                        yield kind, part
                    else:
                        wrong += 1
                offset = 0
        if wrong:
            self.problem = self.problem or f"{wrong} pieces with a wrong checksum were left out"


class _Reading:
    """What the records say, gathered."""

    def __init__(self, artifact: Artifact) -> None:
        self.collector = Collector(Format.WANDB)
        self._artifact = artifact
        self._name = artifact.folder.rsplit("/", 1)[-1] or artifact.file
        self._settings: dict[str, Scalar] = {}
        self._summary: dict[str, float] = {}
        self._exit: int | None = None
        self._steps = 0
        self._last: int | None = None
        self._started: float | None = None
        self._ended: float | None = None

    def take(self, record: bytes) -> None:
        for number, raw in protobuf.fields(record):
            if number == _HISTORY:
                self._history(submessage(raw))
            elif number == _SUMMARY:
                self._summary |= numbers(dict(_items(submessage(raw), 1)))
            elif number == _CONFIG:
                self._settings |= settings(dict(_items(submessage(raw), 1)))
            elif number == _RUN:
                self._run(submessage(raw))
            elif number == _EXIT:
                self._finish(submessage(raw))

    def _run(self, message: bytes) -> None:
        run_id = display = ""
        for number, raw in protobuf.fields(message):
            if number == 1:
                run_id = text(raw)
            elif number == 8:
                display = text(raw)
            elif number == 4:
                self._settings |= settings(dict(_items(submessage(raw), 1)))
        self._name = display or run_id or self._name

    def _finish(self, message: bytes) -> None:
        self._exit = 0  # proto3 leaves a zero out
        for number, raw in protobuf.fields(message):
            if number == 1 and isinstance(raw, int):
                self._exit = protobuf.signed(raw)

    def _history(self, message: bytes) -> None:
        row = dict(_items(message, 1))
        step = whole(row.get("_step"))
        for number, raw in protobuf.fields(message):
            if number == 2 and step is None:
                step = next((value for key, value in protobuf.fields(submessage(raw)) if key == 1), 0)  # type: ignore[assignment]
        step = self._steps if step is None else step
        self._steps += 1
        self._last = step
        stamp = value(row.get("_timestamp"))
        if stamp is not None:
            self._started = self._started or stamp
            self._ended = stamp
        for name, item in row.items():
            if item is None:
                self.collector.null(name, run=self._name, source=self._artifact.name, axis="_step")
        for name, found in numbers(row).items():
            if name not in _OWN:
                self.collector.add(
                    name,
                    step,
                    found,
                    run=self._name,
                    source=self._artifact.name,
                    axis="_step",
                    time=math.nan if stamp is None else stamp,
                )

    def run(self) -> Run:
        return Run(
            name=self._name,
            source=self._artifact.name,
            format=Format.WANDB,
            settings={k: v for k, v in self._settings.items() if not k.startswith("_wandb")},
            summary={k: v for k, v in self._summary.items() if not k.startswith(_OWN)},
            status=None if self._exit is not None else "no exit recorded",
            exit_code=self._exit,
            last_step=self._last,
            started=self._started,
            ended=self._ended,
        )


def _items(message: bytes, repeated: int) -> Iterator[tuple[str, object]]:
    """Key and value of each item of a history, summary or configuration record."""
    for number, raw in protobuf.fields(message):
        if number != repeated:
            continue
        key, nested, encoded = "", [], b""
        for inner, part in protobuf.fields(submessage(raw)):
            if inner == 1:
                key = text(part)
            elif inner == 2:
                nested.append(text(part))
            elif inner == 16:
                encoded = submessage(part)
        if len(encoded) <= _MAX_JSON:
            try:
                yield key or ".".join(nested), json.loads(encoded)
            except (ValueError, RecursionError):
                continue
