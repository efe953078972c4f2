"""The snapshot of a Git work tree: what is tracked and what is neither tracked nor ignored, as it lies on
disk.

Git lists, and says which files may differ from its index; contents are read and hashed here, because Git
would pass them through filters that a repository can configure.
"""

import stat
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath

import msgspec

from audit.documents.place import Gap
from audit.source.blobs import blob_id
from audit.source.confined import Confined, WorkTreeReader, to_bytes, to_text, why_not
from audit.source.git import GitError, Repository, refusal
from audit.source.gitref import GitObjectReader, object_sizes
from audit.source.listing import (
    Hasher,
    capped,
    kind_of_oddity,
    name_notes,
    set_aside_folder,
    with_prefix_removed,
)
from audit.source.naming import repository_name, without_credentials
from audit.source.snapshot import LARGE_FILE, READ_LIMIT, Entry, EntryKind, GitState, Snapshot, Submodule

_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_BYTES = 1024
_CONVERTING = ("filter", "working-tree-encoding", "ident")


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """One path of the index. `tag` is Git's letter: S not in the sparse checkout, lower case assumed
    unchanged, M unmerged.
    """

    path: bytes
    mode: bytes
    blob: str
    tag: bytes


class Change(msgspec.Struct, frozen=True, gc=False):
    """What `git diff-files` says of a path: its letter, and whether more than the content may differ."""

    letter: bytes
    mode_differs: bool


class _Listing(msgspec.Struct, frozen=True):
    """All that Git says about one folder of a work tree."""

    index: dict[bytes, Indexed]
    changes: dict[bytes, Change]
    staged: frozenset[bytes]
    untracked: tuple[bytes, ...]
    notes: tuple[str, ...]


def work_tree_snapshot(
    repository: Repository, *, prefix: str = "", limit: int = READ_LIMIT
) -> Snapshot | None:
    """The work tree below the folder `prefix` ("" or ending in "/"), with paths relative to it.

    None where Git tracks nothing of that folder (it is ignored, or only lies beside the repository). Raises
    SourceError.
    """
    git = repository.git
    commit = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    try:
        listing = _list(repository, prefix, commit)
    except GitError as error:
        raise refusal(git.folder, error, of_index=True) from None
    if prefix and not listing.index:
        return None
    root = f"{git.folder}/{prefix}".rstrip("/")
    remote = without_credentials(repository.remote) if repository.remote else None
    reading = _Reading(repository, listing, prefix, limit)
    entries, cut = capped(reading.entries())
    modified = tuple(sorted(reading.modified))
    untracked = tuple(sorted(reading.untracked))
    state = GitState(
        commit=commit,
        branch=git.ask("symbolic-ref", "--quiet", "--short", "HEAD"),
        remote=remote,
        modified=modified,
        untracked=untracked,
        submodules=tuple(sorted(reading.submodules)),
        shallow=repository.shallow,
        large_files=reading.large_files(entries),
    )
    return Snapshot(
        repository=repository_name(remote, git.folder),
        entries=entries,
        reader=WorkTreeReader(root, limit, repository.algorithm),
        git=state,
        gaps=tuple(sorted(reading.gaps)),
        notes=(*_whole_notes(state, prefix, reading), *listing.notes, *cut, *name_notes(entries)),
    )


def _whole_notes(state: GitState, prefix: str, reading: "_Reading") -> list[str]:
    notes = []
    if prefix:
        notes.append(f"Only the folder {prefix} of the repository was looked at.")
    if state.commit is None:
        notes.append("The repository has no commit yet.")
    elif state.modified or state.untracked:
        changed, new = len(state.modified or ()), len(state.untracked or ())
        notes.append(
            f"The work tree, which was looked at, differs from commit {state.commit[:12]}: "
            f"tracked files changed: {changed}, untracked paths: {new}."
        )
    if reading.set_aside:
        notes.append(
            f"Untracked folders that tools make were left out: {', '.join(sorted(reading.set_aside))}."
        )
    if reading.converted:
        notes.append(
            f"{reading.converted} tracked files pass through a Git filter or conversion, which is never run "
            "here: whether they differ from the commit is not known."
        )
    if reading.uncompared:
        notes.append(f"{reading.uncompared} tracked files are too much to be compared with the commit.")
    return notes


def _list(repository: Repository, prefix: str, commit: str | None) -> _Listing:
    """Asks Git, four questions at a time. Raises GitError."""
    below = ("--", prefix) if prefix else ()
    raw = ("--raw", "-z", "--ignore-submodules=dirty", "--no-ext-diff", "--no-renames")
    ask = repository.git.run
    with ThreadPoolExecutor(4) as pool:
        indexed = pool.submit(ask, "ls-files", "-s", "-v", "-z", *below)
        changed = pool.submit(ask, "diff-files", *raw, *below)
        beside = pool.submit(ask, "ls-files", "--others", "--exclude-standard", "-z", *below)
        against = pool.submit(ask, "diff-index", "--cached", *raw, commit, *below) if commit else None
    index = _index(indexed.result())
    notes: tuple[str, ...] = ()
    unmerged = sum(entry.tag == b"M" for entry in index.values())
    if unmerged:
        notes += (f"A merge is under way: {unmerged} unmerged files were looked at as they lie on disk.",)
    staged = frozenset(index)
    if against is not None:
        try:
            staged = frozenset(_changes(against.result()))
        except GitError as error:
            staged = frozenset()
            notes += (f"What is staged could not be compared with the commit ({error}).",)
    untracked = tuple(path for path in beside.result().split(b"\0") if path)
    return _Listing(index, _changes(changed.result()), staged, untracked, notes)


def _index(listed: bytes) -> dict[bytes, Indexed]:
    """Records of `git ls-files -s -v -z`, one a path: of an unmerged path the last stage."""
    index: dict[bytes, Indexed] = {}
    for record in listed.split(b"\0"):
        head, tab, path = record.partition(b"\t")
        if tab:
            tag, mode, blob, _ = head.split(b" ")
            index[path] = Indexed(path, mode, blob.decode(), tag)
    return index


def _changes(listed: bytes) -> dict[bytes, Change]:
    """Records of Git's raw difference format with -z: `:mode mode id id letter NUL path NUL`."""
    changes: dict[bytes, Change] = {}
    fields = iter(listed.split(b"\0"))
    for head in fields:
        path = next(fields, None)
        parts = head.split(b" ")
        if path is None or len(parts) != 5:
            break
        old, new, letter = parts[0].lstrip(b":"), parts[1], parts[4][:1]
        # An unmerged path has two records; the one that says so stands.
        if path not in changes or letter == b"U":
            changes[path] = Change(letter, old != new)
    return changes


class _Reading:
    """One look at the files on disk, with Git's listing in hand."""

    def __init__(self, repository: Repository, listing: _Listing, prefix: str, limit: int) -> None:
        self._repository = repository
        self._listing = listing
        self._prefix = prefix
        self._limit = limit
        self.gaps: list[Gap] = []
        self.submodules: list[Submodule] = []
        self.modified: set[str] = {self._name(path) for path in listing.staged}
        self.untracked: set[str] = set()
        self.set_aside: set[str] = set()
        self.converted = 0
        self.uncompared = 0
        self._environments = frozenset(
            self._name(path).removesuffix("pyvenv.cfg")
            for path in listing.untracked
            if path.endswith(b"/pyvenv.cfg")
        )
        self._doubtful: list[bytes] = []

    def _name(self, path: bytes) -> str:
        return with_prefix_removed(to_text(path), self._prefix)

    def entries(self) -> list[Entry]:
        """All entries; fills the other fields on the way."""
        entries = []
        with Confined(self._repository.git.folder) as tree:
            hasher = Hasher(tree, self._limit, self._repository.algorithm)
            for path, indexed in sorted(self._listing.index.items()):
                if entry := self._tracked(tree, hasher, path, indexed):
                    entries.append(entry)
            for path in sorted(self._listing.untracked):
                if entry := self._untracked(tree, hasher, path):
                    entries.append(entry)
            self._settle(tree, hasher)
        return entries

    def _tracked(self, tree: Confined, hasher: Hasher, path: bytes, indexed: Indexed) -> Entry | None:
        name = self._name(path)
        if indexed.mode == b"160000":
            return self._submodule(tree, path, name, indexed)
        change = self._listing.changes.get(path)
        try:
            state = tree.stat(path)
        except OSError as error:
            self._absent(name, indexed, change, error)
            return None
        is_link = stat.S_ISLNK(state.st_mode)
        if not is_link and not stat.S_ISREG(state.st_mode):
            self.modified.add(name)
            self.gaps.append(Gap(name, f"{kind_of_oddity(state.st_mode)} stands where Git tracks a file"))
            return None
        kind = EntryKind.SYMLINK if is_link or indexed.mode == b"120000" else EntryKind.FILE
        # Lower case: Git was told not to look whether the file changed, so it is looked at here.
        if change is None and not indexed.tag.islower():
            return Entry(name, indexed.blob, kind, state.st_size)
        try:
            content = hasher.content(path, state)
            if content is None:
                header = b"blob %d\0" % state.st_size
                actual = hasher.digest(path, state, self._repository.algorithm, header)
            else:
                actual = blob_id(content, self._repository.algorithm)
        except OSError as error:
            self.modified.add(name)
            self.gaps.append(Gap(name, why_not(error)))
            return None
        if actual is None:
            self.uncompared += 1
            return Entry(name, hasher.id_of(path, state, None), kind, state.st_size)
        return Entry(name, self._compared(path, indexed, change, content, actual), kind, state.st_size)

    def _absent(self, name: str, indexed: Indexed, change: Change | None, error: OSError) -> None:
        if indexed.tag.upper() == b"S":
            self.gaps.append(Gap(name, "outside the sparse checkout"))
            return
        self.modified.add(name)
        if not isinstance(error, FileNotFoundError) and not (change and change.letter == b"D"):
            self.gaps.append(Gap(name, why_not(error)))

    def _compared(
        self, path: bytes, indexed: Indexed, change: Change | None, content: bytes | None, actual: str
    ) -> str:
        """The id for a file that Git believes may differ, and whether it does: an index is often only out of
        date.
        """
        if change and (change.mode_differs or change.letter != b"M"):
            self.modified.add(self._name(path))
            return actual
        if actual == indexed.blob:
            return actual
        if content is not None and b"\r\n" in content:
            normal = blob_id(content.replace(b"\r\n", b"\n"), self._repository.algorithm)
            if normal == indexed.blob:
                return normal
        self._doubtful.append(path)
        return actual

    def _settle(self, tree: Confined, hasher: Hasher) -> None:
        """Decides about files whose bytes differ from their blob: changed, or kept by Git in another form."""
        if not self._doubtful:
            return
        converted = self._converted_paths(self._doubtful)
        pointers = self._pointers([path for path in self._doubtful if converted.get(path) == b"lfs"])
        for path in self._doubtful:
            if path in pointers:
                digest = self._sha256(tree, hasher, path)
                if digest is None:
                    self.uncompared += 1
                elif digest != pointers[path]:
                    self.modified.add(self._name(path))
            elif path in converted:
                self.converted += 1
            else:
                self.modified.add(self._name(path))

    def _sha256(self, tree: Confined, hasher: Hasher, path: bytes) -> str | None:
        try:
            return hasher.digest(path, tree.stat(path), "sha256")
        except OSError:
            return ""

    def _converted_paths(self, paths: Iterable[bytes]) -> dict[bytes, bytes]:
        """Paths that an attribute makes Git store in another form, with the attribute's value."""
        try:
            answer = self._repository.git.run(
                "check-attr", "-z", "--stdin", *_CONVERTING, feed=b"".join(path + b"\0" for path in paths)
            )
        except GitError:
            return {}
        fields = answer.split(b"\0")
        found = {}
        for path, _, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if value not in (b"unspecified", b"unset", b"false"):
                found[path] = value
        return found

    def _pointers(self, paths: list[bytes]) -> dict[bytes, str]:
        """The SHA-256 that the LFS pointer in the index promises, by path."""
        reader = GitObjectReader(self._repository.git, _LFS_BYTES)
        promised = {}
        asked = [Entry(to_text(path), self._listing.index[path].blob) for path in paths]
        for entry, pointer in reader.read(asked):
            if isinstance(pointer, bytes) and pointer.startswith(_LFS):
                for line in pointer.splitlines():
                    if line.startswith(b"oid sha256:"):
                        promised[to_bytes(entry.path)] = (
                            line[len(b"oid sha256:") :].strip().decode("ascii", "replace")
                        )
        return promised

    def _submodule(self, tree: Confined, path: bytes, name: str, indexed: Indexed) -> Entry:
        try:
            tree.stat(path + b"/.git")
            initialized = True
        except OSError:
            initialized = False
        self.submodules.append(Submodule(name, initialized))
        if path in self._listing.changes and (initialized or self._listing.changes[path].letter != b"D"):
            self.modified.add(name)
        here = "a repository of its own" if initialized else "and its content is not here"
        self.gaps.append(Gap(name, f"a submodule, {here}"))
        return Entry(name, indexed.blob, EntryKind.SUBMODULE, None)

    def _untracked(self, tree: Confined, hasher: Hasher, path: bytes) -> Entry | None:
        name = self._name(path)
        if folder := set_aside_folder(name, self._environments):
            self.untracked.add(folder)
            self.set_aside.add(PurePosixPath(folder).name)
            return None
        self.untracked.add(name)
        if path.endswith(b"/"):
            self.gaps.append(Gap(name, "an untracked repository of its own"))
            return None
        try:
            state = tree.stat(path)
            if not stat.S_ISREG(state.st_mode) and not stat.S_ISLNK(state.st_mode):
                self.gaps.append(Gap(name, f"{kind_of_oddity(state.st_mode)}, not a file"))
                return None
            blob = hasher.id_of(path, state, hasher.content(path, state))
        except OSError as error:
            self.gaps.append(Gap(name, why_not(error)))
            return None
        kind = EntryKind.SYMLINK if stat.S_ISLNK(state.st_mode) else EntryKind.FILE
        return Entry(name, blob, kind, state.st_size, tracked=False)

    def large_files(self, entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
        """Tracked files over LARGE_FILE, by what Git keeps: a file under LFS is large on disk and small in
        Git.
        """
        large = [
            entry
            for entry in entries
            if entry.tracked and entry.kind is EntryKind.FILE and (entry.size or 0) > LARGE_FILE
        ]
        if not large:
            return ()
        blobs = {entry.path: self._listing.index[to_bytes(self._prefix + entry.path)].blob for entry in large}
        try:
            kept = object_sizes(self._repository.git, list(blobs.values()))
        except GitError:
            kept = {}
        sizes = ((entry.path, kept.get(blobs[entry.path], entry.size or 0)) for entry in large)
        return tuple((path, size) for path, size in sizes if size > LARGE_FILE)
