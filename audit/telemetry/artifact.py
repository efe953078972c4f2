"""A file that may hold telemetry: its name for the verdict, its first bytes, and a bounded stream of the rest."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from audit.documents.place import Gap

MAX_FILES = 20_000
"""Files looked at below the folders given."""

MAX_BYTES = 4 * 2**30
"""Bytes read of one file, unpacked."""

MAX_LINE = 4 * 2**20
"""Bytes of one line; a longer one is cut, and its rest passed over."""

HEAD = 8192
_GZIP = b"\x1f\x8b"

DAMAGED = (OSError, EOFError, zlib.error)
"""What reading a stream raises where the file is damaged or goes away."""


class Artifact(msgspec.Struct, frozen=True, eq=False):
    """A file on disk, or bytes from a repository's snapshot. `name`: as the verdict prints it. `head`: its first bytes,
    unpacked. `explicit`: named by the user, not found below a folder.
    """

    name: str
    head: bytes
    path: Path | None = None
    data: bytes | None = None
    explicit: bool = True

    @property
    def file(self) -> str:
        """The last part of the name."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def folder(self) -> str:
        """The name without its last part, empty at the top."""
        return self.name.rpartition("/")[0]

    def open(self) -> BinaryIO:
        """The content, unpacked where it is gzip. Reading it raises one of `DAMAGED` where it cannot be had."""
        raw: BinaryIO = io.BytesIO(self.data) if self.data is not None else _opened(self.path)
        start = raw.read(2)
        raw.seek(0)
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if start == _GZIP else raw

    def read(self, limit: int) -> bytes:
        """Up to `limit` bytes of the content. Raises as `open`; of a damaged file the good part is lost: use `lines`
        or `pieces`.
        """
        with self.open() as stream:
            return stream.read(limit)

    def pieces(self, size: int = 2**18) -> Iterator[bytes]:
        """The content piece by piece, up to `MAX_BYTES`. Raises as `open`."""
        left = MAX_BYTES
        with self.open() as stream:
            while left > 0 and (piece := stream.read(min(size, left))):
                left -= len(piece)
                yield piece

    def lines(self) -> Iterator[bytes]:
        """The lines, ended by LF only and without it, of at most `MAX_LINE` bytes. Raises as `open`."""
        left = MAX_BYTES
        with self.open() as stream:
            while left > 0 and (line := stream.readline(MAX_LINE)):
                left -= len(line)
                whole = line.endswith(b"\n")
                yield line[:-1] if whole else line
                while not whole and len(line) == MAX_LINE and left > 0:
                    line = stream.readline(MAX_LINE)
                    left -= len(line)
                    if line.endswith(b"\n"):
                        break


def _opened(path: Path | None) -> BinaryIO:
    if path is None:
        return io.BytesIO()
    # A named pipe or a device would block or never end: only what is a plain file once opened is read.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    stream = os.fdopen(descriptor, "rb")
    if not _is_plain(descriptor):
        stream.close()
        raise OSError("not a plain file")
    return stream


def _is_plain(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def from_bytes(name: str, data: bytes) -> Artifact:
    """An artifact of bytes that are in memory already."""
    whole = Artifact(name=name, head=b"", data=data)
    try:
        return msgspec.structs.replace(whole, head=whole.read(HEAD))
    except DAMAGED:
        return whole


def collect(paths: Sequence[Path]) -> tuple[list[Artifact], list[Gap]]:
    """The files given and those below the folders given, in the order of their names; what could not be opened as gaps.

    A name is the path below the deepest folder that holds all that was given, so that two runs' files of the same
    name stay apart. Links below a folder are not followed.
    """
    roots = [Path(os.path.normpath(path.absolute())) for path in paths]
    base = _common(roots)
    found: list[Artifact] = []
    gaps: list[Gap] = []
    seen: set[Path] = set()
    for root in roots:
        for path, explicit in _files(root, gaps, base):
            if path in seen:
                continue
            if len(seen) >= MAX_FILES:
                gaps.append(
                    Gap(_name(root, base), f"holds more than {MAX_FILES:,} files: the rest was not read")
                )
                break
            seen.add(path)
            _take(path, _name(path, base), explicit, found, gaps)
    return found, gaps


def _take(path: Path, name: str, explicit: bool, found: list[Artifact], gaps: list[Gap]) -> None:
    whole = Artifact(name=name, head=b"", path=path, explicit=explicit)
    try:
        found.append(msgspec.structs.replace(whole, head=whole.read(HEAD)))
    except OSError as error:
        gaps.append(Gap(name, f"cannot be read: {error.strerror or error}"))
    except (EOFError, zlib.error):
        gaps.append(Gap(name, "damaged from its start: it does not unpack"))


def _common(roots: Sequence[Path]) -> Path:
    try:
        return Path(os.path.commonpath([root.parent for root in roots])) if roots else Path()
    except ValueError:  # different drives
        return Path()


def _name(path: Path, base: Path) -> str:
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.as_posix()


def _files(root: Path, gaps: list[Gap], base: Path) -> Iterator[tuple[Path, bool]]:
    if not root.is_dir():
        yield root, True
        return

    def refused(error: OSError) -> None:
        where = Path(error.filename) if error.filename else root
        gaps.append(Gap(_name(where, base), f"cannot be listed: {error.strerror or error}"))

    for folder, folders, files in os.walk(root, onerror=refused, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(folder, name)
            if not path.is_symlink():
                yield path, False
