"""TensorBoard event files: record framing, event messages, scalars and tensors that are scalars.

Source of the layouts: TensorFlow's `tsl/lib/io/record_writer.h`, `util/event.proto`, `framework/summary.proto`
and `framework/tensor.proto`.
"""

import math
import struct
from collections.abc import Iterator, Sequence

from audit.documents.place import Gap
from audit.telemetry import crc32c, protobuf
from audit.telemetry.artifact import DAMAGED, MAX_BYTES, Artifact
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, Telemetry
from audit.telemetry.protobuf import WireError

_HEADER = 12
_FOOTER = 4
_MAX_RECORD = 256 * 2**20
"""A record larger than this is no summary; images and graphs stay below."""

_CHECKED = 2 * 2**20
"""Bytes of payload whose checksum is verified per file: about half a second. Lengths are always checked."""

_VERSION = b"brain.Event:"


def is_event_file(artifact: Artifact) -> bool:
    """Whether the first record is TensorFlow's: a length with its checksum, and the version mark in it; a damaged
    start under the usual name counts.
    """
    head = artifact.head
    framed = len(head) >= _HEADER and _length(head[:_HEADER]) is not None
    return (framed and _VERSION in head[:256]) or ".tfevents." in artifact.file


def group(artifacts: Sequence[Artifact]) -> list[tuple[Artifact, ...]]:
    """The event files by folder: one run each, its files by the time in their names."""
    folders: dict[str, list[Artifact]] = {}
    for artifact in artifacts:
        if is_event_file(artifact):
            folders.setdefault(artifact.folder, []).append(artifact)
    return [tuple(sorted(files, key=_written)) for files in folders.values()]


def _written(artifact: Artifact) -> tuple[int, str]:
    stamp = artifact.file.partition("tfevents.")[2].split(".", 1)[0]
    return (int(stamp) if stamp.isdecimal() and len(stamp) < 20 else 0), artifact.name


def read(files: Sequence[Artifact]) -> Telemetry:
    """The series of one folder's event files; a damaged file is read up to the damage."""
    collector = Collector(Format.TENSORBOARD)
    gaps: list[Gap] = []
    run = files[0].folder or files[0].file
    for artifact in files:
        collector.new_segment(run)
        problem = _read_file(artifact, run, collector)
        if problem:
            gaps.append(Gap(artifact.name, problem))
    series = collector.series()
    if not series and not gaps:
        gaps.append(Gap(files[0].name, "holds no scalars"))
    return Telemetry(series=series, files=tuple(file.name for file in files), gaps=tuple(gaps))


def _read_file(artifact: Artifact, run: str, collector: Collector) -> str:
    """Reads what it can; the reason why it could not read more, empty where it did."""
    records = _Records(artifact)
    unreadable = 0
    for payload in records:
        try:
            _event(payload, artifact, run, collector)
        except (WireError, struct.error):
            unreadable += 1
    problems = [records.problem] if records.problem else []
    if unreadable:
        problems.append(f"{unreadable} records are no events")
    if records.wrong:
        problems.append(f"{records.wrong} records with a wrong checksum were left out")
    return "; ".join(problems)


class _Records:
    """The payloads of a record file, until its end or the first break in the framing (`problem`)."""

    def __init__(self, artifact: Artifact) -> None:
        self.problem = ""
        self.wrong = 0
        self._artifact = artifact

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._payloads()
        except DAMAGED:
            self.problem = self.problem or "damaged: it does not unpack to its end"

    def _payloads(self) -> Iterator[bytes]:
        at = checked = 0
        with self._artifact.open() as stream:
            while header := stream.read(_HEADER):
                length = _length(header)
                if length is None or length > _MAX_RECORD:
                    self.problem = f"damaged or cut at byte {at:,}: read up to there"
                    return
                payload = stream.read(length)
                footer = stream.read(_FOOTER)
                if len(payload) < length or len(footer) < _FOOTER:
                    self.problem = f"ends within a record at byte {at:,}: read up to there"
                    return
                at += _HEADER + length + _FOOTER
                if checked + length <= _CHECKED:
                    checked += length
                    if crc32c.masked(payload) != int.from_bytes(footer, "little"):
                        self.wrong += 1
                        continue
                yield payload
                if at > MAX_BYTES:
                    self.problem = f"read up to byte {at:,} only"
                    return


def _length(header: bytes) -> int | None:
    """The length of the record, None where the header is cut or its checksum is wrong."""
    if len(header) < _HEADER:
        return None
    length, checksum = struct.unpack("<QI", header)
    return int(length) if crc32c.masked(header[:8]) == checksum else None


def _plain_scalar(payload: bytes) -> tuple[str, int, float, float] | None:
    """Tag, step, value and time of the event that nearly all are: one scalar, its fields in order and nothing else. Only
    a shorter way to what `_event` reads; None sends there.
    """
    try:
        if payload[0] != 0x09 or payload[9] != 0x10:
            return None
        step, at = protobuf.varint(payload, 10)
        end = len(payload)
        # Lengths of one byte: the summary, its value and the tag.
        if (
            payload[at] != 0x2A
            or payload[at + 1] != end - at - 2
            or payload[at + 2] != 0x0A
            or payload[at + 3] != end - at - 4
        ):
            return None
        stop = at + 6 + payload[at + 5]
        if (
            payload[at + 4] != 0x0A
            or stop + 5 != end
            or payload[stop] != 0x15
            or max(payload[at + 1], payload[at + 5]) > 0x7F
        ):
            return None
        tag = payload[at + 6 : stop].decode("utf-8", "replace")
        return (
            tag,
            protobuf.signed(step),
            _FLOAT32.unpack_from(payload, stop + 1)[0],
            _FLOAT64.unpack_from(payload, 1)[0],
        )
    except IndexError:
        return None


_FLOAT32, _FLOAT64 = struct.Struct("<f"), struct.Struct("<d")


def _event(payload: bytes, artifact: Artifact, run: str, collector: Collector) -> None:
    plain = _plain_scalar(payload)
    if plain is not None:
        tag, step, held, time = plain
        collector.add(tag, step, held, run=run, source=artifact.name, time=time)
        return
    summary: bytes | None = None
    time, step = math.nan, 0
    for number, raw in protobuf.fields(payload):
        if number == 1 and isinstance(raw, bytes):
            time = protobuf.double(raw)
        elif number == 2 and isinstance(raw, int):
            step = protobuf.signed(raw)
        elif number == 5:
            summary = protobuf.submessage(raw)
    if summary is None:
        return
    for number, raw in protobuf.fields(summary):
        if number == 1:
            tag, value = _summary_value(protobuf.submessage(raw))
            if value is not None:
                collector.add(tag, step, value, run=run, source=artifact.name, time=time)


def _summary_value(message: bytes) -> tuple[str, float | None]:
    tag, value = "", None
    for number, raw in protobuf.fields(message):
        if number == 1:
            tag = protobuf.text(raw)
        elif number == 2 and isinstance(raw, bytes):
            value = protobuf.single(raw)
        elif number == 8:
            value = _tensor_value(protobuf.submessage(raw))
    return tag, value


_FLOAT, _DOUBLE, _INT32, _INT64, _HALF, _BFLOAT16 = 1, 2, 3, 9, 19, 14
_CONTENT = {_FLOAT: "<f", _DOUBLE: "<d", _INT32: "<i", _INT64: "<q", _HALF: "<e"}
_VALUE_FIELDS = {5: "<f", 6: "<d"}  # packed float_val, double_val
_INT_FIELDS = frozenset((7, 10, 11))  # int_val, int64_val, bool_val
_HALF_FIELD = 13


def _tensor_value(message: bytes) -> float | None:
    """The value of a tensor of one element, None of any other and of text."""
    dtype, found = 0, []
    content = b""
    for number, raw in protobuf.fields(message):
        if number == 1 and isinstance(raw, int):
            dtype = raw
        elif number == 2 and _elements(protobuf.submessage(raw)) != 1:
            return None
        elif number == 4 and isinstance(raw, bytes):
            content = raw
        elif number in _VALUE_FIELDS and isinstance(raw, bytes) and len(raw) in (4, 8):
            layout = _VALUE_FIELDS[number]
            if len(raw) == struct.calcsize(layout):
                found.append(float(struct.unpack(layout, raw)[0]))
        elif number in _INT_FIELDS or number == _HALF_FIELD:
            integer = raw if isinstance(raw, int) else next(_packed(raw), 0)
            found.append(_half(dtype, integer) if number == _HALF_FIELD else float(protobuf.signed(integer)))
    if content:
        return _from_content(dtype, content)
    return found[0] if len(found) == 1 else None


def _packed(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = protobuf.varint(raw, at)
        yield value


def _half(dtype: int, bits: int) -> float:
    if dtype == _BFLOAT16:
        return float(struct.unpack("<f", struct.pack("<I", (bits & 0xFFFF) << 16))[0])
    return float(struct.unpack("<e", struct.pack("<H", bits & 0xFFFF))[0])


def _from_content(dtype: int, content: bytes) -> float | None:
    if dtype == _BFLOAT16 and len(content) == 2:
        return _half(dtype, int.from_bytes(content, "little"))
    layout = _CONTENT.get(dtype)
    if layout is None or len(content) != struct.calcsize(layout):
        return None
    return float(struct.unpack(layout, content)[0])


def _elements(shape: bytes) -> int:
    count = 1
    for number, raw in protobuf.fields(shape):
        if number == 2:
            size = 0
            for inner, dimension in protobuf.fields(protobuf.submessage(raw)):
                if inner == 1 and isinstance(dimension, int):
                    size = protobuf.signed(dimension)
            count *= size
        elif number == 3 and raw:
            return -1
    return count
