"""Files that the manifest names: their digests, read from the disk as they are now and never through a link."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from threading import Lock

import msgspec

from audit.documents.lock import LockSource
from audit.documents.state import Confidence
from audit.lock.found import Found, exact, unresolved
from audit.source.confined import Confined, to_bytes, to_text, why_not
from audit.source.snapshot import Entry, EntryKind, Snapshot

LARGE = 100 * 2**20
"""Bytes from which a file is not read whole unless that is asked for."""
_PIECE = 2**20
_SAMPLES = 16
_MOST_FILES = 100_000
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n"
)


class DiskFiles(msgspec.Struct, frozen=True):
    """The files below the folder `root`. `whole`: those over LARGE are read to their end too."""

    root: str
    whole: bool = False

    def holds(self, path: str) -> bool:
        """Whether a path names a file or folder below the root."""
        if not _inside(path):
            return False
        try:
            with Confined(self.root) as tree:
                mode = tree.stat(to_bytes(path)).st_mode
        except OSError:
            return False
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)

    def digest(self, path: str) -> Found:
        """The SHA-256 of a file, or of a folder's listing of files and digests.

        An LFS pointer gives the digest of the content that it stands for.
        """
        path = path.removeprefix("./").rstrip("/")
        if not _inside(path):
            return unresolved(LockSource.FILESYSTEM, f"{path[:200]} does not lie in the repository.")
        try:
            with Confined(self.root) as tree:
                if stat.S_ISDIR(tree.stat(to_bytes(path)).st_mode):
                    return _folder(tree, self.root, path, self.whole)
                return _file(tree, path, self.whole)
        except OSError as error:
            reason = " is not there" if isinstance(error, FileNotFoundError) else f": {why_not(error)}"
            return unresolved(LockSource.FILESYSTEM, f"{path}{reason}.")

    def read_small(self, path: str, limit: int) -> bytes | None:
        """The content of a file of at most `limit` bytes; None where there is none such."""
        try:
            with Confined(self.root) as tree, os.fdopen(tree.open(to_bytes(path)), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                content = file.read(limit + 1)
        except OSError:
            return None
        return content if len(content) <= limit else None


class SnapshotFiles:
    """The files of a snapshot. What it does not hold may lie on a disk all the same, ignored by Git: that is not known here."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._entries = {e.path: e for e in snapshot.entries if e.kind is EntryKind.FILE}
        self._folders = {
            path[:place] for path in self._entries for place, sign in enumerate(path) if sign == "/"
        }
        self._reader = snapshot.reader
        self._turn = (
            Lock()
        )  # resolvers ask from several threads, and a reader of Git objects talks to one process

    def holds(self, path: str) -> bool:
        """Whether the snapshot has such a file, or one below such a folder."""
        return path in self._entries or path.rstrip("/") in self._folders

    def read_small(self, path: str, limit: int) -> bytes | None:
        """The content of a file of at most `limit` bytes; None where there is none such."""
        entry = self._entries.get(path)
        content = self._content(entry) if entry else None
        return content if isinstance(content, bytes) and len(content) <= limit else None

    def digest(self, path: str) -> Found:
        """The SHA-256 of a file, as `DiskFiles` gives it; unresolved for a folder and for what the snapshot does not hold."""
        entry = self._entries.get(path.removeprefix("./"))
        if entry is None:
            return unresolved(LockSource.OFFLINE, f"{path[:200]} is not in the repository.")
        content = self._content(entry)
        if isinstance(content, str):
            return unresolved(LockSource.OFFLINE, f"{path[:200]}: {content}.")
        if pointer := _pointer(content):
            return pointer
        return exact(
            f"sha256:{hashlib.sha256(content).hexdigest()}", LockSource.FILESYSTEM, f"{len(content)} bytes"
        )

    def _content(self, entry: Entry) -> bytes | str:
        with self._turn:
            [(_, content)] = self._reader.read([entry])
        return content


def _inside(path: str) -> bool:
    """Whether a path is plain: relative, and no step of it leads up."""
    return len(path) <= 4_000 and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _pointer(content: bytes) -> Found | None:
    """The digest that an LFS pointer holds, None where the content is none."""
    found = _POINTER.fullmatch(content) if len(content) <= 1024 else None
    if found is None:
        return None
    note = f"{int(found[2])} bytes; from the LFS pointer, the content is not here"
    return exact(f"sha256:{found[1].decode()}", LockSource.FILESYSTEM, note)


def _file(tree: Confined, path: str, whole: bool) -> Found:
    handle = tree.open(to_bytes(path))
    with os.fdopen(handle, "rb", buffering=0) as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            return unresolved(LockSource.FILESYSTEM, f"{path} is not a regular file.")
        if state.st_size <= 1024 and (pointer := _pointer(file.read(1025))):
            return pointer
        file.seek(0)
        if state.st_size > LARGE and not whole:
            return _sampled(file.fileno(), state.st_size)
        return exact(_sha256(file.fileno()), LockSource.FILESYSTEM, f"{state.st_size} bytes")


def _sha256(handle: int) -> str:
    digest = hashlib.sha256()
    while piece := os.read(handle, _PIECE):
        digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def _sampled(handle: int, size: int) -> Found:
    """Size and evenly spaced pieces, the first and the last among them: another file is very likely told apart, an edited one perhaps not."""
    digest = hashlib.sha256(str(size).encode())
    for number in range(_SAMPLES):
        os.lseek(handle, (size - _PIECE) * number // (_SAMPLES - 1), os.SEEK_SET)
        digest.update(os.read(handle, _PIECE))
    note = f"{size} bytes; of size and {_SAMPLES} samples of 1 MiB: --hash-large-files reads all of it"
    return Found(f"sampled-sha256:{digest.hexdigest()}", LockSource.FILESYSTEM, Confidence.DECLARED, note)


def _folder(tree: Confined, root: str, path: str, whole: bool) -> Found:
    total = hashlib.sha256()
    count, sampled = 0, False
    for name in sorted(_names(root, path)):
        found = _file(tree, f"{path}/{name}", whole)
        if found.value is None:
            return unresolved(LockSource.FILESYSTEM, found.note)
        sampled |= found.confidence is not Confidence.EXACT
        total.update(to_bytes(name) + b"\0" + str(found.value).encode() + b"\n")
        count += 1
        if count > _MOST_FILES:
            return unresolved(LockSource.FILESYSTEM, f"{path} holds more than {_MOST_FILES:,} files.")
    if not count:
        return unresolved(LockSource.FILESYSTEM, f"{path} holds no file.")
    note = f"{count} file{'s' if count > 1 else ''}" + ("; large ones by size and samples" if sampled else "")
    confidence = Confidence.DECLARED if sampled else Confidence.EXACT
    return Found(f"sha256:{total.hexdigest()}", LockSource.FILESYSTEM, confidence, note)


def _names(root: str, path: str) -> Iterator[str]:
    """Files below a folder of the root, relative to it; links and Git's own files are none."""
    top = os.path.join(to_bytes(root), to_bytes(path))  # noqa: PTH118 - bytes
    for folder, folders, files in os.walk(top, followlinks=False):
        folders[:] = [name for name in folders if name != b".git"]
        for name in files:
            full = os.path.join(folder, name)  # noqa: PTH118 - bytes
            if not os.path.islink(full):  # noqa: PTH114 - bytes
                yield to_text(os.path.relpath(full, top).replace(os.sep.encode(), b"/"))
