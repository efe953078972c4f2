"""A stateful GitHub on the loopback for tests. It holds its clients, and itself, to GitHub's own OpenAPI description, to the
GraphQL schema, and to the limits that those texts lack.

In a test the fixture `github_server` is a running one; a violation fails the test even where the client swallowed the refusal:

    pull = github_server.add_pull("octo/demo", {"a.py": b"1"}, {"a.py": b"2"})
    github_server.fault("POST", "/check-runs$", faults.FORBIDDEN, times=1)
    ...                                     # talk to github_server.api_url with github_server.tokens.write
    github_server.world.repositories["octo/demo"].comments
    github_server.asked("POST", "/comments$")
    github_server.expect_violation("too long")

As a program: `python -m tests.fakegithub --state DIR` (`seed.py` tells what DIR/seed.json may hold).
"""

from .contract import Contract
from .server import ContractError, FakeGitHub, fake_github
from .service import Request
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
