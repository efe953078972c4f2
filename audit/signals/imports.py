"""Which packages from outside the repository its code imports."""

from collections.abc import Iterator, Mapping

import msgspec

from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_example_path
from audit.facts.python.model import PythonFacts
from audit.signals.knowledge import knowledge
from audit.signals.modules import ModuleIndex
from audit.signals.repository import Repository, place


class Imported(msgspec.Struct, frozen=True):
    """An import name ("torch", "google.genai") with its first place. `needed`: somewhere it is imported without a guard
    against its absence, outside of examples."""

    name: str
    place: Place
    needed: bool


def imported_packages(repository: Repository) -> dict[str, Imported]:
    """Packages from outside that the repository's own code imports, tests and documents left out, by import name.

    A name with a distribution of its own below a shared one (`google.genai`) is told whole.
    """
    outside = _Outside(repository)
    found: dict[str, Imported] = {}
    for path, facts in _sources(repository):
        shown = is_example_path(path)
        for name, line, guarded in outside.imports(path, facts):
            needed = not guarded and not shown
            known = found.get(name)
            if known is None or (needed and not known.needed):
                found[name] = Imported(name, place(path, line, f"imports {name}"), needed)
    return found


def distributions_of(name: str) -> tuple[str, ...]:
    """The distributions (normalised names) that can provide the import `name`, the likeliest first."""
    return knowledge().distributions.get(name) or (name.lower().replace("_", "-"),)


def _sources(repository: Repository) -> Iterator[tuple[str, PythonFacts]]:
    """Python files; notebooks count where there is nothing else."""
    if repository.code:
        yield from repository.code.items()
        return
    for path, notebook in repository.notebooks.items():
        if not is_docs_path(path):
            yield path, notebook.code


class _Outside:
    """Tells imports that lead out of the repository; what a folder's files mean by a name is found once."""

    def __init__(self, repository: Repository) -> None:
        self._index = ModuleIndex(repository.python)
        self._names: dict[tuple[str, str], str] = {}

    def imports(self, path: str, facts: PythonFacts) -> Iterator[tuple[str, int, bool]]:
        """(import name, line, guarded) of each import from outside."""
        folder = path.rpartition("/")[0]
        for item in facts.imports:
            if not item.module or item.module.startswith("."):
                continue
            full = f"{item.module}.{item.name}" if item.name and item.name != "*" else item.module
            name = self._names.get((folder, full))
            if name is None:
                within = self._index.resolve(item.module, path)[0] is not None
                name = self._names[folder, full] = "" if within else _package(full)
            if name:
                yield name, item.line, item.guarded


def _package(full: str) -> str:
    """The import name that has a distribution of its own: `google.genai` whole, else the first part."""
    known: Mapping[str, tuple[str, ...]] = knowledge().distributions
    parts = full.split(".")
    longer = (".".join(parts[:size]) for size in range(min(3, len(parts)), 1, -1))
    return next((name for name in longer if name in known), parts[0])
