"""The whole action as a process, against Git over HTTP and the fake GitHub that checks every request and answer."""

import dataclasses
import io
import json
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.action.git_server import GitServer, git_server
from tests.action.payloads import REPOSITORY
from tests.action.world import Done, Origin, act, checkout, origin, shown, start, variables
from tests.engine.repositories import TRAINER, commit, git, repository, write
from tests.fakegithub import faults
from tests.fakegithub.seed import load_git
from tests.fakegithub.server import FakeGitHub
from tests.fakegithub.world import Artifact, Run
from tests.github_runner import commands

RUN = 9900001  # the first run's number in the recorded events


@dataclass
class World:
    made: Origin
    git: GitServer
    github: FakeGitHub
    folder: Path

    @property
    def there(self):
        return self.github.world.repositories[REPOSITORY]

    @property
    def url(self) -> str:
        return f"{self.git.url}/{REPOSITORY}.git"

    def workspace(self, **how: object) -> Path:
        folder = self.folder / "w"
        if not folder.exists():
            checkout(folder, self.url, self.made.merge, **how)
        return folder

    def run(
        self, event: str, token: str = "", *, environ: dict[str, str] | None = None, **inputs: str
    ) -> Done:
        given = variables(event, self.workspace(), self.git.url, self.github, self.made)
        return act({**given, **(environ or {})}, github_token=token or self.github.tokens.write, **inputs)

    def writes(self) -> list[str]:
        return [str(request) for request in self.github.requests if request.method != "GET"]


@pytest.fixture
def world(tmp_path: Path, github_server: FakeGitHub) -> Iterator[World]:
    made = origin(tmp_path / "origin")
    with git_server(made.root) as server:
        shown(github_server, made)
        yield World(made, server, github_server, tmp_path)


def report_of(done: Done) -> dict:
    return json.loads((done.workspace / done.outputs["report-json"]).read_text("utf-8"))


def new_findings(report: dict) -> list[tuple[str, str]]:
    return [(one["rule"], one["evidence"][0]["path"]) for one in report["findings"] if one["new"]]


def test_a_pull_request_gets_its_answer_everywhere(world):
    done = world.run("pull_request_own", fail_on="info")
    assert done.code == 1
    assert {name: value for name, value in done.outputs.items() if not name.endswith("-url")} == {
        "conclusion": "failure",
        "score": f"{report_of(done)['score']:.1f}",
        "risk": report_of(done)["risk"],
        "findings-total": str(sum(one["status"] == "fail" for one in report_of(done)["findings"])),
        "findings-new": "1",
        "highest-severity": "INFO",
        "drift": "NONE",
        "verdict": "",
        "decision": "",
        "report-json": "ml-audit-report/report.json",
        "report-html": "ml-audit-report/report.html",
        "lock-file": "",
        "diff-file": "ml-audit-report/diff.json",
        "sarif-file": "ml-audit-report/report.sarif",
    }
    assert sorted(path.name for path in (done.workspace / "ml-audit-report").iterdir()) == [
        "diff.json",
        "diff.md",
        "report.html",
        "report.json",
        "report.sarif",
    ]
    [comment] = world.there.comments.values()
    [check] = world.there.check_runs.values()
    assert (check.head_sha, check.status, check.conclusion) == (world.made.head, "completed", "failure")
    assert [(mark["path"], mark["start_line"]) for mark in check.annotations] == [("evaluate.py", 5)]
    assert f"sha={world.made.head} run=5501.1" in comment.body
    assert f"/blob/{world.made.head}/evaluate.py#L5" in comment.body
    assert done.outputs["comment-url"].endswith(f"#issuecomment-{comment.id}")
    assert "evaluate.py" in done.summary
    assert (
        "The gate is closed: 1 new finding at or above info (fail-on: info, fail-on-scope: new)." in done.log
    )


def test_only_what_the_change_brings_is_new_though_the_base_branch_went_on(world):
    report = report_of(world.run("pull_request_own"))
    assert new_findings(report) == [("security.torch_load", "evaluate.py")]
    assert (report["commit"], report["repository"]) == (world.made.head, REPOSITORY)
    assert (report["baseline"]["name"], report["baseline"]["commit"]) == ("main", world.made.fork_point)


def test_a_second_run_edits_its_comment(world):
    world.run("pull_request_own")
    world.run("pull_request_rerun", comment="always")
    assert len(world.there.comments) == 1
    assert len([each for each in world.writes() if each.startswith("POST") and "comments" in each]) == 1


def test_scope_all_gates_on_what_was_there_before(world):
    done = world.run("pull_request_own", fail_on="warning", fail_on_scope="all")
    assert (done.code, done.outputs["highest-severity"]) == (1, "WARNING")


@pytest.mark.parametrize("event", ["pull_request_fork", "pull_request_dependabot"])
def test_the_first_stage_neither_writes_nor_fails_for_lack_of_permission(world, event):
    done = world.run(event, world.github.tokens.read_only)
    assert (done.code, done.outputs["conclusion"], world.writes()) == (0, "success", [])
    assert report_of(done)["commit"] == world.made.head
    assert "mode: publish" in done.log
    assert "evaluate.py" in done.summary


def test_a_token_without_any_right_still_gives_the_gates_exit_code(world):
    world.workspace()
    world.git.closed = True
    world.github.fault("*", "/", faults.FORBIDDEN)
    done = world.run("pull_request_own", fail_on="warning")
    assert (done.code, done.outputs["conclusion"], done.outputs["findings-new"]) == (1, "failure", "")
    assert "checks: write" in done.log
    assert "pull-requests: write" in done.log
    assert (
        "Without a baseline every finding counts as new, and all of them can close the gate."
        in report_of(done)["coverage"]["notes"]
    )


def test_a_push_has_a_check_and_no_comment(world):
    done = world.run("push_branch")
    assert (done.code, len(world.there.check_runs), len(world.there.comments)) == (0, 1, 0)


def test_a_deleted_branch_is_no_work(world):
    done = world.run("push_deletion")
    assert (done.code, done.outputs["conclusion"], world.github.requests) == (0, "skipped", [])


def test_another_repository_stands_in_the_summary_alone(world, tmp_path):
    other = repository(tmp_path / "other", TRAINER)
    load_git(world.github.add_repository("other-lab/big-model"), other)
    address = f"{world.github.api_url}/other-lab/big-model"
    done = world.run("workflow_dispatch", repo_url=address, ref="main", fail_on="never")
    assert (done.code, world.writes()) == (0, [])
    report = report_of(done)
    assert (report["repository"], report["commit"]) == (
        "other-lab/big-model",
        git(other, "rev-parse", "HEAD"),
    )
    assert done.summary.startswith("##")


@pytest.mark.parametrize(("on_error", "code", "level"), [("fail", 3, "error"), ("warn", 0, "warning")])
def test_an_audit_that_cannot_be_done(world, on_error, code, level):
    done = world.run("workflow_dispatch", path="no/such/folder", on_error=on_error)
    assert (done.code, done.outputs["conclusion"], done.outputs["score"]) == (code, "error", "")
    assert f"::{level} title=ml-audit::" in done.log
    assert "no/such/folder" in done.summary


def test_wrong_inputs_are_told_and_nothing_is_done(world):
    done = world.run("pull_request_own", fail_on="critcal", mode="scan", on_error="warn")
    assert (done.code, done.outputs["conclusion"], world.github.requests) == (2, "error", [])
    assert commands(done.log) == [
        '::error title=ml-audit::The input mode has the value "scan"; allowed: audit, failure, publish.',
        '::error title=ml-audit::The input fail-on has the value "critcal"; allowed: critical, warning, info, never.',
    ]


def test_debugging_shows_what_is_done_and_no_token(world):
    done = world.run("pull_request_own", environ={"RUNNER_DEBUG": "1"})
    assert "::debug::" in done.log
    everything = done.log + done.summary + "".join(done.outputs.values())
    everything += "".join(path.read_text("utf-8") for path in (done.workspace / "ml-audit-report").iterdir())
    assert world.github.tokens.write not in everything


def test_the_checkout_stays_as_it_was(world):
    workspace = world.workspace()
    before = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    world.run("pull_request_own")
    after = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    assert {path.name for path in after.keys() - before.keys()} == {
        "report.json",
        "report.html",
        "report.sarif",
        "diff.json",
        "diff.md",
    }
    assert all(after[path] == content for path, content in before.items())


def test_facts_are_kept_where_a_cache_step_finds_them(world):
    done = world.run("pull_request_own")
    assert any((done.workspace.parent / "runner" / "temp" / "ml-audit" / "facts").iterdir())


# --- the second stage ------------------------------------------------------------------------------------------


def first_stage(world: World) -> bytes:
    """The artifact of a fork's run, zipped as GitHub does it."""
    world.there.pulls[42].head_repository = "mallory-fork/tiny-lm"
    world.there.pulls[42].head_ref = "main"
    done = world.run("pull_request_fork", world.github.tokens.read_only)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((done.workspace / "ml-audit-report").iterdir()):
            archive.write(path, path.name)
    return packed.getvalue()


def left(world: World, content: bytes, **more: object) -> None:
    world.there.runs[RUN] = Run(
        RUN, world.made.head, head_branch="main", head_repository="mallory-fork/tiny-lm"
    )
    world.there.artifacts[7] = Artifact(7, RUN, "ml-audit-report", content, **more)


def test_both_stages(world):
    left(world, first_stage(world))
    world.github.requests.clear()
    done = world.run("workflow_run_fork", mode="publish")
    assert (done.code, done.outputs["conclusion"]) == (0, "success")
    [comment] = world.there.comments.values()
    assert comment.issue == 42
    assert f"key=ml%2Daudit/audit sha={world.made.head} run={RUN}.2" in comment.body
    assert f"/blob/{world.made.head}/evaluate.py#L5" in comment.body
    assert "own run, which its author controls" in comment.body
    assert not world.there.check_runs
    assert [str(request).replace(str(world.made.head), "HEAD") for request in world.github.requests][:3] == [
        f"GET /repos/{REPOSITORY}/pulls",
        f"GET /repos/{REPOSITORY}/actions/runs/{RUN}/artifacts",
        f"GET /repos/{REPOSITORY}/actions/artifacts/7/zip",
    ]
    [download] = world.github.asked("GET", "", "files")
    assert download.authorization is None


def test_the_gate_was_the_first_runs(world):
    left(world, first_stage(world))
    done = world.run("workflow_run_fork", mode="publish", fail_on="info")
    assert (done.code, done.outputs["conclusion"]) == (0, "failure")
    assert "Blocked" in next(iter(world.there.comments.values())).body


def test_a_report_that_an_earlier_step_downloaded(world):
    packed = first_stage(world)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(world.workspace() / "downloaded")
    done = world.run("workflow_run_fork", mode="publish", path="downloaded")
    assert (done.code, len(world.there.comments)) == (0, 1)


def test_a_newer_commit_has_its_own_run(world):
    left(world, first_stage(world))
    world.there.pulls[42].head_sha = world.made.base
    done = world.run("workflow_run_fork", mode="publish")
    assert (done.code, done.outputs["conclusion"], len(world.there.comments)) == (0, "skipped", 0)


def packed(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"no zip", 3, "is no zip that can be read"),
        (packed(other_json=b"{}"), 3, "holds no report.json"),
        (packed(report_json=b"[]"), 2, "holds no report of ml-audit"),
        (packed(report_json=b" " * (17 * 2**20)), 2, "larger than 16 MiB"),
    ],
    ids=["no zip", "no report", "another document", "a bomb"],
)
def test_an_artifact_that_is_no_report_is_not_published(world, content, code, said):
    world.there.pulls[42].head_repository = "mallory-fork/tiny-lm"
    world.there.pulls[42].head_ref = "main"
    left(world, content)
    done = world.run("workflow_run_fork", mode="publish")
    assert (done.code, done.outputs["conclusion"]) == (code, "error")
    assert said in done.log
    assert (
        "holds no report" not in "".join(comment.body for comment in world.there.comments.values())
        or code == 2
    )


@pytest.mark.parametrize(
    ("more", "said"), [({"expired": True}, "has expired"), (None, "left no artifact named")]
)
def test_an_artifact_that_is_gone(world, more, said):
    world.there.pulls[42].head_repository = "mallory-fork/tiny-lm"
    world.there.pulls[42].head_ref = "main"
    left(world, b"", **(more or {}))
    if more is None:
        world.there.artifacts.clear()
    done = world.run("workflow_run_fork", mode="publish")
    assert done.code == 3
    assert said in done.log


def test_a_cancelled_job_leaves_no_check_waiting(world):
    given = variables("pull_request_own", world.workspace(), world.git.url, world.github, world.made)
    process = start({**given, "INPUT_GITHUB-TOKEN": world.github.tokens.write})
    while not world.there.check_runs and process.poll() is None:
        time.sleep(0.02)
    process.terminate()
    assert process.wait(60) == 130
    [check] = world.there.check_runs.values()
    assert (check.status, check.conclusion) == ("completed", "cancelled")


def moved_head(world: World, files: dict[str, str]) -> None:
    """A new head of the pull request, with these files more."""
    work = world.made.root / "work"
    git(work, "switch", "-q", "-C", "again", world.made.head)
    write(work, files)
    head = commit(work)
    git(world.made.folder, "fetch", "-q", str(work), f"+{head}:refs/pull/42/head")
    world.made = dataclasses.replace(world.made, head=head)
    load_git(world.there, world.made.folder)
    world.there.pulls[42].head_sha = head


def test_a_configuration_that_is_not_valid_fails_the_job_and_the_check(world):
    moved_head(world, {".ml-audit/config.yaml": "fail_on: sometimes\n"})
    done = world.run("pull_request_own")
    assert (done.code, done.outputs["conclusion"]) == (2, "error")
    [check] = world.there.check_runs.values()
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert "config.yaml" in done.log


def test_a_change_cannot_lower_its_own_threshold(world):
    moved_head(world, {".ml-audit/config.yaml": "fail_on: info\n"})
    assert "fail-on: critical" in world.run("pull_request_own").log  # what holds on the base
    assert "fail-on: info" in world.run("pull_request_own", baseline="none").log


@pytest.mark.parametrize("how", [{"baseline": "none"}, {"ref": "refs/pull/42/head"}])
def test_a_change_that_is_compared_with_nothing_cannot_open_its_own_gate(world, how):
    moved_head(world, {".ml-audit/config.yaml": "fail_on: never\n"})
    assert "fail-on: critical" in world.run("pull_request_own", **how).log
