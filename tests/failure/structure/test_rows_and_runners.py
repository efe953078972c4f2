"""Rows of checks and reports of other test runners: what they hold, and that no text makes them raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.failure.model import Line
from audit.failure.structure.comparison import comparison
from audit.failure.structure.other_runners import failed_tests
from audit.failure.structure.subjects import Subject, higher_is_better, subject_of
from audit.failure.structure.verdict_rows import name_of_check, row


@pytest.mark.parametrize(
    ("text", "actual", "limit"),
    [
        ("p99_latency_ms  41.2  <= 35.0  FAIL", 41.2, 35.0),
        ("| accuracy | 0.71 | 0.90 | FAIL |", 0.71, 0.9),
        ("peak_mem_gb     71.2   70.0    +1.7%   EXCEEDED", 71.2, 70.0),
        ("gsm8k exact_match 0.4100, required 0.6100", 0.41, 0.61),
        ("3 of 10 seeds solved, at least 8 required", 3.0, 8.0),
        ("the wheel is larger (431.17 MB) than the limit (400 MB)", 431.17, 400.0),
        ("RESULT: FAILED (minimum: 85.0%, actual: 78.9%)", 78.9, 85.0),
        ("score: 0.41 (baseline 0.45, tolerance 0.02)", 0.41, 0.45),
    ],
)
def test_both_sides_of_a_row(text: str, actual: float, limit: float) -> None:
    found = row(text)
    assert found is not None
    assert (found.actual, found.limit) == (actual, limit)


@pytest.mark.parametrize(
    "text",
    [
        "accuracy 0.95 (required 0.90)",
        "val_loss 0.45 (min 0.43)",
        "memory 12 GB (max 80 GB)",
        "score: 0.44 (baseline 0.45, tolerance 0.02)",
        "val_acc          0.912   0.900   PASS",
    ],
)
def test_a_limit_that_holds_is_no_failed_check(text: str) -> None:
    assert row(text) is None


def test_the_deviation_over_seeds_compares_nothing() -> None:
    found = comparison("reward 12.0 over 5 seeds 14.8")
    assert found is None or found.limit != 5.0


@pytest.mark.parametrize(
    ("context", "subject"),
    [
        ("tests/test_parity.py::test_parity_time", Subject.PERFORMANCE),
        ("tests/test_parity.py::test_parity_hidden_states", Subject.NUMERICS),
        ("tests/test_emb.py::test_time_embedding", Subject.UNKNOWN),
    ],
)
def test_what_a_name_says_is_compared(context: str, subject: Subject) -> None:
    assert subject_of("diff 0.3", context) is subject


def test_which_way_is_better() -> None:
    assert higher_is_better("accuracy") is True
    assert higher_is_better("decode_latency") is False
    assert higher_is_better("gate 3") is None


TEXTS = st.text(
    alphabet=st.sampled_from("0123456789.,|-+<>=()%:; \tFAILPSrequiredmaxtest'\"[]●✗›/#eE"), max_size=300
)


@given(TEXTS)
def test_no_text_makes_a_row_raise(text: str) -> None:
    row(text)
    comparison(text)
    assert len(name_of_check(text)) <= 80


@given(st.lists(st.sampled_from(
    ["test a ... FAILED", "---- a stdout ----", "thread 'a' panicked at x.rs:1:2:", "[ RUN      ] S.a", "[  FAILED  ] S.a (1 ms)",
     "x.cc:3: Failure", "--- FAIL: TestA (0.0s)", "    a_test.go:3: no", "  ● a › b", "not ok 1 - a", "//a:b   FAILED in 3.1s", ""]
), max_size=40))  # fmt: skip
def test_no_order_of_lines_makes_the_runners_raise(texts: list[str]) -> None:
    lines = tuple(Line("log", number, text, text) for number, text in enumerate(texts, 1))
    names = [test.name for test in failed_tests(lines)]
    assert len(names) == len(set(names))
