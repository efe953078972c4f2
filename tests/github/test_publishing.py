"""What publishing leaves on GitHub: one comment that only its own and newer runs change, a check run that always ends, suggestions that are
made once.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from github_runner import commands
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
    second_findings,
    set_up,
)
from report import samples

from audit.assess.gate import FailOn, Scope, gate
from audit.documents.finding import Finding, Severity
from audit.github.check import open_check
from audit.github.destination import CommentMode, Token, Wishes
from audit.github.marker import Mark, read_mark
from audit.github.publish import links_of, publish, publish_trouble
from audit.report.trouble import AuditTrouble
from tests.fakegithub import Comment, FakeGitHub, faults
from tests.fakegithub.world import BOT, OTHER_BOT, Account

ALWAYS = Wishes(comment=CommentMode.ALWAYS)


def comment_of(
    server: FakeGitHub, body: str, author: Account = BOT, updated: str = "2026-01-01T00:00:00Z"
) -> Comment:
    """A comment that is there already."""
    number = next(server.world.ids)
    made = Comment(number, 1, author, body, updated, updated)
    repository(server).comments[number] = made
    return made


def mark(sha: str, run: int = 1, attempt: int = 1, key: str = KEY) -> str:
    return str(Mark(key, sha, run, attempt))


# --- the comment ----------------------------------------------------------------------------------------------


def test_one_comment_is_kept_up_to_date(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    first = run(github_server, pull, clock, first_findings())
    [comment] = our_comments(github_server)
    assert first.published.comment_url == f"https://github.com/octo/demo/pull/1#issuecomment-{comment.id}"
    assert "Mend before merging (120)" in comment.body
    clock.sleep(60)
    second = run(github_server, pull, clock, second_findings(), number=2)
    [comment] = our_comments(github_server)
    assert second.published.comment_url == first.published.comment_url
    assert "Mend before merging (61)" in comment.body
    assert read_mark(comment.body) == Mark(KEY, pull.head_sha, 2, 1)
    assert len(comment.body) <= 60_000


def test_what_says_the_same_is_not_written_again(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, (), wishes=ALWAYS)
    before = len(github_server.asked("PATCH", "/issues/comments/"))
    again = run(github_server, pull, clock, (), number=2, wishes=ALWAYS)
    assert len(github_server.asked("PATCH", "/issues/comments/")) == before
    assert again.published.comment_url
    assert "The comment says all this already." in "\n".join(clock.said)


@pytest.mark.parametrize(("number", "attempt"), [(9, 1), (1, 2)])
def test_a_newer_run_s_comment_stays(github_server: FakeGitHub, number: int, attempt: int) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    newer = comment_of(github_server, mark(pull.head_sha, number, attempt) + "\nof a newer run")
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    assert newer.body.endswith("of a newer run")
    assert len(our_comments(github_server)) == 1
    assert done.published.warnings == ()


def test_a_pull_request_that_moved_on_is_not_spoken_about(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    old = pull.head_sha
    head = {"requirements.txt": b"numpy\n"}
    moved = github_server.add_pull(REPOSITORY, {"train.py": b""}, head)
    done = run(
        github_server, moved, clock, (pinned(1, "numpy"),), wishes=Wishes(suggestions=True), head_sha=old
    )
    assert our_comments(github_server) == []
    assert repository(github_server).reviews == {}
    assert done.published.warnings == ()
    assert "newer commit" in "\n".join(clock.said)


@pytest.mark.parametrize("author", [OTHER_BOT, Account("octocat", 583231), Account("github-actions", 7)])
def test_a_mark_that_others_wrote_is_not_ours(github_server: FakeGitHub, author: Account) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    planted = comment_of(github_server, mark(pull.head_sha) + "\nplanted", author)
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    assert planted.body.endswith("planted")
    assert len(our_comments(github_server)) == 2


def test_a_mark_within_a_text_is_quoted(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    quoted = comment_of(github_server, f"look: {mark(pull.head_sha)}")
    other = comment_of(github_server, mark(pull.head_sha, key="nightly/audit") + "\nof another workflow")
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    assert quoted.body.startswith("look: ")
    assert other.body.endswith("of another workflow")
    assert len(repository(github_server).comments) == 3


def test_ours_is_found_on_any_page_and_of_several_the_newest_is_left(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    for number in range(130):
        comment_of(github_server, f"chatter {number}", Account("octocat", 583231))
    comment_of(github_server, mark(pull.head_sha) + "\nolder", updated="2026-01-02T00:00:00Z")
    newest = comment_of(github_server, mark(pull.head_sha) + "\nnewest", updated="2026-01-05T00:00:00Z")
    comment_of(github_server, mark(pull.head_sha) + "\nlast made", updated="2026-01-03T00:00:00Z")
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS, number=4)
    assert read_mark(newest.body) == Mark(KEY, pull.head_sha, 4, 1)
    assert len(repository(github_server).comments) == 131


def test_another_app_s_token_keeps_its_own_comment(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    token = Token(github_server.tokens.other_app)
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS, token=token)
    run(github_server, pull, clock, second_findings(), wishes=ALWAYS, token=token, number=2)
    [comment] = our_comments(github_server)
    assert comment.author == OTHER_BOT


def test_without_graphql_a_person_s_comment_is_found_too(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    github_server.fault("POST", "/graphql", faults.NOT_FOUND)
    wishes = Wishes(comment=CommentMode.ALWAYS, check_run=False)
    for number in (1, 2):
        token = Token(github_server.tokens.person)
        findings = first_findings() if number == 1 else second_findings()
        run(github_server, pull, clock, findings, wishes=wishes, token=token, number=number)
    assert len(our_comments(github_server)) == 1


def _counted(findings: tuple[Finding, ...], new: int | None, fixed: int | None) -> Any:
    return {"findings": findings, "summary": samples.summary(findings, new, fixed)}


KNOWN = tuple(msgspec.structs.replace(finding, new=False) for finding in first_findings()[:3])


@pytest.mark.parametrize(
    ("mode", "findings", "new", "fixed", "written"),
    [
        (CommentMode.ALWAYS, (), 0, 0, True),
        (CommentMode.CHANGES, (), 0, 0, False),
        (CommentMode.CHANGES, (), 0, 1, True),
        (CommentMode.CHANGES, KNOWN, 0, 0, False),
        (CommentMode.CHANGES, first_findings()[:1], 1, 0, True),
        (CommentMode.CHANGES, KNOWN, None, None, True),
        (CommentMode.CHANGES, (), None, None, False),
        (CommentMode.FINDINGS, KNOWN, 0, 0, True),
        (CommentMode.FINDINGS, (), 0, 3, False),
        (CommentMode.OFF, first_findings(), 120, 0, False),
    ],
)
def test_the_modes(
    github_server: FakeGitHub,
    mode: CommentMode,
    findings: tuple[Finding, ...],
    new: int | None,
    fixed: int | None,
    written: bool,
) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    counts = samples.summary(findings, new, fixed)
    report = msgspec.structs.replace(report_of(pull, findings), summary=counts)
    decided = gate(findings, FailOn.CRITICAL, Scope.NEW)
    destination = destination_of(github_server, pull)
    wishes = Wishes(comment=mode, check_run=False)
    done = publish(report, decided, destination, wishes, clock.effects(), rules={})
    assert bool(our_comments(github_server)) is written
    assert bool(done.comment_url) is written
    assert done.warnings == ()


@pytest.mark.parametrize("mode", [CommentMode.CHANGES, CommentMode.FINDINGS, CommentMode.ALWAYS])
def test_a_comment_that_is_there_does_not_go_on_telling_what_is_over(
    github_server: FakeGitHub, mode: CommentMode
) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    run(github_server, pull, clock, (), wishes=Wishes(comment=mode), number=2)
    [comment] = our_comments(github_server)
    assert "✅ ML audit · Passed" in comment.body


def test_a_locked_conversation_is_told(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    pull.locked = True
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    [warning] = done.published.warnings
    assert "issue is locked" in warning


# --- the check run --------------------------------------------------------------------------------------------


def test_the_check_has_all_annotations_and_a_conclusion(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    done = run(github_server, pull, clock, first_findings())
    [check] = our_checks(github_server)
    assert (check.status, check.conclusion, len(check.annotations)) == ("completed", "failure", 120)
    assert check.title == "Blocked: 120 new warning findings"
    assert check.name == f"ML audit ({KEY})"
    assert done.published.check_url == f"https://github.com/octo/demo/runs/{check.id}"
    sizes = [
        len((request.body.get("output") or {}).get("annotations", []))
        for request in github_server.asked("PATCH", "/check-runs/")
    ]
    assert sizes == [50, 50, 20, 0]
    assert not [line for line in commands("\n".join(clock.said)) if line.startswith("::warning file")]


def test_what_is_over_the_cap_is_told(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings(), wishes=Wishes(annotations=7))
    [check] = our_checks(github_server)
    assert len(check.annotations) == 7
    assert "113 findings more are not annotated: at most 7 are." in (check.summary or "")


def test_a_passed_gate_is_a_success(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, ())
    assert [check.conclusion for check in our_checks(github_server)] == ["success"]


def test_a_check_that_nobody_completed_is_closed(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    check = open_check(destination_of(github_server, pull), Wishes(), clock.effects())
    assert check.is_open
    check.close()
    assert [(one.status, one.conclusion) for one in our_checks(github_server)] == [("completed", "cancelled")]
    check.close()
    assert len(github_server.asked("PATCH", "/check-runs/")) == 1


def test_a_batch_that_github_refuses_costs_only_itself(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    github_server.fault("PATCH", "/check-runs/", faults.UNPROCESSABLE, times=1)
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    [check] = our_checks(github_server)
    assert (check.conclusion, len(check.annotations)) == ("failure", 70)
    [warning] = done.published.warnings
    assert "did not take 50 of 120 annotations" in warning


def test_the_log_says_of_no_finding_that_it_is_not_annotated_where_the_check_has_it(
    github_server: FakeGitHub,
) -> None:
    clock = Clock()
    run(github_server, set_up(github_server, clock), clock, first_findings())
    assert "not annotated" not in "\n".join(clock.said)


def test_without_a_check_the_log_has_the_annotations(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    done = run(
        github_server,
        pull,
        clock,
        first_findings(),
        wishes=ALWAYS,
        token=Token(github_server.tokens.no_checks),
    )
    marks = [line for line in clock.said if line.startswith("::warning file=")]
    assert 0 < len(marks) <= 10
    [warning] = done.published.warnings
    assert "`checks: write`" in warning
    assert [line for line in clock.said if line.startswith("::warning title=ml-audit::The check run was not")]


# --- suggestions ----------------------------------------------------------------------------------------------


def test_suggestions_are_made_once_and_put_aside_when_mended(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    first = run(github_server, pull, clock, first_findings())
    made = list(repository(github_server).review_comments.values())
    assert [(one.path, one.line) for one in made] == [("requirements.txt", 1), ("requirements.txt", 2)]
    assert "```suggestion\nnumpy==1.0\n```" in made[0].body
    assert first.published.review_url
    again = run(github_server, pull, clock, first_findings(), number=2)
    assert len(repository(github_server).review_comments) == 2
    assert again.published.review_url == ""
    run(github_server, pull, clock, second_findings(), number=3)
    now = list(repository(github_server).review_comments.values())
    assert [one.line for one in now] == [1, 2, 3]
    # The workflow's token may not resolve a thread (that takes contents: write): the comment is hidden as resolved.
    assert [one.minimized for one in now] == ["RESOLVED", None, None]


def test_a_token_that_may_resolves_the_thread(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    token = Token(github_server.tokens.maintainer)
    run(github_server, pull, clock, first_findings(), token=token)
    run(github_server, pull, clock, (pinned(2, "torch"),), token=token, number=2)
    resolved = [one.resolved for one in repository(github_server).review_comments.values()]
    assert resolved == [True, False]


def test_edits_outside_of_the_diff_are_not_suggested(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, (pinned(9, "numpy"),))
    assert repository(github_server).reviews == {}


# --- the whole ------------------------------------------------------------------------------------------------


def test_a_summary_is_added_and_tells_what_else_failed(github_server: FakeGitHub, tmp_path: Path) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    wishes = Wishes(comment=CommentMode.ALWAYS, summary=path)
    run(
        github_server,
        pull,
        clock,
        first_findings(),
        wishes=wishes,
        token=Token(github_server.tokens.read_only),
    )
    text = path.read_text()
    assert text.startswith("before\n## ❌ ML audit · Blocked: 120 new warning findings\n")
    assert (
        "The check run and the comment were not written. The token lacks `checks: write` and `pull-requests: write`"
        in text
    )


def test_a_full_summary_is_left_alone(github_server: FakeGitHub, tmp_path: Path) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 1_000_000)
    done = run(github_server, pull, clock, (), wishes=Wishes(summary=path))
    assert path.stat().st_size == 1_000_000
    assert any("summary" in warning for warning in done.published.warnings)
    missing = run(github_server, pull, clock, (), wishes=Wishes(summary=tmp_path / "no" / "file"), number=2)
    assert any("GITHUB_STEP_SUMMARY" in warning for warning in missing.published.warnings)


def test_a_fork_s_token_costs_no_request_and_one_sentence(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    why = "A fork's run has a read-only token; the second workflow writes it."
    wishes = Wishes(
        comment=CommentMode.ALWAYS, suggestions=True, may_comment=False, may_check=False, why_not=why
    )
    done = run(github_server, pull, clock, first_findings(), wishes=wishes)
    assert done.published.warnings == (f"The check run and the comment were not written. {why}",)
    assert not [request for request in github_server.requests if request.method != "GET"]
    assert [line for line in clock.said if line.startswith("::notice title=ml-audit::The check run and")]


def test_an_audit_that_failed_replaces_what_was_said_before(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    destination = destination_of(github_server, pull, 2)
    check = open_check(destination, ALWAYS, clock.effects())
    trouble = AuditTrouble("`.ml-audit/config.yaml` is not valid: @you [x](y).", "Mend line 3.")
    publish_trouble(trouble, destination, ALWAYS, clock.effects(), check=check)
    [comment] = our_comments(github_server)
    assert "⚠ ML audit · Not done" in comment.body
    assert "`.ml-audit/config.yaml`" in comment.body
    assert "@you" not in comment.body
    assert our_checks(github_server)[-1].conclusion == "failure"


def test_a_fault_of_ours_is_told_and_fails_nothing(github_server: FakeGitHub, monkeypatch: Any) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)

    def broken(*_: Any, **__: Any) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr("audit.report.comment.render", broken)
    monkeypatch.setattr("audit.report.comment.render_check", broken)
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    assert any("ZeroDivisionError" in warning for warning in done.published.warnings)
    [check] = our_checks(github_server)
    assert (check.status, check.conclusion, check.title) == ("completed", "failure", "Blocked")


def test_hostile_findings_break_no_limit(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    report = msgspec.structs.replace(samples.hostile(400), commit=pull.head_sha, repository=REPOSITORY)
    decided = gate(report.findings, FailOn.INFO, Scope.ALL)
    destination = destination_of(github_server, pull)
    wishes = Wishes(comment=CommentMode.ALWAYS, suggestions=True)
    effects = clock.effects()
    check = open_check(destination, wishes, effects)
    done = publish(report, decided, destination, wishes, effects, rules=samples.evil_rules(), check=check)
    assert done.warnings == ()
    assert github_server.violations == []
    forged = [
        line
        for line in commands("\n".join(clock.said))
        if not line.startswith(("::error ", "::warning ", "::notice "))
    ]
    assert forged == []


def test_links_lead_to_what_was_audited(github_server: FakeGitHub) -> None:
    pull = set_up(github_server, Clock())
    destination = destination_of(github_server, pull, path_prefix="part")
    own = links_of(report_of(pull, ()), destination)
    assert own is not None
    assert (own.repository, own.prefix) == (REPOSITORY, "part")
    other = links_of(samples.report(repository="other/repo", commit="a" * 40), destination)
    assert other is not None
    assert (other.repository, other.prefix) == ("other/repo", "")
    assert links_of(samples.report(commit=None), destination) is None
    assert links_of(samples.report(repository="/some/folder"), destination) is None


def test_no_secret_is_shown(github_server: FakeGitHub) -> None:
    pull = set_up(github_server, Clock())
    destination = destination_of(github_server, pull)
    assert github_server.tokens.write not in repr(destination)
    assert github_server.tokens.write not in str(destination)


# --- a repository's own templates -----------------------------------------------------------------------------


def _with_template(server: FakeGitHub, clock: Clock, files: dict[str, bytes]) -> Any:
    pull = set_up(server, clock)
    base = {f".ml-audit/templates/{name}": text for name, text in files.items()}
    head = {"train.py": b"x\n", ".ml-audit/templates/comment.md.j2": b"of the head\n"}
    return server.add_pull(REPOSITORY, {"train.py": b"", **base}, head, number=pull.number)


def test_the_base_branch_s_template_is_used_and_never_the_head_s(github_server: FakeGitHub) -> None:
    clock = Clock()
    template = b'{% extends "comment.md.j2" %}\n{% block foot %}Ask the platform team.\n{% endblock %}\n'
    pull = _with_template(github_server, clock, {"comment.md.j2": template, "other.md.j2": b"x"})
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    [comment] = our_comments(github_server)
    assert comment.body.endswith("Ask the platform team.\n")
    assert "Mend before merging (120)" in comment.body
    assert done.published.warnings == ()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (b"{% for x in y %}", "line 1"),
        (b"{{ ''.__class__ }}", "unsafe"),
        (b"{{ no_such_thing }}", "no_such_thing"),
        (b"\xff", None),
    ],
)
def test_a_template_that_does_not_work_gives_way_to_ours(
    github_server: FakeGitHub, template: bytes, why: str | None
) -> None:
    clock = Clock()
    pull = _with_template(github_server, clock, {"comment.md.j2": template})
    done = run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    [comment] = our_comments(github_server)
    assert "Mend before merging (120)" in comment.body
    warnings = [warning for warning in done.published.warnings if "comment.md.j2" in warning]
    assert len(warnings) == (1 if why else 0)
    assert why is None or why in warnings[0]


def test_a_template_that_is_too_long_whatever_it_is_given(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = _with_template(github_server, clock, {"comment.md.j2": b"long " * 14_000})
    run(github_server, pull, clock, first_findings(), wishes=ALWAYS)
    [comment] = our_comments(github_server)
    assert "Mend before merging (120)" in comment.body


def test_severities(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    findings = tuple(
        msgspec.structs.replace(finding, severity=severity)
        for finding, severity in zip(
            first_findings(), (Severity.INFO, Severity.CRITICAL, Severity.WARNING), strict=False
        )
    )
    run(github_server, pull, clock, findings)
    [check] = our_checks(github_server)
    assert [one["annotation_level"] for one in check.annotations] == ["failure", "warning", "notice"]
