"""Logs made to break their reader: numbers beyond all bounds, and structures by the hundred, whose cost must grow with their number only."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from audit.documents.verdict import Verdict
from audit.engine.failure import FailureEffects, FailureOptions, analyse
from audit.report.verdict import FORMATS, renderer

EXIT = "##[error]Process completed with exit code 1.\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    step()\n'


def verdict(folder: Path, text: str | bytes, **options: Any) -> Verdict:
    """The verdict on a log, after every format has shown it."""
    log = folder / "job.log"
    log.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    analysed = analyse(FailureOptions((str(log),), **options), FailureEffects(os.environ))
    for name in FORMATS:
        shown = renderer(name)(analysed.verdict, analysed.plots)
        assert "\x1b" not in shown
        assert "\x00" not in shown
    return analysed.verdict


NUMBERS = (
    "9" * 5000, "1e999", "-1e999", "1e308", "nan", "inf", "1.2.3", ".", "..", "0", "0.0", "9" * 20, "\u0663", "\u00b2", "1\u00b2", "1,2,3", "1_000", "",
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {} GiB. GPU 0 has a total capacity of {} GiB of which {} MiB is free. "
        "Including non-PyTorch memory, this process has {} GiB memory in use.",
        "requests.exceptions.HTTPError: {} Server Error: Bad Gateway for url: https://example.invalid/",
        "OSError: [Errno {}] No space left on device",
        "AssertionError: Tensor-likes are not close!\nMismatched elements: {} / {} ({}%)\nGreatest absolute difference: {} at index ({},) (up to {} allowed)",
        "AssertionError: {} != {} within {} places ({} difference)",
        "AssertionError: accuracy {} is below the required {}",
        "iteration {}/{} | lm loss: {} | grad norm: {} | number of nan iterations: {} |\ncheckpoint saved at step {}\nconsumed samples: {}",
        "[rank{}]:[E] [Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType=ALLREDUCE, NumelIn={}, NumelOut={}, "
        "Timeout(ms)={}) ran for {} milliseconds before timing out.",
        "srun: error: node1: tasks {}-{}: Exited with exit code {}",
        "NVRM: Xid (PCI:0000:3b:00): {}, pid={}",
        "==== {} failed, {} passed in {}s ====",
        "TOTAL {} {} {}%\nFAIL Required test coverage of {}% not reached. Total coverage: {}%",
        "Out of memory: Killed process {} (python) total-vm:{}kB, anon-rss:{}kB, file-rss:{}kB, shmem-rss:{}kB",
        "/dev/sda1 {}G {}G {} {}% /dev/shm",
        "##[error]The job running on runner x has exceeded the maximum execution time of {} minutes.",
        "exit code {}\nexitcode  : {} (pid: {})",
    ],
)
def test_numbers_beyond_all_bounds_yield_a_verdict(tmp_path: Path, line: str, number: str) -> None:
    text = line.replace("{}", number)
    found = verdict(tmp_path, f"batch size 64\nsequence length {number}\n{TRACEBACK}{text}\n{EXIT}")
    assert found.category


def repeated(unit: str) -> Callable[[int], str]:
    return lambda count: "".join(unit.replace("%d", str(index)) for index in range(count)) + EXIT


def failures(count: int) -> str:
    """A pytest run with that many failed tests."""
    blocks = "".join(
        f"_________ test_{n} _________\n\n    def test_{n}():\n>       assert f({n}) == 0\nE       assert {n} == 0\n\ntests/test_a.py:{n + 1}: AssertionError\n"
        for n in range(count)
    )
    summary = "".join(f"FAILED tests/test_a.py::test_{n} - assert {n} == 0\n" for n in range(count))
    return (
        "==== test session starts ====\n==== FAILURES ====\n"
        f"{blocks}==== short test summary info ====\n{summary}==== {count} failed in 3.00s ====\n{EXIT}"
    )


STRUCTURES: dict[str, Callable[[int], str]] = {
    "failed tests": failures,
    "test sessions": repeated("==== test session starts ====\n==== 1 failed, %d passed in 1.00s ====\n"),
    "unittest reports": repeated(
        "======\nFAIL: test_%d (a.T)\n------\nTraceback (most recent call last):\n  File \"a.py\", line 3, in test\nAssertionError: %d != 0\n\n"
    ),
    "chained exceptions": repeated(
        f"{TRACEBACK}ValueError: %d\n\nDuring handling of the above exception, another exception occurred:\n\n"
    ),
    "ranks": repeated("[rank%d]: RuntimeError: NCCL communicator was aborted %d\n"),
    "actors": repeated("(Worker%d pid=%d) RuntimeError: NCCL communicator was aborted\n"),
    "steps": repeated(f"##[group]Run step %d\n##[endgroup]\nRuntimeError: %d\n{EXIT}"),
    "watchdogs": repeated(
        "[rank%d]:[E] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
        "Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n"
    ),
    "launcher rows": repeated("[%d]:\n  time : x\n  rank : %d (local_rank: %d)\n  exitcode : 1 (pid: %d)\n"),
    "training lines": repeated("iteration %d/ 99999 | lm loss: %d.0E+00 | grad norm: nan |\n"),
    "errors of HTTP": repeated("HTTP Error %d\nrequests.exceptions.HTTPError: 503 Server Error for url: http://x/%d\n"),
}  # fmt: skip


def work(call: Callable[[], object]) -> int:
    """How many lines of the package run, loops in one line counted by their turns. A measure of time that is the same on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if "/audit/" not in frame.f_code.co_filename:
            return None
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.fixture(scope="module", autouse=True)
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The catalogue is made ready before work is counted."""
    verdict(tmp_path_factory.mktemp("first"), TRACEBACK + EXIT)
    yield


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_a_log_repeats_is_read_in_time_that_grows_with_it(tmp_path: Path, name: str) -> None:
    def of(count: int) -> int:
        log = tmp_path / f"{count}.log"
        log.write_text(STRUCTURES[name](count))
        return work(lambda: analyse(FailureOptions((str(log),)), FailureEffects(os.environ)))

    small, middle, large = of(60), of(120), of(240)
    # Twice as much more for twice as many more; it would be four times as much if each were held against each other.
    assert large - middle < 2.4 * (middle - small)


@pytest.mark.parametrize("step", ["1e308", "nan", "inf", "-1e19", "9" * 400])
def test_steps_of_a_table_of_runs_beyond_all_bounds(tmp_path: Path, step: str) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(f"arm,seed,step,loss\nbase,1,{step},2.0\nbase,2,5,2.1\nnew,1,{step},1.0\nnew,2,5,1.1\n")
    assert verdict(tmp_path, TRACEBACK + "RuntimeError: x\n" + EXIT, metrics=(table,)).cause is not None


BOMBS = {
    "unittest's counts": "Ran 3 tests in 1s\nOK (" + " =0   " * 600,
    "a gate's numbers": "Gate failed " + "0" * 4000,
    "CUDA's calls": "cudaIpc" * 600,
    "MLPerf's checker": "MLLOG REQ KEY " * 300,
    "rules": "=" * 16_000 + "x",
    "captured output": "------ Captured" + "-" * 16_000 + "x",
    "test ids": "::" * 8_000,
    "digits": "assert " + "9" * 16_000,
    "progress bars": "1/" * 8_000,
    "blanks": "PASSED a" + " " * 16_000 + "x",
    "escapes": "\x1b]" * 8_000,
    "words": "Aa" * 8_000 + " loss 1.0",
}
"""Each took seconds to days while a pattern could read its parts in more than one way."""


@pytest.mark.parametrize("name", BOMBS)
def test_lines_made_against_patterns_are_read(tmp_path: Path, name: str) -> None:
    assert (
        verdict(tmp_path, f"{BOMBS[name]}\n" * 5 + TRACEBACK + "RuntimeError: x\n" + EXIT).cause is not None
    )


def test_of_a_long_line_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    found = verdict(tmp_path, TRACEBACK + "RuntimeError: " + "x" * 50_000 + " end\n" + EXIT)
    assert found.cause is not None
    assert found.cause.line == 4
    assert found.cause.text.startswith("RuntimeError: xxx")
    assert len(found.cause.text) < 17_000
