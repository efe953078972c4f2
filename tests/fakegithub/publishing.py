"""Endpoints that write: comments, check runs, reviews."""

from typing import Any
from urllib.parse import unquote

from .diffs import hunks
from .limits import check_errors, comment_errors
from .reading import files_of
from .routing import Answer, Call, error, not_found, route
from .world import CheckRun, Comment, Review, ReviewComment

_REPO = "/repos/{owner}/{repo}"
# GitHub's header names `issues` too, yet refuses it for pull requests (vitejs/vite-ecosystem-ci#487).
_COMMENTING = "pull_requests:write"


def _refused(call: Call, resource: str, errors: list[str]) -> Answer:
    """A limit is broken: GitHub would refuse, and the test fails whatever the client makes of that."""
    for one in errors:
        call.violate(f"{resource}: {one}")
    return error(
        422,
        "Validation Failed",
        *({"resource": resource, "code": "unprocessable", "field": "data", "message": one} for one in errors),
    )


@route("GET", f"{_REPO}/issues/{{issue_number}}/comments")
def comments(call: Call) -> Answer:
    number = call.number("issue_number")
    if number not in call.repository.pulls:
        return not_found()
    since = call.one("since")
    shown = [
        one for one in call.repository.comments.values() if one.issue == number and one.updated_at >= since
    ]
    return call.paged(
        [call.shapes.comment(call.repository, one) for one in sorted(shown, key=lambda one: one.id)]
    )


@route("POST", f"{_REPO}/issues/{{issue_number}}/comments", _COMMENTING)
def create_comment(call: Call) -> Answer:
    number = call.number("issue_number")
    pull = call.repository.pulls.get(number)
    if pull is None:
        return not_found()
    if pull.locked:
        return error(403, "Unable to create comment because issue is locked.")
    if errors := list(comment_errors(call.body.get("body"))):
        return _refused(call, "IssueComment", errors)
    assert call.token is not None
    now = call.world.now()
    made = Comment(
        next(call.world.ids), number, call.token.actor, call.body["body"], now, now, call.token.app
    )
    call.repository.comments[made.id] = made
    shape = call.shapes.comment(call.repository, made)
    return Answer(201, shape, {"Location": shape["url"]})


def _comment(call: Call) -> Comment | None:
    return call.repository.comments.get(call.number("comment_id"))


@route("GET", f"{_REPO}/issues/comments/{{comment_id}}")
def get_comment(call: Call) -> Answer:
    found = _comment(call)
    return not_found() if found is None else Answer(200, call.shapes.comment(call.repository, found))


@route("PATCH", f"{_REPO}/issues/comments/{{comment_id}}", _COMMENTING)
def update_comment(call: Call) -> Answer:
    found = _comment(call)
    if found is None:
        return not_found()
    if errors := list(comment_errors(call.body.get("body"))):
        return _refused(call, "IssueComment", errors)
    assert call.token is not None
    if found.author != call.token.actor:
        # A workflow's token may do it; a product that edits what others wrote is wrong all the same.
        call.violate(f"comment {found.id} of {found.author.login} is edited by {call.token.actor.login}")
    found.body, found.updated_at = call.body["body"], call.world.now()
    return Answer(200, call.shapes.comment(call.repository, found))


@route("DELETE", f"{_REPO}/issues/comments/{{comment_id}}", _COMMENTING)
def delete_comment(call: Call) -> Answer:
    found = _comment(call)
    if found is None:
        return not_found()
    assert call.token is not None
    if found.author != call.token.actor:
        call.violate(f"comment {found.id} of {found.author.login} is deleted by {call.token.actor.login}")
    del call.repository.comments[found.id]
    return Answer(204)


@route("POST", f"{_REPO}/check-runs", "checks:write")
def create_check(call: Call) -> Answer:
    assert call.token is not None
    if call.token.app is None:
        return error(403, "You must authenticate via a GitHub App.")
    if errors := list(check_errors(call.body, create=True)):
        return _refused(call, "CheckRun", errors)
    if call.body["head_sha"] not in call.repository.commits:
        call.violate(f"CheckRun: {call.body['head_sha']} is no commit of {call.repository.full_name}")
        return error(422, f"No commit found for SHA: {call.body['head_sha']}")
    made = CheckRun(next(call.world.ids), call.body["name"], call.body["head_sha"], call.token.app)
    call.repository.check_runs[made.id] = made
    _apply(call, made)
    return Answer(201, call.shapes.check_run(call.repository, made))


@route("GET", f"{_REPO}/check-runs/{{check_run_id}}")
def get_check(call: Call) -> Answer:
    found = call.repository.check_runs.get(call.number("check_run_id"))
    return not_found() if found is None else Answer(200, call.shapes.check_run(call.repository, found))


@route("PATCH", f"{_REPO}/check-runs/{{check_run_id}}", "checks:write")
def update_check(call: Call) -> Answer:
    assert call.token is not None
    found = call.repository.check_runs.get(call.number("check_run_id"))
    if found is None:
        return not_found()
    if found.app != call.token.app:
        call.violate(f"check run {found.id} belongs to another app")
        return error(
            403,
            f"Invalid app_id `{call.token.app}` - check run can only be modified by the GitHub App that created it.",
        )
    if errors := list(check_errors(call.body, create=False)):
        return _refused(call, "CheckRun", errors)
    _apply(call, found)
    return Answer(200, call.shapes.check_run(call.repository, found))


def _apply(call: Call, run: CheckRun) -> None:
    """Takes over what the body names; annotations are added to those that are there."""
    body: dict[str, Any] = call.body
    for key in ("name", "status", "conclusion", "external_id", "details_url", "started_at", "completed_at"):
        if key in body:
            setattr(run, key, body[key])
    output = body.get("output") or {}
    for key in ("title", "summary", "text"):
        if key in output:
            setattr(run, key, output[key])
    run.annotations += output.get("annotations", [])
    if run.conclusion is not None:
        run.status = "completed"
        run.completed_at = run.completed_at or call.world.now()
    run.started_at = run.started_at or call.world.now()


@route("GET", f"{_REPO}/check-runs/{{check_run_id}}/annotations")
def annotations(call: Call) -> Answer:
    found = call.repository.check_runs.get(call.number("check_run_id"))
    if found is None:
        return not_found()
    return call.paged([call.shapes.annotation(call.repository, found, one) for one in found.annotations])


@route("GET", f"{_REPO}/commits/{{ref}}/check-runs")
def checks_of_commit(call: Call) -> Answer:
    commit = call.repository.resolve(unquote(call.params["ref"]))
    if commit is None:
        return error(422, f"No commit found for SHA: {call.params['ref']}")
    name, status, app = call.one("check_name"), call.one("status"), call.one("app_id")
    shown = [
        run
        for run in call.repository.check_runs.values()
        if run.head_sha == commit.sha
        and name in ("", run.name)
        and status in ("", run.status)
        and app in ("", str(run.app))
    ]
    if call.one("filter", "latest") == "latest":
        shown = list({(run.app, run.name): run for run in sorted(shown, key=lambda run: run.id)}.values())
    ordered = sorted(shown, key=lambda run: -run.id)
    return call.paged([call.shapes.check_run(call.repository, run) for run in ordered], "check_runs")


@route("GET", f"{_REPO}/pulls/{{pull_number}}/reviews")
def reviews(call: Call) -> Answer:
    number = call.number("pull_number")
    if number not in call.repository.pulls:
        return not_found()
    shown = [one for one in call.repository.reviews.values() if one.pull == number]
    return call.paged([call.shapes.review(call.repository, one) for one in shown])


@route("GET", f"{_REPO}/pulls/{{pull_number}}/comments")
def review_comments(call: Call) -> Answer:
    number = call.number("pull_number")
    if number not in call.repository.pulls:
        return not_found()
    shown = [one for one in call.repository.review_comments.values() if one.pull == number]
    return call.paged([call.shapes.review_comment(call.repository, one) for one in shown])


_STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


@route("POST", f"{_REPO}/pulls/{{pull_number}}/reviews", "pull_requests:write")
def create_review(call: Call) -> Answer:
    pull = call.repository.pulls.get(call.number("pull_number"))
    if pull is None:
        return not_found()
    assert call.token is not None
    body: dict[str, Any] = call.body or {}
    event, told = body.get("event"), body.get("comments", [])
    commit = body.get("commit_id", pull.head_sha)
    if commit not in call.repository.commits:
        return error(422, "Unprocessable Entity", "The commit_id is not part of the pull request")
    hunks_by_path = {
        one.path: list(hunks(one.patch)) for one in files_of(call.repository, pull) if one.patch is not None
    }
    errors = [] if body.get("body") or told else ["a review without text and without comments"]
    if event == "APPROVE":
        errors.append("a workflow's token may not approve")
    errors += list(comment_errors(body["body"])) if body.get("body") else []
    placed = []
    for number, one in enumerate(told):
        hunk, why = _place(one, hunks_by_path)
        errors += [f"comments/{number}: {why}"] if why else []
        errors += [f"comments/{number}: {wrong}" for wrong in comment_errors(one["body"])]
        placed.append(hunk)
    if errors:
        for why in errors:
            # The head moved on between the look and the review: nobody's fault.
            if commit == pull.head_sha:
                call.violate(f"Review: {why}")
        return error(422, "Unprocessable Entity", *errors)
    now = call.world.now()
    review = Review(
        next(call.world.ids),
        pull.number,
        call.token.actor,
        body.get("body", ""),
        _STATES.get(str(event), "PENDING"),
        commit,
        now,
    )
    call.repository.reviews[review.id] = review
    for one, hunk in zip(told, placed, strict=True):
        made = ReviewComment(
            next(call.world.ids), review.id, pull.number, call.token.actor, one["body"], one["path"],
            one.get("line"), one.get("start_line"), commit, hunk, now, now, side=one.get("side", "RIGHT"),
        )  # fmt: skip
        call.repository.review_comments[made.id] = made
    return Answer(200, call.shapes.review(call.repository, review))


def _place(one: dict[str, Any], hunks_by_path: dict[str, list[tuple[int, int, str]]]) -> tuple[str, str]:
    """The hunk that a review comment lies in, and why it lies in none."""
    line, start = one.get("line"), one.get("start_line")
    if one["path"] not in hunks_by_path:
        return "", f"{one['path']} is not part of the diff"
    if line is None:
        return "", "neither line nor position" if "position" not in one else ""
    if start is not None and start >= line:
        return "", f"start_line {start} is not before line {line}"
    if one.get("side", "RIGHT") != "RIGHT":
        return "", ""
    for first, last, text in hunks_by_path[one["path"]]:
        if first <= line <= last and (start is None or first <= start):
            return text, ""
    return (
        "",
        f"pull request review thread line must be part of the diff ({one['path']}:{start or line}-{line})",
    )


@route("POST", f"{_REPO}/pulls/{{pull_number}}/comments/{{comment_id}}/replies", "pull_requests:write")
def reply(call: Call) -> Answer:
    first = call.repository.review_comments.get(call.number("comment_id"))
    if first is None or first.pull != call.number("pull_number"):
        return not_found()
    assert call.token is not None
    if errors := list(comment_errors(call.body["body"])):
        return _refused(call, "PullRequestReviewComment", errors)
    now = call.world.now()
    made = ReviewComment(
        next(call.world.ids), first.review, first.pull, call.token.actor, call.body["body"], first.path,
        first.line, first.start_line, first.commit_id, first.diff_hunk, now, now, in_reply_to=first.in_reply_to or first.id,
    )  # fmt: skip
    call.repository.review_comments[made.id] = made
    return Answer(201, call.shapes.review_comment(call.repository, made))


@route("PATCH", f"{_REPO}/pulls/comments/{{comment_id}}", "pull_requests:write")
def update_review_comment(call: Call) -> Answer:
    found = call.repository.review_comments.get(call.number("comment_id"))
    if found is None:
        return not_found()
    if errors := list(comment_errors(call.body["body"])):
        return _refused(call, "PullRequestReviewComment", errors)
    found.body, found.updated_at = call.body["body"], call.world.now()
    return Answer(200, call.shapes.review_comment(call.repository, found))


@route("DELETE", f"{_REPO}/pulls/comments/{{comment_id}}", "pull_requests:write")
def delete_review_comment(call: Call) -> Answer:
    found = call.repository.review_comments.get(call.number("comment_id"))
    if found is None:
        return not_found()
    assert call.token is not None
    if found.author != call.token.actor:
        call.violate(
            f"review comment {found.id} of {found.author.login} is deleted by {call.token.actor.login}"
        )
    del call.repository.review_comments[found.id]
    return Answer(204)
