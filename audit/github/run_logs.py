"""The logs of a workflow run: where its address leads, and the fetching of them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from audit.net.errors import NetworkError, NotFoundError
from audit.net.github import GitHub
from audit.source.errors import SourceError

_LARGEST_ZIP = 2**30
_LARGEST_LOG = 4 * 2**30
_MOST_JOBS = 25
"""Logs of single jobs that are fetched where those of the whole run cannot be had; GitHub's own command line stops there too."""
_WORTH_READING = ("failure", "timed_out", "cancelled", "startup_failure")
_ADDRESS = re.compile(
    r"/(?P<owner>[A-Za-z0-9][A-Za-z0-9-]{0,38})/(?P<name>[A-Za-z0-9._-]{1,100})/actions/runs/(?P<run>[0-9]{1,18})"
    r"(?:/attempts/(?P<attempt>[0-9]{1,6}))?(?:/job/[0-9]{1,18})?/?"
)


class RunAddress(msgspec.Struct, frozen=True):
    """What the address of a run's page names. `host` as in `server_for`; `attempt`: None for the newest."""

    host: str
    repository: str
    run: int
    attempt: int | None = None


class Failed(msgspec.Struct, frozen=True):
    """The run that failed: its number, the attempt that is looked at, and the commit that it was for."""

    number: int
    attempt: int
    commit: str


def run_address(address: str) -> RunAddress:
    """`https://HOST/OWNER/REPO/actions/runs/ID`, with `/attempts/N` or a job behind it. Raises SourceError."""
    try:
        parts = urlsplit(address.strip())
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        parts, host = urlsplit(""), ""
    found = _ADDRESS.fullmatch(parts.path)
    if not host or parts.scheme not in ("https", "http") or found is None:
        # Not quoted: an address may hold a password.
        raise SourceError(
            "That is not the address of a workflow run.",
            "Give https://github.com/OWNER/REPO/actions/runs/ID, with /attempts/N for an earlier attempt.",
        )
    attempt = int(found["attempt"]) if found["attempt"] else None
    return RunAddress(host, f"{found['owner']}/{found['name']}", int(found["run"]), attempt)


def described(github: GitHub, repository: str, number: int, attempt: int | None = None) -> Failed:
    """The run as GitHub tells of it today, its newest attempt unless one is named. Raises NetworkError."""
    told = github.run(repository, number)
    newest, commit = told.get("run_attempt"), told.get("head_sha")
    if not isinstance(newest, int) or not isinstance(commit, str):
        raise NetworkError(f"GitHub's answer about run {number} is not GitHub's.", "Check GITHUB_API_URL.")
    return Failed(number, attempt or newest, commit)


def fetch_logs(github: GitHub, repository: str, run: Failed, folder: Path) -> Path:
    """The run's logs in `folder`: GitHub's zip, or one file for each job that did not succeed, as while the run still goes on. Raises NetworkError,
    SourceError where nothing is left of them.
    """
    whole = folder / "logs.zip"
    try:
        with whole.open("wb") as file:
            github.run_logs(repository, run.number, run.attempt, file, limit=_LARGEST_ZIP)
        return whole
    except NotFoundError as error:
        whole.unlink()
        logs = folder / "logs"
        logs.mkdir()
        worth = [
            job
            for job in github.jobs(repository, run.number, run.attempt)
            if job.get("conclusion") in _WORTH_READING
        ]
        for place, job in enumerate(worth[:_MOST_JOBS]):
            _fetch_log(github, repository, job, logs, place)
        if not any(logs.iterdir()):
            raise SourceError(
                f"Run {run.number} has no logs of a job that failed: {error.message}",
                "Logs expire; run it again.",
            ) from None
        return logs


def _fetch_log(github: GitHub, repository: str, job: Mapping[str, Any], logs: Path, place: int) -> None:
    """The job's log under a name as in GitHub's zip; names of two jobs can look alike once they are a file's."""
    number = job.get("id")
    if not isinstance(number, int):
        return
    file = logs / f"{place}_{_file_name(str(job.get('name') or number))}.txt"
    try:
        with file.open("wb") as stream:
            github.job_log(repository, number, stream, limit=_LARGEST_LOG)
    except NotFoundError:
        file.unlink()


def _file_name(name: str) -> str:
    """A job's name as a file's: what the system or a shell could take for something else is left out."""
    return re.sub(r"[^A-Za-z0-9 ()_.,=-]", "_", name)[:90].strip(" .") or "job"
