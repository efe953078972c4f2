"""TensorBoard event files."""

import math
import struct
from pathlib import Path

from audit.telemetry.registry import read
from tests.telemetry import writers

NAME = "events.out.tfevents.1700000000.host.1.0"


def _write(folder: Path, data: bytes, name: str = NAME) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    return folder


def test_scalars_keep_order_step_time_and_what_is_not_finite(tmp_path: Path) -> None:
    events = [
        writers.scalar_event("loss", step, value, 1.7e9 + step)
        for step, value in ((1, 2.5), (2, math.nan), (3, math.inf))
    ]
    found = read([_write(tmp_path / "tb", writers.event_file(events))])
    (series,) = found.series
    assert (series.name, series.run, series.axis, list(series.steps)) == ("loss", "tb", "step", [1, 2, 3])
    assert series.values[0] == 2.5 and math.isnan(series.values[1]) and series.values[2] == math.inf
    assert list(series.times) == [1.7e9 + 1, 1.7e9 + 2, 1.7e9 + 3]
    assert found.gaps == ()
    assert found.files == (f"tb/{NAME}",)


def test_negative_steps_are_signed(tmp_path: Path) -> None:
    (series,) = read(
        [_write(tmp_path / "tb", writers.event_file([writers.scalar_event("a", -5, 1.0)]))]
    ).series
    assert list(series.steps) == [-5]


def test_tensors_of_one_element_are_scalars_and_others_are_not(tmp_path: Path) -> None:
    shape = writers.field(2, writers.field(2, writers.field(1, 3)))
    events = [
        writers.tensor_event("content", 1, writers.field(1, 1) + writers.field(4, struct.pack("<f", 0.5))),
        writers.tensor_event("doubles", 1, writers.field(1, 2) + writers.field(6, struct.pack("<d", 0.25))),
        writers.tensor_event("unpacked", 1, writers.field(1, 1) + writers.single(5, 4.0)),
        writers.tensor_event("whole", 1, writers.field(1, 9) + writers.field(10, 7)),
        writers.tensor_event("bfloat", 1, writers.field(1, 14) + writers.field(4, b"\x80\x3f")),
        writers.tensor_event(
            "many", 1, writers.field(1, 1) + shape + writers.field(4, struct.pack("<3f", 1, 2, 3))
        ),
        writers.tensor_event("text", 1, writers.field(1, 7) + writers.field(8, b"note")),
    ]
    found = read([_write(tmp_path / "tb", writers.event_file(events))])
    assert {s.name: s.values[0] for s in found.series} == {
        "content": 0.5,
        "doubles": 0.25,
        "unpacked": 4.0,
        "whole": 7.0,
        "bfloat": 1.0,
    }


def test_files_of_one_folder_are_one_run_in_the_order_of_their_times(tmp_path: Path) -> None:
    first = writers.event_file(writers.scalar_event("loss", step, float(step)) for step in (1, 2, 3, 4))
    second = writers.event_file(writers.scalar_event("loss", step, step + 0.5) for step in (3, 4, 5))
    _write(tmp_path / "tb", second, "events.out.tfevents.1700000900.host.2.0")
    (series,) = read([_write(tmp_path / "tb", first)]).series
    assert list(series.steps) == [1, 2, 3, 4, 3, 4, 5]
    assert series.segments == (0, 4)
    assert [(p.step, p.value) for p in series.settled()] == [(1, 1.0), (2, 2.0), (3, 3.5), (4, 4.5), (5, 5.5)]


def test_a_step_written_twice_stays_twice_in_one_segment(tmp_path: Path) -> None:
    events = [
        writers.scalar_event("a", 1, 1.0),
        writers.scalar_event("a", 1, 2.0),
        writers.scalar_event("a", 2, 3.0),
    ]
    (series,) = read([_write(tmp_path / "tb", writers.event_file(events))]).series
    assert (list(series.steps), series.segments) == ([1, 1, 2], (0,))


def test_a_cut_file_is_read_up_to_the_cut(tmp_path: Path) -> None:
    whole = writers.event_file(writers.scalar_event("loss", step, 1.0) for step in range(10))
    found = read([_write(tmp_path / "tb", whole[:-20])])
    assert len(found.series[0]) == 9
    assert "ends within a record" in found.gaps[0].why


def test_a_record_with_a_wrong_checksum_is_left_out_and_told(tmp_path: Path) -> None:
    bad = bytearray(writers.scalar_event("loss", 2, 1.0))
    bad[-6] ^= 0xFF
    data = writers.event_file(
        [writers.scalar_event("loss", 1, 1.0), bytes(bad), writers.scalar_event("loss", 3, 1.0)]
    )
    found = read([_write(tmp_path / "tb", data)])
    assert list(found.series[0].steps) == [1, 3]
    assert found.gaps[0].why == "1 records with a wrong checksum were left out"


def test_damage_in_a_length_ends_the_reading(tmp_path: Path) -> None:
    bad = bytearray(writers.scalar_event("loss", 2, 1.0))
    bad[0] ^= 0x01
    data = writers.event_file(
        [writers.scalar_event("loss", 1, 1.0), bytes(bad), writers.scalar_event("loss", 3, 1.0)]
    )
    found = read([_write(tmp_path / "tb", data)])
    assert list(found.series[0].steps) == [1]
    assert "damaged or cut at byte" in found.gaps[0].why


def test_content_counts_and_not_the_name(tmp_path: Path) -> None:
    data = writers.event_file([writers.scalar_event("loss", 1, 1.0)])
    assert read([_write(tmp_path / "run", data, "renamed.bin")]).series[0].name == "loss"


def test_a_record_file_of_training_data_is_no_event_file(tmp_path: Path) -> None:
    found = read([_write(tmp_path / "data", writers.record(b"\x0a\x05hello"), "train.tfrecord")])
    assert (found.series, found.gaps[0].why) == ((), "no format that is known here")


def test_an_event_file_without_scalars_says_so(tmp_path: Path) -> None:
    assert read([_write(tmp_path / "tb", writers.event_file([]))]).gaps[0].why == "holds no scalars"
