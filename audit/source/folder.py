"""The snapshot of a plain folder: everything in it but links' targets and what tools put there."""

import os
import stat
from collections.abc import Iterator

from audit.documents.place import Gap
from audit.source.confined import Confined, WorkTreeReader, to_bytes, to_text, why_not
from audit.source.errors import SourceError
from audit.source.listing import MAX_ENTRIES, SET_ASIDE, Hasher, capped, kind_of_oddity, name_notes
from audit.source.naming import repository_name
from audit.source.snapshot import READ_LIMIT, Entry, EntryKind, GitState, Snapshot

_MAX_DEPTH = 200


def folder_snapshot(
    root: str, *, limit: int = READ_LIMIT, git: GitState | None = None, notes: tuple[str, ...] = ()
) -> Snapshot:
    """The files below `root`, a real path. Raises SourceError where the folder itself cannot be listed.

    `git` and `notes` are handed through: what the caller knows about why the folder is read without Git.
    """
    walk = _Walk(root, limit)
    try:
        entries, cut = capped(walk.entries())
    except OSError as error:
        raise SourceError(
            f"{root} cannot be listed: {error.strerror}.", "Check the folder's permissions."
        ) from None
    gaps = walk.gaps
    if walk.set_aside:
        kinds = ", ".join(sorted(walk.set_aside))
        notes += (f"Folders that tools make were left out: {kinds}.",)
    return Snapshot(
        repository=repository_name(None, root),
        entries=entries,
        reader=WorkTreeReader(root, limit),
        git=git,
        gaps=tuple(sorted(gaps)),
        notes=notes + cut + name_notes(entries),
    )


class _Walk:
    """One walk through a folder; collects on the way what it does not hand out."""

    def __init__(self, root: str, limit: int) -> None:
        self._root = root
        self._limit = limit
        self.gaps: list[Gap] = []
        self.set_aside: set[str] = set()

    def entries(self) -> Iterator[Entry]:
        """Regular files and links, folder by folder in the order of their names. Raises OSError where the
        root is unreadable.
        """
        with Confined(self._root) as tree:
            hasher = Hasher(tree, self._limit, "sha1")
            for path in self._files():
                try:
                    state = tree.stat(path)
                    name = to_text(path)
                    if not stat.S_ISREG(state.st_mode) and not stat.S_ISLNK(state.st_mode):
                        self.gaps.append(Gap(name, f"{kind_of_oddity(state.st_mode)}, not a file"))
                        continue
                    blob = hasher.id_of(path, state, hasher.content(path, state))
                except OSError as error:
                    self.gaps.append(Gap(to_text(path), why_not(error)))
                    continue
                kind = EntryKind.SYMLINK if stat.S_ISLNK(state.st_mode) else EntryKind.FILE
                yield Entry(name, blob, kind, state.st_size, tracked=False)

    def _files(self) -> Iterator[bytes]:
        """Relative paths of all that is not a folder; folders are entered without following links."""
        root = to_bytes(self._root)
        os.scandir(root).close()
        waiting: list[tuple[bytes, int]] = [(b"", 0)]
        count = 0
        while waiting and count <= MAX_ENTRIES:
            folder, depth = waiting.pop()
            inner: list[tuple[bytes, int]] = []
            for name, is_folder in self._listed(root, folder):
                path = folder + b"/" + name if folder else name
                if not is_folder:
                    count += 1
                    yield path
                elif self._is_set_aside(root + b"/" + path, name):
                    self.set_aside.add(to_text(name))
                elif depth >= _MAX_DEPTH:
                    self.gaps.append(
                        Gap(to_text(path), f"folders nested more than {_MAX_DEPTH} deep were not entered")
                    )
                else:
                    inner.append((path, depth + 1))
            waiting.extend(reversed(inner))

    def _listed(self, root: bytes, folder: bytes) -> list[tuple[bytes, bool]]:
        try:
            with os.scandir(root + b"/" + folder) as found:
                # A `.git` that is a file points to a repository elsewhere.
                return sorted(
                    (item.name, item.is_dir(follow_symlinks=False))
                    for item in found
                    if item.name != b".git" or item.is_dir(follow_symlinks=False)
                )
        except OSError as error:
            self.gaps.append(Gap(to_text(folder), why_not(error)))
            return []

    def _is_set_aside(self, path: bytes, name: bytes) -> bool:
        if to_text(name) in SET_ASIDE:
            return True
        # A virtual environment by any name says so itself.
        return os.path.lexists(path + b"/pyvenv.cfg")
