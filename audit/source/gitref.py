"""The snapshot of a commit, read from Git's object store: the work tree is neither needed nor touched."""

import atexit
import os
import subprocess
from collections.abc import Iterator, Sequence

import msgspec

from audit.documents.place import Gap
from audit.source.confined import SUBMODULE, to_text, too_large
from audit.source.errors import SourceError
from audit.source.git import Git, GitError, Repository, refusal
from audit.source.listing import capped, name_notes, with_prefix_removed
from audit.source.naming import repository_name, without_credentials
from audit.source.snapshot import LARGE_FILE, READ_LIMIT, Entry, EntryKind, GitState, Snapshot, Submodule

_NEVER_FETCHED = "its content was never fetched into this partial clone"
_LOST = "Git does not hold its content: the clone is damaged"
_ASKED_AT_ONCE = 400


class GitObjectReader(msgspec.Struct, frozen=True):
    """Reads contents by their ids through one `git cat-file` a process, at most `limit` bytes each."""

    git: Git
    limit: int = READ_LIMIT

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        """See `BlobReader.read`."""
        for start in range(0, len(entries), _ASKED_AT_ONCE):
            part = entries[start : start + _ASKED_AT_ONCE]
            refused = {id(entry): why for entry in part if (why := self._refused(entry))}
            contents = iter(self._contents([entry.blob for entry in part if id(entry) not in refused]))
            for entry in part:
                yield entry, refused.get(id(entry)) or next(contents)

    def _refused(self, entry: Entry) -> str:
        if entry.kind is EntryKind.SUBMODULE:
            return SUBMODULE
        size = entry.size or 0
        return too_large(size, self.limit) if size > self.limit else ""

    def _contents(self, blobs: list[str]) -> list[bytes | str]:
        """Answers for ids; where Git gives up on one (a damaged object), it is started anew for the rest."""
        answers: list[bytes | str] = []
        while len(answers) < len(blobs):
            try:
                process = _cat_file(self.git)
                _ask(process, blobs[len(answers) :], self.limit, answers)
            except (OSError, ValueError) as error:
                _end_cat_file()
                if isinstance(error, FileNotFoundError):
                    return answers + ["git cannot be started"] * (len(blobs) - len(answers))
                answers.append("Git cannot read it: the object is damaged")
        return answers


_running: dict[tuple[int, Git], subprocess.Popen[bytes]] = {}


def _cat_file(git: Git) -> subprocess.Popen[bytes]:
    """This process's own `git cat-file`; one inherited from a parent process is never used, as two would read
    its answers.
    """
    key = (os.getpid(), git)
    process = _running.get(key)
    if process is None or process.poll() is not None:
        _end_cat_file()
        if not _running:
            atexit.register(_end_cat_file)
        process = _running[key] = git.start("cat-file", "--batch")
    return process


def _end_cat_file() -> None:
    """Ends what this process started, and forgets what it inherited."""
    for (owner, _), process in list(_running.items()):
        if owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
    _running.clear()


def _ask(process: subprocess.Popen[bytes], blobs: list[str], limit: int, answers: list[bytes | str]) -> None:
    """Appends one answer a blob. The requests fit into a pipe's buffer, so that writing them all first cannot
    block.
    """
    assert process.stdin is not None and process.stdout is not None  # noqa: S101 (pipes were asked for)
    process.stdin.write("".join(f"{blob}\n" for blob in blobs).encode())
    process.stdin.flush()
    for _ in blobs:
        header = process.stdout.readline().split()
        if len(header) == 2 and header[1] == b"missing":
            answers.append("Git does not hold its content")
            continue
        if len(header) != 3:
            raise ValueError("git ended")
        size = int(header[2])
        if size > limit:
            _skip(process, size + 1)
            answers.append(too_large(size, limit))
            continue
        content = process.stdout.read(size + 1)
        if len(content) != size + 1:
            raise ValueError("git ended")
        answers.append(content[:-1] if header[1] == b"blob" else "not a file")


def _skip(process: subprocess.Popen[bytes], count: int) -> None:
    assert process.stdout is not None  # noqa: S101 (a pipe was asked for)
    while count > 0:
        chunk = process.stdout.read(min(count, 2**20))
        if not chunk:
            raise ValueError("git ended")
        count -= len(chunk)


def object_sizes(git: Git, blobs: Sequence[str]) -> dict[str, int]:
    """Sizes in bytes of the objects that are there. Raises GitError."""
    unique = list(dict.fromkeys(blobs))
    if not unique:
        return {}
    asked = "".join(f"{blob}\n" for blob in unique).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", "--buffer", feed=asked)
    sizes: dict[str, int] = {}
    for line in answer.splitlines():
        name, _, size = line.partition(b" ")
        if size.isdigit():
            sizes[name.decode()] = int(size)
    return sizes


def _missing(git: Git, commit: str) -> frozenset[str]:
    """Contents of a commit that a partial clone never fetched. To ask `cat-file` for one would fetch it.
    Raises GitError.
    """
    walk = ("rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk")
    listed = git.run(*walk, f"{commit}^{{tree}}").decode("ascii", "replace")
    return frozenset(line[1:] for line in listed.splitlines() if line.startswith("?"))


def ref_snapshot(repository: Repository, ref: str, *, prefix: str = "", limit: int = READ_LIMIT) -> Snapshot:
    """The commit that `ref` names, below the folder `prefix` ("" or ending in "/"), with paths relative to
    it.

    Raises SourceError where there is no such commit or its trees are not there.
    """
    git = repository.git
    commit, notes = _resolved(repository, ref)
    try:
        tree = git.run("ls-tree", "-r", "-z", "--full-tree", commit, *(["--", prefix] if prefix else []))
        listed = _listed(tree, prefix)
        missing = _missing(git, commit) if repository.partial else frozenset()
        blobs = [blob for _, kind, blob in listed if kind is not EntryKind.SUBMODULE and blob not in missing]
        sizes = object_sizes(git, blobs)
    except GitError as error:
        raise refusal(git.folder, error) from None
    if prefix and not listed:
        raise SourceError(
            f"{ref} has no folder {prefix}.", "Name a folder that the commit holds, or the repository itself."
        )
    entries, cut = capped(
        Entry(path, blob, kind, sizes.get(blob))
        for path, kind, blob in listed
        if kind is EntryKind.SUBMODULE or blob in sizes
    )
    name = git.ask("rev-parse", "--symbolic-full-name", ref) or ""
    remote = without_credentials(repository.remote) if repository.remote else None
    submodules = tuple(Submodule(path, False) for path, kind, _ in listed if kind is EntryKind.SUBMODULE)
    state = GitState(
        commit=commit,
        branch=name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None,
        remote=remote,
        submodules=submodules,
        shallow=repository.shallow,
        large_files=tuple(
            (entry.path, entry.size)
            for entry in entries
            if entry.size is not None and entry.size > LARGE_FILE and entry.kind is EntryKind.FILE
        ),
    )
    why = _NEVER_FETCHED if repository.partial else _LOST
    gaps = [
        Gap(path, why) for path, kind, blob in listed if kind is not EntryKind.SUBMODULE and blob not in sizes
    ]
    gaps += [Gap(module.path, "a submodule, a repository of its own") for module in submodules]
    if prefix:
        notes += (f"Only the folder {prefix} of the repository was looked at.",)
    return Snapshot(
        repository=repository_name(remote, git.folder.removesuffix("/.git").removesuffix(".git")),
        entries=entries,
        reader=GitObjectReader(git, limit),
        git=state,
        gaps=tuple(sorted(gaps)),
        notes=notes + cut + name_notes(entries),
    )


def _resolved(repository: Repository, ref: str) -> tuple[str, tuple[str, ...]]:
    """The commit's id, and a note where the ref was found only at the remote."""
    for name in (ref, f"refs/remotes/origin/{ref}"):
        commit = repository.git.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        if commit:
            notes = (
                ()
                if name == ref
                else (f"{ref} is no local branch; the remote's, origin/{ref}, was looked at.",)
            )
            return commit, notes
    where = repository.git.folder
    if ref == "HEAD":
        raise SourceError(
            f"{where} has no commit yet.", "Commit something first, or audit the folder itself."
        )
    if repository.shallow:
        advice = f"This clone is shallow: fetch what is missing with git fetch --depth 1 origin {ref}"
    else:
        advice = "git branch -a and git tag list what there is; git fetch gets what is new."
    raise SourceError(f"{where} has no commit named {ref}.", advice)


def _listed(tree: bytes, prefix: str) -> list[tuple[str, EntryKind, str]]:
    """Records of `git ls-tree -z` as (path, kind, id)."""
    kinds = {b"160000": EntryKind.SUBMODULE, b"120000": EntryKind.SYMLINK}
    listed = []
    for record in tree.split(b"\0"):
        head, tab, path = record.partition(b"\t")
        if tab:
            mode, _, blob = head.split(b" ")
            listed.append(
                (with_prefix_removed(to_text(path), prefix), kinds.get(mode, EntryKind.FILE), blob.decode())
            )
    return listed
