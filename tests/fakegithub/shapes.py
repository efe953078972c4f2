"""The JSON of GitHub's answers, complete enough for its own description: every field that it requires is there."""

from hashlib import sha256

from .diffs import FileChange
from .repository_shapes import BORN, Json, RepositoryShapes
from .world import (
    ACTIONS_APP,
    Account,
    Artifact,
    CheckRun,
    Comment,
    Job,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Run,
)


class PullShapes(RepositoryShapes):
    """Pull requests, and what is written about them."""

    def _side(self, repository: Repository, full_name: str | None, ref: str, sha: str) -> Json:
        """A pull request's head or base. A fork that is gone is null, as its user may be too."""
        shape = None
        if full_name == repository.full_name:
            shape = self.known_repository(repository)
        elif full_name is not None:
            shape = {
                **self.repository(full_name, repository.id + 1, private=False, default_branch="main"),
                "fork": True,
            }
        owner = self.owner_of(full_name or repository.full_name)
        return {
            "label": f"{owner.login}:{ref}",
            "ref": ref,
            "sha": sha,
            "user": self.user(owner),
            "repo": shape,
        }

    def simple_pull(self, repository: Repository, pull: Pull) -> Json:
        base = f"{self.api}/repos/{repository.full_name}"
        page = f"{self.html}/{repository.full_name}/pull/{pull.number}"
        own, issue = f"{base}/pulls/{pull.number}", f"{base}/issues/{pull.number}"
        links = {
            "self": own,
            "html": page,
            "issue": issue,
            "comments": f"{issue}/comments",
            "review_comments": f"{own}/comments",
            "review_comment": f"{base}/pulls/comments{{/number}}",
            "commits": f"{own}/commits",
            "statuses": f"{base}/statuses/{pull.head_sha}",
        }
        return {
            "url": own,
            "id": 2_000_000_000 + pull.number,
            "node_id": f"PR_{pull.number}",
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "issue_url": issue,
            "commits_url": links["commits"],
            "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"],
            "comments_url": links["comments"],
            "statuses_url": links["statuses"],
            "number": pull.number,
            "state": pull.state,
            "locked": pull.locked,
            "title": pull.title,
            "user": self.user(pull.author),
            "body": pull.body,
            "labels": [],
            "milestone": None,
            "created_at": BORN,
            "updated_at": BORN,
            "closed_at": pull.merged_at if pull.state == "closed" else None,
            "merged_at": pull.merged_at,
            "merge_commit_sha": pull.merge_commit_sha,
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": self._side(repository, pull.head_repository, pull.head_ref, pull.head_sha),
            "base": self._side(repository, repository.full_name, pull.base_ref, pull.base_sha),
            "_links": {name: {"href": address} for name, address in links.items()},
            "author_association": "CONTRIBUTOR",
            "auto_merge": None,
            "draft": pull.draft,
        }

    def pull(self, repository: Repository, pull: Pull, files: list[FileChange]) -> Json:
        comments = sum(one.issue == pull.number for one in repository.comments.values())
        return {
            **self.simple_pull(repository, pull),
            "merged": pull.merged_at is not None,
            "mergeable": None if pull.state == "closed" else True,
            "rebaseable": None if pull.state == "closed" else True,
            "mergeable_state": "clean",
            "merged_by": None,
            "comments": comments,
            "review_comments": sum(one.pull == pull.number for one in repository.review_comments.values()),
            "maintainer_can_modify": False,
            "commits": 1,
            "additions": sum(one.additions for one in files),
            "deletions": sum(one.deletions for one in files),
            "changed_files": len(files),
        }

    def app(self, id_: int) -> Json:
        slug = "github-actions" if id_ == ACTIONS_APP else "other-app"
        return {
            "id": id_,
            "client_id": f"Iv1.{id_}",
            "slug": slug,
            "node_id": f"A_{id_}",
            "owner": self.user(Account("github", 9919, "Organization")),
            "name": "GitHub Actions" if id_ == ACTIONS_APP else "Other app",
            "description": None,
            "external_url": f"{self.html}/features/actions",
            "html_url": f"{self.html}/apps/{slug}",
            "created_at": BORN,
            "updated_at": BORN,
            "permissions": {"checks": "write", "contents": "read", "metadata": "read"},
            "events": ["check_run"],
        }

    def _reactions(self, url: str) -> Json:
        kinds = ("total_count", "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
        return {"url": f"{url}/reactions", **dict.fromkeys(kinds, 0)}

    def comment(self, repository: Repository, comment: Comment) -> Json:
        base = f"{self.api}/repos/{repository.full_name}/issues"
        url = f"{base}/comments/{comment.id}"
        return {
            "url": url,
            "html_url": f"{self.html}/{repository.full_name}/pull/{comment.issue}#issuecomment-{comment.id}",
            "issue_url": f"{base}/{comment.issue}",
            "id": comment.id,
            "node_id": comment.node_id,
            "user": self.user(comment.author),
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            "author_association": "NONE" if comment.author.kind == "Bot" else "CONTRIBUTOR",
            "body": comment.body,
            "reactions": self._reactions(url),
            "performed_via_github_app": None if comment.app is None else self.app(comment.app),
        }

    def check_run(self, repository: Repository, run: CheckRun) -> Json:
        url = f"{self.api}/repos/{repository.full_name}/check-runs/{run.id}"
        page = f"{self.html}/{repository.full_name}/runs/{run.id}"
        return {
            "id": run.id,
            "name": run.name,
            "node_id": f"CR_{run.id}",
            "head_sha": run.head_sha,
            "external_id": run.external_id or "",
            "url": url,
            "html_url": page,
            "details_url": run.details_url or page,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started_at,
            "completed_at": run.completed_at,
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": len(run.annotations),
                "annotations_url": f"{url}/annotations",
            },
            "check_suite": {"id": 5_000_000_000 + run.id % 1000},
            "app": self.app(run.app),
            "pull_requests": [
                self.minimal_pull(repository, pull)
                for pull in repository.pulls.values()
                if pull.head_sha == run.head_sha and pull.head_repository == repository.full_name
            ],
        }

    def minimal_pull(self, repository: Repository, pull: Pull) -> Json:
        url = f"{self.api}/repos/{repository.full_name}"
        place = {"id": repository.id, "url": url, "name": repository.name}
        return {
            "id": 2_000_000_000 + pull.number,
            "number": pull.number,
            "url": f"{url}/pulls/{pull.number}",
            "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": place},
            "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": place},
        }

    def annotation(self, repository: Repository, run: CheckRun, one: Json) -> Json:
        more = {key: one.get(key) for key in ("start_column", "end_column", "title", "raw_details")}
        kept = {key: one[key] for key in ("path", "start_line", "end_line", "annotation_level", "message")}
        page = f"{self.html}/{repository.full_name}/blob/{run.head_sha}/{one['path']}"
        return {**kept, **more, "blob_href": page}

    def review(self, repository: Repository, review: Review) -> Json:
        page = f"{self.html}/{repository.full_name}/pull/{review.pull}#pullrequestreview-{review.id}"
        pull = f"{self.api}/repos/{repository.full_name}/pulls/{review.pull}"
        return {
            "id": review.id,
            "node_id": f"PRR_{review.id}",
            "user": self.user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": page,
            "pull_request_url": pull,
            "author_association": "NONE",
            "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
            "submitted_at": review.submitted_at,
            "commit_id": review.commit_id,
        }

    def review_comment(self, repository: Repository, comment: ReviewComment) -> Json:
        base = f"{self.api}/repos/{repository.full_name}/pulls"
        url, pull = f"{base}/comments/{comment.id}", f"{base}/{comment.pull}"
        page = f"{self.html}/{repository.full_name}/pull/{comment.pull}#discussion_r{comment.id}"
        shape = {
            "url": url,
            "pull_request_review_id": comment.review,
            "id": comment.id,
            "node_id": comment.node_id,
            "diff_hunk": comment.diff_hunk,
            "path": comment.path,
            "commit_id": comment.commit_id,
            "original_commit_id": comment.commit_id,
            "user": self.user(comment.author),
            "body": comment.body,
            "created_at": comment.created_at,
            "updated_at": comment.updated_at,
            "html_url": page,
            "pull_request_url": pull,
            "author_association": "NONE",
            "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull}},
            "start_line": comment.start_line,
            "original_start_line": comment.start_line,
            "start_side": None if comment.start_line is None else comment.side,
            "side": comment.side,
            "subject_type": "line",
            "reactions": self._reactions(url),
        }
        if comment.line is not None:
            shape |= {
                "line": comment.line,
                "original_line": comment.line,
                "position": 1,
                "original_position": 1,
            }
        if comment.in_reply_to is not None:
            shape["in_reply_to_id"] = comment.in_reply_to
        return shape


class Shapes(PullShapes):
    """All of them, workflow runs too."""

    def run(self, repository: Repository, run: Run, attempt: int) -> Json:
        base = f"{self.api}/repos/{repository.full_name}/actions"
        url = f"{base}/runs/{run.id}"
        head = run.head_repository or repository.full_name
        fork = head != repository.full_name
        own = f"{url}/attempts/{attempt}" if attempt != run.attempt else url
        return {
            "id": run.id,
            "name": run.name,
            "node_id": f"WFR_{run.id}",
            "check_suite_id": 5_000_000_000,
            "check_suite_node_id": "CS_1",
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
            "path": run.path,
            "run_number": run.number,
            "run_attempt": attempt,
            "event": run.event,
            "display_title": "A change",
            "status": run.status,
            "conclusion": run.conclusion,
            "workflow_id": 161335,
            "url": url,
            "html_url": f"{self.html}/{repository.full_name}/actions/runs/{run.id}",
            # Empty for forks: GitHub does not tell which pull request it was.
            "pull_requests": []
            if fork
            else [
                self.minimal_pull(repository, one)
                for one in repository.pulls.values()
                if one.head_sha == run.head_sha
            ],
            "created_at": BORN,
            "updated_at": BORN,
            "run_started_at": BORN,
            "actor": self.user(self.owner_of(head)),
            "triggering_actor": self.user(self.owner_of(head)),
            "jobs_url": f"{own}/jobs",
            "logs_url": f"{own}/logs",
            "check_suite_url": f"{self.api}/repos/{repository.full_name}/check-suites/5000000000",
            "artifacts_url": f"{url}/artifacts",
            "cancel_url": f"{url}/cancel",
            "rerun_url": f"{url}/rerun",
            "previous_attempt_url": f"{url}/attempts/{attempt - 1}" if attempt > 1 else None,
            "workflow_url": f"{base}/workflows/161335",
            "head_commit": {
                "id": run.head_sha,
                "tree_id": "0" * 40,
                "message": "A change",
                "timestamp": BORN,
                "author": {"name": "Octo Cat", "email": "octocat@example.org"},
                "committer": {"name": "Octo Cat", "email": "octocat@example.org"},
            },
            "repository": self.minimal_repository(
                repository.full_name, repository.id, private=repository.private
            ),
            "head_repository": self.minimal_repository(
                head, repository.id + fork, private=repository.private, fork=fork
            ),
        }

    def job(self, repository: Repository, run: Run, job: Job) -> Json:
        base = f"{self.api}/repos/{repository.full_name}"
        done = None if job.status != "completed" else BORN
        return {
            "id": job.id,
            "run_id": job.run,
            "run_attempt": job.attempt,
            "run_url": f"{base}/actions/runs/{job.run}",
            "node_id": f"J_{job.id}",
            "head_sha": run.head_sha,
            "head_branch": run.head_branch,
            "url": f"{base}/actions/jobs/{job.id}",
            "html_url": f"{self.html}/{repository.full_name}/actions/runs/{job.run}/job/{job.id}",
            "check_run_url": f"{base}/check-runs/{job.id}",
            "status": job.status,
            "conclusion": job.conclusion,
            "created_at": BORN,
            "started_at": BORN,
            "completed_at": done,
            "name": job.name,
            "steps": [
                {
                    "name": name,
                    "status": "completed" if done else "in_progress",
                    "conclusion": conclusion,
                    "number": number,
                    "started_at": BORN,
                    "completed_at": done,
                }
                for number, (name, conclusion) in enumerate(job.steps, 1)
            ],
            "labels": ["ubuntu-latest"],
            "runner_id": 1,
            "runner_name": "GitHub Actions 1",
            "runner_group_id": 0,
            "runner_group_name": "GitHub Actions",
            "workflow_name": run.name,
        }

    def artifact(self, repository: Repository, artifact: Artifact) -> Json:
        url = f"{self.api}/repos/{repository.full_name}/actions/artifacts/{artifact.id}"
        run = repository.runs.get(artifact.run)
        return {
            "id": artifact.id,
            "node_id": f"MDg6{artifact.id}",
            "name": artifact.name,
            "size_in_bytes": len(artifact.content),
            "url": url,
            "archive_download_url": f"{url}/zip",
            "expired": artifact.expired,
            **({} if self.enterprise else {"digest": f"sha256:{sha256(artifact.content).hexdigest()}"}),
            "created_at": BORN,
            "updated_at": BORN,
            "expires_at": BORN.replace("2020", "2099"),
            "workflow_run": None
            if run is None
            else {
                "id": run.id,
                "repository_id": repository.id,
                "head_repository_id": repository.id,
                "head_branch": run.head_branch,
                "head_sha": run.head_sha,
            },
        }
