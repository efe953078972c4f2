"""Whole analyses with several logs, with metrics, a checkout, claims."""

import csv
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.verdict import Category, Confidence, Decision, Verdict
from audit.engine.failure import FailureEffects, FailureOptions, analyse
from audit.report.verdict.json import render

FAILED_TEST = """##[group]Run pytest
##[endgroup]
============================= test session starts ==============================
collected 1 item
tests/test_a.py::test_x FAILED                                           [100%]
=================================== FAILURES ===================================
____________________________________ test_x ____________________________________
E   TypeError: bad operand
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x - TypeError: bad operand
============================== 1 failed in 0.10s ===============================
##[error]Process completed with exit code 1.
"""
NO_SPACE = """##[group]Run python train.py
##[endgroup]
step 10 loss 2.1
OSError: [Errno 28] No space left on device
##[error]Process completed with exit code 1.
"""


def verdict(
    *logs: Path, repo: Path | None = None, metrics: tuple[Path, ...] = (), claims: Path | None = None
) -> Verdict:
    options = FailureOptions(tuple(map(str, logs)), str(repo) if repo else None, metrics, (), claims)
    return analyse(options, FailureEffects(os.environ)).verdict


def archive(folder: Path, members: dict[str, str]) -> Path:
    path = folder / "logs.zip"
    with zipfile.ZipFile(path, "w") as written:
        for name, text in members.items():
            written.writestr(name, text)
    return path


def test_each_failed_job_has_its_cause(tmp_path: Path) -> None:
    logs = archive(
        tmp_path,
        {
            "test/1_Run tests.txt": FAILED_TEST,
            "train/1_Train.txt": NO_SPACE,
            "lint/1_Lint.txt": "##[group]Run ruff check\n##[endgroup]\nAll checks passed!\n",
        },
    )
    found = verdict(logs)
    assert found.category is Category.CORRECTNESS
    assert found.cause is not None
    assert (found.cause.file, found.cause.line, found.cause.job) == (
        "logs.zip!test/1_Run tests.txt",
        8,
        "test",
    )
    (other,) = found.other_causes
    assert (other.category, other.job, other.line) == (Category.INFRA_RUNTIME, "train", 4)
    assert "tests/test_a.py::test_x" in found.failing


def test_a_cancelled_sibling_names_no_cause(tmp_path: Path) -> None:
    logs = archive(
        tmp_path,
        {
            "a/1_Run tests.txt": "##[group]Run pytest\n##[endgroup]\n##[error]The operation was canceled.\n",
            "b/1_Run tests.txt": FAILED_TEST,
        },
    )
    found = verdict(logs)
    assert found.cause is not None
    assert found.cause.job == "b"
    assert found.other_causes == ()


def test_the_rank_that_failed_before_the_watchdog_spoke(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        (tmp_path / f"rank_{rank}.log").write_text(
            "2026-05-01 10:00:00 step 10 loss 2.0\n"
            f"[rank{rank}]:[E501 10:10:02.100000000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
            "WorkNCCL(SeqNum=511, OpType=ALLREDUCE, NumelIn=100, NumelOut=100, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
            f"[rank{rank}]: terminate called after throwing an instance of 'c10::DistBackendError'\n"
            "Fatal Python error: Aborted\n"
        )
    (tmp_path / "rank_2.log").write_text(
        "2026-05-01 10:00:00 step 10 loss 2.0\nTraceback (most recent call last):\n"
        '  File "/w/train.py", line 70, in <module>\n    main()\nIndexError: list index out of range\n'
    )
    found = verdict(*sorted(tmp_path.glob("rank_*.log")))
    assert found.category is Category.CORRECTNESS
    assert found.cause is not None
    assert (found.cause.file, found.cause.line, found.cause.rank) == ("rank_2.log", 5, 2)


def test_a_kill_is_memory_only_with_a_record(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    text = "$ python train.py\nstep 10 loss 2.1\nstep 20 loss 2.0\nrun.sh: line 3: 2101 Killed  python train.py\n"
    log.write_text(text + "ERROR: Job failed: exit code 137\n")
    assert verdict(log).category is Category.INCONCLUSIVE
    record = (
        "section_start:1:after_script\n$ dmesg | tail\n[ 99.1] Out of memory: Killed process 2101 (python) total-vm:1kB, "
        "anon-rss:1kB\nsection_end:1:after_script\n"
    )
    log.write_text(text + record + "ERROR: Job failed: exit code 137\n")
    found = verdict(log)
    assert found.category is Category.INFRA_RUNTIME
    assert found.cause is not None
    assert "Killed process 2101" in found.cause.text


def test_a_tolerated_step_fails_nothing(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / ".github/workflows").mkdir(parents=True)
    (repo / ".github/workflows/ci.yml").write_text(
        "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n      - name: Nightly torch\n        run: pytest\n        continue-on-error: "
        "true\n      - name: Train\n        run: python train.py\n"
    )
    log = tmp_path / "job.log"
    log.write_text(
        FAILED_TEST
        + "##[group]Run python train.py\n##[endgroup]\nstep 10 loss 2.1\nPost job cleanup.\nCleaning up orphan processes\n"
    )
    assert verdict(log, repo=repo).category is Category.PASSED
    assert verdict(log).category is Category.CORRECTNESS


def test_a_step_has_its_workflows_name(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / ".github/workflows").mkdir(parents=True)
    (repo / ".github/workflows/ci.yml").write_text(
        "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n      - name: Train it\n        run: python train.py\n"
    )
    log = tmp_path / "job.log"
    log.write_text(NO_SPACE)
    found = verdict(log, repo=repo)
    assert found.cause is not None
    assert found.cause.step == "Train it"
    assert "Train it" in found.failing


def test_an_interface_of_an_unpinned_package_is_a_matter_of_pins(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    log = tmp_path / "job.log"
    log.write_text(
        "##[group]Run python train.py\n##[endgroup]\nTraceback (most recent call last):\n"
        "  File \"/w/train.py\", line 3, in <module>\n    x = pd.Panel\nAttributeError: module 'pandas' has no attribute "
        "'Panel'\n##[error]Process completed with exit code 1.\n"
    )
    (repo / "requirements.txt").write_text("pandas\n")
    assert verdict(log, repo=repo).category is Category.DATA_CONFIG
    (repo / "requirements.txt").write_text("pandas==1.0.0\n")
    assert verdict(log, repo=repo).category is Category.CORRECTNESS


def test_a_number_that_yaml_reads_as_text(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    log = tmp_path / "job.log"
    log.write_text(
        "##[group]Run python train.py\n##[endgroup]\nTraceback (most recent call last):\n"
        "  File \"/w/opt.py\", line 3, in <module>\n    if lr < 0.0:\nTypeError: '<' not supported between instances of 'str' and "
        "'float'\n##[error]Process completed with exit code 1.\n"
    )
    (repo / "base.yaml").write_text("optim:\n  lr: 3e-4\n")
    found = verdict(log, repo=repo)
    assert found.category is Category.DATA_CONFIG
    assert "base.yaml:2" in found.recommendation
    (repo / "base.yaml").write_text("optim:\n  lr: 3.0e-4\n")
    assert verdict(log, repo=repo).category is Category.CORRECTNESS


def runs(folder: Path, name: str, losses: list[float]) -> Path:
    path = folder / name
    with path.open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["step", "val_loss"])
        writer.writerows([[index * 10, value] for index, value in enumerate(losses, 1)])
    return path


GREEN = "##[group]Run python train.py\n##[endgroup]\nstep 10 loss 2.1\nstep 50 loss 1.9\nPost job cleanup.\nCleaning up orphan processes\n"


def test_a_claim_that_the_metrics_contradict(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(GREEN)
    base = runs(tmp_path, "main.csv", [2.5, 2.2, 2.0, 1.9, 1.80])
    worse = runs(tmp_path, "candidate.csv", [2.5, 2.2, 2.1, 2.0, 1.95])
    claims = tmp_path / "claims.md"
    claims.write_text("# Change\n\n- The final val loss is within 1 % of main.\n")
    found = verdict(log, metrics=(base, worse), claims=claims)
    assert found.category is Category.UNSUPPORTED_CLAIM
    assert found.decision is Decision.BLOCK
    assert found.cause is not None
    assert (found.cause.file, found.cause.line) == ("claims.md", 3)


def test_a_green_job_without_claims_passes_and_with_metrics_less_surely(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(GREEN)
    assert (verdict(log).category, verdict(log).confidence) == (Category.PASSED, Confidence.HIGH)
    measured = verdict(log, metrics=(runs(tmp_path, "main.csv", [2.5, 2.2, 2.0]),))
    assert (measured.category, measured.confidence) == (Category.PASSED, Confidence.MEDIUM)


def test_secrets_in_quoted_lines_are_blackened(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    token = "hf_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbC"
    log.write_text(
        f"##[group]Run python push.py\n##[endgroup]\nValueError: bad token {token} given\n##[error]Process completed with exit code 1.\n".replace(
            "ValueError",
            'Traceback (most recent call last):\n  File "/w/a.py", line 1, in <module>\n    f()\nValueError',
        )
    )
    text = render(verdict(log))
    assert token not in text
    assert "[redacted" in text


def test_two_analyses_give_the_same_bytes(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(FAILED_TEST + NO_SPACE)
    assert render(verdict(log)) == render(verdict(log))
    assert json.loads(render(verdict(log)))["schema_version"] == 1


def test_an_empty_log_and_noise_are_inconclusive(tmp_path: Path) -> None:
    for name, data in (("empty", b""), ("noise", os.urandom(5000)), ("blank", b"\n\n\n")):
        log = tmp_path / name
        log.write_bytes(data)
        found = verdict(log)
        assert found.category is Category.INCONCLUSIVE
        assert found.cause is None


def test_a_report_says_what_the_log_left_out(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text(
        "##[group]Run pytest --tb=no\n##[endgroup]\n============================= test session starts ==============================\ncollected 1 item\n"
        "tests/test_a.py::test_x FAILED                                           [100%]\n"
        "=========================== short test summary info ============================\nFAILED tests/test_a.py::test_x\n"
        "============================== 1 failed in 0.10s ===============================\n##[error]Process completed with exit code 1.\n"
    )
    assert verdict(log).category is Category.INCONCLUSIVE
    report = tmp_path / "junit.xml"
    report.write_text(
        '<testsuites><testsuite tests="1" failures="1"><testcase classname="tests.test_a" name="test_x"><failure message="AssertionError: '
        'median step time 0.9s above limit 0.5s">'
        "</failure></testcase></testsuite></testsuites>"
    )
    found = verdict(log, metrics=(report,))
    assert found.category is Category.METRIC_POLICY
    assert found.cause is not None
    assert found.cause.line == 7


HOSTILE = [
    "1" * 200_000,
    "a" * 200_000,
    "step " * 40_000,
    "ERROR " * 30_000,
    "E   " + "x.y." * 50_000,
    "1/1 [" * 40_000,
    "loss: nan " * 20_000,
    "Traceback (most recent call last):" * 6_000,
    "exit code " * 20_000,
    "0 metrics " * 20_000,
    "below 1 > " * 20_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:12])
def test_long_lines_come_to_an_end(line: str, tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    frame = "=================================== FAILURES ===================================\n____ t ____\n"
    log.write_text(
        f"##[group]Run x\n##[endgroup]\n{line}\n{line}\n{frame}{line}\nTraceback (most recent call "
        f"last):\n{line}\n##[error]Process completed with exit code 1.\n"
    )
    # It comes at all; an `E` line in a test's block is a failed test, whatever it says.
    assert verdict(log).category in (Category.INCONCLUSIVE, Category.CORRECTNESS)


PIECES = [
    *FAILED_TEST.splitlines(),
    *NO_SPACE.splitlines(),
    "Traceback (most recent call last):",
    '  File "a", line 1, in f',
    "KeyError: 'x'",
    "step 3 loss nan",
    "",
    "Job succeeded",
    "[rank1]: boom",
    "Finished: FAILURE",
    "During handling of the above exception, another exception occurred:",
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_order_of_lines_breaks_an_analysis(rows: list[str], tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("\n".join(rows))
    found = verdict(log)
    assert (found.cause is None) or found.cause.line <= len(rows)


def test_a_green_gate_whose_keys_are_not_the_runs_compared_nothing(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / "golden").mkdir(parents=True)
    values = {str(step): 2.0 for step in range(10, 60, 10)}
    golden = {"val-loss": {"start_step": 10, "end_step": 50, "step_interval": 10, "values": values}}
    (repo / "golden/golden_values_cpu.json").write_text(json.dumps(golden))
    log = tmp_path / "job.log"
    gate = "##[group]Run python tools/golden.py\n##[endgroup]\nall golden values match\n"
    log.write_text(GREEN.replace("Post job", gate + "Post job"))
    found = verdict(log, repo=repo, metrics=(runs(tmp_path, "run.csv", [2.5, 2.2, 2.0, 1.9, 1.8]),))
    assert found.category is Category.METRIC_POLICY
    assert found.confidence is not Confidence.HIGH
    assert found.cause is not None
    assert found.cause.text == "all golden values match"
