"""Test reports and MLPerf logs."""

import json
from pathlib import Path

import pytest

from audit.telemetry.model import Outcome
from audit.telemetry.registry import read, read_bytes

PYTEST = """<?xml version="1.0"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="2" skipped="2" tests="6" time="1.5">
<testcase classname="tests.test_a" name="test_ok[1-2]" time="0.1"/>
<testcase classname="tests.test_a.TestThing" name="test_bad" time="0.2"><failure message="assert 1 == 2&#10; more">trace</failure></testcase>
<testcase classname="tests.test_a" name="test_surprise"><failure message="[XPASS(strict)] known">x</failure></testcase>
<testcase classname="tests.test_a" name="test_skip"><skipped type="pytest.skip" message="no gpu"/></testcase>
<testcase classname="tests.test_a" name="test_known"><skipped type="pytest.xfail" message="known"/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>"""


def test_pytests_own_xml() -> None:
    (results,) = read_bytes("junit.xml", PYTEST.encode()).tests
    assert [(case.id, case.outcome) for case in results.cases] == [
        ("tests/test_a.py::test_ok[1-2]", Outcome.PASSED),
        ("tests/test_a.py::TestThing::test_bad", Outcome.FAILED),
        ("tests/test_a.py::test_surprise", Outcome.XPASSED),
        ("tests/test_a.py::test_skip", Outcome.SKIPPED),
        ("tests/test_a.py::test_known", Outcome.XFAILED),
        ("tests/test_b.py", Outcome.ERROR),
    ]
    assert results.declared == {"tests": 6, "failures": 2, "errors": 1, "skipped": 2}
    assert (results.cases[1].message, results.cases[1].text, results.seconds) == (
        "assert 1 == 2",
        "trace",
        1.5,
    )


@pytest.mark.parametrize(("xml", "expected", "declared"), [
    # GoogleTest
    ('<testsuites tests="3" failures="1" disabled="1" time="0.5"><testsuite name="Math" tests="3" failures="1">'
     '<testcase name="Adds" status="run" classname="Math"/><testcase name="Off" status="notrun" classname="Math"/>'
     '<testcase name="Subs" status="run" classname="Math"><failure message="Expected 1"/></testcase></testsuite></testsuites>',
     [("Math.Adds", Outcome.PASSED), ("Math.Off", Outcome.SKIPPED), ("Math.Subs", Outcome.FAILED)], {"tests": 3, "failures": 1, "disabled": 1}),
    # CTest
    ('<testsuite name="Linux" tests="2" failures="1"><testcase name="t1" classname="t1" status="run"/>'
     '<testcase name="t2" classname="t2" status="fail"><failure message="Failed"/></testcase></testsuite>',
     [("t1.t1", Outcome.PASSED), ("t2.t2", Outcome.FAILED)], {"tests": 2, "failures": 1}),
    # Surefire: it failed at first and passed in the end
    ('<testsuite name="A" tests="1" errors="0" failures="0"><testcase name="a" classname="com.A"><flakyFailure message="once"/></testcase></testsuite>',
     [("com.A.a", Outcome.PASSED)], {"tests": 1, "errors": 0, "failures": 0}),
    # several suites without a total
    ('<testsuites><testsuite name="a" tests="1" failures="0"><testcase name="x" classname="a"/></testsuite><testsuite name="b" tests="1" failures="1">'
     '<testcase name="y" classname="b"><failure>text only</failure></testcase></testsuite></testsuites>',
     [("a.x", Outcome.PASSED), ("b.y", Outcome.FAILED)], {"tests": 2, "failures": 1}),
    # suites within suites count once
    ('<testsuites><testsuite name="all" tests="2" failures="0"><testsuite name="in" tests="2" failures="0">'
     '<testcase name="x"/><testcase name="y"/></testsuite></testsuite></testsuites>',
     [("x", Outcome.PASSED), ("y", Outcome.PASSED)], {"tests": 2, "failures": 0}),
])  # fmt: skip
def test_dialects(xml: str, expected: list[tuple[str, Outcome]], declared: dict[str, int]) -> None:
    (results,) = read_bytes("report.xml", xml.encode()).tests
    assert [(case.id, case.outcome) for case in results.cases] == expected
    assert results.declared == declared


def test_a_cut_report_is_read_up_to_the_cut() -> None:
    found = read_bytes("junit.xml", PYTEST[: PYTEST.index("test_skip")].encode())
    assert len(found.tests[0].cases) == 3
    assert "no whole XML" in found.gaps[0].why


def test_entities_are_refused() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuites><testcase name="&b;"/></testsuites>'
    found = read_bytes("junit.xml", bomb.encode())
    assert "not read" in found.gaps[0].why


def test_other_xml_is_no_report() -> None:
    assert (
        read_bytes("coverage.xml", b"<?xml version='1.0'?><coverage line-rate='0.9'/>").gaps[0].why
        == "no format that is known here"
    )


def test_pytest_json_report() -> None:
    document = {
        "exitcode": 1, "duration": 2.5, "summary": {"failed": 1, "passed": 1, "total": 2, "collected": 2},
        "tests": [
            {"nodeid": "tests/a.py::t1", "outcome": "passed", "setup": {"duration": 0.1, "outcome": "passed"}, "call": {"duration": 0.2, "outcome": "passed"}},
            {"nodeid": "tests/a.py::t2", "outcome": "failed", "call": {"duration": 0.1, "outcome": "failed", "longrepr": "trace",
             "crash": {"path": "/w/tests/a.py", "lineno": 7, "message": "assert 1\n x"}}},
        ],
        "collectors": [{"nodeid": "tests/b.py", "outcome": "failed", "longrepr": "ImportError"}],
    }  # fmt: skip
    (results,) = read_bytes("report.json", json.dumps(document).encode()).tests
    assert [(case.id, case.outcome, case.line) for case in results.cases] == [
        ("tests/a.py::t1", Outcome.PASSED, None), ("tests/a.py::t2", Outcome.FAILED, 7), ("tests/b.py", Outcome.ERROR, None),
    ]  # fmt: skip
    assert (results.exit_code, results.declared["failed"], results.cases[1].text) == (1, 1, "trace")
    assert results.cases[0].seconds == pytest.approx(0.3)


def _mllog(time: int, key: str, value: object = None, kind: str = "POINT_IN_TIME", **metadata: object) -> str:
    return ":::MLLOG " + json.dumps(
        {
            "namespace": "",
            "time_ms": time,
            "event_type": kind,
            "key": key,
            "value": value,
            "metadata": metadata,
        }
    )


def test_mlperf_log(tmp_path: Path) -> None:
    lines = [
        "0: " + _mllog(1000, "global_batch_size", 64),
        _mllog(2000, "run_start", kind="INTERVAL_START"),
        _mllog(5000, "eval_accuracy", 3.5, epoch_num=1),
        _mllog(9000, "eval_accuracy", 3.25, epoch_num=2),
        ":::MLLOG {broken",
        _mllog(9500, "run_stop", kind="INTERVAL_END", status="success", epoch_num=2),
    ]
    (tmp_path / "result_0.txt").write_text("\n".join(lines))
    found = read([tmp_path])
    (series,) = found.series
    assert (series.name, series.axis, list(series.steps), list(series.values)) == (
        "eval_accuracy",
        "epoch_num",
        [1, 2],
        [3.5, 3.25],
    )
    (run,) = found.runs
    assert (run.status, run.started, run.ended, run.settings["global_batch_size"]) == (
        "success",
        2.0,
        9.5,
        64,
    )
    assert found.gaps[0].why == "1 :::MLLOG lines are no JSON"
    assert [event.line for event in found.events] == [1, 2, 3, 4, 6]
