"""The repository whose pull request is audited: on disk as the runner checks it out, and the same on the fake GitHub."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.engine.repositories import TRAINER, commit, git, write
from tests.fakegithub import Commit, FakeGitHub, Pull, Run

NAME = "acme/trainer"
FORK = "stranger/trainer"
NUMBER = 7

SECRET = "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi"
"""No token of anybody; written in two parts, so that nobody's scanner takes it for one."""

WORSE = {
    ".env": f"HF_TOKEN={SECRET}\n",
    "train.py": TRAINER["train.py"].replace("            torch.manual_seed(0)\n", ""),
    "requirements.txt": "torch\nnumpy\n",
}
"""A change for the worse: the seed is gone, so is a pin, and a secret has come."""

BETTER = {"requirements.txt": "torch==2.4.1\nnumpy==1.26.4\n"}
"""A change that only mends."""


@dataclass(frozen=True)
class Change:
    """A pull request. `base`, `head`, `merge`: commit ids; the work tree of `folder` is at `merge`, as `actions/checkout` has it."""

    folder: Path
    base: str
    head: str
    merge: str


def make_change(folder: Path, files: dict[str, str] = WORSE, base: dict[str, str] | None = None) -> Change:
    """A repository of two commits: what `base` adds to a small trainer, and the change."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, {**TRAINER, **(base or {})})
    commit(folder)
    before = git(folder, "rev-parse", "HEAD")
    git(folder, "switch", "-q", "-c", "change")
    write(folder, files)
    commit(folder)
    head = git(folder, "rev-parse", "HEAD")
    git(folder, "switch", "-q", "--detach", before)
    git(folder, "merge", "-q", "--no-ff", "--no-edit", head)
    merge = git(folder, "rev-parse", "HEAD")
    git(folder, "remote", "add", "origin", f"https://github.com/{NAME}")
    return Change(folder, before, head, merge)


def publish(github: FakeGitHub, change: Change, *, fork: bool = False) -> Pull:
    """The same on the fake GitHub, with a pull request."""
    repository = github.add_repository(NAME)
    for sha, parents in (
        (change.base, ()),
        (change.head, (change.base,)),
        (change.merge, (change.base, change.head)),
    ):
        repository.add_commit(Commit(_files(change.folder, sha), parents, sha=sha))
    repository.refs["main"] = change.base
    if not fork:
        repository.refs["change"] = change.head
    pull = Pull(
        NUMBER,
        change.head,
        change.base,
        head_repository=FORK if fork else NAME,
        merge_commit_sha=change.merge,
    )
    repository.pulls[NUMBER] = pull
    return pull


def publish_run(github: FakeGitHub, change: Change, run_id: int, *, fork: bool) -> Run:
    """The first stage's run, as the API shows it."""
    run = Run(
        run_id, change.head, name="ml-audit", path=".github/workflows/ml-audit.yml",
        head_repository=FORK if fork else NAME, conclusion="failure",
    )  # fmt: skip
    github.world.repositories[NAME].runs[run_id] = run
    return run


def _files(folder: Path, sha: str) -> dict[str, bytes]:
    names = git(folder, "ls-tree", "-r", "--name-only", "-z", sha).split("\0")
    return {name: _blob(folder, f"{sha}:{name}") for name in names if name}


def _blob(folder: Path, name: str) -> bytes:
    return subprocess.run(["git", "show", name], cwd=folder, check=True, capture_output=True).stdout
