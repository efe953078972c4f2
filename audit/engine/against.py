"""Which earlier state a baseline names, and what was found there."""

import os
from pathlib import Path

import msgspec

from audit.documents.errors import DocumentError
from audit.documents.report import SCHEMA_VERSION, Report
from audit.engine.options import Effects
from audit.source.errors import SourceError
from audit.source.git import find_git, git_in, open_repository
from audit.source.snapshot import Snapshot
from audit.source.target import GitHubTarget, LocalTarget, parse_target

MAX_REPORT = 256 * 2**20


def report_file(name: str) -> Path | None:
    """The file that a baseline names, None where it names a ref: what exists as a file is one."""
    try:
        path = Path(name).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


def read_report(path: Path) -> Report:
    """An earlier report, strictly. Raises DocumentError."""
    advice = "Give a report that `ml-audit --format json` wrote."
    try:
        if path.stat().st_size > MAX_REPORT:
            raise DocumentError(f"{path} is larger than {MAX_REPORT // 2**20} MiB.", advice)
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.", advice) from None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentError(f"{path} is not a report of ml-audit: {error}.", advice) from None
    if report.schema_version != SCHEMA_VERSION:
        raise DocumentError(
            f"{path} has schema version {report.schema_version}, not {SCHEMA_VERSION}.", advice
        )
    return report


def base_target(target: str, ref: str, snapshot: Snapshot, effects: Effects) -> tuple[str, str]:
    """The target that names the baseline, and a note on what was compared with what. Raises SourceError.

    For a repository of this machine it is the merge base: what others changed on the base branch in the meantime is not this change's. On GitHub it
    is the ref itself, and the note says so.
    """
    named = parse_target(target)
    if isinstance(named, GitHubTarget):
        where = f"https://{named.host}" if named.host else ""
        base = (
            f"{where}/{named.owner}/{named.name}/commit/{ref}"
            if where
            else f"{named.owner}/{named.name}@{ref}"
        )
        return (
            base,
            f"Compared with {ref} as it is now, not with the merge base: the history was not fetched.",
        )
    commit = _merge_base(named, ref, snapshot, effects)
    where = "" if commit.startswith(ref) else f", where this and {ref} part"
    return f"{named.path}@{commit}", f"Compared with {commit[:12]}{where}."


def _merge_base(named: LocalTarget, ref: str, snapshot: Snapshot, effects: Effects) -> str:
    head = snapshot.git.commit if snapshot.git else None
    program = find_git(effects.environ)
    root = _root(Path(named.path))
    repository = open_repository(git_in(program, str(root), effects.environ)) if program and root else None
    if head is None or repository is None:
        raise SourceError(
            f"The baseline {ref} is a commit, but {named.path} has none to compare with.",
            "Give a report file as the baseline, or audit a Git repository that has a commit.",
        )
    for name in (ref, f"refs/remotes/origin/{ref}"):
        commit = repository.git.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        if commit:
            # Without a common ancestor (a shallow clone, an unrelated branch) the ref itself is all that there is.
            return repository.git.ask("merge-base", head, commit) or commit
    raise SourceError(
        f"{named.path} has no commit named {ref}, and there is no file of that name.",
        "In a shallow clone fetch it first: git fetch --depth 1 origin " + ref,
    )


def _root(folder: Path) -> Path | None:
    folder = Path(os.path.realpath(folder.expanduser()))
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        return folder
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)


def refuse_itself(name: str, base_commit: str | None, snapshot: Snapshot) -> None:
    """Raises DocumentError where the baseline is the very state that is audited: nothing could ever be new."""
    git = snapshot.git
    if git is None or git.commit is None or base_commit != git.commit or git.modified or git.untracked:
        return
    raise DocumentError(
        f"The baseline {name} is the audited commit {git.commit[:12]} itself, so nothing could be new.",
        "Name the branch that this change goes to, or an earlier report.",
    )
