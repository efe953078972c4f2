"""What the fake GitHub knows: accounts, tokens, repositories with their commits, pull requests, comments, check runs,
reviews, workflow runs. Plain data, changed by the handlers; tests read it.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

ACTIONS_APP = 15368
"""The id of GitHub's own app "github-actions", in whose name a workflow's token acts."""
ACTIONS_BOT = 41898282
"""The id of the account `github-actions[bot]`."""


@dataclass(frozen=True)
class Account:
    login: str
    id: int
    kind: str = "User"


@dataclass(frozen=True)
class Token:
    """`permissions`: scope to "read" or "write", as a workflow's `permissions:` names them, with underscores. `app`: the
    app in whose name it acts, None for a person's token.
    """

    secret: str
    actor: Account
    permissions: dict[str, str]
    app: int | None = ACTIONS_APP
    expired: bool = False

    def may(self, needed: str) -> bool:
        """Whether it holds a permission such as "pull_requests:write"."""
        scope, _, right = needed.partition(":")
        held = self.permissions.get(scope)
        return held == "write" or held == right


BOT = Account("github-actions[bot]", ACTIONS_BOT, "Bot")
OTHER_BOT = Account("other-app[bot]", 77_000_001, "Bot")
OTHER_APP = 424_242
_READ = dict.fromkeys(("contents", "pull_requests", "issues", "checks", "actions"), "read")
_WRITE = {**_READ, "pull_requests": "write", "checks": "write"}


@dataclass(frozen=True)
class Tokens:
    """One of each kind that a workflow can meet. `write` has what our README asks for: contents and actions to read, pull
    requests and checks to write; `maintainer` may write contents too.
    """

    write: str = "ghs_write" + "w" * 31
    read_only: str = "ghs_fork" + "f" * 32
    no_checks: str = "ghs_nochecks" + "n" * 28
    only_issues: str = "ghs_onlyissues" + "i" * 26
    maintainer: str = "ghs_maintainer" + "m" * 26
    only_checks: str = "ghs_onlychecks" + "c" * 26
    expired: str = "ghs_expired" + "x" * 29
    person: str = "ghp_person" + "p" * 30
    other_app: str = "ghs_other" + "o" * 31


TOKENS = Tokens()


def known_tokens() -> dict[str, Token]:
    person = Account("octocat", 583231)
    all_kinds = [
        Token(TOKENS.write, BOT, _WRITE),
        Token(TOKENS.read_only, BOT, _READ),
        Token(TOKENS.no_checks, BOT, {**_WRITE, "checks": "read"}),
        Token(TOKENS.only_issues, BOT, {"contents": "read", "issues": "write"}),
        Token(TOKENS.maintainer, BOT, {**_WRITE, "contents": "write"}),
        Token(TOKENS.only_checks, BOT, {"contents": "read", "checks": "write"}),
        Token(TOKENS.expired, BOT, _WRITE, expired=True),
        Token(TOKENS.person, person, {**_WRITE, "contents": "write", "issues": "write"}, app=None),
        Token(TOKENS.other_app, OTHER_BOT, _WRITE, app=OTHER_APP),
    ]
    return {token.secret: token for token in all_kinds}


def blob_sha(content: bytes) -> str:
    """Git's id of a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Commit:
    """A commit. `hidden`: paths with export-ignore; `truncated`: GitHub cuts its tree's listing short; `tar`: an
    archive given instead of the one that `git archive` would make.
    """

    files: dict[str, bytes]
    parents: tuple[str, ...] = ()
    message: str = "A commit"
    links: dict[str, str] = field(default_factory=dict)
    submodules: dict[str, str] = field(default_factory=dict)
    executables: frozenset[str] = frozenset()
    hidden: tuple[str, ...] = ()
    truncated: bool = False
    tar: bytes | None = None
    sha: str = ""

    def __post_init__(self) -> None:
        if not self.sha:
            told = repr((sorted(self.files.items()), self.parents, self.message, sorted(self.links.items())))
            self.sha = hashlib.sha1(told.encode()).hexdigest()


@dataclass
class Pull:
    """A pull request. `head_repository` None: the fork is gone."""

    number: int
    head_sha: str
    base_sha: str
    title: str = "A change"
    body: str | None = "What it does."
    head_ref: str = "change"
    base_ref: str = "main"
    head_repository: str | None = None
    author: Account = Account("octocat", 583231)
    state: str = "open"
    merged_at: str | None = None
    merge_commit_sha: str | None = None
    draft: bool = False
    locked: bool = False


@dataclass
class Comment:
    id: int
    issue: int
    author: Account
    body: str
    created_at: str
    updated_at: str
    app: int | None = None
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        return f"IC_{self.id}"


@dataclass
class CheckRun:
    id: int
    name: str
    head_sha: str
    app: int
    status: str = "queued"
    conclusion: str | None = None
    external_id: str | None = None
    details_url: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Review:
    id: int
    pull: int
    author: Account
    body: str
    state: str
    commit_id: str
    submitted_at: str


@dataclass
class ReviewComment:
    """One comment in a diff. `thread`: the first comment of its thread; `resolved` is that thread's."""

    id: int
    review: int
    pull: int
    author: Account
    body: str
    path: str
    line: int | None
    start_line: int | None
    commit_id: str
    diff_hunk: str
    created_at: str
    updated_at: str
    in_reply_to: int | None = None
    resolved: bool = False
    side: str = "RIGHT"
    minimized: str | None = None

    @property
    def node_id(self) -> str:
        return f"PRRC_{self.id}"

    @property
    def thread_id(self) -> str:
        return f"PRRT_{self.in_reply_to or self.id}"


@dataclass
class Job:
    """`log` None: deleted or expired, and GitHub answers 410. Its steps: (name, conclusion)."""

    id: int
    run: int
    name: str
    attempt: int = 1
    status: str = "completed"
    conclusion: str | None = "failure"
    steps: list[tuple[str, str | None]] = field(default_factory=list)
    log: bytes | None = b""


@dataclass
class Artifact:
    id: int
    run: int
    name: str
    content: bytes
    expired: bool = False


@dataclass
class Run:
    """A workflow run. `logs`: the zip by attempt, None where it expired."""

    id: int
    head_sha: str
    event: str = "pull_request"
    name: str = "CI"
    path: str = ".github/workflows/ci.yml"
    head_branch: str = "change"
    head_repository: str | None = None
    attempt: int = 1
    number: int = 7
    status: str = "completed"
    conclusion: str | None = "failure"
    logs: dict[int, bytes | None] = field(default_factory=dict)


@dataclass
class Repository:
    """One repository and everything in it. `refs`: branch or tag to commit id."""

    id: int
    full_name: str
    private: bool = False
    default_branch: str = "main"
    archived: bool = False
    comments_disabled: bool = False
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    review_comments: dict[int, ReviewComment] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    @property
    def name(self) -> str:
        return self.full_name.split("/")[1]

    def add_commit(self, commit: Commit, *refs: str) -> Commit:
        self.commits[commit.sha] = commit
        for ref in refs:
            self.refs[ref] = commit.sha
        return commit

    def resolve(self, ref: str) -> Commit | None:
        """The commit that a branch, tag, full reference or (abbreviated) id names."""
        for prefix in ("refs/heads/", "refs/tags/", "heads/", "tags/"):
            ref = ref.removeprefix(prefix)
        if ref == "HEAD":
            ref = self.default_branch
        if ref in self.refs:
            return self.commits[self.refs[ref]]
        if ref.startswith(("refs/pull/", "pull/")):
            number = ref.removeprefix("refs/").split("/")[1]
            pull = self.pulls.get(int(number)) if number.isdecimal() else None
            return self.commits.get(pull.head_sha) if pull else None
        found = [commit for sha, commit in self.commits.items() if len(ref) >= 7 and sha.startswith(ref)]
        return found[0] if len(found) == 1 else None

    def ancestors(self, sha: str) -> Iterator[str]:
        """The commit and its ancestors, nearest first."""
        seen, waiting = {sha}, [sha]
        while waiting:
            one = waiting.pop(0)
            yield one
            for parent in self.commits[one].parents if one in self.commits else ():
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)

    def merge_base(self, base: str, head: str) -> str | None:
        reachable = set(self.ancestors(base))
        return next((sha for sha in self.ancestors(head) if sha in reachable), None)


@dataclass
class World:
    """Everything. `renamed`: old full name to today's; `clock`: seconds since 1970."""

    clock: Callable[[], float]
    repositories: dict[str, Repository] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=known_tokens)
    # Above 2**31, as GitHub's ids have long been.
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(3_000_000_001))

    def add_repository(self, full_name: str, **more: Any) -> Repository:
        repository = Repository(id=next(self.ids), full_name=full_name, **more)
        self.repositories[full_name] = repository
        return repository

    def repository(self, full_name: str) -> Repository | None:
        """By name, without regard to case as GitHub does it; not by a former name."""
        wanted = full_name.lower()
        return next((one for name, one in self.repositories.items() if name.lower() == wanted), None)

    def now(self) -> str:
        return moment(self.clock())


def moment(seconds: float) -> str:
    """A time as GitHub writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
