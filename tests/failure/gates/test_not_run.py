"""Gates that looked at nothing, and gates that nobody would see fail."""

# ruff: noqa: E501  (texts of files and logs)

import json
from collections.abc import Mapping

import pytest

from audit.failure.gates import NotRun, not_run
from tests.failure.gates.conftest import Make, log_of, telemetry_of


def found(
    checkout: Make, files: Mapping[str, str], metrics: Mapping[str, str] | None = None, log: str = ""
) -> list[NotRun]:
    return not_run(checkout(files), telemetry_of(metrics or {}), log_of(log))


def workflow(run: str, more: str = "") -> dict[str, str]:
    body = "\n".join("          " + line for line in run.split("\n"))
    return {
        ".github/workflows/ci.yml": f"on: push\njobs:\n  test:\n    runs-on: x\n    steps:\n      - name: Run tests\n{more}        run: |\n{body}\n"
    }


@pytest.mark.parametrize(
    "line",
    [
        "============ no tests ran in 0.01s ============",
        "collected 0 items",
        "====== 12 skipped in 0.40s ======",
        "3 skipped, 9 deselected, 1 warning in 1.2s",
    ],
)
def test_a_session_without_tests(checkout: Make, line: str) -> None:
    made = found(checkout, {}, log=f"start\n{line}\nend")
    assert [(n.kind, n.line) for n in made] == [("all_skipped" if "skipped" in line else "no_tests", 2)]


@pytest.mark.parametrize(
    "line",
    [
        "=== 3 passed, 12 skipped in 0.40s ===",
        "1 failed, 3 skipped in 1s",
        "12 tests skipped because of the weather in 2026",
        "== 2 xfailed, 1 skipped in 1s ==",
    ],
)
def test_a_session_that_ran_something(checkout: Make, line: str) -> None:
    assert found(checkout, {}, log=line) == []


def test_a_report_of_skipped_tests_alone(checkout: Make) -> None:
    xml = '<testsuite name="s" tests="2" skipped="2" failures="0" errors="0"><testcase classname="a" name="x"><skipped/></testcase><testcase classname="a" name="y"><skipped/></testcase></testsuite>'
    assert [(n.kind, n.path) for n in found(checkout, {}, {"junit.xml": xml})] == [
        ("all_skipped", "junit.xml")
    ]


@pytest.mark.parametrize(
    "run",
    [
        "pytest tests || true",
        "python -m pytest -q || :",
        "pytest || exit 0",
        "python ci/perf_gate.py || echo failed",
    ],
)
def test_a_status_that_is_thrown_away(checkout: Make, run: str) -> None:
    made = found(checkout, workflow(run))
    assert [(n.kind, n.path, n.line) for n in made] == [("ignored_status", ".github/workflows/ci.yml", 8)]


def test_exit_code_five_as_success(checkout: Make) -> None:
    made = found(checkout, workflow('pytest -m gpu || [ "$?" -eq 5 ]'))
    assert "ignored_status" in [n.kind for n in made]


def test_set_plus_e_without_passing_the_status_on(checkout: Make) -> None:
    assert [n.kind for n in found(checkout, workflow("set +e\npytest -q\necho done"))] == ["ignored_status"]


@pytest.mark.parametrize(
    "run",
    [
        "pytest -q",
        "set +e\npytest -q\nrc=$?\necho $rc\nexit $rc",
        "set +e\nrm x\nset -e\npytest -q",
        "set +e\npytest -q",
        "mkdir out || true\npytest -q",
        "set -o pipefail\npytest -q | tee log.txt",
    ],
)
def test_a_status_that_counts(checkout: Make, run: str) -> None:
    assert found(checkout, workflow(run)) == []


def test_a_pipe_loses_the_status_unless_the_shell_is_named(checkout: Make) -> None:
    assert [n.kind for n in found(checkout, workflow("pytest -q | tee log.txt"))] == ["ignored_status"]
    assert found(checkout, workflow("pytest -q | tee log.txt", "        shell: bash\n")) == []


def test_continue_on_error_at_a_gate(checkout: Make) -> None:
    made = found(checkout, workflow("pytest -q", "        continue-on-error: true\n"))
    assert [(n.kind, n.line, n.name) for n in made] == [("continue_on_error", 7, "Run tests")]


def test_a_marker_that_no_test_has(checkout: Make) -> None:
    tests = {"tests/test_a.py": "import pytest\n\n@pytest.mark.slow\ndef test_a():\n    pass\n"}
    assert [(n.kind, n.name) for n in found(checkout, {**workflow("pytest -m slwo tests"), **tests})] == [
        ("no_match", "-m slwo")
    ]
    assert found(checkout, {**workflow("pytest -m 'not slwo' tests"), **tests}) == []


def test_a_key_of_the_golden_values_that_the_run_spells_otherwise(checkout: Make) -> None:
    golden = {"lm-loss": {"values": {"1": 2.0, "2": 1.9}}}
    made = found(
        checkout,
        {"golden_values.json": json.dumps(golden)},
        {"m.jsonl": '{"step": 1, "lm loss": 2.0}\n{"step": 2, "lm loss": 1.9}'},
    )
    assert [(n.kind, n.path, n.name) for n in made] == [("key_mismatch", "golden_values.json", "lm-loss")]


def test_an_empty_list_of_metrics(checkout: Make) -> None:
    made = found(
        checkout,
        {
            "cases/a/model_config.yaml": "ENV: x\nMETRICS: []\n",
            "cases/b/model_config.yaml": "METRICS:\n  - lm loss\n",
        },
    )
    assert [(n.kind, n.path, n.line) for n in made] == [("no_metrics", "cases/a/model_config.yaml", 2)]
