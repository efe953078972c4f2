"""What is published keeps GitHub's limits whatever a report says, and the state of the pull request is respected."""

from pathlib import Path
from typing import Any

import pytest
from publishing import (
    KEY,
    REPOSITORY,
    Clock,
    destination_of,
    first_findings,
    our_checks,
    our_comments,
    pinned,
    report_of,
    repository,
    run,
    run_told,
    second_findings,
    set_up,
    set_up_again,
)
from report import samples

from audit.assess.gate import FailOn, Scope, gate
from audit.documents.report import Report
from audit.github.check import open_check
from audit.github.destination import CommentMode, Published, Wishes
from audit.github.publish import publish
from tests.fakegithub import Comment, Commit, Contract, FakeGitHub, Pull, fake_github
from tests.fakegithub.limits import MAX_COMMENT
from tests.fakegithub.world import BOT, OTHER_BOT, Account


def published(server: FakeGitHub, pull: Pull, clock: Clock, report: Report, **wishes: Any) -> Published:
    told = {"comment": CommentMode.ALWAYS, "suggestions": True, **wishes}
    destination, effects = destination_of(server, pull), clock.effects()
    check = open_check(destination, Wishes(**told), effects)
    decided = gate(report.findings, FailOn.INFO, Scope.ALL)
    done = publish(report, decided, destination, Wishes(**told), effects, rules=samples.RULES, check=check)
    check.close()
    return done


@pytest.mark.parametrize("count", [1, 120, 2000])
def test_hostile_texts_break_no_limit(github_server: FakeGitHub, tmp_path: Path, count: int) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    summary = tmp_path / "summary.md"
    done = published(github_server, pull, clock, samples.hostile(count), summary=summary, annotations=1000)
    assert done.warnings == ()
    (comment,) = our_comments(github_server)
    assert 0 < len(comment.body) <= 60_000
    (check,) = our_checks(github_server)
    assert check.status == "completed"
    assert summary.stat().st_size <= 2**20


def test_as_many_findings_as_a_bad_day_brings(github_server: FakeGitHub, tmp_path: Path) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    findings = first_findings() * 40
    summary = tmp_path / "summary.md"
    done = published(github_server, pull, clock, report_of(pull, findings), summary=summary, annotations=500)
    assert done.warnings == ()
    (comment,) = our_comments(github_server)
    assert len(comment.body) <= 60_000 < MAX_COMMENT
    (check,) = our_checks(github_server)
    assert 0 < len(check.annotations) <= 500
    batches = [
        request.body["output"].get("annotations", [])
        for request in github_server.asked("PATCH", "/check-runs/")
    ]
    assert max(len(batch) for batch in batches) == 50
    assert clock.seconds < 120


def others_comments(server: FakeGitHub, texts: list[str], author: Account) -> list[Comment]:
    there = repository(server).comments
    made = [
        Comment(1000 + len(there) + number, 1, author, text, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z")
        for number, text in enumerate(texts)
    ]
    there.update({one.id: one for one in made})
    return made


def test_our_comment_is_found_behind_hundreds_of_others(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    others_comments(github_server, [f"comment {number}" for number in range(250)], Account("someone", 7))
    run(github_server, pull, clock, first_findings())
    others_comments(github_server, [f"more {number}" for number in range(150)], Account("someone", 7))
    clock.sleep(3600)
    run(github_server, pull, clock, second_findings(), number=2)
    (ours,) = our_comments(github_server)
    assert run_told(ours) == "2"
    assert len(repository(github_server).comments) == 401


@pytest.mark.parametrize(
    "author", [Account("mallory", 13), OTHER_BOT, Account("github-actions", 14)], ids=lambda one: one.login
)
def test_a_mark_that_others_planted_is_not_taken_for_ours(github_server: FakeGitHub, author: Account) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    (ours,) = our_comments(github_server)
    (planted,) = others_comments(github_server, [ours.body.replace("run=1.1", "run=99.1")], author)
    before = planted.body
    run(github_server, pull, clock, second_findings(), number=2)
    assert run_told(ours) == "2"
    assert planted.body == before


def test_a_newer_run_is_not_overwritten(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings(), number=7)
    (comment,) = our_comments(github_server)
    before = comment.body
    clock.sleep(3600)
    run(github_server, pull, clock, second_findings(), number=6)
    assert comment.body == before
    assert not github_server.asked("PATCH", "/issues/comments/")


def test_a_run_of_an_older_head_says_nothing_more(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    there = repository(github_server)
    old = Pull(**vars(pull))
    newer = there.add_commit(Commit({"train.py": b"all new\n"}, (pull.head_sha,)), "change")
    pull.head_sha = newer.sha
    run(github_server, old, clock, first_findings(), head_sha=old.head_sha)
    assert our_comments(github_server) == []
    assert there.reviews == {}


def test_what_is_said_already_is_not_written_again(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    run(github_server, pull, clock, first_findings(), number=1)
    assert not github_server.asked("POST", "/issues/1/comments")
    assert not github_server.asked("PATCH", "/issues/comments/")
    assert not github_server.asked("POST", "/reviews")


def test_two_workflows_have_a_comment_each(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    run(github_server, pull, clock, second_findings(), number=2, comment_key="nightly/audit")
    assert len(our_comments(github_server)) == 2
    assert len({check.name for check in our_checks(github_server)}) == 2


def test_suggestions_are_made_once_and_put_aside_when_mended(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    there = repository(github_server).review_comments
    assert {one.line for one in there.values()} == {1, 2}
    run(github_server, pull, clock, (pinned(2, "torch"), pinned(3, "scipy")), number=2)
    assert sorted((one.line, one.minimized) for one in there.values()) == [
        (1, "RESOLVED"),
        (2, None),
        (3, None),
    ]
    assert not any(one.resolved for one in there.values())


def test_threads_are_resolved_where_the_token_may(github_server: FakeGitHub) -> None:
    from audit.github.destination import Token

    clock = Clock()
    pull = set_up_again(github_server, clock)
    token = Token(github_server.tokens.maintainer)
    run(github_server, pull, clock, (pinned(2, "torch"),), number=2, token=token)
    there = repository(github_server).review_comments.values()
    assert sorted((one.line, one.resolved, one.minimized) for one in there) == [
        (1, True, None),
        (2, False, None),
    ]


@pytest.mark.parametrize("state", ["locked", "archived", "comments_disabled"])
def test_places_where_nobody_may_write(github_server: FakeGitHub, state: str) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    setattr(pull if state == "locked" else repository(github_server), state, True)
    done = run(github_server, pull, clock, first_findings())
    assert our_comments(github_server) == []
    assert done.published.warnings
    assert all("\n" not in warning for warning in done.published.warnings)


def test_a_repository_that_was_renamed_meanwhile(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    github_server.world.renamed["octo/old"] = REPOSITORY
    done = run(github_server, pull, clock, first_findings(), repository="octo/old")
    assert done.published.warnings == ()
    assert len(our_comments(github_server)) == 1
    assert [check.status for check in our_checks(github_server)] == ["completed"]


def test_an_enterprise_server(enterprise_contract: Contract, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    clock = Clock()
    with fake_github(
        contract=enterprise_contract, prefix="/api/v3", html="https://git.example.org"
    ) as server:
        pull = set_up(server, clock)
        done = run(server, pull, clock, first_findings())
        clock.sleep(3600)
        run(server, pull, clock, second_findings(), number=2)
        assert done.published.warnings == ()
        assert done.published.comment_url.startswith("https://git.example.org/octo/demo/pull/1#issuecomment-")


def test_no_secret_is_said(github_server: FakeGitHub, tmp_path: Path) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    github_server.fault("*", "/(comments|check-runs|reviews)", _echo(github_server.tokens.write))
    summary = tmp_path / "summary.md"
    wishes = Wishes(comment=CommentMode.ALWAYS, suggestions=True, summary=summary)
    done = run(github_server, pull, clock, first_findings(), wishes=wishes)
    told = "\n".join([*clock.said, *done.published.warnings, summary.read_text()])
    assert done.published.warnings
    assert github_server.tokens.write not in told


def _echo(secret: str) -> Any:
    from tests.fakegithub.faults import Fault

    return Fault(403, f"Resource not accessible by {secret}\n::error::{secret}")


def test_the_account_in_whose_name_we_write(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings())
    (comment,) = our_comments(github_server)
    assert comment.author == BOT
    assert f"key={KEY.replace('-', '%2D')}" in comment.body
