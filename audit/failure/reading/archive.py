"""Members of a zip archive as streams: read in place, nothing written, sizes and counts bounded.

The archive is the attacker's: its directory may claim a million members, members may overlap, be links, or lead elsewhere by their names.
"""

import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from audit.documents.place import Gap
from audit.failure.reading.unpack import Budget, UnpackError, unpacked
from audit.safety.archive import safe_parts

if TYPE_CHECKING:
    from zipfile import ZipInfo

MOST_MEMBERS = 20_000
# A directory entry has 46 bytes and its name; more than this is no archive of logs.
_MOST_DIRECTORY = 16 * 2**20
_PIECE = 128 * 1024
_LOCAL_HEADER = 30
_STORED, _DEFLATED = 0, 8
_END = struct.Struct("<4s4H2LH")


class ArchiveMember:
    """One member: its `name` in the archive, unpacked `size` as the archive states it, `chunks` to read it once."""

    def __init__(self, name: str, size: int, chunks: Callable[[], Iterator[bytes]]) -> None:
        self.name = name
        self.size = size
        self.chunks = chunks


def zip_members(path: Path, budget: Budget) -> tuple[list[ArchiveMember], list[Gap]]:
    """The files of a zip archive in the order of their names, and what was passed over. Raises UnpackError where it is no
    archive that can be read.
    """
    import zipfile

    shown = path.name
    try:
        with path.open("rb") as stream:
            _check_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise UnpackError(f"no zip archive that can be read: {error}") from None
    members: dict[str, ArchiveMember] = {}
    gaps = []
    overlapping = _overlapping(infos)
    for number, info in enumerate(infos):
        name = info.filename
        why = _refused(info)
        if info.is_dir():
            continue
        if why is None and name in members:
            why = "a second member of that name"
        if why is None and number in overlapping:
            why = "its bytes are those of another member too"
        if why:
            gaps.append(Gap(f"{shown}!{name[:200]}", why))
        else:
            members[name] = ArchiveMember(name, info.file_size, _reader(path, info, budget))
    return [members[name] for name in sorted(members)], gaps


def _check_directory(stream: BinaryIO) -> None:
    """Raises UnpackError before `zipfile` reads a directory of absurd size."""
    stream.seek(0, 2)
    size = stream.tell()
    stream.seek(max(0, size - 65_557))
    tail = stream.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise UnpackError("no zip archive, or its end is missing")
    _, _, _, _, count, length, _, _ = _END.unpack_from(tail, place)
    stream.seek(0)
    if length != 0xFFFFFFFF and length > _MOST_DIRECTORY:
        raise UnpackError(f"its directory has {length // 2**20} MiB, more than {_MOST_DIRECTORY // 2**20}")
    if length == 0xFFFFFFFF or count == 0xFFFF or count > MOST_MEMBERS:
        raise UnpackError(f"more than {MOST_MEMBERS} members")


def _overlapping(infos: list["ZipInfo"]) -> set[int]:
    """The members, by number, that begin before the one in front of them ends: the way in which a small archive holds terabytes."""
    found = set()
    reached = 0
    for number, info in sorted(enumerate(infos), key=lambda each: each[1].header_offset):
        if info.header_offset < reached:
            found.add(number)
        else:
            reached = info.header_offset + _LOCAL_HEADER + info.compress_size
    return found


def _refused(info: "ZipInfo") -> str | None:
    if safe_parts(info.filename.encode("utf-8", "replace")) is None:
        return "its name leads out of the archive"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a link"
    if info.flag_bits & 1:
        return "encrypted"
    if info.compress_type not in (_STORED, _DEFLATED):
        return "a compression that is not read"
    return None


def _reader(path: Path, info: "ZipInfo", budget: Budget) -> Callable[[], Iterator[bytes]]:
    def chunks() -> Iterator[bytes]:
        raw = _raw(path, info)
        if info.compress_type == _DEFLATED:
            yield from unpacked(raw, "deflate", budget)
            return
        for piece in raw:
            budget.take(len(piece))
            yield piece

    return chunks


def _raw(path: Path, info: "ZipInfo") -> Iterator[bytes]:
    """The member's bytes as stored. The local header's lengths count, as they differ from the directory's."""
    with path.open("rb") as stream:
        stream.seek(info.header_offset)
        header = stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise UnpackError("the member is not where the directory says")
        name, extra = struct.unpack("<2H", header[26:30])
        stream.seek(name + extra, 1)
        left = info.compress_size
        while left > 0:
            piece = stream.read(min(_PIECE, left))
            if not piece:
                raise UnpackError("the archive is cut short")
            left -= len(piece)
            yield piece
