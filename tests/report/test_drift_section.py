"""What changed in the experiment, in the comment, the check and the summary."""

import msgspec

from audit.documents.drift import Change, ChangeKind, Drift, DriftSeverity, Side
from audit.documents.place import Place
from audit.documents.report import Tool
from audit.documents.state import Confidence, Leaf, Source
from audit.report import comment, summary
from audit.report.fitting import utf8_bytes, utf16_units
from audit.report.links import Links
from audit.report.story import Story, headline
from tests.report.stories import story

LINKS = Links("https://github.example", "acme/lab", "a" * 40)


def leaf(value: object, file: str = "train.py", line: int = 7) -> Leaf:
    return Leaf(value, Source.CODE, Confidence.OBSERVED, "", Place(file, line))  # type: ignore[arg-type]


def changed(number: int, severity: DriftSeverity = DriftSeverity.HIGH, diff: str = "") -> Change:
    path = f"training.learning_rate@train.py::main{number}::optimizer.lr"
    before, after = ("a\nb", "a\nc") if diff else (0.1, 0.2)
    return Change(
        path,
        ChangeKind.CHANGED,
        severity,
        "It matters.",
        leaf(before),
        leaf(after),
        None if diff else 1.0,
        diff,
    )


def with_drift(*changes: Change) -> Story:
    summary_ = {s.value: sum(c.severity is s for c in changes) for s in DriftSeverity}
    found = Drift(
        1,
        Tool("ml-audit", "0"),
        Side("main", "code"),
        Side(".", "code"),
        not summary_["HIGH"],
        summary_,
        changes,
        0,
    )
    return msgspec.structs.replace(story(), drift=found, links=LINKS)


def test_a_change_stands_in_every_place_with_its_line() -> None:
    told = with_drift(changed(1))
    for text in (comment.render(told), comment.render_check(told), summary.render(told)):
        assert "### What changed in the experiment" in text
        assert "| High | `optimizer.lr (main1)` (`training.learning_rate`) at " in text
        assert f"/acme/lab/blob/{'a' * 40}/train.py#L7" in text
        assert "`0.1` → `0.2` (" in text
        assert "100 %)" in text
        assert "The change<" not in text


def test_no_drift_and_no_change_say_nothing() -> None:
    for told in (story(), with_drift(), with_drift(changed(1, DriftSeverity.NONE))):
        assert "What changed in the experiment" not in comment.render(told)
        assert "What changed in the experiment" not in summary.render(told)


def test_many_changes_are_folded_and_counted() -> None:
    text = comment.render(with_drift(*(changed(n) for n in range(200))))
    assert "<details><summary>All 200 changes</summary>" in text
    assert "170 more in the artifact diff.json" in text
    assert text.count("| High |") == 30


def test_what_hardly_matters_is_folded() -> None:
    assert "<details><summary>The change</summary>" in comment.render(
        with_drift(changed(1, DriftSeverity.LOW))
    )


def test_the_comment_fits_whatever_changed() -> None:
    rows = [changed(n, diff="-x\n" * 3_000) for n in range(2_000)]
    told = with_drift(*rows)
    assert utf16_units(comment.render(told)) <= comment.MAX_COMMENT
    assert utf8_bytes(summary.render(told)) <= summary.MAX_SUMMARY
    for budget in (20_000, 6_000, 1_500):
        assert utf16_units(comment.render(told, budget=budget)) <= budget


def test_differences_of_texts_stand_below_the_table() -> None:
    text = comment.render(with_drift(changed(1, diff="--- before\n+++ after\n-b\n+c")))
    assert "text changed, see below" in text
    assert "```diff\n--- before\n+++ after\n-b\n+c\n```" in text


def test_a_gate_that_drift_closed_says_so() -> None:
    told = story()
    closed = msgspec.structs.replace(
        told.gate, passed=False, blocking=(), drift="the experiment changed at or above high"
    )
    assert (
        headline(msgspec.structs.replace(told, gate=closed))
        == "Blocked: the experiment changed at or above high"
    )
