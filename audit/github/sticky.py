"""The one comment on a pull request that is kept up to date."""

import enum
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from audit.github.client import Client, Json
from audit.github.destination import Destination
from audit.github.errors import ApiError, Kind
from audit.github.identity import Identity
from audit.github.marker import Mark, mark_of, read_mark, without_mark

_MOST_COMMENTS = 3_000


class Outcome(enum.Enum):
    """What came of it."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NOT_WANTED = "not wanted"
    OUTDATED = "outdated"


class Commented(msgspec.Struct, frozen=True):
    """The outcome and the comment's page, "" where there is none."""

    outcome: Outcome
    url: str = ""


def room(destination: Destination, budget: int) -> int:
    """The UTF-16 units that are left for the body beside the mark."""
    return budget - len(str(mark_of(destination))) - 1


def write_comment(
    client: Client, identity: Identity, destination: Destination, body: str, *, create: bool
) -> Commented:
    """Creates the comment or brings it up to date; without `create` only the latter. Raises ApiError.

    Nothing is written over what a newer run wrote, nor where the pull request has moved on to another commit: its own run speaks of that.
    """
    mark = mark_of(destination)
    if moved_on(client, destination):
        return Commented(Outcome.OUTDATED)
    ours = _ours(client, identity, destination)
    whole = f"{mark}\n{body}"
    if not ours:
        if not create:
            return Commented(Outcome.NOT_WANTED)
        made = client.create(
            f"/repos/{destination.repository}/issues/{destination.pull_number}/comments",
            {"body": whole},
            lambda: _of_this_run(client, identity, destination, mark),
        )
        return Commented(Outcome.CREATED, _page(made))
    existing, *twins = ours
    if any(_order(comment) > mark.order for comment in ours):
        return Commented(Outcome.OUTDATED, _page(existing))
    _remove(client, destination, twins)
    if without_mark(str(existing.get("body"))) == without_mark(whole):
        return Commented(Outcome.UNCHANGED, _page(existing))
    changed = client.change(
        f"/repos/{destination.repository}/issues/comments/{existing['id']}", {"body": whole}
    )
    return Commented(Outcome.UPDATED, _page(changed) or _page(existing))


def moved_on(client: Client, destination: Destination) -> bool:
    """Whether the pull request's head is another commit by now. Where it may not be read, the marks alone decide."""
    try:
        pull = client.get(f"/repos/{destination.repository}/pulls/{destination.pull_number}")
    except ApiError as error:
        if error.kind in (Kind.FORBIDDEN, Kind.MISSING):
            return False
        raise
    head = pull.get("head") if isinstance(pull, dict) else None
    sha = head.get("sha") if isinstance(head, dict) else None
    return isinstance(sha, str) and sha != destination.head_sha


def _remove(client: Client, destination: Destination, twins: Sequence[Json]) -> None:
    """Two runs at the same moment both find no comment and write one each, and GitHub has no lock against it: a later run mends that. Where
    it may not, the older one stays, which is no news to anybody."""
    with suppress(ApiError):
        for twin in twins:
            client.remove(f"/repos/{destination.repository}/issues/comments/{twin['id']}")


def _of_this_run(client: Client, identity: Identity, destination: Destination, mark: Mark) -> Json | None:
    return next((one for one in _ours(client, identity, destination) if _mark(one) == mark), None)


def _ours(client: Client, identity: Identity, destination: Destination) -> list[Json]:
    """Of all comments those with our key that we wrote, the one that was changed last first: anybody can write a mark."""
    path = f"/repos/{destination.repository}/issues/{destination.pull_number}/comments"
    marked = [
        comment for comment in client.pages(path, most=_MOST_COMMENTS) if _has_key(comment, destination)
    ]
    written = [comment for comment in marked if identity.wrote(comment)]
    return sorted(written, key=lambda each: (str(each.get("updated_at")), each["id"]), reverse=True)


def _has_key(comment: Json, destination: Destination) -> bool:
    mark = _mark(comment)
    return mark is not None and mark.key == destination.comment_key and isinstance(comment.get("id"), int)


def _mark(comment: Json) -> Mark | None:
    return read_mark(str(comment.get("body")))


def _order(comment: Json) -> tuple[int, int]:
    mark = _mark(comment)
    return mark.order if mark else (0, 0)


def _page(comment: dict[str, Any]) -> str:
    return str(comment.get("html_url") or "")
