"""What an event alone says: which commit, against what, where the result may be written.

Sources: GitHub's documentation, "Events that trigger workflows", "Automatic token authentication" and "Dependabot on GitHub Actions". What it rests on:

* On `pull_request` the runner checks out a merge commit that exists nowhere in the author's history. Audited is the head commit: findings, permalinks and
  suggestions then stand on the lines that the author wrote and the pull request shows. It is compared with the merge base, so that what others changed
  on the base branch meanwhile is not this change's.
* A run for a fork's pull request, or of Dependabot's doing, has a token that may only read. It says so and leaves its report to a second run
  (`workflow_run`, mode publish), which has a token that may write and trusts nothing of the first.
* `pull_request_target` and `issue_comment` run with a token that may write on a checkout of the base: the head is fetched as data, and never run.
"""

from collections.abc import Mapping

import msgspec

from audit.action.event import NO_COMMIT, Event, PullRequest, WorkflowRun

DEPENDABOT = "dependabot[bot]"
PULL_EVENTS = ("pull_request", "pull_request_review", "pull_request_review_comment")


class Case(msgspec.Struct, frozen=True):
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


def case_of(event: Event, environ: Mapping[str, str]) -> Case:
    """The case of an event."""
    payload = event.payload
    if payload.pull_request is not None:
        return _of_pull(event, payload.pull_request, environ)
    match event.name:
        case "push":
            return _of_push(event, environ)
        case "merge_group" if payload.merge_group is not None:
            group = payload.merge_group
            return Case(
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
            return Case(
                sha=own_sha(environ),
                pull=payload.issue.number,
                is_change=True,
                may_comment=payload.issue.state == "open",
                why_not="" if payload.issue.state == "open" else "The pull request is closed.",
                templates=own_sha(environ),
                unknown_head=True,
                notes=(
                    "Started by a comment: the pull request's head was read as data, none of it was run.",
                ),
            )
    return Case(
        sha=own_sha(environ),
        no_base=f"The event {event.name or '(none)'} has nothing that it could be compared with.",
        why_not=f"The event {event.name or '(none)'} has no pull request to comment on.",
        templates=own_sha(environ),
    )


def _of_pull(event: Event, pull: PullRequest, environ: Mapping[str, str]) -> Case:
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
    return Case(
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
    if event.name not in (*PULL_EVENTS, "push"):
        return ""
    if environ.get("GITHUB_ACTOR") == DEPENDABOT:
        return "A run that Dependabot started has a token that may only read"
    if is_fork:
        return "A run for a fork's pull request has a token that may only read"
    return ""


def _of_push(event: Event, environ: Mapping[str, str]) -> Case:
    payload = event.payload
    ref = payload.ref or environ.get("GITHUB_REF", "")
    if payload.deleted or payload.after == NO_COMMIT:
        return Case(
            sha=own_sha(environ), nothing=f"{ref or 'The ref'} was deleted; there is nothing to audit."
        )
    sha = payload.after or own_sha(environ)
    before = payload.before if payload.before != NO_COMMIT else None
    default = payload.repository.default_branch if payload.repository else None
    base, name, no_base = before, "the commit before the push", ""
    if ref.startswith("refs/tags/"):
        # What `after` names can be an annotated tag; GITHUB_SHA is the commit.
        sha, base, no_base = own_sha(environ), None, "A tag has no earlier state."
    elif base is None and default and ref != f"refs/heads/{default}":
        base, name = default, default
    elif base is None:
        no_base = "The branch is new, and there is no other to compare it with."
    reads_only = _reads_only(event, environ, is_fork=False)
    return Case(
        sha=sha,
        commit=sha,
        base=base,
        base_name=name,
        no_base=no_base,
        may_check=not reads_only,
        why_not=f"{reads_only}." if reads_only else "A push has no pull request to comment on.",
        templates=sha,
    )


def _of_run(run: WorkflowRun, environ: Mapping[str, str]) -> Case:
    """The commit of the run that has ended. Its pull request is listed only if it is not a fork's."""
    pull = run.pull_requests[0] if run.pull_requests else None
    return Case(
        sha=run.head_sha,
        commit=run.head_sha,
        base=pull.base.sha if pull else None,
        base_name=pull.base.ref if pull else "",
        no_base="" if pull else "The run names no pull request to compare with.",
        pull=pull.number if pull else None,
        is_change=run.event.startswith("pull_request"),
        may_comment=pull is not None,
        why_not="" if pull else "The run names no pull request of this repository to comment on.",
        templates=own_sha(environ),
        notes=("Started by workflow_run: its commit was read as data, none of it was run.",),
    )


def own_sha(environ: Mapping[str, str]) -> str:
    """GITHUB_SHA: the commit that the runner names for the event."""
    return environ.get("GITHUB_SHA", "")
