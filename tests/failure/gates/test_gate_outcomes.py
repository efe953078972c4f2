"""Gates of small checkouts, computed again on small telemetry."""

# ruff: noqa: E501  (texts of files and logs)

import json
import math
from collections.abc import Callable

import pytest

from audit.failure.gates import GateOutcome, Subject

Run = Callable[..., list[GateOutcome]]


def rows(count: int, **columns: Callable[[int], float]) -> str:
    """JSON lines with a step from 1."""
    return "\n".join(
        json.dumps({"step": i, **{k: f(i) for k, f in columns.items()}}) for i in range(1, count + 1)
    )


def only(found: list[GateOutcome]) -> GateOutcome:
    assert len(found) == 1, [(g.name, g.rule) for g in found]
    return found[0]


SCRIPT = """
import json, sys
from statistics import median

LIMIT = 0.25
rows = [json.loads(line) for line in open("out/metrics.jsonl")]
final = rows[-1]["loss"]
if final > LIMIT:
    sys.exit(f"final loss {final:.3f} above {LIMIT}")
"""


def test_a_script_that_exits_on_a_limit(gates: Run) -> None:
    gate = only(
        gates(
            {"ci/gate.py": SCRIPT},
            {"run.jsonl": rows(50, loss=lambda i: 1 / i + 0.3)},
            "final loss 0.320 above 0.25",
        )
    )
    assert (gate.path, gate.line, gate.metric, gate.operator) == ("ci/gate.py", 8, "loss", "<=")
    assert (gate.passed, gate.actual, gate.limit) == (False, 1 / 50 + 0.3, 0.25)
    assert gate.told == ("log.txt", 1)
    assert gate.subject is Subject.QUALITY
    assert gate.margin == pytest.approx((0.25 - 0.32) / 0.25)
    facts = {f.name: f.value for f in gate.facts}
    assert facts["loss_over_limit"] == pytest.approx(0.32 / 0.25 - 1)
    place = gate.facts[0].inputs[0].source
    assert place.endswith("run.jsonl:50")


def test_the_same_script_on_a_good_run_passes(gates: Run) -> None:
    gate = only(gates({"ci/gate.py": SCRIPT}, {"run.jsonl": rows(50, loss=lambda i: 1 / i)}))
    assert (gate.passed, gate.told) == (True, None)


def test_a_limit_from_the_command_line(gates: Run) -> None:
    files = {
        "tools/check.py": 'import argparse, json\np = argparse.ArgumentParser()\np.add_argument("--min-acc", type=float, default=0.5)\np.add_argument("path")\n'
        "a = p.parse_args()\nrows = [json.loads(l) for l in open(a.path)]\nassert rows[-1]['acc'] >= a.min_acc\n",
        ".github/workflows/ci.yml": "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n      - name: Gate\n        run: python tools/check.py out/m.jsonl --min-acc=0.9\n",
    }
    gate = only(gates(files, {"m.jsonl": rows(9, acc=lambda i: 0.8)}))
    assert (gate.passed, gate.actual, gate.limit) == (False, 0.8, 0.9)
    assert [o.name for o in gate.origins if o.kind == "argument"] == ["--min-acc"]


def test_a_floor_made_of_a_stored_baseline_and_its_noise(gates: Run) -> None:
    files = {
        "gate.py": 'import json, sys\nb = json.load(open("base.json"))\nr = [json.loads(x) for x in open("m.jsonl")]\nfrom statistics import median\n'
        't = median(x["tokens_per_sec"] for x in r if x["step"] > b["skip"])\nfloor = b["tokens_per_sec"] * (1 - b["max_drop"])\n'
        "ok = t >= floor\nsys.exit(0 if ok else 1)\n",
        "base.json": '{"tokens_per_sec": 1000.0, "tokens_per_sec_std": 30.0, "max_drop": 0.05, "skip": 5}',
    }
    gate = only(gates(files, {"m.jsonl": rows(30, tokens_per_sec=lambda i: 10.0 if i <= 5 else 940.0)}))
    assert (gate.passed, gate.actual, gate.limit, gate.reference) == (False, 940.0, 950.0, 1000.0)
    assert gate.noise == pytest.approx(0.03)
    assert gate.subject is Subject.PERFORMANCE
    facts = {f.name: f.value for f in gate.facts}
    assert facts["tokens_per_sec_drop"] == pytest.approx(0.06)
    assert facts["tokens_per_sec_below_limit"] == pytest.approx(1 - 940 / 950)


GOLDEN_TEST = """
import json
import numpy as np

GOLD = json.load(open("tests/golden.json"))

def run():
    return {json.loads(l)["step"]: json.loads(l)["loss"] for l in open("out/m.jsonl")}

def test_loss():
    got = run()
    steps = [int(s) for s in GOLD["loss"]]
    a = np.array([got[s] for s in steps])
    g = np.array([GOLD["loss"][str(s)] for s in steps])
    assert np.allclose(a, g, rtol=0.01, atol=0)
"""


def test_allclose_with_golden_values_step_by_step(gates: Run) -> None:
    golden = {"loss": {str(s): 2.0 for s in range(10, 101, 10)}}
    files = {"tests/test_g.py": GOLDEN_TEST, "tests/golden.json": json.dumps(golden)}
    metrics = {"m.jsonl": rows(100, loss=lambda i: 2.0 if i < 50 else 2.1)}
    gate = only(gates(files, metrics, "FAILED tests/test_g.py::test_loss - assert False"))
    assert (gate.name, gate.passed, gate.rtol, gate.atol) == ("tests/test_g.py::test_loss", False, 0.01, 0.0)
    assert gate.series is not None
    assert (gate.series.steps, gate.series.over, gate.series.first_over, gate.series.first_different) == (
        10,
        6,
        50,
        50,
    )
    assert gate.series.worst_relative == pytest.approx(0.05)
    assert gate.series.same_sign
    assert gate.told == ("log.txt", 1)


def test_numpy_is_asymmetric_in_its_tolerance(gates: Run) -> None:
    def text(order: str) -> str:
        return f'import json, numpy as np\nd = json.loads(open("m.jsonl").readlines()[-1])\nassert np.isclose({order}, rtol=0.1, atol=0)\n'

    metrics = {"m.jsonl": rows(3, loss=lambda i: 1.105)}
    assert only(gates({"a/check.py": text("d['loss'], 1.0")}, metrics)).passed is False
    assert only(gates({"a/check.py": text("1.0, d['loss']")}, metrics)).passed is True


def test_approx_takes_the_larger_of_both_tolerances(gates: Run) -> None:
    files = {
        "test_x.py": 'import json, pytest\ndef test_a():\n    d = json.load(open("r.json"))\n    assert d["score"] == pytest.approx(0.5, abs=0.01)\n'
    }
    good = only(gates(files, {"r.json": '{"score": 0.5099}'}))
    assert (good.passed, good.rtol, good.atol) == (True, 0.0, 0.01)
    bad = only(gates(files, {"r.json": '{"score": 0.5101}'}))
    assert bad.passed is False


@pytest.mark.parametrize(
    ("call", "rtol", "atol"),
    [
        ("torch.testing.assert_close(f(x), g(x))", 1.3e-6, 1e-5),
        ("torch.testing.assert_close(f(x), g(x), rtol=1e-3, atol=2e-3)", 1e-3, 2e-3),
        ("np.testing.assert_allclose(f(x), g(x))", 1e-7, 0.0),
        ("np.testing.assert_allclose(f(x), g(x), 1e-4)", 1e-4, 0.0),
        ("np.testing.assert_almost_equal(f(x), g(x), decimal=3)", 0.0, 1.5e-3),
        ("chex.assert_trees_all_close(f(x), g(x), rtol=1e-2)", 1e-2, 0.0),
        ("assert torch.allclose(f(x), g(x), atol=TOL)", 1e-5, 0.02),
    ],
)
def test_tolerances_of_comparators_are_read_where_their_values_are_not_known(
    gates: Run, call: str, rtol: float, atol: float
) -> None:
    files = {
        "tests/test_ops.py": f"import torch, chex\nimport numpy as np\nfrom m import f, g\nTOL = 0.02\n\ndef test_f():\n    x = torch.ones(3)\n    {call}\n"
    }
    gate = only(gates(files, {}, "FAILED tests/test_ops.py::test_f - AssertionError"))
    assert gate.rtol == pytest.approx(rtol)
    assert gate.atol == pytest.approx(atol)
    assert (gate.passed, gate.line, gate.actual) == (False, 8, None)
    assert gate.subject is Subject.NUMERICS


def test_unittest_methods(gates: Run) -> None:
    files = {
        "tests/test_q.py": "import json, unittest\n\nclass Q(unittest.TestCase):\n    def setUp(self):\n        self.r = json.load(open('r.json'))\n\n"
        "    def test_acc(self):\n        self.assertGreaterEqual(self.r['acc'], 0.9)\n\n    def test_loss(self):\n        self.assertAlmostEqual(self.r['loss'], 0.25, places=2)\n"
    }
    found = {g.name.rpartition("::")[2]: g for g in gates(files, {"r.json": '{"acc": 0.88, "loss": 0.2549}'})}
    assert (found["test_acc"].passed, found["test_acc"].operator) == (False, ">=")
    assert (found["test_loss"].passed, found["test_loss"].atol) == (True, 0.005)


def test_only_the_failing_parameter_fails(gates: Run) -> None:
    files = {
        "tests/test_p.py": "import json\nimport pytest\nROWS = [json.loads(l) for l in open('m.jsonl')]\n"
        "@pytest.mark.parametrize('step', [1, 5, 9])\ndef test_p(step):\n    assert ROWS[step]['loss'] < 1.0\n"
    }
    found = gates(
        files,
        {"m.jsonl": rows(12, loss=lambda i: 2.0 if i == 6 else 0.5)},
        "FAILED tests/test_p.py::test_p[5] - assert 2.0 < 1.0",
    )
    assert [(g.name, g.passed) for g in found] == [
        ("tests/test_p.py::test_p[5]", False),
        ("tests/test_p.py::test_p[1]", True),
        ("tests/test_p.py::test_p[9]", True),
    ]


def test_a_fixture_of_a_conftest_above(gates: Run) -> None:
    files = {
        "tests/conftest.py": "import csv, pytest\n\n@pytest.fixture(scope='session')\ndef table():\n    with open('out/metrics.csv') as f:\n        return list(csv.DictReader(f))\n",
        "tests/unit/test_t.py": "def test_last(table):\n    assert float(table[-1]['val_loss']) <= 0.4\n",
    }
    gate = only(gates(files, {"metrics.csv": "step,val_loss\n1,0.9\n2,0.5\n"}))
    assert (gate.passed, gate.actual) == (False, 0.5)


def test_what_several_runs_hold_is_not_guessed(gates: Run) -> None:
    files = {
        "gate.py": 'import json\nr = [json.loads(x) for x in open("m.jsonl")]\nassert r[-1]["acc"] > 0.9\n'
    }
    metrics = {"a.jsonl": rows(5, acc=lambda i: 0.8), "b.jsonl": rows(5, acc=lambda i: 0.95)}
    assert gates(files, metrics) == []


def test_of_several_runs_the_one_that_the_log_shows(gates: Run) -> None:
    files = {
        "test_q.py": 'import json\ndef test_q():\n    acc = json.load(open("result.json"))["acc"]\n    assert acc >= 0.9, f"accuracy {acc:.4f} is too low"\n'
    }
    metrics = {"a.jsonl": rows(5, acc=lambda i: 0.8123), "b.jsonl": rows(5, acc=lambda i: 0.95)}
    gate = only(
        gates(files, metrics, "E   AssertionError: accuracy 0.8123 is too low\nFAILED test_q.py::test_q")
    )
    assert (gate.passed, gate.actual) == (False, 0.8123)


def test_the_message_of_a_script_gives_a_value_that_is_in_no_file(gates: Run) -> None:
    files = {
        "sweep.py": "import json, sys, random\ncfg = json.load(open('config.json'))\nsolved = 0\nfor s in range(10):\n    for e in range(100000):\n        solved += random.random() > 2\n"
        "rate = solved / 10\nif rate < cfg['required']:\n    sys.exit(f'gate: solved rate {rate:.2f} below {cfg[\"required\"]:.2f}')\n",
        "config.json": '{"required": 0.9}',
    }
    gate = only(gates(files, {}, "gate: solved rate 0.30 below 0.90"))
    assert (gate.actual, gate.limit, gate.operator, gate.passed) == (0.3, 0.9, ">=", False)
    assert gate.told == ("log.txt", 1)


def test_conditions_that_only_choose_are_no_gates(gates: Run) -> None:
    files = {
        "train.py": "import json\nrows = [json.loads(x) for x in open('m.jsonl')]\nbest = 9.0\nfor r in rows:\n    if r['loss'] < best:\n        best = r['loss']\n"
        "    if r['step'] % 10 == 0:\n        print('step', r['step'])\nlate = [r for r in rows if r['loss'] > 0.2]\nwhile best > 3:\n    best -= 1\n"
    }
    assert gates(files, {"m.jsonl": rows(30, loss=lambda i: 1 / i)}) == []


def test_a_failing_test_is_told_at_the_statement_that_failed(gates: Run) -> None:
    files = {
        "tests/test_two.py": "import json\nR = json.load(open('r.json'))\n\ndef test_two():\n    assert R['loss'] < 1.0\n    assert R['acc'] > 0.9\n",
    }
    log = (
        "=================== FAILURES ===================\n___________________ test_two ___________________\n\n    def test_two():\n        assert R['loss'] < 1.0\n"
        ">       assert R['acc'] > 0.9\nE       assert 0.8 > 0.9\n\ntests/test_two.py:6: AssertionError\n=========== short test summary info ===========\nFAILED tests/test_two.py::test_two - assert 0.8 > 0.9"
    )
    found = gates(files, {"r.json": '{"loss": 0.5, "acc": 0.8}'}, log)
    assert [(g.line, g.passed, g.told) for g in found] == [(6, False, ("log.txt", 11)), (5, True, None)]


def test_numbers_of_a_failed_assertion_that_no_file_holds_come_from_its_text(gates: Run) -> None:
    files = {
        "tests/test_n.py": "import pytest\nfrom m import norm\n\ndef test_n():\n    assert norm(4) == pytest.approx(norm(1), rel=1e-3)\n"
    }
    log = (
        "____ test_n ____\n>       assert norm(4) == pytest.approx(norm(1), rel=1e-3)\nE       assert 3.0 == 0.75 ± 7.5e-04\n\ntests/test_n.py:5: AssertionError\n"
        "==== short test summary info ====\nFAILED tests/test_n.py::test_n - assert 3.0 == 0.75 ± 7.5e-04"
    )
    gate = only(gates(files, {}, log))
    assert (gate.actual, gate.limit, gate.rtol) == (3.0, 0.75, 1e-3)
    assert {f.name: f.value for f in gate.facts}["test_n_ratio"] == 4.0


def test_golden_values_without_a_comparator_follow_the_functional_tests(gates: Run) -> None:
    golden = {
        "lm loss": {
            "start_step": 1,
            "end_step": 200,
            "step_interval": 1,
            "values": {str(i): 2.0 for i in range(1, 201)},
        }
    }
    metrics = {"m.jsonl": rows(200, **{"lm loss": lambda i: 2.2 if i in (7, 8) else 2.0})}
    found = gates({"cases/golden_values_dev.json": json.dumps(golden)}, metrics)
    gate = only(found)
    assert gate.series is not None
    assert (gate.series.over, gate.series.allowance, gate.passed) == (2, 2, True)
    metrics = {"m.jsonl": rows(200, **{"lm loss": lambda i: 2.2 if i < 4 else 2.0})}
    assert only(gates({"cases/golden_values_dev.json": json.dumps(golden)}, metrics)).passed is False


def test_a_missing_golden_step_fails_and_nan_on_both_sides_does_not(gates: Run) -> None:
    golden = {"lm loss": {"values": {"1": 2.0, "2": "nan", "300": 1.0}}}
    gate = only(
        gates(
            {"golden.json": json.dumps(golden)},
            {"m.jsonl": '{"step": 1, "lm loss": 2.0}\n{"step": 2, "lm loss": NaN}'},
        )
    )
    assert gate.series is not None
    assert (gate.series.steps, gate.series.missing, gate.series.over) == (2, 1, 0)
    assert gate.passed is True  # one step of three may fail


def test_coverage_is_counted_from_the_report(gates: Run) -> None:
    log = "Name    Stmts   Miss  Cover\nTOTAL     200     30    85%\nFAIL Required test coverage of 90% not reached. Total coverage: 85.00%"
    gate = only(gates({"setup.cfg": "[tool:pytest]\naddopts = --cov --cov-fail-under=90\n"}, {}, log))
    assert (gate.path, gate.line, gate.actual, gate.limit, gate.passed) == ("setup.cfg", 2, 0.85, 0.9, False)
    assert {f.name: f.value for f in gate.facts}["statements_to_cover"] == 10
    assert gate.subject is Subject.POLICY


def test_a_time_limit_is_where_it_is_set(gates: Run) -> None:
    workflow = (
        "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n      - run: timeout -k 5 2m python train.py\n"
    )
    gate = only(
        gates({".github/workflows/ci.yml": workflow}, {}, "timeout: sending signal TERM to command 'python'")
    )
    assert (gate.limit, gate.path, gate.line, gate.subject) == (
        120.0,
        ".github/workflows/ci.yml",
        6,
        Subject.PERFORMANCE,
    )
    assert gates({".github/workflows/ci.yml": workflow}, {}, "done") == []


def test_hostile_code_ends(gates: Run) -> None:
    nested = "(" * 60 + "1" + ")" * 60
    text = (
        "import json\nr = [json.loads(x) for x in open('m.jsonl')]\nx = 10 ** 10 ** 10\ny = 'a' * 10 ** 9\nz = [0] * 10 ** 9\n"
        f"w = {nested}\ndef f(n):\n    return f(n + 1)\nf(0)\nwhile True:\n    x = x + 1\nfor i in range(10 ** 12):\n    pass\n"
        "assert r[-1]['loss'] < 0.1\nclass A(A): pass\n" + "q = " + "-" * 3000 + "1\n"
    )
    found = gates({"gate.py": text}, {"m.jsonl": rows(5, loss=lambda i: 0.5)})
    assert all(not g.passed for g in found)


def test_a_value_that_is_not_finite_fails_a_limit(gates: Run) -> None:
    gate = only(
        gates(
            {
                "ci/gate.py": "import json\nr = [json.loads(x) for x in open('m.jsonl')]\nassert r[-1]['loss'] < 3\n"
            },
            {"m.jsonl": '{"step": 1, "loss": NaN}'},
        )
    )
    assert gate.passed is False
    assert gate.actual is not None
    assert math.isnan(gate.actual)


CASE = {
    "tests/functional/utils/test_pipeline.py": 'import common\nTHRESHOLDS = {\n    "lm loss": [common.DeterministicTest(), common.ApproximateTest(atol=0, rtol=0.02)],\n'
    '    "iteration-time": [common.ApproximateTest(atol=0, rtol=0.05)],\n}\n',
    "tests/functional/cases/a/model_config.yaml": "METRICS:\n  - lm loss\n  - iteration-time\n",
    "tests/functional/cases/a/golden_values_dev.json": json.dumps(
        {
            "lm loss": {
                "start_step": 1,
                "end_step": 50,
                "step_interval": 1,
                "values": {str(i): 2.0 for i in range(1, 51)},
            },
            "iteration-time": {"values": {str(i): 0.1 for i in range(1, 51)}},
            "num-zeros": {"values": {str(i): 5 for i in range(1, 51)}},
        }
    ),
    "tests/functional/cases/b/golden_values_dev.json": json.dumps(
        {"lm loss": {"values": {str(i): 9.0 for i in range(1, 51)}}}
    ),
}


def test_an_exact_check_that_alone_fails_is_one_of_policy(gates: Run) -> None:
    metrics = {
        "m.jsonl": rows(
            50,
            **{
                "lm loss": lambda i: 2.0 + (1e-4 if i > 7 else 0),
                "iteration-time": lambda i: 9.0 if i < 6 else 0.104,
                "num-zeros": lambda i: 50.0,
            },
        )
    }
    log = "--golden-values-path tests/functional/cases/a/golden_values_dev.json\nExact comparison of lm loss: FAILED\nThe following metrics failed: lm loss"
    found = {g.name: g for g in gates(CASE, metrics, log)}
    exact, near, time = (
        found[f"{k} comparison of {m}"]
        for k, m in (("Exact", "lm loss"), ("Approximate", "lm loss"), ("Approximate", "iteration-time"))
    )
    assert len(found) == 3  # num-zeros is not asked for, the other case's file is not named
    assert (exact.passed, exact.subject, exact.told) == (False, Subject.POLICY, ("log.txt", 2))
    assert exact.series is not None
    assert (exact.series.first_different, exact.series.over) == (8, 43)
    assert (near.passed, near.rtol, near.path, near.line) == (
        True,
        0.02,
        "tests/functional/utils/test_pipeline.py",
        3,
    )
    assert (time.passed, time.actual, time.limit) == (True, pytest.approx(0.104), pytest.approx(0.1))


def test_an_approximate_check_that_fails_is_one_of_quality(gates: Run) -> None:
    metrics = {"m.jsonl": rows(50, **{"lm loss": lambda i: 2.0 if i < 20 else 2.1})}
    log = "tests/functional/cases/a/golden_values_dev.json\nApproximate comparison of lm loss: FAILED"
    near = next(g for g in gates(CASE, metrics, log) if g.name == "Approximate comparison of lm loss")
    assert (near.passed, near.subject, near.told) == (False, Subject.QUALITY, ("log.txt", 2))
    assert near.series is not None
    assert (near.series.over, near.series.first_over, near.series.allowance) == (31, 20, 1)


def test_of_many_golden_files_none_is_guessed(gates: Run) -> None:
    files = {
        f"cases/{n}/golden_values.json": json.dumps({"loss": {"values": {"1": 2.0, "2": n}}})
        for n in range(5)
    }
    assert gates(files, {"m.jsonl": rows(5, loss=lambda i: 2.0)}) == []
