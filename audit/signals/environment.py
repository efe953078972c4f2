"""What the code runs in: manifests, locks, the Python version, critical packages, containers."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from audit.documents.place import Place
from audit.documents.signals import CriticalDependency, Signal
from audit.facts.classify import is_docs_path, is_test_path
from audit.facts.kinds import Kind
from audit.facts.model import ContainerFacts, DependencyFacts, LockFacts, Requirement, VersionFacts
from audit.signals.imports import distributions_of
from audit.signals.knowledge import knowledge
from audit.signals.repository import Repository, place

_PROJECT_FILES: Final = frozenset({Kind.PYPROJECT, Kind.SETUP_PY, Kind.SETUP_CFG, Kind.PIPFILE})
_LISTS: Final = frozenset({Kind.REQUIREMENTS, Kind.CONDA})
# Requirements of people who work on the code, not of the experiment.
_ASIDE: Final = re.compile(
    r"(?:^|[-_./])(?:dev|develop|test|tests|testing|docs?|lint|ci|style|build|workflow|constraints?)(?=[-_./]|$)"
)
# Where each Python version stands in for the others: what installers enforce comes first.
_VERSION_ORDER: Final = (
    Kind.PYPROJECT, Kind.SETUP_PY, Kind.SETUP_CFG, Kind.PYTHON_VERSION, Kind.CONDA, Kind.PIPFILE,
)  # fmt: skip


class _Source(msgspec.Struct, frozen=True, order=True):
    """How much a file's word about a dependency weighs: by what it is, then by whether it speaks for a part alone."""

    rank: int
    part: int


class _Declaration(msgspec.Struct, frozen=True):
    """One declaration of one package; `where` says what kind of file makes it, "" for a manifest."""

    source: _Source
    path: str
    requirement: Requirement
    where: str


# Manifests ----------------------------------------------------------------------------------------------------------


def dependency_manifest(repository: Repository) -> Signal[tuple[str, ...]]:
    """The files that declare the repository's dependencies, those nearest to the root first; documents' and tests' own left out."""
    found = tuple(manifests(repository))
    return Signal(found, tuple(place(path, _first_line(repository.manifests[path])) for path in found[:2]))


def manifests(repository: Repository) -> dict[str, DependencyFacts]:
    """The manifests of the code itself."""
    return {path: body for path, body in repository.manifests.items() if not _is_aside_folder(path)}


def _is_aside_folder(path: str) -> bool:
    return is_docs_path(path) or is_test_path(path) or path.startswith(".")


def _first_line(body: DependencyFacts) -> int | None:
    return min((r.line for r in body.requirements), default=None)


# Python version -----------------------------------------------------------------------------------------------------


def python_version(repository: Repository) -> Signal[str | None]:
    """The Python version that a machine-readable file asks for, as written; prose and CI matrices are none."""
    found: list[tuple[int, int, str, str, int]] = []
    for path, facts in repository.facts.items():
        body = facts.body
        if not isinstance(body, DependencyFacts | VersionFacts) or not body.python:
            continue
        if repository.is_vendored(path) or ("/" in path and _is_aside_folder(path)):
            continue
        kind = repository.kinds[path]
        order = _VERSION_ORDER.index(kind) if kind in _VERSION_ORDER else len(_VERSION_ORDER)
        line = body.python_line if isinstance(body, DependencyFacts) else body.line
        version = _plain_version(body.python) if kind is Kind.CONDA else body.python
        found.append((path.count("/"), order, path, version, line))
    found.sort()
    evidence = tuple(place(path, line, version) for _, _, path, version, line in found[:2])
    return Signal(found[0][3] if found else None, evidence)


def _plain_version(specifier: str) -> str:
    """`=3.8.5=h7579374_1` of a conda file as 3.8.5; other operators are kept."""
    return re.sub(r"^=(?!=)([^=]*)(?:=.*)?$", r"\1", specifier.strip())


# Lock ---------------------------------------------------------------------------------------------------------------


def lockfile(repository: Repository) -> Signal[str]:
    """ "full" where every package that the code runs with has one version, "partial" where that holds for a part, else "none"."""
    locks = own_locks(repository)
    whole = [path for path in locks if _covers_repository(path, repository)]
    if whole:
        return Signal("full", tuple(place(path, None, locks[path].format) for path in whole[:2]))
    exact = {
        path: found for path in manifests(repository) if (found := _exact_list(path, repository)) is not None
    }
    needed = _needed_critical(repository)
    for path, names in exact.items():
        alone = len(manifests(repository)) == 1
        if (
            path.count("/") <= 1
            and (alone or not _is_sub_project(path, repository))
            and _covers(names, needed)
        ):
            return Signal("full", (place(path, 1, "every line is exact"),))
    partial = [place(path, None, "lock of a part") for path in locks]
    partial += [
        place(path, 1, "every line is exact, but not all packages are listed")
        for path, names in exact.items()
        if _covers_a_part(path, names, needed, repository)
    ]
    if not partial:
        partial = _mostly_exact(repository)
    return Signal("partial" if partial else "none", tuple(partial[:2]))


def own_locks(repository: Repository) -> dict[str, LockFacts]:
    """The lock files of Python packages, nearest to the root first."""
    found = [(path, body) for path, body in repository.bodies(LockFacts) if not _is_aside_folder(path)]
    return dict(sorted(found, key=lambda item: (item[0].count("/"), item[0])))


def _covers_repository(path: str, repository: Repository) -> bool:
    """Whether a lock is the repository's, not that of a helper: at the root, beside the only project, or in a folder of environments."""
    folder = path.rpartition("/")[0]
    if not folder:
        return True
    if not _is_sub_project(path, repository):
        return path.rpartition("/")[2] not in ("uv.lock", "poetry.lock", "pdm.lock")
    return all(other.startswith(folder + "/") for other in repository.code) and bool(repository.code)


def _is_sub_project(path: str, repository: Repository) -> bool:
    """Whether the folder of `path`, below the root, holds a project of its own."""
    folder = path.rpartition("/")[0]
    if not folder:
        return False
    return any(
        kind in _PROJECT_FILES and other.rpartition("/")[0] == folder
        for other, kind in repository.kinds.items()
    ) or any(other.rpartition("/")[0] == folder for other in repository.code)


def _exact_list(path: str, repository: Repository) -> frozenset[str] | None:
    """The names in a list of requirements, its includes followed, where each asks for one version; None otherwise."""
    if repository.kinds.get(path) not in _LISTS or _ASIDE.search(path.lower()):
        return None
    names: set[str] = set()
    queue, seen = [path], {path}
    while queue:
        current = queue.pop()
        body = repository.manifests.get(current)
        if body is None or body.invalid or not body.requirements:
            return None
        if not body.conda_export and not all(_asks_for_one(r) or _is_local(r) for r in body.requirements):
            return None
        names.update(_canonical(r.name) for r in body.requirements)
        for include in body.includes:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(current), include))
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return frozenset(names)


def _is_local(requirement: Requirement) -> bool:
    """Whether a requirement is a folder of this repository."""
    return requirement.url.startswith((".", "file:."))


def _asks_for_one(requirement: Requirement) -> bool:
    """`==`, a wheel, a commit; `name=1.2.3` of a conda file, too: three parts leave only the build open."""
    if requirement.exact:
        return True
    return (
        requirement.source == "conda"
        and re.fullmatch(r"=\d+(?:\.\w+){2,}", requirement.specifier.replace(" ", "")) is not None
    )


def _needed_critical(repository: Repository) -> dict[str, tuple[str, ...]]:
    """Critical packages that the code cannot do without: import name -> distributions."""
    own = _own_names(repository)
    return {
        name: distributions
        for name, item in repository.imported.items()
        if item.needed
        and (distributions := distributions_of(name))
        and _critical_of(distributions)
        and own.isdisjoint(distributions)
    }


def _covers(names: frozenset[str], needed: dict[str, tuple[str, ...]]) -> bool:
    return all(not names.isdisjoint(map(_canonical, distributions)) for distributions in needed.values())


def _covers_a_part(
    path: str, names: frozenset[str], needed: dict[str, tuple[str, ...]], repository: Repository
) -> bool:
    """Whether an exact list fixes what numbers depend on: of a sub-project, or half of what the code cannot do without. The list of one
    optional feature fixes nothing."""
    if not any(name in _critical() for name in names):
        return False
    covered = sum(not names.isdisjoint(map(_canonical, each)) for each in needed.values())
    return 2 * covered >= len(needed) or _is_sub_project(path, repository)


def _mostly_exact(repository: Repository) -> list[Place]:
    """Places of exact critical packages, where at least half of those declared are."""
    declared = {
        name: rows
        for name, rows in _declarations(repository).items()
        if name in _critical() and rows[0].source.rank == _MANIFEST
    }
    exact = [rows[0] for rows in declared.values() if _is_exact(rows)]
    if not exact or 2 * len(exact) < len(declared):
        return []
    return [place(row.path, row.requirement.line, f"{row.requirement.name} is exact") for row in exact]


# Critical packages ------------------------------------------------------------------------------------------------------

_MANIFEST, _CONTAINER, _SCRIPT, _README, _IMAGE, _DOCS, _NOTEBOOK = range(7)


def critical_dependencies(repository: Repository) -> Signal[dict[str, CriticalDependency]]:
    """The packages that the experiment's numbers depend on: how each is declared, and whether that is one version.

    Of several declarations those in the weightiest files decide (manifests at the top before those of parts, then
    containers, scripts, README, documents, notebooks); all of them are told.
    """
    own = _own_names(repository)
    declarations = {
        n: rows for n, rows in _declarations(repository).items() if n in _critical() and n not in own
    }
    locked = [(path, body) for path, body in own_locks(repository).items()]
    found: dict[str, CriticalDependency] = {}
    places: dict[str, Place] = {}
    for name, rows in declarations.items():
        found[name] = CriticalDependency(_told(rows), _is_exact(rows), _locked(name, locked))
        places[name] = place(
            rows[0].path, rows[0].requirement.line, f"{name} {_spelled(rows[0].requirement)}"
        )
    for name, item in repository.imported.items():
        distributions = [_canonical(each) for each in distributions_of(name)]
        if not own.isdisjoint(distributions) or any(each in declarations for each in distributions):
            continue
        critical = _critical_of(distributions)
        if critical and critical not in found:
            found[critical] = CriticalDependency("imported, not declared", False, _locked(critical, locked))
            places[critical] = place(
                item.place.path, item.place.line, f"{critical} is imported, not declared"
            )
    ordered = dict(sorted(found.items()))
    return Signal(ordered, _shown(ordered, places))


def _shown(found: dict[str, CriticalDependency], places: dict[str, Place]) -> tuple[Place, ...]:
    """The most telling places first: packages without an exact version."""
    return tuple(places[name] for name in sorted(found, key=lambda name: (found[name].exact, name)))[:4]


def _declarations(repository: Repository) -> dict[str, list[_Declaration]]:
    """All declarations by package, the weightiest first."""
    found: dict[str, list[_Declaration]] = defaultdict(list)
    for row in _all_declarations(repository):
        found[_canonical(row.requirement.name)].append(row)
    return {
        name: sorted(rows, key=lambda r: (r.source, r.path, r.requirement.line))
        for name, rows in found.items()
    }


def _all_declarations(repository: Repository) -> Iterator[_Declaration]:
    def rows(rank: int, path: str, requirements: Iterable[Requirement], where: str) -> Iterator[_Declaration]:
        source = _Source(rank, int(rank == _MANIFEST and not _stands_at_the_top(path)))
        yield from (_Declaration(source, path, requirement, where) for requirement in requirements)

    for path, manifest in manifests(repository).items():
        yield from rows(_MANIFEST, path, manifest.requirements, "")
    for path, container in repository.containers.items():
        yield from rows(_CONTAINER, path, container.requirements, "Dockerfile")
        yield from rows(_IMAGE, path, _brought(container), "base image")
    for path, script in repository.scripts.items():
        if not path.startswith("."):
            yield from rows(_SCRIPT, path, script.requirements, "install script")
    for path, docs in repository.docs.items():
        of_readme = path == repository.readme
        yield from rows(
            _README if of_readme else _DOCS,
            path,
            docs.requirements,
            "README pip line" if of_readme else "document",
        )
    for path, notebook in {} if repository.code else repository.notebooks.items():
        yield from rows(_NOTEBOOK, path, notebook.requirements, "notebook pip line")


def _brought(container: ContainerFacts) -> Iterator[Requirement]:
    """What the base images of a container bring along: one version only where a digest says so, since tags move."""
    for image in container.images:
        name = "/".join(image.image.split("/")[-2:]).lower()
        for package in knowledge().images.get(name, ()):
            written = (
                f"{image.image}@{image.digest[:19]}"
                if image.digest
                else f"{image.image}:{image.tag or 'latest'}"
            )
            yield Requirement(package, written, bool(image.digest), image.line, source="docker")


def _stands_at_the_top(path: str) -> bool:
    """Whether a manifest lies at the root or in a folder for such lists at the root."""
    folder = path.rpartition("/")[0].lower()
    return folder in (
        "",
        "requirements",
        "requirement",
        "reqs",
        "envs",
        "environments",
        "environment",
        "conda",
        "install",
    )


def _deciding(rows: list[_Declaration]) -> list[_Declaration]:
    return [row for row in rows if row.source == rows[0].source]


def _is_exact(rows: list[_Declaration]) -> bool:
    return all(_asks_for_one(row.requirement) for row in _deciding(rows))


def _told(rows: list[_Declaration]) -> str:
    """The declarations as a reader would say them, each once, with the file where there are several."""
    several = len({_spelled(row.requirement) for row in rows}) > 1
    told: dict[str, None] = {}
    for row in rows:
        parts = [f"extra {row.requirement.group}"] if row.requirement.group else []
        parts += [_spelled(row.requirement), *([row.where] if row.where else [])]
        told[", ".join(parts) + (f" ({row.path})" if several else "")] = None
    shown = list(told)[:4]
    return "; ".join(shown) + (f"; and {len(told) - 4} more" if len(told) > 4 else "")


def _spelled(requirement: Requirement) -> str:
    if requirement.commit:
        return f"commit {requirement.commit[:12]}"
    if requirement.url:
        return "wheel" if requirement.exact else "address without a commit"
    return requirement.specifier or "unversioned"


def _locked(name: str, locks: list[tuple[str, LockFacts]]) -> str | None:
    return next((version for _, body in locks if (version := body.packages.get(name))), None)


def _own_names(repository: Repository) -> frozenset[str]:
    """The distribution names of the repository itself: it does not depend on them."""
    names = {
        body.name for path, body in repository.bodies(DependencyFacts) if body.name and path.count("/") <= 1
    }
    return frozenset(_canonical(name) for name in names)


def _canonical(name: str) -> str:
    name = re.sub(r"[-_.]+", "-", name).lower()
    return knowledge().aliases.get(name, name)


def _critical() -> frozenset[str]:
    return knowledge().critical


def _critical_of(distributions: Iterable[str]) -> str | None:
    return next((name for name in distributions if _canonical(name) in _critical()), None)


# Container --------------------------------------------------------------------------------------------------------------


def container(repository: Repository) -> Signal[bool]:
    """Whether an environment is described as a container: Dockerfile, development container, compose file, Apptainer definition."""
    found = [
        (path, body) for path, body in repository.containers.items() if _describes(path, body, repository)
    ]
    found.sort(key=lambda item: (item[0].count("/"), item[0]))
    places = [
        place(path, body.images[0].line, body.images[0].image) if body.images else place(path, 1)
        for path, body in found
    ]
    return Signal(bool(found), tuple(places[:2]))


def _describes(path: str, body: ContainerFacts, repository: Repository) -> bool:
    """Whether a file is a container's description; `.def` is the ending of other things, too."""
    named = repository.kinds.get(path) is Kind.DOCKERFILE and not path.endswith(".def")
    return not is_test_path(path) and bool(body.images or body.commands or named)
