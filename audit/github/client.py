"""GitHub's REST and GraphQL API for a program that writes: nothing is written twice, and nobody waits for ever.

A thing is never created blindly a second time: after an answer that leaves open whether it was (5xx, a timeout, a cut connection) it is
looked for first. What is rate limited was not done, so it is tried again as soon as GitHub says, if that lies within the budget.
Waiting and its statuses: GitHub's "Best practices for using the REST API" and "Rate limits for the REST API" (at least a minute where a
secondary limit comes without Retry-After).
"""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

import audit
from audit.github.destination import Destination, Effects
from audit.github.errors import ApiError, Kind

BUDGET = 120.0
"""Seconds that all requests of one publication may take together, waiting included."""
_ATTEMPTS = 4
_CREATIONS = 2
_SECONDARY = 60.0
_HOPS = 3
_LARGEST = 20 * 2**20
_PIECE = 64 * 1024
_PAGE = 100
_PASSING = frozenset({408, 500, 502, 503, 504})
_UNSPACED = 4
"""Writes in a row before they are spaced a second apart, as GitHub asks of programs that make many."""

Json = dict[str, Any]


class Client:
    """One server in the name of one token. All methods raise ApiError and nothing else."""

    def __init__(self, destination: Destination, effects: Effects, *, budget: float = BUDGET) -> None:
        self._api = destination.api_url.rstrip("/")
        self._graphql = destination.graphql_url
        self._token = destination.token.value.strip()
        self._effects = effects
        self._deadline = effects.now() + budget
        self._destination = destination
        self._pool: urllib3.PoolManager | None = None
        self._writes = 0
        self._last_write = -1.0

    def close(self) -> None:
        """Closes the connections."""
        if self._pool is not None:
            self._pool.clear()

    def grant(self, seconds: float) -> None:
        """Leaves at least so many seconds for what must still be done."""
        self._deadline = max(self._deadline, self._effects.now() + seconds)

    def get(self, path: str, **query: str | int) -> Any:
        """What lies at `path`."""
        address = f"{self._api}{path}" + (f"?{urlencode(query)}" if query else "")
        return self._patiently(lambda: self._ask("GET", address, None))

    def pages(self, path: str, *, most: int, key: str | None = None, **query: str | int) -> Iterator[Json]:
        """The items of a list, page by page, at most `most`; `key`: where an answer holds the list inside an object."""
        seen = 0
        for page in range(1, most // _PAGE + 2):
            answer = self.get(path, per_page=_PAGE, page=page, **query)
            items = answer.get(key) if key is not None and isinstance(answer, dict) else answer
            if not isinstance(items, list):
                raise ApiError(Kind.UNAVAILABLE, "an answer that is not GitHub's")
            for item in items:
                if isinstance(item, dict) and seen < most:
                    seen += 1
                    yield item
            if len(items) < _PAGE or seen >= most:
                return

    def change(self, path: str, body: Json) -> Json:
        """PATCHes what is there to be as `body` says; may be repeated without harm."""
        return _object(self._patiently(lambda: self._write("PATCH", f"{self._api}{path}", body)))

    def append(self, path: str, body: Json, done: Callable[[], Json | None]) -> Json:
        """PATCHes so that each repetition would add once more; `done` answers whether it happened."""
        return self._once("PATCH", path, body, done)

    def create(self, path: str, body: Json, find: Callable[[], Json | None]) -> Json:
        """POSTs a new thing; `find` looks whether it is there already, where the answer leaves that open."""
        return self._once("POST", path, body, find)

    def remove(self, path: str) -> None:
        """DELETEs what is there; may be repeated without harm."""
        self._patiently(lambda: self._write("DELETE", f"{self._api}{path}", None))

    def query(self, text: str, variables: Json) -> Json:
        """Reads by GraphQL, or changes what a repetition does not change again; the `data` of the answer."""
        answer = _object(
            self._patiently(lambda: self._ask("POST", self._graphql, {"query": text, "variables": variables}))
        )
        errors, data = answer.get("errors"), answer.get("data")
        if errors or not isinstance(data, dict):
            raise self._graphql_error(errors)
        return data

    # --- trying again --------------------------------------------------------------------------------------

    def _patiently(self, ask: Callable[[], Any]) -> Any:
        """For what may be repeated."""
        for attempt in range(_ATTEMPTS):
            try:
                return self._in_turn(ask)
            except ApiError as error:
                if error.kind is not Kind.UNAVAILABLE or attempt == _ATTEMPTS - 1:
                    raise
                self._wait(2.0**attempt, error)
        raise AssertionError  # the last attempt returns or raises

    def _once(self, method: str, path: str, body: Json, find: Callable[[], Json | None]) -> Json:
        """For what must not happen twice."""
        for attempt in range(_CREATIONS):
            try:
                return _object(self._in_turn(lambda: self._write(method, f"{self._api}{path}", body)))
            except ApiError as error:
                if error.kind is not Kind.UNAVAILABLE:
                    raise
                self._wait(2.0**attempt, error)
                if error.uncertain and (found := self._found(find, error)) is not None:
                    return found
                if attempt == _CREATIONS - 1:
                    raise
        raise AssertionError  # the last attempt returns or raises

    def _found(self, find: Callable[[], Json | None], error: ApiError) -> Json | None:
        try:
            return find()
        except ApiError:
            raise error from None  # not known whether it is there: to write it again could write it twice

    def _in_turn(self, ask: Callable[[], Any]) -> Any:
        """Waits out rate limits: GitHub has not done what it refused for them."""
        for attempt in range(_ATTEMPTS):
            try:
                return ask()
            except _Limited as limited:
                if attempt == _ATTEMPTS - 1:
                    raise
                pause = limited.seconds if limited.seconds is not None else _SECONDARY * 2.0**attempt
                self._wait(pause, limited)
        raise AssertionError  # the last attempt returns or raises

    def _wait(self, seconds: float, error: ApiError) -> None:
        """Waits, or raises `error` where the budget does not suffice for it."""
        if self._effects.now() + seconds >= self._deadline:
            raise error
        self._effects.sleep(seconds)

    # --- one request ---------------------------------------------------------------------------------------

    def _write(self, method: str, address: str, body: Json | None) -> Any:
        if self._writes >= _UNSPACED:
            self._effects.sleep(max(0.0, self._last_write + 1.0 - self._effects.now()))
        self._writes += 1
        try:
            return self._ask(method, address, body)
        finally:
            self._last_write = self._effects.now()

    def _ask(self, method: str, address: str, body: Json | None) -> Any:
        origin = urlsplit(address)[:2]
        for _ in range(_HOPS):
            status, headers, data = self._exchange(method, address, body)
            if status not in (301, 302, 307, 308):
                return self._understood(status, headers, data, method)
            # A renamed repository: the same server, else the token would go astray.
            address = urljoin(address, headers.get("location", ""))
            if urlsplit(address)[:2] != origin or (status in (301, 302) and method != "GET"):
                break
        raise ApiError(Kind.MISSING, "the address leads to another place; is GITHUB_API_URL right?", 404)

    def _exchange(self, method: str, address: str, body: Json | None) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers in lower case, and body of one answer, whatever its status."""
        left = self._deadline - self._effects.now()
        if left <= 0:
            raise ApiError(Kind.UNAVAILABLE, "no time is left for it")
        data = None if body is None else json.dumps(body).encode()
        wait = min(self._effects.timeout, left)
        try:
            if self._pool is None:
                self._pool = _pool(self._destination)
            answer = self._pool.request(
                method,
                address,
                body=data,
                headers=self._headers(data),
                timeout=urllib3.Timeout(connect=wait, read=wait),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                return answer.status, {k.lower(): v for k, v in answer.headers.items()}, self._body(answer)
            finally:
                answer.close()
        except _NOT_SENT as error:
            raise ApiError(Kind.UNAVAILABLE, _connection(error)) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(Kind.UNAVAILABLE, _connection(error), uncertain=True) from None
        except ValueError:  # a token or an address that no header or URL can hold
            raise ApiError(
                Kind.TOKEN, "the token or the address holds characters that none has", 401
            ) from None

    def _headers(self, data: bytes | None) -> dict[str, str]:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": f"ml-audit/{audit.__version__}",
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if data is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def _body(self, answer: urllib3.BaseHTTPResponse) -> bytes:
        """Read as it arrives, so that an answer that drips does not hold us longer than the budget."""
        pieces, size = [], 0
        while piece := answer.read1(_PIECE):
            size += len(piece)
            if size > _LARGEST or self._effects.now() > self._deadline:
                raise urllib3.exceptions.ProtocolError("the answer is too large or too slow")
            pieces.append(piece)
        return b"".join(pieces)

    def _understood(self, status: int, headers: Mapping[str, str], data: bytes, method: str) -> Any:
        try:
            answer = json.loads(data) if data else None
        except (ValueError, RecursionError):
            answer = None
        if 200 <= status < 300:
            if answer is None and status != 204:
                raise ApiError(
                    Kind.UNAVAILABLE, "an answer that is not JSON", status, uncertain=method != "GET"
                )
            return answer
        raise self._refusal(status, headers, answer)

    def _refusal(self, status: int, headers: Mapping[str, str], answer: Any) -> ApiError:
        said = self._said(answer, status)
        if status in (403, 429) and _is_limit(status, headers, said):
            seconds = _seconds(headers.get("retry-after"))
            if (
                seconds is None
                and headers.get("x-ratelimit-remaining") == "0"
                and (reset := _seconds(headers.get("x-ratelimit-reset"))) is not None
            ):
                seconds = max(0.0, reset - self._effects.wall()) + 1
            return _Limited(said, status, seconds)
        if status in _PASSING:
            return ApiError(Kind.UNAVAILABLE, f"answer {status}: {said}", status, uncertain=True)
        kinds = {401: Kind.TOKEN, 403: Kind.FORBIDDEN, 404: Kind.MISSING, 409: Kind.CONFLICT, 410: Kind.GONE}
        if status >= 500:
            return ApiError(Kind.UNAVAILABLE, f"answer {status}: {said}", status, uncertain=True)
        return ApiError(kinds.get(status, Kind.INVALID), said, status)

    def _said(self, answer: Any, status: int) -> str:
        """GitHub's words, with those of the first errors that it lists, on one line and without the token."""
        if not isinstance(answer, dict):
            return f"HTTP {status}"
        parts = [answer.get("message")]
        errors = answer.get("errors")
        for error in errors[:3] if isinstance(errors, list) else []:
            parts.append(error.get("message") if isinstance(error, dict) else error)
        text = " ".join("; ".join(str(part) for part in parts if part).split())[:300].rstrip(".")
        return (text.replace(self._token, "***") if self._token else text) or f"HTTP {status}"

    def _graphql_error(self, errors: Any) -> ApiError:
        first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
        kinds = {
            "FORBIDDEN": Kind.FORBIDDEN,
            "INSUFFICIENT_SCOPES": Kind.FORBIDDEN,
            "NOT_FOUND": Kind.MISSING,
            "RATE_LIMITED": Kind.LIMITED,
        }
        kind = kinds.get(str(first.get("type")), Kind.INVALID)
        return ApiError(kind, self._said(first, 200), 403 if kind is Kind.FORBIDDEN else 200)


class _Limited(ApiError):
    """A refusal for the number of requests; `seconds` until GitHub answers again, None where it does not say."""

    def __init__(self, said: str, status: int, seconds: float | None) -> None:
        super().__init__(Kind.LIMITED, said, status)
        self.seconds = seconds


_NOT_SENT = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.ProxyError,
    urllib3.exceptions.SSLError,
    ssl.SSLCertVerificationError,
)
"""Failures before the request was on its way."""


def _pool(destination: Destination) -> urllib3.PoolManager:
    """Connections with the certificate authorities and through the proxy that are asked for."""
    bundle = str(destination.ca_bundle) if destination.ca_bundle else None
    parts = urlsplit(destination.api_url)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.hostname or ""):
        return urllib3.ProxyManager(proxy, ca_certs=bundle, maxsize=1)
    return urllib3.PoolManager(ca_certs=bundle, maxsize=1)


def _connection(error: Exception) -> str:
    """What a person can do something about; no address, which may hold a proxy's password."""
    match error:
        case urllib3.exceptions.SSLError() | ssl.SSLError():
            return "its certificate is not trusted; on a server of your own set ca-bundle"
        case urllib3.exceptions.ProxyError():
            return "the proxy cannot be used; look at HTTPS_PROXY and NO_PROXY"
        case urllib3.exceptions.NewConnectionError():  # a kind of timeout to urllib3
            return "no connection"
        case urllib3.exceptions.TimeoutError():
            return "no answer in time"
        case FileNotFoundError():
            return "the file that ca-bundle names is not there"
    return "the connection broke off"


def _is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    return (
        status == 429
        or "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or "rate limit" in said.lower()
    )


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isascii() and text.isdecimal() and len(text) < 12 else None


def _object(answer: Any) -> Json:
    if not isinstance(answer, dict):
        raise ApiError(Kind.UNAVAILABLE, "an answer that is not GitHub's", uncertain=True)
    return answer
