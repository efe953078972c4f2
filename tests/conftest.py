"""Options and fixtures for all tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fakegithub.fixtures import enterprise_contract, github_contract, github_server

__all__ = ["enterprise_contract", "github_contract", "github_server"]

# On a laptop every run tries new inputs; in CI the same commit gives the same answer twice, on a machine of any speed.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden renderings anew instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a golden file byte for byte, or writes the file with --update-golden."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.exists(), f"{path} is missing: run pytest --update-golden and look at what it writes"
        assert text == path.read_bytes().decode(), f"{path.name} differs: --update-golden if that is meant"

    return compare
