"""One setting, two values, in places that claim to describe one run. Only what a reader would call a contradiction."""

import ast
import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from audit.documents.place import Place
from audit.documents.signals import ConfigConflict, ConflictPlace, Signal
from audit.facts.python.model import Call
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_SAID = re.compile(
    r"\b(?:default(?:s? to| is| value is| value)?\s*[:=]?\s*|defaults to\s+)"
    r"(None|True|False|'[^']{1,60}'|\"[^\"]{1,60}\"|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=[\s)\],;.]|$)",
    re.I,
)
_IMAGE_PYTHON = re.compile(r"^(\d+\.\d+)")


def config_conflicts(repository: Repository, path: TrainingPath) -> Signal[tuple[ConfigConflict, ...]]:
    """Help texts that state another default than the code has; Python versions that exclude each other."""
    found = [*_help_texts(repository), *_python_versions(repository)]
    places = tuple(
        Place(p.path, p.line, f"{conflict.setting}: {p.value}") for conflict in found for p in conflict.places
    )
    return Signal(tuple(found), places[:6])


def _help_texts(repository: Repository) -> Iterator[ConfigConflict]:
    for file, facts in repository.code.items():
        for call in facts.calls:
            if call.name.rpartition(".")[2] != "add_argument" or "help" not in call.kwargs or not call.args:
                continue
            said, default = _stated(call), call.kwargs.get("default", "")
            if said and default and _differ(said, default):
                setting = call.args[-1].strip("'\"").lstrip("-")
                places = (
                    ConflictPlace(file, call.line, f"default={default}"),
                    ConflictPlace(file, call.line, f"help: default {said}"),
                )
                yield ConfigConflict(
                    setting, places, "the help text states another default than the code has"
                )


def _stated(call: Call) -> str:
    text = call.kwargs["help"]
    if "%(default)" in text or text.endswith("…'"):
        return ""
    match = _SAID.search(text.strip("'\""))
    return match[1] if match else ""


def _differ(said: str, default: str) -> bool:
    """Whether two literals stand for different values; False where either is no literal or the kinds do not compare."""
    try:
        have = ast.literal_eval(default)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    try:
        stated = ast.literal_eval(said)
    except (ValueError, SyntaxError):
        return False
    if isinstance(have, bool) != isinstance(stated, bool):
        return False
    if isinstance(have, (int, float)) and isinstance(stated, (int, float)):
        return abs(have - stated) > 1e-9 * max(abs(have), abs(stated), 1e-300)
    if isinstance(have, str) and isinstance(stated, (int, float)):
        return False
    return type(have) is type(stated) and have != stated


def _python_versions(repository: Repository) -> Iterator[ConfigConflict]:
    """A container whose Python the project's own requirement excludes."""
    declared = next(((f, m) for f, m in repository.manifests.items() if m.python and "/" not in f), None)
    if declared is None:
        return
    try:
        allowed = SpecifierSet(declared[1].python)
    except InvalidSpecifier:
        return
    for file, container in repository.containers.items():
        for image in container.images:
            match = _IMAGE_PYTHON.match(image.tag)
            if (
                image.image.rpartition("/")[2] != "python"
                or match is None
                or "/" in file.strip("./").replace("docker/", "")
            ):
                continue
            try:
                version = Version(match[1] + ".99")
            except InvalidVersion:
                continue
            if not allowed.contains(version) and not allowed.contains(Version(match[1] + ".0")):
                yield ConfigConflict(
                    "python",
                    (
                        ConflictPlace(declared[0], declared[1].python_line or None, declared[1].python),
                        ConflictPlace(file, image.line, f"python:{image.tag}"),
                    ),
                    "the container's Python is one that the project excludes",
                )
