"""The snapshot of a repository on GitHub: one archive, compared with one listing of the tree.

Nothing is unpacked under its own name: all contents go into one file of a temporary folder, found by their
ids. So no name can lead anywhere, links are text, and names that differ only in case stay apart on every file
system.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from audit.documents.place import Gap
from audit.net.errors import EmptyRepositoryError, NotFoundError
from audit.net.github import GitHub
from audit.safety.archive import ArchiveError, Member, MemberKind, TarReader, TooMuchError, safe_parts
from audit.source.blobs import stand_in_id
from audit.source.confined import SUBMODULE, to_bytes, to_text, too_large, why_not
from audit.source.errors import SourceError
from audit.source.listing import capped, name_notes
from audit.source.snapshot import LARGE_FILE, READ_LIMIT, Entry, EntryKind, GitState, Snapshot, Submodule
from audit.source.target import GitHubTarget

_CONTENTS = "contents"
_PLACES = "places"
_MAX_KEPT = 2 * 2**30
_KINDS = {"160000": EntryKind.SUBMODULE, "120000": EntryKind.SYMLINK}

Places = dict[str, tuple[int, int]]


class ArchiveReader(msgspec.Struct, frozen=True):
    """Reads contents from the file that `unpack` filled in the folder `store`, at most `limit` bytes each."""

    store: str
    limit: int = READ_LIMIT

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        """See `BlobReader.read`."""
        try:
            places = _places(self.store)
            contents = (Path(self.store) / _CONTENTS).open("rb")
        except (OSError, msgspec.MsgspecError) as error:
            reason = why_not(error) if isinstance(error, OSError) else "the unpacked archive is damaged"
            yield from ((entry, reason) for entry in entries)
            return
        with contents:
            for entry in entries:
                yield entry, self._content(contents, places, entry)

    def _content(self, contents: BinaryIO, places: Places, entry: Entry) -> bytes | str:
        if entry.size is not None and entry.size > self.limit:
            return too_large(entry.size, self.limit)
        if entry.kind is EntryKind.SUBMODULE:
            return SUBMODULE
        place = places.get(entry.blob)
        if place is None:
            return "not kept when the archive was unpacked"
        start, size = place
        if size > self.limit:
            return too_large(size, self.limit)
        contents.seek(start)
        content = contents.read(size)
        return content if len(content) == size else "the unpacked archive is damaged"


_known_places: dict[str, Places] = {}


def _places(store: str) -> Places:
    """Where each content lies, read once a process. Raises OSError, MsgspecError."""
    if store not in _known_places:
        encoded = (Path(store) / _PLACES).read_bytes()
        _known_places.clear()
        _known_places[store] = msgspec.msgpack.decode(encoded, type=Places)
    return _known_places[store]


class Unpacked(msgspec.Struct, frozen=True):
    """What an archive held: entries, what was refused or left unread and why, its commit ("" where it names
    none).

    `unhashed`: paths whose content was too large to be kept, so that their id is a stand-in. `stopped`: why
    the rest was not read, "" where all was.
    """

    entries: tuple[Entry, ...]
    unhashed: frozenset[str]
    gaps: tuple[Gap, ...]
    commit: str
    stopped: str


def unpack(
    archive: BinaryIO, store: Path, *, limit: int = READ_LIMIT, reader: TarReader | None = None
) -> Unpacked:
    """Writes the contents of a `.tar.gz` from GitHub into two files of `store`, up to `limit` bytes of each
    member.

    Raises SourceError where the archive is damaged. All members lie in one top folder, whose name is dropped.
    """
    tar = reader or TarReader(archive)
    unpacking = _Unpacking(limit)
    stopped = ""
    with (store / _CONTENTS).open("wb") as contents:
        try:
            for member in tar:
                unpacking.add(member, tar, contents)
        except TooMuchError as error:
            stopped = str(error)
        except ArchiveError as error:
            raise SourceError(
                f"The archive from GitHub is damaged: {error}.", "Try again, or clone it."
            ) from None
    (store / _PLACES).write_bytes(msgspec.msgpack.encode(unpacking.places))
    return Unpacked(
        entries=tuple(unpacking.entries.values()),
        unhashed=frozenset(unpacking.unhashed),
        gaps=tuple(unpacking.gaps),
        commit=tar.comment,
        stopped=stopped,
    )


class _Unpacking:
    """Entries by path and places by id, filled member by member."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._end = 0
        self.entries: dict[str, Entry] = {}
        self.gaps: list[Gap] = []
        self.places: Places = {}
        self.unhashed: set[str] = set()

    def add(self, member: Member, tar: TarReader, contents: BinaryIO) -> None:
        """Takes one member in, or says why not. Raises ArchiveError."""
        if member.kind is MemberKind.FOLDER:
            return
        parts = safe_parts(member.name)
        shown = to_text(member.name[:300])
        if parts is None or len(parts) < 2 or b".git" in parts:
            self.gaps.append(Gap(shown, "refused: its name leads out of the archive's folder"))
            return
        path = to_text(b"/".join(parts[1:]))
        if member.kind is MemberKind.OTHER:
            self.gaps.append(Gap(path, "refused: neither a file nor a symbolic link"))
        elif path in self.entries:
            self.gaps.append(Gap(path, "the archive holds it twice; the first was taken"))
        elif member.kind is MemberKind.SYMLINK:
            blob = self._keep(len(member.target), [member.target], contents)
            self.entries[path] = Entry(path, blob, EntryKind.SYMLINK, len(member.target))
        elif member.size > self._limit or self._end + member.size > _MAX_KEPT:
            # Not kept, so not hashed: the comparison with the tree gives it its id.
            self.unhashed.add(path)
            self.entries[path] = Entry(path, stand_in_id(path, member.size), EntryKind.FILE, member.size)
        else:
            blob = self._keep(member.size, tar.content(), contents)
            self.entries[path] = Entry(path, blob, EntryKind.FILE, member.size)

    def _keep(self, size: int, pieces: Iterable[bytes], contents: BinaryIO) -> str:
        """Writes a content behind the last, and drops it again where it is there already; its id."""
        start = self._end
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        for piece in pieces:
            digest.update(piece)
            contents.write(piece)
            self._end += len(piece)
        blob = digest.hexdigest()
        if blob in self.places:
            contents.seek(start)
            contents.truncate()
            self._end = start
        else:
            self.places[blob] = (start, self._end - start)
        return blob


class Listed(msgspec.Struct, frozen=True):
    """One path of GitHub's listing of a tree."""

    kind: EntryKind
    sha: str
    size: int | None


def _listed(tree: Sequence[Any]) -> dict[str, Listed]:
    """GitHub's listing by path, without folders; records that are not of its shape are passed over."""
    found: dict[str, Listed] = {}
    for record in tree:
        if not isinstance(record, dict) or record.get("type") == "tree":
            continue
        path, sha, size = record.get("path"), record.get("sha"), record.get("size")
        if isinstance(path, str) and isinstance(sha, str):
            kind = _KINDS.get(str(record.get("mode")), EntryKind.FILE)
            found[path] = Listed(kind, sha, size if isinstance(size, int) else None)
    return found


@contextmanager
def archive_snapshot(
    github: GitHub,
    target: GitHubTarget,
    *,
    host: str,
    limit: int = READ_LIMIT,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Snapshot]:
    """The snapshot of `target`; its contents go when the context ends. Raises SourceError, NetworkError."""
    described = github.repository(target.owner, target.name)
    full_name = described.get("full_name")
    if not isinstance(full_name, str) or full_name.count("/") != 1:
        raise SourceError("The server's answer names no repository.", "Check GITHUB_API_URL.")
    notes: tuple[str, ...] = ()
    if full_name.lower() != f"{target.owner}/{target.name}".lower():
        notes += (f"{target.owner}/{target.name} is called {full_name} now.",)
    remote = f"https://{host}/{full_name}.git"
    with tempfile.TemporaryDirectory(prefix="ml-audit-") as folder:
        try:
            commit, branch, prefix = _resolved(
                github, full_name, target, str(described.get("default_branch") or "HEAD")
            )
        except EmptyRepositoryError:
            yield Snapshot(
                repository=full_name,
                entries=(),
                reader=ArchiveReader(folder, limit),
                git=GitState(remote=remote),
                notes=(*notes, "The repository has no commit yet."),
            )
            return
        progress(f"Fetching {full_name} at {commit[:12]}")
        unpacked = _fetched(github, full_name, commit, Path(folder), limit)
        listing, truncated = github.tree(full_name, commit)
        state = GitState(commit=commit, branch=branch, remote=remote)
        snapshot = _compared(unpacked, _listed(listing), truncated, prefix)
        yield msgspec.structs.replace(
            snapshot,
            repository=full_name,
            reader=ArchiveReader(folder, limit),
            git=_with_tree(state, snapshot, _listed(listing), prefix),
            notes=notes + snapshot.notes,
        )


def _resolved(
    github: GitHub, full_name: str, target: GitHubTarget, default: str
) -> tuple[str, str | None, str]:
    """The commit, the name that it was asked for by, and the folder in it ("" or ending in "/")."""
    if target.pull is not None:
        return github.pull_head(full_name, target.pull), None, ""
    if target.tree is None:
        ref = target.ref or default
        commit = github.commit(full_name, ref)
        return commit, None if commit.startswith(ref.lower()) else ref, ""
    # A branch's name may hold slashes, and only GitHub knows it: the longest name that it knows is taken.
    parts = target.tree.split("/")
    shortest = max(1, len(parts) - 4)
    for end in range(len(parts), shortest - 1, -1):
        ref = "/".join(parts[:end])
        try:
            commit = github.commit(full_name, ref)
        except NotFoundError:
            if end == shortest:
                raise
            continue
        folder = "".join(f"{part}/" for part in parts[end:])
        return commit, None if commit.startswith(ref.lower()) else ref, folder
    raise SourceError(f"{full_name} has no {target.tree}.", "Check the address.")


def _fetched(github: GitHub, full_name: str, commit: str, folder: Path, limit: int) -> Unpacked:
    """Fetches the archive into `folder` and unpacks it there; the archive itself is not kept."""
    try:
        with tempfile.TemporaryFile(dir=folder) as archive:
            github.archive(full_name, commit, archive)
            archive.seek(0)
            unpacked = unpack(archive, folder, limit=limit)
    except OSError as error:
        raise SourceError(
            f"The archive cannot be kept in a temporary folder: {error.strerror}.",
            "Set TMPDIR to one with room.",
        ) from None
    if unpacked.commit and unpacked.commit != commit:
        raise SourceError(
            f"GitHub gave the archive of {unpacked.commit[:12]}, not of {commit[:12]}.", "Try again later."
        )
    return unpacked


def _compared(unpacked: Unpacked, listed: dict[str, Listed], truncated: bool, prefix: str) -> Snapshot:
    """Entries below `prefix` of the archive and what the listing adds, gaps for what the archive lacks."""
    had = {entry.path: entry for entry in unpacked.entries}
    for path in unpacked.unhashed & listed.keys():
        had[path] = msgspec.structs.replace(had[path], blob=listed[path].sha)
    for path, record in listed.items():
        if record.kind is EntryKind.SUBMODULE:
            had[path] = Entry(path, record.sha, EntryKind.SUBMODULE)
    why = "GitHub leaves it out of archives (export-ignore in .gitattributes)"
    if unpacked.stopped:
        why = "the archive was not read to its end"
    # GitHub's JSON cannot hold a name that is not UTF-8: it has replacement characters there.
    replaced = {to_bytes(path).decode("utf-8", "replace") for path in had}
    gaps = [Gap(path, why) for path in listed if path not in had and path not in replaced]
    gaps += unpacked.gaps
    submodules = (path for path, entry in had.items() if entry.kind is EntryKind.SUBMODULE)
    gaps += [Gap(path, "a submodule, and its content is not here") for path in submodules]
    entries, cut = capped(
        msgspec.structs.replace(entry, path=path[len(prefix) :])
        for path, entry in had.items()
        if path.startswith(prefix)
    )
    if prefix and not entries:
        raise SourceError(f"The commit has no folder {prefix}.", "Check the address.")
    notes = _notes(unpacked, listed, truncated, prefix)
    return Snapshot(
        repository="",
        entries=entries,
        reader=ArchiveReader(""),
        gaps=tuple(
            sorted(Gap(gap.path[len(prefix) :], gap.why) for gap in gaps if gap.path.startswith(prefix))
        ),
        notes=(*notes, *cut, *name_notes(entries)),
    )


def _notes(unpacked: Unpacked, listed: dict[str, Listed], truncated: bool, prefix: str) -> list[str]:
    notes = []
    if prefix:
        notes.append(f"Only the folder {prefix} of the repository was looked at.")
    if unpacked.stopped:
        notes.append(f"The archive was not read to its end: {unpacked.stopped}.")
    if truncated:
        notes.append(
            "GitHub's listing of the tree is cut short, so what the archive leaves out is known only in part."
        )
    changed = sum(
        entry.path in listed and entry.path not in unpacked.unhashed and listed[entry.path].sha != entry.blob
        for entry in unpacked.entries
    )
    if changed:
        notes.append(
            f"{changed} files differ in the archive from what Git keeps (export-subst, line ends, LFS)."
        )
    return notes


def _with_tree(state: GitState, snapshot: Snapshot, listed: dict[str, Listed], prefix: str) -> GitState:
    """`state` with submodules and large files below `prefix`."""
    sizes = {
        prefix + entry.path: entry.size or 0 for entry in snapshot.entries if entry.kind is EntryKind.FILE
    }
    sizes |= {path: record.size or 0 for path, record in listed.items() if record.kind is EntryKind.FILE}
    return msgspec.structs.replace(
        state,
        submodules=tuple(
            Submodule(entry.path, False) for entry in snapshot.entries if entry.kind is EntryKind.SUBMODULE
        ),
        large_files=tuple(
            sorted(
                (path[len(prefix) :], size)
                for path, size in sizes.items()
                if path.startswith(prefix) and size > LARGE_FILE
            )
        ),
    )
