"""The few GraphQL operations that publishing uses, recognised by the names of their fields."""

import re
from typing import Any

from .routing import Answer, Call
from .world import Repository, ReviewComment


def answer_graphql(call: Call) -> Answer:
    """Always 200 with `data` or `errors`, as GitHub does it."""
    body = call.body
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        call.violate("GraphQL: the body is no {query, variables}")
        return Answer(400, {"message": "Problems parsing JSON"})
    query, variables = body["query"], body.get("variables") or {}
    if re.search(r'"[^"$]{3,}"', query):
        call.violate("GraphQL: a value stands in the query's text; values belong into variables")
    for name, handler in _OPERATIONS.items():
        if re.search(rf"\b{name}\b", query):
            return Answer(200, handler(call, variables))
    call.violate(f"GraphQL: the fake has no such operation: {query[:200]}")
    return Answer(200, {"errors": [{"message": "Field doesn't exist"}]})


def _forbidden(path: str) -> dict[str, Any]:
    return {
        "data": {path: None},
        "errors": [
            {"type": "FORBIDDEN", "path": [path], "message": "Resource not accessible by integration"}
        ],
    }


def _missing(path: str, node: object) -> dict[str, Any]:
    return {
        "data": {path: None},
        "errors": [
            {
                "type": "NOT_FOUND",
                "path": [path],
                "message": f"Could not resolve to a node with the global id of '{node}'",
            }
        ],
    }


def _input(variables: dict[str, Any], *names: str) -> Any:
    """A variable by one of its usual names, at the top or within `input`."""
    inner = variables.get("input")
    places = [inner, variables] if isinstance(inner, dict) else [variables]
    return next((place[name] for place in places for name in names if name in place), None)


def _may_write(call: Call) -> bool:
    return call.token is not None and call.token.may("pull_requests:write|issues:write")


def _minimize(call: Call, variables: dict[str, Any]) -> dict[str, Any]:
    if not _may_write(call):
        return _forbidden("minimizeComment")
    node = _input(variables, "subjectId", "id")
    reason = _input(variables, "classifier") or "OUTDATED"
    if reason not in ("ABUSE", "DUPLICATE", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM", "LOW_QUALITY"):
        call.violate(f"GraphQL: no such classifier: {reason}")
    for repository in call.world.repositories.values():
        for comment in repository.comments.values():
            if comment.node_id == node:
                comment.minimized = reason
                return {
                    "data": {
                        "minimizeComment": {
                            "minimizedComment": {"isMinimized": True, "minimizedReason": reason.lower()}
                        }
                    }
                }
    return _missing("minimizeComment", node)


def _resolve(call: Call, variables: dict[str, Any]) -> dict[str, Any]:
    if not _may_write(call):
        return _forbidden("resolveReviewThread")
    node = _input(variables, "threadId", "thread", "id")
    for repository in call.world.repositories.values():
        thread = [one for one in repository.review_comments.values() if one.thread_id == node]
        for one in thread:
            one.resolved = True
        if thread:
            return {"data": {"resolveReviewThread": {"thread": {"id": node, "isResolved": True}}}}
    return _missing("resolveReviewThread", node)


def _threads(call: Call, variables: dict[str, Any]) -> dict[str, Any]:
    owner, name = _input(variables, "owner"), _input(variables, "name", "repo", "repository")
    number = _input(variables, "number", "pull", "pullNumber", "pull_number")
    repository = call.world.repository(f"{owner}/{name}")
    if repository is None or number not in repository.pulls:
        return _missing("repository", f"{owner}/{name}")
    threads: dict[str, list[ReviewComment]] = {}
    for one in repository.review_comments.values():
        if one.pull == number:
            threads.setdefault(one.thread_id, []).append(one)
    after = _input(variables, "cursor", "after", "endCursor")
    size = 50
    start = int(after) if isinstance(after, str) and after.isdecimal() else 0
    keys = list(threads)[start : start + size]
    more = start + size < len(threads)
    nodes = [_thread(call, repository, key, threads[key]) for key in keys]
    page = {"hasNextPage": more, "endCursor": str(start + size) if more else None}
    return {"data": {"repository": {"pullRequest": {"reviewThreads": {"nodes": nodes, "pageInfo": page}}}}}


def _thread(call: Call, repository: Repository, key: str, comments: list[ReviewComment]) -> dict[str, Any]:
    return {
        "id": key,
        "isResolved": comments[0].resolved,
        "isOutdated": False,
        "path": comments[0].path,
        "line": comments[0].line,
        "viewerCanResolve": _may_write(call),
        "comments": {
            "totalCount": len(comments),
            "nodes": [
                {
                    "id": one.node_id,
                    "databaseId": one.id,
                    "body": one.body,
                    # GraphQL names a bot without "[bot]".
                    "author": {
                        "login": one.author.login.removesuffix("[bot]"),
                        "__typename": one.author.kind,
                    },
                    "viewerDidAuthor": call.token is not None and call.token.actor == one.author,
                }
                for one in comments
            ],
        },
    }


def _viewer(call: Call, variables: dict[str, Any]) -> dict[str, Any]:
    assert call.token is not None
    return {"data": {"viewer": {"login": call.token.actor.login, "databaseId": call.token.actor.id}}}


_OPERATIONS = {
    "minimizeComment": _minimize,
    "resolveReviewThread": _resolve,
    "reviewThreads": _threads,
    "viewer": _viewer,
}
