"""From a target's name to its snapshot."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from audit.source.errors import SourceError
from audit.source.folder import folder_snapshot
from audit.source.git import Repository, find_git, git_in, open_repository
from audit.source.gitref import ref_snapshot
from audit.source.snapshot import READ_LIMIT, Snapshot
from audit.source.target import GitHubTarget, LocalTarget, parse_target, server_for
from audit.source.worktree import work_tree_snapshot

Progress = Callable[[str], None]


def _silent(_: str) -> None:
    return None


@contextmanager
def open_snapshot(
    target: str, *, environ: Mapping[str, str], limit: int = READ_LIMIT, progress: Progress = _silent
) -> Iterator[Snapshot]:
    """The snapshot of `target`: PATH, PATH@REF, owner/repo[@ref], or a GitHub URL. A context manager: an
    archive's contents live in a temporary folder that goes when it ends.

    `environ` gives PATH, HOME, GITHUB_TOKEN, GH_TOKEN and GITHUB_API_URL. `limit`: bytes of the largest
    content that its reader hands out. `progress` is told what takes long. Raises SourceError, and
    `audit.net.errors.NetworkError` for GitHub.

    A folder inside a work tree gives that folder's files alone, with paths relative to it, and Git's state of
    them.
    """
    named = parse_target(target)
    if isinstance(named, LocalTarget):
        yield _local(named, environ, limit)
        return
    with _remote(named, environ, limit, progress) as snapshot:
        yield snapshot


@contextmanager
def _remote(
    target: GitHubTarget, environ: Mapping[str, str], limit: int, progress: Progress
) -> Iterator[Snapshot]:
    from audit.net.github import GitHub
    from audit.source.github import archive_snapshot

    server = server_for(target.host, environ)
    with (
        GitHub(server.api, server.token) as github,
        archive_snapshot(github, target, host=server.host, limit=limit, progress=progress) as snapshot,
    ):
        yield snapshot


class Place(msgspec.Struct, frozen=True):
    """A folder of this machine: its real path, and the Git repository around it, if there is one that Git accepts. `prefix`: the folder
    relative to the repository's root, "" or ending in "/"."""

    folder: Path
    repository: Repository | None
    prefix: str = ""


def place_of(path: str, environ: Mapping[str, str]) -> Place:
    """The folder at `path` and the repository around it. Raises SourceError."""
    folder = _real_folder(path)
    root, _ = _root_of(folder)
    program = find_git(environ) if root else None
    if root is None or program is None:
        return Place(folder, None)
    repository = open_repository(git_in(program, str(root), environ))
    return Place(folder, repository, _below(root, folder) if repository else "")


def _local(target: LocalTarget, environ: Mapping[str, str], limit: int) -> Snapshot:
    folder = _real_folder(target.path)
    root, is_bare = _root_of(folder)
    program = find_git(environ) if root else None
    repository = open_repository(git_in(program, str(root), environ)) if root and program else None
    if root and repository:
        if target.ref is not None or is_bare or repository.bare:
            return ref_snapshot(repository, target.ref or "HEAD", prefix=_below(root, folder), limit=limit)
        return _of_work_tree(repository, folder, _below(root, folder), limit)
    if target.ref is not None:
        raise SourceError(
            f"{target.path}@{target.ref} asks for a commit, but " + _why_without_git(root, program),
            f"Give {target.path} to audit the folder as it is.",
        )
    return folder_snapshot(str(folder), limit=limit, notes=(_sentence(_why_without_git(root, program)),))


def _below(root: Path, folder: Path) -> str:
    """`folder` relative to `root`, as a prefix of paths."""
    return "" if root == folder else f"{folder.relative_to(root).as_posix()}/"


def _of_work_tree(repository: Repository, folder: Path, prefix: str, limit: int) -> Snapshot:
    snapshot = work_tree_snapshot(repository, prefix=prefix, limit=limit)
    if snapshot is not None:
        return snapshot
    above = "The Git repository around the folder tracks nothing of it, so it was read as a plain folder."
    return folder_snapshot(str(folder), limit=limit, notes=(above,))


def _why_without_git(root: Path | None, program: str | None) -> str:
    if root is None:
        return "the folder is not in a Git repository."
    if program is None:
        return "git is not installed, so nothing is known of the repository's commit and history."
    return "Git does not accept its .git as a repository (damaged, or pointing to a place that is not here)."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _real_folder(path: str) -> Path:
    try:
        folder = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"{path} cannot be reached: {reason}.", "Check the path.") from None
    if not folder.is_dir():
        raise SourceError(f"{path} is not a folder.", "Give the folder of the repository.")
    return folder


def _root_of(folder: Path) -> tuple[Path | None, bool]:
    """The nearest folder at or above `folder` that Git would take for a repository, and whether it is a bare
    one.
    """
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
        return folder, True
    for place in (folder, *folder.parents):
        try:
            (place / ".git").lstat()
        except OSError:
            continue
        return place, False
    return None, False
