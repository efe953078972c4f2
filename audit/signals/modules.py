"""Which file a module name means, seen from a file of the repository."""

from collections import defaultdict
from collections.abc import Iterable


class ModuleIndex:
    """Resolves module names to paths, as Python would with the script's folder, the root and `src` folders on its path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = frozenset(paths)
        self._children: dict[str, set[str]] = defaultdict(set)
        for path in self._files:
            parts = path.split("/")
            for depth, part in enumerate(parts):
                name = part[:-3] if part.endswith(".py") else part
                self._children["/".join(parts[:depth])].add(name)
        # What no folder holds leads out of the repository, wherever it is said: most of what is imported.
        self._names = frozenset().union(*self._children.values())
        self._roots: dict[str, tuple[str, ...]] = {}
        self._resolved: dict[tuple[str, str], tuple[str | None, str]] = {}

    def resolve(self, name: str, origin: str) -> tuple[str | None, str]:
        """The file that the longest prefix of the dotted `name` is, and what remains of the name behind it.

        `origin` is the file that says the name. (None, name) where the name leads out of the repository.
        """
        folder = origin.rpartition("/")[0]
        found = self._resolved.get((folder, name))
        if found is None:
            found = self._relative(name, folder) if name[:1] == "." else self._absolute(name, folder)
            self._resolved[folder, name] = found
        return found

    def _absolute(self, name: str, folder: str) -> tuple[str | None, str]:
        parts = name.split(".")
        if parts[0] not in self._names:
            return None, name
        for root in self._search_path(folder):
            found = self._below(root, parts)
            if found[0] is not None:
                return found
        return None, name

    def package_files(self, path: str) -> tuple[str, ...]:
        """The `__init__.py` files that importing `path` runs first."""
        parts = path.split("/")[:-1]
        found = []
        while parts:
            init = "/".join([*parts, "__init__.py"])
            if init not in self._files:
                break
            if init != path:
                found.append(init)
            parts.pop()
        return tuple(found)

    def _relative(self, name: str, folder: str) -> tuple[str | None, str]:
        rest = name.lstrip(".")
        parts = folder.split("/") if folder else []
        up = len(name) - len(rest) - 1
        if up > len(parts):
            return None, name
        base = "/".join(parts[: len(parts) - up])
        if not rest:
            return self._package(base), ""
        found = self._below(base, rest.split("."))
        if found[0] is None and (init := self._package(base)):
            return init, rest
        return found

    def _package(self, folder: str) -> str | None:
        init = f"{folder}/__init__.py" if folder else "__init__.py"
        return init if init in self._files else None

    def _below(self, root: str, parts: list[str]) -> tuple[str | None, str]:
        if parts[0] not in self._children.get(root, ()):
            return None, ".".join(parts)
        prefix = root + "/" if root else ""
        for size in range(len(parts), 0, -1):
            stem = prefix + "/".join(parts[:size])
            for path in (stem + ".py", stem + "/__init__.py"):
                if path in self._files:
                    return path, ".".join(parts[size:])
        return None, ".".join(parts)

    def _search_path(self, folder: str) -> tuple[str, ...]:
        if folder not in self._roots:
            parts = folder.split("/") if folder else []
            above = ["/".join(parts[:size]) for size in range(len(parts), -1, -1)]
            sources = [f"{each}/src" if each else "src" for each in above]
            self._roots[folder] = tuple(dict.fromkeys([*above, *(s for s in sources if s in self._children)]))
        return self._roots[folder]
