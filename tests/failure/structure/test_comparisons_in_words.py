"""Failed checks as people print them."""

import pytest

from audit.failure.structure.comparison import Subject, comparison, too_tight
from audit.failure.structure.differences import differences


@pytest.mark.parametrize(
    ("text", "subject", "actual", "limit"),
    [
        ("log budget exceeded: 900 > 200", Subject.POLICY, 900, 200),
        ("gate: solved seeds 0.30 < required 0.90 (main: 1.00)", Subject.QUALITY, 0.3, 0.9),
        ("validation accuracy 0.9030 is below the floor 0.935", Subject.QUALITY, 0.903, 0.935),
        (
            "iteration-time regressed: golden 0.0070s, actual 0.0075s, +0.0710 > 0.05",
            Subject.PERFORMANCE,
            0.071,
            0.05,
        ),
        ("peak memory 12.3 GiB exceeds budget 11.5 GiB", Subject.MEMORY, 12.3, 11.5),
        ("p99 latency 231ms > 200ms", Subject.PERFORMANCE, 231, 200),
        ("GSM8K metric too low: 0.64 < 0.65", Subject.QUALITY, 0.64, 0.65),
    ],
)
def test_numbers_on_both_sides(text: str, subject: Subject, actual: float, limit: float) -> None:
    found = comparison(text)
    assert found is not None
    assert (found.subject, found.actual, found.limit, found.strength) == (subject, actual, limit, 3)


@pytest.mark.parametrize(
    "text",
    [
        "[PASS] val_loss: val loss 1.0358 <= 1.0460",
        "loss check: lm loss 0.3929 < 1.5, val loss 0.4037 < 1.5: OK",
        "step 5/60 loss 0.63442",
        "Downloading model-00001.safetensors",
        "epoch 3 accuracy 0.91",
    ],
)
def test_what_states_no_failed_check(text: str) -> None:
    assert comparison(text) is None


def test_the_context_says_what_a_bare_comparison_is_of() -> None:
    assert comparison("assert 0.412 <= 0.3", "tests/test_perf.py::test_speed") is not None
    found = comparison("assert 0.412 <= 0.3", "tests/test_x.py::test_step_time")
    assert found is not None
    assert found.subject is Subject.PERFORMANCE


def test_a_tolerance_finer_than_the_arithmetic() -> None:
    found = comparison("val_loss epoch 11: golden 0.0751, actual 0.0751, relative error 3.222e-07 > 1e-07")
    assert found is not None
    assert too_tight(found)
    wide = comparison("relative error 0.31 > 0.05")
    assert wide is not None
    assert not too_tight(wide)


def test_not_finite() -> None:
    found = comparison("health gate: loss is not finite from step 142")
    assert found is not None
    assert found.subject is Subject.FINITE


def test_differences_of_rounding_and_at_the_edge() -> None:
    rounding = differences(["Greatest relative difference: 1.9e-07 at index (0, 3) (up to 1e-07 allowed)"])
    assert rounding.of_rounding
    wrong = differences(
        [
            "Mismatched elements: 1417 / 4000 (35.4%)",
            "Greatest relative difference: 0.9 at index (1,) (up to 1.3e-06 allowed)",
        ]
    )
    assert not wrong.of_rounding
    assert not wrong.at_the_edge
    edge = differences(
        [
            "Mismatched elements: 1 / 40000 (0.0%)",
            "Greatest absolute difference: 0.0021 at index (0, 3) (up to 0.001 allowed)",
        ]
    )
    assert edge.at_the_edge


@pytest.mark.parametrize(
    "line",
    [
        "1" * 1_000_000,
        "a " * 500_000,
        "1 > " * 250_000,
        "below " * 200_000,
        "-" * 1_000_000,
        "loss 1,1,1," * 90_000,
    ],
)
def test_long_lines_come_to_an_end(line: str) -> None:
    found = comparison(line)
    assert found is None or found.strength <= 3
