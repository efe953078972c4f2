"""The fake GitHub as two HTTP servers on the loopback: the API, and the host that archives, logs and artifacts lie on.

Each request and each answer is checked against GitHub's OpenAPI description and the limits that it lacks; what breaks
them is kept in `violations`, which makes the `with` block fail even where the client swallowed the refusal.
"""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

from .contract import Contract
from .faults import Fault, Moment, Switch
from .routing import Answer, error
from .service import Request, Service
from .world import TOKENS, Commit, Pull, Repository, World

if TYPE_CHECKING:
    from .certificates import Certificates

_MAX_BODY = 8 * 2**20


class ContractError(AssertionError):
    """A request or an answer broke GitHub's contract."""


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
        self._service = Service(clock, contract, enterprise=bool(prefix))
        self.requests: list[Request] = []
        self.switches: list[Switch] = []
        self.tokens = TOKENS
        self.on_change: Callable[[], None] = lambda: None
        self._prefix = prefix
        self._strict = strict
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._public_host = public_host or host
        self._certificates = certificates
        self._scheme = "https" if certificates else "http"
        self._servers = {"api": self._listen(host, port, "api"), "files": self._listen(host, 0, "files")}
        self._html = html
        self._service.settle(self.api_url, html, self.files_url)

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

    @property
    def world(self) -> World:
        """What there is."""
        return self._service.world

    @property
    def violations(self) -> list[str]:
        """What broke GitHub's contract so far."""
        return self._service.violations

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
        request = self._service.request(host, handler.command, parts.path, query, headers, _decoded(body))
        with self._lock:
            switch = next((one for one in self.switches if one.strikes(request.method, request.path)), None)
            fault = switch.fault if switch else None
            try:
                answer = self._service.answer(request, body, fault)
            except Exception as broken:
                self.violations.append(f"the fake itself broke on {request}: {broken!r}")
                answer = error(500, "Server Error")
            shown = self._as_shown(answer, fault)
            self.requests.append(replace(request, status=shown.status, fault=str(fault) if fault else ""))
            self.on_change()
        if fault and fault.seconds:
            self._closing.wait(fault.seconds)
        self._send(handler, shown, host, fault)

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


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def fake_github(**options: Any) -> FakeGitHub:
    """A running fake; to be used as a context manager."""
    return FakeGitHub(**options)
