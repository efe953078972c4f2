"""Metric lines on standard output: lines of our own in the forms that the frameworks print."""

import math

import pytest

from audit.telemetry.stdout import LineCollector, parse

MEGATRON = (
    " iteration       20/     100 | consumed samples:          160 | elapsed time per iteration (ms): 81.2 | learning rate: 1.5E-04 | "
    "global batch size:     8 | lm loss: 6.25E+00 | loss scale: 1.0 | grad norm: 1.5 | number of skipped iterations:   0 | "
    "number of nan iterations:   3 |"
)
BAR = "━" * 20


@pytest.mark.parametrize(("line", "step", "total", "epoch", "values"), [
    (MEGATRON, 20, 100, None,
     {"consumed samples": 160, "elapsed time per iteration (ms)": 81.2, "learning rate": 1.5e-4, "global batch size": 8, "lm loss": 6.25,
      "loss scale": 1, "grad norm": 1.5, "number of skipped iterations": 0, "number of nan iterations": 3}),
    ("steps: 10 loss: 9.5 iter time (s): 0.5 samples/sec: 12.25", 10, None, None, {"loss": 9.5, "iter time (s)": 0.5, "samples/sec": 12.25}),
    ("{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.12}", None, None, 0.12, {"loss": 1.25, "grad_norm": 0.5, "learning_rate": 1e-5}),
    ("{'eval_loss': '1.75', 'eval_runtime': '0.05', 'epoch': '20'}", None, None, 20, {"eval_loss": 1.75, "eval_runtime": 0.05}),
    ("Epoch 3:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, v_num=0, train_loss=0.125]", 45, 100, 3, {"it/s": 4.5, "train_loss": 0.125}),
    ("1875/1875 [==============================] - 5s 3ms/step - loss: 0.25 - accuracy: 0.5", 1875, 1875, None, {"ms/step": 3, "loss": 0.25, "accuracy": 0.5}),
    (f"1875/1875 {BAR} 5s 3ms/step - accuracy: 0.5 - loss: 0.25", 1875, 1875, None, {"ms/step": 3, "loss": 0.25, "accuracy": 0.5}),
    ("iter 100: loss 3.5, time 120.25ms, mfu 12.5%", 100, None, None, {"loss": 3.5, "time (ms)": 120.25, "mfu (%)": 12.5}),
    ("step 250: train loss 2.5, val loss 2.25", 250, None, None, {"train loss": 2.5, "val loss": 2.25}),
    ("step: 10  loss:  8.5  grad_norm:  1.25  memory:  1.5GiB(5.09%)  tps: 12,345  mfu: 12.5%", 10, None, None,
     {"loss": 8.5, "grad_norm": 1.25, "memory (GiB)": 1.5, "tps": 12345, "mfu (%)": 12.5}),
    ("epoch 1 step 20/311 loss 0.5 lr 1.0e-04 mem 3.5GiB 512.0 img/s", 20, 311, 1, {"loss": 0.5, "lr": 1e-4, "mem (GiB)": 3.5, "img/s": 512}),
    ("Train: 2 [ 100/1251 (  8%)]  Loss: 6.5 (6.75)  LR: 1.000e-03", 100, 1251, 2, {"Loss": 6.5, "LR": 1e-3}),
    ("Epoch(train)  [1][ 50/100]  lr: 1.0000e-03  time: 0.25  loss: 1.25", 50, 100, 1, {"lr": 1e-3, "time": 0.25, "loss": 1.25}),
    ("Avg prompt throughput: 12.5 tokens/s, Avg generation throughput: 120.5 tokens/s, Running: 4 reqs", None, None, None,
     {"Avg prompt throughput (tokens/s)": 12.5, "Avg generation throughput (tokens/s)": 120.5, "Running": 4}),
    ("Mean TTFT (ms):                          12.5", None, None, None, {"Mean TTFT (ms)": 12.5}),
    ("step  41/300 loss nan grad_norm inf lr 2.0e-05", 41, 300, None, {"loss": math.nan, "grad_norm": math.inf, "lr": 2e-5}),
    ("seed 7 episode  120 finish rate (last 20) 0.65 return +0.75", 120, None, None, {"seed": 7, "finish rate (last 20)": 0.65, "return": 0.75}),
    ("global_step 120 | train/loss: 1.25 | train/lr: 1e-4", 120, None, None, {"train/loss": 1.25, "train/lr": 1e-4}),
])  # fmt: skip
def test_forms(
    line: str, step: int | None, total: int | None, epoch: float | None, values: dict[str, float]
) -> None:
    found = parse(line)
    assert found is not None
    assert (found.step, found.total, found.epoch) == (step, total, epoch)
    shown = {name: value for name, value in found.values.items() if name in values}
    assert {k: repr(float(v)) for k, v in shown.items()} == {k: repr(float(v)) for k, v in values.items()}


@pytest.mark.parametrize("line", [
    "Step 4/17 : RUN pip install torch==2.1",
    "tests/test_loader.py::test_full_size_epoch[3] FAILED                     [ 40%]",
    "Requirement already satisfied: packaging>=24 in /opt/python3.11/site-packages (from -r requirements.txt (line 4)) (26.4)",
    "=== 5 failed, 215 passed in 3.21s ===",
    "RuntimeError: loss of size 4 must match 3",
    "Epoch 1/10",
    "",
])  # fmt: skip
def test_lines_without_metrics(line: str) -> None:
    assert parse(line) is None


def test_a_loss_that_is_left_out_when_it_is_nan_leaves_its_counter() -> None:
    found = parse(
        " iteration 21/ 100 | grad norm: 1.5 | number of skipped iterations: 0 | number of nan iterations: 1 |"
    )
    assert found is not None
    assert "lm loss" not in found.values
    assert found.values["number of nan iterations"] == 1


def _collected(*lines: str) -> LineCollector:
    collector = LineCollector()
    for number, line in enumerate(lines, 1):
        collector.add(line, "log.txt", number)
    return collector


def test_steps_that_start_over_are_another_run() -> None:
    found = _collected(
        "step 1/2 loss 1.0", "step 2/2 loss 0.5", "step 1/2 loss 3.0", "step 2/2 loss 2.5"
    ).telemetry()
    assert {s.run: (list(s.steps), list(s.values)) for s in found.series} == {
        "log.txt": ([1, 2], [1, 0.5]),
        "log.txt #2": ([1, 2], [3, 2.5]),
    }


def test_steps_that_go_back_to_a_later_one_are_a_resumed_run() -> None:
    (series,) = _collected(*(f"step {n}/9 loss {n}.5" for n in (1, 2, 3, 4, 3, 4, 5))).telemetry().series
    assert (list(series.steps), series.segments) == ([1, 2, 3, 4, 3, 4, 5], (0, 4))


def test_steps_of_each_epoch_count_on() -> None:
    (series,) = (
        _collected(
            "epoch 1 step 10/20 loss 4.0", "epoch 1 step 20/20 loss 3.0", "epoch 2 step 10/20 loss 2.0"
        )
        .telemetry()
        .series
    )
    assert (list(series.steps), series.segments) == ([10, 20, 30], (0,))


def test_planned_and_last_steps() -> None:
    (run,) = (
        _collected("iteration 10/ 500 | lm loss: 2.0", "iteration 20/ 500 | lm loss: 1.0").telemetry().runs
    )
    assert (run.planned_steps, run.last_step) == (500, 20)


def test_keras_counts_epochs_at_the_end_of_each_bar() -> None:
    lines = []
    for epoch in (1, 2):
        lines += [
            f"Epoch {epoch}/2",
            f" 50/100 {BAR} 1s 3ms/step - loss: 9.0",
            f"100/100 {BAR} 2s 3ms/step - loss: {epoch}.5",
        ]
    loss = next(s for s in _collected(*lines).telemetry().series if s.name == "loss")
    assert (loss.axis, list(loss.steps), list(loss.values)) == ("epoch", [1, 2], [1.5, 2.5])


def test_a_bar_between_carriage_returns_and_another_within_it() -> None:
    bar = "\r".join(
        [
            "  0%| | 1/4 [00:01<00:03, 1.0it/s, loss=4.0]",
            " 50%| | 1/2 [00:00<00:00, 9.0it/s]",
            " 50%| | 2/4 [00:02<00:02, 2.0it/s, loss=3.0]",
        ]
    )
    found = _collected(bar).telemetry()
    loss = next(s for s in found.series if s.name == "loss")
    assert (list(loss.steps), list(loss.values), {s.run for s in found.series}) == (
        [1, 2],
        [4, 3],
        {"log.txt"},
    )
    assert (found.runs[0].planned_steps, found.runs[0].last_step) == (4, 2)


def test_streams_are_runs_of_their_own() -> None:
    collector = LineCollector()
    for rank in (0, 1):
        collector.add(f"step 1 loss {rank}.5", "log.txt", rank + 1, f"rank {rank}")
    assert [s.run for s in collector.telemetry().series] == ["log.txt rank 0", "log.txt rank 1"]


@pytest.mark.parametrize("word", [
    "loss", "acc", "ppl", "perplexity", "grad norm", "lr", "learning rate", "throughput", "tok/s", "samples", "reward", "return", "score", "bleu", "rouge",
    "mfu", "tflops", "it/s", "s/it", "ms/step", "img/s", "req/s", "images/s", "steps/s", "auc", "F1", "error", "rate", "mAP", "IoU", "latency", "TTFT",
    "TPOT", "ITL", "entropy", "KL", "bpb", "bits", "NLL", "mem", "memory", "elapsed time", "iter_time", "time", "MSE", "MAE", "RMSE", "WER", "CER", "ELBO",
    "FID", "train/lr", "opt_lr", "lr-Adam",
])  # fmt: skip
def test_the_hints_lose_no_metric(word: str) -> None:
    assert parse(f"step 1 {word}: 2.5") is not None


@pytest.mark.parametrize(
    ("text", "step", "total", "values"),
    [
        (
            "INFO:finetune:step 140/3000 loss 2.8759 tok/s 48230",
            140,
            3000,
            {"loss": 2.8759, "tok/s": 48230.0},
        ),
        ("[  610/2000] loss 2.1 | 412.6 ms/step", 610, 2000, {"loss": 2.1, "ms/step": 412.6}),
        ("Step [140/3000], Loss: 2.2", 140, 3000, {"Loss": 2.2}),
        ("step 140 of 3000 loss 2.2", 140, 3000, {"loss": 2.2}),
        ("step 3 loss 2.1 tok/s 300 it/s 3", 3, None, {"loss": 2.1, "tok/s": 300.0, "it/s": 3.0}),
        ("step 3 loss 2.1 45.2 tok/s 3.1 s/it", 3, None, {"loss": 2.1, "tok/s": 45.2, "s/it": 3.1}),
        ("val: loss 0.3", None, None, {"val loss": 0.3}),
        ("[100]\tvalid_0's auc: 0.91", 100, None, {"valid_0 auc": 0.91}),
        ("[12/40] g++ -O2 loss.cpp -o loss.o", None, None, None),
        ("[0] loss: 3.1", None, None, {"loss": 3.1}),
    ],
)
def test_counts_and_names_in_other_orders(
    text: str, step: int | None, total: int | None, values: dict[str, float] | None
) -> None:
    found = parse(text)
    if values is None:
        assert found is None
    else:
        assert found is not None
        assert (found.step, found.total, found.values) == (step, total, values)
