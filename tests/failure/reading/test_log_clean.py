import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.failure.reading.clean import clean, matchable, pieces, without_escapes, year_of


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("2026-03-01T10:00:00.1234567Z ValueError: x", "ValueError: x"),
        ('2026-03-01T10:00:00.1234567Z   File "a.py", line 3', '  File "a.py", line 3'),
        ("2026-03-01T10:00:00.123456Z 00O $ pytest", "$ pytest"),
        ("2026-03-01T10:00:00.123456Z 01E+boom", "boom"),
        ("[2026-03-01T10:00:00.515Z] make: *** [all] Error 2", "make: *** [all] Error 2"),
        ("10:00:00  + make", " + make"),
        ("\x1b_bk;t=1700000000123\x07--- :python: Tests", "--- :python: Tests"),
        ("\x1b[36;1mpytest -q\x1b[0m", "pytest -q"),
        ("2026-03-01T10:00:00.123456789Z stderr F OOM", "OOM"),
        ("[rank3]: Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("[default3]:[rank3]: RuntimeError: x", "RuntimeError: x"),
        ("[1,2]<stderr>:ValueError: x", "ValueError: x"),
        ("(RayWorker pid=12, ip=10.0.0.1) ValueError: x", "ValueError: x"),
        ("(VllmWorker rank=1 pid=9) ERROR x", "ERROR x"),
        ("trainer-0  | step 1", "step 1"),
        ("worker-1: step 1", "step 1"),
        ("[pod/train-0/main] step 1", "step 1"),
        ("[CI/tests]   | step 1", "step 1"),
        ("[ 3824.515283] Out of memory: Killed process 1", "Out of memory: Killed process 1"),
        ("Mar  1 10:00:00 node1 kernel: NVRM: Xid", "NVRM: Xid"),
        ("tests\tRun tests\t2026-03-01T10:00:00.0000000Z E   x", "E   x"),
        (
            "  0%| | 0/9\r 50%|# | 4/9\rTraceback (most recent call last):",
            "Traceback (most recent call last):",
        ),
        ("step 1/9\r\r", "step 1/9"),
        ("\ufeff2026-03-01T10:00:00.0000000Z first", "first"),
        ("epoch 3: 100%", "epoch 3: 100%"),
        ("name | value", "name | value"),
        ("[gw1] [ 50%] FAILED tests/a.py::test", "[gw1] [ 50%] FAILED tests/a.py::test"),
    ],
)
def test_prefixes_come_off(raw: str, text: str) -> None:
    assert clean(raw).text == text


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        ("2026-03-01T10:00:00.5Z x", 1772359200.5),
        ("2026-03-01T12:00:00+02:00 x", 1772359200.0),
        ("2026-03-01 10:00:00,250 x", 1772359200.25),
        ("[2026-03-01 10:00:00] x", 1772359200.0),
        ("\x1b_bk;t=1772359200500\x07x", 1772359200.5),
        ("[E0301 10:00:00.500000 ProcessGroupNCCL.cpp:616] x", 1772359200.5),
        ("2026-13-01T10:00:00Z x", None),
        ("10:00:00 x", None),
        ("x", None),
    ],
)
def test_times_are_told(raw: str, seconds: float | None) -> None:
    assert clean(raw, year=2026).time == pytest.approx(seconds)


def test_a_time_without_a_year_is_none_where_no_year_is_known() -> None:
    assert clean("[E0301 10:00:00.500000 x.cpp:1] y").time is None
    assert year_of("a\n2026-03-01T10:00:00Z b") == 2026


def test_ranks_and_workers_are_told() -> None:
    assert clean("[default3]:[rank7]: x").rank == 3
    assert clean("[rank7]: x").rank == 7
    assert clean("[1,2]<stderr>:x").rank == 2
    assert clean("(VllmWorker rank=1 pid=9) x").rank == 1
    assert clean("(RayWorker pid=12, ip=10.0.0.1) x").worker == "RayWorker pid=12"
    assert clean("[gw2] node down: Not properly terminated").worker == "gw2"
    assert clean("3: x").rank is None
    assert (clean("3: x", numbered=True).rank, clean("3: x", numbered=True).text) == (3, "x")
    told = clean("tests (3.11)\tRun tests\t2026-03-01T10:00:00.0000000Z E   x")
    assert (told.job, told.step) == ("tests (3.11)", "Run tests")
    assert clean("[ 3824.515283] Killed").kernel


def test_every_piece_of_a_line_with_carriage_returns_can_be_matched() -> None:
    raw = "2026-03-01T10:00:00Z  5%|#\r[rank1]: ValueError: x\r 10%|##"
    assert matchable(raw) == " 5%|#\nValueError: x\n 10%|##"
    assert pieces("a\rb\r") == ["a", "b"]


def test_escapes_are_taken_out_of_bytes_and_line_ends_stay() -> None:
    raw = b"\x1b[1;31mFAILED\x1b[0m x\n\x1b]0;title\x07y\x1b(B\n\x1b[K"
    assert without_escapes(raw) == b"FAILED x\ny\n"


@given(st.text(max_size=300))
def test_no_line_raises_or_grows(raw: str) -> None:
    assert len(clean(raw, numbered=True, year=2026).text) <= len(raw)
    assert len(matchable(raw)) <= len(raw)


@pytest.mark.parametrize(
    "bad",
    [
        "[rank1]: ",
        "2026-03-01T10:00:00Z ",
        "[" * 50,
        "\x1b[",
        "\x1b]",
        "a-1 ",
        "(",
        " ",
        "1,",
        "\t",
        "[1,2]<std",
    ],
)
def test_a_megabyte_of_half_a_prefix_takes_no_time(bad: str) -> None:
    raw = bad * (1_000_000 // len(bad))
    assert clean(raw).text is not None
    assert matchable(raw) is not None
