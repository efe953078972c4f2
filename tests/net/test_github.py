"""GitHub's refusals, failures and redirects, each with the sentence that a person reads."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from audit.net.errors import EmptyRepositoryError, NetworkError, NotFoundError
from audit.net.github import GitHub
from tests.fakegithub import TOKENS, Commit, FakeGitHub
from tests.fakegithub.archives import tar_of
from tests.fakegithub.faults import BAD_GATEWAY, Fault, redirect, secondary_limit, too_many

NOW = 1_800_000_000.0


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = NOW
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def client(fake: FakeGitHub, clock: Clock, token: str | None = None) -> GitHub:
    return GitHub(fake.api_url, token, sleep=clock.sleep, now=clock.time)


def refused(ask: Callable[[], Any]) -> NetworkError:
    with pytest.raises(NetworkError) as caught:
        ask()
    return caught.value


@pytest.fixture
def known(fake: FakeGitHub) -> Commit:
    commit = Commit({"a.py": b"a\n"})
    fake.add_repository("owner/repo").add_commit(commit, "main", "feature/x")
    return commit


def test_the_calls_and_what_they_give(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    with client(fake, clock, TOKENS.write) as github:
        assert github.repository("owner", "repo")["full_name"] == "owner/repo"
        assert github.commit("owner/repo", "feature/x") == known.sha
        entries, truncated = github.tree("owner/repo", known.sha)
        assert ([entry["path"] for entry in entries], truncated) == (["a.py"], False)
        file = io.BytesIO()
        github.archive("owner/repo", known.sha, file)
        assert file.getvalue()[:2] == b"\x1f\x8b"
    assert clock.waits == []


def test_the_token_goes_to_the_api_and_nowhere_else(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    with client(fake, clock, TOKENS.write) as github:
        github.archive("owner/repo", known.sha, io.BytesIO())
    assert [(request.host, request.authorization) for request in fake.requests] == [
        ("api", f"token {TOKENS.write}"),
        ("files", None),
    ]


def test_netrc_is_not_asked(
    fake: FakeGitHub, clock: Clock, known: Commit, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(
        "machine localhost login me password secret\nmachine 127.0.0.1 login me password secret\n"
    )
    monkeypatch.setenv("NETRC", str(netrc))
    with client(fake, clock) as github:
        github.archive("owner/repo", known.sha, io.BytesIO())
    assert {request.authorization for request in fake.requests} == {None}


def test_a_renamed_repository_is_found(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.world.renamed["old/name"] = "owner/repo"
    with client(fake, clock) as github:
        assert github.repository("old", "name")["full_name"] == "owner/repo"


def test_a_bad_token(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    error = refused(lambda: client(fake, clock, "bad-token").repository("owner", "repo"))
    assert error.message == "GitHub does not accept the token (401)."
    assert error.advice == "Renew GITHUB_TOKEN (or GH_TOKEN), or unset it to read a public repository."


def test_what_is_not_there_or_private(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.world.repositories["owner/repo"].private = True
    error = refused(lambda: client(fake, clock).repository("owner", "repo"))
    assert isinstance(error, NotFoundError)
    assert error.message == "GitHub does not know owner/repo (404)."
    assert error.advice == "Check the spelling; a private repository needs GITHUB_TOKEN (or GH_TOKEN)."
    assert client(fake, clock, TOKENS.write).repository("owner", "repo")["private"] is True
    error = refused(lambda: client(fake, clock, TOKENS.write).commit("owner/repo", "nope"))
    assert error.message == "GitHub does not know nope of owner/repo (404)."
    assert (
        error.advice == "Check the spelling; a private repository needs a token that may read its contents."
    )


def test_an_empty_repository(fake: FakeGitHub, clock: Clock) -> None:
    fake.add_repository("owner/repo")
    assert isinstance(refused(lambda: client(fake, clock).commit("owner/repo", "main")), EmptyRepositoryError)


@pytest.mark.parametrize("status", [403, 429])
def test_a_used_up_rate_limit_names_the_time_and_does_not_sleep(
    fake: FakeGitHub, clock: Clock, known: Commit, status: int
) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 1500)}
    fake.fault("GET", "/repos/", Fault(status, "API rate limit exceeded for 1.2.3.4.", headers))
    error = refused(lambda: client(fake, clock).repository("owner", "repo"))
    assert error.message == "GitHub's rate limit is used up until 2027-01-15 08:25:01 UTC (in 25 minutes)."
    assert error.advice == "Set GITHUB_TOKEN (or GH_TOKEN): 5,000 requests an hour instead of 60."
    assert clock.waits == []
    error = refused(lambda: client(fake, clock, TOKENS.write).repository("owner", "repo"))
    assert error.advice == "Wait until then, or use another token."


def test_a_short_limit_is_waited_for(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.fault("GET", "/repos/", secondary_limit(7), times=1)
    assert client(fake, clock).repository("owner", "repo")["full_name"] == "owner/repo"
    assert clock.waits == [7.0]


def test_patience_has_an_end(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.fault("GET", "/repos/", too_many(25))
    error = refused(lambda: client(fake, clock).repository("owner", "repo"))
    assert "rate limit is used up until" in error.message
    assert clock.waits == [25.0, 25.0]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_failures_that_pass(fake: FakeGitHub, clock: Clock, known: Commit, status: int) -> None:
    fake.fault("GET", "/repos/", Fault(status, body=b"<html>bad gateway</html>"), times=2)
    assert client(fake, clock).repository("owner", "repo")["full_name"] == "owner/repo"
    assert clock.waits == [1.0, 2.0]


def test_failures_that_stay(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.fault("GET", "/repos/", BAD_GATEWAY)
    error = refused(lambda: client(fake, clock).repository("owner", "repo"))
    assert error.message == "GitHub answered 502 about owner/repo, several times."
    assert clock.waits == [1.0, 2.0, 4.0]


def test_single_sign_on_and_other_refusals(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    sso = Fault(403, "Resource protected", {"X-GitHub-SSO": "required; url=x"})
    fake.fault("GET", "/repos/", sso, times=1)
    error = refused(lambda: client(fake, clock, TOKENS.write).repository("owner", "repo"))
    assert error.message == "The organisation of owner/repo asks for single sign-on (403)."
    fake.fault(
        "GET", "/repos/", Fault(403, f"Resource not accessible by\n::error:: {TOKENS.write}."), times=1
    )
    error = refused(lambda: client(fake, clock, TOKENS.write).repository("owner", "repo"))
    assert error.message == (
        "GitHub forbids reading owner/repo (403): Resource not accessible by ::error:: ***."
    )
    fake.fault("GET", "/repos/", Fault(451, "Repository access blocked"), times=1)
    error = refused(lambda: client(fake, clock).repository("owner", "repo"))
    assert error.message == "GitHub answered 451 about owner/repo: Repository access blocked."


@pytest.mark.parametrize(
    "body", [b"[]", b"<html>", b"", b'{"full_name"', b"null", b"\xff\xfe", b"3", b'{"message": []}']
)
@pytest.mark.parametrize("status", [200, 400, 418])
def test_answers_that_are_not_githubs(
    fake: FakeGitHub, clock: Clock, known: Commit, body: bytes, status: int
) -> None:
    fake.fault("GET", "/repos/", Fault(status, body=body))
    assert refused(lambda: client(fake, clock).commit("owner/repo", "main")).advice


def test_a_redirect_to_another_server_is_not_followed(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.fault("GET", "/repos/", redirect("{files}/repos/owner/repo", 301), times=1)
    error = refused(lambda: client(fake, clock, TOKENS.write).repository("owner", "repo"))
    assert error.message == f"{fake.api_url} redirects to another place."
    assert fake.asked(host="files") == []
    fake.fault("GET", "/repos/", redirect("{api}/repos/owner/repo", 301))
    assert refused(lambda: client(fake, clock).repository("owner", "repo")).advice


def test_a_server_that_is_not_there(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    github = GitHub("http://127.0.0.1:9/api/v3", None, sleep=clock.sleep, now=clock.time)
    error = refused(lambda: github.repository("owner", "repo"))
    assert error.message == "http://127.0.0.1:9/api/v3 cannot be reached."
    assert clock.waits == [1.0, 2.0, 4.0]


def test_an_archive_that_breaks_off_is_fetched_again(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    whole = tar_of(known, "owner-repo-x")
    fake.fault("GET", "legacy.tar.gz", Fault(200, body=whole, cut_at=len(whole) // 2), times=1)
    fake.fault("GET", "legacy.tar.gz", Fault(503), times=1)
    file = io.BytesIO()
    client(fake, clock).archive("owner/repo", known.sha, file)
    assert file.getvalue() == tar_of(known, f"owner-repo-{known.sha[:7]}")
    assert len(fake.asked(host="files")) == 3
    assert clock.waits == [1.0, 2.0]


def test_an_archive_that_is_too_large_is_left(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    error = refused(lambda: client(fake, clock).archive("owner/repo", known.sha, io.BytesIO(), limit=10))
    assert error.message.startswith("The archive is larger than")
    assert error.advice == "Clone the repository, and give its path."


def test_an_archive_behind_many_redirects(fake: FakeGitHub, clock: Clock, known: Commit) -> None:
    fake.fault("GET", "legacy.tar.gz", redirect("/again/legacy.tar.gz/x"))
    error = refused(lambda: client(fake, clock).archive("owner/repo", known.sha, io.BytesIO()))
    assert error.message == "The archive's address leads from one redirect to the next."
    assert len(fake.asked(host="files")) == 5


def test_an_archive_never_comes_unencrypted_from_an_encrypted_api(fake: FakeGitHub, clock: Clock) -> None:
    github = GitHub("https://api.github.com", None, sleep=clock.sleep, now=clock.time)
    with pytest.raises(NetworkError, match="not encrypted"):
        github._check_scheme(f"{fake.files_url}/x")
    for address in ("file:///etc/passwd", "ftp://localhost/x"):
        with pytest.raises(NetworkError, match="not encrypted"):
            client(fake, clock)._check_scheme(address)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    import subprocess
    import sys

    code = "import sys, audit.source.open, audit.net.github; print({'github', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
