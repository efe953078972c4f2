"""`ml-audit failure --run`: a run's logs from a fake GitHub."""

import json

import pytest

from audit.cli.main import run
from audit.github.run_logs import RunAddress, run_address
from audit.source.errors import SourceError
from tests.fakegithub import faults
from tests.fakegithub.faults import Fault
from tests.fakegithub.logs import run_logs
from tests.fakegithub.server import FakeGitHub
from tests.fakegithub.world import Job, Run

REPOSITORY = "tiny/lm"
ID = 5501
COMMIT = "c" * 40
LOG = [
    "##[group]Run python train.py",
    "##[endgroup]",
    "OSError: [Errno 28] No space left on device",
    "##[error]Process completed with exit code 1.",
]


@pytest.fixture
def page(github_server: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a run with two attempts; GitHub's variables lead to the fake."""
    there = github_server.add_repository(REPOSITORY)
    there.runs[ID] = Run(ID, COMMIT, attempt=2)
    there.runs[ID].logs = {1: run_logs({"train": {"Train": LOG}}), 2: run_logs({"train": {"Train": LOG[:2]}})}
    monkeypatch.setenv("GITHUB_API_URL", github_server.api_url)
    monkeypatch.setenv("GITHUB_TOKEN", github_server.tokens.write)
    return f"https://127.0.0.1/{REPOSITORY}/actions/runs/{ID}"


def test_the_logs_of_an_attempt_are_fetched_and_read(
    page: str, github_server: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["failure", "--run", f"{page}/attempts/1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["category"] == "infra_runtime"
    assert told["cause"]["text"].endswith(LOG[2])
    assert told["cause"]["file"].startswith("logs.zip!")
    [download] = github_server.asked("GET", "", "files")
    assert download.authorization is None


def test_the_newest_attempt_counts_where_none_is_named(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["failure", "--run", page, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] is None


def test_expired_logs_are_asked_for_job_by_job(
    page: str, github_server: FakeGitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    there = github_server.world.repository(REPOSITORY)
    assert there is not None
    there.runs[ID].logs = {2: None}
    assert run(["failure", "--run", page]) == 3
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"ml-audit: Run {ID} has no logs of a job that failed: ")
    assert said[1] == "ml-audit: Logs expire; run it again."
    there.jobs[1] = Job(1, ID, "train", log="\n".join(LOG).encode(), attempt=2)
    assert run(["failure", "--run", page, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["category"] == "infra_runtime"


@pytest.mark.parametrize(
    "fault",
    [faults.UNAUTHORIZED, faults.FORBIDDEN, faults.NOT_FOUND, faults.GONE],
    ids=lambda fault: str(fault.status),
)
def test_a_refusal_is_one_line_and_what_to_do(
    page: str, github_server: FakeGitHub, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    github_server.fault("GET", rf"/actions/runs/{ID}$", fault)
    assert run(["failure", "--run", page]) == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) <= 2
    assert all(line.startswith("ml-audit: ") for line in said)
    assert github_server.tokens.write not in "".join(said)


def test_addresses_of_runs() -> None:
    base = "https://github.com/owner/repo.name/actions/runs/12"
    assert run_address(base) == RunAddress("github.com", "owner/repo.name", 12)
    assert run_address(f"{base}/attempts/3?pr=4#summary") == RunAddress(
        "github.com", "owner/repo.name", 12, 3
    )
    assert run_address(" https://www.github.com/owner/repo.name/actions/runs/12/job/9 ").run == 12
    assert run_address("https://git.example/a/b/actions/runs/1/").host == "git.example"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "12",
        "owner/repo",
        "https://github.com/owner/repo",
        "https://github.com/owner/repo/actions/runs/x",
        "https://github.com/owner/repo/actions/runs/1/../../2",
        "https://github.com/o w/repo/actions/runs/1",
        "https://[::1/owner/repo/actions/runs/1",
        "ftp://github.com/owner/repo/actions/runs/1",
        f"https://github.com/owner/repo/actions/runs/{'9' * 40}",
        "https://github.com/owner/repo/actions/runs/1%0a",
    ],
)
def test_what_is_no_address_of_a_run(address: str) -> None:
    with pytest.raises(SourceError, match="not the address of a workflow run"):
        run_address(address)


def test_a_token_goes_to_its_own_server_only(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["failure", "--run", f"https://elsewhere.example/{REPOSITORY}/actions/runs/{ID}"]) == 3
    assert "elsewhere.example is not known as a GitHub server" in capsys.readouterr().err
