"""GitHub's own descriptions: where they come from, what a machine without them does, and how they become JSON schemas."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.fakegithub import Contract, SpecUnavailableError, fixtures, spec
from tests.fakegithub.routing import ROUTES


def test_without_npm_a_laptop_skips_and_ci_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ML_AUDIT_TEST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpecUnavailableError, match="npm is not installed"):
        spec.load(spec.REST)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not available: npm is not installed"):
        fixtures._contract(spec.REST)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="not available: npm is not installed"):
        fixtures._contract(spec.REST)


def _npm(folder: Path, script: str) -> None:
    npm = folder / "npm"
    npm.write_text(f"#!/bin/sh\n{script}\n")
    npm.chmod(0o755)


def test_an_npm_that_fails_and_one_that_gives_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tarfile

    monkeypatch.setenv("ML_AUDIT_TEST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    _npm(tmp_path, "echo no such registry >&2; exit 1")
    with pytest.raises(SpecUnavailableError, match="no such registry"):
        spec.fetched(spec.GRAPHQL)
    (tmp_path / "schema.graphql").write_text("type Query { other: Int }")
    with tarfile.open(tmp_path / "other.tgz", "w:gz") as tar:
        tar.add(tmp_path / "schema.graphql", spec.GRAPHQL.path)
    _npm(tmp_path, f"cp {tmp_path}/other.tgz .")
    with pytest.raises(SpecUnavailableError, match="is not what was pinned"):
        spec.fetched(spec.GRAPHQL)


def test_what_is_kept_is_checked_again(
    tmp_path: Path, github_contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = spec._cache() / "octokit-graphql-schema-15.26.1-schema.graphql"
    monkeypatch.setenv("ML_AUDIT_TEST_CACHE", str(tmp_path))
    copy = spec._cache() / kept.name
    copy.write_bytes(kept.read_bytes())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert spec.fetched(spec.GRAPHQL).startswith(kept.read_bytes()[:100])
    copy.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(SpecUnavailableError):
        spec.fetched(spec.GRAPHQL)


def test_every_route_is_one_of_githubs(github_contract: Contract, enterprise_contract: Contract) -> None:
    for contract in (github_contract, enterprise_contract):
        for route in ROUTES:
            assert contract.operation(route.method, route.template).name == f"{route.method} {route.template}"


COMPONENTS: dict[str, Any] = {
    "leaf": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    "kind": {"type": "string", "enum": ["x", "y"], "nullable": True},
    "both": {"allOf": [{"$ref": "#/components/schemas/leaf"}, {"type": "object", "properties": {"b": {"type": "integer"}}}]},
    "loop": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/loop"}}},
    "maybe": {"anyOf": [{"$ref": "#/components/schemas/leaf"}], "nullable": True},
    "when": {
        "type": "object",
        "properties": {"state": {"type": "string"}, "end": {"type": "string"}},
        "anyOf": [{"properties": {"state": {"enum": ["done"]}}, "required": ["end"]}, {"properties": {"state": {"enum": ["open"]}}}],
    },
    "map": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/leaf"}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("component", "value", "valid"),
    [
        ("leaf", {"a": "t"}, True),
        ("leaf", {"a": "t", "b": 1}, False),
        ("leaf", None, False),
        ("kind", None, True),
        ("kind", "z", False),
        ("both", {"a": "t", "b": 1}, True),
        ("both", {"a": "t", "b": "1"}, False),
        ("loop", {"next": {"next": {}}}, True),
        ("loop", {"next": {"other": {}}}, False),
        ("maybe", None, True),
        ("maybe", {"a": 1}, False),
        ("when", {"state": "done", "end": "now"}, True),
        ("when", {"state": "done"}, False),
        ("when", {"state": "open"}, True),
        ("when", {"state": "open", "more": 1}, False),
        ("map", {"any": {"a": "t"}}, True),
        ("map", {"any": {"a": 1}}, False),
    ],
)
def test_schemas_of_openapi_become_json_schemas(component: str, value: Any, valid: bool) -> None:
    schemas = spec.Schemas({"components": {"schemas": COMPONENTS}})
    document = schemas.document({"$ref": f"#/components/schemas/{component}"})
    assert jsonschema_rs.validator_for(document).is_valid(value) is valid
