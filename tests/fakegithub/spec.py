"""GitHub's own OpenAPI description: fetched from npm at test time, cut down to the endpoints in use, and turned into JSON
schemas.

The package is `@octokit/openapi`; its unpacked file for api.github.com has 13 MB and is kept in a cache outside the tree.
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
from pathlib import Path
from typing import Any

VERSION = "23.0.2"
PACKAGE = "@octokit/openapi"
_MEMBER = "package/generated/api.github.com.json"
_SHA256 = "829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a"
_SECONDS = 180
_COMBINED = ("oneOf", "anyOf", "allOf")


class SpecUnavailableError(Exception):
    """The description could not be fetched; the text says why."""


# Where the description is narrower than GitHub: the repository of a pull request whose fork was deleted is null.
_MAY_BE_NULL = (("pull-request", "head", "repo"), ("pull-request-simple", "head", "repo"))


def load() -> dict[str, Any]:
    """The whole description, mended where GitHub is known to answer otherwise. Raises SpecUnavailableError."""
    kept = _cache() / f"octokit-openapi-{VERSION}.json"
    with _locked(kept.with_suffix(".lock")):
        if not kept.exists() or _digest(kept) != _SHA256:
            _fetch(kept)
    told = json.loads(kept.read_bytes())
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


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fetch(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SpecUnavailableError(f"npm is not installed, so {PACKAGE} cannot be fetched")
    with tempfile.TemporaryDirectory(prefix="octokit-openapi-") as folder:
        command = [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise SpecUnavailableError(f"npm pack {PACKAGE} took longer than {_SECONDS} s") from None
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            raise SpecUnavailableError(f"npm pack {PACKAGE} failed: {done.stderr.strip()[-300:]}")
        with tarfile.open(packed) as tar:
            member = tar.extractfile(_MEMBER)
            if member is None:
                raise SpecUnavailableError(f"{PACKAGE}@{VERSION} holds no {_MEMBER}")
            content = member.read()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise SpecUnavailableError(f"{PACKAGE}@{VERSION} is not the file that was pinned")
    fresh = kept.with_suffix(f".{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(kept)


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
