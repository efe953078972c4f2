"""Endpoints that only read: repository, commits, trees, archives, pull requests, the token's own account."""

import base64
from typing import Any
from urllib.parse import quote, unquote

from .archives import tar_of, zip_of
from .diffs import FileChange, changes
from .routing import Answer, Call, error, not_found, route
from .world import Commit, Pull, Repository, blob_sha

_REPO = "/repos/{owner}/{repo}"
_MAX_FILES = 3_000
_MAX_DIFF_FILES = 300


@route("GET", _REPO)
def repository(call: Call) -> Answer:
    return Answer(200, call.shapes.full_repository(call.repository))


def _no_commit(call: Call, ref: str) -> Answer:
    if not call.repository.commits:
        return error(409, "Git Repository is empty.")
    return error(422, f"No commit found for SHA: {ref}")


@route("GET", f"{_REPO}/commits/{{ref}}")
def commit(call: Call) -> Answer:
    ref = unquote(call.params["ref"])
    found = call.repository.resolve(ref)
    return _no_commit(call, ref) if found is None else Answer(200, call.shapes.commit(call.repository, found))


@route("GET", f"{_REPO}/git/trees/{{tree_sha}}")
def tree(call: Call) -> Answer:
    found = call.repository.resolve(unquote(call.params["tree_sha"]))
    if not call.repository.commits:
        return error(409, "Git Repository is empty.")
    if found is None:
        return not_found()
    shape = call.shapes.tree(call.repository, found)
    if not call.one("recursive"):
        shape["tree"] = [entry for entry in shape["tree"] if "/" not in entry["path"]]
    return Answer(200, shape)


def files_of(repository: Repository, pull: Pull) -> list[FileChange]:
    """What a pull request changes: head against the merge base."""
    head, base = repository.commits.get(pull.head_sha), repository.merge_base(pull.base_sha, pull.head_sha)
    before = repository.commits.get(base or pull.base_sha)
    return [] if head is None or before is None else changes(before, head)


@route("GET", f"{_REPO}/compare/{{basehead}}")
def compare(call: Call) -> Answer:
    repository = call.repository
    base_name, dots, head_name = unquote(call.params["basehead"]).partition("...")
    base, head = repository.resolve(base_name.split(":")[-1]), repository.resolve(head_name.split(":")[-1])
    if not dots or base is None or head is None:
        return not_found()
    merge_base = repository.merge_base(base.sha, head.sha)
    if merge_base is None:
        return error(404, f"No common ancestor between {base_name} and {head_name}.")
    ahead = _beyond(repository, head.sha, base.sha)
    behind = _beyond(repository, base.sha, head.sha)
    status = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}.get(
        (bool(ahead), bool(behind)), "identical"
    )
    shapes = call.shapes
    page = f"{shapes.html}/{repository.full_name}/compare/{base_name}...{head_name}"
    # Commits come in pages, files on the first of them only.
    page_of_commits = call.paged(list(reversed(ahead)))
    first = call.one("page", "1") == "1"
    files = changes(repository.commits[merge_base], head)[:_MAX_DIFF_FILES] if first else []
    return Answer(
        200,
        {
            "url": f"{shapes.api}/repos/{repository.full_name}/compare/{base_name}...{head_name}",
            "html_url": page,
            "permalink_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "base_commit": shapes.commit(repository, base),
            "merge_base_commit": shapes.commit(repository, repository.commits[merge_base]),
            "status": status,
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "commits": [shapes.commit(repository, repository.commits[sha]) for sha in page_of_commits.value],
            "files": [shapes.file(repository, head.sha, one) for one in files],
        },
        page_of_commits.headers,
    )


def _beyond(repository: Repository, sha: str, other: str) -> list[str]:
    """Commits reachable from `sha` and not from `other`, newest first."""
    known = set(repository.ancestors(other))
    return [one for one in repository.ancestors(sha) if one not in known and one in repository.commits]


@route("GET", f"{_REPO}/commits/{{commit_sha}}/pulls")
def pulls_of_commit(call: Call) -> Answer:
    found = call.repository.resolve(unquote(call.params["commit_sha"]))
    if found is None:
        return _no_commit(call, call.params["commit_sha"])
    belonging = [
        pull
        for pull in call.repository.pulls.values()
        if found.sha == pull.merge_commit_sha
        or (
            pull.head_sha in call.repository.commits
            and found.sha in _beyond(call.repository, pull.head_sha, pull.base_sha)
        )
    ]
    return call.paged([call.shapes.simple_pull(call.repository, pull) for pull in belonging])


@route("GET", f"{_REPO}/pulls")
def pulls(call: Call) -> Answer:
    state, head, base = call.one("state", "open"), call.one("head"), call.one("base")
    shown = [
        call.shapes.simple_pull(call.repository, pull)
        for pull in call.repository.pulls.values()
        if state in ("all", pull.state)
    ]
    shown = [
        pull for pull in shown if head in ("", pull["head"]["label"]) and base in ("", pull["base"]["ref"])
    ]
    return call.paged(sorted(shown, key=lambda pull: -pull["number"]))


def _pull(call: Call) -> Pull | None:
    return call.repository.pulls.get(call.number("pull_number"))


@route("GET", f"{_REPO}/pulls/{{pull_number}}")
def pull(call: Call) -> Answer:
    found = _pull(call)
    if found is None:
        return not_found()
    return Answer(200, call.shapes.pull(call.repository, found, files_of(call.repository, found)))


@route("GET", f"{_REPO}/pulls/{{pull_number}}/files")
def pull_files(call: Call) -> Answer:
    found = _pull(call)
    if found is None:
        return not_found()
    told = files_of(call.repository, found)[:_MAX_FILES]
    return call.paged([call.shapes.file(call.repository, found.head_sha, one) for one in told])


@route("GET", f"{_REPO}/tarball/{{ref}}")
def tarball(call: Call) -> Answer:
    return _archive(call, "tar.gz")


@route("GET", f"{_REPO}/zipball/{{ref}}")
def zipball(call: Call) -> Answer:
    return _archive(call, "zip")


def _archive(call: Call, kind: str) -> Answer:
    found = call.repository.resolve(unquote(call.params["ref"]))
    if found is None:
        return not_found()
    top = f"{call.repository.owner}-{call.repository.name}-{found.sha[:7]}"
    content = tar_of(found, top) if kind == "tar.gz" else zip_of(found, top)
    media = "application/x-gzip" if kind == "tar.gz" else "application/zip"
    return Answer(
        302,
        headers={
            "Location": call.link(f"{call.repository.full_name}/legacy.{kind}/{found.sha}", content, media)
        },
    )


def _entry(call: Call, commit: Commit, path: str) -> dict[str, Any]:
    """A file, as it stands in a listing too."""
    base = f"{call.shapes.api}/repos/{call.repository.full_name}"
    content = commit.files[path]
    page = f"{call.shapes.html}/{call.repository.full_name}/blob/{commit.sha}/{path}"
    own, blob = f"{base}/contents/{quote(path)}?ref={commit.sha}", f"{base}/git/blobs/{blob_sha(content)}"
    return {
        "type": "file",
        "size": len(content),
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": blob_sha(content),
        "url": own,
        "git_url": blob,
        "html_url": page,
        "download_url": page.replace("/blob/", "/raw/"),
        "_links": {"git": blob, "self": own, "html": page},
    }


@route("GET", f"{_REPO}/contents/{{path}}")
def contents(call: Call) -> Answer:
    """A file with its content, or the files of a folder (folders within it are left out)."""
    path = unquote(call.params["path"]).strip("/")
    commit = call.repository.resolve(call.one("ref", "HEAD"))
    if commit is None:
        return error(404, f"No commit found for the ref {call.one('ref')}")
    if path in commit.files:
        content = commit.files[path]
        if len(content) > 2**20 or "raw" in call.accept:
            return Answer(200, content, media_type="application/vnd.github.raw+json")
        text = base64.encodebytes(content).decode()
        return Answer(200, {**_entry(call, commit, path), "encoding": "base64", "content": text})
    within = [one for one in commit.files if one.rpartition("/")[0] == path]
    return Answer(200, [_entry(call, commit, one) for one in within]) if within else not_found()


@route("GET", "/user")
def user(call: Call) -> Answer:
    if call.token is None:
        return error(401, "Requires authentication")
    if call.token.app is not None:
        return error(403, "Resource not accessible by integration")
    return Answer(200, call.shapes.public_user(call.token.actor))


@route("GET", "/rate_limit")
def rate_limit(call: Call) -> Answer:
    limit = {"limit": 1000, "used": 1, "remaining": 999, "reset": int(call.world.clock()) + 3600}
    return Answer(200, {"resources": {"core": limit, "search": limit, "graphql": limit}, "rate": limit})
