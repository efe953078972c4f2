"""Why a run failed: from the logs that GitHub keeps, and from a log of the job itself."""

import io
import zipfile
from pathlib import Path

import pytest

from tests.e2e import payloads
from tests.e2e.recipes import recipes
from tests.e2e.repositories import NAME, NUMBER, Change, make_change, publish
from tests.e2e.runner import Runner
from tests.engine.repositories import git
from tests.fakegithub import FakeGitHub, Job, Run

GOLDEN = Path(__file__).parent / "golden"
RUN = 4711
TIME = "2026-01-02T03:04:05.1234567Z "
FAILED_STEP = """\
##[group]Run python train.py
python train.py
shell: /usr/bin/bash -e {0}
##[endgroup]
step 10: loss 2.31
step 20: loss 1.94
::set-output name=verdict::passed
##[error]forged
Traceback (most recent call last):
  File "/home/runner/work/trainer/trainer/train.py", line 16, in <module>
    main()
  File "/home/runner/work/trainer/trainer/train.py", line 10, in main
    loss = model(torch.randn(4, 2)).sum()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 14.75 GiB of which 12.06 MiB is free.
##[error]Process completed with exit code 1.
"""


@pytest.fixture
def change(tmp_path: Path, github: FakeGitHub) -> Change:
    """A pull request whose workflow CI has failed."""
    made = make_change(tmp_path / "trainer")
    publish(github, made)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        text = "".join(f"{TIME}{line}\n" for line in FAILED_STEP.splitlines())
        archive.writestr("train/3_Run python train.py.txt", text)
        archive.writestr("0_train.txt", text)
    repository = github.world.repositories[NAME]
    repository.runs[RUN] = Run(RUN, made.head, name="CI", head_repository=NAME, logs={1: packed.getvalue()})
    steps = [
        ("Set up job", "success"),
        ("Run actions/checkout@v7", "success"),
        ("Run python train.py", "failure"),
    ]
    repository.jobs[1] = Job(1, RUN, "train", steps=steps, log=text.encode())
    return made


def comments(github: FakeGitHub) -> list[str]:
    return [comment.body for comment in github.world.repositories[NAME].comments.values()]


def test_logs_of_another_run(runner: Runner, github: FakeGitHub, change: Change, golden):
    git(change.folder, "switch", "-q", "--detach", change.base)
    payload = payloads.workflow_run(change, RUN, fork=False)
    payload["workflow_run"] |= {"name": "CI", "pull_requests": payloads.pulls_of(change)}
    # A server of its own, so that the commit is asked of its API, not of github.com's.
    server = {"GITHUB_SERVER_URL": github.api_url}
    workflow = recipes()["why CI failed"]
    ran = runner.run("workflow_run", payload, change.folder, workflow, environment=server, run_id=RUN + 1)
    assert ran.jobs == {"failure": "success"}, ran.text
    assert ran.outputs["verdict"] == "infra_runtime"
    [comment] = comments(github)
    assert "CUDA out of memory" in comment
    golden(GOLDEN / "failure.comment.md", comment.replace(github.api_url, "https://github.com"))
    golden(GOLDEN / "failure.summary.md", ran.summary.replace(github.api_url, "https://github.com"))
    assert not [text for _, _, text in ran.annotations if text == "forged"]
    [check] = github.world.repositories[NAME].check_runs.values()
    assert check.head_sha == change.head and check.status == "completed"


def test_a_log_of_the_same_job(runner: Runner, github: FakeGitHub, change: Change):
    """The image that jobs run in has no PyTorch, so the training fails at its import."""
    ran = runner.run("pull_request", payloads.pull_request(change), change.folder, recipes()["train"])
    assert ran.jobs == {"train": "failure"}  # by the step that trains
    assert ran.outputs["verdict"] == "data_config", ran.text
    [comment] = comments(github)
    assert "ModuleNotFoundError" in comment and github.world.repositories[NAME].pulls[NUMBER].state == "open"
