"""What a run is to do: decided from event, environment and inputs alone, before anything is read or written.

Sources: GitHub's documentation, "Events that trigger workflows", "Automatic token authentication" and "Dependabot on GitHub Actions". What it rests on:

* On `pull_request` the runner checks out a merge commit that exists nowhere in the author's history. Audited is the head commit: findings, permalinks and
  suggestions then stand on the lines that the author wrote and the pull request shows. It is compared with the merge base, so that what others changed
  on the base branch meanwhile is not this change's.
* A run for a fork's pull request, or of Dependabot's doing, has a token that may only read. It says so and leaves its report to a second run
  (`workflow_run`, mode publish), which has a token that may write and trusts nothing of the first.
* `pull_request_target` and `issue_comment` run with a token that may write on a checkout of the base: the head is fetched as data, and never run.
"""

import enum
from collections.abc import Mapping
from pathlib import Path

import msgspec

from audit.action.event import NO_COMMIT, Event, PullRequest, WorkflowRun
from audit.action.inputs import Inputs, Mode
from audit.assess.gate import Scope
from audit.github.destination import CommentMode, Destination, Token, Wishes

DEPENDABOT = "dependabot[bot]"
_PULL_EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")
_ENDED_WELL = ("success", "neutral", "skipped")
_ENDED_EARLY = ("cancelled", "skipped", "startup_failure", "stale")


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
    report is published, in stage FAILURE the one whose logs are read unless the inputs name others."""

    stage: Stage
    destination: Destination
    wishes: Wishes
    why: str = ""
    target: Checkout | PullHead | Elsewhere = Checkout(".")
    baseline: MergeBase | Named | None = None
    no_baseline: str = ""
    scope: Scope = Scope.ALL
    run: WorkflowRun | None = None
    notes: tuple[str, ...] = ()


class _Case(msgspec.Struct, frozen=True):
    """What an event alone says. `commit`: what to audit of the checkout, None for what is checked out; `sha`: the commit that the results speak about;
    `base`: what it is compared with unless the inputs say otherwise; `templates`: a ref that only people with write access can change."""

    sha: str
    commit: str | None = None
    base: str | None = None
    base_name: str = ""
    no_base: str = ""
    pull: int | None = None
    is_change: bool = False
    may_comment: bool = False
    may_check: bool = True
    why_not: str = ""
    templates: str | None = None
    nothing: str = ""
    unknown_head: bool = False
    notes: tuple[str, ...] = ()


def plan(event: Event, environ: Mapping[str, str], inputs: Inputs) -> Plan:
    """The plan of one run. Raises PlanError."""
    if inputs.mode is Mode.PUBLISH:
        return _publishing(event, environ, inputs)
    case = _case(event, environ)
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
        notes=case.notes,
    )


def _other_commit(inputs: Inputs, environ: Mapping[str, str], wishes: Wishes, case: _Case) -> Plan:
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
    )


def _baseline(inputs: Inputs, case: _Case) -> tuple[MergeBase | Named | None, str]:
    if inputs.baseline == "none":
        return None, "None was asked for."
    if inputs.baseline != "auto":
        return Named(inputs.baseline), ""
    if case.unknown_head:
        return MergeBase("", "the base branch"), ""
    return (MergeBase(case.base, case.base_name or case.base), "") if case.base else (None, case.no_base)


def _case(event: Event, environ: Mapping[str, str]) -> _Case:
    payload = event.payload
    if payload.pull_request is not None:
        return _of_pull(event, payload.pull_request, environ)
    match event.name:
        case "push":
            return _of_push(event, environ)
        case "merge_group" if payload.merge_group is not None:
            group = payload.merge_group
            return _Case(
                sha=group.head_sha,
                commit=group.head_sha,
                base=group.base_sha,
                base_name=group.base_ref.removeprefix("refs/heads/"),
                is_change=True,
                why_not="A merge queue's commit has no pull request of its own to comment on.",
                templates=group.base_sha,
            )
        case "workflow_run" if payload.workflow_run is not None:
            return _of_run(payload.workflow_run, environ)
        case "issue_comment" if payload.issue is not None and payload.issue.pull_request is not None:
            return _Case(
                sha=_own_sha(environ),
                pull=payload.issue.number,
                is_change=True,
                may_comment=payload.issue.state == "open",
                why_not="" if payload.issue.state == "open" else "The pull request is closed.",
                templates=_own_sha(environ),
                unknown_head=True,
                notes=(
                    "Started by a comment: the pull request's head was read as data, none of it was run.",
                ),
            )
    return _Case(
        sha=_own_sha(environ),
        no_base=f"The event {event.name or '(none)'} has nothing that it could be compared with.",
        why_not=f"The event {event.name or '(none)'} has no pull request to comment on.",
        templates=_own_sha(environ),
    )


def _of_pull(event: Event, pull: PullRequest, environ: Mapping[str, str]) -> _Case:
    own = environ.get("GITHUB_REPOSITORY", "")
    is_fork = pull.head.repo is None or pull.head.repo.full_name.lower() != own.lower()
    is_open = pull.state == "open" and event.payload.action != "closed"
    why_not = "" if is_open else "The pull request is closed."
    reads_only = _reads_only(event, environ, is_fork=is_fork)
    if is_open and reads_only:
        why_not = f"{reads_only}; a second workflow can write it (workflow_run, mode: publish)."
    notes: tuple[str, ...] = ()
    if event.name == "pull_request_target":
        notes = ("Started by pull_request_target: the head was read as data, none of it was run.",)
    return _Case(
        sha=pull.head.sha,
        commit=pull.head.sha,
        base=pull.base.sha,
        base_name=pull.base.ref,
        pull=pull.number,
        is_change=True,
        may_comment=not why_not,
        may_check=not why_not,
        why_not=why_not,
        templates=pull.base.sha,
        notes=notes,
    )


def _reads_only(event: Event, environ: Mapping[str, str], *, is_fork: bool) -> str:
    """Why the run's token may only read; "" where it may do what the workflow permits."""
    if event.name not in (*_PULL_EVENTS, "push"):
        return ""
    if environ.get("GITHUB_ACTOR") == DEPENDABOT:
        return "A run that Dependabot started has a token that may only read"
    if is_fork:
        return "A run for a fork's pull request has a token that may only read"
    return ""


def _of_push(event: Event, environ: Mapping[str, str]) -> _Case:
    payload = event.payload
    ref = payload.ref or environ.get("GITHUB_REF", "")
    if payload.deleted or payload.after == NO_COMMIT:
        return _Case(
            sha=_own_sha(environ), nothing=f"{ref or 'The ref'} was deleted; there is nothing to audit."
        )
    sha = payload.after or _own_sha(environ)
    before = payload.before if payload.before != NO_COMMIT else None
    default = payload.repository.default_branch if payload.repository else None
    base, name, no_base = before, "the commit before the push", ""
    if ref.startswith("refs/tags/"):
        # What `after` names can be an annotated tag; GITHUB_SHA is the commit.
        sha, base, no_base = _own_sha(environ), None, "A tag has no earlier state."
    elif base is None and default and ref != f"refs/heads/{default}":
        base, name = default, default
    elif base is None:
        no_base = "The branch is new, and there is no other to compare it with."
    reads_only = _reads_only(event, environ, is_fork=False)
    return _Case(
        sha=sha,
        commit=sha,
        base=base,
        base_name=name,
        no_base=no_base,
        may_check=not reads_only,
        why_not=f"{reads_only}." if reads_only else "A push has no pull request to comment on.",
        templates=sha,
    )


def _of_run(run: WorkflowRun, environ: Mapping[str, str]) -> _Case:
    """The commit of the run that has ended. Its pull request is listed only if it is not a fork's."""
    pull = run.pull_requests[0] if run.pull_requests else None
    return _Case(
        sha=run.head_sha,
        commit=run.head_sha,
        base=pull.base.sha if pull else None,
        base_name=pull.base.ref if pull else "",
        no_base="" if pull else "The run names no pull request to compare with.",
        pull=pull.number if pull else None,
        is_change=pull is not None,
        may_comment=pull is not None,
        why_not="" if pull else "The run names no pull request of this repository to comment on.",
        templates=_own_sha(environ),
        notes=("Started by workflow_run: its commit was read as data, none of it was run.",),
    )


def _publishing(event: Event, environ: Mapping[str, str], inputs: Inputs) -> Plan:
    run = event.payload.workflow_run
    if event.name != "workflow_run" or run is None:
        raise PlanError(
            'The input mode has the value "publish", which needs the event workflow_run; allowed here: audit.'
        )
    case = _Case(sha=run.head_sha, may_comment=True, may_check=False, templates=_own_sha(environ))
    destination = _destination(environ, inputs, case)
    # Marked as the first run's, so that of two reports on one pull request the newer one stands, whichever is published first.
    key = inputs.comment_key or f"{run.name or destination.workflow}/{destination.job}"
    destination = msgspec.structs.replace(
        destination, run_id=run.id, run_attempt=run.run_attempt, comment_key=key
    )
    wishes = msgspec.structs.replace(_wishes(inputs, environ, case), check_run=False, suggestions=False)
    why = ""
    if run.event not in _PULL_EVENTS:
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


def _explaining(event: Event, environ: Mapping[str, str], inputs: Inputs, case: _Case) -> Plan:
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


def _wishes(inputs: Inputs, environ: Mapping[str, str], case: _Case) -> Wishes:
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


def _own_sha(environ: Mapping[str, str]) -> str:
    return environ.get("GITHUB_SHA", "")


def _destination(environ: Mapping[str, str], inputs: Inputs, case: _Case) -> Destination:
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
