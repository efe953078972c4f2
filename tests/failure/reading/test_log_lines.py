from pathlib import Path

import pytest

from audit.failure.model import Kind, Line, Reading
from audit.failure.reading.read import read

GITHUB = """\
##[group]Run pytest -q
pytest -q --lf
echo "CUDA out of memory"
shell: /usr/bin/bash -e {0}
##[endgroup]
============================= test session starts ==============================
collected 3 items
tests/test_oom.py::test_nan[error] PASSED                                [ 33%]
tests/test_a.py::test_b FAILED                                           [ 66%]
=================================== FAILURES ===================================
____________________________________ test_b ____________________________________
    def test_b():
>       raise ValueError("out of memory")
E       ValueError: out of memory
tests/test_a.py:3: ValueError
----------------------------- Captured stdout call -----------------------------
    step 1 loss: nan
=============================== warnings summary ===============================
tests/test_a.py::test_b
  DeprecationWarning: old
=========================== short test summary info ============================
FAILED tests/test_a.py::test_b - ValueError: out of memory
========================= 1 failed, 1 passed in 0.12s ==========================
##[error]Process completed with exit code 1.
Post job cleanup.
Complete job name: tests (3.11)
"""


def reading_of(tmp_path: Path, text: str, name: str = "log.txt") -> Reading:
    (tmp_path / name).write_text(text)
    return read([tmp_path / name])


def line_with(reading: Reading, text: str) -> Line:
    return next(line for line in reading.lines if text in line.text)


@pytest.fixture
def github(tmp_path: Path) -> Reading:
    stamped = "".join(
        f"2026-03-01T10:00:{place:02}.0000000Z {line}\n" for place, line in enumerate(GITHUB.splitlines())
    )
    return reading_of(tmp_path, stamped)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("##[group]Run pytest", {Kind.STEP, Kind.COMMAND, Kind.ECHO}),
        ('echo "CUDA', {Kind.ECHO}),
        ("##[endgroup]", {Kind.STEP, Kind.ECHO}),
        ("test_nan[error] PASSED", {Kind.TEST, Kind.PASSED, Kind.TEST_ID}),
        ("test_b FAILED  ", {Kind.TEST, Kind.FAILED}),
        ("_ test_b _", {Kind.TEST}),
        ("    def test_b", {Kind.SOURCE}),
        (">       raise", {Kind.TEST, Kind.SOURCE}),
        ("E       ValueError", {Kind.TEST, Kind.EXCEPTION}),
        ("py:3: ValueError", {Kind.TEST}),
        ("    step 1 loss", {Kind.METRIC}),
        ("FAILED tests/test_a.py::test_b -", {Kind.TEST, Kind.FAILED}),
        ("1 failed, 1 passed", {Kind.TEST, Kind.SUMMARY}),
        ("##[error]", {Kind.ERROR, Kind.EXIT}),
        ("Post job", {Kind.STEP}),
    ],
)
def test_kinds_of_lines_of_a_github_job(github: Reading, text: str, kinds: set[Kind]) -> None:
    assert line_with(github, text).kinds == kinds


def test_words_in_scripts_program_text_and_names_are_discounted(github: Reading) -> None:
    told = {(hit.line.number, hit.signature.id): hit.discounted for hit in github.hits}
    assert told[14, "pytest_error_line"] is False
    assert told[17, "loss_not_finite"] is False
    assert all(discounted for (number, _), discounted in told.items() if number in (3, 8, 13))


def test_steps_and_jobs_are_told(github: Reading) -> None:
    assert {(line.stream.job, line.stream.step) for line in github.lines} == {
        ("tests (3.11)", "Run pytest -q"),
        ("tests (3.11)", "Post job cleanup"),
    }
    assert github.lines[-2].stream.step == "Post job cleanup"
    assert github.lines[0].time == 1772359200.0


def test_a_traceback_of_one_rank_is_not_mixed_with_anothers_lines(tmp_path: Path) -> None:
    reading = reading_of(
        tmp_path,
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/w/a.py", line 3, in f\n[rank1]:     ordinary indented line\n'
        '[rank0]:     raise ValueError("x")\n[rank0]:     ^^^^^^^^^^^^^^^^^\n[rank0]: ValueError: x\n',
    )
    assert [
        (line.stream.rank, Kind.SOURCE in line.kinds, Kind.TRACEBACK in line.kinds) for line in reading.lines
    ] == [
        (0, False, True),
        (0, False, True),
        (1, False, False),
        (0, True, False),
        (0, True, False),
        (0, False, False),
    ]
    assert [(hit.line.number, hit.signature.id) for hit in reading.hits if not hit.discounted] == [
        (6, "uncaught_exception")
    ]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (
            "\x1b[0Ksection_start:1:build_script\r\x1b[0K\x1b[0KRunning\n$ make\nx\nsection_end:2:build_script\r\x1b[0K\ny\n",
            ["build_script", "build_script", "build_script", None, None],
        ),
        ("##[section]Starting: Tests\nx\n##[section]Finishing: Tests\n", ["Tests", "Tests", None]),
        ("[Pipeline] { (Train)\n+ make\n[Pipeline] }\n", ["Train", "Train", None]),
        ("~~~ Preparing\n+++ :python: Tests\nx\n", ["Preparing", ":python: Tests", ":python: Tests"]),
        ("nox > Running session tests-3.11\nx\n", ["tests-3.11", "tests-3.11"]),
        ("##[group]Run a\n##[endgroup]\nx\n##[group]Run b\n", ["Run a", "Run a", "Run a", "Run b"]),
    ],
)
def test_steps_of_other_systems(tmp_path: Path, text: str, steps: list[str | None]) -> None:
    assert [line.stream.step for line in reading_of(tmp_path, text).lines] == steps


def test_ranks_of_srun_labels(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "0: a\n1: b\n 3: ValueError: x\nslurmstepd: error: y\n")
    assert [(line.stream.rank, line.text) for line in reading.lines][:3] == [
        (0, "a"),
        (1, "b"),
        (3, "ValueError: x"),
    ]


def test_a_difference_is_no_command(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "+ python train.py\n- expected\n+ actual value\n")
    assert [Kind.ECHO in line.kinds for line in reading.lines] == [True, False, False]


def test_captures_have_units(tmp_path: Path) -> None:
    reading = reading_of(
        tmp_path,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0\nMismatched elements: 3 / 1,000 (0.3%)\n"
        "Mismatched elements: 3 / 1000 (0.3%)\nGreatest absolute difference: nan at index (0,)\n",
    )
    told = {
        (hit.line.number, capture.name): (capture.value, capture.unit)
        for hit in reading.hits
        for capture in hit.captures
    }
    assert told[1, "requested"] == (0.5, "GiB")
    assert told[3, "mismatched"] == (3.0, "count")
    assert told[3, "mismatched_fraction"] == (pytest.approx(0.003), "fraction")
    assert told[4, "difference"] == (None, "number")


def test_a_large_log_keeps_its_ends_and_what_matters_between(tmp_path: Path) -> None:
    filler = "".join(
        f"line {number} of nothing in particular, long enough to fill the log up\n"
        for number in range(1, 120_001)
    )
    lines = filler.splitlines()
    lines[59_999] = "ValueError: in the middle"
    reading = reading_of(tmp_path, "\n".join(lines) + "\n")
    (source,) = reading.sources
    assert (source.lines, source.whole, source.ends_in_line) == (120_000, True, False)
    assert len(reading.lines) < 60_000
    assert reading.line("log.txt", 1) is not None
    assert reading.line("log.txt", 120_000) is not None
    middle = reading.line("log.txt", 60_000)
    assert middle is not None
    assert middle.text == "ValueError: in the middle"
    assert reading.line("log.txt", 59_980) is not None
    assert reading.line("log.txt", 60_040) is not None
    assert reading.line("log.txt", 40_000) is None
    numbers = [line.number for line in reading.lines]
    assert numbers == sorted(set(numbers))
    assert [hit.line.number for hit in reading.hits] == [60_000]


def test_parts_read_by_threads_are_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"line {number}" for number in range(1, 20_001)]
    lines[14_999] = "ValueError: x"
    monkeypatch.setattr("audit.failure.reading.read._WORTH_THREADS", 40_000)
    reading = reading_of(tmp_path, "\ufeff" + "\n".join(lines))
    assert reading.sources[0].lines == 20_000
    assert [hit.line.number for hit in reading.hits] == [15_000]
    assert all(line.text == lines[line.number - 1] for line in reading.lines)


def test_a_line_of_megabytes_is_one_line(tmp_path: Path) -> None:
    reading = reading_of(tmp_path, "a\n" + "x" * 3_000_000 + "END\nb\n")
    assert [(line.number, len(line.raw) < 40_000) for line in reading.lines] == [
        (1, True),
        (2, True),
        (3, True),
    ]
    assert reading.lines[1].raw.endswith("END")
    assert [gap.why for gap in reading.gaps] == ["lines of more than 16 KiB are kept in part"]
    assert reading.sources[0].whole
