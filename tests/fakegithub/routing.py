"""Which handler answers which endpoint. Endpoints are named as GitHub's OpenAPI description names them."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .shapes import Shapes
from .world import Repository, Token, World


@dataclass
class Answer:
    """`value`: JSON, or bytes as they are (`media_type` then says what)."""

    status: int
    value: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/json; charset=utf-8"

    def content(self) -> bytes:
        if isinstance(self.value, bytes):
            return self.value
        if self.status in (204, 302, 304):
            return b""
        return json.dumps(self.value).encode()


def error(status: int, message: str, *errors: Any) -> Answer:
    """GitHub's refusal; one of a validation lists errors, and the description knows no status there."""
    told: dict[str, Any] = {"message": message, "documentation_url": "https://docs.github.com/rest"}
    if errors:
        told["errors"] = list(errors)
    elif status != 422:
        told["status"] = str(status)
    return Answer(status, told)


def not_found() -> Answer:
    return error(404, "Not Found")


def not_permitted() -> Answer:
    return error(403, "Resource not accessible by integration")


@dataclass
class Call:
    """One request, as a handler sees it. `violate` reports what GitHub's own text cannot say."""

    world: World
    shapes: Shapes
    repository: Repository
    token: Token | None
    params: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: Any
    path: str
    accept: str
    violate: Callable[[str], None]
    link: Callable[[str, bytes, str], str]

    def number(self, name: str) -> int:
        text = self.params[name]
        return int(text) if text.isdecimal() else -1

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]

    def paged(self, items: list[Any], wrapped: str = "") -> Answer:
        """One page of a list with GitHub's Link header, whose addresses name the repository by number."""
        size = min(100, max(1, _whole(self.one("per_page"), 30)))
        page = max(1, _whole(self.one("page"), 1))
        last = max(1, -(-len(items) // size))
        shown = items[(page - 1) * size : page * size]
        pages = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        links = [
            f'<{self._page_address(size, number)}>; rel="{name}"'
            for name, number in pages.items()
            if 1 <= number <= last
            and (name not in ("next", "last") or page < last)
            and (name not in ("prev", "first") or page > 1)
        ]
        headers = {"Link": ", ".join(links)} if links else {}
        value = {"total_count": len(items), wrapped: shown} if wrapped else shown
        return Answer(200, value, headers)

    def _page_address(self, size: int, page: int) -> str:
        rest = self.path.split("/", 4)[4]
        kept = "".join(
            f"&{name}={values[0]}" for name, values in self.query.items() if name not in ("per_page", "page")
        )
        return f"{self.shapes.api}/repositories/{self.repository.id}/{rest}?per_page={size}&page={page}{kept}"


def _whole(text: str, default: int) -> int:
    return int(text) if text.isdecimal() else default


Handler = Callable[[Call], Answer]


@dataclass(frozen=True)
class Route:
    """`needs`: the permission for it, "" where anybody may who sees the repository."""

    method: str
    template: str
    pattern: re.Pattern[str]
    needs: str
    handler: Handler


ROUTES: list[Route] = []


def route(method: str, template: str, needs: str = "") -> Callable[[Handler], Handler]:
    """Registers a handler. A last parameter that may hold slashes on GitHub (a reference, a range) takes all the rest."""

    def register(handler: Handler) -> Handler:
        pattern = re.sub(r"\{(ref|basehead|path)\}$", r"(?P<\1>.+)", template)
        pattern = re.sub(r"(?<!<)\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
        ROUTES.append(Route(method, template, re.compile(pattern), needs, handler))
        return handler

    return register


def found(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route of a request; those with the fewest parameters that take anything come first."""
    matches = [
        (one, match) for one in ROUTES if one.method == method and (match := one.pattern.fullmatch(path))
    ]
    if not matches:
        return None
    best, match = max(matches, key=lambda found: len(re.sub(r"\{\w+\}", "", found[0].template)))
    return best, match.groupdict()


def allowed_methods(path: str) -> list[str]:
    return [one.method for one in ROUTES if one.pattern.fullmatch(path)]
