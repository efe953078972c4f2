"""Every endpoint that publishing uses, with every fault: the gate stays, nothing is written twice, one sentence tells what
failed, the other channels do their work, and nobody waits for long.
"""

import time
from pathlib import Path

import pytest
from publishing import (
    Clock,
    Run,
    first_findings,
    our_checks,
    our_comments,
    repository,
    run,
    run_told,
    second_findings,
    set_up,
    set_up_again,
)
from test_publishing_verdict import told, verdict

from audit.engine.exit_codes import ExitCode
from tests.fakegithub import FakeGitHub, faults
from tests.fakegithub.faults import Fault, Moment

_REPO = "/repos/{owner}/{repo}"
COMMENT, CHECK, REVIEW, TEMPLATES = "comment", "check run", "review", "templates"
ENDPOINTS = {
    f"GET {_REPO}/pulls/{{pull_number}}": {COMMENT, REVIEW},
    f"GET {_REPO}/issues/{{issue_number}}/comments": {COMMENT},
    f"POST {_REPO}/issues/{{issue_number}}/comments": {COMMENT},
    f"PATCH {_REPO}/issues/comments/{{comment_id}}": {COMMENT},
    f"POST {_REPO}/check-runs": {CHECK},
    f"PATCH {_REPO}/check-runs/{{check_run_id}}": {CHECK},
    f"GET {_REPO}/pulls/{{pull_number}}/comments": {REVIEW},
    f"GET {_REPO}/pulls/{{pull_number}}/files": {REVIEW},
    f"POST {_REPO}/pulls/{{pull_number}}/reviews": {REVIEW},
    "POST /graphql": {COMMENT, REVIEW},
    f"GET {_REPO}/contents/{{path}}": {TEMPLATES},
}
"""What publishing asks, and which channel cannot do without the answer."""
LOOKUPS = {
    f"GET {_REPO}/check-runs/{{check_run_id}}",
    f"GET {_REPO}/commits/{{ref}}/check-runs",
    f"GET {_REPO}/pulls/{{pull_number}}/reviews",
}
"""Asked only where the answer to a write was lost."""
LASTING = (
    faults.UNAUTHORIZED,
    faults.FORBIDDEN,
    faults.primary_limit(1800),
    faults.secondary_limit(60),
    faults.secondary_limit(None),
    faults.NOT_FOUND,
    faults.CONFLICT,
    faults.GONE,
    faults.UNPROCESSABLE,
    faults.too_many(10),
    faults.too_many(None),
    faults.SERVER_ERROR,
    faults.BAD_GATEWAY,
    faults.UNAVAILABLE,
    faults.BAD_GATEWAY_AFTER_COMMIT,
    faults.CUT,
    faults.CUT_AFTER_COMMIT,
    faults.CUT_SHORT,
    faults.NOT_JSON,
    faults.redirect(),
    faults.redirect(status=307),
)
PASSING = (
    faults.primary_limit(20),
    faults.secondary_limit(20),
    faults.secondary_limit(None),
    faults.too_many(5),
    faults.SERVER_ERROR,
    faults.BAD_GATEWAY,
    faults.UNAVAILABLE,
    faults.BAD_GATEWAY_AFTER_COMMIT,
    faults.CUT,
    faults.CUT_AFTER_COMMIT,
    faults.CUT_SHORT,
)
CREATING = f"POST {_REPO}/issues/{{issue_number}}/comments"
OPENING = f"POST {_REPO}/check-runs"
OPENING_SECONDS = 30.0
"""How long an audit waits at most for its check run to be opened."""
BUDGET = 200.0
"""Seconds for opening the check, publishing and closing the check, with all waiting."""


def pattern(endpoint: str) -> tuple[str, str]:
    """The endpoint as method and regular expression of its paths."""
    method, _, template = endpoint.partition(" ")
    parts = ["[^/]+" if part.startswith("{") else part for part in template.split("/")]
    if parts[-2:] == ["contents", "[^/]+"]:
        parts[-1] = ".+"
    return method, f"^{'/'.join(parts)}$"


def set_fault(server: FakeGitHub, endpoint: str, fault: Fault, times: int | None = None) -> None:
    server.fault(*pattern(endpoint), fault, times=times)


def twice(
    server: FakeGitHub, clock: Clock, endpoint: str, fault: Fault, times: int | None, timeout: float = 5.0
) -> Run:
    """The run that meets the fault. Creating a comment is a first run's work, changing one that of a second."""
    first = endpoint == CREATING
    pull = set_up(server, clock) if first else set_up_again(server, clock)
    started = clock.now()
    set_fault(server, endpoint, fault, times)
    done = run(server, pull, clock, second_findings(), number=1 if first else 2, timeout=timeout)
    assert clock.now() - started <= BUDGET
    assert any(request.fault for request in server.requests)
    server.switches.clear()
    return done


def number_of(endpoint: str) -> int:
    """Which run met the fault."""
    return 1 if endpoint == CREATING else 2


def once_each(server: FakeGitHub) -> None:
    """What must never be there twice."""
    assert len(our_comments(server)) <= 1
    external = [check.external_id for check in our_checks(server)]
    assert len(external) == len(set(external))
    for check in our_checks(server):
        places = [(one["path"], one["start_line"], one["message"]) for one in check.annotations]
        assert len(places) == len(set(places))
    suggested = [one.body for one in repository(server).review_comments.values()]
    assert len(suggested) == len(set(suggested))


def channel_is_complete(server: FakeGitHub, channel: str, number: int) -> bool:
    """Whether the channel holds what the run had to say."""
    if channel == COMMENT:
        return [run_told(one) for one in our_comments(server)] == [str(number)]
    if channel == CHECK:
        newest = max(our_checks(server), key=lambda check: check.id, default=None)
        if newest is None or not (newest.external_id or "").endswith(f":{number}.1"):
            return False
        return (newest.status, newest.conclusion, len(newest.annotations)) == ("completed", "failure", 61)
    lines = {one.line for one in repository(server).review_comments.values() if "suggestion" in one.body}
    return 3 in lines


def clear(warnings: tuple[str, ...], server: FakeGitHub) -> None:
    """One sentence or two on one line, about something, without a secret."""
    for warning in warnings:
        assert 20 < len(warning) < 900
        assert "\n" not in warning
        assert server.tokens.write not in warning
        assert "Traceback" not in warning


@pytest.mark.parametrize("fault", LASTING, ids=str)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_fault_that_stays(github_server: FakeGitHub, endpoint: str, fault: Fault) -> None:
    clock = Clock()
    done = twice(github_server, clock, endpoint, fault, None)
    number = number_of(endpoint)
    assert done.gate.exit_code == ExitCode.GATE
    once_each(github_server)
    clear(done.published.warnings, github_server)
    affected = ENDPOINTS[endpoint]
    assert len(done.published.warnings) <= len(affected)
    for channel in {COMMENT, CHECK, REVIEW} - affected:
        assert channel_is_complete(github_server, channel, number), channel
    if not all(channel_is_complete(github_server, channel, number) for channel in affected):
        assert done.published.warnings


@pytest.mark.parametrize("fault", PASSING, ids=str)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_fault_that_passes(github_server: FakeGitHub, endpoint: str, fault: Fault) -> None:
    clock = Clock()
    done = twice(github_server, clock, endpoint, fault, 1)
    number = number_of(endpoint)
    once_each(github_server)
    if endpoint == OPENING and fault.asks_for >= OPENING_SECONDS:
        assert len(done.published.warnings) == 1
        return
    assert done.published.warnings == ()
    for channel in (COMMENT, CHECK, REVIEW):
        assert channel_is_complete(github_server, channel, number), channel


REFUSALS = (
    faults.UNAUTHORIZED,
    faults.FORBIDDEN,
    faults.NOT_FOUND,
    faults.CONFLICT,
    faults.GONE,
    faults.UNPROCESSABLE,
    faults.primary_limit(1800),
    faults.redirect(),
)


@pytest.mark.parametrize("fault", REFUSALS, ids=str)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_one_refusal_costs_one_thing(github_server: FakeGitHub, endpoint: str, fault: Fault) -> None:
    done = twice(github_server, Clock(), endpoint, fault, 1)
    once_each(github_server)
    assert len(done.published.warnings) <= 1
    for channel in {COMMENT, CHECK, REVIEW} - ENDPOINTS[endpoint]:
        assert channel_is_complete(github_server, channel, number_of(endpoint)), channel
    # Whatever became of its annotations, a check run that was opened gets its conclusion.
    newest = max(our_checks(github_server), key=lambda check: check.id)
    assert (newest.status, newest.conclusion) == ("completed", "failure")


@pytest.mark.parametrize("times", [1, None], ids=["once", "always"])
@pytest.mark.parametrize("when", Moment, ids=lambda when: when.value)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_server_that_says_nothing(
    github_server: FakeGitHub, endpoint: str, when: Moment, times: int | None
) -> None:
    clock = Clock()
    started = time.monotonic()
    done = twice(github_server, clock, endpoint, faults.slow(60, when), times, timeout=0.3)
    assert time.monotonic() - started < 60
    once_each(github_server)
    clear(done.published.warnings, github_server)
    assert len(done.published.warnings) <= len(ENDPOINTS[endpoint])
    if times == 1:
        assert done.published.warnings == ()


def test_the_matrix_knows_every_endpoint(github_server: FakeGitHub) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    run(github_server, pull, clock, first_findings())
    clock.sleep(3600)
    run(github_server, pull, clock, second_findings(), number=2)
    assert {request.endpoint for request in github_server.requests} == set(ENDPOINTS)


WRITES = {
    f"POST {_REPO}/issues/{{issue_number}}/comments": f"GET {_REPO}/issues/{{issue_number}}/comments",
    f"POST {_REPO}/check-runs": f"GET {_REPO}/commits/{{ref}}/check-runs",
    f"PATCH {_REPO}/check-runs/{{check_run_id}}": f"GET {_REPO}/check-runs/{{check_run_id}}",
    f"POST {_REPO}/pulls/{{pull_number}}/reviews": f"GET {_REPO}/pulls/{{pull_number}}/reviews",
}


@pytest.mark.parametrize("lost", [faults.BAD_GATEWAY_AFTER_COMMIT, faults.CUT_AFTER_COMMIT], ids=str)
@pytest.mark.parametrize(
    "look", [faults.SERVER_ERROR, faults.FORBIDDEN, faults.NOT_JSON, faults.CUT], ids=str
)
@pytest.mark.parametrize("endpoint", WRITES)
def test_what_cannot_be_looked_up_is_not_written_again(
    github_server: FakeGitHub, endpoint: str, lost: Fault, look: Fault
) -> None:
    clock = Clock()
    pull = set_up(github_server, clock)
    set_fault(github_server, endpoint, lost, 1)
    method, path = pattern(WRITES[endpoint])
    # The comments are listed once before anything is written.
    github_server.fault(method, path, look, skip=1 if path.endswith("/comments$") else 0)
    done = run(github_server, pull, clock, first_findings())
    assert done.gate.exit_code == ExitCode.GATE
    once_each(github_server)
    clear(done.published.warnings, github_server)
    assert len(github_server.asked(*pattern(endpoint))) >= 1


@pytest.mark.parametrize(
    "token", ["read_only", "no_checks", "only_checks", "only_issues", "expired", "person", ""]
)
def test_what_each_token_gets(github_server: FakeGitHub, token: str) -> None:
    from audit.github.destination import Token

    clock = Clock()
    pull = set_up(github_server, clock)
    value = Token(getattr(github_server.tokens, token) if token else "")
    done = run(github_server, pull, clock, first_findings(), token=value)
    once_each(github_server)
    clear(done.published.warnings, github_server)
    complete = {one for one in (COMMENT, CHECK, REVIEW) if channel_is_complete(github_server, one, 1)}
    may = {"no_checks": {COMMENT}, "only_checks": set(), "person": {COMMENT}}
    assert complete - {CHECK, REVIEW} == may.get(token, set())
    assert bool(our_checks(github_server)) == (token == "only_checks")
    if token == "expired":
        assert all("401" in warning for warning in done.published.warnings)
    if token in ("read_only", "no_checks"):
        assert any("`checks: write`" in warning for warning in done.published.warnings)
    if token in ("read_only", "only_issues"):
        assert any("`pull-requests: write`" in warning for warning in done.published.warnings)
    assert clock.seconds < 30


VERDICT_ENDPOINTS = (
    f"GET {_REPO}/pulls/{{pull_number}}",
    f"GET {_REPO}/issues/{{issue_number}}/comments",
    CREATING,
    OPENING,
    f"PATCH {_REPO}/check-runs/{{check_run_id}}",
)


@pytest.mark.parametrize("fault", LASTING, ids=str)
@pytest.mark.parametrize("endpoint", VERDICT_ENDPOINTS)
def test_a_failure_verdict_meets_a_fault_that_stays(
    github_server: FakeGitHub, endpoint: str, fault: Fault, tmp_path: Path
) -> None:
    clock, summary = Clock(), tmp_path / "summary.md"
    github_server.world.clock = clock.wall
    set_fault(github_server, endpoint, fault)
    done = told(github_server, clock, verdict(), False, summary=summary)
    assert len(done.warnings) <= 1
    clear(done.warnings, github_server)
    assert clock.now() <= BUDGET
    assert len(our_comments(github_server)) <= 1
    assert len(our_checks(github_server)) <= 1
    assert "infra" in summary.read_text()
    if ENDPOINTS[endpoint] != {CHECK}:
        [check] = our_checks(github_server)
        assert (check.status, check.conclusion) == ("completed", "failure")
    else:
        assert len(our_comments(github_server)) == 1
