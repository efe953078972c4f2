"""The fake GitHub as fixtures: `github_server`, and the contracts `github_contract` and `enterprise_contract`."""

import os
from collections.abc import Iterator

import pytest

from .contract import Contract
from .server import FakeGitHub, fake_github
from .spec import ENTERPRISE, REST, Member, SpecUnavailableError


def _contract(member: Member) -> Contract:
    """Without npm the test is skipped on a laptop, and fails in CI."""
    try:
        return Contract(member)
    except SpecUnavailableError as error:
        reason = f"GitHub's own description of its API is not available: {error}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def github_contract() -> Contract:
    """The description of github.com's API."""
    return _contract(REST)


@pytest.fixture(scope="session")
def enterprise_contract() -> Contract:
    """That of an Enterprise server, the oldest that GitHub still describes."""
    return _contract(ENTERPRISE)


@pytest.fixture
def github_server(github_contract: Contract, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A running fake that fails the test where GitHub's contract is broken; no proxy is asked about the loopback."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    with fake_github(contract=github_contract) as running:
        yield running
