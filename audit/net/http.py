"""Plain HTTP to servers other than GitHub: patient within bounds, no token beyond its own host, nothing unbounded.

`requests` is imported on first use. Meaning of `RateLimit`: IETF draft "RateLimit header fields for HTTP" (`"api";r=0;t=55`: none left, 55 seconds).
"""

import contextlib
import json
import re
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urljoin, urlsplit

import msgspec

from audit.net import connection
from audit.net.errors import NetworkError

_ATTEMPTS = 4
_PATIENCE = 60.0
_TIMEOUT = (10, 30)
"""Seconds to connect, and between two pieces of an answer."""
_DEADLINE = 120.0
"""Seconds for one whole answer: one that comes byte by byte keeps no run waiting."""
_MAX_HOPS = 5
_PIECE = 64 * 1024
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_RESET = re.compile(r"\bt=(\d{1,9})\b")


class Answer(msgspec.Struct, frozen=True):
    """What a server said. `headers`: by name in lower case; `address`: where it was said, after redirects."""

    status: int
    headers: dict[str, str]
    body: bytes
    address: str

    def json(self) -> Any:
        """The value that the body writes. Raises ValueError where it writes none, or one nested too deeply."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class Http:
    """One server. `base`: the address that paths are appended to; `headers`: sent to its host and nowhere else.

    To be used as a context manager; `get` may be called from several threads.
    """

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str] | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.base = base.rstrip("/")
        self._headers = dict(headers or {})
        self._sleep = sleep
        self._now = now
        self._session: Any = None

    def __enter__(self) -> Self:
        import requests

        self._session = requests.Session()
        # A callable as authentication keeps requests from looking into ~/.netrc.
        self._session.auth = lambda request: request
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    @property
    def host(self) -> str:
        """The server's name, for messages."""
        try:
            return urlsplit(self.base).hostname or self.base
        except ValueError:
            return self.base

    def get(
        self,
        path: str,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer about `path` (or a whole address), of at most `limit` bytes, whatever its status; what passes by itself is waited for.

        Raises NetworkError where there is no answer: no connection, none in time, a larger one, a broken one, redirects in a circle.
        """
        waited = 0.0
        for attempt in range(1, _ATTEMPTS + 1):
            answer: Answer | None = None
            try:
                answer = self._followed(path, limit, headers or {})
                if answer.status not in _PASSING:
                    return answer
                pause = _asked_to_wait(answer.headers)
            except _BrokenOffError as broken:
                if attempt == _ATTEMPTS:
                    raise broken.error from None
                pause = None
            pause = float(2 ** (attempt - 1)) if pause is None else pause
            if answer is not None and (attempt == _ATTEMPTS or waited + pause > _PATIENCE):
                return answer
            waited += pause
            self._sleep(pause)
        raise NetworkError(f"{self.host} did not answer.", "Try again later.")

    def _followed(self, path: str, limit: int, headers: Mapping[str, str]) -> Answer:
        """One try, its redirects followed by hand: headers of ours go to the server's own host alone."""
        address = path if "://" in path else self.base + path
        deadline = self._now() + _DEADLINE
        for _ in range(_MAX_HOPS):
            answer = self._once(address, limit, headers, deadline)
            if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
                return answer
            address = self._joined(address, answer.headers["location"])
        raise NetworkError(f"{self.host} leads from one redirect to the next.", "Try again later.")

    def _joined(self, address: str, location: str) -> str:
        try:
            joined = urljoin(address, location)
            urlsplit(joined)
        except ValueError:
            raise NetworkError(
                f"{self.host} leads to an address that is none.", "Check the endpoint."
            ) from None
        return joined

    def _once(self, address: str, limit: int, headers: Mapping[str, str], deadline: float) -> Answer:
        import requests

        try:
            own = urlsplit(address)[:2] == urlsplit(self.base)[:2]
        except ValueError:
            raise NetworkError(f"{address[:200]} is no address.", "Check the endpoint.") from None
        if urlsplit(address).scheme != "https" and urlsplit(self.base).scheme == "https":
            raise NetworkError(
                f"{self.host} leads to an address that is not encrypted.", "Check the endpoint."
            )
        sent = {"User-Agent": "ml-audit", "Accept-Encoding": "identity"}
        sent |= {**self._headers, **headers} if own else {}
        try:
            with self._session.request(
                "GET", address, stream=True, allow_redirects=False, timeout=_TIMEOUT, headers=sent
            ) as answer:
                lower = {str(name).lower(): str(value) for name, value in answer.headers.items()}
                body = b"" if answer.is_redirect else self._received(answer.raw, lower, limit, deadline)
                return Answer(answer.status_code, lower, body, address)
        except (requests.exceptions.RequestException, ValueError) as error:
            # ValueError: an address that is none, which a redirect can hold.
            explained, passes = connection.explained(error, self.host, _TIMEOUT[1])
            raise (_BrokenOffError(explained) if passes else explained) from None

    def _received(self, raw: Any, headers: Mapping[str, str], limit: int, deadline: float) -> bytes:
        import urllib3

        length = headers.get("content-length", "")
        expected = int(length) if length.isdecimal() and len(length) < 16 else None
        pieces: list[bytes] = []
        received = 0
        try:
            while piece := raw.read1(_PIECE) if hasattr(raw, "read1") else raw.read(_PIECE):
                received += len(piece)
                if received > limit:
                    raise NetworkError(
                        f"An answer of {self.host} is larger than {limit // 1024} KiB.", "Check the endpoint."
                    )
                if self._now() > deadline:
                    raise _broken_off(
                        f"An answer of {self.host} did not arrive within {_DEADLINE:.0f} seconds."
                    )
                pieces.append(piece)
        except urllib3.exceptions.HTTPError:
            raise _broken_off(f"An answer of {self.host} broke off.") from None
        if expected is not None and received < expected:
            raise _broken_off(f"An answer of {self.host} broke off.")
        return b"".join(pieces)


class _BrokenOffError(Exception):
    """A failure that may pass: `error` is raised where it does not."""

    def __init__(self, error: NetworkError) -> None:
        super().__init__(error.message)
        self.error = error


def _broken_off(message: str) -> _BrokenOffError:
    return _BrokenOffError(NetworkError(message, "Check the connection, and HTTPS_PROXY if one is needed."))


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks for, None where it does not say."""
    after = headers.get("retry-after", "")
    if after.isdecimal() and len(after) < 10:
        return float(after)
    with contextlib.suppress(TypeError, ValueError):
        if match := _RESET.search(headers.get("ratelimit", "")):
            return float(match[1])
    return None
