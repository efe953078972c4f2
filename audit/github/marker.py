"""The hidden marks by which our comments are found again, and what they say of the run that wrote them."""

import hashlib
import re
from urllib.parse import quote, unquote

import msgspec

from audit.github.destination import Destination

_MARK = re.compile(
    r"<!-- ml-audit:v1 key=(?P<key>[^\s>]{1,1000}) sha=(?P<sha>[0-9a-f]{40,64}) run=(?P<run>\d{1,18})\.(?P<attempt>\d{1,9}) -->"
)
_RUN = re.compile(r"/actions/runs/\d+")
_FIX = re.compile(r"<!-- ml-audit:fix key=(?P<key>[0-9a-f]{12}) id=(?P<id>[0-9a-f]{16}) -->")


class Mark(msgspec.Struct, frozen=True):
    """Which run wrote a comment, about which commit. `order` tells which of two runs is newer."""

    key: str
    sha: str
    run: int
    attempt: int

    @property
    def order(self) -> tuple[int, int]:
        """Newer runs are greater, and so are later attempts of one run."""
        return self.run, self.attempt

    def __str__(self) -> str:
        return f"<!-- ml-audit:v1 key={_word(self.key)} sha={self.sha} run={self.run}.{self.attempt} -->"


def mark_of(destination: Destination) -> Mark:
    """The mark of this run."""
    return Mark(destination.comment_key, destination.head_sha, destination.run_id, destination.run_attempt)


def read_mark(body: str) -> Mark | None:
    """The mark that a comment begins with; one further down was quoted, and is none."""
    found = _MARK.match(body)
    if found is None:
        return None
    return Mark(unquote(found["key"]), found["sha"], int(found["run"]), int(found["attempt"]))


def without_mark(body: str) -> str:
    """What a comment says, for comparison: whichever run says it."""
    return _RUN.sub("/actions/runs/", _MARK.sub("", body, count=1)).replace("\r\n", "\n").strip()


def _word(key: str) -> str:
    """The key without anything that ends a comment or a word."""
    return quote(key, safe="/._~:").replace("-", "%2D")[:1000]


def fix_mark(key: str, fingerprint: str) -> str:
    """The mark of a suggestion: of which comment key, about which finding."""
    return f"<!-- ml-audit:fix key={_digest(key)[:12]} id={fingerprint} -->"


def read_fix_mark(body: str, key: str) -> str | None:
    """The finding that a suggestion of ours is about."""
    found = _FIX.match(body)
    return found["id"] if found and found["key"] == _digest(key)[:12] else None


def fix_id(*parts: str) -> str:
    """An id for a suggestion, from what it is about and what it says."""
    return _digest("\0".join(parts))[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def external_id(destination: Destination) -> str:
    """What a check run of this run is found again by."""
    return f"ml-audit:{_digest(destination.comment_key)[:16]}:{destination.run_id}.{destination.run_attempt}"
