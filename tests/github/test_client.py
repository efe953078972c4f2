"""The client: patient within its budget, and never twice."""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from publishing import REPOSITORY, Clock, destination_of, set_up

from audit.github.client import BUDGET, Client
from audit.github.destination import Token
from audit.github.errors import ApiError, Kind, Trouble, advice, sentences
from tests.fakegithub import FakeGitHub, faults
from tests.fakegithub.faults import Fault

PULL = f"/repos/{REPOSITORY}/pulls/1"
COMMENTS = f"/repos/{REPOSITORY}/issues/1/comments"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(github_server: FakeGitHub, clock: Clock) -> Client:
    pull = set_up(github_server, clock)
    return Client(destination_of(github_server, pull), clock.effects())


def failed(ask: Callable[[], Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.UNAUTHORIZED, Kind.TOKEN),
        (faults.FORBIDDEN, Kind.FORBIDDEN),
        (faults.NOT_FOUND, Kind.MISSING),
        (faults.CONFLICT, Kind.CONFLICT),
        (faults.GONE, Kind.GONE),
        (faults.UNPROCESSABLE, Kind.INVALID),
        (faults.redirect(), Kind.MISSING),
    ],
    ids=str,
)
def test_what_does_not_pass_is_asked_once(
    github_server: FakeGitHub, client: Client, clock: Clock, fault: Fault, kind: Kind
) -> None:
    github_server.fault("GET", PULL, fault)
    error = failed(lambda: client.get(PULL))
    assert error.kind is kind
    assert clock.waits == []
    assert len(github_server.asked("GET", PULL)) == 1
    # No token goes to another host.
    assert github_server.asked(host="files") == []


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        (faults.secondary_limit(20), [20.0]),
        (faults.too_many(7), [7.0]),
        (faults.secondary_limit(None), [60.0]),
        (faults.too_many(None), [60.0]),
        (faults.primary_limit(30), [31.0]),
        (faults.SERVER_ERROR, [1.0]),
        (faults.CUT, [1.0]),
        (faults.NOT_JSON, [1.0]),
    ],
    ids=str,
)
def test_what_passes_is_waited_for_as_long_as_github_says(
    github_server: FakeGitHub, client: Client, clock: Clock, fault: Fault, waits: list[float]
) -> None:
    github_server.fault("GET", PULL, fault, times=1)
    assert client.get(PULL)["number"] == 1
    assert [round(wait) for wait in clock.waits] == waits


def test_who_would_have_to_wait_for_too_long_does_not_wait(
    github_server: FakeGitHub, client: Client, clock: Clock
) -> None:
    github_server.fault("GET", PULL, faults.primary_limit(1800))
    assert failed(lambda: client.get(PULL)).kind is Kind.LIMITED
    assert clock.waits == []


def test_all_requests_share_one_budget(github_server: FakeGitHub, client: Client, clock: Clock) -> None:
    github_server.fault("GET", PULL, faults.secondary_limit(50))
    for _ in range(3):
        assert failed(lambda: client.get(PULL)).kind is Kind.LIMITED
    assert sum(clock.waits) <= BUDGET
    clock.seconds = BUDGET
    assert failed(lambda: client.get(PULL)).said == "no time is left for it"
    client.grant(5)
    github_server.switches.clear()
    assert client.get(PULL)["number"] == 1


def test_a_creation_whose_answer_was_lost_is_looked_for(github_server: FakeGitHub, client: Client) -> None:
    github_server.fault("POST", COMMENTS, faults.BAD_GATEWAY_AFTER_COMMIT, times=1)

    def find() -> Any:
        return next(iter(client.pages(COMMENTS, most=10)), None)

    made = client.create(COMMENTS, {"body": "x"}, find)
    assert made["body"] == "x"
    assert len(github_server.asked("POST", COMMENTS)) == 1


def test_a_creation_that_was_not_done_is_tried_once_more(github_server: FakeGitHub, client: Client) -> None:
    github_server.fault("POST", COMMENTS, faults.SERVER_ERROR)
    assert failed(lambda: client.create(COMMENTS, {"body": "x"}, lambda: None)).kind is Kind.UNAVAILABLE
    assert len(github_server.asked("POST", COMMENTS)) == 2


def test_a_server_that_is_not_there(clock: Clock, github_server: FakeGitHub) -> None:
    pull = set_up(github_server, clock)
    client = Client(destination_of(github_server, pull, api_url="http://127.0.0.1:9"), clock.effects())
    error = failed(lambda: client.get(PULL))
    assert (error.kind, error.said, error.uncertain) == (Kind.UNAVAILABLE, "no connection", False)
    assert clock.waits == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("token", ["a\nb", "a\rX-Evil: 1", "\udcff"])
def test_a_token_that_no_header_holds(clock: Clock, github_server: FakeGitHub, token: str) -> None:
    pull = set_up(github_server, clock)
    client = Client(destination_of(github_server, pull, token=Token(token)), clock.effects())
    assert failed(lambda: client.get(PULL)).kind is Kind.TOKEN
    assert github_server.requests == []


def test_a_token_is_never_said(github_server: FakeGitHub, client: Client) -> None:
    secret = github_server.tokens.write
    github_server.fault("GET", PULL, Fault(422, f"The token {secret} is odd\nand long " + "x" * 900))
    error = failed(lambda: client.get(PULL))
    assert secret not in error.said
    assert "\n" not in error.said
    assert len(error.said) <= 300


def _certificate(folder: Path) -> ssl.SSLContext:
    """A server's certificate for 127.0.0.1 that only its own file vouches for: `folder`/ca.pem."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "ca.pem"]
    made = [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    return context


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"number": 1}')

    def log_message(self, *_: Any) -> None:
        pass


def test_an_enterprise_server_is_trusted_by_its_ca_bundle_alone(
    clock: Clock, github_server: FakeGitHub, tmp_path: Path
) -> None:
    pull = set_up(github_server, clock)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.socket = _certificate(tmp_path).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for bundle, answer in ((tmp_path / "ca.pem", 1), (None, None), (tmp_path / "none.pem", None)):
            where = {"api_url": f"https://127.0.0.1:{server.server_port}/api/v3", "ca_bundle": bundle}
            client = Client(destination_of(github_server, pull, **where), clock.effects())
            if answer:
                assert client.get(PULL) == {"number": answer}
            else:
                error = failed(lambda client=client: client.get(PULL))
                assert (error.kind, error.uncertain) == (Kind.UNAVAILABLE, False)
                assert "ca-bundle" in error.said
    finally:
        server.shutdown()
        server.server_close()


def test_many_writes_are_spaced(github_server: FakeGitHub, client: Client, clock: Clock) -> None:
    made = client.create(COMMENTS, {"body": "x"}, lambda: None)
    for number in range(6):
        client.change(f"/repos/{REPOSITORY}/issues/comments/{made['id']}", {"body": str(number)})
    assert clock.waits == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", Kind)
def test_each_error_says_what_to_do(kind: Kind) -> None:
    said = advice(ApiError(kind, "GitHub said so", 418), "checks: write")
    assert said.endswith(".")
    assert "\n" not in said
    if kind in (Kind.TOKEN, Kind.FORBIDDEN, Kind.MISSING):
        assert "`checks: write`" in said


def test_channels_that_fail_for_one_reason_are_told_together() -> None:
    error = ApiError(Kind.FORBIDDEN, "Resource not accessible by integration", 403)
    other = ApiError(Kind.LIMITED, "too many", 429)
    told = sentences(
        [
            Trouble("the check run", "checks: write", error),
            Trouble("the comment", "pull-requests: write", error),
            Trouble("the suggestions", "pull-requests: write", error),
            Trouble("the job summary", "", other),
        ]
    )
    assert len(told) == 2
    assert told[0].startswith(
        "The check run, the comment and the suggestions were not written. The token lacks `checks: write` and `pull-requests: write` (403:"
    )
    assert told[1].startswith("The job summary was not written. GitHub's rate limit is used up (too many).")
