"""Which code ran: the state of the Git repository around the files."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import kind_of
from audit.facts.kinds import Kind
from audit.facts.model import PatternFacts
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.repository import Repository
from audit.source.snapshot import EntryKind, GitState

_NO_GIT = "This folder is not a Git repository."
_NO_WORK_TREE = "Only committed files were read: there is no work tree to compare with the commit."
_POINTER_SIZE = 1024
"""Bytes below which a file that LFS should hold is a pointer (they are about 130 bytes long)."""
_INERT = frozenset(
    {Kind.DOCS, Kind.LICENSE, Kind.CITATION, Kind.TEXT, Kind.OTHER, Kind.GIT_IGNORE, Kind.GIT_ATTRIBUTES}
)
"""Kinds of file that do not change what an experiment does."""


def _git(context: Context) -> GitState | None:
    return context.repository.snapshot.git


def git_repository(context: Context) -> Iterable[Outcome]:
    if _git(context) is None:
        yield failed("The audited folder is not a Git repository, so no commit names the code that ran.")
    else:
        yield passed("The folder is a Git repository.")


def commit(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
    elif git.commit is None:
        yield failed(
            "The repository has no commit yet, so nothing names the code that ran.",
            fix="Commit the code: `git add` and `git commit`.",
        )
    else:
        yield passed(f"The code is at commit {git.commit[:12]}.")


def clean_tree(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
    elif git.modified is None:
        yield not_checked(_NO_WORK_TREE)
    elif git.modified:
        yield failed(
            f"{_files(git.modified)} from the commit: {listed(git.modified)}.",
            *capped(Place(path, None, "differs from the commit") for path in git.modified),
            fix="Commit the changes before a run whose result is to be kept.",
        )
    else:
        yield passed("No tracked file differs from the commit.")


def _files(paths: tuple[str, ...]) -> str:
    return f"{counted(len(paths), 'tracked file')} {'differs' if len(paths) == 1 else 'differ'}"


def untracked_files(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
    elif git.untracked is None:
        yield not_checked(_NO_WORK_TREE)
    elif git.untracked:
        active = [path for path in git.untracked if kind_of(path) not in _INERT]
        shown = [*active, *(path for path in git.untracked if path not in frozenset(active))]
        what = "code or configuration" if active else "nothing that is code or configuration"
        yield failed(
            f"{counted(len(shown), 'file')} {'is' if len(shown) == 1 else 'are'} neither tracked nor ignored ({what} among them): {listed(shown)}.",
            *capped(Place(path, None, "untracked") for path in shown),
            fix="Commit what the experiment uses; put what it writes into .gitignore.",
            severity=None if active else Severity.INFO,
        )
    else:
        yield passed("Every file is tracked or ignored.")


def submodules_initialized(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
    elif not git.submodules:
        yield not_applicable("The repository has no submodules.")
    elif git.modified is None:
        yield not_checked(_NO_WORK_TREE, *capped(Place(each.path) for each in git.submodules))
    else:
        missing = [each.path for each in git.submodules if not each.initialized]
        for path in missing[:OUTCOME_LIMIT]:
            yield failed(
                f"The submodule {path} is not checked out, so its code is missing and was not audited.",
                Place(path),
                key=path,
            )
        if len(missing) > OUTCOME_LIMIT:
            yield failed(
                f"{len(missing) - OUTCOME_LIMIT} further submodules are not checked out.", key="more"
            )
        if not missing:
            yield passed(f"{counted(len(git.submodules), 'submodule')} checked out.")


def remote_recorded(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
    elif git.remote:
        yield passed(f"The remote origin is {git.remote}.")
    else:
        yield failed("The repository has no remote called origin, so nobody else can fetch the commit.")


def large_files(context: Context) -> Iterable[Outcome]:
    git = _git(context)
    if git is None:
        yield not_applicable(_NO_GIT)
        return
    largest = sorted(git.large_files, key=lambda item: (-item[1], item[0]))
    for path, size in largest[:OUTCOME_LIMIT]:
        yield failed(
            f"{path} is kept in Git with {size / 2**20:.0f} MiB: every clone downloads every version of it.",
            Place(path),
            key=path,
        )
    if len(largest) > OUTCOME_LIMIT:
        rest = largest[OUTCOME_LIMIT:]
        yield failed(
            f"{len(rest)} further large files are kept in Git.",
            *capped(Place(path) for path, _ in rest),
            key="more",
        )
    if not largest:
        yield passed("No tracked file is larger than 10 MiB.")


def lfs_pointers(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    git = repository.snapshot.git
    pointers = tuple(sorted(_pointers(repository)))
    if not pointers:
        yield not_applicable("No file of this snapshot is a Git LFS pointer.")
    elif git is None or git.modified is None:
        yield not_checked(
            f"{_contents(pointers)} in Git LFS and not in this snapshot: {listed(pointers)}.",
            *capped(Place(path) for path in pointers),
        )
    else:
        yield failed(
            f"{_contents(pointers)} in Git LFS and was not downloaded: {listed(pointers)}.",
            *capped(Place(path, None, "Git LFS pointer") for path in pointers),
            fix="Run `git lfs pull`.",
        )


def _contents(paths: tuple[str, ...]) -> str:
    return f"The content of {counted(len(paths), 'file')} lies"


def _pointers(repository: Repository) -> Iterator[str]:
    """Files that were read and are pointers, and small files of a pattern that .gitattributes gives to LFS."""
    yield from (path for path, facts in repository.facts.items() if facts.lfs)
    patterns = [
        (path.rpartition("/")[0], pattern)
        for path, body in repository.bodies(PatternFacts)
        if path.endswith(".gitattributes")
        for pattern, attributes, _ in body.patterns
        if "filter=lfs" in attributes
    ]
    if not patterns:
        return
    for entry in repository.snapshot.entries:
        small = entry.size is not None and 0 < entry.size < _POINTER_SIZE
        if (
            small
            and entry.kind is EntryKind.FILE
            and entry.path not in repository.facts
            and _matches(entry.path, patterns)
        ):
            yield entry.path


def _matches(path: str, patterns: list[tuple[str, str]]) -> bool:
    """Whether a pattern of .gitattributes fits, by its folder: on the name where it has no slash, else on the path."""
    for folder, pattern in patterns:
        prefix = folder + "/" if folder else ""
        if not path.startswith(prefix):
            continue
        below = path[len(prefix) :]
        if "/" in pattern.strip("/"):
            if fnmatchcase(below, pattern.strip("/").replace("**/", "*")):
                return True
        elif fnmatchcase(below.rpartition("/")[2], pattern):
            return True
    return False


RULES = (
    Rule(
        "code.git_repository",
        Severity.CRITICAL,
        "The code is in a Git repository",
        "Without version control nobody, the author included, can say which code gave a result.",
        "Put the folder under Git: `git init`, then commit.",
        "configuration",
        4,
        "A clone of a repository.",
        "An unpacked folder.",
        git_repository,
        of_git=True,
    ),
    Rule(
        "code.commit",
        Severity.CRITICAL,
        "There is a commit",
        "A result is reproduced from a commit; where there is none, the code that ran has no name.",
        "Commit the code.",
        "configuration",
        3,
        "HEAD is at a commit.",
        "`git init` without a commit.",
        commit,
        of_git=True,
    ),
    Rule(
        "code.clean_tree",
        Severity.WARNING,
        "Tracked files are as committed",
        "What runs from a changed work tree is not what the commit says, and the change is lost with the machine.",
        "Commit or undo the changes before a run that counts.",
        "configuration",
        2,
        "`git status` lists no changed file.",
        "train.py was edited after the last commit.",
        clean_tree,
        of_git=True,
    ),
    Rule(
        "code.untracked_files",
        Severity.WARNING,
        "No untracked code",
        "A file that is not in Git is missing from every other checkout, and an import of it fails there.",
        "Commit what is needed, ignore what is written by runs.",
        "configuration",
        1,
        "Every file is tracked or ignored.",
        "utils/new_loss.py is imported but was never added.",
        untracked_files,
        of_git=True,
    ),
    Rule(
        "code.submodules_initialized",
        Severity.WARNING,
        "Submodules are checked out",
        "The code of an empty submodule cannot run, and the audit cannot see it.",
        "Run `git submodule update --init --recursive`.",
        "configuration",
        1,
        "third_party/lib holds its files.",
        "third_party/lib is an empty folder.",
        submodules_initialized,
        of_git=True,
    ),
    Rule(
        "code.remote_recorded",
        Severity.INFO,
        "The origin is known",
        "A commit that is on one disk only cannot be fetched by anybody who wants to reproduce it.",
        "Add a remote and push: `git remote add origin URL`.",
        "configuration",
        0.5,
        "`git remote get-url origin` prints an address.",
        "The repository has no remote.",
        remote_recorded,
        of_git=True,
    ),
    Rule(
        "code.large_files",
        Severity.INFO,
        "No large files in Git",
        "Large files make every clone slow, and GitHub refuses those over 100 MiB; versions of data are better kept where they have a checksum.",
        "Move the file to Git LFS, DVC or a release, and record its checksum.",
        "data",
        0.5,
        "Weights are downloaded from a release with a checksum.",
        "model.pt with 80 MiB is committed.",
        large_files,
        of_git=True,
    ),
    Rule(
        "code.lfs_pointers",
        Severity.WARNING,
        "Git LFS files are there",
        "Code that opens a pointer file instead of the data fails, or reads three lines of text as data.",
        "Install Git LFS and run `git lfs pull`.",
        "data",
        1,
        "data/train.bin has its real size.",
        "data/train.bin is a text of 130 bytes.",
        lfs_pointers,
    ),
)
