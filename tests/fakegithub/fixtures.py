"""The fake GitHub as fixtures: `github_contract` and `github_server`."""

import os
from collections.abc import Iterator

import pytest

from .contract import Contract
from .server import FakeGitHub, fake_github
from .spec import SpecUnavailableError


@pytest.fixture(scope="session")
def github_contract() -> Contract:
    """GitHub's OpenAPI description. Without npm the test is skipped on a laptop, and fails in CI."""
    try:
        return Contract()
    except SpecUnavailableError as error:
        reason = f"GitHub's OpenAPI description is not available: {error}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture
def github_server(github_contract: Contract, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A running fake that fails the test where GitHub's contract is broken; no proxy is asked about the loopback."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    with fake_github(contract=github_contract) as running:
        yield running
