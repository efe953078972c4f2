"""The JSON of accounts, repositories, commits and files."""

from typing import Any
from urllib.parse import quote

from .diffs import FileChange
from .world import (
    Account,
    Commit,
    Repository,
    blob_sha,
)

Json = dict[str, Any]
BORN = "2020-01-01T00:00:00Z"
_USER_LINKS = (
    "followers following{/other_user} gists{/gist_id} starred{/owner}{/repo} subscriptions organizations:orgs repos "
    "events{/privacy} received_events"
).split()
_REPOSITORY_LINKS = (
    "archive:{archive_format}{/ref} assignees{/user} blobs:git/blobs{/sha} branches{/branch} "
    "collaborators{/collaborator} comments{/number} commits{/sha} compare/{base}...{head} contents/{+path} contributors "
    "deployments downloads events forks git_commits:git/commits{/sha} git_refs:git/refs{/sha} git_tags:git/tags{/sha} hooks "
    "issue_comment:issues/comments{/number} issue_events:issues/events{/number} issues{/number} keys{/key_id} labels{/name} "
    "languages merges milestones{/number} notifications{?since,all,participating} pulls{/number} releases{/id} stargazers "
    "statuses/{sha} subscribers subscription tags teams trees:git/trees{/sha}"
).split()


def _links(base: str, told: list[str]) -> Json:
    """`name{...}`, `name/{...}` or `name:path` as `name_url`."""
    links: Json = {}
    for one in told:
        cut = min(place for mark in "{/:" if (place := f"{one}{{".find(mark)) >= 0)
        name = one[:cut]
        path = one[cut + 1 :] if f"{one}{{"[cut] == ":" else one
        links[f"{name}_url"] = f"{base}/{path}"
    return links


class RepositoryShapes:
    """`api`: the REST address that links begin with; `html`: that of the pages for people; `enterprise`: an
    Enterprise server, which knows fewer fields.
    """

    def __init__(self, api: str, html: str, *, enterprise: bool = False) -> None:
        self.api = api
        self.html = html
        self.enterprise = enterprise

    def user(self, account: Account) -> Json:
        shown = quote(account.login)
        base = f"{self.api}/users/{shown}"
        return {
            "login": account.login,
            "id": account.id,
            "node_id": f"U_{account.id}",
            "avatar_url": f"{self.html}/avatars/{account.id}",
            "gravatar_id": "",
            "url": base,
            "html_url": f"{self.html}/{shown}",
            **_links(base, _USER_LINKS),
            "type": account.kind,
            "user_view_type": "public",
            "site_admin": False,
        }

    def public_user(self, account: Account) -> Json:
        """The answer of `GET /user`, for a person's token."""
        more = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
        counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
        return {**self.user(account), **more, **counts, "created_at": BORN, "updated_at": BORN}

    def owner_of(self, full_name: str) -> Account:
        login = full_name.split("/", maxsplit=1)[0]
        return Account(login, 1000 + sum(login.encode()), "Organization")

    def minimal_repository(
        self, full_name: str, id_: int, *, private: bool = False, fork: bool = False
    ) -> Json:
        base = f"{self.api}/repos/{full_name}"
        return {
            "id": id_,
            "node_id": f"R_{id_}",
            "name": full_name.split("/")[1],
            "full_name": full_name,
            "owner": self.user(self.owner_of(full_name)),
            "private": private,
            "html_url": f"{self.html}/{full_name}",
            "description": None,
            "fork": fork,
            "url": base,
            **_links(base, _REPOSITORY_LINKS),
        }

    def repository(
        self, full_name: str, id_: int, *, private: bool, default_branch: str, archived: bool = False
    ) -> Json:
        """As it stands in a pull request."""
        page = f"{self.html}/{full_name}"
        counts = (
            "forks_count",
            "stargazers_count",
            "watchers_count",
            "size",
            "open_issues_count",
            "forks",
            "open_issues",
            "watchers",
        )
        return {
            **self.minimal_repository(full_name, id_, private=private),
            "git_url": f"git://{page.split('//')[1]}.git",
            "ssh_url": f"git@{page.split('//')[1]}.git",
            "clone_url": f"{page}.git",
            "svn_url": page,
            "mirror_url": None,
            "homepage": None,
            "language": "Python",
            **dict.fromkeys(counts, 0),
            "default_branch": default_branch,
            **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads"), True),
            **dict.fromkeys(("has_pages", "has_discussions", "disabled"), False),
            "archived": archived,
            "visibility": "private" if private else "public",
            "license": None,
            "pushed_at": BORN,
            "created_at": BORN,
            "updated_at": BORN,
        }

    def full_repository(self, repository: Repository) -> Json:
        shape = self.known_repository(repository)
        return {**shape, "subscribers_count": 0, "network_count": 0}

    def known_repository(self, repository: Repository) -> Json:
        return self.repository(
            repository.full_name,
            repository.id,
            private=repository.private,
            default_branch=repository.default_branch,
            archived=repository.archived,
        )

    def commit(self, repository: Repository, commit: Commit) -> Json:
        base = f"{self.api}/repos/{repository.full_name}"
        page = f"{self.html}/{repository.full_name}/commit"
        person = {"name": "Octo Cat", "email": "octocat@example.org", "date": BORN}
        return {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "commit": {
                "author": person,
                "committer": person,
                "message": commit.message,
                "tree": {"sha": tree_sha(commit), "url": f"{base}/git/trees/{tree_sha(commit)}"},
                "url": f"{base}/git/commits/{commit.sha}",
                "comment_count": 0,
                "verification": {
                    "verified": False,
                    "reason": "unsigned",
                    "signature": None,
                    "payload": None,
                    "verified_at": None,
                },
            },
            "url": f"{base}/commits/{commit.sha}",
            "html_url": f"{page}/{commit.sha}",
            "comments_url": f"{base}/commits/{commit.sha}/comments",
            "author": None,
            "committer": None,
            "parents": [
                {"sha": sha, "url": f"{base}/commits/{sha}", "html_url": f"{page}/{sha}"}
                for sha in commit.parents
            ],
        }

    def tree(self, repository: Repository, commit: Commit) -> Json:
        base = f"{self.api}/repos/{repository.full_name}/git"
        entries: list[Json] = []
        for path, content in commit.files.items():
            mode = "100755" if path in commit.executables else "100644"
            sha = blob_sha(content)
            entries.append(
                {
                    "path": path,
                    "mode": mode,
                    "type": "blob",
                    "sha": sha,
                    "size": len(content),
                    "url": f"{base}/blobs/{sha}",
                }
            )
        for path, target in commit.links.items():
            sha = blob_sha(target.encode())
            entries.append(
                {
                    "path": path,
                    "mode": "120000",
                    "type": "blob",
                    "sha": sha,
                    "size": len(target),
                    "url": f"{base}/blobs/{sha}",
                }
            )
        for path, sha in commit.submodules.items():
            entries.append({"path": path, "mode": "160000", "type": "commit", "sha": sha})
        folders = {
            "/".join(parts[:depth])
            for path in commit.files
            for parts in [path.split("/")]
            for depth in range(1, len(parts))
        }
        for path in folders:
            sha = blob_sha(path.encode())
            entries.append(
                {"path": path, "mode": "040000", "type": "tree", "sha": sha, "url": f"{base}/trees/{sha}"}
            )
        entries.sort(key=lambda entry: entry["path"])
        if commit.truncated:
            entries = entries[: max(1, len(entries) // 2)]
        sha = tree_sha(commit)
        return {"sha": sha, "url": f"{base}/trees/{sha}", "tree": entries, "truncated": commit.truncated}

    def file(self, repository: Repository, sha: str, change: FileChange) -> Json:
        page = f"{self.html}/{repository.full_name}"
        shape = {
            "sha": change.sha,
            "filename": change.path,
            "status": change.status,
            "additions": change.additions,
            "deletions": change.deletions,
            "changes": change.additions + change.deletions,
            "blob_url": f"{page}/blob/{sha}/{change.path}",
            "raw_url": f"{page}/raw/{sha}/{change.path}",
            "contents_url": f"{self.api}/repos/{repository.full_name}/contents/{change.path}?ref={sha}",
        }
        if change.patch is not None:
            shape["patch"] = change.patch
        if change.previous is not None:
            shape["previous_filename"] = change.previous
        return shape


def tree_sha(commit: Commit) -> str:
    """An id of its tree, as distinct from the commit's as Git's is."""
    return blob_sha(commit.sha.encode())
