"""What can go wrong at GitHub, as switches: an answer given instead of the true one, or a connection that misbehaves.

Messages and headers are those of GitHub: "Rate limits for the REST API", "Troubleshooting the REST API".
"""

import json
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

DOCS = "https://docs.github.com/rest"


class Moment(Enum):
    """When a fault strikes: instead of the request's work, or after it, when only the answer is lost."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Fault:
    """One way to fail. `name`: for people. `status` 0: the connection is cut without an answer; `seconds`: how long nothing comes first, or
    until the client hangs up; `reset_in`: the rate limit's header, seconds from now; `location`: where a redirect leads
    ("{files}" is the second host).
    """

    status: int
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    when: Moment = Moment.BEFORE
    seconds: float = 0.0
    reset_in: float | None = None
    location: str | None = None
    errors: tuple[Any, ...] = ()
    body: bytes | None = None
    cut_at: int | None = None
    name: str = ""

    def __str__(self) -> str:
        return self.name or str(self.status)

    @property
    def asks_for(self) -> float:
        """The seconds that a client should wait before its next try: at least a minute where a limit does not say."""
        if self.reset_in is not None:
            return self.reset_in
        limit = "rate limit" in self.message
        return float(self.headers.get("Retry-After", 60 if limit else 0))

    def content(self) -> tuple[bytes, str]:
        """The answer's body and its media type."""
        if self.body is not None:
            return self.body, "text/html"
        told: dict[str, Any] = {
            "message": self.message,
            "documentation_url": DOCS,
            "status": str(self.status),
        }
        if self.errors:
            told = {"message": self.message, "documentation_url": DOCS, "errors": list(self.errors)}
        return json.dumps(told).encode(), "application/json; charset=utf-8"


_HTML = b"<!DOCTYPE html><html><head><title>Unicorn!</title></head><body>This page is taking too long</body></html>"

UNAUTHORIZED = Fault(401, "Bad credentials")
FORBIDDEN = Fault(
    403,
    "Resource not accessible by integration",
    {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write"},
    name="403 permission",
)
NOT_FOUND = Fault(404, "Not Found")
CONFLICT = Fault(409, "Conflict")
GONE = Fault(410, "This feature is disabled for this repository")
UNPROCESSABLE = Fault(
    422,
    "Validation Failed",
    errors=({"resource": "IssueComment", "code": "invalid", "field": "data"},),
)
SERVER_ERROR = Fault(500, "Server Error")
BAD_GATEWAY = Fault(502, body=_HTML)
UNAVAILABLE = Fault(503, "Service unavailable", {"Retry-After": "2"})
BAD_GATEWAY_AFTER_COMMIT = Fault(502, body=_HTML, when=Moment.AFTER, name="502 after commit")
CUT = Fault(0, name="cut")
CUT_AFTER_COMMIT = Fault(0, when=Moment.AFTER, name="cut after commit")
CUT_SHORT = Fault(0, when=Moment.AFTER, cut_at=20, name="cut short")
NOT_JSON = Fault(200, body=b"<html>Please sign in to the hotel's network</html>", name="not JSON")


def primary_limit(reset_in: float = 1800.0) -> Fault:
    """The hourly limit is used up; it opens again `reset_in` seconds from now."""
    return Fault(
        403,
        "API rate limit exceeded for installation ID 1.",
        {"X-RateLimit-Remaining": "0"},
        reset_in=reset_in,
        name=f"403 primary rate limit, reset in {reset_in:g} s",
    )


def secondary_limit(retry_after: int | None = 60, status: int = 403) -> Fault:
    """Too much in too short a time; GitHub often, but not always, says how long to wait."""
    return Fault(
        status,
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        {} if retry_after is None else {"Retry-After": str(retry_after)},
        name=f"{status} secondary rate limit, Retry-After {retry_after}",
    )


def too_many(retry_after: int | None = None) -> Fault:
    """429, with or without Retry-After."""
    return secondary_limit(retry_after, 429)


def slow(seconds: float = 30.0, when: Moment = Moment.BEFORE) -> Fault:
    """Says nothing for so long, or until the client hangs up. The work is not done, or (AFTER) was done already."""
    return Fault(0, when=when, seconds=seconds, name=f"slow ({when.value})")


def redirect(location: str = "{files}/elsewhere", status: int = 302) -> Fault:
    """Sends the client to another host, which notes whether the token came along."""
    return Fault(status, "Moved", location=location, name=f"{status} to another host")


@dataclass
class Switch:
    """A fault set for the next `times` requests (None: for all) whose method and path match."""

    method: str
    path: re.Pattern[str]
    fault: Fault
    times: int | None
    skip: int = 0

    def strikes(self, method: str, path: str) -> bool:
        """Whether it applies to this request; counts down where it does."""
        if self.method not in ("*", method) or not self.path.search(path) or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True
