"""Checkouts, telemetry and logs made of small texts."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from audit.failure.gates import GateOutcome, evaluate
from audit.failure.model import Kind, Line, LogSource, Reading
from audit.source.folder import folder_snapshot
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry, joined
from audit.telemetry.registry import read_bytes

Make = Callable[[Mapping[str, str]], Snapshot]


def log_of(text: str, name: str = "log.txt", kinds: frozenset[Kind] = frozenset({Kind.GATE})) -> Reading:
    """A log kept whole."""
    rows = text.split("\n")
    lines = tuple(Line(name, number, row, row, kinds=kinds) for number, row in enumerate(rows, 1))
    return Reading((LogSource(name, len(rows), len(text)),), lines, ())


def telemetry_of(files: Mapping[str, str]) -> Telemetry:
    """Metric files by name."""
    return joined([read_bytes(name, text.encode()) for name, text in files.items()])


@pytest.fixture
def checkout(tmp_path: Path) -> Make:
    """Writes files and opens their folder as a snapshot."""

    def make(files: Mapping[str, str]) -> Snapshot:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder_snapshot(str(tmp_path))

    return make


@pytest.fixture
def gates(checkout: Make) -> Callable[..., list[GateOutcome]]:
    """The outcomes for a checkout, metric files and a log, all as texts."""

    def run(
        files: Mapping[str, str], metrics: Mapping[str, str] | None = None, log: str = ""
    ) -> list[GateOutcome]:
        return evaluate(checkout(files), telemetry_of(metrics or {}), log_of(log))

    return run
