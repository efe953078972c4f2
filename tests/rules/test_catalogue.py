"""The catalogue: what running rules gives, whatever a rule does."""

from collections import Counter
from collections.abc import Iterable

import pytest

from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.rules.catalogue import RULES, rule, run
from audit.rules.rule import Context, Outcome, Rule, failed, passed
from tests.rules.factory import context

DIMENSIONS = frozenset(
    "environment determinism documentation testing ci_cd benchmarking data configuration".split()
)


def a_rule(identifier: str, *outcomes: Outcome, severity: Severity = Severity.WARNING) -> Rule:
    def check(given: Context) -> Iterable[Outcome]:
        yield from outcomes

    return Rule(identifier, severity, "t", "w", "mend it", "testing", 1, "p", "f", check)


def test_ids_are_unique_and_name_their_category() -> None:
    assert not [name for name, count in Counter(each.id for each in RULES).items() if count > 1]
    assert rule("code.commit").category == "code"
    with pytest.raises(KeyError):
        rule("code.nothing")


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.id)
def test_a_rule_says_everything_that_its_page_needs(each: Rule) -> None:
    assert all((each.title, each.why, each.fix, each.passing, each.failing))
    assert (each.dimension in DIMENSIONS and 0 < each.points <= 10) or (each.dimension, each.points) == (
        "",
        0,
    )
    assert 0 <= each.security_severity <= 10
    assert (each.category == "security") <= (each.security_severity > 0)
    assert each.level == 0 or each.category not in ("code", "environment", "security")


def test_every_rule_answers_for_an_empty_repository() -> None:
    findings = run(context({"README.md": ""}))
    assert {finding.rule for finding in findings} == {each.id for each in RULES}
    assert not [finding.message for finding in findings if "fault of the audit" in finding.message]


def test_every_message_is_one_sentence() -> None:
    for finding in run(context({"train.py": "import torch\n"})):
        assert finding.message.endswith((".", ";")), finding
        assert "\n" not in finding.message


def test_a_rule_that_raises_is_not_checked() -> None:
    def check(given: Context) -> Iterable[Outcome]:
        yield passed("fine")
        raise ZeroDivisionError

    broken = Rule("x.broken", Severity.CRITICAL, "t", "w", "f", "testing", 1, "p", "f", check)
    (finding,) = run(context(), [broken])
    assert finding.status is Status.NOT_CHECKED
    assert (
        finding.message
        == "This rule failed on the repository (ZeroDivisionError); that is a fault of the audit."
    )


def test_a_rule_without_an_answer_is_not_checked() -> None:
    (finding,) = run(context(), [a_rule("x.silent")])
    assert finding.status is Status.NOT_CHECKED


def test_failures_come_first_by_severity_rule_path_and_line() -> None:
    late = a_rule(
        "b.late",
        failed("two.", Place("b.py", 9)),
        failed("one.", Place("b.py", 1)),
        failed("zero.", Place("a.py", 50)),
    )
    grave = a_rule("z.grave", failed("grave."), severity=Severity.CRITICAL)
    fine = a_rule("a.fine", passed("fine."))
    assert [finding.message for finding in run(context(), [fine, late, grave])] == [
        "grave.",
        "zero.",
        "one.",
        "two.",
        "fine.",
    ]


def test_fingerprints_do_not_move_with_lines_or_messages() -> None:
    before = run(context(), [a_rule("x.y", failed("numpy at 3.", Place("r.txt", 3), key="numpy"))])
    after = run(context(), [a_rule("x.y", failed("numpy at 8.", Place("r.txt", 8), key="NumPy"))])
    other = run(context(), [a_rule("x.y", failed("scipy at 3.", Place("r.txt", 3), key="scipy"))])
    assert before[0].fingerprint == after[0].fingerprint != other[0].fingerprint
    assert len(before[0].fingerprint) == 64


def test_equal_findings_are_told_apart_by_their_order() -> None:
    twice = a_rule("x.y", failed("a.", Place("r.txt", 1), key="k"), failed("b.", Place("r.txt", 2), key="k"))
    first, second = run(context(), [twice])
    assert first.fingerprint != second.fingerprint


def test_a_failure_carries_the_fix_of_its_rule_unless_it_has_its_own() -> None:
    findings = run(context(), [a_rule("x.y", failed("a."), failed("b.", fix="otherwise"), passed("c."))])
    assert [finding.fix.text if finding.fix else None for finding in findings] == [
        "mend it",
        "otherwise",
        None,
    ]


def test_paths_that_are_not_utf8_have_fingerprints() -> None:
    (finding,) = run(context(), [a_rule("x.y", failed("a.", Place("bad\udcff.py", 1)))])
    assert len(finding.fingerprint) == 64


def test_two_runs_give_the_same_findings() -> None:
    files = {"train.py": "import torch\ntorch.load('x')\n", "requirements.txt": "torch>=2\nnumpy\n"}
    assert run(context(files)) == run(context(files))
