"""Is a request, and is an answer, one that GitHub's own description allows?"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jsonschema_rs

from .spec import GRAPHQL, REST, Member, Schemas, fetched, load

if TYPE_CHECKING:
    from graphql import GraphQLSchema

# Statuses that GitHub gives anywhere, whether or not an endpoint's description lists them.
_ANYWHERE = frozenset(
    {301, 302, 304, 307, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 500, 502, 503, 504}
)


class Operation:
    """One method of one endpoint, with its validators; they are built on first use."""

    def __init__(self, description: dict[str, Any], template: str, method: str) -> None:
        self.name = f"{method} {template}"
        self._schemas = Schemas(description)
        self._components = description["components"]
        described = description["paths"][template]
        told = described[method.lower()]
        parameters = [
            self._looked_up(one) for one in (*described.get("parameters", ()), *told.get("parameters", ()))
        ]
        self._path = {one["name"]: one["schema"] for one in parameters if one["in"] == "path"}
        self._query = {one["name"]: one for one in parameters if one["in"] == "query"}
        self._body = told.get("requestBody")
        self._responses: dict[str, Any] = told["responses"]
        self._built: dict[str, jsonschema_rs.Validator] = {}

    def _looked_up(self, part: dict[str, Any]) -> dict[str, Any]:
        reference = part.get("$ref")
        if reference is None:
            return part
        _, _, kind, name = reference.split("/")
        found = self._components[kind][name]
        assert isinstance(found, dict)
        return found

    def _errors(self, key: str, schema: dict[str, Any], value: object) -> Iterable[str]:
        validator = self._built.get(key)
        if validator is None:
            validator = jsonschema_rs.validator_for(
                {"$schema": "https://json-schema.org/draft/2020-12/schema", **self._schemas.document(schema)},
                validate_formats=True,
                mask="it",
            )
            self._built[key] = validator
        for error in validator.iter_errors(value):
            place = "/".join(str(step) for step in error.instance_path) or "(whole)"
            yield f"{place}: {error.message[:300]} (it is {repr(error.instance)[:80]})"

    def request_errors(
        self, path: Mapping[str, str], query: Mapping[str, list[str]], body: bytes
    ) -> list[str]:
        """What is wrong with a request: path and query parameters as text, the body as it came."""
        errors = []
        for name, schema in self._path.items():
            text = unquote(path[name])
            errors += [
                f"path parameter {name}: {one}"
                for one in self._errors(f"path {name}", schema, _typed(schema, text))
            ]
        for name, values in query.items():
            if name not in self._query:
                errors.append(f"query parameter {name}: the endpoint has none of this name")
                continue
            if len(values) > 1:
                errors.append(f"query parameter {name}: given {len(values)} times")
            schema = self._query[name]["schema"]
            errors += [
                f"query parameter {name}: {one}"
                for one in self._errors(f"query {name}", schema, _typed(schema, values[0]))
            ]
        errors += [
            f"query parameter {name}: missing"
            for name, one in self._query.items()
            if one.get("required") and name not in query
        ]
        return errors + self._body_errors(body)

    def _body_errors(self, body: bytes) -> list[str]:
        if self._body is None:
            return ["body: the endpoint takes none"] if body and body != b"null" else []
        if not body:
            return ["body: missing"] if self._body.get("required") else []
        try:
            value = json.loads(body)
        except ValueError as error:
            return [f"body: not JSON ({error})"]
        return [
            f"body {one}"
            for one in self._errors("body", self._body["content"]["application/json"]["schema"], value)
        ]

    def answer_errors(self, status: int, media_type: str, body: bytes) -> list[str]:
        """What is wrong with an answer of the fake's own making."""
        response = self._responses.get(str(status))
        if response is None:
            return [] if status in _ANYWHERE else [f"status {status}: the description knows no such answer"]
        content: dict[str, Any] = self._looked_up(response).get("content", {})
        if not content:
            return [f"status {status}: has a body, and the description none"] if body and status < 300 else []
        kind = media_type.split(";", maxsplit=1)[0]
        described = content.get(kind)
        if described is None:
            return [f"status {status}: is {kind}, the description knows {', '.join(content)}"]
        if kind != "application/json":
            return []
        return [
            f"answer {status} {one}"
            for one in self._errors(f"answer {status}", described["schema"], json.loads(body))
        ]


def _typed(schema: Mapping[str, Any], text: str) -> object:
    """A parameter's text as the type that its schema names, as it is where it is no such thing."""
    if schema.get("type") == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if schema.get("type") == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


class Contract:
    """The operations of the endpoints that the fake has, and GitHub's GraphQL schema."""

    def __init__(self, member: Member = REST) -> None:
        """Raises SpecUnavailableError."""
        self._description = load(member)
        self._sdl = fetched(GRAPHQL)
        self._operations: dict[tuple[str, str], Operation] = {}

    @cached_property
    def graphql(self) -> "GraphQLSchema":
        """Parsed on first use: it takes most of a second."""
        from .graphql import load_schema

        return load_schema(self._sdl)

    def operation(self, method: str, template: str) -> Operation:
        """Raises KeyError where GitHub has no such endpoint."""
        key = (method, template)
        if key not in self._operations:
            self._operations[key] = Operation(self._description, template, method)
        return self._operations[key]
