"""Head and merge base for every kind of checkout, over Git's own protocol and a fake API."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from audit.action.commits import Located, Surroundings, located
from audit.action.plan import Checkout, Elsewhere, MergeBase, Named, Plan, PullHead
from audit.documents.errors import DocumentError
from audit.net.github import GitHub
from audit.source.errors import SourceError
from tests.action.git_server import GitServer, git_server
from tests.action.payloads import REPOSITORY, planned
from tests.action.world import Origin, checkout, origin, shown
from tests.engine.repositories import commit, effects, git, write
from tests.fakegithub import fake_github, faults
from tests.fakegithub.server import FakeGitHub


@dataclass
class World:
    made: Origin
    git: GitServer
    github: FakeGitHub
    folder: Path
    before: int = 0

    @property
    def url(self) -> str:
        return f"{self.git.url}/{REPOSITORY}.git"

    def plan(self, **changes: object) -> Plan:
        """That of a pull request, with this world's commits and servers."""
        plan = planned("pull_request_own")
        token = msgspec.structs.replace(plan.destination.token, value=self.github.tokens.write)
        destination = msgspec.structs.replace(
            plan.destination,
            api_url=self.github.api_url,
            server_url=self.git.url,
            head_sha=self.made.head,
            token=token,
        )
        standard = {"target": Checkout(".", self.made.head), "baseline": MergeBase(self.made.base, "main")}
        return msgspec.structs.replace(plan, destination=destination, **{**standard, **changes})

    def around(self, workspace: Path) -> Surroundings:
        environ = {**effects(self.folder).environ, "GITHUB_API_URL": self.github.api_url}
        return Surroundings(
            workspace,
            environ,
            lambda: GitHub(self.github.api_url, self.github.tokens.write, sleep=lambda _: None),
            lambda _: None,
        )

    def found(self, workspace: Path, **changes: object) -> Located:
        with located(self.plan(**changes), self.around(workspace)) as found:
            return found

    def forget(self) -> None:
        self.before = len(self.git.asked)
        self.github.requests.clear()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    made = origin(tmp_path / "origin")
    with git_server(made.root) as server, fake_github() as github:
        shown(github, made)
        yield World(made, server, github, tmp_path)


def state_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def test_a_shallow_merge_checkout_gets_both_in_one_fetch_and_is_not_touched(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    before = state_of(workspace)
    world.forget()
    found = world.found(workspace)
    assert (found.target, found.commit) == (f"{workspace}@{world.made.head}", world.made.head)
    assert (found.baseline, found.baseline_name, found.archive, found.no_baseline) == (
        world.made.fork_point,
        "main",
        None,
        "",
    )
    assert [str(request).partition("?")[0] for request in world.github.requests] == [
        f"GET /repos/{REPOSITORY}/compare/{world.made.base}...{world.made.head}"
    ]
    posts = [path for path, _ in world.git.asked[world.before :] if path.endswith("/git-upload-pack")]
    assert len(posts) == 2  # what there is, then the two commits
    assert state_of(workspace) == before


def test_what_was_fetched_is_gone_afterwards(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    with located(world.plan(), world.around(workspace)) as found:
        store = Path(found.variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"])
        assert store.is_dir()
    assert not store.exists()


def test_the_token_goes_as_a_header_and_into_no_file(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    world.forget()
    with located(world.plan(), world.around(workspace)) as found:
        store = Path(found.variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"]).parent
        secret = world.github.tokens.write.encode()
        assert not any(secret in path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert all(authorization for _, authorization in world.git.asked[world.before :])


def test_a_full_clone_asks_nobody(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge, depth=None)
    world.forget()
    found = world.found(workspace)
    assert (found.commit, found.baseline) == (world.made.head, world.made.fork_point)
    assert (world.github.requests, world.git.asked[world.before :]) == ([], [])


def test_without_the_api_the_history_is_deepened_until_both_meet(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    world.github.fault("GET", "/compare/", faults.FORBIDDEN)
    found = world.found(workspace)
    assert (found.commit, found.baseline, found.no_baseline) == (world.made.head, world.made.fork_point, "")


def test_without_git_access_both_come_from_archives(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    world.git.closed = True
    found = world.found(workspace)
    here = f"{world.git.url}/{REPOSITORY}/commit"
    assert (found.target, found.archive) == (f"{here}/{world.made.head}", f"{here}/{world.made.fork_point}")
    assert found.notes[0].startswith(
        f"The commit {world.made.head[:12]} was read from GitHub's archive, as it could not be fetched"
    )


def test_without_anything_the_checkout_is_audited_and_there_is_no_baseline(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    world.git.closed = True
    world.github.fault("GET", "/repos/", faults.FORBIDDEN)
    found = world.found(workspace)
    assert (found.target, found.commit) == (f"{workspace}@{world.made.merge}", world.made.merge)
    assert (found.baseline, found.archive) == (None, None)
    assert found.no_baseline.startswith("Baseline not available: GitHub forbids reading where")
    assert found.notes[0].startswith(f"The commit {world.made.head[:12]} could not be fetched")
    assert "line numbers can differ" in found.notes[0]


def test_a_commit_that_nobody_has_is_an_error(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    with pytest.raises(SourceError, match="neither in the checkout nor to be had from GitHub"):
        world.found(workspace, target=Checkout(".", "no-such-branch"))


def test_no_checkout_at_all_reads_from_github(world):
    (world.folder / "w").mkdir()
    found = world.found(world.folder / "w")
    here = f"{world.git.url}/{REPOSITORY}/commit"
    assert (found.target, found.archive) == (f"{here}/{world.made.head}", f"{here}/{world.made.fork_point}")


def test_a_folder_that_is_no_clone_is_audited_as_it_is(world):
    write(world.folder / "w", {"a.py": "x = 1\n"})
    found = world.found(world.folder / "w")
    assert (found.target, found.commit, found.baseline) == (str(world.folder / "w"), None, None)
    assert (
        found.no_baseline == "The folder is no Git clone, so it was audited as it is, compared with nothing."
    )


def test_another_repository_in_the_checkout_is_compared_with_nothing(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    git(workspace, "remote", "set-url", "origin", "https://github.com/other-lab/big-model.git")
    found = world.found(workspace)
    assert (found.target, found.foreign, found.baseline) == (str(workspace), "other-lab/big-model", None)


def test_a_folder_of_the_checkout(world):
    work = world.folder / "origin" / "work"
    git(work, "switch", "-q", "-c", "sub", world.made.head)
    write(work, {"model/train.py": "import torch\n"})
    head = commit(work)
    git(work, "push", "-q", str(world.made.folder), "sub")
    workspace = checkout(world.folder / "w", world.url, head, ref="refs/remotes/origin/sub")
    found = world.found(workspace, target=Checkout("model", head), baseline=MergeBase(world.made.head))
    assert (found.target, found.prefix) == (f"{workspace}/model@{head}", "model/")
    assert found.no_baseline == f"Baseline not available: commit {world.made.head[:12]} has no folder model/."


@pytest.mark.parametrize("path", ["..", "link"])
def test_a_path_out_of_the_workspace_is_refused(world, path):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    (workspace / "link").symlink_to("/")
    with pytest.raises(SourceError, match="leads out of the workspace"):
        world.found(workspace, target=Checkout(path, world.made.head))


def test_files_that_look_like_a_repository_have_no_history_of_their_own(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    git(workspace, "init", "-q", "--bare", "model")
    with pytest.raises(SourceError, match="The path model is a bare repository"):
        world.found(workspace, target=Checkout("model", world.made.head))


def test_names_are_no_part_of_an_addresss_grammar(world):
    target = Elsewhere("octo/demo", "fix#12")
    assert world.found(world.folder, target=target).target == "https://127.0.0.1/octo/demo/commit/fix%2312"


def test_a_branch_that_is_named_is_fetched(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    found = world.found(workspace, baseline=Named("main"))
    assert (found.baseline, found.baseline_name) == (world.made.fork_point, "main")


def test_a_report_that_is_named_is_taken_from_the_workspace(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    (workspace / "baseline.json").write_text("{}")
    assert world.found(workspace, baseline=Named("baseline.json")).baseline == str(
        workspace / "baseline.json"
    )
    (workspace / "link.json").symlink_to(__file__)
    with pytest.raises(SourceError, match="leads out of the workspace"):
        world.found(workspace, baseline=Named("link.json"))


def test_a_named_baseline_that_is_the_head_is_refused_and_one_that_nobody_has_is_an_error(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    with pytest.raises(DocumentError, match="is the audited commit"):
        world.found(workspace, baseline=Named(world.made.head))
    with pytest.raises(SourceError, match="The baseline no-such-branch cannot be had"):
        world.found(workspace, baseline=Named("no-such-branch"))


def test_a_new_branch_without_commits_has_no_baseline(world):
    workspace = checkout(world.folder / "w", world.url, world.made.base, ref="refs/remotes/origin/new")
    found = world.found(workspace, target=Checkout(".", world.made.base), baseline=MergeBase("main", "main"))
    assert (found.baseline, found.no_baseline) == (
        None,
        "Baseline not available: there is no commit since the baseline.",
    )


def test_a_pull_request_known_by_its_number(world):
    workspace = checkout(world.folder / "w", world.url, world.made.base, ref="refs/remotes/origin/main")
    found = world.found(workspace, target=PullHead(".", 42), baseline=MergeBase("", "the base branch"))
    assert (found.commit, found.baseline, found.baseline_name) == (
        world.made.head,
        world.made.fork_point,
        "main",
    )


def test_a_partial_clone_gets_the_contents_that_it_lacks(world):
    git(world.made.folder, "config", "uploadpack.allowFilter", "true")
    workspace = world.folder / "w"
    git(world.folder, "clone", "-q", "--filter=blob:none", "--no-tags", world.url, str(workspace))
    found = world.found(workspace)
    assert (found.commit, found.baseline) == (world.made.head, world.made.fork_point)


def test_hostile_settings_of_the_checkout_run_nothing(world):
    workspace = checkout(world.folder / "w", world.url, world.made.merge)
    mark = world.folder / "ran"
    script = world.folder / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "credential.helper",
        "remote.origin.uploadpack",
    ):
        git(workspace, "config", name, str(script))
    git(workspace, "config", f"url.ext::{script}.insteadOf", world.git.url)
    git(workspace, "config", "core.alternateRefsCommand", str(script))
    hooks = workspace / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("reference-transaction", "post-checkout", "pre-auto-gc"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    assert world.found(workspace).baseline == world.made.fork_point
    assert not mark.exists()
