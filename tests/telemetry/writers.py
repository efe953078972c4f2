"""Small writers of the formats that the telemetry readers read, after the formats' own descriptions."""

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return length + struct.pack("<I", _crc32c(length)) + payload + struct.pack("<I", _crc32c(payload))


def scalar_event(tag: str, step: int, value: float, time: float = 1.7e9) -> bytes:
    summary = field(1, field(1, tag.encode()) + single(2, value))
    return record(double(1, time) + field(2, step) + field(5, summary))


def tensor_event(tag: str, step: int, tensor: bytes, time: float = 1.7e9) -> bytes:
    return record(
        double(1, time) + field(2, step) + field(5, field(1, field(1, tag.encode()) + field(8, tensor)))
    )


def event_file(events: Iterable[bytes]) -> bytes:
    return record(double(1, 1.7e9) + field(3, b"brain.Event:2")) + b"".join(events)


class WandbLog:
    """A `.wandb` file: records cut into pieces at blocks of 32,768 bytes."""

    def __init__(self) -> None:
        self.data = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))

    def add(self, payload: bytes) -> "WandbLog":
        first = True
        while True:
            room = 32_768 - len(self.data) % 32_768
            if room < 7:
                self.data += bytes(room)
                continue
            part, payload = payload[: room - 7], payload[room - 7 :]
            kind = (1 if not payload else 2) if first else (4 if not payload else 3)
            crc = zlib.crc32(part, zlib.crc32(bytes([kind])))
            self.data += struct.pack("<IHB", crc, len(part), kind) + part
            first = False
            if not payload:
                return self

    def history(self, row: Mapping[str, object]) -> "WandbLog":
        items = b"".join(
            field(1, field(2, key.encode()) + field(16, json.dumps(value).encode()))
            for key, value in row.items()
        )
        return self.add(field(2, items))

    def run(self, run_id: str, display: str, config: Mapping[str, object] = {}) -> "WandbLog":
        items = b"".join(
            field(1, field(1, k.encode()) + field(16, json.dumps(v).encode())) for k, v in config.items()
        )
        return self.add(field(17, field(1, run_id.encode()) + field(8, display.encode()) + field(4, items)))

    def exit(self, code: int) -> "WandbLog":
        return self.add(field(18, field(1, code) if code else b""))


def mlflow_database(
    path: Path, rows: Iterable[tuple[str, float, int, int, int]], status: str = "FINISHED"
) -> None:
    """`rows`: key, value, timestamp (ms), step, is_nan of one run `r1` named `first`."""
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INT, end_time INT)"
        )
        connection.execute(
            "CREATE TABLE metrics (key TEXT, value REAL, timestamp INT, run_uuid TEXT, step INT, is_nan INT)"
        )
        connection.execute("CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)")
        connection.execute(
            "INSERT INTO runs VALUES ('r1', 'first', ?, 1700000000000, 1700000060000)", (status,)
        )
        connection.execute("INSERT INTO params VALUES ('lr', '0.1', 'r1')")
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, 'r1', ?, ?)", rows)
    connection.close()


def mlflow_folder(root: Path, metrics: Mapping[str, str], name: str = "first") -> None:
    (root / "metrics").mkdir(parents=True)
    (root / "params").mkdir()
    (root / "meta.yaml").write_text(
        f"run_id: abc\nrun_name: {name}\nstatus: 3\nstart_time: 1700000000000\nend_time: 1700000060000\n"
    )
    (root / "params" / "lr").write_text("0.1")
    for key, text in metrics.items():
        (root / "metrics" / key).parent.mkdir(parents=True, exist_ok=True)
        (root / "metrics" / key).write_text(text)
