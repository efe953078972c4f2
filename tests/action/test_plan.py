"""One row for each event: what is audited, against what, and where the result may be written."""

import dataclasses
from pathlib import Path

import msgspec
import pytest

from audit.action.event import Event, EventError, parse_event, read_event
from audit.action.plan import Checkout, Elsewhere, MergeBase, Named, PlanError, PullHead, Stage, plan
from audit.assess.gate import Scope
from audit.github.destination import CommentMode
from tests.action.payloads import BASE, EVENTS, HEAD, RUNNER, TOKEN, event_of, inputs_of, planned, recorded


@dataclasses.dataclass(frozen=True)
class Row:
    event: str
    target: Checkout | PullHead
    baseline: MergeBase | None
    scope: Scope
    sha: str = HEAD
    pull: int | None = None
    comments: bool = False
    checks: bool = True
    why: str = ""
    no_baseline: str = ""


AT_HEAD = Checkout(".", HEAD)
READS_ONLY = "A run for a fork's pull request has a token that may only read; a second workflow can write it (workflow_run, mode: publish)."
DEPENDABOT = "A run that Dependabot started has a token that may only read; a second workflow can write it (workflow_run, mode: publish)."
ROWS = (
    Row("pull_request_own", AT_HEAD, MergeBase(BASE, "main"), Scope.NEW, pull=42, comments=True),
    Row("pull_request_rerun", AT_HEAD, MergeBase(BASE, "main"), Scope.NEW, pull=42, comments=True),
    Row(
        "pull_request_fork",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        pull=42,
        checks=False,
        why=READS_ONLY,
    ),
    Row(
        "pull_request_dependabot",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        pull=43,
        checks=False,
        why=DEPENDABOT,
    ),
    Row(
        "pull_request_deleted_head",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        pull=42,
        checks=False,
        why=READS_ONLY,
    ),
    Row(
        "pull_request_review_fork",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        pull=42,
        checks=False,
        why=READS_ONLY,
    ),
    Row(
        "pull_request_closed",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        pull=42,
        checks=False,
        why="The pull request is closed.",
    ),
    Row("pull_request_target_fork", AT_HEAD, MergeBase(BASE, "main"), Scope.NEW, pull=42, comments=True),
    Row(
        "push_branch",
        AT_HEAD,
        MergeBase(BASE, "the commit before the push"),
        Scope.ALL,
        why="A push has no pull request to comment on.",
    ),
    Row(
        "push_new_branch",
        AT_HEAD,
        MergeBase("main", "main"),
        Scope.ALL,
        why="A push has no pull request to comment on.",
    ),
    Row(
        "push_first",
        AT_HEAD,
        None,
        Scope.ALL,
        why="A push has no pull request to comment on.",
        no_baseline="The branch is new, and there is no other to compare it with.",
    ),
    Row(
        "push_tag",
        AT_HEAD,
        None,
        Scope.ALL,
        why="A push has no pull request to comment on.",
        no_baseline="A tag has no earlier state.",
    ),
    Row(
        "merge_group",
        AT_HEAD,
        MergeBase(BASE, "main"),
        Scope.NEW,
        why="A merge queue's commit has no pull request of its own to comment on.",
    ),
    Row("workflow_run_own", AT_HEAD, MergeBase(BASE, "main"), Scope.NEW, pull=42, comments=True),
    Row(
        "workflow_run_fork",
        AT_HEAD,
        None,
        Scope.NEW,
        why="The run names no pull request of this repository to comment on.",
        no_baseline="The run names no pull request to compare with.",
    ),
    Row(
        "schedule",
        Checkout("."),
        None,
        Scope.ALL,
        sha=BASE,
        why="The event schedule has no pull request to comment on.",
        no_baseline="The event schedule has nothing that it could be compared with.",
    ),
    Row(
        "workflow_dispatch",
        Checkout("."),
        None,
        Scope.ALL,
        sha=BASE,
        why="The event workflow_dispatch has no pull request to comment on.",
        no_baseline="The event workflow_dispatch has nothing that it could be compared with.",
    ),
    Row(
        "issue_comment_pull",
        PullHead(".", 42),
        MergeBase("", "the base branch"),
        Scope.NEW,
        sha=BASE,
        pull=42,
        comments=True,
    ),
    Row(
        "issue_comment_issue",
        Checkout("."),
        None,
        Scope.ALL,
        sha=BASE,
        why="The event issue_comment has no pull request to comment on.",
        no_baseline="The event issue_comment has nothing that it could be compared with.",
    ),
    Row(
        "release",
        Checkout("."),
        None,
        Scope.ALL,
        why="The event release has no pull request to comment on.",
        no_baseline="The event release has nothing that it could be compared with.",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.event)
def test_what_each_event_asks_for(row):
    made = planned(row.event)
    assert made.stage is Stage.AUDIT
    assert (made.target, made.baseline, made.no_baseline, made.scope) == (
        row.target,
        row.baseline,
        row.no_baseline,
        row.scope,
    )
    assert (made.destination.head_sha, made.destination.pull_number) == (row.sha, row.pull)
    assert (made.wishes.may_comment, made.wishes.may_check, made.wishes.why_not) == (
        row.comments,
        row.checks,
        row.why,
    )


def test_every_recorded_event_is_in_a_test():
    elsewhere = {"push_deletion", "workflow_run_push", "workflow_run_cancelled", "workflow_run_deleted_head"}
    assert {file.stem for file in EVENTS.glob("*.json")} == {row.event for row in ROWS} | elsewhere


def test_the_destination_holds_what_the_runner_says():
    to = planned("pull_request_rerun", annotations="7", comment="findings", check_run="false").destination
    assert (to.repository, to.run_id, to.run_attempt, to.workflow, to.job) == (
        "deep-lab/tiny-lm",
        5501,
        2,
        "CI",
        "audit",
    )
    assert (to.api_url, to.graphql_url, to.server_url) == tuple(
        RUNNER[f"GITHUB_{name}_URL"] for name in ("API", "GRAPHQL", "SERVER")
    )
    assert to.comment_key == "CI/audit"
    assert to.base_ref == BASE
    assert to.token.value == TOKEN
    assert TOKEN not in repr(to)


def test_the_wishes_are_the_inputs():
    wishes = planned(
        "pull_request_own", annotations="7", comment="findings", check_run="false", suggestions="true"
    ).wishes
    assert (wishes.annotations, wishes.comment, wishes.check_run, wishes.suggestions) == (
        7,
        CommentMode.FINDINGS,
        False,
        True,
    )
    assert wishes.summary == Path("/github/file_commands/step_summary_1")


def test_templates_never_come_from_a_forks_head():
    for name in ("pull_request_fork", "pull_request_target_fork", "workflow_run_fork", "issue_comment_pull"):
        assert planned(name).destination.base_ref == BASE


@pytest.mark.parametrize(
    ("name", "is_change"),
    [
        ("pull_request_fork", True),
        ("issue_comment_pull", True),
        ("merge_group", True),
        ("workflow_run_fork", True),
        ("push_branch", False),
        ("schedule", False),
    ],
)
def test_what_is_proposed_may_not_be_its_own_judge(name, is_change):
    assert planned(name).is_change is is_change
    assert not planned(name, repo_url="octo/demo").is_change


def test_a_deleted_branch_has_nothing_to_audit():
    made = planned("push_deletion")
    assert (made.stage, made.why) == (
        Stage.NOTHING,
        "refs/heads/cosine was deleted; there is nothing to audit.",
    )
    assert not made.wishes.check_run


def test_dependabots_push_may_only_read():
    environ, _ = recorded("push_branch")
    made = plan(event_of("push_branch"), {**environ, "GITHUB_ACTOR": "dependabot[bot]"}, inputs_of())
    assert not made.wishes.may_check


@pytest.mark.parametrize(
    ("given", "baseline", "scope"),
    [
        ({"baseline": "none"}, None, Scope.NEW),
        ({"baseline": "none", "fail_on_scope": "all"}, None, Scope.ALL),
        ({"baseline": "release/1.x"}, Named("release/1.x"), Scope.NEW),
        (
            {"baseline": "audit/baseline.json", "fail_on_scope": "all"},
            Named("audit/baseline.json"),
            Scope.ALL,
        ),
    ],
)
def test_a_baseline_that_is_asked_for(given, baseline, scope):
    made = planned("pull_request_own", **given)
    assert (made.baseline, made.scope) == (baseline, scope)


def test_another_repository_gets_a_summary_and_nothing_else():
    made = planned(
        "workflow_dispatch",
        repo_url="https://github.com/other-lab/big-model",
        ref="v2.0",
        repo_token="x" * 40,
    )
    assert made.target == Elsewhere("https://github.com/other-lab/big-model", "v2.0")
    assert (made.baseline, made.scope, made.destination.pull_number, made.destination.base_ref) == (
        None,
        Scope.ALL,
        None,
        None,
    )
    wishes = made.wishes
    assert (wishes.comment, wishes.check_run, wishes.may_check, wishes.may_comment) == (
        CommentMode.OFF,
        False,
        False,
        False,
    )
    assert wishes.summary is not None


def test_another_repository_gets_no_comment_on_a_pull_request_either():
    made = planned("pull_request_own", repo_url="other-lab/big-model")
    assert (made.wishes.comment, made.wishes.check_run, made.destination.pull_number) == (
        CommentMode.OFF,
        False,
        None,
    )


def test_another_commit_of_this_repository():
    made = planned("schedule", ref="v1.0", path="model")
    assert made.target == Checkout("model", "v1.0")
    assert made.wishes.comment is CommentMode.OFF


@pytest.mark.parametrize("name", ["workflow_run_fork", "workflow_run_deleted_head", "workflow_run_own"])
def test_the_second_stage_publishes_in_the_first_runs_name(name):
    made = planned(name, mode="publish")
    assert made.stage is Stage.PUBLISH
    assert made.run is not None
    to = made.destination
    assert (to.head_sha, to.pull_number, to.run_id, to.comment_key) == (HEAD, None, 9900001, "ml-audit/audit")
    assert to.run_attempt == (2 if name == "workflow_run_fork" else 1)
    assert to.base_ref == BASE
    # What a fork claims of itself must never be a green check.
    assert (made.wishes.check_run, made.wishes.suggestions, made.wishes.may_comment) == (False, False, True)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (
            "workflow_run_push",
            "The run was started by push, not by a pull request; its report stands in its own summary.",
        ),
        ("workflow_run_cancelled", "The run ended as cancelled, so it left no report."),
    ],
)
def test_the_second_stage_has_nothing_to_publish(name, why):
    made = planned(name, mode="publish")
    assert (made.stage, made.why) == (Stage.NOTHING, why)


def test_publishing_belongs_to_workflow_run():
    with pytest.raises(PlanError, match='mode has the value "publish", which needs the event workflow_run'):
        planned("pull_request_own", mode="publish")


def test_outside_of_a_runner_it_says_so():
    with pytest.raises(PlanError, match="not a runner of GitHub Actions"):
        plan(Event("push"), {}, inputs_of())


def test_the_plan_is_a_function():
    assert planned("pull_request_own") == planned("pull_request_own")


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"{",
        b'{"pull_request": {"number": 0, "head": {"sha": "x"}, "base": {"sha": "y"}}}',
        b'{"pull_request": {"number": 1, "head": {"sha": "$(id)"}, "base": {"sha": "' + b"a" * 40 + b'"}}}',
        b'{"repository": {"full_name": "a/b/c"}}',
        b'{"after": "--upload-pack=x"}',
    ],
)
def test_a_payload_that_is_not_githubs_is_refused(data):
    with pytest.raises(EventError):
        parse_event("pull_request", data)


def test_the_events_file(tmp_path):
    file = tmp_path / "event.json"
    file.write_text('{"action": "created"}')
    assert read_event({"GITHUB_EVENT_NAME": "x", "GITHUB_EVENT_PATH": str(file)}).payload.action == "created"
    assert read_event({"GITHUB_EVENT_NAME": "x"}).payload == msgspec.convert({}, type(Event("x").payload))
    with pytest.raises(EventError, match="cannot be read"):
        read_event({"GITHUB_EVENT_NAME": "x", "GITHUB_EVENT_PATH": str(tmp_path / "no.json")})
