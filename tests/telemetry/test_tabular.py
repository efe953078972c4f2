"""CSV, JSON lines, JSON documents, golden values, Parquet."""

import json
import math
from pathlib import Path

import pytest

from audit.telemetry.model import Format
from audit.telemetry.registry import read, read_bytes


def test_lightning_rows_are_sparse(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(
        "epoch,step,train_loss,val_loss\n0,4,0.5,\n0,9,nan,\n0,9,,0.25\n1,14,0.25,\n"
    )
    found = read([tmp_path / "metrics.csv"])
    train, val = found.named("train_loss")[0], found.named("val_loss")[0]
    assert (train.format, list(train.steps), train.values[0], train.values[2]) == (
        Format.LIGHTNING,
        [4, 9, 14],
        0.5,
        0.25,
    )
    assert math.isnan(train.values[1])
    assert (list(val.steps), val.place(val.point(0))) == ([9], "metrics.csv:4")
    assert list(found.named("epoch")[0].values) == [0, 0, 0, 1]


@pytest.mark.parametrize(("name", "text"), [
    ("keras.csv", "epoch,loss,val_loss\n0,1.5,1.25\n1,1.0,NA\n"),
    ("keras.tsv", "epoch\tloss\tval_loss\n0\t1.5\t1.25\n1\t1.0\tNA\n"),
    ("semi.csv", "epoch;loss;val_loss\r\n0;1.5;1.25\r\n1;1.0;NA\r\n"),
])  # fmt: skip
def test_delimiters(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = read([tmp_path / name])
    assert {s.name: (s.axis, list(s.values)) for s in found.series} == {
        "loss": ("epoch", [1.5, 1.0]),
        "val_loss": ("epoch", [1.25]),
    }


def test_a_row_that_was_cut_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("step,loss,acc\n1,0.5,0.9\n2,0.4,0.8\n3,0.3")
    found = read([tmp_path / "m.csv"])
    assert list(found.named("loss")[0].steps) == [1, 2]
    assert "ends within a row, at line 4" in found.gaps[0].why


def test_runs_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "episodes.csv").write_text("seed,episode,finished\n0,0,True\n0,1,False\n1,0,True\n1,1,True\n")
    found = read([tmp_path / "episodes.csv"])
    assert {s.run: list(s.values) for s in found.series} == {
        "episodes [seed=0]": [1, 0],
        "episodes [seed=1]": [1, 1],
    }
    assert found.tables[0].column("seed") == [0, 0, 1, 1]


def test_a_table_of_runs_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("run,accuracy,loss\na,0.9,0.5\nb,0.8,0.6\n")
    found = read([tmp_path / "runs.csv"])
    assert found.series == ()
    assert [(run.name, run.summary) for run in found.runs] == [
        ("runs [run=a]", {"accuracy": 0.9, "loss": 0.5}),
        ("runs [run=b]", {"accuracy": 0.8, "loss": 0.6}),
    ]


def test_one_value_a_row_of_any_metric(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("step,metric,value\n1,loss,0.5\n1,acc,0.1\n2,loss,0.4\n")
    found = read([tmp_path / "long.csv"])
    assert {s.name: list(s.values) for s in found.series} == {"loss": [0.5, 0.4], "acc": [0.1]}


def test_a_tensorboard_download_names_its_metric_in_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "run-main-tag-train_loss.csv").write_text(
        "Wall time,Step,Value\n1700000000.5,1,0.5\n1700000001.5,2,0.25\n"
    )
    (series,) = read([tmp_path]).series
    assert (series.name, list(series.steps), list(series.values), series.times[0]) == (
        "train_loss",
        [1, 2],
        [0.5, 0.25],
        1700000000.5,
    )


def test_json_lines(tmp_path: Path) -> None:
    lines = [
        '{"step": 1, "loss": 2.5, "opt": {"lr": 0.1}}',
        '{"step": 2, "loss": NaN}',
        "not json",
        '{"step": 3, "loss": null}',
        '{"step": 4, "loss": -Infinity}',
    ]
    (tmp_path / "m.jsonl").write_text("\n".join(lines) + "\n")
    found = read([tmp_path])
    loss = found.named("loss")[0]
    assert (list(loss.steps), loss.values[0], loss.values[2], loss.nulls) == ([1, 2, 4], 2.5, -math.inf, 1)
    assert math.isnan(loss.values[1])
    assert list(found.named("opt.lr")[0].values) == [0.1]
    assert found.gaps[0].why == "1 lines are no JSON objects, the first at line 3"


def test_json_lines_cut(tmp_path: Path) -> None:
    (tmp_path / "m.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "lo')
    found = read([tmp_path])
    assert list(found.series[0].steps) == [1]
    assert found.gaps[0].why == "ends within a line, at line 2: that line was left out"


def test_training_and_validation_rows_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(
        '{"mode": "train", "iter": 1, "loss": 2.0}\n{"mode": "val", "iter": 1, "loss": 3.0}\n'
    )
    assert {s.name: list(s.values) for s in read([tmp_path]).series} == {
        "train/loss": [2.0],
        "val/loss": [3.0],
    }


def test_a_keras_history_is_columns(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text('{"loss": [2.0, 1.0], "val_loss": [3.0, 2.0], "name": "mnist"}')
    assert {s.name: (s.axis, list(s.steps), list(s.values)) for s in read([tmp_path]).series} == {
        "loss": ("row", [1, 2], [2.0, 1.0]), "val_loss": ("row", [1, 2], [3.0, 2.0]),
    }  # fmt: skip


def test_an_array_of_objects(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('[{"epoch": 1, "loss": 2}, {"epoch": 2, "loss": 1}]')
    (series,) = read([tmp_path]).series
    assert (series.axis, list(series.steps), list(series.values)) == ("epoch", [1, 2], [2.0, 1.0])


def test_results_without_a_history_are_a_runs_summary(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(
        '{"results": {"gsm8k": {"acc,none": 0.64, "acc_stderr,none": 0.013}}, "config": {"model": "x"}}'
    )
    (run,) = read([tmp_path]).runs
    assert run.summary == {"results.gsm8k.acc,none": 0.64, "results.gsm8k.acc_stderr,none": 0.013}


@pytest.mark.parametrize("block", [
    {"start_step": 1, "end_step": 10, "step_interval": 5, "values": {"1": 2.5, "5": "nan", "10": 1.5}},
    {"1": 2.5, "5": "nan", "10": 1.5},
])  # fmt: skip
def test_golden_values(block: dict[str, object]) -> None:
    found = read_bytes("golden/values.json", json.dumps({"lm loss": block, "recorded": "on main"}).encode())
    (series,) = found.series
    assert (series.format, series.name, list(series.steps)) == (Format.GOLDEN, "lm loss", [1, 5, 10])
    assert math.isnan(series.values[1])


@pytest.mark.parametrize(("path", "text"), [
    ("version_0/hparams.yaml", "lr: 0.1\nmodel: {layers: 2}\n"),
    ("version_0/.hydra/config.yaml", "lr: 0.1\nmodel:\n  layers: 2\n"),
    ("version_0/files/config.yaml", "lr:\n  value: 0.1\n  desc: null\nmodel:\n  value:\n    layers: 2\n"),
])  # fmt: skip
def test_settings_beside_a_run(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text(text)
    (run,) = read([tmp_path]).runs
    assert (run.name, run.settings) == ("version_0", {"lr": 0.1, "model.layers": 2})


@pytest.mark.parametrize(
    "text", ["!!python/object/apply:os.system [echo]", "a: [", "- 1", "a: &a [1]\n" + "b: [*a, *a]\n" * 200]
)
def test_settings_that_are_hostile_or_broken(text: str) -> None:
    found = read_bytes("run/hparams.yaml", text.encode())
    assert (found.runs, len(found.gaps)) == ((), 1)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as arrow
    from pyarrow import parquet

    table = arrow.table(
        {"step": [1, 2, 3], "loss": [2.5, math.nan, None], "note": ["a", "b", "c"], "list": [[1], [2], [3]]}
    )
    parquet.write_table(table, tmp_path / "history.parquet")
    (series,) = read([tmp_path]).series
    assert (series.name, list(series.steps), series.values[0], series.nulls) == ("loss", [1, 2], 2.5, 1)
    (tmp_path / "history.parquet").write_bytes((tmp_path / "history.parquet").read_bytes()[:-40])
    assert "damaged or cut" in read([tmp_path]).gaps[0].why


def test_parquet_without_its_extra_is_told(tmp_path: Path) -> None:
    (tmp_path / "history.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    found = read([tmp_path])
    assert len(found.gaps) == 1 and found.series == ()


def test_gzip_is_unpacked_and_its_damage_told(tmp_path: Path) -> None:
    import gzip

    data = gzip.compress(b"".join(b'{"step": %d, "loss": 1.%d}\n' % (i, i * 7919) for i in range(20_000)))
    (tmp_path / "m.jsonl.gz").write_bytes(data)
    assert len(read([tmp_path]).series[0]) == 20_000
    (tmp_path / "m.jsonl.gz").write_bytes(data[: len(data) // 2])
    found = read([tmp_path])
    assert 0 < len(found.series[0]) < 20_000
    assert any("does not unpack" in gap.why for gap in found.gaps)


def test_two_files_of_one_name_stay_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.csv").write_text("step,loss\n1,0.5\n2,0.25\n")
    found = read([tmp_path / "a" / "m.csv", tmp_path / "b" / "m.csv"])
    assert [s.source for s in found.series] == ["a/m.csv", "b/m.csv"]


def test_links_below_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("step,loss\n1,0.5\n2,0.25\n")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert read([tmp_path / "given"]).series == ()


def test_what_is_missing_or_unknown_is_told(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\x00\x01\x02\x03" * 100)
    (tmp_path / "empty.csv").write_bytes(b"")
    found = read([tmp_path / "absent.csv", tmp_path / "weights.bin", tmp_path / "empty.csv"])
    assert {gap.path: gap.why for gap in found.gaps} == {
        "absent.csv": "cannot be read: No such file or directory", "weights.bin": "no format that is known here", "empty.csv": "empty",
    }  # fmt: skip
