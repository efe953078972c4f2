"""The action's container, started as GitHub's runner does it (without act)."""

import json
from pathlib import Path

from tests.e2e import payloads
from tests.e2e.repositories import NAME, Change
from tests.e2e.runner import IMAGE
from tests.fakegithub import TOKENS, FakeGitHub


def container(github: FakeGitHub, change: Change, scratch: Path, **inputs: str) -> list[str]:
    """The command for a pull request. `scratch`: an empty folder; it gets `output`, `summary` and `temp`, as the runner's files."""
    event = scratch / "event.json"
    event.write_text(json.dumps(payloads.pull_request(change)), "utf-8")
    for name in ("output", "summary"):
        (scratch / name).write_text("")
    (scratch / "temp").mkdir(exist_ok=True)
    given = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": "/github/workflow/event.json",
        "GITHUB_REPOSITORY": NAME, "GITHUB_SHA": change.merge, "GITHUB_REF": "refs/pull/7/merge", "GITHUB_ACTOR": "octocat",
        "GITHUB_API_URL": github.api_url, "GITHUB_GRAPHQL_URL": github.graphql_url, "GITHUB_SERVER_URL": github.server_url,
        "GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_WORKFLOW": "ml-audit", "GITHUB_JOB": "audit",
        "GITHUB_OUTPUT": "/github/workflow/output", "GITHUB_STEP_SUMMARY": "/github/workflow/summary",
        "GITHUB_WORKSPACE": "/github/workspace", "RUNNER_TEMP": "/github/workflow/temp", "HOME": "/github/workflow",
        **{f"INPUT_{name.upper().replace('_', '-')}": value for name, value in {"github_token": TOKENS.write, **inputs}.items()},
    }  # fmt: skip
    return [
        "docker", "run", "--rm", "--network", "host", "--workdir", "/github/workspace",
        "--volume", f"{change.folder}:/github/workspace", "--volume", f"{scratch}:/github/workflow",
        *(f"--env={name}={value}" for name, value in given.items()), IMAGE,
    ]  # fmt: skip
