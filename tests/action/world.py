"""A repository with a pull request, as GitHub holds it, and checkouts of it as `actions/checkout` makes them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.action.payloads import REPOSITORY, RUNNER, recorded
from tests.engine.repositories import TRAINER, commit, git, repository, write
from tests.fakegithub.seed import load_git
from tests.fakegithub.server import FakeGitHub
from tests.fakegithub.world import Pull

ROOT = Path(__file__).resolve().parents[2]
INTRODUCED = {
    "evaluate.py": "import torch\n\n\ndef load(path):\n    return torch.load(path, weights_only=False)\n"
}
OF_OTHERS = {
    "score.py": "import torch\n\n\ndef score(path):\n    return torch.load(path, weights_only=False)\n"
}


@dataclass(frozen=True)
class Origin:
    """A bare repository below `root`, with the commits of one pull request (number 42): the merge base, the tip of the base branch, to which
    others added OF_OTHERS, the head, which adds INTRODUCED, and GitHub's merge commit of both."""

    root: Path
    fork_point: str
    base: str
    head: str
    merge: str

    @property
    def folder(self) -> Path:
        return self.root / f"{REPOSITORY}.git"


def origin(root: Path) -> Origin:
    work = repository(root / "work", TRAINER)
    fork_point = git(work, "rev-parse", "HEAD")
    git(work, "switch", "-q", "-c", "topic")
    write(work, {"notes.md": "Not done yet.\n"})
    commit(work)
    write(work, INTRODUCED)
    head = commit(work)
    git(work, "switch", "-q", "main")
    write(work, OF_OTHERS)
    base = commit(work)
    git(work, "switch", "-q", "--detach")
    git(work, "merge", "-q", "--no-ff", "-m", f"Merge {head} into {base}", head)
    merge = git(work, "rev-parse", "HEAD")
    bare = root / f"{REPOSITORY}.git"
    bare.parent.mkdir(parents=True)
    git(root, "clone", "-q", "--bare", str(work), str(bare))
    git(bare, "fetch", "-q", str(work), f"{merge}:refs/pull/42/merge", f"{head}:refs/pull/42/head")
    git(bare, "branch", "-q", "-D", "topic")
    return Origin(root, fork_point, base, head, merge)


def checkout(
    folder: Path, url: str, sha: str, *, depth: int | None = 1, ref: str = "refs/remotes/pull/42/merge"
) -> Path:
    """What `actions/checkout` leaves: one commit of history unless told otherwise, nothing of other branches."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", url)
    if depth is None:
        git(
            folder,
            "fetch",
            "-q",
            "--no-tags",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
            f"+{sha}:{ref}",
        )
    else:
        git(folder, "fetch", "-q", "--no-tags", f"--depth={depth}", "origin", f"+{sha}:{ref}")
    git(folder, "checkout", "-q", "--force", ref)
    return folder


def shown(github: FakeGitHub, made: Origin, *, fork: str | None = None) -> Any:
    """Puts the repository and its pull request into the fake GitHub."""
    there = github.add_repository(REPOSITORY)
    load_git(there, made.folder)
    there.pulls[42] = Pull(42, made.head, made.base, head_ref="cosine", head_repository=fork or REPOSITORY)
    return there


@dataclass(frozen=True)
class Done:
    """One run of the action as a process."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    workspace: Path


def variables(name: str, workspace: Path, server: str, github: FakeGitHub, made: Origin) -> dict[str, str]:
    """The runner's variables for a recorded event, and its payload with the commits of `made` in a file beside the workspace."""
    environ, payload = recorded(name)
    text = json.dumps(payload)
    for old, new in zip(_commits_of_record(), (made.head, made.base, made.merge), strict=True):
        text = text.replace(old, new)
        environ = {key: value.replace(old, new) for key, value in environ.items()}
    files = workspace.parent / "runner"
    files.mkdir(exist_ok=True)
    for file in ("output", "summary"):
        (files / file).write_text("")
    (files / "event.json").write_text(text)
    return {
        **RUNNER,
        **environ,
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(workspace),
        "GITHUB_EVENT_PATH": str(files / "event.json"),
        "GITHUB_OUTPUT": str(files / "output"),
        "GITHUB_STEP_SUMMARY": str(files / "summary"),
        "GITHUB_SERVER_URL": server,
        "GITHUB_API_URL": github.api_url,
        "GITHUB_GRAPHQL_URL": github.graphql_url,
        "RUNNER_TEMP": str(files / "temp"),
        "HOME": str(files),
        "PATH": os.environ["PATH"],
    }


def _commits_of_record() -> tuple[str, str, str]:
    from tests.action.payloads import BASE, HEAD, MERGE

    return HEAD, BASE, MERGE


def act(environ: dict[str, str], **inputs: str) -> Done:
    """Runs entrypoint.py as the container does, with inputs as a container gets them."""
    given = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
    done = subprocess.run(
        [sys.executable, "-I", "-u", str(ROOT / "entrypoint.py")],
        env={**environ, **given},
        check=False,
        cwd=environ["GITHUB_WORKSPACE"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Done(
        done.returncode,
        done.stdout + done.stderr,
        read_outputs(Path(environ["GITHUB_OUTPUT"]).read_text("utf-8")),
        Path(environ["GITHUB_STEP_SUMMARY"]).read_text("utf-8"),
        Path(environ["GITHUB_WORKSPACE"]),
    )


def start(environ: dict[str, str]) -> subprocess.Popen[bytes]:
    """The same, while it runs."""
    return subprocess.Popen(
        [sys.executable, "-I", "-u", str(ROOT / "entrypoint.py")],
        env=environ,
        cwd=environ["GITHUB_WORKSPACE"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def read_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT as the runner reads it."""
    found, lines = {}, iter(text.splitlines())
    for line in lines:
        name, _, delimiter = line.partition("<<")
        value = []
        for more in lines:
            if more == delimiter:
                break
            value.append(more)
        found[name] = "\n".join(value)
    return found
