"""Files below one folder, reached without ever following a link: neither the file's own nor a folder's on the
way.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

import msgspec

from audit.source.blobs import blob_id, human_size
from audit.source.snapshot import READ_LIMIT, Entry, EntryKind

_MAX_DEPTH = 256
_FOLDER = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)
_FILE = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
HAS_FOLDER_HANDLES = {os.open, os.stat, os.readlink} <= os.supports_dir_fd
"""Whether this platform opens files relative to an open folder (Windows does not)."""


SUBMODULE = "a submodule, a repository of its own"
"""What every reader answers for a submodule."""


def to_bytes(path: str) -> bytes:
    """A snapshot's path as the file system spells it."""
    return path.encode("utf-8", "surrogateescape")


def to_text(path: bytes) -> str:
    """A file system's path as a snapshot spells it."""
    return path.decode("utf-8", "surrogateescape")


class Confined:
    """Opens what lies below `root`. Paths that come in the snapshot's order share their open folders, so that
    they cost little.

    Methods raise OSError: ELOOP or ENOTDIR where a link stands in the way. To be used as a context manager.
    """

    def __init__(self, root: str) -> None:
        self._root = to_bytes(root)
        self._parts: list[bytes] = []
        self._handles: list[int] = []
        self._last: tuple[bytes, int] | None = None

    def __enter__(self) -> Self:
        if HAS_FOLDER_HANDLES:
            # The root itself is the user's choice: a link may lead to it.
            self._handles = [os.open(self._root, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            os.close(handle)
        self._handles = []

    def stat(self, path: bytes) -> os.stat_result:
        """The state of `path` itself, of the link where it is one."""
        folder, name = self._locate(path)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def read_link(self, path: bytes) -> bytes:
        """The target that the link at `path` names."""
        folder, name = self._locate(path)
        return os.readlink(name, dir_fd=folder)

    def open(self, path: bytes) -> int:
        """A handle of what lies at `path`, links excepted; never waits for the other end of a pipe."""
        folder, name = self._locate(path)
        if folder is None and stat.S_ISLNK(os.lstat(name).st_mode):
            raise OSError(errno.ELOOP, "a link")
        return os.open(name, _FILE, dir_fd=folder)

    def _locate(self, path: bytes) -> tuple[int | None, bytes]:
        """The handle of the folder that holds `path` and the name in it."""
        parent, _, name = path.rpartition(b"/")
        if not HAS_FOLDER_HANDLES:
            return None, self._checked(parent, name)
        if self._last is None or self._last[0] != parent:
            self._last = None
            self._last = (parent, self._enter(parent.split(b"/") if parent else []))
        return self._last[1], name

    def _enter(self, parts: list[bytes]) -> int:
        if len(parts) > _MAX_DEPTH or b".." in parts:
            raise OSError("nested too deeply" if len(parts) > _MAX_DEPTH else "leads out of the tree")
        common = 0
        while common < min(len(parts), len(self._parts)) and parts[common] == self._parts[common]:
            common += 1
        for handle in self._handles[common + 1 :]:
            os.close(handle)
        del self._handles[common + 1 :], self._parts[common:]
        for part in parts[common:]:
            self._handles.append(os.open(part, _FOLDER, dir_fd=self._handles[-1]))
            self._parts.append(part)
        return self._handles[-1]

    def _checked(self, parent: bytes, name: bytes) -> bytes:
        """The full path, after a look at each folder on the way: the best without folder handles."""
        path = self._root
        for part in parent.split(b"/") if parent else []:
            path = path + b"/" + part
            if part == b".." or not stat.S_ISDIR(os.lstat(path).st_mode):
                raise NotADirectoryError("a link or a file stands where a folder was")
        return path + b"/" + name


def read_bounded(handle: int, size: int, limit: int) -> bytes:
    """All bytes of an open file of about `size` bytes, or `limit` + 1 of them where it holds more."""
    content = os.read(handle, min(size, limit) + 1)
    if len(content) == size:
        return content
    chunks = [content]
    left = limit + 1 - len(content)
    while left > 0 and (chunk := os.read(handle, min(left, 2**20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def why_not(error: OSError) -> str:
    """The reason of a failed look, without the machine's paths in it."""
    if isinstance(error, FileNotFoundError):
        return "gone since it was listed"
    if isinstance(error, PermissionError):
        return "permission denied"
    if error.errno == errno.ELOOP:
        return "a symbolic link stands where the file was"
    return f"cannot be read ({error.strerror or error})"


class WorkTreeReader(msgspec.Struct, frozen=True):
    """Reads the files below `root`, at most `limit` bytes each. `algorithm`: the object format of the ids,
    "sha1" or "sha256".
    """

    root: str
    limit: int = READ_LIMIT
    algorithm: str = "sha1"

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        """See `BlobReader.read`."""
        try:
            tree = Confined(self.root).__enter__()
        except OSError as error:
            reason = f"the folder of the snapshot {why_not(error)}"
            yield from ((entry, reason) for entry in entries)
            return
        with tree:
            for entry in entries:
                try:
                    content = self._content(tree, entry)
                except OSError as error:
                    content = why_not(error)
                yield (
                    (self._with_its_id(entry, content), content)
                    if isinstance(content, bytes)
                    else (entry, content)
                )

    def _content(self, tree: Confined, entry: Entry) -> bytes | str:
        if entry.kind is EntryKind.SUBMODULE:
            return SUBMODULE
        path = to_bytes(entry.path)
        if entry.kind is EntryKind.SYMLINK and stat.S_ISLNK(tree.stat(path).st_mode):
            return tree.read_link(path)
        handle = tree.open(path)
        try:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                return "not a regular file"
            if state.st_size > self.limit:
                return too_large(state.st_size, self.limit)
            content = read_bounded(handle, state.st_size, self.limit)
        finally:
            os.close(handle)
        return content if len(content) <= self.limit else too_large(len(content), self.limit)

    def _with_its_id(self, entry: Entry, content: bytes) -> Entry:
        """The id is checked on reading: a file that changed meanwhile, or an index that lies, must not poison
        a cache of facts.
        """
        actual = blob_id(content, self.algorithm)
        if actual == entry.blob:
            return entry
        if b"\r\n" in content and blob_id(content.replace(b"\r\n", b"\n"), self.algorithm) == entry.blob:
            return entry
        return msgspec.structs.replace(entry, blob=actual, size=len(content))


def too_large(size: int, limit: int) -> str:
    """The reason for a file over the limit; both in bytes."""
    return f"{human_size(size)}, over the limit of {human_size(limit)}"
