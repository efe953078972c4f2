"""Damaged and invented files of every format: nothing raises, what is read stays within its bounds, adversarial lines cost little."""

import json
import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.telemetry import building
from audit.telemetry.artifact import Artifact
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, Telemetry
from audit.telemetry.registry import READERS, read, read_bytes
from audit.telemetry.stdout import LineCollector, parse
from tests.telemetry import writers
from tests.telemetry.test_reports import PYTEST


@cache
def _samples() -> dict[str, bytes]:
    """A sound file of each format."""
    log = writers.WandbLog().run("abc", "name", {"lr": 0.1})
    for step in range(20):
        log.history({"_step": step, "loss": 1.5, "nested": {"a": 1}})
    with TemporaryDirectory() as folder:
        database = Path(folder, "m.db")
        writers.mlflow_database(database, [("loss", 0.5, 1000 * i, i, 0) for i in range(50)])
        stored = database.read_bytes()
    state = {"global_step": 3, "log_history": [{"step": i, "loss": 1.0} for i in range(5)]}
    return {
        "events.out.tfevents.1.h": writers.event_file(
            writers.scalar_event("loss", i, 1.0) for i in range(20)
        ),
        "run-abc.wandb": bytes(log.exit(1).data),
        "mlflow.db": stored,
        "trainer_state.json": json.dumps(state).encode(),
        "report.json": json.dumps(
            {
                "summary": {"passed": 1},
                "tests": [{"nodeid": "a::b", "outcome": "passed", "call": {"duration": 1}}],
            }
        ).encode(),
        "golden.json": json.dumps({"loss": {"values": {"1": 1.0, "2": "nan"}}}).encode(),
        "history.json": json.dumps(
            {"loss": [1.0, 2.0], "rows": [{"step": 1, "a": 2}], "points": [[1.7e9, 1, 2.0]]}
        ).encode(),
        "metrics.jsonl": b'{"step": 1, "loss": 2.5}\n{"step": 2, "loss": NaN, "seed": 1}\n' * 5,
        "metrics.csv": b"epoch,step,loss,seed\n0,1,0.5,1\n0,2,nan,2\n",
        "junit.xml": PYTEST.encode(),
        "mlperf.log": b':::MLLOG {"time_ms": 1, "event_type": "POINT_IN_TIME", "key": "eval_accuracy", "value": 0.5, "metadata": {"epoch_num": 1}}\n',
        "meta.yaml": b"run_id: a\nrun_name: b\nstatus: 3\nstart_time: 1\nend_time: 2\n",
        "history.parquet": b"PAR1" + bytes(40) + b"PAR1",
    }


def _sound(found: Telemetry) -> None:
    for series in found.series:
        assert len(series.steps) == len(series.values) == len(series.times) == len(series.lines)
        assert series.segments[0] == 0 and list(series.segments) == sorted(set(series.segments))
        assert all(0 <= start < max(len(series), 1) for start in series.segments)
        assert series.name and series.source
        list(series.points()), series.settled()


def _one(name: str, data: bytes) -> Telemetry:
    with TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(data)
        found = read([Path(folder, name)])
    _sound(found)
    _sound(read_bytes(name, data))
    return found


@pytest.mark.parametrize("name", sorted(_samples()))
def test_sound_samples_are_read(name: str) -> None:
    found = _one(name, _samples()[name])
    assert found.series or found.tests or found.runs or name.endswith(".parquet")


@pytest.mark.parametrize("name", sorted(_samples()))
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_cut_and_changed_files_never_raise(name: str, data: st.DataObject) -> None:
    content = bytearray(_samples()[name])
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    insert = data.draw(st.binary(max_size=20))
    _one(
        name, bytes(content[:cut]) + insert + bytes(content[cut:][: data.draw(st.integers(0, len(content)))])
    )


@given(st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_each_reader_alone_stands_any_bytes(data: bytes) -> None:
    artifact = Artifact(name="some/file", head=data[:8192], data=data)
    for reader in READERS:
        for group in reader.group([artifact]):
            _sound(reader.read(group))
        _sound(reader.read((artifact,)))


KEYS = "step loss tests summary log_history global_step values 1 seed name value".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_any_json_document(document: object) -> None:
    _sound(read_bytes("some.json", json.dumps(document).encode()))
    _sound(
        read_bytes("some.jsonl", (json.dumps({"a": document}) + "\n" + json.dumps(document) + "\n").encode())
    )


@pytest.mark.parametrize("document", [
    b"[" * 100_000, b'{"a":' * 100_000, b'{"step": ' + b"9" * 5000 + b"}", b'{"step": 1e999, "loss": -1e999}\n{"step": 2}', b"\xff\xfe{\x00}\x00",
])  # fmt: skip
def test_deep_and_huge_json(document: bytes) -> None:
    _one("deep.json", document)
    _one("deep.jsonl", document)


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_line(text: str) -> None:
    parse(text)
    collector = LineCollector()
    collector.add(text, "log", 1)
    collector.add("step 1/2 loss " + text, "log", 2)
    _sound(collector.telemetry())


@pytest.mark.parametrize(
    "unit",
    [
        "a ",
        "loss ",
        "1 ",
        "1,234",
        "loss=1 ",
        "nan",
        "- - ",
        "[1/2]",
        "(1",
        "=",
        "Epoch [1] [",
        "\r",
        "1.",
        "it/s",
        "_",
    ],
)
def test_lines_of_a_megabyte(unit: str) -> None:
    text = "loss 1 " + unit * (1_000_000 // len(unit))
    collector = LineCollector()  # quadratic work would take minutes
    collector.add(text, "log", 1)
    _sound(collector.telemetry())


def test_a_history_that_is_too_long_is_thinned_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MAX_POINTS", 5_000)
    collector = Collector(Format.CSV)
    for step in range(40_000):
        collector.add("loss", step, float("nan") if step == 17_001 else 1.0, run="r", source="s")
    collector.add("short", 1, 2.0, run="r", source="s")
    loss, short = collector.series()
    assert len(loss) <= 5_000 and len(short) == 1
    assert (loss.steps[0], loss.steps[-1]) == (0, 39_999)
    assert [step for step, value in zip(loss.steps, loss.values, strict=True) if value != value] == [17_001]
    assert "too long" in loss.sampled and short.sampled == ""


def test_too_many_series_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MAX_SERIES", 10)
    collector = Collector(Format.CSV)
    for index in range(25):
        collector.add(f"m{index}", 1, 1.0, run="r", source="s")
    assert (len(collector.series()), collector.dropped) == (10, 15)


def test_one_endless_series_is_thinned_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_MAX_OF_ONE", 2_000)
    collector = Collector(Format.CSV)
    for step in range(10_000):
        collector.add("loss", step, math.nan if step == 4_321 else 1.0, run="r", source="x.csv")
    (series,) = collector.series()
    assert 1_000 <= len(series.values) <= 2_001
    assert (series.steps[0], series.steps[-1]) == (0, 9_999)
    assert [step for step, value in zip(series.steps, series.values, strict=True) if math.isnan(value)] == [
        4_321
    ]
    assert series.sampled == "one value in 8 kept: the history is too long"
