"""What a verdict tells of gates that cannot fail or looked at nothing, and of the noise that a tolerance needs."""

import csv
import os
from pathlib import Path

from audit.documents.verdict import Category, Confidence, EvidenceKind, Verdict
from audit.engine.failure import FailureEffects, FailureOptions, analyse

GREEN = """##[group]Run python tests/golden.py || true
##[endgroup]
compared 3 metrics
Traceback (most recent call last):
ValueError: golden loss differs
Post job cleanup.
Cleaning up orphan processes
"""
SPEED = "$ python bench.py\nthroughput 812.0 tok/s below baseline 900.0\nERROR: Job failed: exit code 1\n"


def verdict(
    folder: Path, text: str, files: dict[str, str] | None = None, metrics: tuple[Path, ...] = ()
) -> Verdict:
    log = folder / "log.txt"
    log.write_text(text, encoding="utf-8")
    repo = folder / "repo"
    for name, content in (files or {}).items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(content, encoding="utf-8")
    options = FailureOptions((str(log),), repo=str(repo) if files else None, metrics=metrics)
    return analyse(options, FailureEffects(os.environ)).verdict


def workflow(run: str) -> dict[str, str]:
    return {
        ".github/workflows/ci.yml": f"on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - name: Golden values\n        run: {run}\n",
        "tests/golden.py": "print('x')\n",
    }


def test_a_gate_whose_status_is_thrown_away_leaves_a_success_open(tmp_path: Path) -> None:
    found = verdict(tmp_path, GREEN, workflow("python tests/golden.py || true"))
    assert found.confidence is not Confidence.HIGH
    assert any(
        ".github/workflows/ci.yml:7" in text and "status is thrown away" in text for text in found.not_known
    )
    places = [(piece.file, piece.line) for piece in found.evidence if piece.kind is EvidenceKind.CONFIG]
    assert (".github/workflows/ci.yml", 7) in places


def test_a_gate_of_another_workflow_is_not_told(tmp_path: Path) -> None:
    log = "##[group]Run python train.py\n##[endgroup]\nsaved model\nPost job cleanup.\nCleaning up orphan processes\n"
    found = verdict(tmp_path, log, workflow("python tests/golden.py || true"))
    assert not any("ci.yml" in text for text in found.not_known)


def test_a_first_session_without_tests_is_told_beside_a_cause(tmp_path: Path) -> None:
    log = (
        "##[group]Run pytest tests/gpu\n##[endgroup]\n============================= test session starts ==============================\n"
        "collected 3 items\n============================== 3 skipped in 0.02s ===============================\n"
        '##[group]Run python train.py\n##[endgroup]\nTraceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n'
        "TypeError: main() missing 1 required positional argument: 'cfg'\n##[error]Process completed with exit code 1.\nCleaning up orphan processes\n"
    )
    found = verdict(tmp_path, log)
    assert found.category is Category.CORRECTNESS
    assert any("every test was left out: 3 skipped" in text for text in found.not_known)


def test_without_a_record_of_runs_no_tolerance_is_suggested(tmp_path: Path) -> None:
    found = verdict(tmp_path, SPEED)
    assert found.category is Category.METRIC_POLICY
    assert any(text.startswith("Noise unknown") for text in found.not_known)
    assert "tolerance" not in found.recommendation


GATE = """import csv, sys
rows = list(csv.DictReader(open("metrics.csv")))
value = float(rows[-1]["throughput"])
if value < 900.0:  # run-to-run std 4 %
    print(f"throughput {value} tok/s below baseline 900.0")
    sys.exit(1)
"""


def test_recorded_noise_gives_the_tolerance(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.csv"
    with metrics.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([("step", "throughput"), (1, 811.0), (2, 812.0)])
    found = verdict(tmp_path, SPEED, {"bench.py": GATE}, (metrics,))
    assert found.category is Category.METRIC_POLICY
    assert "relative tolerance of 0.12" in found.recommendation
    assert any(fact.name == "suggested_relative_tolerance" for fact in found.facts)
