"""What the action reads of GitHub, in words of GitHub's own description, and every fault that reading can meet."""

import io
import time
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from audit.net.errors import NetworkError
from audit.net.github import GitHub
from tests.fakegithub import Artifact, Commit, FakeGitHub, Job, Pull, Run, faults
from tests.fakegithub.faults import Fault, Moment
from tests.fakegithub.logs import log_text, run_logs

NAME = "octo/demo"
NOW = 1_800_000_000.0


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = NOW

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pull(fake: FakeGitHub, clock: Clock) -> Pull:
    """A pull request of a fork, whose base went on; a run with two artifacts of one name."""
    fake.world.clock = clock.time
    made = fake.add_pull(NAME, {"a.py": b"1\n"}, {"a.py": b"2\n"}, number=7, fork="someone/demo")
    repository = fake.world.repositories[NAME]
    repository.add_commit(Commit({"a.py": b"1\n", "b.py": b"1\n"}, (made.base_sha,), "On main"), "main")
    logs: dict[int, bytes | None] = {1: None, 2: run_logs({"test": {"Run tests": ["one", "two"]}})}
    repository.runs[1] = Run(1, made.head_sha, head_repository="someone/demo", attempt=2, logs=logs)
    for number in range(130):
        job = Job(
            100 + number,
            1,
            f"test ({number})",
            2,
            steps=[("Run tests", "failure")],
            log=log_text(["text"] * 9),
        )
        repository.jobs[job.id] = job
    repository.artifacts[5] = Artifact(5, 1, "report", b"PK old" + bytes(50))
    repository.artifacts[6] = Artifact(6, 1, "report", b"PK new" + bytes(50))
    return made


def client(fake: FakeGitHub, clock: Clock, token: str | None = None) -> GitHub:
    return GitHub(fake.api_url, token or fake.tokens.write, sleep=clock.sleep, now=clock.time)


def archive(github: GitHub, pull: Pull) -> bytes:
    file = io.BytesIO()
    github.archive(NAME, pull.head_sha, file)
    return file.getvalue()


def artifact(github: GitHub, pull: Pull) -> bytes:
    file = io.BytesIO()
    github.artifact(NAME, 6, file, limit=100)
    return file.getvalue()


def logs_of_run(github: GitHub, pull: Pull) -> bytes:
    file = io.BytesIO()
    github.run_logs(NAME, 1, 2, file, limit=10_000)
    return file.getvalue()


def log_of_job(github: GitHub, pull: Pull) -> bytes:
    file = io.BytesIO()
    github.job_log(NAME, 100, file, limit=10_000)
    return file.getvalue()


READS: dict[str, Callable[[GitHub, Pull], Any]] = {
    "repository": lambda github, pull: github.repository("octo", "demo"),
    "commit": lambda github, pull: github.commit(NAME, "main"),
    "pull": lambda github, pull: github.pull(NAME, 7),
    "pulls from a branch": lambda github, pull: github.pulls_from(NAME, "someone", "change"),
    "pulls of a commit": lambda github, pull: github.pulls_of(NAME, pull.head_sha),
    "merge base": lambda github, pull: github.merge_base(NAME, "main", pull.head_sha),
    "tree": lambda github, pull: github.tree(NAME, pull.head_sha),
    "artifacts": lambda github, pull: github.artifacts(NAME, 1, "report"),
    "archive": archive,
    "artifact": artifact,
    "run": lambda github, pull: github.run(NAME, 1),
    "jobs": lambda github, pull: github.jobs(NAME, 1, 2),
    "logs of a run": logs_of_run,
    "log of a job": log_of_job,
}
STATUSES = (
    faults.UNAUTHORIZED,
    faults.FORBIDDEN,
    faults.primary_limit(1800),
    faults.secondary_limit(60),
    faults.secondary_limit(None),
    faults.NOT_FOUND,
    faults.CONFLICT,
    faults.GONE,
    faults.UNPROCESSABLE,
    faults.too_many(None),
    faults.SERVER_ERROR,
    faults.BAD_GATEWAY,
    faults.UNAVAILABLE,
    faults.CUT,
    faults.CUT_SHORT,
    faults.NOT_JSON,
    faults.redirect(),
)


def test_what_is_read(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    with client(fake, clock) as github:
        assert github.pull(NAME, 7)["head"]["repo"]["full_name"] == "someone/demo"
        assert [one["number"] for one in github.pulls_from(NAME, "someone", "change")] == [7]
        assert github.pulls_from(NAME, "octo", "change") == []
        assert [one["number"] for one in github.pulls_of(NAME, pull.head_sha)] == [7]
        assert github.merge_base(NAME, "main", pull.head_sha) == pull.base_sha
        assert sorted(one["id"] for one in github.artifacts(NAME, 1, "report")) == [5, 6]
        assert github.artifacts(NAME, 1, "other") == []
        assert artifact(github, pull) == b"PK new" + bytes(50)
    assert clock.now == NOW


def test_logs_that_are_there(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    with client(fake, clock) as github:
        assert github.run(NAME, 1)["run_attempt"] == 2
        assert [job["id"] for job in github.jobs(NAME, 1, 2)] == list(range(100, 230))
        with zipfile.ZipFile(io.BytesIO(logs_of_run(github, pull))) as packed:
            assert "test/1_Run tests.txt" in packed.namelist()
        assert log_of_job(github, pull) == log_text(["text"] * 9)
    assert [request.authorization for request in fake.asked(host="files")] == [None, None]


def test_logs_that_expired_or_may_not_be_read(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    said = []
    with client(fake, clock) as github:
        for ask in (
            lambda: github.run_logs(NAME, 1, 1, io.BytesIO(), limit=100),
            lambda: github.run_logs(NAME, 1, 3, io.BytesIO(), limit=100),
            lambda: github.run_logs(NAME, 1, 2, io.BytesIO(), limit=100),
        ):
            with pytest.raises(NetworkError) as caught:
                ask()
            said.append(caught.value.message)
    with client(fake, clock, fake.tokens.only_checks) as github, pytest.raises(NetworkError) as caught:
        github.job_log(NAME, 100, io.BytesIO(), limit=100)
    assert [word for word, text in zip(("410", "404", "larger than"), said, strict=True) if word in text] == [
        "410",
        "404",
        "larger than",
    ]
    assert "403" in caught.value.message


def test_an_artifact_goes_without_the_token(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    artifact(client(fake, clock), pull)
    assert [request.authorization for request in fake.asked(host="files")] == [None]


@pytest.mark.parametrize("fault", STATUSES, ids=str)
@pytest.mark.parametrize("what", READS)
def test_a_fault_that_stays(fake: FakeGitHub, clock: Clock, pull: Pull, what: str, fault: Fault) -> None:
    fake.fault("GET", "^/repos/", fault)
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        READS[what](github, pull)
    assert caught.value.message and caught.value.advice
    assert fake.tokens.write not in f"{caught.value.message} {caught.value.advice}"
    assert clock.now - NOW <= 61
    assert len(fake.requests) <= 8


@pytest.mark.parametrize(
    "fault",
    [
        faults.primary_limit(20),
        faults.secondary_limit(20),
        faults.secondary_limit(None),
        faults.too_many(5),
        faults.SERVER_ERROR,
        faults.BAD_GATEWAY,
        faults.UNAVAILABLE,
        faults.CUT,
    ],
    ids=str,
)
@pytest.mark.parametrize("what", READS)
def test_a_fault_that_passes(fake: FakeGitHub, clock: Clock, pull: Pull, what: str, fault: Fault) -> None:
    with client(fake, clock) as github:
        expected = READS[what](github, pull)
        fake.fault("GET", "^/repos/", fault, times=1)
        assert READS[what](github, pull) == expected


@pytest.mark.parametrize("what", READS)
def test_a_server_that_says_nothing(
    fake: FakeGitHub, clock: Clock, pull: Pull, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.fault("GET", "^/repos/", faults.slow(60, Moment.BEFORE))
    started = time.monotonic()
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        # PyGithub takes whole seconds only, which would make this test last for many of them.
        monkeypatch.setattr(github._requester(), "_Requester__timeout", 0.2)
        READS[what](github, pull)
    assert time.monotonic() - started < 20
    assert "did not answer within" in caught.value.message


@pytest.mark.parametrize("what", ["archive", "artifact", "logs of a run", "log of a job"])
@pytest.mark.parametrize(
    "fault", [*STATUSES[4:6], faults.CUT, faults.SERVER_ERROR, faults.CUT_SHORT], ids=str
)
def test_a_second_host_that_fails(
    fake: FakeGitHub, clock: Clock, pull: Pull, what: str, fault: Fault
) -> None:
    fake.fault("GET", "^/(octo/demo/legacy|artifacts/|actions-results/|job-logs/)", fault)
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        READS[what](github, pull)
    assert caught.value.advice
    assert clock.now - NOW <= 61


def test_an_artifact_that_expired(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    fake.world.repositories[NAME].artifacts[6].expired = True
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        artifact(github, pull)
    assert "410" in caught.value.message


def test_an_artifact_that_is_too_large(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    fake.world.repositories[NAME].artifacts[6].content = b"PK" * 100
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        artifact(github, pull)
    assert "larger than" in caught.value.message


def test_merge_base_of_strangers(fake: FakeGitHub, clock: Clock, pull: Pull) -> None:
    repository = fake.world.repositories[NAME]
    repository.add_commit(Commit({"x": b"x"}, (), "An orphan"), "orphan")
    with client(fake, clock) as github, pytest.raises(NetworkError) as caught:
        github.merge_base(NAME, "orphan", pull.head_sha)
    assert "404" in caught.value.message
