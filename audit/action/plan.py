"""What a run is to do: decided from event, environment and inputs alone, before anything is read or written."""

import enum
from collections.abc import Mapping
from pathlib import Path

import msgspec

from audit.action.cases import PULL_EVENTS, Case, case_of, own_sha
from audit.action.event import Event, WorkflowRun
from audit.action.inputs import Inputs, Mode
from audit.assess.gate import Scope
from audit.github.destination import CommentMode, Destination, Token, Wishes

_ENDED_WELL = ("success", "neutral", "skipped")
_ENDED_EARLY = ("cancelled", "skipped", "startup_failure", "stale")


_CLAIMED = "Reported by the pull request's own run, which its author controls: merge on that run's job, not on this comment."


class PlanError(Exception):
    """The inputs do not fit the event, or the environment is not a runner's. `args[0]` says what to do about it."""


class Stage(enum.Enum):
    """What kind of run this is."""

    AUDIT = "audit"
    FAILURE = "failure"
    PUBLISH = "publish"
    NOTHING = "nothing"


class Checkout(msgspec.Struct, frozen=True, tag=True):
    """The repository at `path`, at `commit`: an id or the name of a ref, None for what is checked out."""

    path: str
    commit: str | None = None


class PullHead(msgspec.Struct, frozen=True, tag=True):
    """The head of a pull request that the event names by its number alone, from the repository at `path` where it is there."""

    path: str
    number: int


class Elsewhere(msgspec.Struct, frozen=True, tag=True):
    """Another repository: `owner/repo`, an address, with the ref that was asked for."""

    target: str
    ref: str | None = None


class MergeBase(msgspec.Struct, frozen=True, tag=True):
    """The baseline is the commit where the audited one and `ref` part; `name` is what people call that."""

    ref: str
    name: str = ""


class Named(msgspec.Struct, frozen=True, tag=True):
    """The baseline that a person named: a report's file in the workspace, or a ref."""

    name: str


class Plan(msgspec.Struct, frozen=True):
    """What to do. `why`: for NOTHING, what there is to say. `no_baseline`: why there is none, "" where there is one. `run`: in stage PUBLISH the run whose
    report is published, in stage FAILURE the one whose logs are read unless the inputs name others. `is_change`: what is audited is proposed, so that its own
    configuration may not be its judge."""

    stage: Stage
    destination: Destination
    wishes: Wishes
    why: str = ""
    target: Checkout | PullHead | Elsewhere = Checkout(".")
    baseline: MergeBase | Named | None = None
    no_baseline: str = ""
    scope: Scope = Scope.ALL
    is_change: bool = False
    run: WorkflowRun | None = None
    notes: tuple[str, ...] = ()


def plan(event: Event, environ: Mapping[str, str], inputs: Inputs) -> Plan:
    """The plan of one run. Raises PlanError."""
    if inputs.mode is Mode.PUBLISH:
        return _publishing(event, environ, inputs)
    case = case_of(event, environ)
    if inputs.mode is Mode.FAILURE:
        return _explaining(event, environ, inputs, case)
    wishes = _wishes(inputs, environ, case)
    if inputs.repo_url or inputs.ref:
        return _other_commit(inputs, environ, wishes, case)
    destination = _destination(environ, inputs, case)
    if case.nothing:
        return Plan(Stage.NOTHING, destination, silent(wishes), why=case.nothing)
    path = inputs.path or "."
    baseline, no_baseline = _baseline(inputs, case)
    return Plan(
        stage=Stage.AUDIT,
        destination=destination,
        wishes=wishes,
        target=PullHead(path, case.pull) if case.unknown_head and case.pull else Checkout(path, case.commit),
        baseline=baseline,
        no_baseline=no_baseline,
        scope=inputs.fail_on_scope or (Scope.NEW if case.is_change else Scope.ALL),
        is_change=case.is_change,
        notes=case.notes,
    )


def _other_commit(inputs: Inputs, environ: Mapping[str, str], wishes: Wishes, case: Case) -> Plan:
    """Another repository, or another commit of this one: nothing is written beside the event's own commit."""
    wanted = inputs.baseline not in ("auto", "none")
    if inputs.repo_url:
        target: Elsewhere | Checkout = Elsewhere(inputs.repo_url, inputs.ref)
        why = "The audited repository is another one, so its result stands in this summary and in the artifact alone."
    else:
        target = Checkout(inputs.path or ".", inputs.ref)
        why = f"The audited commit ({inputs.ref}) is not the event's, so the result stands in this summary and in the artifact alone."
    return Plan(
        stage=Stage.AUDIT,
        destination=msgspec.structs.replace(
            _destination(environ, inputs, case), pull_number=None, base_ref=None
        ),
        wishes=msgspec.structs.replace(silent(wishes), why_not=why),
        target=target,
        baseline=Named(inputs.baseline) if wanted else None,
        no_baseline="" if wanted else "None was asked for.",
        scope=inputs.fail_on_scope or (Scope.NEW if wanted else Scope.ALL),
        is_change=case.is_change and not inputs.repo_url,
    )


def _baseline(inputs: Inputs, case: Case) -> tuple[MergeBase | Named | None, str]:
    if inputs.baseline == "none":
        return None, "None was asked for."
    if inputs.baseline != "auto":
        return Named(inputs.baseline), ""
    if case.unknown_head:
        return MergeBase("", "the base branch"), ""
    return (MergeBase(case.base, case.base_name or case.base), "") if case.base else (None, case.no_base)


def _publishing(event: Event, environ: Mapping[str, str], inputs: Inputs) -> Plan:
    run = event.payload.workflow_run
    if event.name != "workflow_run" or run is None:
        raise PlanError(
            'The input mode has the value "publish", which needs the event workflow_run; allowed here: audit.'
        )
    case = Case(sha=run.head_sha, may_comment=True, may_check=False, templates=own_sha(environ))
    destination = _destination(environ, inputs, case)
    # Marked as the first run's, so that of two reports on one pull request the newer one stands, whichever is published first.
    key = inputs.comment_key or f"{run.name or destination.workflow}/{destination.job}"
    destination = msgspec.structs.replace(
        destination, run_id=run.id, run_attempt=run.run_attempt, comment_key=key
    )
    wishes = msgspec.structs.replace(
        _wishes(inputs, environ, case), check_run=False, suggestions=False, remark=_CLAIMED
    )
    why = ""
    if run.event not in PULL_EVENTS:
        why = f"The run was started by {run.event}, not by a pull request; its report stands in its own summary."
    elif run.conclusion in _ENDED_EARLY:
        why = f"The run ended as {run.conclusion}, so it left no report."
    if why:
        return Plan(Stage.NOTHING, destination, silent(wishes), why=why)
    return Plan(
        Stage.PUBLISH,
        destination,
        wishes,
        scope=inputs.fail_on_scope or Scope.NEW,
        run=run,
    )


def _explaining(event: Event, environ: Mapping[str, str], inputs: Inputs, case: Case) -> Plan:
    """Why a run failed: the one that the event is about, or one that the inputs name."""
    run = event.payload.workflow_run if not inputs.logs and inputs.run_id is None else None
    if run is None and not inputs.logs and inputs.run_id is None:
        raise PlanError(
            'The input mode has the value "failure", which needs the event workflow_run, or one of the inputs logs and run-id.'
        )
    destination = _destination(environ, inputs, case)
    wishes = _wishes(inputs, environ, case)
    if not inputs.comment_key:  # an audit in the same job has a comment of its own
        destination = msgspec.structs.replace(destination, comment_key=f"{destination.comment_key}:failure")
    if run is None:
        return Plan(
            Stage.FAILURE,
            destination,
            wishes,
            target=Checkout(inputs.path or ".", case.commit),
            notes=case.notes,
        )
    destination = msgspec.structs.replace(destination, run_id=run.id, run_attempt=run.run_attempt)
    if run.conclusion in _ENDED_WELL:
        why = f"The run ended as {run.conclusion}; there is nothing to explain."
        return Plan(Stage.NOTHING, destination, silent(wishes), why=why)
    is_own = (
        run.head_repository is not None
        and run.head_repository.full_name.lower() == destination.repository.lower()
    )
    # A fork's log is its author's text: nothing in it may make a check green. Its pull request is looked for.
    wishes = msgspec.structs.replace(
        wishes, check_run=wishes.check_run and is_own, may_comment=True, why_not=""
    )
    return Plan(
        Stage.FAILURE,
        destination,
        wishes,
        target=Checkout(inputs.path or ".", case.commit),
        run=run,
        notes=case.notes,
    )


def _wishes(inputs: Inputs, environ: Mapping[str, str], case: Case) -> Wishes:
    summary = environ.get("GITHUB_STEP_SUMMARY")
    return Wishes(
        comment=inputs.comment,
        check_run=inputs.check_run,
        annotations=inputs.annotations,
        suggestions=inputs.suggestions,
        summary=Path(summary) if summary else None,
        may_comment=case.may_comment,
        may_check=case.may_check,
        why_not=case.why_not,
    )


def silent(wishes: Wishes) -> Wishes:
    """The same without comment, check and review."""
    return msgspec.structs.replace(
        wishes,
        comment=CommentMode.OFF,
        check_run=False,
        suggestions=False,
        may_comment=False,
        may_check=False,
    )


def _destination(environ: Mapping[str, str], inputs: Inputs, case: Case) -> Destination:
    repository = environ.get("GITHUB_REPOSITORY", "")
    if repository.count("/") != 1 or not case.sha:
        raise PlanError(
            "GITHUB_REPOSITORY or GITHUB_SHA is not set: this is not a runner of GitHub Actions. Elsewhere, use the command ml-audit."
        )
    workflow, job = environ.get("GITHUB_WORKFLOW", ""), environ.get("GITHUB_JOB", "")
    server = environ.get("GITHUB_SERVER_URL") or "https://github.com"
    api = environ.get("GITHUB_API_URL") or "https://api.github.com"
    graphql = environ.get("GITHUB_GRAPHQL_URL") or "https://api.github.com/graphql"
    return Destination(
        api_url=api.rstrip("/"),
        graphql_url=graphql.rstrip("/"),
        server_url=server.rstrip("/"),
        repository=repository,
        head_sha=case.sha,
        pull_number=case.pull,
        run_id=_number(environ.get("GITHUB_RUN_ID")),
        run_attempt=_number(environ.get("GITHUB_RUN_ATTEMPT")),
        workflow=workflow,
        job=job,
        comment_key=inputs.comment_key or f"{workflow}/{job}",
        token=Token(inputs.github_token.get_secret_value() if inputs.github_token else ""),
        ca_bundle=Path(inputs.ca_bundle) if inputs.ca_bundle else None,
        base_ref=case.templates,
    )


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 1
