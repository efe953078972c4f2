"""What happened: the few fields of GitHub's event payloads that the plan rests on, read strictly; all others are passed over.

Payloads: GitHub's documentation, "Webhook events and payloads". The runner writes one to the file that GITHUB_EVENT_PATH names. Names of branches in it are a
stranger's text; commit ids are checked to be such before anything is asked about them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

MAX_PAYLOAD = 32 * 2**20
"""GitHub caps payloads at 25 MB."""

NO_COMMIT = "0" * 40

Sha = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Number = Annotated[int, msgspec.Meta(ge=1)]
FullName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$")]


class EventError(Exception):
    """The payload is not what GitHub's documentation promises. `args[0]` says how."""


class User(msgspec.Struct, frozen=True):
    """An account."""

    login: str


class Repository(msgspec.Struct, frozen=True):
    """A repository; of an account's own one the payload says its default branch too."""

    full_name: FullName
    default_branch: str | None = None


class Side(msgspec.Struct, frozen=True):
    """One side of a pull request; `repo` is None where the fork was deleted."""

    sha: Sha
    ref: str = ""
    repo: Repository | None = None


class PullRequest(msgspec.Struct, frozen=True):
    """A pull request, as events about one carry it."""

    number: Number
    head: Side
    base: Side
    state: str = "open"


class RunSide(msgspec.Struct, frozen=True):
    """One side of a pull request as a workflow run lists it, where repositories have no full name."""

    sha: Sha
    ref: str = ""


class RunPull(msgspec.Struct, frozen=True):
    """A pull request as a workflow run lists it: only those within the repository, so none of a fork."""

    number: Number
    base: RunSide


class RunRepository(msgspec.Struct, frozen=True):
    """A repository as a workflow run names it."""

    full_name: FullName


class WorkflowRun(msgspec.Struct, frozen=True):
    """The run that has ended. `event`: what had started it; `head_repository` is None where the fork was deleted."""

    id: Number
    head_sha: Sha
    event: str
    name: str | None = None
    head_branch: str | None = None
    run_attempt: Number = 1
    conclusion: str | None = None
    head_repository: RunRepository | None = None
    pull_requests: tuple[RunPull, ...] = ()


class MergeGroup(msgspec.Struct, frozen=True):
    """What a merge queue is about to merge."""

    head_sha: Sha
    base_sha: Sha
    base_ref: str = ""


class Issue(msgspec.Struct, frozen=True):
    """An issue, or a pull request's conversation: then `pull_request` is there."""

    number: Number
    state: str = "open"
    pull_request: dict[str, object] | None = None


class Payload(msgspec.Struct, frozen=True):
    """What the events have, together; each has only some of it."""

    action: str | None = None
    repository: Repository | None = None
    pull_request: PullRequest | None = None
    workflow_run: WorkflowRun | None = None
    merge_group: MergeGroup | None = None
    issue: Issue | None = None
    ref: str | None = None
    before: Sha | None = None
    after: Sha | None = None
    created: bool = False
    deleted: bool = False


class Event(msgspec.Struct, frozen=True):
    """An event by its name (GITHUB_EVENT_NAME) with its payload."""

    name: str
    payload: Payload = Payload()


def read_event(environ: Mapping[str, str]) -> Event:
    """The event that started the run. Raises EventError where its file cannot be read or holds something else."""
    name = environ.get("GITHUB_EVENT_NAME") or ""
    file = environ.get("GITHUB_EVENT_PATH")
    if not file:
        return Event(name)
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_PAYLOAD + 1)
    except OSError as error:
        raise EventError(f"The event's payload cannot be read: {error.strerror}.") from None
    if len(data) > MAX_PAYLOAD:
        raise EventError(f"The event's payload is larger than {MAX_PAYLOAD // 2**20} MiB.")
    return parse_event(name, data)


def parse_event(name: str, data: bytes) -> Event:
    """An event from its payload. Raises EventError."""
    try:
        return Event(name, msgspec.json.decode(data or b"{}", type=Payload))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise EventError(
            f"The payload of {name or 'the event'} is not as GitHub documents it: {error}."
        ) from None
