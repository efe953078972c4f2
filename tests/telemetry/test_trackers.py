"""W&B logs and exports, MLflow stores, the transformers Trainer's state."""

import json
import math
import sqlite3
from pathlib import Path

from audit.telemetry.model import Format
from audit.telemetry.registry import read
from tests.telemetry import writers


def _wandb() -> writers.WandbLog:
    log = writers.WandbLog().run("abc", "proud-sun-1", {"lr": 0.1, "model": {"layers": 2}})
    for step in range(5):
        log.history(
            {"_step": step, "_timestamp": 1.7e9 + step, "loss": 5.0 - step, "extra": {"acc": step / 10}}
        )
    return log


def test_wandb_histories_settings_and_exit(tmp_path: Path) -> None:
    (tmp_path / "run-abc.wandb").write_bytes(_wandb().exit(0).data)
    found = read([tmp_path])
    loss = found.named("loss")[0]
    assert (loss.run, loss.axis, list(loss.steps), list(loss.values)) == (
        "proud-sun-1",
        "_step",
        [0, 1, 2, 3, 4],
        [5, 4, 3, 2, 1],
    )
    assert loss.times[2] == 1.7e9 + 2
    assert list(found.named("extra.acc")[0].values) == [0, 0.1, 0.2, 0.3, 0.4]
    run = found.runs[0]
    assert (run.exit_code, run.last_step, run.settings) == (0, 4, {"lr": 0.1, "model.layers": 2})
    assert found.gaps == ()


def test_wandb_without_an_exit_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "run-abc.wandb").write_bytes(_wandb().data)
    run = read([tmp_path]).runs[0]
    assert (run.exit_code, run.status) == (None, "no exit recorded")


def test_wandb_nan_is_a_string_in_it(tmp_path: Path) -> None:
    log = (
        writers.WandbLog()
        .history({"_step": 1, "loss": "NaN"})
        .history({"_step": 2, "loss": "Infinity"})
        .history({"_step": 3, "note": "text"})
    )
    (tmp_path / "run-abc.wandb").write_bytes(log.data)
    (series,) = read([tmp_path]).series
    assert math.isnan(series.values[0]) and series.values[1] == math.inf


def test_wandb_records_over_several_blocks(tmp_path: Path) -> None:
    log = writers.WandbLog()
    for step in range(400):
        log.history({"_step": step, "loss": 1.0, "table": "x" * 200})
    log.history({"_step": 400, "loss": 2.0, "table": "y" * 50_000})
    (tmp_path / "run-abc.wandb").write_bytes(log.data)
    loss = read([tmp_path]).named("loss")[0]
    assert (len(loss), loss.values[-1]) == (401, 2.0)


def test_wandb_cut_within_a_record(tmp_path: Path) -> None:
    (tmp_path / "run-abc.wandb").write_bytes(_wandb().data[:-30])
    found = read([tmp_path])
    assert len(found.named("loss")[0]) == 4
    assert "cut" in found.gaps[0].why


def test_wandb_a_piece_with_a_wrong_checksum(tmp_path: Path) -> None:
    data = bytearray(_wandb().data)
    at = data.index(b"loss")
    data[at] ^= 1
    (tmp_path / "run-abc.wandb").write_bytes(data)
    found = read([tmp_path])
    assert len(found.named("loss")[0]) == 4
    assert found.gaps[0].why == "1 pieces with a wrong checksum were left out"


def test_wandb_chart_export(tmp_path: Path) -> None:
    (tmp_path / "chart.csv").write_text(
        '"Step","blue-1 - loss","blue-1 - loss__MIN","blue-1 - loss__MAX","red - 2 - loss"\n"0","3.5","3.5","3.5","4"\n"10","2.5","2.5","2.5",""\n'
    )
    found = read([tmp_path])
    assert {(s.run, s.name): list(s.values) for s in found.series} == {
        ("blue-1", "loss"): [3.5, 2.5],
        ("red - 2", "loss"): [4.0],
    }
    assert found.series[0].format is Format.WANDB_EXPORT


def test_wandb_history_export_of_sampled_steps_is_told_to_be_sampled(tmp_path: Path) -> None:
    rows = "".join(f"{step * 7},{step},1.7e9,{1 / (step + 1)}\n" for step in range(500))
    (tmp_path / "history.csv").write_text("_step,_runtime,_timestamp,loss\n" + rows)
    (series,) = read([tmp_path]).named("loss")
    assert "500 rows" in series.sampled
    (tmp_path / "history.csv").write_text("_step,_runtime,_timestamp,loss\n" + rows[:2000])
    assert read([tmp_path]).named("loss")[0].sampled == ""


def test_wandb_summary(tmp_path: Path) -> None:
    (tmp_path / "wandb-summary.json").write_text(
        '{"_step": 99, "_runtime": 3.2, "loss": 0.5, "_wandb": {"runtime": 3}, "hist": {"bins": [1, 2]}}'
    )
    (run,) = read([tmp_path]).runs
    assert (run.summary, run.last_step, run.format) == ({"loss": 0.5}, 99, Format.WANDB_EXPORT)


def test_mlflow_folder_with_nested_keys_and_words_for_what_is_not_finite(tmp_path: Path) -> None:
    text = "1700000000000 0.5 0\n1700000001000 nan 1\n1700000002000 inf 2\nbroken\n"
    writers.mlflow_folder(
        tmp_path / "mlruns" / "0" / "abc", {"loss": text, "val/acc": "1700000000000 0.9 3\n"}
    )
    found = read([tmp_path / "mlruns"])
    loss = found.named("loss")[0]
    assert (loss.run, list(loss.steps), loss.values[0], loss.values[2]) == ("first", [0, 1, 2], 0.5, math.inf)
    assert math.isnan(loss.values[1]) and loss.times[1] == 1700000001.0
    assert loss.place(loss.point(1)) == "mlruns/0/abc/metrics/loss:2"
    assert list(found.named("val/acc")[0].steps) == [3]
    assert (found.runs[0].status, found.runs[0].settings, found.runs[0].ended) == (
        "FINISHED",
        {"lr": "0.1"},
        1700000060.0,
    )
    assert [gap.why for gap in found.gaps] == ["line 4 is no metric: left out"]


def test_mlflow_database_keeps_nan_and_infinity(tmp_path: Path) -> None:
    path = tmp_path / "odd #name?.db"
    writers.mlflow_database(
        path,
        [("loss", 0.5, 1000, 1, 0), ("loss", 0.0, 2000, 2, 1), ("loss", 1.7976931348623157e308, 3000, 3, 0)],
        "RUNNING",
    )
    found = read([path])
    (loss,) = found.series
    assert loss.values[0] == 0.5 and math.isnan(loss.values[1]) and loss.values[2] == math.inf
    assert (found.runs[0].name, found.runs[0].status, found.runs[0].settings) == (
        "first",
        "RUNNING",
        {"lr": "0.1"},
    )
    assert found.gaps == ()


def test_mlflow_database_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    writers.mlflow_database(path, [("loss", 0.5, 1000, 1, 0)])
    before = path.read_bytes()
    read([path])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["mlflow.db"]


def test_mlflow_database_cut(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    writers.mlflow_database(path, [("loss", float(i), i, i, 0) for i in range(5000)])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = read([path])
    assert "damaged or cut" in found.gaps[0].why


def test_views_under_the_tables_names_are_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, start_time INT, end_time INT)"
        )
        connection.execute(
            "CREATE VIEW metrics AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT 'a' AS key, x AS value, x AS timestamp, 'r' AS run_uuid, x AS step, 0 AS is_nan FROM n"
        )
    connection.close()
    assert read([path]).gaps[0].why == "a SQLite file, and no MLflow store"


def _state(folder: Path, step: int, history: list[dict[str, object]], **more: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "global_step": step,
        "max_steps": 1000,
        "log_history": history,
        "best_metric": 0.7,
        "train_batch_size": 8,
    } | more
    (folder / "trainer_state.json").write_text(json.dumps(document))


def test_trainer_state(tmp_path: Path) -> None:
    history: list[dict[str, object]] = [
        {"step": 10, "epoch": 0.1, "loss": 2.5, "grad_norm": math.nan},
        {"step": 20, "epoch": 0.2, "eval_loss": 2.0},
        {"step": 20, "epoch": 0.2, "train_loss": 2.2, "train_runtime": 5.0, "total_flos": 1e9},
    ]
    _state(tmp_path / "out", 400, history)
    found = read([tmp_path / "out"])
    assert list(found.named("loss")[0].steps) == [10]
    assert math.isnan(found.named("grad_norm")[0].values[0])
    assert found.named("train_loss") == []
    (run,) = found.runs
    assert (
        run.planned_steps,
        run.last_step,
        run.summary["train_loss"],
        run.settings["train_batch_size"],
    ) == (1000, 400, 2.2, 8)


def test_of_several_states_of_one_run_the_newest_counts(tmp_path: Path) -> None:
    for step in (100, 900, 1000):
        _state(tmp_path / "out" / f"checkpoint-{step}", step, [{"step": step, "loss": 1.0}])
    found = read([tmp_path / "out"])
    assert [run.last_step for run in found.runs] == [1000]
    assert len(found.gaps) == 2 and "earlier state" in found.gaps[0].why


def test_a_cut_state_is_read_up_to_the_cut(tmp_path: Path) -> None:
    _state(tmp_path, 400, [{"step": step, "loss": 1.0} for step in range(1, 50)])
    path = tmp_path / "trainer_state.json"
    text = path.read_text()
    path.write_text(text[: text.index('"step": 30')])
    found = read([path])
    assert list(found.named("loss")[0].steps)[-1] == 29
    assert "read up to the last whole value" in found.gaps[0].why
