"""The repository as the signals see it: facts by path and kind, and which part of the tree is whose."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_own_document, is_test_path, is_vendored_path
from audit.facts.collect import Collection
from audit.facts.kinds import Kind
from audit.facts.model import (
    CiFacts,
    ConfigFacts,
    ContainerFacts,
    DependencyFacts,
    DocsFacts,
    FileFacts,
    NotebookFacts,
    PythonFacts,
    ScriptFacts,
)
from audit.source.snapshot import EntryKind, Snapshot

if TYPE_CHECKING:
    from audit.signals.imports import Imported

B = TypeVar("B")


class Repository:
    """One snapshot with its facts. Everything derived is computed once, when first asked for."""

    def __init__(self, snapshot: Snapshot, collection: Collection) -> None:
        self.snapshot = snapshot
        self.facts = collection.facts
        self.kinds = collection.kinds

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """All files of the snapshot, whatever their kind, in its order."""
        return tuple(entry.path for entry in self.snapshot.entries if entry.kind is not EntryKind.SUBMODULE)

    @cached_property
    def path_set(self) -> frozenset[str]:
        return frozenset(self.paths)

    def bodies(self, kind: type[B]) -> Iterator[tuple[str, B]]:
        """Facts of one type, by path, vendored trees left out."""
        for path, facts in self.facts.items():
            if isinstance(facts.body, kind) and not self.is_vendored(path):
                yield path, facts.body

    # Whose file ------------------------------------------------------------------------------------------------

    @cached_property
    def vendored_folders(self) -> tuple[str, ...]:
        """Folders (with a trailing slash) that hold somebody else's project: a nested manifest of a well-known library."""
        from audit.signals.vendored import vendored_folders

        return vendored_folders(self)

    def is_vendored(self, path: str) -> bool:
        """Whether the file is a copy of somebody else's code."""
        return is_vendored_path(path) or path.startswith(self.vendored_folders)

    @cached_property
    def python(self) -> dict[str, PythonFacts]:
        """All Python files that are the repository's own, tests and docs included."""
        return {
            path: facts.body
            for path, facts in self.facts.items()
            if isinstance(facts.body, PythonFacts) and not self.is_vendored(path)
        }

    @cached_property
    def code(self) -> dict[str, PythonFacts]:
        """The repository's own Python files that are neither tests nor documentation."""
        return {p: f for p, f in self.python.items() if not is_test_path(p) and not is_docs_path(p)}

    @cached_property
    def imported(self) -> "dict[str, Imported]":
        """Packages from outside that the repository's own code imports, by import name."""
        from audit.signals.imports import imported_packages

        return imported_packages(self)

    @cached_property
    def notebooks(self) -> dict[str, NotebookFacts]:
        return {p: f for p, f in self.bodies(NotebookFacts) if not is_test_path(p)}

    @cached_property
    def configs(self) -> dict[str, ConfigFacts]:
        """YAML, JSON, TOML and INI files outside of tests and docs, the manifest and its like left out: what they declare is no code."""
        return {
            p: f
            for p, f in self.bodies(ConfigFacts)
            if not is_test_path(p) and not is_docs_path(p) and not is_own_document(p)
        }

    @cached_property
    def scripts(self) -> dict[str, ScriptFacts]:
        """Shell scripts, Makefiles and batch scripts outside of tests."""
        return {p: f for p, f in self.bodies(ScriptFacts) if not is_test_path(p)}

    @cached_property
    def docs(self) -> dict[str, DocsFacts]:
        return dict(self.bodies(DocsFacts))

    @cached_property
    def manifests(self) -> dict[str, DependencyFacts]:
        """Files that declare dependencies, in path order, those nearest to the root first."""
        found = [(path, body) for path, body in self.bodies(DependencyFacts) if body.declares]
        return dict(sorted(found, key=lambda item: (item[0].count("/"), item[0])))

    @cached_property
    def containers(self) -> dict[str, ContainerFacts]:
        return dict(self.bodies(ContainerFacts))

    @cached_property
    def ci(self) -> dict[str, CiFacts]:
        return dict(self.bodies(CiFacts))

    @cached_property
    def readme(self) -> str | None:
        """The path of the repository's README: at the root, else in `.github/` or `docs/`, as GitHub looks for it."""
        for folder in ("", ".github/", "docs/"):
            names = [
                p
                for p in self.paths
                if p.lower().startswith(folder + "readme") and "/" not in p[len(folder) :]
            ]
            preferred = [p for p in names if p.lower() in (folder + "readme.md", folder + "readme.rst")]
            if names:
                return min(preferred or names)
        return None

    def of_kind(self, *kinds: Kind) -> tuple[str, ...]:
        """Paths of these kinds, vendored trees left out."""
        return tuple(
            path for path, kind in self.kinds.items() if kind in kinds and not self.is_vendored(path)
        )

    def file(self, path: str) -> FileFacts | None:
        return self.facts.get(path)


def place(path: str, line: int | None = None, note: str = "") -> Place:
    """A place, with a note at most a line long."""
    return Place(path, line or None, note[:200])
