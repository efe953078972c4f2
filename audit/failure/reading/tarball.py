"""Members of a gzip-compressed tar archive as streams."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from audit.documents.place import Gap
from audit.failure.reading.archive import MOST_MEMBERS, ArchiveMember
from audit.failure.reading.unpack import Budget, UnpackError
from audit.safety.archive import ArchiveError, Bounds, Member, MemberKind, TarReader, safe_parts

# The archive has no directory: it is gone through once to find its members, and once more to read them in their order.
_MOST_READ = 100


def tar_members(path: Path, shown: str, budget: Budget) -> tuple[list[ArchiveMember], list[Gap]]:
    """The files of a `.tar.gz` in its order, and what was passed over; `shown`: the archive's name in what is said."""
    found: list[ArchiveMember] = []
    walk = _Walk(path, budget)
    gaps: list[Gap] = []
    try:
        with path.open("rb") as stream:
            for place, member in enumerate(TarReader(stream, _bounds(budget))):
                name = member.name.decode("utf-8", "replace")
                if member.kind is MemberKind.FOLDER:
                    continue
                if member.kind is not MemberKind.FILE:
                    gaps.append(Gap(f"{shown}!{name[:200]}", "a link"))
                elif safe_parts(member.name) is None:
                    gaps.append(Gap(f"{shown}!{name[:200]}", "its name leads out of the archive"))
                elif len(found) < _MOST_READ:
                    found.append(ArchiveMember(name, member.size, partial(walk.content, place)))
                else:
                    gaps.append(Gap(shown, f"only the first {_MOST_READ} files were read"))
                    break
    except ArchiveError as error:
        gaps.append(Gap(shown, str(error.args[0])))
    return found, gaps


def _bounds(budget: Budget) -> Bounds:
    return Bounds(unpacked=max(budget.left, 1), members=MOST_MEMBERS)


class _Walk:
    """Goes through an archive; asked for its members in their order, it goes through it once for all of them."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self._path, self._budget = path, budget
        self._stream: BinaryIO | None = None
        self._reader: TarReader
        self._members: Iterator[Member]
        self._next = 0

    def content(self, place: int) -> Iterator[bytes]:
        """The bytes of the member at a place, in pieces. Raises UnpackError."""
        try:
            self._to(place)
            for piece in self._reader.content():
                self._budget.take(len(piece))
                yield piece
        except ArchiveError as error:
            raise UnpackError(str(error.args[0])) from None

    def _to(self, place: int) -> None:
        if self._stream is None or self._next > place:
            if self._stream is not None:
                self._stream.close()
            self._stream = self._path.open("rb")
            self._reader = TarReader(self._stream, _bounds(self._budget))
            self._members, self._next = iter(self._reader), 0
        while self._next <= place:
            if next(self._members, None) is None:
                raise UnpackError("the archive changed while it was read")
            self._next += 1
