"""Commits that a clone lacks, fetched beside it: a shallow checkout has neither its pull request's head nor the commit where that left the base branch.

They go into a bare repository of our own in a temporary folder, which borrows the checkout's objects (gitrepository-layout, "alternates"). So the checkout is
not changed in any way, and neither its configuration nor its hooks have a say in what is contacted: earlier steps of a workflow, or the pull request's
own code run by them, may have written those. Readers of the checkout find what was fetched through `Beside.variables`.
"""

import base64
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from audit.source.git import Git, GitError, Repository, find_git, git_in

_SECONDS = 120
_DEPTHS = (50, 500)
"""Commits of both sides that are fetched in turn until they meet: most pull requests are younger than 50 commits, and 500 still take seconds."""

_PROXIES = (
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "ALL_PROXY",
    "all_proxy",
)


class Remote(msgspec.Struct, frozen=True):
    """Where to fetch from. `url` holds no credential; `token` goes there as a header; `ca_bundle`: a PEM file, None for the system's."""

    url: str
    token: str | None = None
    ca_bundle: Path | None = None

    def __repr__(self) -> str:
        return f"Remote({self.url})"


class Beside:
    """A repository together with what was fetched for it. `troubles`: why fetching failed, in the words of Git."""

    def __init__(
        self, repository: Repository, store: Git, remote: Remote | None, progress: Callable[[str], None]
    ) -> None:
        self._repository = repository
        self._store = store
        self._remote = remote
        self._progress = progress
        self._git = repository.git.with_variables(self.variables)
        self.troubles: list[str] = []

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that let Git in the repository find what was fetched."""
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{self._store.folder}/objects"}

    def commit(self, name: str) -> str | None:
        """The id of a commit that is here with its files, by id, branch (the remote's too) or tag."""
        for ref in (name, f"refs/remotes/origin/{name}"):
            found = self._git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
            if found:
                return found if self.holds(found) else None
        return None

    def holds(self, commit: str, prefix: str = "") -> bool:
        """Whether the tree of a commit is here, or that of a folder ("" or ending in "/") in it; of a partial clone all contents too. The
        boundary of a shallow clone is here, the parents that it names are not."""
        tree = f"{commit}:{prefix.rstrip('/')}"
        if self._git.ask("cat-file", "-e", tree) is None:
            return False
        if not self._repository.partial:
            return True
        walk = ("rev-list", "--objects", "--no-object-names", "--missing=print", "--no-walk", tree)
        listed = self._git.ask(*walk)
        return listed is not None and "?" not in listed

    def merge_base(self, one: str, other: str) -> str | None:
        """The newest commit that both come from, as far as the history here tells."""
        return self._git.ask("merge-base", one, other) or self._store.ask("merge-base", one, other)

    def fetch(self, *wanted: str, depth: int = 1) -> tuple[str, ...]:
        """Fetches commits or refs, `depth` commits of each; their ids, () where that failed: `troubles` says why then."""
        if self._remote is None:
            return ()
        self._progress(f"Fetching {', '.join(name[:60] for name in wanted)} (commits: {depth})")
        words = [f"+{name}:refs/fetched/{place}" for place, name in enumerate(wanted)]
        options = (
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            f"--depth={depth}",
        )
        try:
            self._store.run("fetch", *options, self._remote.url, *words, seconds=_SECONDS)
            names = [f"refs/fetched/{place}^{{commit}}" for place in range(len(wanted))]
            return tuple(self._store.run("rev-parse", "--verify", name).decode().strip() for name in names)
        except GitError as error:
            self.troubles.append(f"git fetch: {error}")
            return ()

    def fetch_merge_base(self, one: str, other: str) -> str | None:
        """Fetches more and more of the history of both, within bounds, until they meet."""
        for depth in _DEPTHS:
            got = self.fetch(one, other, depth=depth)
            if not got:
                return None
            if found := self._store.ask("merge-base", *got):
                return found
        self.troubles.append(f"the two sides do not meet within {_DEPTHS[-1]} commits")
        return None


@contextmanager
def beside(
    repository: Repository,
    remote: Remote | None,
    environ: Mapping[str, str],
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Beside]:
    """A place for what `repository` lacks, gone when the context ends. Raises GitError, OSError where it cannot be made."""
    program = find_git(environ)
    if program is None:
        raise GitError("git is not installed")
    folder = tempfile.mkdtemp(prefix="ml-audit-objects-")
    try:
        store = _quiet(git_in(program, folder, environ), environ, remote)
        store.run("init", "--quiet", "--bare", f"--object-format={repository.algorithm}", "--template=", ".")
        if (
            not repository.partial
        ):  # a partial clone holds commits without their contents, and must not pass for whole
            _borrow(repository, Path(folder))
        yield Beside(repository, store, remote, progress)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _borrow(repository: Repository, folder: Path) -> None:
    """Makes the objects of `repository` found here too, and its history end where it ends there."""
    objects = repository.git.ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
    shallow = repository.git.ask("rev-parse", "--path-format=absolute", "--git-path", "shallow")
    if objects is None or "\n" in objects:
        raise GitError("the objects of the checkout are not found")
    (folder / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (folder / "objects" / "info" / "alternates").write_bytes(
        objects.encode("utf-8", "surrogateescape") + b"\n"
    )
    if shallow and Path(shallow).is_file():
        shutil.copyfile(shallow, folder / "shallow")
    head = repository.git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head:  # so that the server is told what need not be sent
        (folder / "refs" / "heads").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / "heads" / "have").write_text(head + "\n")


def _quiet(git: Git, environ: Mapping[str, str], remote: Remote | None) -> Git:
    """Git that reads no configuration but ours, and speaks one protocol with one server."""
    variables = {name: environ[name] for name in _PROXIES if name in environ}
    variables |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = {
        "gc.auto": "0",
        "maintenance.auto": "false",
        "core.alternateRefsCommand": "true",
        "http.followRedirects": "false",
    }
    if remote is not None:
        variables["GIT_ALLOW_PROTOCOL"] = urlsplit(remote.url).scheme
        if remote.ca_bundle is not None:
            variables["GIT_SSL_CAINFO"] = str(remote.ca_bundle)
        if remote.token:
            secret = base64.b64encode(f"x-access-token:{remote.token}".encode()).decode()
            settings["http.extraHeader"] = f"Authorization: Basic {secret}"
    return git.with_variables(variables).with_settings(settings)
