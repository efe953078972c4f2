"""What the kinds of snapshot share: unusual names, entries that are too many, folders that are never part of
a repository.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence, Set

from audit.source.blobs import blob_id, stand_in_id
from audit.source.confined import Confined, read_bounded
from audit.source.snapshot import Entry

MAX_ENTRIES = 1_000_000
"""Entries of one snapshot; what exceeds them is cut off, and a note says so."""

SET_ASIDE = frozenset(
    {
        ".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", ".eggs", ".pixi", ".hypothesis",
    }
)  # fmt: skip
"""Folders that tools make. They are left out wherever Git does not track them."""

_HASH_BYTES = 2 * 2**30


def with_prefix_removed(path: str, prefix: str) -> str:
    """`path` relative to the folder `prefix` ("" or ending in "/")."""
    return path[len(prefix) :]


def set_aside_folder(path: str, environments: Set[str] = frozenset()) -> str | None:
    """The topmost folder on the way to `path` that a tool made, ending in "/"; None where there is none.

    `environments`: folders, ending in "/", that are known to be virtual environments, whatever their name.
    """
    start = 0
    while (end := path.find("/", start)) >= 0:
        folder = path[: end + 1]
        if path[start:end] in SET_ASIDE or folder in environments:
            return folder
        start = end + 1
    return None


def name_notes(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Sentences about names that make trouble on other machines."""
    notes = []
    odd = sum(not entry.path.isascii() and _is_escaped(entry.path) for entry in entries)
    if odd:
        notes.append(f"{_files(odd)} a name that is not UTF-8.")
    folded: dict[str, str] = {}
    clashes = []
    for entry in entries:
        other = folded.setdefault(
            entry.path.lower() if entry.path.isascii() else entry.path.casefold(), entry.path
        )
        if other is not entry.path:
            clashes.append(f"{other} and {entry.path}")
    if clashes:
        shown = "; ".join(clashes[:3]) + ("; …" if len(clashes) > 3 else "")
        plural = "name differs" if len(clashes) == 1 else "names differ"
        notes.append(
            f"{len(clashes)} {plural} from another only in case; not every file system holds both: {shown}."
        )
    return tuple(notes)


def _is_escaped(path: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in path)


def _files(count: int) -> str:
    return f"{count} file has" if count == 1 else f"{count} files have"


def capped(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """`entries` in order, at most MAX_ENTRIES of them, and the note that says so where there were more."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    if len(ordered) <= MAX_ENTRIES:
        return tuple(ordered), ()
    return tuple(ordered[:MAX_ENTRIES]), (
        f"The snapshot has {len(ordered)} files, of which only the first {MAX_ENTRIES} were looked at.",
    )


class Hasher:
    """Gives ids to files of a work tree, reading at most `limit` bytes of each and so many of all."""

    def __init__(self, tree: Confined, limit: int, algorithm: str, budget: int = _HASH_BYTES) -> None:
        self._tree = tree
        self._limit = limit
        self._algorithm = algorithm
        self._budget = budget

    def content(self, path: bytes, state: os.stat_result) -> bytes | None:
        """The bytes that an id is made of, None where they are too many. Raises OSError."""
        if stat.S_ISLNK(state.st_mode):
            return self._tree.read_link(path)
        if state.st_size > min(self._limit, self._budget):
            return None
        handle = self._tree.open(path)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError("not a regular file")
            content = read_bounded(handle, state.st_size, self._limit)
        finally:
            os.close(handle)
        self._budget -= len(content)
        return content if len(content) <= self._limit else None

    def digest(self, path: bytes, state: os.stat_result, algorithm: str, start: bytes = b"") -> str | None:
        """The digest of `start` and a file of any size, read piece by piece; None beyond the budget. Raises
        OSError.
        """
        if state.st_size > self._budget:
            return None
        digest = hashlib.new(algorithm, start, usedforsecurity=False)
        handle = self._tree.open(path)
        try:
            left = state.st_size
            while left > 0 and (piece := os.read(handle, min(left, 2**20))):
                digest.update(piece)
                left -= len(piece)
        finally:
            os.close(handle)
        self._budget -= state.st_size
        return digest.hexdigest()

    def id_of(self, path: bytes, state: os.stat_result, content: bytes | None) -> str:
        """Git's id of `content`, a stand-in where it is None."""
        if content is not None:
            return blob_id(content, self._algorithm)
        return stand_in_id(
            path, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, algorithm=self._algorithm
        )


def kind_of_oddity(mode: int) -> str:
    """What a file mode stands for that is neither a regular file nor a link."""
    for test, name in (
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISDIR, "a folder"),
    ):
        if test(mode):
            return name
    return "not a file"
