"""Where results are written to, what of it is wanted, and what came of it: the contract with the action."""

import enum
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec


class CommentMode(enum.Enum):
    """When the sticky comment is written. `changes`: something is new or fixed against the baseline, or the gate is closed (a comment
    that is there already is kept up to date); `findings`: there is any failing finding."""

    ALWAYS = "always"
    CHANGES = "changes"
    FINDINGS = "findings"
    OFF = "off"


class Token(msgspec.Struct, frozen=True):
    """A credential that no representation shows."""

    value: str

    def __repr__(self) -> str:
        return "Token(***)"

    def __bool__(self) -> bool:
        return bool(self.value)


class Destination(msgspec.Struct, frozen=True):
    """One run of the action on one commit of one repository.

    `api_url`, `graphql_url`, `server_url`: GITHUB_API_URL and so on, no slash at the end. `repository`: owner/name, the one that the
    workflow runs in. `head_sha`: 40 hex digits, the commit that comments and checks speak about (of a pull request its head, not the
    merge commit). `comment_key`: tells this comment and check from those of other workflows. `ca_bundle`: a PEM file, None for the
    system's.
    """

    api_url: str
    graphql_url: str
    server_url: str
    repository: str
    head_sha: str
    pull_number: int | None
    run_id: int
    run_attempt: int
    workflow: str
    job: str
    comment_key: str
    token: Token
    ca_bundle: Path | None = None
    path_prefix: str = ""
    """Where the audited folder lies in the repository, "" for its root: the report's paths are relative to it."""
    base_ref: str | None = None
    """The branch or commit that template overrides are read from; never one that a fork can write to. None: our own templates."""

    @property
    def run_url(self) -> str:
        """The page of the workflow run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


class Wishes(msgspec.Struct, frozen=True):
    """What is to be written. `annotations`: how many at most in the check run; `summary`: the file GITHUB_STEP_SUMMARY names.

    `may_comment`, `may_check`: False where it is known before asking that the token may not (a fork's read-only token), which saves
    a request that is bound to fail and is told in `why_not`. `remark`: a sentence that stands right below the score wherever it is shown.
    """

    comment: CommentMode = CommentMode.CHANGES
    check_run: bool = True
    annotations: int = 200
    suggestions: bool = False
    summary: Path | None = None
    may_comment: bool = True
    may_check: bool = True
    why_not: str = ""
    remark: str = ""


class Published(msgspec.Struct, frozen=True):
    """What came of it. Addresses are "" where nothing was written; `warnings`: one sentence for each channel that failed."""

    comment_url: str = ""
    check_url: str = ""
    review_url: str = ""
    warnings: tuple[str, ...] = ()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Effects(msgspec.Struct, frozen=True):
    """The world outside, for publishing. `now`: seconds of a clock that never goes back; `sleep`: waits that many; `say`: one line of
    the step's log, where the runner looks for workflow commands; `nonce`: a fresh random word; `wall`: seconds since 1970; `timeout`:
    seconds that one socket operation may take."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = _say
    nonce: Callable[[], str] = lambda: secrets.token_hex(16)
    wall: Callable[[], float] = time.time
    timeout: float = 15.0
