"""Claims of small texts, held against small histories."""

# ruff: noqa: E501  (texts of files)

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.verdict import Fact
from audit.failure.claims import ClaimOutcome, Family, check
from audit.failure.claims.quantities import quantities
from audit.failure.claims.sentences import sentences
from audit.failure.model import Line, LogSource, Reading
from audit.telemetry.model import Telemetry, joined
from audit.telemetry.registry import read_bytes


def run(count: int, **columns: Callable[[int], float]) -> str:
    return "\n".join(
        json.dumps({"step": i, **{k: f(i) for k, f in columns.items()}}) for i in range(1, count + 1)
    )


def telemetry(files: Mapping[str, str]) -> Telemetry:
    return joined([read_bytes(name, text.encode()) for name, text in files.items()])


def outcomes(
    text: str, files: Mapping[str, str] | None = None, log: str = "", facts: tuple[Fact, ...] = ()
) -> list[ClaimOutcome]:
    lines = tuple(Line("log.txt", n, row, row) for n, row in enumerate(log.split("\n"), 1))
    return check(
        text, telemetry(files or {}), Reading((LogSource("log.txt", len(lines), len(log)),), lines, ()), facts
    )


def status(text: str, files: Mapping[str, str] | None = None, **more: object) -> str:
    found = outcomes(text, files, **more)  # type: ignore[arg-type]
    assert len(found) == 1, [(c.claim.text, c.family) for c in found]
    return found[0].claim.status.value


def speeds(old: float, new: float, warm: int = 5) -> dict[str, str]:
    """Two runs whose first steps are ten times slower in the baseline."""

    def before(i: int) -> float:
        return old / 10 if i <= warm else old + i % 3

    def after(i: int) -> float:
        return new + i % 3

    return {
        "baseline.jsonl": run(100, tokens_per_sec=before, step_time=lambda i: 1000 / before(i)),
        "candidate.jsonl": run(100, tokens_per_sec=after, step_time=lambda i: 1000 / after(i)),
    }


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("Throughput is 2.0x higher.", 1000, 2000, "supported"),
        ("Throughput is 2.0x higher.", 1000, 1500, "contradicted"),
        ("Training is 50 % faster.", 1000, 1500, "supported"),
        ("130 % faster", 1000, 2300, "supported"),
        ("Throughput +12%", 1000, 1120, "supported"),
        ("Throughput drops by 5 %.", 1000, 950, "supported"),
        ("Step time is 20 % lower.", 1000, 1250, "supported"),
        ("Step time is 20 % lower.", 1000, 1200, "contradicted"),
        ("At least 1.5x faster", 1000, 1800, "supported"),
        ("At least 1.5x faster", 1000, 1300, "contradicted"),
        ("Throughput went from 1000 tokens/s to 2000 tokens/s", 1000, 2000, "supported"),
        ("2000 tokens/s instead of 1000 tokens/s", 1000, 1400, "contradicted"),
        ("No slowdown: throughput unchanged", 1000, 995, "supported"),
        ("No slowdown: throughput unchanged", 1000, 900, "contradicted"),
    ],
)
def test_speed(text: str, old: float, new: float, expected: str) -> None:
    assert status(text, speeds(old, new)) == expected


def test_a_ratio_that_only_the_warm_up_makes_is_contradicted_and_said() -> None:
    files = {
        "baseline.jsonl": run(
            20,
            tokens_per_sec=lambda i: 10.0 if i <= 5 else 1000.0,
            step_time=lambda i: 50.0 if i <= 5 else 0.5,
        ),
        "candidate.jsonl": run(200, tokens_per_sec=lambda i: 1000.0, step_time=lambda i: 0.5),
    }
    (found,) = outcomes("Throughput is 25x higher", files)
    assert found.claim.status.value == "contradicted"
    assert "warm-up" in found.claim.why or "steady window 1x" in found.claim.why
    assert next(f for f in found.facts if f.name == "steady_speed_ratio").value == 1.0


def test_a_comparison_needs_two_runs_that_are_told_apart() -> None:
    one = {"run.jsonl": run(50, tokens_per_sec=lambda i: 5.0)}
    assert status("Twice as fast: 2x throughput", one) == "not_derivable"
    assert (
        status(
            "2x throughput", {"a.jsonl": one["run.jsonl"], "b.jsonl": run(50, tokens_per_sec=lambda i: 7.0)}
        )
        == "not_derivable"
    )
    assert status("Throughput reaches 5.0 tokens/s", one) == "supported"
    assert status("Throughput reaches 5.0 tokens/s", {}) == "not_derivable"


def losses(
    old: float, new: float, steps: tuple[int, int] = (60, 60), name: str = "val_loss"
) -> dict[str, str]:
    return {
        "main.jsonl": run(steps[0], **{name: lambda i: old + 1 / i - 1 / steps[0]}),
        "pr.jsonl": run(steps[1], **{name: lambda i: new + 1 / i - 1 / steps[1]}),
    }


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("No loss regression: validation loss within 0.5 % of main.", 2.0, 2.008, "supported"),
        ("No loss regression: validation loss within 0.5 % of main.", 2.0, 2.07, "contradicted"),
        ("Validation loss is 2.07 instead of 2.00", 2.0, 2.07, "supported"),
        ("Validation loss is 1.90 instead of 2.00", 2.0, 2.07, "contradicted"),
        ("Validation loss drops from 2.0 to 1.5", 2.0, 1.5, "supported"),
        ("Validation loss improves by 25 %", 2.0, 1.5, "supported"),
        ("Validation loss improves by 25 %", 2.0, 1.8, "contradicted"),
        ("The validation loss is unchanged compared to main", 2.0, 2.001, "supported"),
        ("The validation loss is unchanged compared to main", 2.0, 2.2, "contradicted"),
        ("The validation loss is unchanged compared to main", 2.0, 2.02, "not_derivable"),
        ("Better validation loss than main", 2.0, 2.2, "contradicted"),
    ],
)
def test_losses(text: str, old: float, new: float, expected: str) -> None:
    assert status(text, losses(old, new)) == expected


def test_last_values_of_runs_of_different_length_are_no_comparison() -> None:
    files = {
        "main.jsonl": run(40, loss=lambda i: 4 - i / 40),
        "pr.jsonl": run(240, loss=lambda i: 4 - i / 80),
    }
    (found,) = outcomes("It trains better: final loss 1.00 instead of 3.00", files)
    assert found.claim.status.value == "contradicted"
    assert "step 40" in found.claim.why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Reaches 91.2 % accuracy", "supported"),
        ("Final accuracy 0.93", "contradicted"),
        ("Best accuracy 0.93", "supported"),
        ("accuracy above 0.9", "supported"),
        ("accuracy of 0.95", "contradicted"),
    ],
)
def test_scores_of_one_run(text: str, expected: str) -> None:
    files = {"run.jsonl": run(30, acc=lambda i: 0.93 if i == 20 else 0.912)}
    assert status(text, files) == expected


def test_percent_and_points_that_split_the_verdict_are_not_decided() -> None:
    files = {"main.jsonl": run(30, acc=lambda i: 0.5), "pr.jsonl": run(30, acc=lambda i: 0.496)}
    assert status("accuracy within 0.5 % of main", files) == "not_derivable"  # 0.8 % relative, 0.4 points


def seeds(*lasts: int) -> dict[str, str]:
    return {
        f"seed{n}.jsonl": run(last, loss=lambda i, n=n: 2 / i + n / 100) for n, last in enumerate(lasts, 1)
    }  # type: ignore[misc]


def test_finished_seeds() -> None:
    assert status("All 3 of 3 seeds finished the full 50 steps.", seeds(50, 50, 50)) == "supported"
    (found,) = outcomes("All 3 of 3 seeds finished the full 50 steps.", seeds(50, 31, 50))
    assert found.claim.status.value == "contradicted"
    assert {f.name: f.value for f in found.facts}["finished_runs"] == 2
    assert status("All 5 seeds finished all 50 steps", seeds(50, 50)) == "not_derivable"
    assert status("Both: 2/3 seeds finished 50 steps", seeds(50, 31, 50)) == "supported"


def test_a_last_logged_step_may_lag_by_the_logging_interval() -> None:
    text = "\n".join(json.dumps({"step": s, "loss": 1.0}) for s in range(10, 100, 10))
    assert status("The run completed all 95 steps", {"run.jsonl": text}) == "supported"
    assert status("The run completed all 120 steps", {"run.jsonl": text}) == "contradicted"


def test_tokens_from_facts_that_know_the_configuration() -> None:
    facts = (Fact("tokens_total", 950_272, "tokens", "steps * 512"),)
    assert status("In total 1.024M tokens were consumed.", seeds(50, 50), facts=facts) == "contradicted"
    assert status("In total 950k tokens were consumed.", seeds(50, 50), facts=facts) == "supported"
    assert status("Trained on 10B tokens.", {}) == "not_derivable"


def test_spread_over_finished_seeds() -> None:
    assert (
        status("The final loss varies little between seeds (spread below 0.1).", seeds(50, 50, 20))
        == "supported"
    )
    assert (
        status("The final loss varies little between seeds (spread below 0.005).", seeds(50, 50, 20))
        == "contradicted"
    )
    assert status("Seed-to-seed variance is small.", seeds(50, 50)) == "not_derivable"


def test_stability() -> None:
    good = {"run.jsonl": run(60, loss=lambda i: 1 + 1 / i)}
    bad = {"run.jsonl": run(60, loss=lambda i: float("nan") if i == 40 else 1.0)}
    assert status("Training is stable, no NaN.", good) == "supported"
    assert status("Training is stable, no NaN.", bad) == "contradicted"
    assert status("No NaNs", {"run.jsonl": run(4, loss=lambda i: 1.0)}) == "not_derivable"
    spiky = {"run.jsonl": run(100, loss=lambda i: 30.0 if i == 70 else 1 + i % 5 / 100)}
    assert status("no loss spikes", spiky) == "contradicted"


def test_equal_runs() -> None:
    same = {"main.jsonl": run(30, loss=lambda i: 1 / i), "pr.jsonl": run(30, loss=lambda i: 1 / i) + "\n"}
    off = {
        "main.jsonl": run(30, loss=lambda i: 1 / i),
        "pr.jsonl": run(30, loss=lambda i: 1 / i + (1e-3 if i > 9 else 0)),
    }
    (found,) = outcomes("Losses are bit-identical", off)
    assert (found.claim.status.value, "step 10" in found.claim.why) == ("contradicted", True)
    assert status("bitwise identical to main", {"a.jsonl": same["main.jsonl"]}) == "not_derivable"


JUNIT = '<testsuite name="s" tests="3" failures="{f}" errors="0" skipped="1"><testcase classname="t.a" name="x"/><testcase classname="t.a" name="y">{body}</testcase><testcase classname="t.a" name="z"><skipped/></testcase></testsuite>'


def test_tests() -> None:
    good, bad = JUNIT.format(f=0, body=""), JUNIT.format(f=1, body='<failure message="x"/>')
    assert status("All tests pass.", {"r.xml": good}) == "not_derivable"  # one of the three was skipped
    assert status("No test failures.", {"r.xml": good}) == "supported"
    assert status("3/3 tests pass.", {"r.xml": good}) == "contradicted"
    assert status("2 of 3 tests pass.", {"r.xml": good}) == "supported"
    assert status("All tests pass.", {"r.xml": bad}) == "contradicted"
    assert status("All tests pass.", log="== 3 failed, 5 passed in 1.0s ==") == "contradicted"
    assert status("All tests pass.", log="== 5 passed in 1.0s ==") == "supported"
    assert status("All tests pass.", log="== 5 skipped in 1.0s ==") == "contradicted"
    assert status("All tests pass.") == "not_derivable"


def test_whose_failure_it_is_takes_a_base_run_and_blocks_nothing() -> None:
    (found,) = outcomes("The CI failure is unrelated to this change, test is flaky.")
    assert (found.claim.status.value, found.family, found.material) == ("not_derivable", Family.ORIGIN, False)


def test_a_table_of_results() -> None:
    text = (
        "| metric | main | this PR |\n|---|---|---|\n| validation loss | 2.00 | 1.50 |\n| notes | a | b |\n"
    )
    assert status(text, losses(2.0, 1.5)) == "supported"
    found = outcomes(text, losses(2.0, 1.9))
    assert [(c.line, c.claim.status.value) for c in found] == [(3, "contradicted")]


@pytest.mark.parametrize(
    "text",
    [
        "This should make training 3x faster.",
        "We expect a loss below 1.0.",
        "> Training is 3x faster",
        "- [ ] throughput is 3x higher",
        "```\nthroughput 3x higher\n```",
        "<!-- describe: loss 3 % lower -->",
        "Is it 2x faster?",
        "No change of the public interface.",
        "Fixes #123, needs torch 2.13.0",
        "Adds a loss scaler and refactors the trainer.",
        "",
    ],
)
def test_what_is_no_claim(text: str) -> None:
    assert outcomes(text, speeds(1000, 1000)) == []


def test_a_ticked_box_is_one() -> None:
    assert status("- [x] throughput is 3.0x higher", speeds(1000, 3000)) == "supported"


def test_prose_supports_nothing_by_itself() -> None:
    text = "Throughput is 2.0x higher, see the log: throughput 2.0x"
    assert status(text, {}, log="throughput is 2.0x higher") == "not_derivable"


@pytest.mark.parametrize(
    ("text", "value", "unit", "half"),
    [
        ("4.0x", 4.0, "x", 0.05),
        ("72.5k tokens/s", 72500.0, "tokens/s", 50.0),
        ("1.024M tokens", 1_024_000.0, "tokens", 500.0),
        ("12 pp", 12.0, "pp", 0.5),
        ("1e-3", 1e-3, "", 5e-4),
        ("10B tokens", 1e10, "tokens", 5e8),
        ("-3 %", -3.0, "%", 0.5),
        ("1,234 steps", 1234.0, "steps", 0.5),
    ],
)
def test_quantities(text: str, value: float, unit: str, half: float) -> None:
    (made,) = quantities(text)
    assert (made.value, made.unit, made.half) == (pytest.approx(value), unit, pytest.approx(half))


@pytest.mark.parametrize("text", ["see #123", "torch 2.13.0", "v2", "a_3"])
def test_numbers_that_are_names(text: str) -> None:
    assert [q.value for q in quantities(text) if q.value in (123, 3, 2.13)] == []


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.sampled_from(list("0123456789.%x|-–+ \n<>`#[]()abctokens/loisprf")), max_size=400))
def test_any_text_is_checked(text: str) -> None:
    check(text, Telemetry())


@pytest.mark.parametrize(
    "text",
    [
        "1" * 200_000,
        "no " * 50_000,
        "| a " * 20_000,
        "<!--" * 20_000,
        "[" * 50_000,
        "- [x] " + "loss 1 " * 20_000,
        "(" * 30_000 + "\n" + "9.9x faster " * 9_000,
    ],
)
def test_long_texts_cost_little(text: str) -> None:
    sentences(text)
    check(text, Telemetry())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Final loss 0.075", "contradicted"),  # that of the best of three
        ("The best seed reaches a final loss of 0.050", "supported"),
        ("Final loss 0.060", "supported"),
        ("Final loss 0.050", "contradicted"),
    ],
)
def test_the_best_of_several_seeds_has_to_be_called_so(text: str, expected: str) -> None:
    assert status(text, seeds(50, 50, 50)) == expected


def test_a_step_that_the_text_names() -> None:
    files = {"run.jsonl": run(100, loss=lambda i: 2.0 - i / 100)}
    assert status("loss of 1.50 at step 50", files) == "supported"
    assert status("loss of 1.00 at step 50", files) == "contradicted"
    pair = {
        "main.jsonl": run(100, loss=lambda i: 2.0),
        "pr.jsonl": run(100, loss=lambda i: 1.0 if 45 < i < 55 else 2.0),
    }
    assert status("loss 1.0 instead of 2.0 at step 50", pair) == "supported"
    assert status("loss 1.0 instead of 2.0", pair) == "contradicted"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Peak memory goes from 40 GB to 30 GB", "supported"),
        ("Peak memory goes from 40 GB to 20 GB", "contradicted"),
        ("peak memory reduced by 25%", "supported"),
        ("peak memory reduced by 50%", "contradicted"),
        ("memory usage is 10 GB lower", "supported"),
        ("memory stays below 35 GB", "supported"),
        ("Uses 2x less memory", "contradicted"),
    ],
)
def test_memory(text: str, expected: str) -> None:
    files = {"main.jsonl": run(30, gpu_mem_gb=lambda i: 40.0), "pr.jsonl": run(30, gpu_mem_gb=lambda i: 30.0)}
    assert status(text, files) == expected


def test_more_than_is_stated_is_no_contradiction() -> None:
    assert status("Throughput is 20 % higher", speeds(1000, 1400)) == "supported"
    assert outcomes("up to 2x faster", speeds(1000, 1100)) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Training is stable: the gradient norm stays below 1.5 in every step.", "contradicted"),
        ("Training is stable, the gradient norm never exceeds 8.0.", "supported"),
        ("The loss stays below 2.5 and is stable.", "supported"),
        ("Training is stable at 1.5.", "not_derivable"),
        ("No loss spikes above 2.5.", "supported"),
        ("Training is stable, the loss never goes above 2.5.", "supported"),
        ("Training is stable, the loss never goes above 1.5.", "contradicted"),
        ("Training is stable, the gradient norm never falls below 0.5.", "supported"),
        ("Training is stable, the gradient norm never drops under 2.0.", "contradicted"),
    ],
)
def test_a_bound_is_held_against_every_value_of_its_metric(text: str, told: str) -> None:
    files = {
        "run.jsonl": run(200, loss=lambda i: 2.0 - i / 200, grad_norm=lambda i: 7.3 if i == 143 else 1.0)
    }
    assert status(text, files) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [("All 31 kernel tests pass.", "contradicted"), ("All 13 tests pass.", "supported")],
)
def test_a_skipped_test_has_not_passed(text: str, told: str) -> None:
    log = "=================== 13 passed, 31 skipped in 4.20s ==================="
    assert status(text, log=log) == told


def test_a_value_that_is_not_finite_breaks_every_bound() -> None:
    files = {"run.jsonl": run(200, loss=lambda i: 1.0, grad_norm=lambda i: float("nan") if i == 143 else 1.0)}
    assert status("Training is stable: the gradient norm stays below 1.5.", files) == "contradicted"


def variants(gaps: tuple[float, ...], *, listing: bool = False) -> dict[str, str]:
    """A long table of two variants: each seed's candidate is better by its gap."""
    rows = ["seed,variant,step,val_acc"]
    for seed, gap in enumerate(gaps):
        for step, value in ((500, 0.6), (1000, 0.8)) if not listing else ((1000, 0.8),):
            rows.append(f"{seed},main,{step},{value + 0.002 * seed:.4f}")
            rows.append(f"{seed},ema,{step},{value + 0.002 * seed + (gap if step == 1000 else 0):.4f}")
    return {"seeds.csv": "\n".join(rows) + "\n"}


@pytest.mark.parametrize("listing", [False, True])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Validation accuracy improves by 1.0 points on average (80.2 % to 81.2 %).", "supported"),
        ("Validation accuracy improves by 1.5 points on average (80.2 % to 81.2 %).", "contradicted"),
        ("Mean validation accuracy goes up by 1.0 points over 3 seeds.", "supported"),
        ("Mean validation accuracy goes up by 2.0 points over 3 seeds.", "more"),
        ("Validation accuracy improves on every one of the three seeds.", "contradicted"),
        ("Validation accuracy improves on 2 of 3 seeds.", "supported"),
        ("Validation accuracy improves on two of the three seeds.", "supported"),
        ("No seed gets worse.", "contradicted"),
        ("All three seeds reach at least 0.795 validation accuracy.", "supported"),
        ("All three seeds reach at least 0.81 validation accuracy.", "contradicted"),
        ("All four seeds reach at least 0.795 validation accuracy.", "not_derivable"),
    ],
)
def test_variants_that_were_repeated(text: str, told: str, listing: bool) -> None:
    expected = "contradicted" if told == "more" else told
    assert status(text, variants((0.021, -0.002, 0.011), listing=listing)) == expected


def test_every_seed_is_about_the_metric_named_last() -> None:
    text = "Validation accuracy improves by 1.1 points on average.\nEvery seed improves.\n"
    found = outcomes(text, variants((0.012, 0.010, 0.011)))
    assert [one.claim.status.value for one in found] == ["supported", "supported"]
    assert found[1].facts[1].value == 3


def test_variants_in_files_of_their_own() -> None:
    files = {f"{arm}_seed{seed}.jsonl": run(60, val_acc=lambda i, v=value, s=seed: v + 0.001 * s)  # type: ignore[misc]
             for arm, value in (("baseline", 0.70), ("rope2", 0.72)) for seed in range(3)}  # fmt: skip
    assert status("Mean validation accuracy improves by 2.0 points.", files) == "supported"
    assert status("Validation accuracy improves on all seeds.", files) == "supported"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Accuracy on the 10k held-out images is 0.93.", "supported"),
        ("ResNet-50 ends at 0.93 accuracy on 3 datasets.", "supported"),
        ("Top-1 accuracy of ResNet-50 is 0.95.", "contradicted"),
    ],
)
def test_numbers_that_are_not_the_value(text: str, told: str) -> None:
    assert status(text, {"run.jsonl": run(50, accuracy=lambda i: 0.93)}) == told


def test_a_change_that_is_stated_has_to_be_right_too() -> None:
    files = {"main.jsonl": run(50, val_loss=lambda i: 2.40), "pr.jsonl": run(50, val_loss=lambda i: 2.38)}
    assert status("Validation loss is 0.02 lower than main.", files) == "supported"
    assert status("Validation loss is 0.2 lower than main.", files) == "contradicted"
    assert status("Validation loss drops to 2.38.", files) == "supported"
    assert status("Validation loss drops to 2.10.", files) == "contradicted"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The gradient norm never exceeds 1.5.", "contradicted"),
        ("The gradient norm is below 1.5 in every step.", "contradicted"),
        ("The gradient norm stays below 1.5 after step 150.", "supported"),
        ("After step 150 the gradient norm stays below 1.5.", "supported"),
        ("The KL never exceeds 0.2.", "supported"),
        ("The KL stays between 0.1 and 0.2.", "supported"),
        ("The KL stays between 0.12 and 0.2.", "contradicted"),
        ("The loss stays below 2.2 after step 20.", "supported"),
        ("The loss stays below 2.2.", "not_derivable"),
        ("The loss never exceeds 2.2.", "contradicted"),
        ("No NaN in 200 steps.", "supported"),
        ("No NaN in 5000 steps.", "not_derivable"),
        ("No NaN over 3 seeds.", "not_derivable"),
    ],
)
def test_limits_of_a_course(text: str, told: str) -> None:
    columns: dict[str, Callable[[int], float]] = {
        "loss": lambda i: 2.0 + 1 / i,
        "grad_norm": lambda i: 7.3 if i == 143 else 1.0,
        "kl": lambda i: 0.1 + 0.001 * (i % 50),
    }
    assert status(text, {"run.jsonl": run(200, **columns)}) == told


def test_a_log_that_leaves_steps_out_breaks_a_limit_and_keeps_none() -> None:
    log = "\n".join(f"step {20 * i} loss 2.1 grad_norm {1.9 if i == 9 else 1.0}" for i in range(1, 30))
    assert status("The gradient norm never exceeds 1.5.", log=log) == "contradicted"
    assert status("The gradient norm never exceeds 2.5.", log=log) == "not_derivable"


CASES = '<testsuite name="s" tests="3" skipped="2"><testcase classname="tests.test_ops" name="test_reference"/><testcase classname="tests.test_cuda" name="test_gather"><skipped message="CUDA is not available"/></testcase><testcase classname="tests.test_cuda" name="test_scatter"><skipped message="CUDA is not available"/></testcase></testsuite>'


def test_a_kind_of_tests_that_was_skipped_has_not_passed() -> None:
    assert status("All CUDA tests pass.", {"r.xml": CASES}) == "contradicted"
    assert status("All reference tests pass.", {"r.xml": CASES}) == "supported"
    assert status("All tests pass.", {"r.xml": CASES}) == "not_derivable"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Throughput improves to 2000 tokens/s.", "supported"),
        ("Throughput improves to 3000 tokens/s.", "contradicted"),
        ("Throughput improves to 3000 samples/s.", "not_derivable"),
        ("Throughput is 2.0x higher at 2000 tokens/s.", "supported"),
        ("2000 tokens/s instead of 1000 tokens/s, 2.0x faster", "supported"),
        ("2000 tokens/s instead of 1000 tokens/s, 3.0x faster", "contradicted"),
        ("5000 tokens/s instead of 2500 tokens/s", "not_derivable"),
        ("A step takes 0.5 s now, the step time halves.", "supported"),
        ("The step time drops to 250 ms.", "contradicted"),
    ],
)
def test_every_number_about_speed_counts(text: str, told: str) -> None:
    assert status(text, speeds(1000, 2000)) == told


@pytest.mark.parametrize("column", ["step_ms", "iter_ms", "step_time_ms", "ms_per_step"])
def test_step_times_by_other_names(column: str) -> None:
    files = {
        name: run(60, **{column: lambda i, v=value: v + i % 3})
        for name, value in (("main.jsonl", 400), ("pr.jsonl", 404))
    }  # type: ignore[misc]
    assert status("Step time is within 2 % of main.", files) == "supported"
    assert status("Step time is 10 % lower than main.", files) == "contradicted"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Peak memory drops by 25 % to 30 GB.", "supported"),
        ("Peak memory drops by 50 % to 30 GB.", "contradicted"),
        ("Peak memory drops to 20 GB.", "contradicted"),
        ("Peak memory drops by 10 GB.", "supported"),
    ],
)
def test_memory_by_and_to(text: str, told: str) -> None:
    files = {"main.jsonl": run(30, gpu_mem_gb=lambda i: 40.0), "pr.jsonl": run(30, gpu_mem_gb=lambda i: 30.0)}
    assert status(text, files) == told


def test_two_runs_that_only_the_text_tells_apart() -> None:
    files = {"adamw.jsonl": run(50, val_loss=lambda i: 2.40), "lion.jsonl": run(50, val_loss=lambda i: 2.30)}
    assert status("Lion reaches a validation loss 0.1 lower than AdamW.", files) == "supported"
    assert status("AdamW reaches a validation loss 0.1 lower than Lion.", files) == "contradicted"
    assert status("The validation loss is 0.1 lower.", files) == "not_derivable"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The run finished 3 epochs.", "supported"),
        ("The run finished 5 epochs.", "contradicted"),
        ("Trained on 1.9B tokens.", "contradicted"),
        ("Trained on 0.97B tokens.", "supported"),
    ],
)
def test_epochs_and_tokens_as_the_trainer_counts_them(text: str, told: str) -> None:
    rows = [
        {"step": i, "epoch": i / 20, "loss": 2.0, "num_input_tokens_seen": 969_932_800 * i // 60}
        for i in range(1, 61)
    ]
    state = {"global_step": 60, "max_steps": 60, "num_train_epochs": 3, "epoch": 3.0, "log_history": rows}
    assert status(text, {"trainer_state.json": json.dumps(state)}) == told


def test_identical_curves_are_compared_at_every_step() -> None:
    bumpy = {
        "main.jsonl": run(60, loss=lambda i: 2.0),
        "pr.jsonl": run(60, loss=lambda i: 2.5 if i == 30 else 2.0),
    }
    assert status("The loss curve is identical to main.", bumpy) == "contradicted"
    same = {
        "main.jsonl": run(60, loss=lambda i: 2.0),
        "pr.jsonl": run(60, loss=lambda i: 2.0 + 1e-4 * (i % 2)),
    }
    assert status("The loss curve is identical to main over 60 steps.", same) == "supported"
    assert status("The loss curve is identical to main over 600 steps.", same) == "not_derivable"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Zero recompilations after the 20 warm-up steps.", "contradicted"),
        ("No graph breaks.", "not_derivable"),
        ("No record was skipped as unreadable.", "contradicted"),
        ("No request was retried.", "not_derivable"),
    ],
)
def test_what_did_not_happen_is_looked_for_in_the_log(text: str, told: str) -> None:
    log = "\n".join(
        [
            "Recompiling function warm in model.py",
            "warm-up 20 steps done",
            "[__recompiles] Recompiling function forward in model.py:12",
            "shard 09: read 20000 kept 18440 unreadable 262 (skipped)",
            "shard 10: read 20000 kept 18702 unreadable 0 (skipped)",
            "requests done, 0 retried",
            "======= 4 passed, 2 skipped in 0.31s =======",
        ]
    )
    (found,) = outcomes(text, log=log)
    assert found.claim.status.value == told
    if told == "contradicted":
        assert found.facts[0].value == 1


def test_results_of_several_tasks_are_told_apart_by_the_sentence() -> None:
    def of(hellaswag: float, winogrande: float) -> str:
        return json.dumps(
            {"results": {"hellaswag": {"acc,none": hellaswag}, "winogrande": {"acc,none": winogrande}}}
        )

    files = {"bf16/results.json": of(0.6142, 0.6685), "int4/results.json": of(0.5718, 0.6559)}
    assert status("HellaSwag accuracy stays within 1 point of bf16", files) == "contradicted"
    assert status("Winogrande accuracy stays within 2 points of bf16", files) == "supported"
