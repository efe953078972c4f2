"""Events as GitHub sends them, with what the runner's parts and workflows read."""

from typing import Any

from tests.e2e.repositories import FORK, NAME, NUMBER, Change


def _repository(name: str) -> dict[str, Any]:
    owner, _, short = name.partition("/")
    return {
        "full_name": name,
        "name": short,
        "owner": {"login": owner},
        "default_branch": "main",
        "private": False,
        "fork": name == FORK,
    }


def pull_request(change: Change, *, fork: bool = False, action: str = "synchronize") -> dict[str, Any]:
    head = FORK if fork else NAME
    return {
        "action": action,
        "number": NUMBER,
        "repository": _repository(NAME),
        "pull_request": {
            "number": NUMBER,
            "state": "open",
            "merge_commit_sha": change.merge,
            "head": {
                "sha": change.head,
                "ref": "change",
                "repo": _repository(head),
                "label": f"{head.split('/')[0]}:change",
            },
            "base": {"sha": change.base, "ref": "main", "repo": _repository(NAME), "label": "acme:main"},
        },
    }


def push(change: Change) -> dict[str, Any]:
    return {
        "ref": "refs/heads/main",
        "before": change.base,
        "after": change.head,
        "created": False,
        "deleted": False,
        "repository": _repository(NAME),
        "head_commit": {"id": change.head},
    }


def merge_group(change: Change) -> dict[str, Any]:
    return {
        "action": "checks_requested",
        "merge_group": {
            "head_sha": change.merge,
            "head_ref": f"refs/heads/gh-readonly-queue/main/pr-{NUMBER}-{change.base}",
            "base_sha": change.base,
            "base_ref": "refs/heads/main",
        },
        "repository": _repository(NAME),
    }


def dispatch(**inputs: str) -> dict[str, Any]:
    return {"inputs": inputs, "ref": "refs/heads/main", "repository": _repository(NAME)}


def workflow_run(change: Change, run_id: int, *, fork: bool) -> dict[str, Any]:
    head = FORK if fork else NAME
    return {
        "action": "completed",
        "repository": _repository(NAME),
        "workflow_run": {
            "id": run_id,
            "name": "ml-audit",
            "event": "pull_request",
            "head_sha": change.head,
            "head_branch": "change",
            "run_attempt": 1,
            "conclusion": "failure",
            "actor": {"login": head.split("/")[0]},
            "head_repository": _repository(head),
            "pull_requests": [],
        },
    }


def pulls_of(change: Change) -> list[dict[str, Any]]:
    """The pull requests that a run of this repository lists."""
    return [
        {
            "number": NUMBER,
            "head": {"sha": change.head, "ref": "change"},
            "base": {"sha": change.base, "ref": "main"},
        }
    ]
