"""Contexts of repositories that have a manifest."""

from collections.abc import Mapping
from textwrap import dedent

import msgspec

from audit.documents.finding import Status
from audit.profiles import detect, resolve
from audit.rules.catalogue import RULES, rule
from audit.rules.rule import Context, Outcome
from audit.state.manifest_reading import read_declared
from tests.rules.computed import audited

_ABOUT_THE_MANIFEST = frozenset("exec manifest model dataset gen prompt eval judge train privacy".split())
LEVEL_1 = tuple(each for each in RULES if each.level == 1 and each.category in _ABOUT_THE_MANIFEST)
"""The rules that ask what a manifest says, and not whether it is true."""


def with_manifest(manifest: str, files: Mapping[str, str] | None = None) -> Context:
    """The context of a repository with this manifest; the profiles that apply are those that it declares, else what the code surely is."""
    text = dedent(manifest)
    given = audited({"README.md": "# P\n", **(files or {}), "ml-audit.yaml": text})
    declared = read_declared(text.encode())
    detected = detect(given.repository, given.path, given.signals)
    sure = [each.profile for each in detected if each.confidence == "high"]
    kinds = {each.name: each for each in resolve(declared.manifest.profiles or sure)}
    return msgspec.structs.replace(given, declared=declared, kinds=kinds, detected=detected)


def told(identifier: str, manifest: str, files: Mapping[str, str] | None = None) -> list[Outcome]:
    return list(rule(identifier).check(with_manifest(manifest, files)))


def broken(identifier: str, manifest: str, files: Mapping[str, str] | None = None) -> list[Outcome]:
    """What failed."""
    return [each for each in told(identifier, manifest, files) if each.status is Status.FAIL]


def state(identifier: str, manifest: str, files: Mapping[str, str] | None = None) -> Status:
    (only,) = told(identifier, manifest, files)
    return only.status
