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
    index = ModuleIndex(repository.python)
    found: dict[str, Imported] = {}
    for path, facts in _sources(repository):
        shown = is_example_path(path)
        for name, line, guarded in _outside(path, facts, index):
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


def _outside(path: str, facts: PythonFacts, index: ModuleIndex) -> Iterator[tuple[str, int, bool]]:
    known: Mapping[str, tuple[str, ...]] = knowledge().distributions
    for item in facts.imports:
        if item.module.startswith(".") or not item.module:
            continue
        if index.resolve(item.module, path)[0] is not None:
            continue
        full = f"{item.module}.{item.name}" if item.name and item.name != "*" else item.module
        parts = full.split(".")
        whole = next(
            (
                ".".join(parts[:size])
                for size in (3, 2)
                if ".".join(parts[:size]) in known and size <= len(parts)
            ),
            "",
        )
        yield whole or parts[0], item.line, item.guarded
