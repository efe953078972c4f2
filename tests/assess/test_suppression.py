import pytest

from audit.assess.config import Ignore
from audit.assess.suppression import Comment, names_rule, suppress
from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from tests.assess.samples import finding

KNOWN = ("a.one", "a.two", "b.one")


def statuses(findings, *, ignores=(), comments=()):
    done = suppress(findings, ignores=ignores, comments=comments, known=KNOWN)
    return [(each.rule, each.status.value) for each in done]


def test_an_ignore_suppresses_and_its_reason_is_shown():
    ignore = Ignore(rule="a.one", reason="We know.")
    first, second = suppress([finding("a.one"), finding("a.two")], ignores=[ignore], comments=[], known=KNOWN)
    assert (first.status, first.message) == (Status.SUPPRESSED, "It is so. Suppressed: We know.")
    assert (second.status, second.message) == (Status.FAIL, "It is so.")


def test_a_whole_category():
    ignore = Ignore(rule="a.*", reason="We know.")
    assert statuses([finding("a.one"), finding("b.one")], ignores=[ignore]) == [
        ("a.one", "suppressed"),
        ("b.one", "fail"),
    ]


@pytest.mark.parametrize(
    ("pattern", "rule", "expected"),
    [
        ("a.one", "a.one", True),
        ("a.one", "a.one.more", False),
        ("a.*", "a.one", True),
        ("a.*", "ab.one", False),
        ("a.*", "a", False),
    ],
)
def test_names_rule(pattern, rule, expected):
    assert names_rule(pattern, rule) is expected


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("train.py",), "suppressed"),
        (("*.py",), "suppressed"),
        (("src/",), "fail"),
        (("train.py", "src/"), "suppressed"),
        (("train",), "fail"),
    ],
)
def test_paths_choose_where(paths, expected):
    ignore = Ignore(rule="a.one", reason="We know.", paths=paths)
    assert statuses([finding("a.one")], ignores=[ignore]) == [("a.one", expected)]


def test_a_finding_with_a_place_outside_of_the_paths_stays():
    both = finding("a.one")
    both = type(both)(
        *[
            (Place("vendor/x.py", 1), Place("own.py", 2)) if n == "evidence" else getattr(both, n)
            for n in both.__struct_fields__
        ]
    )
    ignore = Ignore(rule="a.one", reason="We know.", paths=("vendor/",))
    assert statuses([both], ignores=[ignore]) == [("a.one", "fail")]


def test_a_finding_of_the_whole_repository_is_in_no_path():
    ignore = Ignore(rule="a.one", reason="We know.", paths=("*",))
    assert statuses([finding("a.one", place=None)], ignores=[ignore]) == [("a.one", "fail")]


@pytest.mark.parametrize(
    ("line", "expected"), [(1, "fail"), (2, "suppressed"), (3, "suppressed"), (4, "fail")]
)
def test_a_comment_speaks_for_its_line_and_the_next(line, expected):
    comment = Comment("train.py", 2, ("a.one",), "We know.")
    assert statuses([finding("a.one", place=("train.py", line))], comments=[comment]) == [("a.one", expected)]


def test_a_comment_of_another_file_or_rule_does_nothing():
    comments = [
        Comment("other.py", 3, ("a.one",), "We know."),
        Comment("train.py", 3, ("a.two",), "We know."),
    ]
    assert statuses([finding("a.one")], comments=comments) == [("a.one", "fail")]


def test_a_comment_without_a_reason_suppresses_nothing_and_is_reported():
    findings = suppress(
        [finding("a.one")], ignores=[], comments=[Comment("train.py", 3, ("a.one",), "")], known=KNOWN
    )
    assert [(f.rule, f.status, f.severity) for f in findings] == [
        ("a.one", Status.FAIL, Severity.WARNING),
        ("suppression.reason", Status.FAIL, Severity.WARNING),
    ]
    assert findings[1].evidence == (Place("train.py", 3),)
    assert findings[1].fingerprint


def test_a_rule_that_does_not_exist_is_reported():
    ignore = Ignore(rule="a.oen", reason="We know.")
    comment = Comment("train.py", 3, ("a.tow",), "We know.")
    findings = suppress([], ignores=[ignore], comments=[comment], known=KNOWN)
    assert [(f.rule, f.message, f.evidence[0].path) for f in findings] == [
        ("suppression.unknown-rule", "There is no rule called a.tow.", "train.py"),
        ("suppression.unknown-rule", "There is no rule called a.oen.", ".ml-audit/config.yaml"),
    ]


def test_what_passed_is_not_suppressed():
    ignore = Ignore(rule="a.*", reason="We know.")
    assert statuses([finding("a.one", status=Status.PASS)], ignores=[ignore]) == [("a.one", "pass")]


class TestCollectedFindings:
    """One finding that stands in several places."""

    FINDING = Finding(
        "security.torch_load",
        "security",
        Severity.WARNING,
        Status.FAIL,
        0,
        "In 2 places.",
        (Place("a.py", 3), Place("b.py", 9)),
    )

    def _status(self, *comments: Comment) -> Status:
        [found, *_] = suppress([self.FINDING], ignores=(), comments=comments, known=["security.torch_load"])
        return found.status

    def test_a_comment_at_one_place_hides_nothing(self):
        assert self._status(Comment("a.py", 3, ("security.torch_load",), "ours")) is Status.FAIL
        assert self._status(Comment("b.py", 9, ("security.torch_load",), "ours")) is Status.FAIL

    def test_comments_at_every_place_accept_it(self):
        both = (
            Comment("a.py", 2, ("security.*",), "ours"),
            Comment("b.py", 9, ("security.torch_load",), "theirs"),
        )
        assert self._status(*both) is Status.SUPPRESSED

    def test_a_comment_without_a_reason_is_none(self):
        both = (
            Comment("a.py", 3, ("security.torch_load",), "ours"),
            Comment("b.py", 9, ("security.torch_load",), ""),
        )
        assert self._status(*both) is Status.FAIL
