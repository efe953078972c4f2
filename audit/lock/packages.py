"""Packages that the numbers depend on, in three columns: declared, locked, installed. Nothing is imported to know."""

import re
from collections.abc import Iterator, Mapping
from email.parser import BytesHeaderParser
from pathlib import Path as FilePath

from audit.documents.lock import LockSource, Path
from audit.documents.state import Confidence
from audit.facts.dependencies.line import normalise
from audit.lock.found import Answers, Found, Surroundings, exact, unresolved

_AT: Path = ("environment", "packages")
_MAX_METADATA = 1 * 2**20
_EXACT = re.compile(r"={2,3}\s*([A-Za-z0-9][\w.!+-]*)")


def resolve(around: Surroundings) -> Answers:
    """Each package's columns, and the digests of the dependency lock files."""
    answers: Answers = {}
    place = _environment(around)
    installed = dict(_versions(place)) if place else {}
    for name in sorted({*around.packages, *_backends(around)}):
        declared, locked = around.packages.get(name, ("", None))
        answers[(*_AT, name, "declared")] = _declared(declared)
        answers[(*_AT, name, "locked")] = (
            exact(locked, LockSource.REPOSITORY)
            if locked
            else unresolved(LockSource.REPOSITORY, "in no lock file")
        )
        if around.machine:
            answers[(*_AT, name, "installed")] = _installed(installed, name, place)
    for path in around.lockfiles:
        answers[("environment", "lockfiles", path)] = around.files.digest(path)
    return answers


def python_of(around: Surroundings) -> str | None:
    """The version of its Python, from its own description."""
    place = _environment(around)
    if place is None:
        return None
    head = _start(place / "pyvenv.cfg")
    if head is None:
        names = [folder.name for folder in place.glob("conda-meta/python-3*.json")]
        found = re.match(r"python-(\d+\.\d+\.\d+)", names[0]) if names else None
        return found[1] if found else None
    text = head.decode("utf-8", "replace")
    found = re.search(r"(?m)^version(?:_info)?\s*=\s*(\d+\.\d+(?:\.\d+)?)", text)
    return found[1] if found else None


def _environment(around: Surroundings) -> FilePath | None:
    """The active environment, else the one in the repository's folder. That of this program itself says nothing of the experiment's."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if (said := around.environ.get(name)) and FilePath(said).is_dir():
            return FilePath(said)
    for name in (".venv", "venv") if around.root else ():
        place = FilePath(around.root) / name
        if (place / "pyvenv.cfg").is_file() and not place.is_symlink():
            return place
    return None


def _versions(place: FilePath) -> Iterator[tuple[str, str]]:
    """(normalised name, version) of what is installed, by the metadata's folders."""
    for pattern in ("lib/python3*/site-packages/*.dist-info", "Lib/site-packages/*.dist-info"):
        for folder in sorted(place.glob(pattern)):
            data = _start(folder / "METADATA")
            if data is None:
                continue
            head = BytesHeaderParser().parsebytes(data)
            name, version = head.get("Name"), head.get("Version")
            if name and version:
                yield normalise(str(name)), str(version)[:100]


def _start(path: FilePath) -> bytes | None:
    """The start of a file, None where there is none. The environment may be the repository's: no pipe or device is waited for."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(_MAX_METADATA)
    except (OSError, ValueError):
        return None


def _backends(around: Surroundings) -> Iterator[str]:
    """Packages that the manifest names as backend or as metric implementation."""
    for leaf in ("inference.backend", "evaluation.implementation", "training.framework"):
        for path, said in around.declared.leaves.items():
            if (
                path.endswith(leaf)
                and isinstance(said.value, str)
                and re.fullmatch(r"[A-Za-z][\w.-]{0,60}", said.value)
            ):
                yield normalise(said.value)


def _declared(declared: str) -> Found:
    if not declared:
        return unresolved(LockSource.REPOSITORY, "declared nowhere")
    confidence = Confidence.EXACT if _EXACT.fullmatch(declared) else Confidence.DECLARED
    return Found(declared, LockSource.REPOSITORY, confidence)


def _installed(installed: Mapping[str, str], name: str, place: FilePath | None) -> Found:
    if place is None:
        return unresolved(LockSource.INSTALLED, "no environment is active, and none lies in the folder")
    if name not in installed:
        return unresolved(LockSource.INSTALLED, "not installed in the environment")
    return exact(installed[name], LockSource.INSTALLED)
