"""What is published keeps GitHub's limits whatever a report says, and the state of the pull request is respected."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from publishing import (
    REPOSITORY,
    Clock,
    destination_of,
    first_findings,
    our_checks,
    our_comments,
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
from audit.github.destination import CommentMode, Published, Token, Wishes
from audit.github.publish import publish
from tests.fakegithub import Contract, FakeGitHub, Pull, fake_github
from tests.fakegithub.faults import CUT_AFTER_COMMIT, FORBIDDEN, SERVER_ERROR, Fault
from tests.fakegithub.limits import MAX_COMMENT


def published(server: FakeGitHub, pull: Pull, clock: Clock, report: Report, **wishes: Any) -> Published:
    told = {"comment": CommentMode.ALWAYS, "suggestions": True, **wishes}
    destination, effects = destination_of(server, pull), clock.effects()
    check = open_check(destination, Wishes(**told), effects)
    decided = gate(report.findings, FailOn.INFO, Scope.ALL)
    done = publish(report, decided, destination, Wishes(**told), effects, rules=samples.RULES, check=check)
    check.close()
    return done


@pytest.mark.parametrize("count", [1, 1000])
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
    findings = first_findings() * 10
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


def test_two_workflows_have_a_comment_each(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    run(github_server, pull, clock, second_findings(), number=2, comment_key="nightly/audit")
    assert len(our_comments(github_server)) == 2
    assert len({check.name for check in our_checks(github_server)}) == 2


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


@pytest.mark.parametrize("fault", [None, FORBIDDEN, SERVER_ERROR, CUT_AFTER_COMMIT], ids=str)
def test_a_twin_that_two_runs_at_once_made_is_removed(github_server: FakeGitHub, fault: Fault | None) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    (ours,) = our_comments(github_server)
    twin = replace(ours, id=ours.id - 1)
    repository(github_server).comments[twin.id] = twin
    if fault:
        github_server.fault("DELETE", "/issues/comments/", fault)
    done = run(github_server, pull, clock, second_findings(), number=2)
    assert done.published.warnings == ()
    assert run_told(ours) == "2"
    assert our_comments(github_server) == ([ours] if fault in (None, CUT_AFTER_COMMIT) else [ours, twin])


def test_a_twin_of_a_newer_run_is_left(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up_again(github_server, clock)
    (ours,) = our_comments(github_server)
    twin = replace(ours, id=ours.id - 1, body=ours.body.replace("run=1.1", "run=9.1"))
    repository(github_server).comments[twin.id] = twin
    run(github_server, pull, clock, second_findings(), number=2)
    assert [run_told(one) for one in our_comments(github_server)] == ["1", "9"]


@pytest.mark.parametrize("secret", ["plain-secret-of-an-enterprise", "v1.0123456789abcdef"])
def test_no_secret_is_said(github_server: FakeGitHub, tmp_path: Path, secret: str) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    github_server.fault("*", "/", Fault(403, f"Resource not accessible by {secret}\n::error::{secret}"))
    summary = tmp_path / "summary.md"
    wishes = Wishes(comment=CommentMode.ALWAYS, suggestions=True, summary=summary)
    done = run(github_server, pull, clock, first_findings(), wishes=wishes, token=Token(secret))
    told = "\n".join([*clock.said, *done.published.warnings, summary.read_text()])
    assert done.published.warnings
    assert secret not in told
