import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.assess.baseline import compare, renames
from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from tests.assess.samples import finding


def news(head, base, head_blobs=None, base_blobs=None):
    blobs = head_blobs if head_blobs is not None else {"train.py": "1"}
    done = compare(head, base, head_blobs=blobs, base_blobs=base_blobs)
    return [each.new for each in done.findings], done.new, done.fixed


def test_the_same_finding_on_another_line_is_not_new():
    head, base = (
        [finding(place=("train.py", 90), fingerprint="f")],
        [finding(place=("train.py", 3), fingerprint="f")],
    )
    assert news(head, base) == ([False], 0, 0)


def test_new_and_fixed_are_counted():
    head = [finding(fingerprint="f", message="F."), finding(fingerprint="g", message="G.")]
    base = [finding(fingerprint="f", message="F."), finding(fingerprint="h", message="H.")]
    assert news(head, base) == ([False, True], 1, 1)


def test_a_second_finding_of_the_same_kind_is_new():
    head = [finding(fingerprint="f"), finding(fingerprint="f")]
    assert news(head, [finding(fingerprint="f")]) == ([False, True], 1, 0)


def test_only_failures_are_marked():
    head = [finding(status=Status.PASS), finding(status=Status.NOT_CHECKED)]
    assert news(head, []) == ([None, None], 0, 0)


def test_what_the_base_had_suppressed_is_not_new():
    base = [finding(status=Status.SUPPRESSED, message="It is so. Suppressed: We know.", fingerprint="f")]
    assert news([finding(fingerprint="f")], base) == ([False], 0, 0)


def test_what_is_suppressed_now_is_neither_new_nor_fixed():
    head = [finding(status=Status.SUPPRESSED, message="It is so. Suppressed: We know.", fingerprint="f")]
    assert news(head, [finding(fingerprint="f")]) == ([None], 0, 0)


def test_a_file_of_the_same_content_under_a_new_name():
    head = [finding(message="In src/train.py it is so.", place=("src/train.py", 3), fingerprint="new")]
    base = [finding(message="In train.py it is so.", place=("train.py", 3), fingerprint="old")]
    assert news(head, base, {"src/train.py": "1"}, {"train.py": "1"}) == ([False], 0, 0)


def test_a_file_renamed_and_changed_keeps_its_findings_and_not_more():
    head = [
        finding(message="In src/train.py it is so.", place=("src/train.py", 3), fingerprint="n1"),
        finding(message="Something else.", place=("src/train.py", 9), fingerprint="n2"),
    ]
    base = [finding(message="In train.py it is so.", place=("train.py", 3), fingerprint="old")]
    assert news(head, base, {"src/train.py": "2"}, {"train.py": "1"}) == ([False, True], 1, 0)


@pytest.mark.parametrize("base_blobs", [{"train.py": "1"}, None])
def test_a_renamed_file_whose_lines_moved_keeps_a_finding_that_names_its_line(base_blobs):
    head = [finding(message="Drawn at src/train.py:14.", place=("src/train.py", 14), fingerprint="new")]
    base = [finding(message="Drawn at train.py:13.", place=("train.py", 13), fingerprint="old")]
    assert news(head, base, {"src/train.py": "2"}, base_blobs) == ([False], 0, 0)


def test_a_copy_of_a_file_that_stays_brings_new_findings():
    head = [
        finding(place=("train.py", 3), fingerprint="old"),
        finding(place=("copy.py", 3), fingerprint="new"),
    ]
    base = [finding(place=("train.py", 3), fingerprint="old")]
    assert news(head, base, {"train.py": "1", "copy.py": "1"}, {"train.py": "1"}) == ([False, True], 1, 0)


def test_the_same_words_in_a_file_that_was_there_before_are_new():
    head = [finding(place=("b.py", 1), fingerprint="b")]
    base = [finding(place=("a.py", 1), fingerprint="a")]
    assert news(head, base, {"b.py": "2"}, {"a.py": "1", "b.py": "1"}) == ([True], 1, 1)


def test_against_a_report_file_a_moved_file_is_known_by_its_words():
    head = [finding(message="In b.py it is so.", place=("b.py", 1), fingerprint="b")]
    base = [finding(message="In a.py it is so.", place=("a.py", 1), fingerprint="a")]
    assert news(head, base, {"b.py": "2"}) == ([False], 0, 0)
    assert news(head, base, {"a.py": "1", "b.py": "2"}) == ([True], 1, 1)


def test_renames_needs_exactly_one_of_each():
    assert renames({"b": "1"}, {"a": "1"}) == {"a": "b"}
    assert renames({"b": "1", "c": "1"}, {"a": "1"}) == {}
    assert renames({"c": "1"}, {"a": "1", "b": "1"}) == {}
    assert renames({"a": "1", "b": "1"}, {"a": "1"}) == {}
    assert renames({"b": "2"}, {"a": "1"}) == {}


FINDINGS = st.lists(
    st.builds(
        lambda rule, path, print_, status: finding(rule, place=(path, 1), fingerprint=print_, status=status),
        st.sampled_from(["a.one", "a.two"]),
        st.sampled_from(["a.py", "b.py", "c.py"]),
        st.sampled_from(["", "f", "g", "h"]),
        st.sampled_from(Status),
    ),
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(FINDINGS, FINDINGS)
def test_nothing_is_lost_or_counted_twice(head, base):
    done = compare(head, base, head_blobs={"a.py": "1", "b.py": "2"}, base_blobs={"a.py": "1", "c.py": "3"})
    failing = [f for f in done.findings if f.status is Status.FAIL]
    assert [f.message for f in done.findings] == [f.message for f in head]
    assert all(f.new in (True, False) for f in failing)
    assert done.new == sum(f.new is True for f in failing)
    assert 0 <= done.fixed <= sum(f.status is Status.FAIL for f in base)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(FINDINGS)
def test_compared_with_itself_nothing_is_new_or_fixed(findings):
    blobs = {"a.py": "1", "b.py": "2", "c.py": "3"}
    done = compare(findings, findings, head_blobs=blobs, base_blobs=blobs)
    assert (done.new, done.fixed) == (0, 0)


def _collected(*notes: str) -> Finding:
    places = tuple(Place("requirements.txt", line, note) for line, note in enumerate(notes, 1))
    return Finding(
        "environment.pins", "environment", Severity.WARNING, Status.FAIL, 0, "Loose.", places, None, "same"
    )


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        (("torch", "numpy"), ("torch", "numpy"), False),
        (("torch", "numpy"), ("numpy", "torch"), False),
        (("torch", "numpy"), ("torch",), False),
        (("torch",), ("torch", "transformers"), True),
        (("torch",), ("transformers",), True),
        (("", ""), ("", "", ""), True),
        (("at line 3",), ("at line 30",), False),
        (("", "and 3 more"), ("", "and 2 more"), False),
        (("", "and 3 more"), ("", "and 4 more"), True),
        (("a", "b", "c; and 1 more"), ("a", "c"), False),
        (("a", "b"), ("a", "a; and 1 more"), True),
    ],
)
def test_a_collected_finding_is_new_when_it_holds_something_more(before, after, new):
    comparison = compare([_collected(*after)], [_collected(*before)], head_blobs={}, base_blobs={})
    assert [f.new for f in comparison.findings] == [new]
    assert (comparison.new, comparison.fixed) == (int(new), 0)


def _listed(words: str, *places: tuple[str, str]) -> Finding:
    evidence = tuple(Place(path, 1, note) for path, note in places)
    return Finding("hub.pins", "hub", Severity.WARNING, Status.FAIL, 0, words, evidence, None, words)


def test_a_collection_whose_order_follows_renamed_files_is_known_by_what_it_holds():
    base = [_listed("Two models (a and b).", ("x.py", "a"), ("y.py", "b"))]
    head = [_listed("Two models (b and a).", ("a.py", "b"), ("x.py", "a"))]
    assert news(head, base, {"x.py": "1", "a.py": "2"}, {"x.py": "1", "y.py": "3"}) == ([False], 0, 0)
    other = [_listed("Two models (c and a).", ("a.py", "c"), ("x.py", "a"))]
    assert news(other, base, {"x.py": "1", "a.py": "2"}, {"x.py": "1", "y.py": "3"}) == ([True], 1, 1)


def test_a_single_thing_elsewhere_is_not_taken_for_the_one_that_is_gone():
    base = [_listed("One model (a) in x.py.", ("x.py", "a"))]
    head = [_listed("One model (a) in z.py.", ("z.py", "a"))]
    assert news(head, base, {"x.py": "1", "z.py": "2"}, {"x.py": "1", "z.py": "2"}) == ([True], 1, 1)


def test_what_is_missing_in_the_whole_repository_is_the_same_wherever_it_is_shown():
    nowhere = finding(message="No file says it.", place=None, fingerprint="a")
    somewhere = finding(message="No file says it.", place=("setup.py", None), fingerprint="b")
    elsewhere = finding(message="No file says it.", place=("other.py", None), fingerprint="c")
    blobs = {"setup.py": "1", "other.py": "2"}
    for head, base in ((nowhere, somewhere), (somewhere, nowhere)):
        assert news([head], [base], blobs, blobs) == ([False], 0, 0)
    assert news([somewhere], [elsewhere], blobs, blobs) == ([True], 1, 1)
