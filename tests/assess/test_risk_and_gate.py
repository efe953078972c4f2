import pytest

from audit.assess.gate import FailOn, Scope, gate
from audit.assess.risk import risk
from audit.documents.finding import Severity, Status
from tests.assess.samples import finding

CRITICAL = [finding(f"a.{n}", Severity.CRITICAL) for n in range(3)]


@pytest.mark.parametrize(
    ("score", "findings", "expected"),
    [
        (8.5, [], "LOW"),
        (8.4, [], "MEDIUM"),
        (6.0, [], "MEDIUM"),
        (5.9, [], "HIGH"),
        (10.0, CRITICAL[:1], "MEDIUM"),
        (10.0, CRITICAL[:2], "MEDIUM"),
        (10.0, CRITICAL, "HIGH"),
        (10.0, [CRITICAL[0]] * 9, "MEDIUM"),
        (10.0, [finding("a.x", Severity.CRITICAL, Status.SUPPRESSED)] * 9, "LOW"),
        (10.0, [finding("a.x", Severity.WARNING)] * 9, "LOW"),
    ],
)
def test_risk(score, findings, expected):
    assert risk(score, findings) == expected


@pytest.mark.parametrize(
    ("fail_on", "severity", "closed"),
    [
        ("critical", Severity.CRITICAL, True),
        ("critical", Severity.WARNING, False),
        ("warning", Severity.CRITICAL, True),
        ("warning", Severity.WARNING, True),
        ("warning", Severity.INFO, False),
        ("info", Severity.INFO, True),
        ("never", Severity.CRITICAL, False),
    ],
)
def test_the_gate_closes_at_or_above_the_threshold(fail_on, severity, closed):
    decided = gate([finding(severity=severity)], FailOn(fail_on), Scope.ALL)
    assert decided.passed is not closed
    assert decided.exit_code == int(closed)
    assert len(decided.blocking) == int(closed)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.FAIL])
def test_only_failures_close_it(status):
    assert gate([finding(severity=Severity.CRITICAL, status=status)], FailOn.INFO, Scope.ALL).passed


@pytest.mark.parametrize(("new", "passed"), [(True, False), (False, True), (None, False)])
def test_with_scope_new_what_the_baseline_has_does_not_count_and_what_is_not_known_does(new, passed):
    assert gate([finding(severity=Severity.CRITICAL, new=new)], FailOn.CRITICAL, Scope.NEW).passed is passed


def test_with_scope_all_what_the_baseline_has_counts():
    assert not gate([finding(severity=Severity.CRITICAL, new=False)], FailOn.CRITICAL, Scope.ALL).passed
