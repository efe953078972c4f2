"""GitHub's own descriptions of its API: OpenAPI for REST, an SDL for GraphQL. They are fetched from npm at test time.

Of the packages, which unpack to hundreds of megabytes, one file each is kept, in a cache outside the tree. What OpenAPI
says of the endpoints in use becomes JSON schemas.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Member:
    """One file of an npm package, pinned."""

    package: str
    version: str
    path: str
    sha256: str


REST = Member(
    "@octokit/openapi",
    "23.0.2",
    "package/generated/api.github.com.json",
    "829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a",
)
ENTERPRISE = Member(
    "@octokit/openapi",
    "23.0.2",
    "package/generated/ghes-3.17.json",
    "b33124aa711a44f1de05c9ad49e7ef473b65cacfd0c8369fd8418ba798707dcb",
)
GRAPHQL = Member(
    "@octokit/graphql-schema",
    "15.26.1",
    "package/schema.graphql",
    "3c62d0526d133cee53221c89de9b455ade24db78b9e7ad56d642c4c15bce2654",
)
_SECONDS = 180
_COMBINED = ("oneOf", "anyOf", "allOf")


class SpecUnavailableError(Exception):
    """A description could not be fetched; the text says why."""


def fetched(member: Member) -> bytes:
    """The file's content, from the cache or from npm. Raises SpecUnavailableError."""
    name = f"{member.package.strip('@').replace('/', '-')}-{member.version}-{member.path.rpartition('/')[2]}"
    kept = _cache() / name
    with _locked(kept.with_suffix(".lock")):
        if kept.exists() and _digest(content := kept.read_bytes()) == member.sha256:
            return content
        content = _from_npm(member)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(content)
        fresh.replace(kept)
        return content


# Where the description is narrower than GitHub: the repository of a pull request whose fork was deleted is null.
_MAY_BE_NULL = (("pull-request", "head", "repo"), ("pull-request-simple", "head", "repo"))


def load(member: Member) -> dict[str, Any]:
    """A whole description, mended where GitHub is known to answer otherwise. Raises SpecUnavailableError."""
    told = json.loads(fetched(member))
    assert isinstance(told, dict)
    for component, *path in _MAY_BE_NULL:
        schema = told["components"]["schemas"][component]
        for name in path[:-1]:
            schema = schema["properties"][name]
        properties = schema["properties"]
        properties[path[-1]] = {"oneOf": [properties[path[-1]]], "nullable": True}
    return told


def _cache() -> Path:
    base = os.environ.get("ML_AUDIT_TEST_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "ml-audit-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process fetches, its neighbours wait for it."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _from_npm(member: Member) -> bytes:
    npm = shutil.which("npm")
    if npm is None:
        raise SpecUnavailableError(f"npm is not installed, so {member.package} cannot be fetched")
    with tempfile.TemporaryDirectory(prefix="npm-pack-") as folder:
        command = [npm, "pack", "--silent", f"{member.package}@{member.version}"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise SpecUnavailableError(f"npm pack {member.package} took longer than {_SECONDS} s") from None
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            raise SpecUnavailableError(f"npm pack {member.package} failed: {done.stderr.strip()[-300:]}")
        with tarfile.open(packed) as tar:
            file = tar.extractfile(member.path)
            content = file.read() if file else b""
    if _digest(content) != member.sha256:
        raise SpecUnavailableError(
            f"{member.path} of {member.package}@{member.version} is not what was pinned"
        )
    return content


class Schemas:
    """Turns schemas of OpenAPI 3.0 into JSON schemas (2020-12) that name their parts as `#/$defs/...`.

    Objects are closed: a property that the description does not know is an error, as GitHub would ignore it in a request
    and never sends it in an answer. Parts of an `allOf` stay open, as each knows only its own properties.
    """

    def __init__(self, description: dict[str, Any]) -> None:
        self._components: dict[str, Any] = description["components"]["schemas"]
        self._defs: dict[str, Any] = {}

    def document(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A schema that stands alone: with every part that it reaches."""
        self._defs = {}
        converted = self._converted(schema, closed=True)
        return {**converted, "$defs": self._defs}

    def _converted(self, schema: dict[str, Any], *, closed: bool) -> dict[str, Any]:
        if "$ref" in schema:
            return {"$ref": self._reference(schema["$ref"].rpartition("/")[2], closed)}
        # Beside properties, a branch only adds conditions to them.
        branches_closed = closed and "allOf" not in schema and "properties" not in schema
        result: dict[str, Any] = {}
        for key, value in schema.items():
            if key == "properties":
                result[key] = {name: self._converted(part, closed=True) for name, part in value.items()}
            elif key == "items" or (key == "additionalProperties" and isinstance(value, dict)):
                result[key] = self._converted(value, closed=True)
            elif key in _COMBINED:
                result[key] = [self._converted(part, closed=branches_closed) for part in value]
            elif key in _KEPT:
                result[key] = value
        if closed and "properties" in result and "allOf" not in result:
            result.setdefault("additionalProperties", False)
        return _nullable(result) if schema.get("nullable") else result

    def _reference(self, name: str, closed: bool) -> str:
        kept = name if closed else f"{name}~open"
        if kept not in self._defs:
            self._defs[kept] = {}
            self._defs[kept] = self._converted(self._components[name], closed=closed)
        return "#/$defs/" + kept.replace("~", "~0").replace("/", "~1")


_KEPT = frozenset(
    "type enum required minLength maxLength minItems maxItems minimum maximum pattern format uniqueItems "
    "minProperties maxProperties additionalProperties".split()
)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0's `nullable`; where an `enum` stands beside it, null belongs to its values."""
    if "type" in schema and not any(key in schema for key in _COMBINED):
        schema = {**schema, "type": [schema["type"], "null"]}
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
