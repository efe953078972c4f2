"""Fills a fake from a file:

{"repositories": [{
    "full_name": "octo/demo", "private": false,
    "git": "path/of/a/clone",                        # all its commits, branches and tags; relative to the file
    "commits": [{"ref": "main", "folder": "a/folder", "parents": ["main"]}],          # or made of folders
    "pulls": [{"number": 1, "head": "change", "base": "main", "fork": "someone/demo", "title": "..."}],
    "comments": [{"pull": 1, "author": "someone", "body": "..."}],
    "runs": [{"id": 1, "head": "change", "event": "pull_request", "fork": "someone/demo", "logs": "logs.zip",
              "jobs": [{"id": 2, "name": "test", "conclusion": "failure", "log": "job.txt"}],
              "artifacts": [{"id": 3, "name": "ml-audit-report", "zip": "report.zip"}]}]
 }],
 "renamed": {"octo/old": "octo/demo"},
 "faults": [{"method": "POST", "path": "check-runs", "fault": "FORBIDDEN", "times": 1}]}
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from . import faults
from .server import FakeGitHub
from .world import Account, Artifact, Comment, Commit, Job, Pull, Repository, Run


def plant(server: FakeGitHub, seed: Path) -> None:
    """Fills `server`; a file that is not there leaves it empty."""
    if not seed.exists():
        return
    told = json.loads(seed.read_text())
    for one in told.get("repositories", ()):
        _repository(server, one, seed.parent)
    server.world.renamed.update(told.get("renamed", {}))
    for one in told.get("faults", ()):
        fault = getattr(faults, one["fault"])
        if not isinstance(fault, faults.Fault):
            fault = fault(*one.get("args", ()))
        server.fault(one["method"], one["path"], fault, times=one.get("times"))


def _repository(server: FakeGitHub, told: dict[str, Any], folder: Path) -> None:
    options = {
        key: told[key]
        for key in ("private", "default_branch", "archived", "comments_disabled")
        if key in told
    }
    repository = server.add_repository(told["full_name"], **options)
    if "git" in told:
        load_git(repository, folder / told["git"])
    for one in told.get("commits", ()):
        parents = tuple(_sha(repository, parent) for parent in one.get("parents", ()))
        repository.add_commit(
            Commit(_files(folder / one["folder"]), parents, message=one.get("message", "A commit")),
            one["ref"],
        )
    for one in told.get("pulls", ()):
        _pull(repository, one)
    for one in told.get("comments", ()):
        author, now = Account(one["author"], 900_001), server.world.now()
        made = Comment(next(server.world.ids), one["pull"], author, one["body"], now, now)
        repository.comments[made.id] = made
    for one in told.get("runs", ()):
        _run(repository, one, folder)


def _sha(repository: Repository, ref: str) -> str:
    found = repository.resolve(ref)
    if found is None:
        raise ValueError(f"{repository.full_name} has no {ref}")
    return found.sha


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _pull(repository: Repository, told: dict[str, Any]) -> None:
    pull = Pull(
        told["number"],
        _sha(repository, told["head"]),
        _sha(repository, told["base"]),
        title=told.get("title", "A change"),
        head_ref=told["head"],
        base_ref=told["base"],
        head_repository=told.get("fork", repository.full_name),
    )
    if told.get("merge"):
        pull.merge_commit_sha = _sha(repository, told["merge"])
    repository.pulls[pull.number] = pull


def _run(repository: Repository, told: dict[str, Any], folder: Path) -> None:
    run = Run(
        told["id"],
        _sha(repository, told["head"]),
        told.get("event", "pull_request"),
        head_branch=told["head"],
        head_repository=told.get("fork"),
    )
    run.logs[1] = (folder / told["logs"]).read_bytes() if "logs" in told else None
    repository.runs[run.id] = run
    for one in told.get("jobs", ()):
        log = (folder / one["log"]).read_bytes() if "log" in one else None
        steps = [(step["name"], step["conclusion"]) for step in one.get("steps", ())]
        repository.jobs[one["id"]] = Job(
            one["id"], run.id, one["name"], conclusion=one.get("conclusion", "failure"), steps=steps, log=log
        )
    for one in told.get("artifacts", ()):
        repository.artifacts[one["id"]] = Artifact(
            one["id"], run.id, one["name"], (folder / one["zip"]).read_bytes()
        )


def load_git(repository: Repository, path: Path) -> None:
    """Takes over every commit, branch and tag of a local clone; ids are Git's own."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", str(path), *words], check=True, capture_output=True).stdout

    contents: dict[str, bytes] = {}
    for line in git("rev-list", "--all", "--parents").decode().splitlines():
        sha, *parents = line.split()
        files: dict[str, bytes] = {}
        commit = Commit(
            files, tuple(parents), git("show", "-s", "--format=%s", sha).decode().strip(), sha=sha
        )
        executables = set()
        for record in git("ls-tree", "-r", "-z", sha).split(b"\0")[:-1]:
            (mode, _, blob), name = (
                record.split(b"\t")[0].decode().split(),
                record.split(b"\t", 1)[1].decode(),
            )
            if mode == "160000":
                commit.submodules[name] = blob
                continue
            if blob not in contents:
                contents[blob] = git("cat-file", "blob", blob)
            if mode == "120000":
                commit.links[name] = contents[blob].decode()
            else:
                files[name] = contents[blob]
                executables |= {name} if mode == "100755" else set()
        commit.executables = frozenset(executables)
        repository.add_commit(commit)
    for line in (
        git("for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads", "refs/tags")
        .decode()
        .splitlines()
    ):
        sha, name = line.split(" ", 1)
        repository.refs[name] = git("rev-parse", f"{sha}^{{commit}}").decode().strip()
