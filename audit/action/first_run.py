"""What the second stage asks GitHub about the first: its report, and the pull request that it was for.

The pull request is found by the head commit and head repository that GitHub names for the run. Nothing in the artifact has a say in it; and the list of pull
requests in the event is empty for forks.
"""

import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from audit.action.claimed import LARGEST
from audit.action.documents import DRIFT
from audit.action.event import WorkflowRun
from audit.net.errors import NetworkError
from audit.net.github import GitHub
from audit.source.errors import SourceError

ARTIFACT = "ml-audit-report"
REPORT = "report.json"
_LARGEST_ZIP = 16 * 2**20
"""Bytes of the artifact: report.json, report.html and report.sarif of a large repository, compressed, have less than one MB."""
_ADVICE = f"Upload output-dir as an artifact named {ARTIFACT} in the first workflow."


class Left(NamedTuple):
    """What a first run left: its report, and what changed in the experiment where it says so."""

    report: bytes
    drift: bytes | None


def report_in(place: Path) -> Left:
    """What lies in a folder, or the report in a file, that an earlier step downloaded. Raises SourceError."""
    file = place / REPORT if place.is_dir() else place
    try:
        with file.open("rb") as stream:
            report = stream.read(LARGEST + 1)
    except OSError as error:
        raise SourceError(f"The report {file} cannot be read: {error.strerror}.", _ADVICE) from None
    try:
        with file.with_name(DRIFT).open("rb") as stream:
            return Left(report, stream.read(LARGEST + 1))
    except OSError:
        return Left(report, None)


def report_of(github: GitHub, repository: str, run: WorkflowRun) -> Left:
    """What is left among the artifacts of `run`. Raises SourceError, NetworkError."""
    found = [one for one in github.artifacts(repository, run.id, ARTIFACT) if one.get("name") == ARTIFACT]
    if not found:
        raise SourceError(f"Run {run.id} left no artifact named {ARTIFACT}.", _ADVICE)
    newest = found[0]
    number, size = newest.get("id"), newest.get("size_in_bytes")
    if newest.get("expired") is True:
        raise SourceError(
            f"The artifact {ARTIFACT} of run {run.id} has expired.", "Run the first workflow again."
        )
    if not isinstance(number, int) or not isinstance(size, int) or size > _LARGEST_ZIP:
        raise SourceError(f"The artifact {ARTIFACT} is larger than {_LARGEST_ZIP // 2**20} MiB.", _ADVICE)
    with tempfile.TemporaryFile() as file:
        github.artifact(repository, number, file, limit=_LARGEST_ZIP)
        return _unzipped(file)


def _unzipped(file: BinaryIO) -> Left:
    """The two members that are looked at, never more than a report may have of each; nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(file) as archive:
            with archive.open(REPORT) as member:
                report = member.read(LARGEST + 1)
            if DRIFT not in archive.namelist():
                return Left(report, None)
            with archive.open(DRIFT) as member:
                return Left(report, member.read(LARGEST + 1))
    except KeyError:
        raise SourceError(f"The artifact {ARTIFACT} holds no {REPORT}.", _ADVICE) from None
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
        ValueError,
    ) as error:
        raise SourceError(f"The artifact {ARTIFACT} is no zip that can be read: {error}.", _ADVICE) from None


def pull_of(github: GitHub, repository: str, run: WorkflowRun) -> tuple[int | None, str]:
    """The number of the open pull request whose head the run was for, or why there is none. Raises NetworkError."""
    pulls = list(_candidates(github, repository, run))
    heads = [pull for pull in pulls if _side(pull, "head").get("sha") == run.head_sha]
    numbers = sorted({number for pull in heads if isinstance(number := pull.get("number"), int)})
    if numbers:
        return numbers[-1], ""
    if pulls:
        return None, "The pull request has a newer commit by now, whose own run reports on it."
    return None, "No open pull request has the run's commit as its head."


def _candidates(github: GitHub, repository: str, run: WorkflowRun) -> Iterator[Mapping[str, Any]]:
    """Open pull requests into `repository` from the run's head repository."""
    fork = run.head_repository.full_name if run.head_repository else None
    found: Sequence[Mapping[str, Any]] = ()
    if fork and run.head_branch:
        found = github.pulls_from(repository, fork.partition("/")[0], run.head_branch)
    if not found:
        try:
            found = github.pulls_of(repository, run.head_sha)
        except NetworkError:
            found = ()  # a commit of a fork that is gone is not known here
    for pull in found:
        source = _name(_side(pull, "head"))
        if (
            pull.get("state") == "open"
            and _same(_name(_side(pull, "base")), repository)
            and (not fork or _same(source, fork))
        ):
            yield pull


def _side(pull: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    side = pull.get(name)
    return side if isinstance(side, dict) else {}


def _name(side: Mapping[str, Any]) -> str | None:
    repository = side.get("repo")
    name = repository.get("full_name") if isinstance(repository, dict) else None
    return name if isinstance(name, str) else None


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()
