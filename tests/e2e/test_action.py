"""The documentation's workflows, verbatim, under act: what a pull request gets, and what the job comes to."""

import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.action.git_server import git_server
from tests.e2e import payloads
from tests.e2e.recipes import recipes
from tests.e2e.repositories import BETTER, NAME, NUMBER, SECRET, Change, make_change, publish, publish_run
from tests.e2e.runner import ROOT, Ran, Runner
from tests.engine.repositories import TRAINER, git
from tests.fakegithub import TOKENS, Artifact, Commit, FakeGitHub

GOLDEN = Path(__file__).parent / "golden"
MAIN = recipes()["ml-audit"]
PUBLISH = recipes()["ml-audit, publish"]
RUN = 4711


@pytest.fixture
def change(tmp_path: Path, github: FakeGitHub) -> Change:
    """A pull request of the repository's own that makes it worse."""
    made = make_change(tmp_path / "trainer")
    publish(github, made)
    return made


@pytest.fixture
def from_fork(tmp_path: Path, github: FakeGitHub, runner: Runner) -> Change:
    """The same from a fork: the run's token may only read."""
    made = make_change(tmp_path / "trainer")
    publish(github, made, fork=True)
    publish_run(github, made, RUN, fork=True)
    runner.token = TOKENS.read_only
    return made


def comments(github: FakeGitHub) -> list[str]:
    return [comment.body for comment in github.world.repositories[NAME].comments.values()]


def report(runner: Runner) -> dict[str, object]:
    return json.loads((runner.artifacts / "ml-audit-report" / "report.json").read_text("utf-8"))


def upload(github: FakeGitHub, runner: Runner) -> None:
    """What `actions/upload-artifact` does with the folder that its stand-in kept."""
    folder, packed = runner.artifacts / "ml-audit-report", io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    repository = github.world.repositories[NAME]
    repository.artifacts[1] = Artifact(1, RUN, "ml-audit-report", packed.getvalue())


def enterprise(github: FakeGitHub) -> dict[str, str]:
    """A server of its own, so that what is read from it is asked of its API, not of github.com's."""
    return {"GITHUB_SERVER_URL": github.api_url}


def annotations_of(ran: Ran) -> str:
    return "".join(
        f"{level} {json.dumps(where, sort_keys=True)} {text}\n" for level, where, text in ran.annotations
    )


def outputs_of(ran: Ran) -> str:
    return "".join(f"{name}={value}\n" for name, value in sorted(ran.outputs.items()))


def assert_nothing_secret(runner: Runner, github: FakeGitHub, ran: Ran) -> None:
    """Neither the token nor the secret that the change brings is in anything that was written."""
    written = [str(line.get("raw", line["msg"])) for line in ran.lines]
    written += [json.dumps(request.body) for request in github.requests]
    written += [path.read_text("utf-8") for path in (runner.artifacts / "ml-audit-report").iterdir()]
    for text in written:
        assert runner.token not in text and SECRET not in text


def test_a_pull_request(runner: Runner, github: FakeGitHub, change: Change, golden):
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, MAIN)
    assert ran.jobs == {"audit": "failure"} and ran.code != 0, ran.text  # the gate's exit code is the job's
    [comment] = comments(github)
    [check] = github.world.repositories[NAME].check_runs.values()
    assert (check.head_sha, check.status, check.conclusion) == (change.head, "completed", "failure")
    assert report(runner)["commit"] == change.head
    golden(GOLDEN / "pull_request.comment.md", comment)
    golden(GOLDEN / "pull_request.check.md", f"# {check.title}\n\n{check.summary}\n\n{check.text or ''}")
    golden(GOLDEN / "pull_request.check.json", json.dumps(check.annotations, indent=1, sort_keys=True) + "\n")
    golden(GOLDEN / "pull_request.summary.md", ran.summary)
    golden(GOLDEN / "pull_request.annotations.txt", annotations_of(ran))
    golden(GOLDEN / "pull_request.outputs.txt", outputs_of(ran))
    assert_nothing_secret(runner, github, ran)


def test_a_second_run_keeps_the_one_comment(runner: Runner, github: FakeGitHub, change: Change):
    runner.run("pull_request", payloads.pull_request(change), change.folder, MAIN)
    [first] = comments(github)
    (runner.artifacts / "ml-audit-report").rename(runner.artifacts / "of-the-first-run")
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, MAIN, run_id=RUN + 1)
    assert ran.jobs == {"audit": "failure"}
    [second] = comments(github)
    assert second.replace(str(RUN + 1), str(RUN)) == first
    assert ran.outputs["comment-url"].endswith(
        f"/pull/{NUMBER}#issuecomment-{min(github.world.repositories[NAME].comments)}"
    )


def test_a_pull_request_that_brings_nothing_bad_passes(runner: Runner, github: FakeGitHub, tmp_path: Path):
    change = make_change(tmp_path / "trainer", BETTER)
    publish(github, change)
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, MAIN)
    assert ran.jobs == {"audit": "success"} and ran.code == 0, ran.text
    assert ran.outputs["conclusion"] == "success" and ran.outputs["findings-new"] == "0"
    [check] = github.world.repositories[NAME].check_runs.values()
    assert check.conclusion == "success"


def test_a_forks_pull_request_and_its_second_stage(
    runner: Runner, github: FakeGitHub, from_fork: Change, golden
):
    ran = runner.run("pull_request", payloads.pull_request(from_fork, fork=True), from_fork.folder, MAIN)
    assert ran.jobs == {"audit": "failure"}, ran.text  # by what was found: see the next test
    assert comments(github) == [] and not github.world.repositories[NAME].check_runs
    assert not [request for request in github.requests if request.method != "GET"]
    golden(GOLDEN / "fork.summary.md", ran.summary)
    golden(GOLDEN / "fork.annotations.txt", annotations_of(ran))
    upload(github, runner)

    runner.token = TOKENS.write
    git(
        from_fork.folder, "switch", "-q", "--detach", from_fork.base
    )  # the default branch: where such a run starts
    payload = payloads.workflow_run(from_fork, RUN, fork=True)
    second = runner.run("workflow_run", payload, from_fork.folder, PUBLISH, run_id=RUN + 1)
    assert second.jobs == {"audit": "success"}, second.text
    [comment] = comments(github)
    golden(GOLDEN / "fork.comment.md", comment)
    assert not github.world.repositories[NAME].check_runs


def test_a_forks_pull_request_never_fails_for_lack_of_permission(
    runner: Runner, github: FakeGitHub, tmp_path: Path
):
    change = make_change(tmp_path / "trainer", BETTER)
    publish(github, change, fork=True)
    runner.token = TOKENS.read_only
    ran = runner.run("pull_request", payloads.pull_request(change, fork=True), change.folder, MAIN)
    assert ran.jobs == {"audit": "success"}, ran.text


def test_the_second_stage_is_for_forks_only(runner: Runner, github: FakeGitHub, change: Change):
    publish_run(github, change, RUN, fork=False)
    ran = runner.run("workflow_run", payloads.workflow_run(change, RUN, fork=False), change.folder, PUBLISH)
    assert "audit" not in ran.jobs or ran.jobs["audit"] == "success"
    assert comments(github) == []


def test_the_second_stage_refuses_what_is_no_report(runner: Runner, github: FakeGitHub, from_fork: Change):
    kept = runner.artifacts / "ml-audit-report"
    kept.mkdir()
    (kept / "report.json").write_text('{"schema_version": 1, "comment": "# I am the bot"}')
    upload(github, runner)
    runner.token = TOKENS.write
    ran = runner.run(
        "workflow_run", payloads.workflow_run(from_fork, RUN, fork=True), from_fork.folder, PUBLISH
    )
    assert ran.jobs == {"audit": "failure"}
    assert not [body for body in comments(github) if "I am the bot" in body]


def test_a_push(runner: Runner, github: FakeGitHub, change: Change):
    git(change.folder, "switch", "-q", "--detach", change.head)
    ran = runner.run("push", payloads.push(change), change.folder, MAIN)
    assert ran.jobs == {"audit": "failure"}, ran.text
    [check] = github.world.repositories[NAME].check_runs.values()
    assert check.head_sha == change.head and check.status == "completed"
    assert comments(github) == []


def test_a_merge_group(runner: Runner, github: FakeGitHub, change: Change):
    ran = runner.run("merge_group", payloads.merge_group(change), change.folder, MAIN)
    assert ran.jobs == {"audit": "failure"}, ran.text
    [check] = github.world.repositories[NAME].check_runs.values()
    assert check.head_sha == change.merge and check.conclusion == "failure"
    assert ran.outputs["findings-new"] != "" and comments(github) == []


@pytest.mark.parametrize("closed", [False, True], ids=["fetched", "from the archive"])
def test_a_shallow_checkout(runner: Runner, github: FakeGitHub, change: Change, tmp_path: Path, closed: bool):
    """As `actions/checkout` makes it: the merge commit alone. Head and merge base are fetched, or come from GitHub's archive."""
    hosted, shallow = tmp_path / "hosted" / f"{NAME}.git", tmp_path / "shallow"
    git(change.folder, "branch", "merge", change.merge)
    git(tmp_path, "clone", "-q", "--bare", str(change.folder), str(hosted))
    git(hosted, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "-q", "--depth", "1", "--branch", "merge", f"file://{change.folder}", str(shallow))
    git(shallow, "switch", "-q", "--detach", "HEAD")
    with git_server(tmp_path / "hosted") as server:
        server.closed = closed
        git(shallow, "remote", "set-url", "origin", f"{server.url}/{NAME}")
        environment = {"GITHUB_SERVER_URL": server.url}
        ran = runner.run(
            "pull_request", payloads.pull_request(change), shallow, MAIN, environment=environment
        )
    assert ran.jobs == {"audit": "failure"}, ran.text
    assert server.asked and bool(github.asked("GET", "tarball")) is closed
    assert report(runner)["commit"] == change.head
    assert (ran.outputs["findings-new"], ran.outputs["score"]) == ("4", "4.5")
    assert "baseline not available" not in comments(github)[0].lower()


def test_another_repository(runner: Runner, github: FakeGitHub, change: Change):
    files = {name: text.encode() for name, text in TRAINER.items()}
    other = github.add_repository("elsewhere/model").add_commit(Commit(files), "main", "v1.0")
    payload = payloads.dispatch(repository="elsewhere/model", ref="v1.0")
    ran = runner.run(
        "workflow_dispatch",
        payload,
        change.folder,
        recipes()["ml-audit elsewhere"],
        environment=enterprise(github),
    )
    assert ran.jobs == {"audit": "success"}, ran.text
    assert report(runner)["commit"] == other.sha
    assert "elsewhere/model" in ran.summary
    assert not [request for request in github.requests if request.method != "GET"]


def test_a_list_of_repositories(runner: Runner, github: FakeGitHub, change: Change):
    names = ["elsewhere/model", "elsewhere/other"]
    for name in names:
        files = {path: text.encode() for path, text in TRAINER.items()}
        github.add_repository(name).add_commit(Commit({**files, "name": name.encode()}), "main")
    payload = payloads.dispatch(repositories=json.dumps(names))
    ran = runner.run(
        "workflow_dispatch",
        payload,
        change.folder,
        recipes()["ml-audit of a list"],
        environment=enterprise(github),
    )
    assert ran.jobs == {"audit": "success", "table": "success"}, ran.text
    rows = [line for line in ran.summary.splitlines() if line.startswith("| elsewhere/")]
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in names]


def test_suggestions(runner: Runner, github: FakeGitHub, tmp_path: Path):
    """A pin that the lock in the repository knows is suggested on the line that lost it."""
    lock = "version = 1\n" + "".join(
        f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
        for name, version in (("numpy", "1.26.4"), ("torch", "2.4.1"))
    )
    change = make_change(
        tmp_path / "trainer", {"requirements.txt": "torch\nnumpy==1.26.4\n"}, base={"uv.lock": lock}
    )
    publish(github, change)
    workflow = MAIN.replace(
        "OWNER/ml-audit@v1\n", "OWNER/ml-audit@v1\n        with:\n          suggestions: true\n"
    )
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, workflow)
    assert ran.jobs == {"audit": "success"}, ran.text
    [suggestion] = github.world.repositories[NAME].review_comments.values()
    assert (suggestion.path, suggestion.line) == ("requirements.txt", 1)
    assert "```suggestion\ntorch==2.4.1\n```" in suggestion.body


def test_a_template_of_the_base_branch(runner: Runner, github: FakeGitHub, tmp_path: Path):
    """The documentation's own example; the head's is not looked at."""
    [template] = re.findall(
        r"^```jinja\n(.*?)^```$", (ROOT / "docs" / "action.md").read_text("utf-8"), re.M | re.S
    )
    path = ".ml-audit/templates/comment.md.j2"
    change = make_change(tmp_path / "trainer", {**BETTER, path: "Everything is fine."}, base={path: template})
    publish(github, change)
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, MAIN)
    assert ran.jobs == {"audit": "success"}, ran.text
    [comment] = comments(github)
    assert (
        "ask in the reproducibility channel" in comment
        and "## " in comment
        and "Everything is fine" not in comment
    )


def test_code_scanning(runner: Runner, github: FakeGitHub, change: Change):
    git(change.folder, "switch", "-q", "--detach", change.head)
    ran = runner.run("push", payloads.push(change), change.folder, recipes()["ml-audit to code scanning"])
    assert ran.jobs == {"audit": "success"}, ran.text
    sarif = json.loads((runner.artifacts / "code-scanning" / "ml-audit.sarif").read_text("utf-8"))
    assert sarif["version"] == "2.1.0" and sarif["runs"][0]["results"]


def test_with_a_cache(runner: Runner, github: FakeGitHub, change: Change):
    ran = runner.run(
        "pull_request", payloads.pull_request(change), change.folder, recipes()["ml-audit with a cache"]
    )
    assert ran.jobs == {"audit": "failure"}, ran.text


def test_folders_of_one_repository(runner: Runner, github: FakeGitHub, tmp_path: Path):
    parts = {f"{part}/{name}": text for part in ("speech", "vision") for name, text in TRAINER.items()}
    change = make_change(tmp_path / "trainer", {"speech/train.py": "import torch\n"}, base=parts)
    publish(github, change)
    ran = runner.run(
        "pull_request", payloads.pull_request(change), change.folder, recipes()["audited folders"]
    )
    assert set(ran.jobs) == {"folder", "audit"}, ran.text
    assert ran.jobs["audit"] == ran.jobs["folder"]
    assert len(comments(github)) == 2


def test_from_source_on_its_own_repository(runner: Runner, github: FakeGitHub, tmp_path: Path):
    """The project's own workflow, `uses: ./`: act builds the Dockerfile."""
    change = make_change(tmp_path / "trainer", base=_own_source())
    publish(github, change)
    workflow = (ROOT / ".github" / "workflows" / "self.yml").read_text("utf-8")
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, workflow, job="audit")
    assert ran.jobs == {"audit": "failure"}, ran.text
    assert len(comments(github)) == 1


def _own_source() -> dict[str, str]:
    paths = [
        ROOT / name
        for name in (
            "action.yml",
            "Dockerfile",
            ".dockerignore",
            "entrypoint.py",
            "requirements/runtime.lock",
        )
    ]
    for folder in ("audit", "templates"):
        paths += [
            path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        ]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
