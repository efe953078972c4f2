"""The check run: opened before the audit, given its annotations in batches, and completed whatever happens.

Annotations that are sent are added to those that are there, so a batch whose answer was lost is looked for before it is sent again. The
gate is the job's exit code; this check only shows it.
"""

import enum
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from audit.github.client import Client, Json
from audit.github.destination import Destination, Effects, Wishes
from audit.github.errors import ApiError, Kind, Trouble
from audit.github.marker import external_id
from audit.safety.sanitize import basic_plane, cut, printable

PERMISSION = "checks: write"
WHAT = "the check run"
_BATCH = 50
_LONGEST_NAME = 100
_OPENING_BUDGET = 30.0
_CLOSING_SECONDS = 30.0
_MOST_RUNS = 1_000


class Conclusion(enum.Enum):
    """How a check run ends."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    CANCELLED = "cancelled"


class CheckText(msgspec.Struct, frozen=True):
    """What a check run shows: `title` plain, `summary` and `text` Markdown; both at most 65,535 characters."""

    title: str
    summary: str
    text: str = ""


class Check:
    """A check run, or the reason why there is none (`trouble`, None where it is not wanted).

    `url`: its page, "" for none. `refused`: how many annotations GitHub did not take. `is_complete`: whether it has its conclusion.
    """

    def __init__(
        self,
        destination: Destination,
        effects: Effects,
        number: int | None,
        url: str,
        trouble: Trouble | None,
    ) -> None:
        self._destination = destination
        self._effects = effects
        self._number = number
        self.url = url
        self.trouble = trouble
        self.refused = 0
        self.is_complete = False

    @property
    def is_open(self) -> bool:
        """Whether it waits for its conclusion."""
        return self._number is not None

    def complete(
        self, client: Client, conclusion: Conclusion, text: CheckText, annotations: Sequence[Json] = ()
    ) -> None:
        """Sends the annotations and the conclusion; `refused` counts annotations that GitHub did not take. Raises ApiError where the
        conclusion could not be sent."""
        if self._number is None:
            return
        try:
            self._annotate(client, text, annotations)
        except ApiError as error:
            self.trouble = Trouble("a part of the annotations", PERMISSION, error)
        finally:
            client.grant(_CLOSING_SECONDS)
            number, self._number = self._number, None
            client.change(
                self._path(number),
                {
                    "status": "completed",
                    "conclusion": conclusion.value,
                    "completed_at": _moment(self._effects),
                    "output": _output(text),
                },
            )
            self.is_complete = True

    def close(
        self, conclusion: Conclusion = Conclusion.CANCELLED, why: str = "The audit did not come to an end."
    ) -> None:
        """For a `finally`: completes what is still in progress, so that no check waits for ever."""
        if not self.is_open:
            return
        client = Client(self._destination, self._effects, budget=_CLOSING_SECONDS)
        try:
            self.complete(client, conclusion, CheckText(why, why))
        except ApiError as error:
            self.trouble = Trouble("the check run's conclusion", PERMISSION, error)
        finally:
            client.close()

    def _annotate(self, client: Client, text: CheckText, annotations: Sequence[Json]) -> None:
        assert self._number is not None  # noqa: S101  `complete` looked
        path, sent = self._path(self._number), 0
        for start in range(0, len(annotations), _BATCH):
            batch = list(annotations[start : start + _BATCH])
            output = {**_output(text), "annotations": batch}
            try:
                client.append(path, {"output": output}, _has(client, path, sent + len(batch)))
                sent += len(batch)
            except ApiError as error:
                if error.kind is not Kind.INVALID:
                    raise
                self.refused += len(batch)  # one that GitHub does not take costs its batch; the others go on

    def _path(self, number: int) -> str:
        return f"/repos/{self._destination.repository}/check-runs/{number}"


def open_check(destination: Destination, wishes: Wishes, effects: Effects) -> Check:
    """Opens the check run before the audit begins; never raises. Close it in a `finally`."""

    def none(trouble: Trouble | None = None) -> Check:
        return Check(destination, effects, None, "", trouble)

    if not wishes.check_run:
        return none()
    if not wishes.may_check:
        return none(Trouble(WHAT, PERMISSION, why=wishes.why_not))
    client = Client(destination, effects, budget=_OPENING_BUDGET)
    try:
        run = client.create(
            f"/repos/{destination.repository}/check-runs",
            {
                "name": check_name(destination),
                "head_sha": destination.head_sha,
                "status": "in_progress",
                "started_at": _moment(effects),
                "external_id": external_id(destination),
                "details_url": destination.run_url,
                "output": _output(CheckText("Auditing", "The audit is running.")),
            },
            lambda: _of_this_run(client, destination),
        )
        number = run.get("id")
        if not isinstance(number, int):
            return none(Trouble(WHAT, why="GitHub's answer names none."))
        return Check(destination, effects, number, str(run.get("html_url") or ""), None)
    except ApiError as error:
        return none(Trouble(WHAT, PERMISSION, error))
    finally:
        client.close()


def check_name(destination: Destination) -> str:
    """The name under which the check is listed; with the key, so that two workflows do not take each other's."""
    return cut(basic_plane(printable(f"ML audit ({destination.comment_key})")), _LONGEST_NAME)


def _of_this_run(client: Client, destination: Destination) -> Json | None:
    path = f"/repos/{destination.repository}/commits/{destination.head_sha}/check-runs"
    runs = client.pages(
        path, most=_MOST_RUNS, key="check_runs", check_name=check_name(destination), filter="all"
    )
    return next((run for run in runs if run.get("external_id") == external_id(destination)), None)


def _has(client: Client, path: str, number: int) -> Callable[[], Json | None]:
    """Looks whether the check run has that many annotations."""

    def look() -> Json | None:
        run = client.get(path)
        output: Any = run.get("output") if isinstance(run, dict) else None
        count = output.get("annotations_count") if isinstance(output, dict) else None
        return run if isinstance(count, int) and count >= number else None

    return look


def _output(text: CheckText) -> dict[str, Any]:
    output = {"title": cut(basic_plane(printable(text.title)), 255), "summary": basic_plane(text.summary)}
    return {**output, "text": basic_plane(text.text)} if text.text else output


def _moment(effects: Effects) -> str:
    return datetime.fromtimestamp(effects.wall(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
