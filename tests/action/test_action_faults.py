"""The whole action while GitHub fails: its exit code is the gate's, and the run's outputs and documents are there."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from audit.action.run import run
from audit.github.destination import Effects
from tests.action.payloads import REPOSITORY
from tests.action.world import Origin, checkout, origin, read_outputs, shown, variables
from tests.engine.repositories import git
from tests.fakegithub import Artifact, FakeGitHub, Run, fake_github, faults
from tests.fakegithub.faults import Fault, Moment
from tests.github_runner import commands

FAULTS = (
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
    faults.BAD_GATEWAY_AFTER_COMMIT,
    faults.CUT,
    faults.CUT_AFTER_COMMIT,
    faults.NOT_JSON,
    faults.redirect(),
    faults.slow(60, Moment.BEFORE),
    faults.slow(60, Moment.AFTER),
)
ANSWERED = tuple(fault for fault in FAULTS if not fault.seconds)
"""Faults for what is only read; patience with a silent server is tested in tests/net."""
FIRST_RUN = 9900001
"""The first stage's number in the recorded events."""
CHANNELS = {"comment": ("POST", "/issues/42/comments$"), "check run": ("*", "/check-runs")}


@dataclass
class Clock:
    """Seconds that only sleeping spends, and the lines of the step's log."""

    seconds: float = 0.0
    said: list[str] = field(default_factory=list)
    timeout: float = 10.0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def effects(self) -> Effects:
        return Effects(
            now=lambda: self.seconds,
            sleep=self.sleep,
            say=self.said.append,
            wall=lambda: 1_800_000_000.0 + self.seconds,
            timeout=self.timeout,
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    return origin(tmp_path_factory.mktemp("origin"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, made: Origin) -> Path:
    """A checkout with its whole history, so that Git needs nobody; audits leave it as it is."""
    return checkout(tmp_path_factory.mktemp("runner") / "w", str(made.folder), made.merge, depth=None)


@dataclass
class World:
    """One run of the action in this process."""

    github: FakeGitHub
    environ: dict[str, str]
    clock: Clock

    def fault(self, method: str, path: str, fault: Fault, *, skip: int = 0) -> None:
        """From now on; a silent server is not given long, as that is real time."""
        self.github.fault(method, path, fault, skip=skip)
        if fault.seconds:
            self.clock.timeout = 0.3

    def run(self, **inputs: str) -> int:
        given = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
        return run({**self.environ, **given}, self.clock.effects())

    @property
    def outputs(self) -> dict[str, str]:
        return read_outputs(Path(self.environ["GITHUB_OUTPUT"]).read_text("utf-8"))

    def warnings(self) -> list[str]:
        """Ours about what could not be done; those of findings name a file."""
        return [
            one
            for one in commands("\n".join(self.clock.said))
            if one.startswith("::warning title=ml-audit::")
        ]


@pytest.fixture(scope="module")
def shallow(tmp_path_factory: pytest.TempPathFactory, made: Origin) -> Path:
    """A checkout of the merge commit alone, whose remote is out of reach."""
    folder = checkout(tmp_path_factory.mktemp("shallow") / "w", f"file://{made.folder}", made.merge)
    git(folder, "remote", "set-url", "origin", f"file://{folder}/nowhere")
    return folder


@pytest.fixture
def world(
    github_server: FakeGitHub, made: Origin, workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    shown(github_server, made)
    clock = Clock()
    github_server.world.clock = lambda: 1_800_000_000.0 + clock.seconds
    environ = variables("pull_request_own", workspace, "https://github.com", github_server, made)
    cache = str(tmp_path_factory.getbasetemp() / "facts")
    environ |= {"INPUT_GITHUB-TOKEN": github_server.tokens.write, "ML_AUDIT_CACHE_DIR": cache}
    yield World(github_server, environ, clock)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize(("fail_on", "code"), [("info", 1), ("never", 0)])
def test_nothing_of_github_works(world: World, fault: Fault, fail_on: str, code: int) -> None:
    world.fault("*", "/", fault)
    assert world.run(fail_on=fail_on) == code
    assert world.outputs["conclusion"] == ("failure" if code else "success")
    assert world.outputs["report-json"]
    assert world.warnings()
    there = world.github.world.repositories[REPOSITORY]
    assert len(there.comments) <= 1
    assert len(there.check_runs) <= 1
    assert world.clock.seconds < 240
    assert world.github.tokens.write not in "\n".join(world.clock.said)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("channel", CHANNELS)
def test_one_channel_fails(world: World, fault: Fault, channel: str) -> None:
    world.fault(*CHANNELS[channel], fault)
    assert world.run(fail_on="info") == 1
    assert any(request.fault for request in world.github.requests)
    there = world.github.world.repositories[REPOSITORY]
    assert len(there.comments) <= 1
    assert len(there.check_runs) <= 1
    if channel == "comment":
        [check] = there.check_runs.values()
        assert (check.status, check.conclusion) == ("completed", "failure")
    else:
        assert len(there.comments) == 1
    assert len(world.warnings()) <= 1
    assert world.clock.seconds < 240


@pytest.mark.parametrize("fault", ANSWERED, ids=str)
def test_the_baseline_cannot_be_had(world: World, shallow: Path, fault: Fault) -> None:
    """Neither Git nor GitHub has the merge base: all findings count, and it is said."""
    world.environ["GITHUB_WORKSPACE"] = str(shallow)
    world.fault("GET", "/(compare|tarball|git/trees|commits)/", fault)
    assert world.run(fail_on="warning") == 1
    there = world.github.world.repositories[REPOSITORY]
    [comment] = there.comments.values()
    for told in (comment.body, Path(world.environ["GITHUB_STEP_SUMMARY"]).read_text("utf-8")):
        assert "baseline" in told.lower()
    assert world.clock.seconds < 400


@pytest.fixture(scope="module")
def claimed(made: Origin, workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The artifact that a fork's run leaves."""
    with fake_github() as server:
        shown(server, made, fork="mallory-fork/tiny-lm")
        environ = variables("pull_request_fork", workspace, "https://github.com", server, made)
        environ |= {"INPUT_GITHUB-TOKEN": server.tokens.read_only, "INPUT_FAIL-ON": "never"}
        environ["ML_AUDIT_CACHE_DIR"] = str(tmp_path_factory.getbasetemp() / "facts")
        assert run(environ, Clock().effects()) == 0
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.write(workspace / "ml-audit-report/report.json", "report.json")
    return file.getvalue()


@pytest.fixture
def second(world: World, workspace: Path, made: Origin, claimed: bytes) -> World:
    """The second stage of a fork's pull request."""
    there = world.github.world.repositories[REPOSITORY]
    there.pulls[42].head_repository, there.pulls[42].head_ref = "mallory-fork/tiny-lm", "main"
    there.runs[FIRST_RUN] = Run(
        FIRST_RUN, made.head, head_repository="mallory-fork/tiny-lm", head_branch="main", attempt=2
    )
    there.artifacts[7] = Artifact(7, FIRST_RUN, "ml-audit-report", claimed)
    kept = {name: world.environ[name] for name in ("INPUT_GITHUB-TOKEN", "ML_AUDIT_CACHE_DIR")}
    told = variables("workflow_run_fork", workspace, "https://github.com", world.github, made)
    return World(world.github, {**told, **kept, "INPUT_MODE": "publish"}, world.clock)


def test_the_second_stage(second: World) -> None:
    assert second.run() == 0
    [comment] = second.github.world.repositories[REPOSITORY].comments.values()
    assert comment.issue == 42
    assert second.warnings() == []


@pytest.mark.parametrize("fault", ANSWERED, ids=str)
@pytest.mark.parametrize("path", ["/pulls$", "/artifacts$", "/zip$"])
def test_the_second_stage_cannot_read(second: World, fault: Fault, path: str) -> None:
    """No report, or no pull request: nothing is said in a green voice, and nobody waits."""
    second.fault("GET", path, fault)
    code = second.run()
    there = second.github.world.repositories[REPOSITORY]
    assert code in ((3,) if path != "/pulls$" else (0, 3))
    assert len(there.comments) <= 1
    assert not there.check_runs
    assert second.clock.seconds < 200
    if code == 3:
        assert any(one.startswith("::error title=ml-audit::") for one in second.clock.said)
        assert second.run(on_error="warn") == 0


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_second_stage_cannot_write(second: World, fault: Fault) -> None:
    second.fault("POST", "/comments$", fault)
    assert second.run() == 0
    assert len(second.github.world.repositories[REPOSITORY].comments) <= 1
    assert len(second.warnings()) <= 1
    assert second.clock.seconds < 240


@pytest.mark.parametrize("when", [0, 1, 2, 3, 4, 5, 6, 7])
def test_the_token_expires_on_the_way(world: World, when: int) -> None:
    world.fault("*", "/", faults.UNAUTHORIZED, skip=when)
    assert world.run(fail_on="info") == 1
    for warning in world.warnings():
        assert "401" in warning


def test_without_any_fault(world: World) -> None:
    assert world.run(fail_on="info") == 1
    assert world.warnings() == []
    assert world.clock.seconds == 0
