"""What a snapshot is: entries with blob ids, the state of Git around them, and a reader for their bytes."""

import enum
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from audit.documents.place import Gap

READ_LIMIT = 32 * 2**20
"""Bytes of one file that a reader hands out unless told otherwise: notebooks with pictures grow so large."""

LARGE_FILE = 10 * 2**20
"""Bytes from which a tracked file counts as large."""


class EntryKind(enum.Enum):
    """What Git records under a path."""

    FILE = "file"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"


class Entry(msgspec.Struct, frozen=True, order=True, gc=False):
    """One path of the snapshot.

    `path`: relative, POSIX, surrogate-escaped where it is not UTF-8. `blob`: Git's object id of the content,
    hex (of the work tree's content where that differs from the index). Content too large or too much to be
    hashed beforehand has a stand-in made of its path, size and times: never empty, as long as an id, and
    different for different content. `size` in bytes, None where it is not known without reading.
    """

    path: str
    blob: str
    kind: EntryKind = EntryKind.FILE
    size: int | None = None
    tracked: bool = True


class Submodule(msgspec.Struct, frozen=True, order=True):
    """A submodule and whether its content is there."""

    path: str
    initialized: bool


class GitState(msgspec.Struct, frozen=True):
    """What Git says around the snapshot.

    `modified`: tracked files that differ from HEAD, `untracked`: neither tracked nor ignored; both None where
    there is no work tree to compare (a ref, an archive). `remote`: the origin's address without credentials.
    """

    commit: str | None = None
    branch: str | None = None
    remote: str | None = None
    modified: tuple[str, ...] | None = None
    untracked: tuple[str, ...] | None = None
    submodules: tuple[Submodule, ...] = ()
    shallow: bool = False
    large_files: tuple[tuple[str, int], ...] = ()


class BlobReader(Protocol):
    """Reads contents. Picklable, so that a worker process can read for itself; it never follows a link.

    `limit`: bytes of the largest content that is handed out; `msgspec.structs.replace(reader, limit=…)` gives
    a reader with another.
    """

    @property
    def limit(self) -> int: ...

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        """For each entry, in the order given, its bytes, or a str that says why they cannot be had.

        Entries larger than `limit` bytes are answered with a reason, without being read. A symbolic link is
        answered with the text of its target. The entry that comes back carries the id of the bytes that come
        with it: a file of a work tree can have changed since it was listed, or be stored by Git in another
        form (line ends, LFS).
        """
        ...


class Snapshot(msgspec.Struct, frozen=True):
    """A repository at one commit.

    `repository` names it for people: `owner/name` where a remote tells, else the folder. `git` is None for a
    plain folder. `gaps`: paths known to exist whose content is not there (partial clone, sparse checkout,
    export-ignore). `notes`: sentences about the snapshot as a whole that a reader should know.
    """

    repository: str
    entries: tuple[Entry, ...]
    reader: BlobReader
    git: GitState | None = None
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
