"""The loopback GitHub as a fixture."""

from collections.abc import Iterator

import pytest

from net.fake_github import FakeGitHub


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A running fake; this machine's proxies are not asked about the loopback."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    with FakeGitHub() as running:
        yield running
