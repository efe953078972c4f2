"""Why a run failed: which logs, metrics and claims are read, and what the verdict leaves for later steps."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from audit.action.event import WorkflowRun
from audit.action.folder import write_document
from audit.action.inputs import Inputs
from audit.action.plan import Checkout, Plan
from audit.documents.verdict import Category, Verdict
from audit.engine.failure import Analysed, FailureOptions
from audit.github.destination import Published
from audit.net.errors import NetworkError, NotFoundError
from audit.net.github import GitHub
from audit.report.verdict import renderer
from audit.source.errors import SourceError

_LARGEST_ZIP = 2**30
_LARGEST_LOG = 4 * 2**30
_MOST_JOBS = 25
"""Logs of single jobs that are fetched where those of the whole run cannot be had; GitHub's own command line stops there too."""
_WORTH_READING = ("failure", "timed_out", "cancelled", "startup_failure")
_DOCUMENTS = (
    ("report-json", "json", "verdict.json"),
    ("report-html", "html", "verdict.html"),
    ("sarif-file", "sarif", "verdict.sarif"),
)


class Failed(msgspec.Struct, frozen=True):
    """The run that failed: its number, the attempt that is looked at, and the commit that it was for."""

    number: int
    attempt: int
    commit: str


def failed_run(github: GitHub, repository: str, inputs: Inputs, run: WorkflowRun | None) -> Failed:
    """The run whose logs are to be fetched: the one that the inputs name, or the event's. Raises NetworkError."""
    if inputs.run_id is None:
        assert run is not None  # noqa: S101 (the plan asks for one of the two)
        return Failed(run.id, run.run_attempt, run.head_sha)
    told = github.run(repository, inputs.run_id)
    attempt, commit = told.get("run_attempt"), told.get("head_sha")
    if not isinstance(attempt, int) or not isinstance(commit, str):
        raise NetworkError(
            f"GitHub's answer about run {inputs.run_id} is not GitHub's.", "Check GITHUB_API_URL."
        )
    return Failed(inputs.run_id, attempt, commit)


def about(plan: Plan, run: Failed) -> Plan:
    """The plan for that run: its commit is read, and only if that is the event's own its pull request is written to."""
    destination = msgspec.structs.replace(
        plan.destination,
        run_id=run.number,
        run_attempt=run.attempt,
        head_sha=run.commit,
        pull_number=plan.destination.pull_number if run.commit == plan.destination.head_sha else None,
    )
    path = plan.target.path if isinstance(plan.target, Checkout) else "."
    return msgspec.structs.replace(plan, destination=destination, target=Checkout(path, run.commit))


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


def given(names: Sequence[str], what: str, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Paths that an input names, inside of the workspace whatever links lie on the way. Raises SourceError."""
    return tuple(_given(name, what, roots) for name in names)


def _given(name: str, what: str, roots: Sequence[Path]) -> Path:
    place = roots[0] / name
    if not place.exists():
        raise SourceError(
            f"The input {what} names {name}, which is not there.", "Give a path relative to the workspace."
        )
    if not any(place.resolve().is_relative_to(root.resolve()) for root in roots):
        raise SourceError(
            f"The input {what} names {name}, which leads out of the workspace.", "Give a path in it."
        )
    return place


def failure_options(
    logs: Sequence[Path], repo: str | None, inputs: Inputs, roots: Sequence[Path]
) -> FailureOptions:
    """What the engine is given. Raises SourceError."""
    golden = (inputs.golden,) if inputs.golden else ()
    claims = (inputs.claims,) if inputs.claims else ()
    return FailureOptions(
        logs=tuple(map(str, logs)),
        repo=repo,
        metrics=given(inputs.metrics, "metrics", roots),
        golden=given(golden, "golden", roots),
        claims=next(iter(given(claims, "claims", roots)), None),
    )


def closing(inputs: Inputs) -> frozenset[Category]:
    """The categories that fail the job."""
    return frozenset(Category(name) for name in inputs.fail_on_verdict if name != "never")


def write_verdict(analysed: Analysed, inputs: Inputs, roots: Sequence[Path]) -> dict[str, str]:
    """Writes the verdict's documents, and gives their paths by output. Raises FolderError."""
    return dict(_written(analysed, inputs, roots))


def _written(analysed: Analysed, inputs: Inputs, roots: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for output, form, name in _DOCUMENTS:
        place = (PurePosixPath(inputs.output_dir) / name).as_posix()
        if output == "sarif-file" and inputs.sarif_file:
            place = inputs.sarif_file
        yield output, write_document(place, renderer(form)(analysed.verdict, analysed.plots), roots)


def outputs_of_verdict(verdict: Verdict, passed: bool, published: Published) -> dict[str, str]:
    """The outputs that follow from the verdict."""
    return {
        "conclusion": "success" if passed else "failure",
        "verdict": verdict.category.value,
        "decision": verdict.decision.value,
        "comment-url": published.comment_url,
        "check-url": published.check_url,
    }
