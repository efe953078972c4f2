"""A limit on a share of right answers, missed by less than chance moves it: from files of samples and of earlier runs."""

import csv
import json
import os
from pathlib import Path

from audit.documents.verdict import Category, Verdict
from audit.engine.failure import FailureEffects, FailureOptions, analyse


def verdict(folder: Path, text: str) -> Verdict:
    log = folder / "log.txt"
    log.write_text(f"$ python gate.py out\n{text}\nERROR: Job failed: exit code 1\n", encoding="utf-8")
    metrics = tuple(path for path in sorted(folder.iterdir()) if path != log)
    return analyse(FailureOptions((str(log),), metrics=metrics), FailureEffects(os.environ)).verdict


def samples(folder: Path, right: int, total: int) -> None:
    rows = [json.dumps({"doc_id": number, "exact_match": int(number < right)}) for number in range(total)]
    (folder / "samples_math.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def earlier(folder: Path, values: list[float]) -> None:
    with (folder / "history_main.csv").open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([("build", "accuracy"), *enumerate(values, 880)])


def test_a_miss_of_a_fifth_of_the_standard_error_is_the_limits(tmp_path: Path) -> None:
    samples(tmp_path, 169, 200)
    found = verdict(tmp_path, "accuracy 0.845 is below the floor 0.85")
    assert found.category is Category.METRIC_POLICY
    assert "0.2 standard errors of a share measured on 200 samples" in found.recommendation


def test_the_same_miss_on_many_samples_is_the_models(tmp_path: Path) -> None:
    samples(tmp_path, 84_500, 100_000)
    assert verdict(tmp_path, "accuracy 0.845 is below the floor 0.85").category is Category.ML_REGRESSION


def test_a_number_far_from_earlier_runs_fell_however_near_the_limit_is(tmp_path: Path) -> None:
    samples(tmp_path, 169, 200)
    earlier(tmp_path, [0.931, 0.929, 0.93, 0.932, 0.928, 0.93])
    assert verdict(tmp_path, "accuracy 0.845 is below the floor 0.85").category is Category.ML_REGRESSION


def test_a_number_among_earlier_runs_did_not_fall(tmp_path: Path) -> None:
    earlier(tmp_path, [0.84, 0.86, 0.855, 0.87, 0.845, 0.852])
    found = verdict(tmp_path, "accuracy 0.845 is below the floor 0.85")
    assert found.category is Category.METRIC_POLICY
    assert "standard deviations of 6 earlier runs" in found.recommendation


def test_four_earlier_runs_measure_no_noise(tmp_path: Path) -> None:
    earlier(tmp_path, [0.84, 0.86, 0.855, 0.87])
    assert verdict(tmp_path, "accuracy 0.845 is below the floor 0.85").category is Category.ML_REGRESSION


def test_samples_of_another_share_say_nothing(tmp_path: Path) -> None:
    samples(tmp_path, 20, 40)
    assert verdict(tmp_path, "accuracy 0.845 is below the floor 0.85").category is Category.ML_REGRESSION
