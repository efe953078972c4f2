"""A stateful GitHub on the loopback for tests, checked against GitHub's own OpenAPI description."""

from .contract import Contract
from .server import ContractError, FakeGitHub, Request, fake_github
from .spec import SpecUnavailableError
from .world import (
    TOKENS,
    Artifact,
    CheckRun,
    Comment,
    Commit,
    Job,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Run,
    World,
)

__all__ = [
    "TOKENS",
    "Artifact",
    "CheckRun",
    "Comment",
    "Commit",
    "Contract",
    "ContractError",
    "FakeGitHub",
    "Job",
    "Pull",
    "Repository",
    "Request",
    "Review",
    "ReviewComment",
    "Run",
    "SpecUnavailableError",
    "World",
    "fake_github",
]
