"""Each fault switch does what its name says."""

import json
import time
from typing import Any

import pytest
import requests

from tests.fakegithub import FakeGitHub, Pull, faults

COMMENTS = "/repos/octo/demo/issues/1/comments"


@pytest.fixture
def pull(github_server: FakeGitHub) -> Pull:
    return github_server.add_pull("octo/demo", {"a.py": b"1\n"}, {"a.py": b"2\n"})


def post(server: FakeGitHub, **more: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {server.tokens.write}"}
    return requests.post(
        server.api_url + COMMENTS,
        json={"body": "text"},
        headers=headers,
        timeout=more.pop("timeout", 5),
        allow_redirects=False,
        **more,
    )


def written(server: FakeGitHub) -> int:
    return len(server.world.repositories["octo/demo"].comments)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (faults.UNAUTHORIZED, 401),
        (faults.FORBIDDEN, 403),
        (faults.NOT_FOUND, 404),
        (faults.CONFLICT, 409),
        (faults.GONE, 410),
        (faults.UNPROCESSABLE, 422),
        (faults.SERVER_ERROR, 500),
        (faults.BAD_GATEWAY, 502),
        (faults.UNAVAILABLE, 503),
        (faults.primary_limit(), 403),
        (faults.secondary_limit(), 403),
        (faults.too_many(), 429),
    ],
    ids=str,
)
def test_refusals_come_before_the_work(
    github_server: FakeGitHub, pull: Pull, fault: faults.Fault, status: int
) -> None:
    switch = github_server.fault("POST", r"/comments$", fault, times=1)
    assert post(github_server).status_code == status
    assert written(github_server) == 0
    assert switch.times == 0
    assert post(github_server).status_code == 201
    assert [request.fault for request in github_server.requests] == [str(fault), ""]


def test_what_limits_say_about_waiting(github_server: FakeGitHub, pull: Pull) -> None:
    github_server.world.clock = lambda: 1_800_000_000.0
    seen = []
    for fault in (
        faults.primary_limit(90),
        faults.secondary_limit(7),
        faults.secondary_limit(None),
        faults.too_many(3),
    ):
        github_server.fault("POST", "/comments", fault, times=1)
        headers = post(github_server).headers
        seen.append(
            (
                headers["X-RateLimit-Remaining"] == "0",
                headers["X-RateLimit-Reset"],
                headers.get("Retry-After"),
            )
        )
    assert seen == [
        (True, "1800000090", None),
        (False, "1800003600", "7"),
        (False, "1800003600", None),
        (False, "1800003600", "3"),
    ]


@pytest.mark.parametrize(
    "fault", [faults.BAD_GATEWAY_AFTER_COMMIT, faults.CUT_AFTER_COMMIT, faults.CUT_SHORT], ids=str
)
def test_the_work_is_done_and_the_answer_lost(
    github_server: FakeGitHub, pull: Pull, fault: faults.Fault
) -> None:
    github_server.fault("POST", "/comments", fault)
    if fault.status:
        assert post(github_server).status_code == fault.status
    else:
        with pytest.raises(requests.exceptions.RequestException):
            assert json.loads(post(github_server).content)
    assert written(github_server) == 1


def test_a_cut_connection(github_server: FakeGitHub, pull: Pull) -> None:
    github_server.fault("POST", "/comments", faults.CUT)
    with pytest.raises(requests.exceptions.ConnectionError):
        post(github_server)
    assert written(github_server) == 0


@pytest.mark.parametrize(("when", "done"), [(faults.Moment.BEFORE, 0), (faults.Moment.AFTER, 1)])
def test_a_slow_answer_ends_with_the_clients_patience(
    github_server: FakeGitHub, pull: Pull, when: faults.Moment, done: int
) -> None:
    github_server.fault("POST", "/comments", faults.slow(60, when))
    started = time.monotonic()
    with pytest.raises(requests.exceptions.ReadTimeout):
        post(github_server, timeout=(5, 0.2))
    while not github_server.requests:
        time.sleep(0.01)
    github_server.close()
    assert time.monotonic() - started < 30
    assert written(github_server) == done


def test_slow_but_in_time(github_server: FakeGitHub, pull: Pull) -> None:
    github_server.fault("POST", "/comments", faults.slow(0.05, faults.Moment.AFTER))
    assert post(github_server).status_code == 201


def test_a_redirect_to_another_host_shows_who_takes_the_token_along(
    github_server: FakeGitHub, pull: Pull
) -> None:
    github_server.fault("POST", "/comments", faults.redirect())
    answer = post(github_server)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"{github_server.files_url}/elsewhere"
    requests.get(answer.headers["Location"], headers={"Authorization": "Bearer secret"}, timeout=5)
    github_server.expect_violation("the token was sent to another host")


def test_an_answer_that_is_not_githubs(github_server: FakeGitHub, pull: Pull) -> None:
    github_server.fault("GET", "/comments", faults.NOT_JSON)
    answer = requests.get(github_server.api_url + COMMENTS, timeout=5)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html")


def test_switches_by_method_path_and_turn(github_server: FakeGitHub, pull: Pull) -> None:
    github_server.fault("PATCH", "/comments", faults.SERVER_ERROR)
    github_server.fault("POST", "/reviews", faults.SERVER_ERROR)
    github_server.fault("*", r"/comments$", faults.CONFLICT, times=1, skip=1)
    assert [post(github_server).status_code for _ in range(3)] == [201, 409, 201]
