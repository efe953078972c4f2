"""GitHub without the wire: who may do what, which endpoint answers, and whether GitHub's contract is kept."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import actions, publishing, reading  # noqa: F401  (they register their routes)
from .contract import Contract
from .faults import Fault, Moment
from .limits import CREATIONS_A_MINUTE, CREATIONS_AN_HOUR, POINTS_A_MINUTE, header_errors, text_errors
from .routing import Answer, Call, Route, allowed_methods, error, found, not_found, not_permitted
from .shapes import Shapes
from .world import Repository, Token, World

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


@dataclass
class _Pace:
    """When content was created and what requests cost, by token."""

    creations: list[float] = field(default_factory=list)
    points: list[tuple[float, int]] = field(default_factory=list)


class Service:
    """One GitHub. `violations`: what broke the contract, whatever was answered; `contract` None: only the limits are checked."""

    def __init__(self, clock: Callable[[], float], contract: Contract | None, *, enterprise: bool) -> None:
        self.world = World(clock)
        self.violations: list[str] = []
        self.shapes = Shapes("", "", enterprise=enterprise)
        self._contract = contract
        self._enterprise = enterprise
        self._files = ""
        self._lock = threading.RLock()
        self._links: dict[str, _Link] = {}
        self._paces: dict[str, _Pace] = {}

    def settle(self, api: str, html: str, files: str) -> None:
        """Says where it can be reached, before the first request."""
        self.shapes = Shapes(api, html, enterprise=self._enterprise)
        self._files = files

    def request(
        self,
        host: str,
        method: str,
        path: str,
        query: dict[str, list[str]],
        headers: dict[str, str],
        body: Any,
    ) -> Request:
        """The request with its path as the endpoints name it: without the prefix of an Enterprise server, with the repository by its name."""
        named = self._named(path)
        match = found(method, named)
        endpoint = f"{method} {match[0].template if match else named}"
        return Request(host, method, named, query, headers, body, endpoint=endpoint)

    def _named(self, path: str) -> str:
        for prefix in ("/api/v3", "/api"):
            if path.startswith(f"{prefix}/"):
                path = path.removeprefix(prefix)
        match = re.match(r"/repositories/(\d+)(/.*)?$", path)
        if match:
            known = next((one for one in self.world.repositories.values() if one.id == int(match[1])), None)
            path = f"/repos/{known.full_name}{match[2] or ''}" if known else path
        return path

    def answer(self, request: Request, body: bytes, fault: Fault | None) -> Answer:
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
            for one in header_errors(request.method, request.headers, has_body, enterprise=self._enterprise)
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
        address = f"{self.shapes.api}/repositories/{repository.id}{rest}"
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
        return f"{self._files}/{name}?sig={key}"

    def _file(self, request: Request) -> Answer:
        """No token may come here; an address that is too old is refused."""
        if request.authorization is not None:
            self.violations.append(f"{request}: the token was sent to another host ({self._files})")
        link = self._links.get(request.query.get("sig", [""])[0])
        xml = "application/xml"
        if link is None:
            return Answer(404, b"<Error><Code>BlobNotFound</Code></Error>", media_type=xml)
        if self.world.clock() - link.born > _LINK_SECONDS:
            return Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>", media_type=xml)
        return Answer(200, link.content, media_type=link.media_type)


def _refusal(needs: str, token: Token | None) -> Answer | None:
    """Why a token may not, None where it may."""
    if token is None:
        if needs.endswith(":write"):
            return error(401, "Requires authentication")
        return error(403, "Must have admin rights to Repository.")
    if token.may(needs):
        return None
    refused = not_permitted()
    accepted = (
        "issues=write; pull_requests=write" if needs == "pull_requests:write" else needs.replace(":", "=")
    )
    refused.headers["X-Accepted-GitHub-Permissions"] = accepted
    return refused
