"""The loopback GitHub as an Enterprise server, and repositories for it."""

from collections.abc import Iterator

import pytest

from tests.fakegithub import Contract, FakeGitHub, fake_github


@pytest.fixture
def fake(enterprise_contract: Contract, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A running fake whose API lies below /api/v3; this machine's proxies are not asked about the loopback."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    with fake_github(contract=enterprise_contract, prefix="/api/v3") as running:
        yield running
