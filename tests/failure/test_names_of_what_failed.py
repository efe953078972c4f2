"""`failing` and `passed_checks` name things as a reader of the run knows them."""

import os
from pathlib import Path

import pytest

from audit.documents.verdict import Verdict
from audit.engine.failure import FailureEffects, FailureOptions, analyse
from audit.failure.named import spans
from audit.failure.structure.verdict_rows import name_of_check


def verdict(folder: Path, text: str) -> Verdict:
    log = folder / "log.txt"
    log.write_text(text, encoding="utf-8")
    return analyse(FailureOptions((str(log),)), FailureEffects(os.environ)).verdict


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('  data["score"] < 0.14   0.1667             FAIL', 'data["score"] < 0.14'),
        ("gsm8k exact_match 0.0000, required 0.6100", "gsm8k exact_match"),
        ("[FAIL] bleu: 27.1 (floor 28.0)", "bleu"),
        ("reward gate: mean_reward 147.65 is under the floor 440.0", "mean_reward"),
        ("log budget exceeded: 231 warnings, limit 200", "log budget"),
        ("baseline 486.3", ""),
        ("assert 3 == 2", ""),
    ],
)
def test_a_check_is_named_by_what_stands_before_its_number(line: str, name: str) -> None:
    assert name_of_check(line) == name


def test_ranks_are_told_in_spans() -> None:
    assert spans([3, 0, 1, 2, 8, 12, 13]) == "0-3, 8, 12, 13"


def test_the_metric_and_the_command_of_a_gate(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        "$ python gate.py out/metrics.json\nval_acc          0.912   0.900   PASS\nval_auc          0.781   0.850   FAIL\nERROR: Job failed: exit code 1\n",
    )
    assert found.failing == ("val_auc", "python gate.py out/metrics.json")
    assert "val_acc" in found.passed_checks


def test_the_target_of_make(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        "$ make smoke\npython train.py\nValueError: no such optimiser\nmake: *** [Makefile:14: smoke] Error 1\nERROR: Job failed: exit code 2\n",
    )
    assert "make smoke" in found.failing


def test_tasks_and_step_of_slurm(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        "step 10 loss 2.1\nOSError: [Errno 5] Input/output error\nsrun: error: n3: tasks 8-9,12: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 90218.0 ON n1 CANCELLED AT 2026-11-24T10:09:12 ***\n",
    )
    assert {"ranks 8, 9, 12", "step 90218.0"} <= set(found.failing)


def test_the_test_that_was_running_when_the_log_ends(tmp_path: Path) -> None:
    found = verdict(
        tmp_path,
        "$ pytest -v\n============================= test session starts ==============================\ncollected 2 items\n"
        "tests/test_a.py::test_one PASSED\ntests/test_a.py::test_two ready\n\nToo long with no output (exceeded 10m0s): context deadline exceeded\n",
    )
    assert "tests/test_a.py::test_two" in found.failing
    assert "tests/test_a.py::test_one" not in found.failing
