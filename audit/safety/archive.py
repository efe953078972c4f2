"""Reads a gzip-compressed tar archive as a stream, within bounds, and writes nothing anywhere.

Python's own `tarfile` reads whatever size an extended header claims into memory and costs tens of
microseconds a member; this reader knows ustar, pax and GNU long names (POSIX.1-2017 pax, and the GNU tar
manual's "Basic Tar Format"), and refuses the rest.
"""

import enum
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

_BLOCK = 512
_PIECE = 256 * 1024
_MAX_HEADER = 64 * 1024
_OCTAL = frozenset(b"01234567")


class ArchiveError(Exception):
    """The archive is damaged, or beyond a bound (`TooMuchError`). `args[0]` says which, in a few words."""


class TooMuchError(ArchiveError):
    """The archive holds more than the bounds allow; what was read until then is good."""


class Bounds(msgspec.Struct, frozen=True):
    """How much of an archive is read. `unpacked`: bytes after decompression, headers included; `members`: how
    many.
    """

    unpacked: int = 4 * 2**30
    members: int = 1_000_000


class MemberKind(enum.Enum):
    """What a member is. OTHER is all that a repository never holds: hard links, devices, named pipes."""

    FILE = "file"
    SYMLINK = "symlink"
    FOLDER = "folder"
    OTHER = "other"


class Member(msgspec.Struct, frozen=True):
    """One member as the archive names it: `name` is not to be trusted as a path (see `safe_parts`). `target`:
    a link's text.
    """

    name: bytes
    kind: MemberKind
    size: int
    target: bytes = b""


def safe_parts(name: bytes) -> list[bytes] | None:
    """The components of a member's name, None where it would lead out of the folder it belongs into."""
    if name.startswith(b"/") or b"\0" in name or len(name) > 4096:
        return None
    parts = [part for part in name.split(b"/") if part]
    if not parts or any(part in (b".", b"..") for part in parts):
        return None
    return parts


class TarReader:
    """Iterates over the members of a `.tar.gz`; between one and the next, `content()` gives the member's
    bytes in pieces.

    `comment`: that of the archive's global header, where `git archive` writes the commit's id; "" until one
    was read. Iteration raises ArchiveError, TooMuchError where a bound is met.
    """

    def __init__(self, stream: BinaryIO, bounds: Bounds | None = None) -> None:
        bounds = bounds or Bounds()
        self._bytes = _Inflated(stream, bounds.unpacked)
        self._bounds = bounds
        self._left = 0
        self._padding = 0
        self.comment = ""

    def __iter__(self) -> Iterator[Member]:
        overrides: dict[bytes, bytes] = {}
        everywhere: dict[bytes, bytes] = {}
        count = 0
        while (header := self._next_header()) is not None:
            kind = header[156:157]
            size = _number(header[124:136])
            if kind in (b"x", b"g", b"L", b"K"):
                payload = self._small(size)
                if kind == b"x":
                    overrides |= _pax(payload)
                elif kind == b"g":
                    everywhere |= _pax(payload)
                    self.comment = everywhere.get(b"comment", b"").decode("utf-8", "replace")
                else:
                    overrides[b"path" if kind == b"L" else b"linkpath"] = payload.rstrip(b"\0")
                continue
            count += 1
            if count > self._bounds.members:
                raise TooMuchError(f"more than {self._bounds.members} members")
            known = {**everywhere, **overrides}
            overrides = {}
            if b"size" in known:
                size = _decimal(known[b"size"])
            member = _member(header, kind, size, known)
            # Links and folders have no content, whatever size they state.
            self._left = 0 if kind in (b"1", b"2", b"5") else size
            self._padding = -self._left % _BLOCK
            yield member

    def content(self) -> Iterator[bytes]:
        """The bytes of the member that the iteration stands at, in pieces; what is left unread is passed
        over.
        """
        while self._left:
            piece = self._bytes.read(min(self._left, _PIECE))
            if not piece:
                raise ArchiveError("it ends in the middle of a file")
            self._left -= len(piece)
            yield piece

    def _next_header(self) -> bytes | None:
        """The next header that is not blank, None at the end."""
        for _ in self.content():
            pass
        self._bytes.exactly(self._padding)
        self._padding = 0
        header = self._bytes.exactly(_BLOCK, may_end=True)
        if not header or not header.strip(b"\0"):
            # What follows is padding; the end is read too, since the checksum of the whole stands there.
            while self._bytes.read(_PIECE):
                pass
            return None
        # The checksum is the sum of all bytes, its own eight taken as blanks.
        stated = _number(header[148:156])
        if stated != sum(header) - sum(header[148:156]) + 8 * 32:
            raise ArchiveError("a header's checksum is wrong")
        return header

    def _small(self, size: int) -> bytes:
        if size > _MAX_HEADER:
            raise ArchiveError("an extended header is too long")
        payload = self._bytes.exactly(size)
        self._bytes.exactly(-size % _BLOCK)
        return payload


class _Inflated:
    """The decompressed stream, counted; a small input can never make it hold more than one piece."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._total = 0
        self._inflate = zlib.decompressobj(wbits=31)
        self._input = b""
        self._ready = b""
        self._place = 0

    def read(self, count: int) -> bytes:
        """Between 1 and `count` bytes; none at the end."""
        if self._place >= len(self._ready):
            self._ready, self._place = self._more(), 0
        piece = self._ready[self._place : self._place + count]
        self._place += len(piece)
        return piece

    def exactly(self, count: int, *, may_end: bool = False) -> bytes:
        """`count` bytes; none where the stream is at its end and `may_end`. Raises ArchiveError where it ends
        within.
        """
        pieces: list[bytes] = []
        left = count
        while left:
            piece = self.read(left)
            if not piece:
                if may_end and left == count:
                    return b""
                raise ArchiveError("it is cut short")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _more(self) -> bytes:
        while True:
            if not self._input:
                self._input = self._stream.read(_PIECE)
                if not self._input:
                    if self._inflate.eof:
                        return b""
                    raise ArchiveError("it is cut short")
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(wbits=31)
            try:
                output = self._inflate.decompress(self._input, _PIECE)
            except zlib.error:
                raise ArchiveError("it is not a sound gzip file") from None
            self._input = self._inflate.unconsumed_tail or self._inflate.unused_data
            if output:
                self._total += len(output)
                if self._total > self._limit:
                    raise TooMuchError(f"more than {self._limit // 2**20} MiB unpacked")
                return output


def _number(field: bytes) -> int:
    """A number of a tar header: octal digits, or base 256 where the first bit is set."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not _OCTAL.issuperset(digits):
        raise ArchiveError("a header holds no number where one belongs")
    return int(digits or b"0", 8)


def _decimal(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise ArchiveError("an extended header holds no number where one belongs")
    return int(text)


def _pax(payload: bytes) -> dict[bytes, bytes]:
    """Records `length key=value LF` of an extended header."""
    records: dict[bytes, bytes] = {}
    place = 0
    while place < len(payload):
        blank = payload.find(b" ", place, place + 8)
        length = payload[place:blank] if blank > 0 else b""
        if not length.isdigit() or place + int(length) > len(payload) or int(length) <= blank - place + 1:
            raise ArchiveError("an extended header is damaged")
        key, _, value = payload[blank + 1 : place + int(length) - 1].partition(b"=")
        records[key] = value
        place += int(length)
    return records


def _member(header: bytes, kind: bytes, size: int, known: dict[bytes, bytes]) -> Member:
    name = header[:100].partition(b"\0")[0]
    # Old GNU headers ("ustar  ") keep times where POSIX keeps the first part of a long name.
    if header[257:263] == b"ustar\0" and (prefix := header[345:500].partition(b"\0")[0]):
        name = prefix + b"/" + name
    name = known.get(b"path", name)
    target = known.get(b"linkpath", header[157:257].partition(b"\0")[0])
    if kind in (b"0", b"\0", b"7"):
        # Before POSIX a folder was a file whose name ends in a slash.
        return Member(name, MemberKind.FOLDER if name.endswith(b"/") else MemberKind.FILE, size)
    if kind == b"2":
        return Member(name, MemberKind.SYMLINK, 0, target)
    return Member(name, MemberKind.FOLDER if kind == b"5" else MemberKind.OTHER, 0)
