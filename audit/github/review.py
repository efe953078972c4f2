"""Review suggestions: safe edits on lines of the pull request's diff, in one review, each told once and put aside when it is mended."""

from collections.abc import Iterator
from typing import Any

import msgspec

from audit.documents.finding import Edit, Finding
from audit.github.client import Client, Json
from audit.github.destination import Destination
from audit.github.diff import Hunk, hunks, lines_at
from audit.github.errors import ApiError, Kind
from audit.github.identity import Identity
from audit.github.marker import fix_id, fix_mark, mark_of, read_fix_mark, read_mark
from audit.report import view
from audit.report.story import Story
from audit.report.suggestion import Suggestion, body, suggestion

PERMISSION = "pull-requests: write"
# One review of more than a screen or two is closed unread, and each comment notifies.
_MOST_SUGGESTIONS = 20
_MOST_FILES = 3_000
_MOST_COMMENTS = 3_000
_MOST_REVIEWS = 1_000
_MOST_RESOLVED = 50

_THREADS = """
query ($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved comments(first: 1) { nodes { id body viewerDidAuthor isMinimized } } }
      }
    }
  }
}
"""
_RESOLVE = "mutation ($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }"
_MINIMIZE = """
mutation ($id: ID!) {
  minimizeComment(input: {subjectId: $id, classifier: RESOLVED}) { minimizedComment { isMinimized } }
}
"""


class Reviewed(msgspec.Struct, frozen=True):
    """How many suggestions were written now, how many earlier ones were put aside, and the review's page."""

    written: int = 0
    resolved: int = 0
    url: str = ""


class _Thread(msgspec.Struct, frozen=True):
    id: str
    comment: str


def suggest(client: Client, identity: Identity, destination: Destination, story: Story) -> Reviewed:
    """Writes what was not suggested before, and puts aside what is mended. Raises ApiError."""
    edits = {_id(finding, edit): (finding, edit) for finding, edit in _safe_edits(story)}
    told = set(_told(client, identity, destination))
    open_edits = {key: pair for key, pair in edits.items() if key not in told}
    made = _suggestions(open_edits, destination, _diff(client, destination)) if open_edits else {}
    review = _write(client, identity, destination, story, made) if made else {}
    mended = told - edits.keys()
    resolved = _put_aside(client, destination, mended) if mended else 0
    return Reviewed(len(made), resolved, str(review.get("html_url") or ""))


def _safe_edits(story: Story) -> Iterator[tuple[Finding, Edit]]:
    for finding in view.failures(story.report):
        if finding.fix and finding.fix.safe:
            for edit in finding.fix.edits:
                yield finding, edit


def _id(finding: Finding, edit: Edit) -> str:
    """The same after lines moved; another one where another text is suggested."""
    return fix_id(finding.rule, finding.fingerprint, edit.path, edit.replacement)


def _told(client: Client, identity: Identity, destination: Destination) -> Iterator[str]:
    """The ids of all suggestions that we have made, whatever became of them."""
    path = f"/repos/{destination.repository}/pulls/{destination.pull_number}/comments"
    for comment in client.pages(path, most=_MOST_COMMENTS):
        found = read_fix_mark(str(comment.get("body")), destination.comment_key)
        if found and identity.wrote(comment):
            yield found


def _diff(client: Client, destination: Destination) -> dict[str, tuple[Hunk, ...]]:
    path = f"/repos/{destination.repository}/pulls/{destination.pull_number}/files"
    return {
        str(file.get("filename")): hunks(patch)
        for file in client.pages(path, most=_MOST_FILES)
        if isinstance(patch := file.get("patch"), str)
    }


def _suggestions(
    edits: dict[str, tuple[Finding, Edit]], destination: Destination, diff: dict[str, tuple[Hunk, ...]]
) -> dict[str, Suggestion]:
    def lines(path: str, first: int, last: int) -> tuple[str, ...] | None:
        return lines_at(diff, path, first, last)

    made: dict[str, Suggestion] = {}
    for key, (finding, edit) in edits.items():
        found = suggestion(finding, edit, destination.path_prefix, lines)
        if found is not None and len(made) < _MOST_SUGGESTIONS:
            made[key] = found
    return made


def _write(
    client: Client, identity: Identity, destination: Destination, story: Story, made: dict[str, Suggestion]
) -> Json:
    mark = mark_of(destination)
    path = f"/repos/{destination.repository}/pulls/{destination.pull_number}/reviews"

    def find() -> Json | None:
        for review in client.pages(path, most=_MOST_REVIEWS):
            if read_mark(str(review.get("body"))) == mark and identity.wrote(review):
                return review
        return None

    number = f"{len(made)} findings" if len(made) > 1 else "One finding"
    review = {
        "commit_id": destination.head_sha,
        "event": "COMMENT",
        "body": f"{mark}\n{number} can be mended with one click.",
        "comments": [_comment(key, each, destination, story) for key, each in made.items()],
    }
    return client.create(path, review, find)


def _comment(key: str, made: Suggestion, destination: Destination, story: Story) -> dict[str, Any]:
    comment: dict[str, Any] = {
        "path": made.path,
        "line": made.end_line,
        "side": "RIGHT",
        "body": f"{fix_mark(destination.comment_key, key)}\n{body(made, story.rules)}",
    }
    if made.end_line > made.start_line:
        comment |= {"start_line": made.start_line, "start_side": "RIGHT"}
    return comment


# --- what is mended ------------------------------------------------------------------------------------------


def _put_aside(client: Client, destination: Destination, mended: set[str]) -> int:
    """Resolves the threads of mended suggestions; a token that may not (it takes `contents: write`) hides the comment as resolved.

    Raises nothing: an open thread costs nobody a merge.
    """
    ways = [_RESOLVE, _MINIMIZE]
    done = 0
    try:
        threads = [thread for key, thread in _threads(client, destination) if key in mended]
        for thread in threads[:_MOST_RESOLVED]:
            while ways:
                try:
                    client.query(ways[0], {"id": thread.id if ways[0] is _RESOLVE else thread.comment})
                    done += 1
                    break
                except ApiError as error:
                    if error.kind is not Kind.FORBIDDEN:
                        raise
                    ways.pop(0)
    except ApiError:
        return done
    return done


def _threads(client: Client, destination: Destination) -> Iterator[tuple[str, _Thread]]:
    """Our threads that are neither resolved nor hidden, with the ids of their suggestions."""
    owner, _, name = destination.repository.partition("/")
    variables: Json = {"owner": owner, "name": name, "number": destination.pull_number, "after": None}
    for _ in range(_MOST_COMMENTS // 100):
        answer = client.query(_THREADS, variables)
        try:
            page = msgspec.convert(answer, _Answer, strict=False).repository.pull.threads
        except msgspec.ValidationError:
            return
        for node in page.nodes:
            first = node.comments.nodes[0] if node.comments.nodes else None
            if first is None or node.resolved or first.minimized or not first.ours:
                continue
            if key := read_fix_mark(first.body, destination.comment_key):
                yield key, _Thread(node.id, first.id)
        if not page.info.more:
            return
        variables = {**variables, "after": page.info.cursor}


class _Comment(msgspec.Struct):
    id: str
    body: str
    ours: bool = msgspec.field(name="viewerDidAuthor")
    minimized: bool = msgspec.field(name="isMinimized")


class _Comments(msgspec.Struct):
    nodes: list[_Comment]


class _Node(msgspec.Struct):
    id: str
    resolved: bool = msgspec.field(name="isResolved")
    comments: _Comments


class _Info(msgspec.Struct):
    more: bool = msgspec.field(name="hasNextPage")
    cursor: str | None = msgspec.field(name="endCursor", default=None)


class _Page(msgspec.Struct):
    nodes: list[_Node]
    info: _Info = msgspec.field(name="pageInfo")


class _Pull(msgspec.Struct):
    threads: _Page = msgspec.field(name="reviewThreads")


class _Repository(msgspec.Struct):
    pull: _Pull = msgspec.field(name="pullRequest")


class _Answer(msgspec.Struct):
    repository: _Repository
