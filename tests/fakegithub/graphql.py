"""GraphQL: queries are checked against GitHub's own schema and executed over the world."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from graphql import (
    GraphQLError,
    GraphQLResolveInfo,
    GraphQLSchema,
    build_ast_schema,
    execute_sync,
    parse,
    validate,
)

from .routing import Answer, Call
from .world import Comment, Pull, Repository, ReviewComment, Token

Node = dict[str, Any]
_MOST = 100
_FORBIDDEN = "Resource not accessible by integration"


def load_schema(sdl: bytes) -> GraphQLSchema:
    """GitHub's schema."""
    document = parse(sdl.decode(), no_location=True)
    return build_ast_schema(document, assume_valid=True, assume_valid_sdl=True)


class Refusal(GraphQLError):
    """An error that GitHub gives a type: FORBIDDEN, NOT_FOUND and so on."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def answer_graphql(call: Call, schema: GraphQLSchema) -> Answer:
    """200 with `data` or `errors`, as GitHub does it, unless the body is no query at all."""
    body = call.body
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        call.violate("GraphQL: the body is not {query, variables}")
        return Answer(
            400, {"message": "Problems parsing JSON", "documentation_url": "https://docs.github.com/graphql"}
        )
    if unknown := set(body) - {"query", "variables", "operationName"}:
        call.violate(f"GraphQL: the body holds {', '.join(sorted(unknown))} too")
    if re.search(r'"[^"]*"', body["query"]):
        call.violate("GraphQL: a value stands in the query's text; it belongs into the variables")
    try:
        document = parse(body["query"])
    except GraphQLError as error:
        call.violate(f"GraphQL: {error.message}")
        return _failed(call, [error])
    if errors := validate(schema, document):
        for wrong in errors:
            call.violate(f"GraphQL: {wrong.message}")
        return _failed(call, errors)
    result = execute_sync(
        schema,
        document,
        root_value=_Root(call).value(),
        context_value=call,
        variable_values=body.get("variables"),
        operation_name=body.get("operationName"),
        field_resolver=_field,
    )
    answer: Node = {} if result.data is None else {"data": result.data}
    if result.errors:
        answer["errors"] = [_shape(call, error) for error in result.errors]
    return Answer(200, answer)


def _failed(call: Call, errors: Sequence[GraphQLError]) -> Answer:
    return Answer(200, {"errors": [{"message": error.message} for error in errors]})


def _shape(call: Call, error: GraphQLError) -> Node:
    cause = error.original_error or error
    if isinstance(cause, Refusal):
        return {"type": cause.kind, "path": error.path, "message": error.message}
    # Wrong variables, or a field that must not be null and that the fake left out.
    call.violate(f"GraphQL: {error.message} at {error.path}")
    return {"message": error.message, "path": error.path}


def _field(source: Node, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
    """The field of a node; what a node does not hold was never thought of, which is no answer."""
    if info.field_name not in source:
        raise NotImplementedError(f"the fake does not know {info.parent_type.name}.{info.field_name}")
    value = source[info.field_name]
    return value(**arguments) if callable(value) else value


def _int(id_: int) -> int | None:
    """An id as `databaseId`: GraphQL's Int has 32 bits, today's ids have more (`fullDatabaseId` is what holds them)."""
    return id_ if id_ < 2**31 else None


class _Root:
    """The entry points, in the name of the call's token."""

    def __init__(self, call: Call) -> None:
        self._call = call
        assert call.token is not None
        self._token: Token = call.token

    def value(self) -> Node:
        login, id_ = self._token.actor.login, self._token.actor.id
        return {
            "viewer": {"login": login, "databaseId": id_, "id": f"U_{id_}"},
            "repository": self._repository,
            "minimizeComment": self._minimize,
            "resolveReviewThread": self._resolve,
        }

    def _may(self, needed: str) -> None:
        if not self._token.may(needed):
            raise Refusal("FORBIDDEN", _FORBIDDEN)

    # -- reading -------------------------------------------------------------------------------------------------

    def _repository(self, owner: str, name: str, followRenames: bool | None = True) -> Node:
        full_name = f"{owner}/{name}"
        if followRenames:
            full_name = self._call.world.renamed.get(full_name, full_name)
        found = self._call.world.repository(full_name)
        if found is None:
            raise Refusal("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return {
            "nameWithOwner": found.full_name,
            "databaseId": found.id,
            "pullRequest": lambda number: self._pull(found, number),
        }

    def _pull(self, repository: Repository, number: int) -> Node:
        pull = repository.pulls.get(number)
        if pull is None:
            raise Refusal("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
        comments = [one for one in repository.comments.values() if one.issue == number]
        return {
            "id": f"PR_{number}",
            "number": number,
            "title": pull.title,
            "state": "MERGED" if pull.merged_at else pull.state.upper(),
            "headRefOid": pull.head_sha,
            "baseRefOid": pull.base_sha,
            "comments": lambda **page: self._connection([self._comment(one) for one in comments], **page),
            "reviewThreads": lambda **page: self._connection(self._threads(repository, pull), **page),
        }

    def _author(self, one: Comment | ReviewComment) -> Node:
        """GraphQL names a bot without the "[bot]" of REST."""
        return {"__typename": one.author.kind, "login": one.author.login.removesuffix("[bot]")}

    def _comment(self, one: Comment) -> Node:
        return {
            "id": one.node_id,
            "databaseId": _int(one.id),
            "fullDatabaseId": str(one.id),
            "body": one.body,
            "author": self._author(one),
            "createdAt": one.created_at,
            "updatedAt": one.updated_at,
            "isMinimized": one.minimized is not None,
            "minimizedReason": one.minimized and one.minimized.lower(),
            "viewerDidAuthor": one.author == self._token.actor,
            "viewerCanMinimize": self._token.may("pull_requests:write"),
        }

    def _threads(self, repository: Repository, pull: Pull) -> list[Node]:
        threads: dict[str, list[ReviewComment]] = {}
        for one in repository.review_comments.values():
            if one.pull == pull.number:
                threads.setdefault(one.thread_id, []).append(one)
        return [self._thread(comments) for comments in threads.values()]

    def _thread(self, comments: list[ReviewComment]) -> Node:
        first = comments[0]
        return {
            "id": first.thread_id,
            "isResolved": first.resolved,
            "isOutdated": first.line is None,
            "isCollapsed": first.resolved,
            "path": first.path,
            "line": first.line,
            "startLine": first.start_line,
            "viewerCanResolve": self._token.may("contents:write"),
            "comments": lambda **page: self._connection(
                [self._review_comment(one) for one in comments], **page
            ),
        }

    def _review_comment(self, one: ReviewComment) -> Node:
        return {
            "id": one.node_id,
            "databaseId": _int(one.id),
            "fullDatabaseId": str(one.id),
            "body": one.body,
            "path": one.path,
            "line": one.line,
            "author": self._author(one),
            "createdAt": one.created_at,
            "isMinimized": one.minimized is not None,
            "minimizedReason": one.minimized and one.minimized.lower(),
            "viewerDidAuthor": one.author == self._token.actor,
        }

    def _connection(
        self,
        nodes: list[Node],
        first: int | None = None,
        last: int | None = None,
        after: str | None = None,
        before: str | None = None,
        **more: Any,
    ) -> Node:
        """A page of nodes; cursors are places. GitHub wants a size, and no more than a hundred."""
        if first is None and last is None:
            self._call.violate("GraphQL: a connection is asked for without first or last")
            raise Refusal("MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value.")
        if (first or last or 0) > _MOST:
            self._call.violate(f"GraphQL: {first or last} records are asked for, {_MOST} is the limit")
            raise Refusal("EXCESSIVE_PAGINATION", f"Requesting more records exceeds the limit of {_MOST}.")
        start = int(after) if after else 0
        end = int(before) if before else len(nodes)
        if first is not None:
            end = min(end, start + first)
        elif last is not None:
            start = max(start, end - last)
        shown = nodes[start:end]
        return {
            "nodes": shown,
            "edges": [{"cursor": str(start + place + 1), "node": node} for place, node in enumerate(shown)],
            "totalCount": len(nodes),
            "pageInfo": {
                "hasNextPage": end < len(nodes),
                "hasPreviousPage": start > 0,
                "startCursor": str(start) if shown else None,
                "endCursor": str(end) if shown else None,
            },
        }

    # -- changing ------------------------------------------------------------------------------------------------

    def _each(self, kind: Callable[[Repository], dict[int, Any]]) -> list[Any]:
        return [
            one for repository in self._call.world.repositories.values() for one in kind(repository).values()
        ]

    def _minimize(self, input: Node) -> Node:
        self._may("pull_requests:write")
        nodes = self._each(lambda repository: repository.comments) + self._each(
            lambda repository: repository.review_comments
        )
        found = next((one for one in nodes if one.node_id == input["subjectId"]), None)
        if found is None:
            raise Refusal(
                "NOT_FOUND", f"Could not resolve to a node with the global id of '{input['subjectId']}'."
            )
        if found.author != self._token.actor:
            self._call.violate(
                f"comment {found.id} of {found.author.login} is minimized by {self._token.actor.login}"
            )
        found.minimized = input["classifier"]
        shown = self._comment(found) if isinstance(found, Comment) else self._review_comment(found)
        kind = "IssueComment" if isinstance(found, Comment) else "PullRequestReviewComment"
        return {
            "clientMutationId": input.get("clientMutationId"),
            "minimizedComment": {**shown, "__typename": kind},
        }

    def _resolve(self, input: Node) -> Node:
        """A workflow's token needs contents: write for it, which surprises everybody (github/gh-aw#35726)."""
        self._may("contents:write")
        thread = [
            one
            for one in self._each(lambda repository: repository.review_comments)
            if one.thread_id == input["threadId"]
        ]
        if not thread:
            raise Refusal(
                "NOT_FOUND", f"Could not resolve to a node with the global id of '{input['threadId']}'."
            )
        if thread[0].author != self._token.actor:
            self._call.violate(
                f"a thread of {thread[0].author.login} is resolved by {self._token.actor.login}"
            )
        for one in thread:
            one.resolved = True
        return {"clientMutationId": input.get("clientMutationId"), "thread": self._thread(thread)}
