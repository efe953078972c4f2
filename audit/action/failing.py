"""Why a run failed: which logs, metrics and claims are read, and what the verdict leaves for later steps."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from audit.action.event import WorkflowRun
from audit.action.folder import write_document
from audit.action.inputs import Inputs
from audit.action.plan import Checkout, Plan
from audit.documents.verdict import Category, Verdict
from audit.engine.failure import Analysed, FailureOptions
from audit.github.destination import Published
from audit.github.run_logs import Failed, described
from audit.net.github import GitHub
from audit.report.verdict import renderer
from audit.source.errors import SourceError

_DOCUMENTS = (
    ("report-json", "json", "verdict.json"),
    ("report-html", "html", "verdict.html"),
    ("sarif-file", "sarif", "verdict.sarif"),
)


def failed_run(github: GitHub, repository: str, inputs: Inputs, run: WorkflowRun | None) -> Failed:
    """The run whose logs are to be fetched: the one that the inputs name, or the event's. Raises NetworkError."""
    if inputs.run_id is None:
        assert run is not None  # noqa: S101 (the plan asks for one of the two)
        return Failed(run.id, run.run_attempt, run.head_sha)
    return described(github, repository, inputs.run_id)


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
