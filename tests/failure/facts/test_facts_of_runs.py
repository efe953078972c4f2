"""Facts of whole cases: what is computed of telemetry and logs, with its inputs, and what is not computed."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.verdict import Category, Fact, FactInput
from audit.failure.facts import compute as computing
from audit.failure.facts.compute import compute, of_log
from audit.failure.facts.metrics import Meaning, meaning
from audit.failure.facts.noise import against, margin
from audit.failure.model import Kind, Line, LogSource, Reading, Stream
from audit.source.snapshot import Entry, Snapshot
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, Run, Telemetry, joined
from audit.telemetry.registry import read_bytes
from tests.signals.building import MemoryReader

Rows = Mapping[str, Sequence[float]]


def telemetry(runs: Mapping[str, Rows], start: int = 1, records: Iterable[Run] = ()) -> Telemetry:
    collector = Collector(Format.JSONL)
    for run, metrics in runs.items():
        for name, values in metrics.items():
            for index, value in enumerate(values):
                collector.add(name, start + index, value, run=run, source=f"{run}.jsonl", line=index + 1)
    return Telemetry(series=collector.series(), runs=tuple(records))


def reading(
    *texts: str, source: str = "log.txt", rank: int | None = None, kinds: frozenset[Kind] = frozenset()
) -> Reading:
    lines = tuple(
        Line(source, n, text, text, None, Stream(rank=rank), kinds) for n, text in enumerate(texts, 1)
    )
    return Reading((LogSource(source, len(texts), 0),), lines, ())


def snapshot(files: Mapping[str, str]) -> Snapshot:
    contents = {path: text.encode() for path, text in files.items()}
    entries = tuple(Entry(path, f"id-{path}", size=len(data)) for path, data in contents.items())
    return Snapshot("o/r", entries, MemoryReader(contents))


def values(facts: Sequence[Fact]) -> dict[str, object]:
    return {fact.name: fact.value for fact in facts}


def test_the_onset_of_nan() -> None:
    loss = [3.0, 2.0, 9.0, math.nan, math.nan, math.inf]
    found = compute(
        telemetry(
            {
                "r": {
                    "loss": loss,
                    "grad_norm": [1.0, 5.0, 80.0, math.nan, 1.0, 1.0],
                    "lr": [0.1] * 3 + [0.2] * 3,
                }
            }
        )
    )
    told = values(found)
    assert told["first_nonfinite_step"] == 4
    assert told["last_finite_loss"] == 9.0
    assert (told["nonfinite_steps"], told["finite_steps"]) == (3, 3)
    assert told["peak_finite_grad_norm"] == 80.0
    assert told["learning_rate_at_onset"] == 0.2
    assert "finite_again_at_step" not in told
    first = next(fact for fact in found if fact.name == "first_nonfinite_step")
    assert first.inputs[0].source == "r.jsonl:4"


def test_a_single_nan_that_passed_says_where_the_loss_was_finite_again() -> None:
    told = values(compute(telemetry({"r": {"loss": [3.0, math.nan, 2.0, 1.0]}})))
    assert (told["first_nonfinite_step"], told["finite_again_at_step"], told["nonfinite_steps"]) == (2, 3, 1)


def test_a_gradient_that_broke_before_the_loss() -> None:
    told = values(
        compute(telemetry({"r": {"loss": [3.0, 2.0, math.nan], "grad norm": [1.0, math.inf, math.nan]}}))
    )
    assert (told["first_nonfinite_grad_norm_step"], told["peak_finite_grad_norm"]) == (2, 1.0)


def test_a_trainer_that_leaves_nan_out_and_counts_it() -> None:
    lines = [
        f" iteration {n}/ 90 | lm loss: {9 / n:.2f} | grad norm: 1.0 | number of nan iterations: 0 |"
        for n in range(1, 6)
    ]
    lines += [
        f" iteration {n}/ 90 | grad norm: nan | number of nan iterations: {n - 5} |" for n in range(6, 9)
    ]
    told = values(compute(Telemetry(), reading(*lines)))
    assert (told["first_step_with_number_of_nan_iterations"], told["last_number_of_nan_iterations"]) == (6, 3)
    assert told["last_step"] == 8


def test_a_loss_that_is_exactly_zero_to_its_end() -> None:
    dead = values(
        compute(
            telemetry(
                {
                    "r": {
                        "loss": [2.0, 1.5, 0.0, 0.0, 0.0],
                        "grad_norm": [1.0, 1.0, math.nan, math.nan, math.nan],
                    }
                }
            )
        )
    )
    assert dead["loss_zero_since_step"] == 3
    assert "loss_zero_since_step" not in values(compute(telemetry({"r": {"loss": [2.0, 1.0, 0.5]}})))
    assert "loss_zero_since_step" not in values(compute(telemetry({"r": {"loss": [0.0, 0.0, 0.0]}})))


def test_a_resumed_run_and_steps_that_are_missing() -> None:
    collector = Collector(Format.JSONL)
    for step in [*range(10, 110, 10), *range(80, 200, 10), *range(240, 300, 10)]:
        collector.add("loss", step, 100 / step, run="r", source="r.jsonl")
    told = values(compute(Telemetry(series=collector.series())))
    assert (told["segments"], told["repeated_steps"], told["missing_steps"]) == (2, 3, 4)
    whole = values(compute(telemetry({"r": {"loss": [10.0 / n for n in range(1, 40)]}})))
    assert not {"segments", "repeated_steps", "missing_steps"} & set(whole)


def test_a_sound_loss_has_no_onset() -> None:
    told = values(compute(telemetry({"r": {"loss": [3.0, 2.0, 1.5], "val_loss": [3.5, 2.5, 2.75]}})))
    assert "first_nonfinite_step" not in told
    assert told["nonfinite_steps"] == 0
    assert (
        told["final_loss"],
        told["final_val_loss"],
        told["best_val_loss"],
        told["best_step_of_val_loss"],
    ) == (1.5, 2.75, 2.5, 2)


def test_quality_is_best_where_it_is_largest() -> None:
    told = values(compute(telemetry({"r": {"val_acc": [0.5, 0.9, 0.8]}})))
    assert (told["best_val_acc"], told["best_step_of_val_acc"], told["final_val_acc"]) == (0.9, 2, 0.8)


def test_two_runs_are_compared_where_their_names_tell_which_is_which() -> None:
    base = {
        "loss": [4.0, 2.0, 1.0],
        "tokens_per_sec": [100.0] * 5 + [1000.0] * 20,
        "step_time": [10.0] * 5 + [1.0] * 20,
    }
    new = {"loss": [4.0, 2.0, 1.1], "tokens_per_sec": [1000.0] * 25, "step_time": [1.0] * 25}
    told = values(compute(telemetry({"baseline": base, "candidate": new})))
    assert told["loss_relative_change"] == pytest.approx(0.1)
    assert told["loss_delta"] == pytest.approx(0.1)
    assert (told["final_loss [candidate]"], told["final_loss [baseline]"]) == (1.1, 1.0)
    assert told["steady_tokens_per_sec_ratio"] == 1.0
    assert told["overall_throughput_ratio"] == pytest.approx(1000 / ((5 * 1000 + 20 * 1000) / 70))
    assert told["warm_up_share [baseline]"] == pytest.approx(50 / 70)


def test_settings_that_two_runs_do_not_share() -> None:
    records = [
        Run(name, f"{name}.jsonl", Format.WANDB, settings={"lr": lr, "out": name, "seed": 1})
        for name, lr in (("main", 0.1), ("pr", 0.2))
    ]
    told = values(
        compute(telemetry({"main": {"loss": [4.0, 2.0]}, "pr": {"loss": [4.0, 3.0]}}, records=records))
    )
    assert told["settings_that_differ"] == "lr"


def test_runs_of_unequal_length_are_compared_at_the_last_common_step() -> None:
    told = values(compute(telemetry({"main": {"loss": [4.0, 2.0]}, "pr": {"loss": [4.0, 3.0, 1.0, 0.5]}})))
    assert told["loss_ratio"] == 1.5
    assert (told["candidate_steps"], told["baseline_steps"]) == (4, 2)
    assert told["final_loss [candidate]"] == 0.5


def test_equal_curves_differ_nowhere_and_others_from_a_step_on() -> None:
    curve = [4.0 / (i + 1) for i in range(12)]
    other = [*curve[:7], *(value * 1.25 for value in curve[7:])]
    assert (
        values(compute(telemetry({"main": {"loss": curve}, "pr": {"loss": other}})))[
            "loss_first_different_step"
        ]
        == 8
    )
    same = values(compute(telemetry({"main": {"loss": curve}, "pr": {"loss": curve, "acc": [0.5] * 12}})))
    assert "loss_first_different_step" not in same


def test_runs_that_names_do_not_tell_apart_are_not_compared() -> None:
    told = values(compute(telemetry({"alpha": {"loss": [4.0, 2.0]}, "beta": {"loss": [4.0, 3.0]}})))
    assert not any("ratio" in name or "change" in name for name in told)
    assert told["final_loss [alpha]"] == 2.0


def test_one_history_in_two_files_is_one_run() -> None:
    curve = [4.0, 2.0, 1.0]
    told = values(
        compute(telemetry({"wandb-id": {"loss": curve}, "main": {"loss": [c * (1 + 1e-9) for c in curve]}}))
    )
    assert "final_loss" in told


def test_seeds_that_finished_and_one_that_did_not() -> None:
    runs = {f"seed{n}": {"loss": [3.0] * 9 + [1.0 + n / 10]} for n in (1, 2, 3)} | {
        "seed4": {"loss": [3.0] * 4}
    }
    told = values(
        compute(telemetry(runs), repo=snapshot({"config.yaml": "max_steps: 10\nbatch_size: 2\nseq_len: 8\n"}))
    )
    assert (told["runs"], told["finished_runs"], told["finish_rate"]) == (4, 3, 0.75)
    assert (told["last_step [seed4]"], told["last_loss [seed4]"]) == (4, 3.0)
    assert told["final_loss_spread"] == pytest.approx(0.2)
    assert (told["tokens_total"], told["tokens_planned"]) == (34 * 16, 40 * 16)
    assert told["token_shortfall"] == pytest.approx(0.15)


def test_a_run_that_stopped_before_its_end() -> None:
    record = Run("r", "trainer_state.json", Format.HF_TRAINER, planned_steps=1000, last_step=400)
    told = values(
        compute(telemetry({"r": {"loss": [2.0, 1.0], "step_time": [0.5, 0.5]}}, start=399, records=[record]))
    )
    assert (told["last_step"], told["planned_steps"], told["finish_rate"]) == (400, 1000, 0.4)
    assert told["projected_seconds"] == 500.0


def test_a_run_without_a_plan_has_no_finish_rate() -> None:
    assert "finish_rate" not in values(compute(telemetry({"r": {"loss": [2.0, 1.0]}})))


def test_settings_beside_the_metrics_are_those_of_the_run() -> None:
    collector = Collector(Format.LIGHTNING)
    for step in range(1, 5):
        collector.add("loss", step, 1.0, run="metrics", source="version_3/metrics.csv")
    parts = [Telemetry(series=collector.series()), read_bytes("version_3/hparams.yaml", b"max_steps: 16\n")]
    assert values(compute(joined(parts)))["finish_rate"] == 0.25


def test_settings_of_the_command_line_outrank_the_file_it_names() -> None:
    files = {
        "configs/base.yaml": "optim:\n  grad_clip: 1.0\ntrain:\n  steps: 100\n",
        "configs/other.yaml": "train:\n  steps: 7\n",
    }
    log = reading(
        "##[group]Run python train.py --config configs/base.yaml optim.grad_clip=0.5",
        kinds=frozenset({Kind.STEP}),
    )
    found = compute(
        telemetry({"r": {"loss": [1.0] * 4, "grad_norm": [0.4, 0.6, 0.9, 1.5]}}), log, snapshot(files)
    )
    told = values(found)
    assert (told["steps_clipped"], told["planned_steps"]) == (3, 100)
    clipped = next(fact for fact in found if fact.name == "steps_clipped")
    assert clipped.inputs[1].source == "log.txt:1"


def test_episodes_of_several_seeds() -> None:
    rows = ["seed,episode,finished"] + [
        f"{seed},{n},{int(seed == 0 or n % 2)}" for seed in (0, 1) for n in range(40)
    ]
    found = values(
        compute(
            read_bytes("episodes.csv", "\n".join(rows).encode()),
            repo=snapshot({"c.json": '{"required": 0.9, "max_steps": 40}'}),
        )
    )
    assert found["finished_rate"] == 0.75
    assert found["final_finished_rate_mean"] == 0.75
    assert found["share_at_required_finished_rate"] == 0.5


def test_log_lines_are_used_where_there_are_no_files() -> None:
    log = reading(
        *(
            f" iteration {n}/ 40 | consumed samples: {n * 8} | lm loss: {5 / n:.3f} | tokens/s 1{n % 3}00"
            for n in range(1, 25)
        )
    )
    told = values(compute(Telemetry(), log))
    assert (told["last_step"], told["planned_steps"], told["finish_rate"]) == (24, 40, 0.6)
    assert told["samples"] == 192
    assert told["final_lm_loss"] == 0.208


def test_command_lines_and_program_text_are_no_metrics() -> None:
    for kind in (Kind.COMMAND, Kind.ECHO, Kind.SOURCE, Kind.DUMP):
        assert of_log(reading("step 1 loss 2.0", kinds=frozenset({kind}))).series == ()


def test_what_was_lost_since_the_last_checkpoint() -> None:
    log = reading(
        "model 1.3B parameters, global batch 16, sequence length 32", "resumed from /ckpt/iter_0000100, iteration 100",
        *(f"iteration {n}/900 | lm loss 2.{n}" for n in range(101, 150)), "saving checkpoint at iteration     150 to /ckpt",
        *(f"iteration {n}/900 | lm loss 2.{n}" for n in range(151, 171)),
    )  # fmt: skip
    told = values(compute(Telemetry(), log, category=Category.INFRA_RUNTIME))
    assert (told["lost_steps"], told["lost_samples"], told["lost_tokens"]) == (20, 320, 10_240)
    assert (told["steps_since_resume"], told["tokens_since_resume"]) == (70, 70 * 16 * 32)


def test_a_full_device_in_one_unit() -> None:
    log = reading(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 16.00 GiB of which 512.00 MiB is free. "
        "Process 77 has 12.00 GiB memory in use. Including non-PyTorch memory, this process has 3.50 GiB memory in use."
    )
    told = values(compute(Telemetry(), log))
    assert (told["requested_gib"], told["free_gib"], told["missing_gib"]) == (1.5, 0.5, 1.0)
    assert (told["other_processes_share"], told["accounted_gib"]) == (0.75, 16.0)


def test_what_the_kernel_killed() -> None:
    told = values(
        compute(
            Telemetry(),
            reading(
                "Memory cgroup out of memory: Killed process 42 (python) total-vm:9000kB, anon-rss:2048kB, file-rss:1024kB, shmem-rss:0kB"
            ),
        )
    )
    assert (told["killed_process_rss_mib"], told["killed_pid"]) == (3.0, 42)


def test_an_unfinished_file_among_its_like() -> None:
    log = reading(
        "-rw-r--r-- 1 u u 1000 Nov 30 18:25 step_1.pt",
        "-rw-r--r-- 1 u u 1000 Nov 30 18:25 step_2.pt",
        "-rw-r--r-- 1 u u 250 Nov 30 18:25 step_3.pt",
    )
    told = values(compute(Telemetry(), log))
    assert (told["whole_file_bytes"], told["unfinished_file_share"]) == (1000, 0.25)


def test_watchdogs_of_several_ranks_and_the_delay_after_the_cause() -> None:
    text = "[Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7{0}, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600050 milliseconds"
    cause = Line(
        "rank_2.log",
        9,
        "ValueError: label 151 for 150 classes",
        "ValueError: label 151 for 150 classes",
        None,
    )
    lines = [Line("rank_2.log", 8, "start", "start", 1000.0), cause]
    lines += [Line(f"rank_{n}.log", 5, text.format(n), text.format(n), 1600.0 + n) for n in (0, 1)]
    log = Reading((), tuple(lines), ())
    told = values(compute(Telemetry(), log, category=Category.DATA_CONFIG, cause=cause))
    assert (
        told["ranks_with_collective_timeout"],
        told["collective_timeout_ms"],
        told["delay_after_cause_s"],
    ) == (2, 600_000, 600.0)
    assert (told["label_in_cause"], told["lowest_sequence_number"]) == (151, 70)


def test_coverage_below_its_limit() -> None:
    log = reading(
        "TOTAL                     200      30    85%",
        "FAIL Required test coverage of 92.5% not reached. Total coverage: 85.00%",
    )
    told = values(compute(Telemetry(), log))
    assert (told["coverage"], told["required_coverage"], told["statements_to_cover"]) == (0.85, 0.925, 15)
    assert told["coverage_shortfall"] == pytest.approx(0.075)


def test_retries_and_their_waits() -> None:
    log = reading(
        *(f"HTTP Error 503 thrown while requesting GET x\nRetrying in {n}s [Retry {n}/3]." for n in (1, 2, 3))
    )
    told = values(compute(Telemetry(), log))
    assert (told["retries"], told["retry_wait_s"], told["http_503_lines"]) == (3, 6.0, 3)


def test_test_counts_of_reports_and_summaries() -> None:
    log = reading(
        "=== 40 passed in 1.02s ===",
        "=== 2 failed, 8 passed, 1 skipped in 3.5s ===",
        "Ran 12 tests in 0.5s",
        "",
        "FAILED (failures=1, errors=2)",
    )
    told = values(compute(Telemetry(), log))
    assert (
        told["failed"],
        told["passed"],
        told["passed_in_all"],
        told["failed_in_all"],
        told["errors_in_all"],
    ) == (2, 8, 57, 3, 2)


def test_what_was_told_before_is_not_said_again() -> None:
    log = reading("=== 2 failed, 8 passed in 3.5s ===")
    told = values(compute(Telemetry(), log, told=[Fact("failed", 2)]))
    assert "failed" not in told and told["passed"] == 8


def test_assertions_as_errors_and_ratios() -> None:
    log = reading(
        "E       AssertionError: Tensor-likes are not close!", "E       ", "E       Mismatched elements: 30 / 120 (25.0%)",
        "E       Greatest absolute difference: 0.125 at index (0, 1) (up to 1e-05 allowed)",
        "E       Greatest relative difference: 0.5 at index (0, 1) (up to 1.3e-06 allowed)",
        "other", "E       assert 4.0 == 2.0 ± 2.0e-06",
    )  # fmt: skip
    told = values(compute(Telemetry(), log))
    assert (
        told["mismatched_fraction"],
        told["max_absolute_difference"],
        told["max_relative_difference"],
    ) == (0.25, 0.125, 0.5)
    assert told["actual_over_expected_2"] == 2.0


def test_errors_between_what_a_line_states() -> None:
    told = values(compute(Telemetry(), told=[Fact("golden", 2.0), Fact("actual", 2.000002)]))
    assert told["stated_delta"] == pytest.approx(2e-6)
    assert told["stated_relative_error"] == pytest.approx(1e-6)
    assert told["stated_error_in_float32_epsilons"] == pytest.approx(1e-6 * 2**23)


def test_the_other_numbers_of_a_result_line() -> None:
    told = values(compute(Telemetry(), reading("eval: samples 120, scored 117, skipped 3, mean score 0.58")))
    assert (told["final_mean_score"], told["stated_skipped"]) == (0.58, 3)


def test_nan_cells_of_a_data_file_count_only_where_the_loss_is_not_finite() -> None:
    repo = snapshot({"data/train.csv": "a,b\n1,2\nnan,3\n4,\n5,6\n"})
    sick = values(compute(telemetry({"r": {"loss": [math.nan, math.nan]}}), repo=repo))
    assert (sick["nonfinite_cells"], sick["columns_with_nonfinite_cells"]) == (2, 2)
    assert "nonfinite_cells" not in values(compute(telemetry({"r": {"loss": [1.0, 0.5]}}), repo=repo))


def test_runs_of_one_name_in_two_folders_are_two() -> None:
    collector = Collector(Format.CSV)
    for folder, end in (("main", 1.0), ("pr", 2.0)):
        for step, value in ((1, 4.0), (2, end)):
            collector.add("loss", step, value, run=f"metrics{folder}", source=f"{folder}/metrics.csv")
    series = tuple(msgspec.structs.replace(s, run="metrics") for s in collector.series())
    told = values(compute(Telemetry(series=series)))
    assert told["loss_ratio"] == 2.0
    assert told["final_loss [baseline]"] == 1.0


def test_keras_folders_of_training_and_validation_are_one_run() -> None:
    collector = Collector(Format.TENSORBOARD)
    for split, end in (("train", 1.0), ("validation", 2.0)):
        for step, value in ((0, 4.0), (1, end)):
            collector.add("epoch_loss", step, value, run=f"logs/{split}", source=f"logs/{split}/events")
    told = values(compute(Telemetry(series=collector.series())))
    assert (told["final_epoch_loss"], told["final_validation_epoch_loss"]) == (1.0, 2.0)
    assert not any("ratio" in name for name in told)


def test_single_results_of_two_runs() -> None:
    parts = [
        read_bytes(
            f"{name}/results.json", json.dumps({"accuracy": acc, "throughput": 100 * acc, "seed": 3}).encode()
        )
        for name, acc in (("baseline", 0.8), ("candidate", 0.6))
    ]
    told = values(compute(joined(parts)))
    assert told["accuracy_relative_change"] == pytest.approx(-0.25)
    assert told["throughput_ratio"] == pytest.approx(0.75)
    assert (told["accuracy [baseline/results]"], told["accuracy [candidate/results]"]) == (0.8, 0.6)


def test_named_benchmarks_of_two_files() -> None:
    def report(scale: float) -> bytes:
        rows = [
            {"name": name, "stats": {"median": value * scale, "mean": 9.0}}
            for name, value in (("test_a", 1.0), ("test_b", 2.0))
        ]
        return json.dumps({"benchmarks": rows}).encode()

    told = values(
        compute(
            joined([read_bytes("main/bench.json", report(1.0)), read_bytes("pr/bench.json", report(1.5))])
        )
    )
    assert (told["test_a_ratio"], told["test_b_ratio"]) == (1.5, 1.5)


def test_a_serving_benchmark_has_lists_beside_its_results() -> None:
    parts = [
        read_bytes(
            f"{name}/bench.json",
            json.dumps({"p99_ttft_ms": ttft, "total_token_throughput": 100.0, "ttfts": [0.1, 0.2]}).encode(),
        )
        for name, ttft in (("baseline", 200.0), ("pr", 300.0))
    ]
    told = values(compute(joined(parts)))
    assert (told["p99_ttft_ms_ratio"], told["total_token_throughput_ratio"]) == (1.5, 1.0)


def test_a_share_and_its_limit_in_standard_errors() -> None:
    document = {"results": {"gsm8k": {"acc,none": 0.64, "acc_stderr,none": 0.0132}}}
    found = read_bytes("results.json", json.dumps(document).encode())
    told = values(compute(found, told=[Fact("actual", 0.64), Fact("limit", 0.65)]))
    assert told["acc_none_margin_in_standard_errors"] == pytest.approx(-0.01 / 0.0132)
    counted = read_bytes("results.json", json.dumps({"accuracy": 0.64, "num_samples": 1319}).encode())
    told = values(compute(counted, told=[Fact("actual", 0.64), Fact("limit", 0.65)]))
    assert told["accuracy_margin_in_standard_errors"] == pytest.approx(-0.757, abs=1e-3)
    assert "accuracy_margin_in_standard_errors" not in values(compute(counted))


def test_a_rate_against_earlier_runs() -> None:
    rows = "date,tokens_per_sec\n" + "".join(f"2026-01-0{n},{1000 + n}\n" for n in range(1, 8))
    run = telemetry({"r": {"tokens_per_sec": [990.0] * 30}})
    told = values(compute(joined([run, read_bytes("nightly_history.csv", rows.encode())])))
    assert told["tokens_per_sec_history_mean"] == 1004.0
    assert told["tokens_per_sec_z"] == pytest.approx(-14 / 2.1602, abs=1e-3)
    assert told["steady_tokens_per_sec"] == 990.0


def test_a_run_that_fell_silent_before_its_end() -> None:
    lines = [
        Line("log.txt", n, f"step {n}/90 loss 1.5", f"step {n}/90 loss 1.5", 1000.0 + n) for n in range(1, 30)
    ]
    cause = Line("log.txt", 40, "Timeout!", "Timeout!", 1629.0)
    told = values(
        compute(Telemetry(), Reading((), (*lines, cause), ()), category=Category.INFRA_RUNTIME, cause=cause)
    )
    assert told["silent_seconds"] == 600.0


def test_the_slowest_rank() -> None:
    lines = tuple(
        Line("log.txt", n * 10 + rank, "", f"step {n} loss 2.0 step time {1.5 if rank == 2 else 1.0}", None, Stream(rank=rank))
        for n in range(1, 25) for rank in range(4)
    )  # fmt: skip
    told = values(compute(Telemetry(), Reading((), lines, ())))
    assert (told["slowest_rank"], told["slowest_rank_ratio"]) == (2, 1.5)


@pytest.mark.parametrize(("text", "expected"), [
    ("CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 24.00 GiB total capacity; 20.00 GiB already allocated; 1.50 GiB free; 21.00 GiB reserved)",
     {"requested_gib": 2.0, "capacity_gib": 24.0, "allocated_gib": 20.0, "free_gib": 1.5, "missing_gib": 0.5}),
    ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.", {"requested_gib": 2.0}),
    ("MPS backend out of memory (MPS allocated: 8.00 GB, other allocations: 1.00 GB, max allowed: 9.00 GB). Tried to allocate 512.00 MB on private pool.",
     {"requested_gib": 0.5, "allocated_gib": 8.0, "capacity_gib": 9.0}),
])  # fmt: skip
def test_reports_of_other_allocators(text: str, expected: dict[str, float]) -> None:
    told = values(compute(Telemetry(), reading(text)))
    assert {name: told[name] for name in expected} == expected


def _mllog(run: int, stop: float, epochs: float, status: str = "success") -> bytes:
    events = [
        ("run_start", 1000.0, {}),
        ("eval_accuracy", stop - 1, {"epoch_num": epochs}),
        ("run_stop", stop, {"status": status, "epoch_num": epochs}),
    ]
    lines = [
        ":::MLLOG "
        + json.dumps({"time_ms": t, "key": k, "event_type": "POINT_IN_TIME", "value": 0.75, "metadata": m})
        for k, t, m in events
    ]
    return "\n".join(lines).encode()


def test_mlperf_scores_and_the_reference_test() -> None:
    parts = [read_bytes(f"result_{n}.txt", _mllog(n, 1000.0 + n * 1000, 2.0 + n / 100)) for n in (1, 2, 3, 4)]
    parts.append(read_bytes("result_5.txt", _mllog(5, 9000.0, 9.0, "aborted")))
    parts.append(
        read_bytes(
            "rcp.json",
            json.dumps(
                {"bert_ref_64": {"BS": 64, "Epochs to converge": [3.0, 3.1, 2.9, 3.05, 2.95, 3.0]}}
            ).encode(),
        )
    )
    told = values(compute(joined(parts)))
    assert (
        told["time_to_train [result_1.txt]"],
        told["converged_runs"],
        told["finish_rate"],
        told["score_seconds"],
    ) == (1.0, 4, 0.8, 2.5)
    assert (told["rcp_mean"], told["rcp_passed"]) == (3.0, 0)
    assert 2.8 < told["rcp_least_acceptable_mean"] < 3.0  # type: ignore[operator]


def test_margins_are_told_in_standard_errors() -> None:
    value, limit = FactInput("acc", 0.64), FactInput("limit", 0.65)
    told = values(list(margin("acc", value, limit, samples=FactInput("n", 1319))))
    assert told["acc_margin_in_standard_errors"] == pytest.approx(-0.757, abs=1e-3)
    assert list(margin("acc", value, limit)) == []


def test_noise_takes_five_runs() -> None:
    past = [FactInput("run", 10.0 + n) for n in range(5)]
    assert values(list(against("tps", FactInput("now", 8.0), past)))["tps_z"] == pytest.approx(
        -4 / 1.5811, abs=1e-3
    )
    (unknown,) = against("tps", FactInput("now", 8.0), past[:4])
    assert unknown.value == "noise unknown: it takes at least five earlier runs of the same job"
    assert list(against("tps", FactInput("now", 8.0), [])) == []


@pytest.mark.parametrize(("name", "expected"), [
    ("lm loss", Meaning.LOSS), ("train/loss", Meaning.LOSS), ("eval_loss", Meaning.VALIDATION_LOSS), ("val loss", Meaning.VALIDATION_LOSS),
    ("validation_loss", Meaning.VALIDATION_LOSS), ("Loss/test", Meaning.VALIDATION_LOSS), ("loss scale", Meaning.OTHER), ("grad-norm", Meaning.GRADIENT_NORM),
    ("learning_rate", Meaning.LEARNING_RATE), ("lr-AdamW", Meaning.LEARNING_RATE), ("tokens-per-sec", Meaning.THROUGHPUT), ("tokens/s", Meaning.THROUGHPUT),
    ("train_samples_per_second", Meaning.THROUGHPUT), ("it/s", Meaning.THROUGHPUT), ("iteration-time", Meaning.STEP_TIME),
    ("elapsed time per iteration (ms)", Meaning.STEP_TIME), ("val_acc", Meaning.QUALITY), ("ep_rew_mean", Meaning.QUALITY), ("perplexity", Meaning.ERROR),
    ("mem-max-allocated-bytes", Meaning.MEMORY), ("consumed samples", Meaning.SAMPLES), ("epoch", Meaning.EPOCH), ("eval_runtime", Meaning.OTHER),
])  # fmt: skip
def test_meanings(name: str, expected: Meaning) -> None:
    assert meaning(name) is expected


NAMES = st.sampled_from(
    ["loss", "val loss", "acc", "grad norm", "lr", "tokens/s", "step time", "memory", "epoch", "x"]
)
VALUES = st.lists(st.floats() | st.sampled_from([0.0, 1.0, 1e308, -1e308]), min_size=1, max_size=40)


@given(
    st.dictionaries(
        st.sampled_from(["main", "pr", "seed1", "seed2", "r"]),
        st.dictionaries(NAMES, VALUES, max_size=5),
        max_size=4,
    ),
    st.sampled_from(list(Category)),
)
@settings(max_examples=150, deadline=None)
def test_any_telemetry_yields_facts_that_a_document_can_hold(
    runs: dict[str, dict[str, list[float]]], category: Category
) -> None:
    found = compute(telemetry(runs), category=category)
    assert len(found) <= computing.MOST
    assert len({fact.name for fact in found}) == len(found)
    for fact in found:
        assert fact.formula and (not isinstance(fact.value, float) or math.isfinite(fact.value))


@given(
    st.lists(
        st.text(max_size=60)
        | st.sampled_from(
            [
                "TOTAL 0 0 0%",
                "Tried to allocate 1..2 GiB",
                "=== 1 failed in 1s ===",
                "step 1/0 loss 1",
                "memory limit: 5Gi OOM",
            ]
        ),
        max_size=8,
    )
)
@settings(max_examples=150, deadline=None)
def test_any_log_yields_facts(texts: list[str]) -> None:
    log = reading(*texts)
    compute(Telemetry(), log, cause=log.lines[0] if log.lines else None)


def test_what_torchrun_observed_first() -> None:
    log = reading(
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-11-30_18:33:35",
        "  rank      : 2 (local_rank: 2)",
        "  exitcode  : -9 (pid: 42)",
    )
    told = values(compute(Telemetry(), log))
    assert (told["first_observed_rank"], told["first_observed_exit_code"]) == (2, -9)


def test_two_variants_and_their_seeds() -> None:
    text = "seed,variant,val_acc\n0,main,0.80\n1,main,0.82\n0,ema,0.83\n1,ema,0.81\n"
    told = values(compute(read_bytes("seeds.csv", text.encode())))
    assert told["mean_val_acc [ema]"] == pytest.approx(0.82)
    assert told["mean_val_acc [main]"] == pytest.approx(0.81)
    assert told["mean_val_acc_difference"] == pytest.approx(0.01)
    assert told["val_acc_difference [seed 1]"] == pytest.approx(-0.01)


def test_a_share_of_samples_has_its_error() -> None:
    rows = "\n".join(json.dumps({"doc_id": i, "exact_match": int(i % 5 != 0)}) for i in range(100))
    told = values(compute(read_bytes("samples.jsonl", rows.encode())))
    assert told["exact_match_rate"] == pytest.approx(0.8)
    assert told["exact_match_standard_error"] == pytest.approx(0.04)


def test_two_lists_of_one_measure() -> None:
    files = {"baseline.json": '{"rps": [8.0, 9.0, 10.0]}', "candidate.json": '{"rps": [8.1, 9.0, 9.0]}'}
    told = values(compute(joined([read_bytes(name, text.encode()) for name, text in files.items()])))
    assert told["mean_rps_relative_change"] == pytest.approx(8.7 / 9 - 1)
    assert told["rps_variation [baseline]"] == pytest.approx(1 / 9)


def test_what_the_machine_was_asked() -> None:
    told = values(
        compute(
            Telemetry(),
            reading(
                "$ ulimit -n",
                "1024",
                "$ cat /sys/fs/cgroup/memory.peak",
                "3221225472",
                "$ cat /sys/fs/cgroup/memory.max",
                "34359738368",
                "+ free -m",
                "Mem:            7936        1204        5210",
            ),
        )
    )
    assert (told["open_files_limit"], told["memory_peak_gib"], told["memory_max_gib"]) == (1024, 3.0, 32.0)
    assert (told["memory_peak_share"], told["total_memory_mib"]) == (0.09375, 7936)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "AssertionError: train_batch_size is not equal 256 != 8 * 4 * 4",
            {"product_in_cause": 128, "stated_over_product": 2.0},
        ),
        ("ValueError: needed 16.00 GiB, larger than the available 6.40 GiB", {"needed_over_available": 2.5}),
        (
            "RESULT: FAILED (minimum: 85.0%, actual: 79.0%)",
            {"minimum_in_cause": 0.85, "minimum_minus_actual": 0.06},
        ),
        ("size mismatch for head: torch.Size([5, 64]) against torch.Size([6, 64])", {"shape_difference": 1}),
    ],
)
def test_numbers_of_the_causes_line(text: str, expected: Mapping[str, float]) -> None:
    read = reading(text)
    told = values(compute(Telemetry(), read, None, Category.DATA_CONFIG, read.lines[0]))
    assert {name: told[name] for name in expected} == pytest.approx(dict(expected))


def test_a_cut_line_is_no_measurement() -> None:
    texts = [f"step {i} loss 2.5" for i in range(10, 40, 10)]
    lines = reading(*texts)
    cut = Reading((LogSource("log.txt", 3, 0, ends_in_line=True),), lines.lines, ())
    assert values(compute(of_log(cut)))["last_step"] == 20


def test_summaries_of_other_runners_and_a_run_of_tests_without_one() -> None:
    cargo = values(
        compute(
            Telemetry(),
            reading("test result: FAILED. 5 passed; 1 failed; 2 ignored; 0 measured; finished in 0.2s"),
        )
    )
    assert (cargo["passed"], cargo["failed"], cargo["skipped"]) == (5, 1, 2)
    cut = values(
        compute(
            Telemetry(),
            reading(
                "collected 140 items",
                "tests/test_a.py::test_b PASSED [ 1%]",
                "tests/test_a.py::test_c PASSED",
            ),
        )
    )
    assert (cut["collected"], cut["passed_lines"]) == (140, 2)
