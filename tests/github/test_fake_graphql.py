"""GraphQL as the fake executes it: GitHub's schema, pages, permissions."""

from typing import Any

import pytest
import requests

from tests.fakegithub import FakeGitHub, Pull

THREADS = """
query($owner: String!, $name: String!, $number: Int!, $cursor: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 2, after: $cursor) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved path line comments(first: 1) { nodes { id databaseId fullDatabaseId body author { login __typename } } } }
    } } } }
"""
RESOLVE = """
mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { id isResolved } } }
"""
MINIMIZE = """
mutation($node: ID!, $why: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $node, classifier: $why}) { minimizedComment { isMinimized minimizedReason } } }
"""
PLACE: dict[str, Any] = {"owner": "octo", "name": "demo", "number": 1}


@pytest.fixture
def pull(github_server: FakeGitHub) -> Pull:
    """A pull request with three threads of ours and a comment."""
    made = github_server.add_pull("octo/demo", {"a.py": b"1\n"}, {"a.py": b"2\n3\n4\n"})
    comments = [{"path": "a.py", "line": line, "side": "RIGHT", "body": f"line {line}"} for line in (1, 2, 3)]
    _rest(github_server, "pulls/1/reviews", {"event": "COMMENT", "body": "text", "comments": comments})
    _rest(github_server, "issues/1/comments", {"body": "text"})
    return made


def _rest(server: FakeGitHub, path: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {server.tokens.write}"}
    answer = requests.post(f"{server.api_url}/repos/octo/demo/{path}", json=body, headers=headers, timeout=10)
    assert answer.ok, answer.text


def ask(server: FakeGitHub, query: str, token: str | None = None, **variables: Any) -> Any:
    headers = {"Authorization": f"Bearer {token or server.tokens.write}"}
    body: dict[str, Any] = {"query": query, "variables": variables}
    answer = requests.post(server.graphql_url, json=body, headers=headers, timeout=10)
    assert answer.status_code == 200
    return answer.json()


def test_threads_page_by_page(github_server: FakeGitHub, pull: Pull) -> None:
    told = ask(github_server, THREADS, **PLACE)["data"]["repository"]["pullRequest"]["reviewThreads"]
    assert [one["line"] for one in told["nodes"]] == [1, 2]
    comment = told["nodes"][0]["comments"]["nodes"][0]
    assert (comment["databaseId"], int(comment["fullDatabaseId"]) > 2**31) == (None, True)
    assert comment["author"] == {
        "login": "github-actions",
        "__typename": "Bot",
    }
    assert told["pageInfo"]["hasNextPage"]
    rest = ask(github_server, THREADS, cursor=told["pageInfo"]["endCursor"], **PLACE)
    rest = rest["data"]["repository"]["pullRequest"]["reviewThreads"]
    assert [one["line"] for one in rest["nodes"]] == [3]
    assert not rest["pageInfo"]["hasNextPage"]


def test_resolving_takes_the_right_to_write_contents(github_server: FakeGitHub, pull: Pull) -> None:
    first = next(iter(github_server.world.repositories["octo/demo"].review_comments.values()))
    refused = ask(github_server, RESOLVE, thread=first.thread_id)
    assert refused["data"] == {"resolveReviewThread": None}
    assert refused["errors"][0]["type"] == "FORBIDDEN"
    assert not first.resolved
    done = ask(github_server, RESOLVE, github_server.tokens.maintainer, thread=first.thread_id)
    assert done["data"]["resolveReviewThread"]["thread"]["isResolved"]
    assert first.resolved


def test_minimizing(github_server: FakeGitHub, pull: Pull) -> None:
    repository = github_server.world.repositories["octo/demo"]
    comment, inline = (
        next(iter(repository.comments.values())),
        next(iter(repository.review_comments.values())),
    )
    for one in (comment, inline):
        done = ask(github_server, MINIMIZE, node=one.node_id, why="OUTDATED")
        assert done["data"]["minimizeComment"]["minimizedComment"] == {
            "isMinimized": True,
            "minimizedReason": "outdated",
        }
    assert (comment.minimized, inline.minimized) == ("OUTDATED", "OUTDATED")
    refused = ask(github_server, MINIMIZE, github_server.tokens.read_only, node=comment.node_id, why="SPAM")
    assert refused["errors"][0]["type"] == "FORBIDDEN"
    gone = ask(github_server, MINIMIZE, node="IC_1", why="SPAM")
    assert gone["errors"][0]["type"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("query", "variables", "said"),
    [
        ("query { viewer { logim } }", {}, "Cannot query field 'logim'"),
        ("query { viewer ", {}, "Syntax Error"),
        (MINIMIZE, {"node": "IC_1", "why": "BORING"}, "does not exist in 'ReportedContentClassifiers'"),
        (THREADS, {"owner": "octo"}, "'.name' has invalid value"),
        ('query { repository(owner: "octo", name: "demo") { id } }', {}, "belongs into the variables"),
        (THREADS.replace("first: 2", "first: 101"), PLACE, "100 is the limit"),
        (THREADS.replace("first: 2, ", ""), PLACE, "without first or last"),
        (
            THREADS.replace("isResolved", "isResolved diffSide"),
            PLACE,
            "does not know PullRequestReviewThread.diffSide",
        ),
    ],
    ids=["field", "syntax", "enum", "variables", "inline", "many", "unbounded", "unknown to the fake"],
)
def test_queries_are_checked_against_githubs_schema(
    github_server: FakeGitHub, pull: Pull, query: str, variables: dict[str, Any], said: str
) -> None:
    assert ask(github_server, query, **variables)["errors"]
    github_server.expect_violation(said)
    github_server.violations.clear()


def test_who_is_asking(github_server: FakeGitHub) -> None:
    assert (
        ask(github_server, "query { viewer { login } }")["data"]["viewer"]["login"] == "github-actions[bot]"
    )
    for token, status in (("expired", 401), ("", 403)):
        headers = {"Authorization": f"Bearer {github_server.tokens.expired}"} if token else {}
        answer = requests.post(
            github_server.graphql_url,
            json={"query": "query { viewer { login } }"},
            headers=headers,
            timeout=10,
        )
        assert answer.status_code == status
