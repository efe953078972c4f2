"""The fake holds its clients to GitHub's contract, and itself too."""

import io
import json
import re
import zipfile
from typing import Any

import pytest
import requests

from tests.fakegithub import (
    Artifact,
    Commit,
    Contract,
    ContractError,
    FakeGitHub,
    Job,
    Pull,
    Repository,
    Run,
    fake_github,
)
from tests.fakegithub.logs import run_logs

REPO = "/repos/octo/demo"


@pytest.fixture
def pull(github_server: FakeGitHub) -> Pull:
    made = github_server.add_pull(
        "octo/demo",
        {
            "a.py": b"".join(b"line %d\n" % number for number in range(1, 41)),
            "gone.py": b"x\n",
            "moved.py": b"moved\n",
        },
        {
            "a.py": b"".join(b"line %d\n" % number if number != 20 else b"new\n" for number in range(1, 41)),
            "new.py": b"new\n",
            "folder/moved.py": b"moved\n",
        },
    )
    repository = github_server.world.repositories["octo/demo"]
    repository.runs[11] = Run(
        11,
        made.head_sha,
        logs={1: b"PK old", 2: run_logs({"test": {"Run tests": ["one", "two"]}})},
        attempt=2,
    )
    repository.jobs[21] = Job(
        21, 11, "test", 2, steps=[("Set up job", "success"), ("Run tests", "failure")], log=b"text"
    )
    repository.jobs[22] = Job(22, 11, "test", 1, "in_progress", None, [("Run tests", None)], None)
    repository.artifacts[31] = Artifact(31, 11, "report", b"PK")
    return made


class Client:
    """Plain requests in the name of one token; nothing is followed."""

    def __init__(self, server: FakeGitHub, token: str | None = None) -> None:
        self._session = requests.Session()
        self._server = server
        self._session.headers["Authorization"] = f"Bearer {token or server.tokens.write}"
        if token == "":
            del self._session.headers["Authorization"]

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        return self._session.request(
            method, self._server.api_url + path, json=body, allow_redirects=False, timeout=10, **more
        )


@pytest.fixture
def ask(github_server: FakeGitHub) -> Client:
    return Client(github_server)


READS = (
    "",
    "/commits/main",
    "/commits/change",
    "/git/trees/main",
    "/git/trees/main?recursive=1",
    "/compare/main...change",
    "/compare/change...main",
    "/commits/change/pulls",
    "/commits/change/check-runs?check_name=x&filter=all",
    "/pulls?state=all",
    "/pulls/1",
    "/pulls/1/files",
    "/pulls/1/reviews",
    "/pulls/1/comments",
    "/issues/1/comments?per_page=100",
    "/actions/runs?head_sha=abc&event=push",
    "/actions/runs",
    "/actions/runs/11",
    "/actions/runs/11/attempts/1",
    "/actions/runs/11/attempts/2/jobs",
    "/actions/runs/11/jobs",
    "/actions/jobs/21",
    "/actions/jobs/22",
    "/actions/artifacts",
    "/actions/artifacts/31",
    "/actions/runs/11/artifacts?name=report",
)


@pytest.mark.parametrize("path", READS)
def test_every_answer_is_one_that_github_describes(ask: Client, pull: Pull, path: str) -> None:
    assert ask("GET", REPO + path).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/tarball/main",
        "/zipball/change",
        "/actions/runs/11/logs",
        "/actions/runs/11/attempts/1/logs",
        "/actions/jobs/21/logs",
        "/actions/artifacts/31/zip",
    ],
)
def test_contents_lie_on_another_host_behind_a_link_that_ages(
    github_server: FakeGitHub, ask: Client, pull: Pull, path: str
) -> None:
    answer = ask("GET", REPO + path)
    assert (answer.status_code, answer.content) == (302, b"")
    address = answer.headers["Location"]
    assert address.startswith(github_server.files_url)
    assert requests.get(address, timeout=10).status_code == 200
    late = github_server.world.clock() + 61
    github_server.world.clock = lambda: late
    assert requests.get(address, timeout=10).status_code == 403


def test_a_token_on_the_second_host_is_a_violation(
    github_server: FakeGitHub, ask: Client, pull: Pull
) -> None:
    address = ask("GET", f"{REPO}/tarball/main").headers["Location"]
    requests.get(address, headers={"Authorization": "Bearer secret"}, timeout=10)
    github_server.expect_violation("the token was sent to another host")


def test_what_was_swallowed_fails_the_test_all_the_same(github_contract: Contract) -> None:
    with pytest.raises(ContractError, match=r"PATCH /repos/octo/demo/issues/comments/1.*bdy"):  # noqa: SIM117
        with fake_github(contract=github_contract) as server:
            server.add_pull("octo/demo", {}, {"a": b"b"})
            Client(server)("PATCH", f"{REPO}/issues/comments/1", {"bdy": "text"})


def test_a_failing_test_keeps_its_error_and_gets_a_note(github_contract: Contract) -> None:
    with pytest.raises(ZeroDivisionError) as caught, fake_github(contract=github_contract) as server:
        Client(server)("GET", "/nowhere")
        raise ZeroDivisionError
    assert any("no such endpoint" in note for note in caught.value.__notes__)


ANNOTATION = {
    "path": "a.py",
    "start_line": 1,
    "end_line": 1,
    "annotation_level": "warning",
    "message": "text",
}


def checked(**output: Any) -> dict[str, Any]:
    return {
        "name": "ml-audit",
        "status": "completed",
        "conclusion": "success",
        "output": {"title": "t", "summary": "s", **output},
    }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (checked(summary="x" * 65_536), "output/summary"),
        (checked(text="x" * 65_536), "output/text"),
        (checked(annotations=[ANNOTATION] * 51), "output/annotations"),
        (checked(annotations=[{**ANNOTATION, "path": None}]), "output/annotations/0/path"),
        (checked(annotations=[{**ANNOTATION, "path": ""}]), "names no file"),
        (checked(annotations=[{**ANNOTATION, "annotation_level": "error"}]), "annotation_level"),
        (checked(annotations=[{**ANNOTATION, "start_line": 0}]), "lines count from 1"),
        (checked(annotations=[{**ANNOTATION, "start_line": 3}]), "is before start_line"),
        (
            checked(annotations=[{**ANNOTATION, "end_line": 2, "start_column": 1}]),
            "only where start_line equals",
        ),
        (checked(annotations=[{**ANNOTATION, "start_column": 0}]), "columns count from 1"),
        (checked(annotations=[{**ANNOTATION, "message": "x" * 65_537}]), "longer than 64 KB"),
        (checked(annotations=[{**ANNOTATION, "message": " "}]), "can't be blank"),
        (checked(annotations=[{**ANNOTATION, "title": "x" * 256}]), "longer than 255"),
        (checked(annotations=[{**ANNOTATION, "message": "\U0001f600"}]), "beyond U\\+FFFF"),
        (checked(annotations=[{**ANNOTATION, "line": 1}]), "'line' was unexpected"),
        (checked(annotations=[{key: ANNOTATION[key] for key in list(ANNOTATION)[:4]}]), "message"),
        ({"name": "x", "output": {"summary": "s"}}, '"title" is a required property'),
        ({"name": "x", "status": "completed"}, "conclusion: required"),
        ({"name": "x", "conclusion": "red"}, "conclusion"),
        ({"name": " "}, "name: can't be blank"),
        ({"name": "x", "head_sha": "main"}, "not a whole commit id"),
        ({"name": "x", "head_sha": "0" * 40}, "is no commit of"),
        ({"name": "x", "extra": 1}, "'extra' was unexpected"),
        ({"name": "x", "started_at": "yesterday"}, "started_at"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_limits_of_check_runs(
    github_server: FakeGitHub, ask: Client, pull: Pull, body: dict[str, Any], said: str
) -> None:
    answer = ask("POST", f"{REPO}/check-runs", {"head_sha": pull.head_sha, **body})
    assert answer.status_code == 422
    github_server.expect_violation(said)
    github_server.violations.clear()
    assert not github_server.world.repositories["octo/demo"].check_runs


def test_a_check_run_in_three_steps(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    made = ask(
        "POST", f"{REPO}/check-runs", {"name": "ml-audit", "head_sha": pull.head_sha, "status": "in_progress"}
    ).json()
    assert (made["status"], made["conclusion"], made["app"]["slug"]) == (
        "in_progress",
        None,
        "github-actions",
    )
    path = f"{REPO}/check-runs/{made['id']}"
    ask("PATCH", path, {"output": {"title": "t", "summary": "s", "annotations": [ANNOTATION] * 50}})
    last = {"conclusion": "failure", "output": {"title": "t", "summary": "s", "annotations": [ANNOTATION]}}
    done = ask("PATCH", path, last).json()
    assert (done["status"], done["conclusion"], done["output"]["annotations_count"]) == (
        "completed",
        "failure",
        51,
    )
    listed = ask("GET", f"{path}/annotations?per_page=100").json()
    assert len(listed) == 51
    assert listed[0]["blob_href"].endswith(f"/blob/{pull.head_sha}/a.py")


def test_a_check_run_of_another_app_may_not_be_changed(
    github_server: FakeGitHub, ask: Client, pull: Pull
) -> None:
    other = Client(github_server, github_server.tokens.other_app)
    made = other("POST", f"{REPO}/check-runs", {"name": "other", "head_sha": pull.head_sha}).json()
    answer = ask("PATCH", f"{REPO}/check-runs/{made['id']}", {"status": "in_progress"})
    assert answer.status_code == 403
    assert "Invalid app_id `15368`" in answer.json()["message"]
    github_server.expect_violation("belongs to another app")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * 65_537, "too long"),
        ("", "can't be blank"),
        ("\ud83d", "half of a surrogate pair"),
        ("a\0b", "a NUL character"),
        (7, "not of type"),
    ],
    ids=["long", "blank", "surrogate", "nul", "type"],
)
def test_limits_of_comments(github_server: FakeGitHub, ask: Client, pull: Pull, text: Any, said: str) -> None:
    assert ask("POST", f"{REPO}/issues/1/comments", {"body": text}).status_code == 422
    github_server.expect_violation(said)
    github_server.violations.clear()
    made = ask("POST", f"{REPO}/issues/1/comments", {"body": "x" * 65_536})
    assert made.status_code == 201
    assert ask("PATCH", f"{REPO}/issues/comments/{made.json()['id']}", {"body": text}).status_code == 422
    github_server.violations.clear()


def test_a_comment_lives_and_dies(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    made = ask("POST", f"{REPO}/issues/1/comments", {"body": "one"}).json()
    assert made["user"]["login"] == "github-actions[bot]"
    assert made["performed_via_github_app"]["id"] == 15368
    path = f"{REPO}/issues/comments/{made['id']}"
    assert ask("PATCH", path, {"body": "two"}).json()["body"] == "two"
    assert ask("GET", path).json()["body"] == "two"
    assert ask("DELETE", path).status_code == 204
    assert ask("GET", path).status_code == 404
    assert ask("GET", f"{REPO}/issues/1/comments").json() == []


def test_editing_what_others_wrote_is_a_violation(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    person = Client(github_server, github_server.tokens.person)
    made = person("POST", f"{REPO}/issues/1/comments", {"body": "mine"}).json()
    ask("PATCH", f"{REPO}/issues/comments/{made['id']}", {"body": "yours"})
    github_server.expect_violation("of octocat is edited by github-actions")


def test_pages_are_linked_by_the_repositorys_number(
    github_server: FakeGitHub, ask: Client, pull: Pull
) -> None:
    for number in range(65):
        ask("POST", f"{REPO}/issues/1/comments", {"body": str(number)})
    seen, address = [], f"{REPO}/issues/1/comments"
    for _ in range(5):
        answer = ask("GET", address)
        seen.append([one["body"] for one in answer.json()])
        next_page = re.search(r'<([^>]+)>; rel="next"', answer.headers.get("Link", ""))
        if next_page is None:
            break
        address = next_page[1].removeprefix(github_server.api_url)
        assert address.startswith("/repositories/")
    assert [len(page) for page in seen] == [30, 30, 5]
    assert [text for page in seen for text in page] == [str(number) for number in range(65)]
    assert len(ask("GET", f"{REPO}/issues/1/comments?per_page=500").json()) == 65


def test_too_much_content_in_a_minute(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    now = 1_800_000_000.0
    github_server.world.clock = lambda: now
    for number in range(80):
        assert ask("POST", f"{REPO}/issues/1/comments", {"body": str(number)}).status_code == 201
    refused = ask("POST", f"{REPO}/issues/1/comments", {"body": "one too many"})
    assert (refused.status_code, refused.headers["Retry-After"]) == (403, "60")
    github_server.expect_violation("too fast .81 creations")
    github_server.world.clock = lambda: now + 61
    assert ask("POST", f"{REPO}/issues/1/comments", {"body": "later"}).status_code == 201


def suggestion(**more: Any) -> dict[str, Any]:
    one = {"path": "a.py", "line": 20, "side": "RIGHT", "body": "```suggestion\nbetter\n```", **more}
    return {"event": "COMMENT", "body": "text", "comments": [one]}


def test_a_review_with_a_suggestion(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    made = ask(
        "POST",
        f"{REPO}/pulls/1/reviews",
        {**suggestion(start_line=18, start_side="RIGHT"), "commit_id": pull.head_sha},
    )
    assert (made.status_code, made.json()["state"]) == (200, "COMMENTED")
    (comment,) = ask("GET", f"{REPO}/pulls/1/comments").json()
    assert (comment["path"], comment["start_line"], comment["line"]) == ("a.py", 18, 20)
    assert comment["diff_hunk"].startswith("@@ -17,7 +17,7 @@")
    reply = ask("POST", f"{REPO}/pulls/1/comments/{comment['id']}/replies", {"body": "no"}).json()
    assert reply["in_reply_to_id"] == comment["id"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"line": 1}, "must be part of the diff"),
        ({"start_line": 3}, "must be part of the diff"),
        ({"start_line": 20}, "not before line"),
        ({"path": "other.py"}, "not part of the diff"),
        ({"path": "gone.py", "line": 1}, "must be part of the diff"),
        ({"body": "x" * 65_537}, "too long"),
        ({"lines": 2}, "unexpected"),
    ],
)
def test_limits_of_reviews(
    github_server: FakeGitHub, ask: Client, pull: Pull, more: dict[str, Any], said: str
) -> None:
    assert ask("POST", f"{REPO}/pulls/1/reviews", suggestion(**more)).status_code == 422
    github_server.expect_violation(said)
    assert not github_server.world.repositories["octo/demo"].review_comments


def test_a_review_of_a_head_that_moved_on_is_nobodys_fault(
    github_server: FakeGitHub, ask: Client, pull: Pull
) -> None:
    repository = github_server.world.repositories["octo/demo"]
    newer = repository.add_commit(Commit({"a.py": b"all new\n"}, (pull.head_sha,)), "change")
    old, pull.head_sha = pull.head_sha, newer.sha
    assert ask("POST", f"{REPO}/pulls/1/reviews", {**suggestion(), "commit_id": old}).status_code == 422


@pytest.mark.parametrize(
    ("token", "method", "path", "status"),
    [
        ("read_only", "POST", "/issues/1/comments", 403),
        ("read_only", "POST", "/check-runs", 403),
        ("no_checks", "POST", "/check-runs", 403),
        ("no_checks", "POST", "/issues/1/comments", 201),
        ("only_checks", "POST", "/issues/1/comments", 403),
        ("only_checks", "POST", "/check-runs", 201),
        ("person", "POST", "/check-runs", 403),
        ("expired", "POST", "/issues/1/comments", 401),
        ("expired", "GET", "/pulls/1", 401),
        ("", "POST", "/issues/1/comments", 401),
        ("", "GET", "/pulls/1", 200),
        ("", "GET", "/actions/jobs/21/logs", 403),
    ],
)
def test_what_each_token_may_do(
    github_server: FakeGitHub, pull: Pull, token: str, method: str, path: str, status: int
) -> None:
    client = Client(github_server, getattr(github_server.tokens, token) if token else "")
    bodies = {"/issues/1/comments": {"body": "text"}, "/check-runs": {"name": "x", "head_sha": pull.head_sha}}
    answer = client(method, REPO + path, bodies.get(path))
    assert answer.status_code == status
    if status == 403 and method == "POST" and token != "person":
        assert answer.json()["message"] == "Resource not accessible by integration"
        assert "write" in answer.headers["X-Accepted-GitHub-Permissions"]


def test_who_a_token_is(github_server: FakeGitHub, ask: Client) -> None:
    assert ask("GET", "/user").status_code == 403
    person = Client(github_server, github_server.tokens.person)
    assert person("GET", "/user").json()["login"] == "octocat"


def test_states_that_forbid_writing(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    repository = github_server.world.repositories["octo/demo"]
    repository.comments_disabled = True
    assert ask("POST", f"{REPO}/issues/1/comments", {"body": "x"}).status_code == 410
    repository.comments_disabled, repository.archived = False, True
    assert ask("POST", f"{REPO}/issues/1/comments", {"body": "x"}).status_code == 403
    repository.archived, pull.locked = False, True
    assert ask("POST", f"{REPO}/issues/1/comments", {"body": "x"}).status_code == 403
    repository.private = True
    assert Client(github_server, "")("GET", REPO).status_code == 404


def test_a_renamed_repository_redirects_reads_and_writes(
    github_server: FakeGitHub, ask: Client, pull: Pull
) -> None:
    github_server.world.renamed["octo/old"] = "octo/demo"
    moved = ask("GET", "/repos/octo/old/pulls/1")
    assert moved.status_code == 301
    assert ask("GET", moved.headers["Location"].removeprefix(github_server.api_url)).json()["number"] == 1
    written = ask("POST", "/repos/octo/old/issues/1/comments", {"body": "x"})
    assert written.status_code == 307
    assert (
        ask(
            "POST", written.headers["Location"].removeprefix(github_server.api_url), {"body": "x"}
        ).status_code
        == 201
    )


def test_files_of_a_pull_request(ask: Client, pull: Pull) -> None:
    files = {one["filename"]: one for one in ask("GET", f"{REPO}/pulls/1/files").json()}
    assert {name: one["status"] for name, one in files.items()} == {
        "a.py": "modified",
        "folder/moved.py": "renamed",
        "gone.py": "removed",
        "new.py": "added",
    }
    assert files["folder/moved.py"]["previous_filename"] == "moved.py"
    assert files["a.py"]["patch"].splitlines()[0] == "@@ -17,7 +17,7 @@"


def test_merge_base_of_branches_that_parted(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    repository = github_server.world.repositories["octo/demo"]
    repository.add_commit(Commit({"main.py": b"1"}, (pull.base_sha,), "On main"), "main")
    told = ask("GET", f"{REPO}/compare/main...change").json()
    assert (told["status"], told["ahead_by"], told["behind_by"]) == ("diverged", 1, 1)
    assert told["merge_base_commit"]["sha"] == pull.base_sha


def test_the_zip_of_logs(ask: Client, pull: Pull) -> None:
    content = requests.get(ask("GET", f"{REPO}/actions/runs/11/logs").headers["Location"], timeout=10).content
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        assert packed.namelist() == ["0_test.txt", "test/system.txt", "test/1_Run tests.txt"]
        assert packed.read("test/1_Run tests.txt").startswith(
            "\ufeff2026-01-02T03:04:05.1234567Z one\n".encode()
        )


def test_logs_that_expired(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    repository: Repository = github_server.world.repositories["octo/demo"]
    repository.runs[11].logs[2] = None
    repository.artifacts[31].expired = True
    assert ask("GET", f"{REPO}/actions/runs/11/logs").status_code == 410
    assert ask("GET", f"{REPO}/actions/jobs/22/logs").status_code == 410
    assert ask("GET", f"{REPO}/actions/artifacts/31/zip").status_code == 410


def test_parameters_are_checked(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    ask("GET", f"{REPO}/issues/one/comments")
    github_server.expect_violation("path parameter issue_number")
    ask("GET", f"{REPO}/issues/1/comments?per_page=many")
    github_server.expect_violation("query parameter per_page")
    ask("GET", f"{REPO}/issues/1/comments?perpage=10")
    github_server.expect_violation("query parameter perpage: the endpoint has none")
    ask("PUT", f"{REPO}/issues/1/comments", {})
    github_server.expect_violation("knows only GET, POST")


def test_headers_are_checked(github_server: FakeGitHub, ask: Client, pull: Pull) -> None:
    ask("GET", REPO, headers={"User-Agent": ""})
    github_server.expect_violation("User-Agent")
    ask("GET", REPO, headers={"Authorization": "Basic abc"})
    github_server.expect_violation("Authorization")
    ask("GET", REPO, headers={"Accept": "text/html"})
    github_server.expect_violation("Accept")
    ask("GET", REPO, headers={"X-GitHub-Api-Version": "2019-01-01"})
    github_server.expect_violation("X-GitHub-Api-Version")
    ask("POST", f"{REPO}/issues/1/comments", None, data=json.dumps({"body": "x"}))
    github_server.expect_violation("Content-Type")


def test_an_enterprise_server(enterprise_contract: Contract) -> None:
    with fake_github(contract=enterprise_contract, prefix="/api/v3") as server:
        pull = server.add_pull("octo/demo", {}, {"a.py": b"1\n"})
        assert server.api_url.endswith("/api/v3")
        assert server.graphql_url.endswith("/api/graphql")
        client = Client(server)
        assert client("GET", REPO).json()["url"] == f"{server.api_url}/repos/octo/demo"
        assert (
            client("POST", f"{REPO}/check-runs", {**checked(), "head_sha": pull.head_sha}).status_code == 201
        )
        client("GET", REPO, headers={"X-GitHub-Api-Version": "2026-03-10"})
        server.expect_violation("X-GitHub-Api-Version: '2026-03-10' does not exist")


def test_the_tarball_names_its_commit(ask: Client, pull: Pull) -> None:
    import tarfile

    content = requests.get(ask("GET", f"{REPO}/tarball/change").headers["Location"], timeout=10).content
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        assert f"octo-demo-{pull.head_sha[:7]}/folder/moved.py" in tar.getnames()
        assert tar.pax_headers["comment"] == pull.head_sha
