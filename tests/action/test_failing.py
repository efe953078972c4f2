"""mode: failure, planned and as a process."""

import io
import json
import zipfile

import pytest

from audit.action.plan import Checkout, PlanError, Stage
from audit.documents.verdict import Category, Verdict
from tests.action.payloads import HEAD, planned
from tests.action.test_run import RUN, World, world
from tests.fakegithub import faults
from tests.fakegithub.world import Job, Run

__all__ = ["world"]

LOG = b"""\
2026-11-30T09:00:01.0000000Z ##[group]Run python train.py
2026-11-30T09:00:01.0000000Z ##[endgroup]
2026-11-30T09:00:05.0000000Z Traceback (most recent call last):
2026-11-30T09:00:05.0000000Z   File "/home/runner/work/tiny-lm/tiny-lm/train.py", line 11, in main
2026-11-30T09:00:05.0000000Z     loss = model(torch.randn(4, 2)).sum()
2026-11-30T09:00:05.0000000Z RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 2x2)
2026-11-30T09:00:05.0000000Z ##[error]Process completed with exit code 1.
"""


def zipped(log: bytes = LOG) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("0_train.txt", log)
        archive.writestr("train/2_Run python train.py.txt", log)
    return file.getvalue()


def left(world: World, logs: bytes | None, *, fork: str | None = None, attempt: int = 1) -> None:
    run = Run(RUN, world.made.head, head_branch="cosine", head_repository=fork, attempt=attempt)
    run.logs[attempt] = logs
    world.there.runs[RUN] = run


def verdict_of(done) -> Verdict:
    import msgspec

    return msgspec.json.decode((done.workspace / done.outputs["report-json"]).read_bytes(), type=Verdict)


def test_the_run_that_failed_is_the_events():
    made = planned("workflow_run_own", mode="failure")
    assert (made.stage, made.target, made.baseline) == (Stage.FAILURE, Checkout(".", HEAD), None)
    assert made.run is not None
    to = made.destination
    assert (to.head_sha, to.pull_number, to.run_id, to.comment_key) == (HEAD, 42, RUN, "CI/audit:failure")
    assert (made.wishes.check_run, made.wishes.may_comment) == (True, True)


def test_a_forks_log_makes_no_check_green():
    made = planned("workflow_run_fork", mode="failure")
    assert made.stage is Stage.NOTHING  # it ended as success
    assert made.why == "The run ended as success; there is nothing to explain."
    cancelled = planned("workflow_run_cancelled", mode="failure")
    assert (cancelled.stage, cancelled.wishes.check_run, cancelled.wishes.may_comment) == (
        Stage.FAILURE,
        False,
        True,
    )


def test_logs_must_come_from_somewhere():
    with pytest.raises(PlanError, match="needs the event workflow_run, or one of the inputs logs and run-id"):
        planned("pull_request_own", mode="failure")
    made = planned("pull_request_own", mode="failure", logs="job.log")
    assert (made.stage, made.run, made.destination.pull_number, made.destination.run_id) == (
        Stage.FAILURE,
        None,
        42,
        5501,
    )


def test_a_failed_run_is_explained(world):
    left(world, zipped())
    done = world.run("workflow_run_own", mode="failure")
    assert (done.code, done.outputs["conclusion"], done.outputs["verdict"]) == (0, "success", "correctness")
    assert done.outputs["decision"] == verdict_of(done).decision.value
    assert sorted(path.name for path in (done.workspace / "ml-audit-report").iterdir()) == [
        "verdict.html",
        "verdict.json",
        "verdict.sarif",
    ]
    [comment] = world.there.comments.values()
    assert comment.issue == 42
    assert "mat1 and mat2 shapes" in comment.body
    assert "mat1 and mat2 shapes" in done.summary
    [check] = world.there.check_runs.values()
    assert (check.head_sha, check.status) == (world.made.head, "completed")
    assert verdict_of(done).cause.file.startswith("logs.zip!")
    assert any(step.path == "train.py" for step in verdict_of(done).trace)
    [download] = world.github.asked("GET", "", "files")
    assert download.authorization is None


@pytest.mark.parametrize(
    ("closing", "code"), [("correctness", 1), ("infra_runtime, ml_regression", 0), ("never", 0)]
)
def test_the_verdict_fails_the_job_where_that_is_asked(world, closing, code):
    left(world, zipped())
    done = world.run("workflow_run_own", mode="failure", fail_on_verdict=closing)
    assert (done.code, done.outputs["conclusion"]) == (code, "failure" if code else "success")


def test_logs_of_a_run_that_still_goes_on_are_fetched_job_by_job(world):
    world.there.runs[RUN] = Run(RUN, world.made.head, status="in_progress", conclusion=None)
    world.there.jobs[1] = Job(1, RUN, "train (3.12, /cuda)", log=LOG)
    world.there.jobs[2] = Job(2, RUN, "lint", conclusion="success", log=b"fine\n")
    done = world.run("pull_request_own", mode="failure", run_id=str(RUN))
    assert (done.code, done.outputs["verdict"]) == (0, "correctness")
    assert verdict_of(done).cause.file == "logs/0_train (3.12, _cuda).txt"
    assert [comment.issue for comment in world.there.comments.values()] == [42]


def test_no_job_hides_another_that_is_called_alike(world):
    world.there.runs[RUN] = Run(RUN, world.made.head, status="in_progress", conclusion=None)
    world.there.jobs[1] = Job(1, RUN, "train/cuda", log=LOG)
    world.there.jobs[2] = Job(2, RUN, "train:cuda", log=b"2026-11-30T09:00:01.0000000Z fine\n")
    done = world.run("pull_request_own", mode="failure", run_id=str(RUN))
    assert (done.code, done.outputs["verdict"]) == (0, "correctness")


def test_a_run_of_another_commit_is_told_nowhere_but_in_the_summary(world):
    world.there.runs[RUN] = Run(RUN, world.made.base)
    world.there.runs[RUN].logs[1] = zipped()
    done = world.run("pull_request_own", mode="failure", run_id=str(RUN))
    assert (done.code, len(world.there.comments)) == (0, 0)
    assert [check.head_sha for check in world.there.check_runs.values()] == [world.made.base]


def test_expired_logs_are_said_to_be(world):
    left(world, None)
    done = world.run("workflow_run_own", mode="failure")
    assert (done.code, done.outputs["conclusion"]) == (3, "error")
    assert "has no logs of a job that failed" in done.log
    assert "(410)" in done.log


def test_a_token_that_may_not_read_logs(world):
    left(world, zipped())
    world.github.fault("GET", "/logs$", faults.FORBIDDEN)
    done = world.run("workflow_run_own", mode="failure", on_error="warn")
    assert (done.code, done.outputs["conclusion"]) == (0, "error")
    assert "GitHub forbids reading the logs of run" in done.log


def test_logs_of_the_workspace_with_claims_and_without_a_repository(world):
    workspace = world.workspace()
    (workspace / "job.log").write_bytes(LOG)
    (workspace / "claims.md").write_text("The run reached an accuracy of 0.93.\n")
    done = world.run("pull_request_own", mode="failure", logs="job.log", claims="claims.md")
    assert done.code == 0
    assert verdict_of(done).category is not Category.PASSED
    assert [claim.status.value for claim in verdict_of(done).claims] == ["not_derivable"]


@pytest.mark.parametrize(
    ("name", "said"), [("no.log", "is not there"), ("link.log", "leads out of the workspace")]
)
def test_logs_that_are_not_in_the_workspace(world, name, said):
    (world.workspace() / "link.log").symlink_to("/proc/self/environ")
    done = world.run("pull_request_own", mode="failure", logs=name)
    assert done.code == 3
    assert said in done.log


def test_a_hostile_log_runs_no_command(world):
    from tests.github_runner import commands

    hostile = LOG.replace(
        b"mat1 and mat2", b"##[add-mask]x ::error::y\n::set-output name=verdict::passed\n mat1 and mat2"
    )
    left(world, zipped(hostile))
    done = world.run("workflow_run_own", mode="failure")
    assert done.code == 0
    quoted = [line for line in commands(done.log) if "set-output" in line or "add-mask" in line]
    assert quoted == []
    assert json.dumps(done.outputs)


def test_an_archive_that_cannot_be_read_costs_the_repository_not_the_verdict(world):
    left(world, zipped())
    (world.folder / "w").mkdir()  # no checkout was made
    world.github.fault("GET", "/tarball/", faults.FORBIDDEN)
    done = world.run("workflow_run_own", mode="failure")
    assert (done.code, done.outputs["verdict"]) == (0, "correctness")
    assert "The verdict is made without the repository: GitHub forbids reading" in done.log
    assert verdict_of(done).trace == ()
