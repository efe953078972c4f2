"""The fake GitHub as two HTTP servers on the loopback: the API, and the host that archives, logs and artifacts lie on.

Each request and each answer is checked against GitHub's OpenAPI description and the limits that it lacks; what breaks
them is kept in `violations`, which makes the `with` block fail even where the client swallowed the refusal.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

from . import actions, publishing, reading  # noqa: F401  (they register their routes)
from .contract import Contract
from .faults import Fault, Moment, Switch
from .limits import CREATIONS_A_MINUTE, CREATIONS_AN_HOUR, POINTS_A_MINUTE, header_errors, text_errors
from .routing import Answer, Call, Route, allowed_methods, error, found, not_found, not_permitted
from .shapes import Shapes
from .world import TOKENS, Commit, Pull, Repository, Token, World

if TYPE_CHECKING:
    from .certificates import Certificates

_MAX_BODY = 8 * 2**20
_LINK_SECONDS = 60.0
_CREATING = re.compile(r"/repos/[^/]+/[^/]+/(issues/\d+/comments|pulls/\d+/(reviews|comments/\d+/replies))")


@dataclass(frozen=True)
class Request:
    """One request as it came. `host`: "api" or "files"; `path` without the prefix of GHES; `status`: the answer given, 0
    where the connection was cut; `fault`: the name of the fault that struck; `endpoint`: as GitHub's description names it.
    """

    host: str
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any
    status: int = 0
    fault: str = ""
    endpoint: str = ""

    @property
    def authorization(self) -> str | None:
        return self.headers.get("authorization")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass
class _Link:
    content: bytes
    media_type: str
    born: float


class ContractError(AssertionError):
    """A request or an answer broke GitHub's contract."""


@dataclass
class _Pace:
    """When content was created and what requests cost, by token."""

    creations: list[float] = field(default_factory=list)
    points: list[tuple[float, int]] = field(default_factory=list)


class FakeGitHub:
    """Both servers, and the world that they show. `prefix`: "/api/v3" on an Enterprise server (whose contract is another); `strict`: leaving the
    `with` block raises ContractError for violations; `contract` None: only the limits are checked; `certificates`:
    it speaks TLS with them.
    """

    def __init__(
        self,
        *,
        contract: Contract | None = None,
        clock: Callable[[], float] = time.time,
        prefix: str = "",
        html: str = "https://github.com",
        strict: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
        public_host: str | None = None,
        certificates: "Certificates | None" = None,
    ) -> None:
        self.world = World(clock)
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.switches: list[Switch] = []
        self.tokens = TOKENS
        self.on_change: Callable[[], None] = lambda: None
        self._contract = contract
        self._prefix = prefix
        self._strict = strict
        self._lock = threading.RLock()
        self._links: dict[str, _Link] = {}
        self._paces: dict[str, _Pace] = {}
        self._closing = threading.Event()
        self._public_host = public_host or host
        self._certificates = certificates
        self._scheme = "https" if certificates else "http"
        self._servers = {"api": self._listen(host, port, "api"), "files": self._listen(host, 0, "files")}
        self._html = html
        self.shapes = Shapes(self.api_url, html, enterprise=bool(prefix))

    # -- where it is ---------------------------------------------------------------------------------------------

    @property
    def api_url(self) -> str:
        """What GITHUB_API_URL would say."""
        return f"{self._scheme}://{self._public_host}:{self._servers['api'].server_port}{self._prefix}"

    @property
    def graphql_url(self) -> str:
        """What GITHUB_GRAPHQL_URL would say."""
        root = self.api_url.removesuffix("/v3")
        return f"{root}/graphql"

    @property
    def server_url(self) -> str:
        """What GITHUB_SERVER_URL would say."""
        return self._html

    @property
    def files_url(self) -> str:
        """The second host. Its name differs too, so that a client which compares names sees a foreign one."""
        name = "localhost" if self._public_host == "127.0.0.1" else self._public_host
        return f"{self._scheme}://{name}:{self._servers['files'].server_port}"

    # -- what tests set up and read ------------------------------------------------------------------------------

    def add_repository(self, full_name: str, **more: Any) -> Repository:
        """An empty repository."""
        return self.world.add_repository(full_name, **more)

    def add_pull(
        self,
        full_name: str,
        base: dict[str, bytes],
        head: dict[str, bytes],
        *,
        number: int = 1,
        fork: str | None = None,
    ) -> Pull:
        """A repository (made if need be) with one commit on its default branch and a pull request of one commit."""
        repository = self.world.repositories.get(full_name) or self.add_repository(full_name)
        first = repository.add_commit(Commit(base, message="Base"), repository.default_branch)
        second = repository.add_commit(
            Commit(head, (first.sha,), message="Change"), *(() if fork else ("change",))
        )
        pull = Pull(
            number,
            second.sha,
            first.sha,
            base_ref=repository.default_branch,
            head_repository=fork or full_name,
        )
        repository.pulls[number] = pull
        return pull

    def fault(
        self, method: str, path: str, fault: Fault, *, times: int | None = None, skip: int = 0
    ) -> Switch:
        """From now on requests with this method ("*": any) whose path matches the regular expression meet the fault,
        `times` of them (None: all) after `skip` of them.
        """
        switch = Switch(method, re.compile(path), fault, times, skip)
        self.switches.append(switch)
        return switch

    def asked(self, method: str = "*", path: str = "", host: str = "api") -> list[Request]:
        """Requests so far, by method and regular expression."""
        return [
            one
            for one in self.requests
            if one.host == host and method in ("*", one.method) and re.search(path, one.path)
        ]

    def expect_violation(self, pattern: str) -> str:
        """Takes the first violation that matches out of the list. Raises AssertionError where there is none."""
        for one in self.violations:
            if re.search(pattern, one):
                self.violations.remove(one)
                return one
        raise AssertionError(f"no violation matches {pattern!r}: {self.violations}")

    # -- running -------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if not self.violations or not self._strict:
            return
        told = "GitHub's contract was broken:\n" + "\n".join(f"  - {one}" for one in self.violations)
        if error is None:
            raise ContractError(told)
        error.add_note(told)

    def close(self) -> None:
        """Stops both servers; whoever waits for a slow answer is let go."""
        self._closing.set()
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    def _listen(self, host: str, port: int, name: str) -> ThreadingHTTPServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 60
            # An answer leaves in one piece: headers and body apart would wait for each other's acknowledgement.
            wbufsize = -1
            disable_nagle_algorithm = True

            def _serve(self) -> None:
                owner._serve(self, name)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = _serve

            def log_message(self, format: str, *args: Any) -> None:
                return None

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            # Threads that wait in a slow answer end by the event, not by being joined.
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                return None

        server = Server((host, port), Handler)
        if self._certificates is not None:
            # The handshake belongs to the request's own thread: a client that refuses it must not hold up the rest.
            context = self._certificates.context()
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    # -- one request ---------------------------------------------------------------------------------------------

    def _serve(self, handler: BaseHTTPRequestHandler, host: str) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(min(length, _MAX_BODY)) if length else b""
        parts = urlsplit(handler.path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        query = parse_qs(parts.query, keep_blank_values=True)
        path = self._without_prefix(parts.path)
        request = Request(host, handler.command, path, query, headers, _decoded(body))
        with self._lock:
            switch = next((one for one in self.switches if one.strikes(handler.command, path)), None)
            fault = switch.fault if switch else None
            try:
                answer = self._answer(request, body, fault)
            except Exception as broken:
                self.violations.append(f"the fake itself broke on {request}: {broken!r}")
                answer = error(500, "Server Error")
            shown = self._as_shown(answer, fault)
            self.requests.append(
                replace(
                    request,
                    status=shown.status,
                    fault=str(fault) if fault else "",
                    endpoint=_endpoint(request),
                )
            )
            self.on_change()
        if fault and fault.seconds:
            self._closing.wait(fault.seconds)
        self._send(handler, shown, host, fault)

    def _without_prefix(self, path: str) -> str:
        for prefix in ("/api/v3", "/api"):
            if path.startswith(f"{prefix}/"):
                path = path.removeprefix(prefix)
        match = re.match(r"/repositories/(\d+)(/.*)?$", path)
        if match:
            known = next((one for one in self.world.repositories.values() if one.id == int(match[1])), None)
            path = f"/repos/{known.full_name}{match[2] or ''}" if known else path
        return path

    def _answer(self, request: Request, body: bytes, fault: Fault | None) -> Answer:
        """The true answer; nothing is done where the fault strikes before the work."""
        if request.host == "files":
            return self._file(request)
        self._check_headers(request, bool(body))
        if request.path == "/graphql":
            return self._graphql(request, fault)
        match = found(request.method, request.path)
        if match is None:
            return self._unknown(request)
        route, params = match
        problems = self._check_request(route, params, request, body)
        if fault is not None and fault.when is Moment.BEFORE:
            return Answer(204)
        if problems:
            return error(422, "Invalid request.\n\n" + "\n".join(problems))
        answer = self._authorised(route, params, request)
        self._check_answer(route, answer)
        return answer

    def _unknown(self, request: Request) -> Answer:
        if allowed := allowed_methods(request.path):
            self.violations.append(f"{request}: the endpoint knows only {', '.join(allowed)}")
            return error(405, "Method Not Allowed")
        self.violations.append(f"{request}: the fake has no such endpoint")
        return not_found()

    def _check_headers(self, request: Request, has_body: bool) -> None:
        self.violations += [
            f"{request}: {one}"
            for one in header_errors(request.method, request.headers, has_body, enterprise=bool(self._prefix))
        ]

    def _check_request(
        self, route: Route, params: dict[str, str], request: Request, body: bytes
    ) -> list[str]:
        problems = list(text_errors(request.body))
        if self._contract is not None:
            problems += self._contract.operation(route.method, route.template).request_errors(
                params, request.query, body
            )
        elif body and request.body is None:
            problems.append("body: not JSON")
        self.violations += [f"{request}: {one}" for one in problems]
        return problems

    def _check_answer(self, route: Route, answer: Answer) -> None:
        if self._contract is None:
            return
        operation = self._contract.operation(route.method, route.template)
        errors = operation.answer_errors(answer.status, answer.media_type, answer.content())
        self.violations += [f"the fake's own answer to {operation.name}: {one}" for one in errors]

    def _token(self, request: Request) -> Token | None:
        """Raises PermissionError for a token that is unknown or expired."""
        if request.authorization is None:
            return None
        token = self.world.tokens.get(request.authorization.split()[-1])
        if token is None or token.expired:
            raise PermissionError
        return token

    def _authorised(self, route: Route, params: dict[str, str], request: Request) -> Answer:
        try:
            token = self._token(request)
        except PermissionError:
            return error(401, "Bad credentials")
        if limited := self._over_pace(request, token):
            return limited
        repository = Repository(0, "nobody/nothing")
        if "owner" in params:
            name = f"{params['owner']}/{params['repo']}"
            if name in self.world.renamed:
                return self._moved(request, name)
            known = self.world.repository(name)
            if known is None or (known.private and token is None):
                return not_found()
            repository = known
        if route.needs and (refused := _refusal(route.needs, token)):
            return refused
        if repository.archived and request.method != "GET":
            return error(403, "Repository was archived so is read-only.")
        if repository.comments_disabled and _CREATING.fullmatch(request.path):
            return error(410, "Issues are disabled for this repo")
        return route.handler(self._call(request, repository, token, params))

    def _call(
        self, request: Request, repository: Repository, token: Token | None, params: dict[str, str]
    ) -> Call:
        return Call(
            world=self.world,
            shapes=self.shapes,
            repository=repository,
            token=token,
            params=params,
            query=request.query,
            body=request.body,
            path=request.path,
            accept=request.headers.get("accept", ""),
            violate=lambda text: self.violations.append(f"{request}: {text}"),
            link=self._link,
        )

    def _moved(self, request: Request, name: str) -> Answer:
        """A renamed repository: by number, and with a status that keeps the method for writes."""
        repository = self.world.repositories[self.world.renamed[name]]
        rest = request.path.removeprefix(f"/repos/{name}")
        address = f"{self.api_url}/repositories/{repository.id}{rest}"
        moved = error(301 if request.method == "GET" else 307, "Moved Permanently")
        moved.value["url"] = address
        moved.headers["Location"] = address
        return moved

    def _graphql(self, request: Request, fault: Fault | None) -> Answer:
        if fault is not None and fault.when is Moment.BEFORE:
            return Answer(204)
        try:
            token = self._token(request)
        except PermissionError:
            return error(401, "Bad credentials")
        if token is None:
            return error(403, "API rate limit exceeded")
        if self._contract is None:
            return error(503, "GraphQL needs GitHub's schema")
        call = self._call(request, Repository(0, "nobody/nothing"), token, {})
        from .graphql import answer_graphql

        return answer_graphql(call, self._contract.graphql)

    def _over_pace(self, request: Request, token: Token | None) -> Answer | None:
        """Counts what a token does, and refuses what is too much in too short a time."""
        now = self.world.clock()
        pace = self._paces.setdefault(token.secret if token else "", _Pace())
        pace.points = [(at, cost) for at, cost in pace.points if at > now - 60]
        pace.points.append((now, 1 if request.method in ("GET", "HEAD") else 5))
        if request.method == "POST" and _CREATING.fullmatch(request.path):
            pace.creations = [at for at in pace.creations if at > now - 3600]
            pace.creations.append(now)
        minute = sum(at > now - 60 for at in pace.creations)
        spent = sum(cost for _, cost in pace.points)
        if (
            minute <= CREATIONS_A_MINUTE
            and len(pace.creations) <= CREATIONS_AN_HOUR
            and spent <= POINTS_A_MINUTE
        ):
            return None
        self.violations.append(
            f"{request}: too fast ({minute} creations and {spent} points within a minute, {len(pace.creations)} creations within an hour)"
        )
        refused = error(
            403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        )
        refused.headers["Retry-After"] = "60"
        return refused

    # -- the second host -----------------------------------------------------------------------------------------

    def _link(self, name: str, content: bytes, media_type: str) -> str:
        """A signed address on the second host, for one minute."""
        with self._lock:
            key = f"{len(self._links) + 1:08x}"
            self._links[key] = _Link(content, media_type, self.world.clock())
        return f"{self.files_url}/{name}?sig={key}"

    def _file(self, request: Request) -> Answer:
        """No token may come here; an address that is too old is refused."""
        if request.authorization is not None:
            self.violations.append(f"{request}: the token was sent to another host ({self.files_url})")
        link = self._links.get(request.query.get("sig", [""])[0])
        xml = "application/xml"
        if link is None:
            return Answer(404, b"<Error><Code>BlobNotFound</Code></Error>", media_type=xml)
        if self.world.clock() - link.born > _LINK_SECONDS:
            return Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>", media_type=xml)
        return Answer(200, link.content, media_type=link.media_type)

    # -- sending -------------------------------------------------------------------------------------------------

    def _as_shown(self, answer: Answer, fault: Fault | None) -> Answer:
        """The answer that goes out: the fault's, or the true one."""
        if fault is None or (fault.when is Moment.AFTER and fault.seconds):
            return answer
        if fault.status == 0:
            return Answer(0, answer.content()) if fault.cut_at is not None else Answer(0)
        content, media_type = fault.content()
        headers = dict(fault.headers)
        if fault.reset_in is not None:
            headers["X-RateLimit-Reset"] = str(int(self.world.clock() + fault.reset_in))
        if fault.location is not None:
            headers["Location"] = fault.location.format(files=self.files_url, api=self.api_url)
        return Answer(fault.status, content, headers, media_type)

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer, host: str, fault: Fault | None) -> None:
        body = answer.content()
        if answer.status == 0 and (fault is None or fault.cut_at is None):
            handler.close_connection = True
            return
        try:
            handler.send_response(answer.status or 200)
            for name, value in {**self._common_headers(host), **answer.headers}.items():
                handler.send_header(name, value)
            if body:
                handler.send_header("Content-Type", answer.media_type)
            if answer.status != 204:
                handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            cut_at = fault.cut_at if fault else None
            handler.wfile.write(body if cut_at is None else body[:cut_at])
            handler.close_connection = handler.close_connection or cut_at is not None
        except OSError:
            handler.close_connection = True

    def _common_headers(self, host: str) -> dict[str, str]:
        if host == "files":
            return {}
        used = min(len(self.requests), 999)
        return {
            "X-GitHub-Request-Id": f"0000:{len(self.requests):06X}",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-RateLimit-Limit": "1000",
            "X-RateLimit-Remaining": str(1000 - used),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(int(self.world.clock()) + 3600),
            "X-RateLimit-Resource": "core",
        }


def _endpoint(request: Request) -> str:
    match = found(request.method, request.path)
    return f"{request.method} {match[0].template if match else request.path}"


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def _refusal(needs: str, token: Token | None) -> Answer | None:
    if token is None:
        return (
            error(401, "Requires authentication")
            if needs.endswith(":write")
            else error(403, "Must have admin rights to Repository.")
        )
    if token.may(needs):
        return None
    refused = not_permitted()
    refused.headers["X-Accepted-GitHub-Permissions"] = "; ".join(
        one.replace(":", "=") for one in needs.split("|")
    )
    return refused


def fake_github(**options: Any) -> FakeGitHub:
    """A running fake; to be used as a context manager."""
    return FakeGitHub(**options)
