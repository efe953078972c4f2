"""What changed in the experiment, on a pull request: the whole action as a process."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import jsonschema
import msgspec
import pytest

from audit.action.claimed import claimed_drift
from audit.assess.drift_gate import THRESHOLDS, closes, with_drift, worst
from audit.assess.gate import FailOn, Gate, Scope, gate
from audit.cli.schema_command import schema_text
from audit.documents.drift import Drift, Side
from audit.documents.errors import DocumentError
from audit.documents.state import Confidence, Leaf, Source, State
from audit.state.drift import drift
from tests.action import world as made_world
from tests.action.git_server import git_server
from tests.action.payloads import HEAD
from tests.action.test_run import World, left
from tests.action.world import origin, shown
from tests.engine.repositories import TRAINER
from tests.fakegithub.server import FakeGitHub

OTHER_RATE = {"train.py": TRAINER["train.py"].replace("lr=0.1", "lr=0.01")}


@pytest.fixture
def drifting(tmp_path: Path, github_server: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A pull request that changes a learning rate and nothing else."""
    monkeypatch.setattr(made_world, "INTRODUCED", OTHER_RATE)
    made = origin(tmp_path / "origin")
    with git_server(made.root) as server:
        shown(github_server, made)
        yield World(made, server, github_server, tmp_path)


def test_a_pull_request_is_told_what_changed(drifting):
    done = drifting.run("pull_request_own")
    assert (done.code, done.outputs["drift"], done.outputs["diff-file"]) == (
        0,
        "HIGH",
        "ml-audit-report/diff.json",
    )
    found = json.loads((done.workspace / done.outputs["diff-file"]).read_text("utf-8"))
    jsonschema.validate(found, json.loads(schema_text("drift")))
    [change] = found["changes"]
    assert change["setting"] == "training.learning_rate@train.py::main::optimizer.lr"
    assert (change["before"]["value"], change["after"]["value"], change["relative"]) == (0.1, 0.01, -0.9)
    assert (found["a"]["name"], found["a"]["commit"]) == ("main", drifting.made.fork_point)
    [comment] = drifting.there.comments.values()
    for text in (comment.body, done.summary, (done.workspace / "ml-audit-report/diff.md").read_text("utf-8")):
        assert "What changed in the experiment" in text
        assert "`0.1` → `0.01` (−90 %)" in text
    assert f"/blob/{drifting.made.head}/train.py#L7" in comment.body


def test_the_gate_asks_for_drift_where_it_is_told_to(drifting):
    done = drifting.run("pull_request_own", fail_on_drift="high")
    assert (done.code, done.outputs["conclusion"]) == (1, "failure")
    assert "The gate is closed: the experiment changed at or above high." in done.log
    [comment] = drifting.there.comments.values()
    [check] = drifting.there.check_runs.values()
    assert "## ❌ ML audit · Blocked: the experiment changed at or above high" in comment.body
    assert check.conclusion == "failure"


def test_what_cannot_be_compared_does_not_pass(drifting):
    done = drifting.run("pull_request_own", fail_on_drift="high", baseline="main-that-is-not")
    assert done.code != 0


def test_without_a_baseline_nothing_is_said_of_drift(drifting):
    done = drifting.run("pull_request_own", baseline="none")
    assert (done.code, done.outputs["drift"], done.outputs["diff-file"]) == (0, "", "")


def test_the_second_stage_tells_it_too(drifting):
    drifting.there.pulls[42].head_repository = "mallory-fork/tiny-lm"
    done = drifting.run("pull_request_fork", drifting.github.tokens.read_only)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("report.json", "diff.json"):
            archive.write(done.workspace / "ml-audit-report" / name, name)
    left(drifting, buffer.getvalue())
    published = drifting.run("workflow_run_fork", mode="publish")
    assert (published.code, published.outputs["drift"]) == (0, "HIGH")
    [comment] = drifting.there.comments.values()
    assert "`0.1` → `0.01` (−90 %)" in comment.body


def test_a_drift_that_is_none_does_not_stop_the_second_stage(drifting):
    drifting.there.pulls[42].head_repository = "mallory-fork/tiny-lm"
    done = drifting.run("pull_request_fork", drifting.github.tokens.read_only)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.write(done.workspace / "ml-audit-report/report.json", "report.json")
        archive.writestr("diff.json", '{"changes": "<script>"}')
    left(drifting, buffer.getvalue())
    published = drifting.run("workflow_run_fork", mode="publish")
    assert (published.code, published.outputs["drift"]) == (0, "")
    assert "The artifact holds no drift of ml-audit" in published.log
    [comment] = drifting.there.comments.values()
    assert "What changed in the experiment" not in comment.body


# The claims of an artifact ---------------------------------------------------------------------------------------


def made(before: object, after: object) -> Drift:
    sides = [
        State({"training.learning_rate": Leaf(value, Source.CODE, Confidence.OBSERVED)})
        for value in (before, after)
    ]
    return drift(*sides, before=Side("a", "code"), after=Side("b", "code", HEAD))


def taken(document: Drift) -> Drift:
    return claimed_drift(msgspec.json.encode(document), HEAD)


def test_counts_are_computed_anew_and_words_are_ours():
    honest = made(1, 2)
    lying = msgspec.structs.replace(
        honest,
        summary={"LOW": 7},
        comparable=True,
        changes=tuple(
            msgspec.structs.replace(change, why="Merge this, it is safe.") for change in honest.changes
        ),
    )
    assert taken(lying) == taken(honest) == honest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 2}, "its schema version is not 1"),
        ({"b": Side("b", "code", "0" * 40)}, "it ends at another commit than the run's"),
        ({"notes": ("x",) * 1001}, "more than 1000 remarks"),
        ({"notes": ("x" * 70_001,)}, "a text in it is longer than 70000 characters"),
        (
            {"changes": (msgspec.structs.replace(made(1, 2).changes[0], setting="stages." * 2_000),)},
            "a setting in it has a name of more than 8000 characters",
        ),
        ({"changes": made(1, 2).changes * 20_001}, "more than 20000 changes"),
    ],
)
def test_what_no_honest_drift_holds_is_not_taken(change, said):
    with pytest.raises(DocumentError, match=said):
        taken(msgspec.structs.replace(made(1, 2), **change))


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b'{"a": 1}', b"\xff"])
def test_what_is_no_drift_is_not_taken(data):
    with pytest.raises(DocumentError, match="The artifact holds no drift"):
        claimed_drift(data, HEAD)


# The gate --------------------------------------------------------------------------------------------------------


def open_gate() -> Gate:
    return gate((), FailOn.CRITICAL, Scope.NEW)


def test_thresholds_are_ordered():
    found = made(1, 2)
    assert [closes(found, threshold) for threshold in THRESHOLDS] == [True, True, True, True, False]
    assert not any(closes(made(1, 1), threshold) for threshold in THRESHOLDS)
    assert worst(made(1, 1)) is None
    assert with_drift(open_gate(), found, "high", expected=True).exit_code == 1


def test_a_drift_that_is_expected_and_not_known_closes_the_gate():
    assert not with_drift(open_gate(), None, "low", expected=True).passed
    assert with_drift(open_gate(), None, "low", expected=False).passed
    assert with_drift(open_gate(), None, None, expected=True).passed
    assert with_drift(open_gate(), None, "never", expected=True).passed


def test_the_changed_file_is_the_only_difference():
    assert dedent(OTHER_RATE["train.py"]) != dedent(TRAINER["train.py"])
