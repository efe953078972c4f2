"""The checkout as gates read it: texts, syntax trees and stored values by path, within bounds and read once."""

import ast
import json
import posixpath
import re
import warnings
from collections.abc import Iterable
from typing import Any, Final

from audit.facts.config import extract_json, extract_toml, extract_yaml
from audit.facts.decode import decode
from audit.source.snapshot import Entry, EntryKind, Snapshot

MAX_SOURCE: Final = 600_000
"""Bytes of a Python file that is parsed: comparators are small, what is larger is generated."""
MAX_DATA: Final = 8 * 2**20
"""Bytes of a stored-values file that is read."""
MAX_READ: Final = 64 * 2**20
"""Bytes read of a checkout altogether."""

MAX_PARSED: Final = 2_000_000
"""Characters of Python that are parsed: two seconds of work. Who asks, asks for the likeliest files first."""

_ALIAS: Final = re.compile(r"(?:^|[\s\[{,])\*\w", re.MULTILINE)
SKIPPED: Final = ("node_modules/", "site-packages/", ".git/", "third_party/", "vendor/")


class Checkout:
    """Reads a snapshot's files on demand. Nothing of it raises for what a file holds: what cannot be read is None."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        entries = snapshot.entries if snapshot else ()
        self._reader = snapshot.reader if snapshot else None
        self._entries: dict[str, Entry] = {e.path: e for e in entries if e.kind is EntryKind.FILE}
        self._texts: dict[str, str | None] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._data: dict[str, Any] = {}
        self._parents: dict[str, dict[ast.AST, ast.AST]] = {}
        self._left = MAX_READ
        self._unparsed = MAX_PARSED

    @property
    def paths(self) -> Iterable[str]:
        return self._entries.keys()

    def has(self, path: str) -> bool:
        return path in self._entries

    def python_files(self) -> list[str]:
        """Python files that are the repository's own, shallow ones first."""
        own = [p for p in self._entries if p.endswith(".py") and not any(part in p for part in SKIPPED)]
        return sorted(own, key=lambda p: (p.count("/"), p))

    def text(self, path: str) -> str | None:
        """A file's text, None where there is none or it is too large."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str | None:
        entry = self._entries.get(path)
        limit = MAX_SOURCE if path.endswith(".py") else MAX_DATA
        if entry is None or self._reader is None or (entry.size or 0) > min(limit, self._left):
            return None
        for _, content in self._reader.read([entry]):
            if isinstance(content, str) or len(content) > min(limit, self._left):
                return None
            self._left -= len(content)
            return decode(content)[0]
        return None

    def tree(self, path: str) -> ast.Module | None:
        """The syntax tree of a Python file, None where today's Python refuses it, or where enough was parsed already."""
        if path not in self._trees:
            text = self.text(path) if self._unparsed > 0 else None
            self._unparsed -= len(text or "")
            self._trees[path] = _parse(text)
        return self._trees[path]

    def parents(self, path: str) -> dict[ast.AST, ast.AST]:
        """Of every node of a Python file the node around it."""
        if path not in self._parents:
            tree = self.tree(path)
            nodes = ast.walk(tree) if tree is not None else ()
            self._parents[path] = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
        return self._parents[path]

    def data(self, path: str) -> Any:
        """The value of a JSON file (numbers, strings, lists, objects), None where it is none."""
        if path not in self._data:
            self._data[path] = _load(self.text(path), path)
        return self._data[path]

    def settings(self, path: str) -> dict[str, tuple[str, int]]:
        """Leaves of a YAML, JSON or TOML file: dotted key -> (value as text, line)."""
        text = self.text(path)
        if text is None:
            return {}
        extract = {"json": extract_json, "toml": extract_toml}.get(path.rpartition(".")[2], extract_yaml)
        body = extract(text).body
        return {s.key: (s.value, s.line) for s in getattr(body, "settings", ())}

    def resolve(self, path: str, near: str = "") -> str | None:
        """The file that `path`, as code or a command line writes it, means: relative to the root, to the folder of `near`, or
        the only file whose path ends in it. None where there is none, or several.
        """
        plain = posixpath.normpath(path.replace("\\", "/"))
        if plain in self._entries:
            return plain
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(near), plain))
        if beside in self._entries:
            return beside
        tail = plain.lstrip("./")
        while tail:
            found = [p for p in self._entries if p == tail or p.endswith("/" + tail)]
            if len(found) == 1 and (tail.count("/") or plain.count("/") == 0):
                return found[0]
            if found or not plain.startswith("/"):
                return None
            _, _, tail = tail.partition("/")
        return None

    def module(self, dotted: str, near: str = "") -> str | None:
        """The file of a module by its dotted name, as imported from the file `near`."""
        if dotted.startswith("."):
            level = len(dotted) - len(dotted.lstrip("."))
            folder = posixpath.dirname(near)
            for _ in range(level - 1):
                folder = posixpath.dirname(folder)
            stem = (
                posixpath.join(folder, dotted.lstrip(".").replace(".", "/")) if dotted.lstrip(".") else folder
            )
        else:
            stem = dotted.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py", f"src/{stem}.py", f"src/{stem}/__init__.py"):
            if path in self._entries:
                return path
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(near), path))
            if beside in self._entries:
                return beside
        return None


def _parse(text: str | None) -> ast.Module | None:
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _load(text: str | None, path: str) -> Any:
    if text is None:
        return None
    try:
        if path.endswith((".yaml", ".yml")):
            return _from_yaml(text)
        if path.endswith(".toml"):
            import tomllib

            return tomllib.loads(text)
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _from_yaml(text: str) -> Any:
    """A YAML document without anchors' explosions: files with aliases are not loaded."""
    import yaml

    if len(text) > 500_000 or _ALIAS.search(text):
        return None
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
