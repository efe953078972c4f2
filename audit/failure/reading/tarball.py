"""Members of a gzip-compressed tar archive as streams."""

from collections.abc import Iterator
from pathlib import Path

from audit.documents.place import Gap
from audit.failure.reading.archive import MOST_MEMBERS, ArchiveMember
from audit.failure.reading.unpack import Budget, UnpackError
from audit.safety.archive import ArchiveError, Bounds, MemberKind, TarReader, safe_parts

# The archive has no directory: it is gone through once to find its members, and once for each that is read.
_MOST_READ = 100


def tar_members(path: Path, shown: str, budget: Budget) -> tuple[list[ArchiveMember], list[Gap]]:
    """The files of a `.tar.gz` in its order, and what was passed over; `shown`: the archive's name in what is said."""
    found: list[ArchiveMember] = []
    gaps: list[Gap] = []
    try:
        with path.open("rb") as stream:
            for member in TarReader(stream, _bounds(budget)):
                name = member.name.decode("utf-8", "replace")
                if member.kind is MemberKind.FOLDER:
                    continue
                if member.kind is not MemberKind.FILE:
                    gaps.append(Gap(f"{shown}!{name[:200]}", "a link"))
                elif safe_parts(member.name) is None:
                    gaps.append(Gap(f"{shown}!{name[:200]}", "its name leads out of the archive"))
                elif len(found) < _MOST_READ:
                    found.append(ArchiveMember(name, member.size, _Member(path, member.name, budget)))
                else:
                    gaps.append(Gap(shown, f"only the first {_MOST_READ} files were read"))
                    break
    except ArchiveError as error:
        gaps.append(Gap(shown, str(error.args[0])))
    return found, gaps


def _bounds(budget: Budget) -> Bounds:
    return Bounds(unpacked=max(budget.left, 1), members=MOST_MEMBERS)


class _Member:
    """Reads one member; an object, so that it can be called when its turn comes."""

    def __init__(self, path: Path, name: bytes, budget: Budget) -> None:
        self._path, self._name, self._budget = path, name, budget

    def __call__(self) -> Iterator[bytes]:
        try:
            with self._path.open("rb") as stream:
                reader = TarReader(stream, _bounds(self._budget))
                for member in reader:
                    if member.name == self._name:
                        for piece in reader.content():
                            self._budget.take(len(piece))
                            yield piece
                        return
        except ArchiveError as error:
            raise UnpackError(str(error.args[0])) from None
