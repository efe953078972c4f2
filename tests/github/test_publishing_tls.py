"""A server whose certificate only a file of the user's vouches for: reading, publishing, and what is said without the file."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from publishing import Clock, first_findings, our_checks, our_comments, run, set_up

from audit.net.errors import NetworkError
from audit.net.github import GitHub
from tests.fakegithub import Contract, FakeGitHub, fake_github
from tests.fakegithub.certificates import Certificates, make_certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server(
    enterprise_contract: Contract, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeGitHub]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    with fake_github(contract=enterprise_contract, prefix="/api/v3", certificates=certificates) as running:
        yield running


def test_publishing_with_the_bundle(server: FakeGitHub, certificates: Certificates) -> None:
    clock = Clock()
    pull = set_up(server, clock)
    done = run(server, pull, clock, first_findings(), ca_bundle=certificates.authority)
    assert done.published.warnings == ()
    assert len(our_comments(server)) == len(our_checks(server)) == 1


@pytest.mark.parametrize("bundle", [None, "missing.pem", "empty.pem"])
def test_publishing_without_it(server: FakeGitHub, tmp_path: Path, bundle: str | None) -> None:
    (tmp_path / "empty.pem").touch()
    clock = Clock()
    pull = set_up(server, clock)
    done = run(server, pull, clock, first_findings(), ca_bundle=tmp_path / bundle if bundle else None)
    assert done.gate.exit_code == 1
    assert server.requests == []
    assert done.published.warnings
    assert all("ca-bundle" in warning for warning in done.published.warnings)
    assert clock.seconds < 60


def test_reading(server: FakeGitHub, certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    pull = set_up(server, clock)

    def archive() -> bytes:
        file = io.BytesIO()
        with GitHub(server.api_url, server.tokens.write, sleep=clock.sleep, now=clock.wall) as github:
            github.archive("octo/demo", pull.head_sha, file)
        return file.getvalue()

    with pytest.raises(NetworkError) as caught:
        archive()
    assert "is not trusted" in caught.value.message
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.authority))
    assert archive().startswith(b"\x1f\x8b")
    assert [request.host for request in server.requests] == ["api", "files"]
