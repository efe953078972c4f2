"""Where the audited commit and its baseline are to be read from: the checkout's objects, what is fetched beside them, or GitHub's archive.

In this order for each of the two, so that a full clone costs nothing, a shallow one two small requests, and a checkout without credentials an archive.
What could not be had is said and audited without: the checkout as it is, no baseline.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from audit.action.plan import Checkout, Elsewhere, MergeBase, Named, Plan, PullHead
from audit.documents.errors import DocumentError
from audit.engine.against import report_file
from audit.net.errors import NetworkError
from audit.net.github import GitHub
from audit.source.errors import SourceError
from audit.source.fetch import Beside, Remote, beside
from audit.source.git import GitError
from audit.source.naming import repository_name
from audit.source.open import Place, place_of
from audit.source.target import GitHubTarget, parse_target


class Located(msgspec.Struct, frozen=True):
    """What the engine is to read.

    `target`: as `audit.source.target` reads it. `commit`: the audited one, None where only the target knows it. `baseline`: a report's file or a commit,
    `archive`: a target on GitHub that holds the baseline instead, `baseline_name`: what people call it; with neither, `no_baseline` says why.
    `variables`: environment of Git. `prefix`: where the audited folder lies in its repository. `foreign`: the name of the repository that is checked
    out, where it is not the workflow's own.
    """

    target: str
    commit: str | None = None
    baseline: str | None = None
    archive: str | None = None
    baseline_name: str | None = None
    no_baseline: str = ""
    variables: Mapping[str, str] = {}
    prefix: str = ""
    foreign: str = ""
    notes: tuple[str, ...] = ()


class Surroundings(msgspec.Struct, frozen=True):
    """What locating needs of the world: the workspace, the environment for Git, how GitHub is asked, and who is told what is done."""

    workspace: Path
    environ: Mapping[str, str]
    ask: Callable[[], GitHub]
    progress: Callable[[str], None]
    debug: Callable[[str], None] = lambda _: None


@contextlib.contextmanager
def located(plan: Plan, around: Surroundings) -> Iterator[Located]:
    """Where to read from; what was fetched goes when the context ends. Raises SourceError, NetworkError, DocumentError."""
    if isinstance(plan.target, Elsewhere):
        yield _elsewhere(plan, plan.target, around)
        return
    place = _place(plan.target.path, around)
    if place.repository is None:
        yield _without_git(plan, place, around)
        return
    destination = plan.destination
    name = repository_name(place.repository.remote, "") if place.repository.remote else ""
    if name and name.lower() != destination.repository.lower():
        note = f"The checkout holds {name}, not {destination.repository}: audited as it is, compared with nothing."
        yield Located(str(place.folder), no_baseline=note, foreign=name, prefix=place.prefix, notes=(note,))
        return
    remote = Remote(
        f"{destination.server_url}/{destination.repository}.git",
        destination.token.value or None,
        destination.ca_bundle,
    )
    try:
        with beside(place.repository, remote, around.environ, around.progress) as store:
            yield _Locating(plan, place, store, around).located()
    except (GitError, OSError) as error:
        raise SourceError(
            f"Git cannot be asked about {place.folder}: {error}.", "Check the checkout."
        ) from None


def _place(path: str, around: Surroundings) -> Place:
    """The folder to audit: inside the workspace, whatever links lie on the way."""
    place = place_of(str(around.workspace / path), around.environ)
    if not place.folder.is_relative_to(around.workspace.resolve()):
        raise SourceError(f"The path {path} leads out of the workspace.", "Give a folder of the checkout.")
    if (
        place.repository is not None and place.repository.bare
    ):  # files of a commit can look like one, with a history of their own
        raise SourceError(f"The path {path} is a bare repository.", "Give a folder of the checkout.")
    return place


def _without_git(plan: Plan, place: Place, around: Surroundings) -> Located:
    """A folder that is no clone: empty (no checkout was made), so that GitHub is asked, or else audited as it is."""
    target = plan.target
    if not isinstance(target, Checkout) or any(place.folder.iterdir()):
        note = "The folder is no Git clone, so it was audited as it is, compared with nothing."
        return Located(str(place.folder), no_baseline=note, notes=(note,))
    commit = target.commit or plan.destination.head_sha
    here = f"{plan.destination.server_url}/{plan.destination.repository}/commit"
    found = Located(
        f"{here}/{commit}", commit=commit, notes=("No checkout was made: the commit was read from GitHub.",)
    )
    if plan.baseline is None or isinstance(plan.baseline, Named):
        return msgspec.structs.replace(
            found, no_baseline=plan.no_baseline or "There is no checkout to look for it in."
        )
    base, why = _asked(plan, plan.baseline.ref, commit, around)
    if base is None:
        return msgspec.structs.replace(found, no_baseline=f"Baseline not available: {why}.")
    return msgspec.structs.replace(found, archive=f"{here}/{base}", baseline_name=plan.baseline.name)


def _elsewhere(plan: Plan, target: Elsewhere, around: Surroundings) -> Located:
    address = target.target
    if "://" not in address and address.count("/") == 1:
        address = f"{plan.destination.server_url}/{address}"
    named = parse_target(address)
    if not isinstance(named, GitHubTarget):
        raise SourceError(
            "The input repo-url names a folder, not a repository on GitHub.", "Use path for a folder."
        )
    if target.ref:
        if named.ref or named.tree or named.pull:
            raise SourceError("The inputs repo-url and ref both name a commit.", "Give it in one of them.")
        address = (
            f"https://{named.host or 'github.com'}/{named.owner}/{named.name}/commit/{quote(target.ref)}"
        )
    if isinstance(plan.baseline, Named):
        file = _file(plan.baseline.name, around)
        return Located(
            address, baseline=str(file) if file else plan.baseline.name, foreign=f"{named.owner}/{named.name}"
        )
    return Located(address, no_baseline=plan.no_baseline, foreign=f"{named.owner}/{named.name}")


def _file(name: str, around: Surroundings) -> Path | None:
    """The report that the baseline names, if it lies in the workspace."""
    file = report_file(str(around.workspace / name))
    if file is None:
        return None
    if not file.resolve().is_relative_to(around.workspace.resolve()):
        raise SourceError(f"The baseline {name} leads out of the workspace.", "Give a file of the checkout.")
    return file


def _asked(plan: Plan, base: str, head: str, around: Surroundings) -> tuple[str | None, str]:
    """The merge base as GitHub tells it, or why it does not."""
    destination = plan.destination
    if not destination.token:
        return None, "there is no token to ask GitHub with"
    try:
        with around.ask() as github:
            return github.merge_base(destination.repository, base, head), ""
    except NetworkError as error:
        around.debug(f"{error.message} {error.advice}")
        return None, error.message.rstrip(".")


class _Locating:
    """One look for the two commits, with the checkout in hand."""

    def __init__(self, plan: Plan, place: Place, store: Beside, around: Surroundings) -> None:
        self._plan = plan
        self._place = place
        self._store = store
        self._around = around
        self._notes: list[str] = []
        self._told: tuple[str | None, str] | None = None  # what GitHub said about the merge base
        self._addresses = f"{plan.destination.server_url}/{plan.destination.repository}"

    def located(self) -> Located:
        """Raises SourceError, NetworkError, DocumentError."""
        wanted, baseline = self._wanted()
        if isinstance(baseline, MergeBase):
            self._fetch_both(wanted, baseline.ref)
        target, commit = self._head(wanted)
        found = Located(
            target,
            commit=commit,
            variables=self._store.variables,
            prefix=self._place.prefix,
            notes=tuple(self._notes),
        )
        if baseline is None:
            return msgspec.structs.replace(found, no_baseline=self._plan.no_baseline)
        if isinstance(baseline, Named):
            if file := _file(baseline.name, self._around):
                return msgspec.structs.replace(found, baseline=str(file))
            ref = name = baseline.name
        else:
            ref, name = baseline.ref, baseline.name
        base, archive, why = self._base(ref, commit)
        if base is not None and base == commit:
            if isinstance(baseline, Named):
                raise DocumentError(
                    f"The baseline {ref} is the audited commit {commit[:12]} itself, so nothing could be new.",
                    "Name the branch that this change goes to, or an earlier report.",
                )
            base, why = None, "there is no commit since the baseline"
        if base is None and archive is None:
            if isinstance(baseline, Named):
                raise SourceError(
                    f"The baseline {ref} cannot be had: {why}.", "Name a file or a ref that is there."
                )
            return msgspec.structs.replace(found, no_baseline=f"Baseline not available: {why}.")
        if base is not None and target.startswith(self._addresses):  # one of the two on GitHub: both
            archive, base = self._address(base), None
        return msgspec.structs.replace(found, baseline=base, archive=archive, baseline_name=name or ref)

    def _wanted(self) -> tuple[str, MergeBase | Named | None]:
        """The commit to audit, and what it is compared with; of a pull request that is known by its number GitHub is asked for both."""
        target, baseline = self._plan.target, self._plan.baseline
        if not isinstance(target, PullHead):
            assert isinstance(target, Checkout)  # noqa: S101 (another repository has no checkout to look at)
            return target.commit or "HEAD", baseline
        destination = self._plan.destination
        with self._around.ask() as github:
            pull = github.pull(destination.repository, target.number)
        try:
            head, base = str(pull["head"]["sha"]), str(pull["base"]["sha"])
        except (KeyError, TypeError):
            raise NetworkError(
                f"GitHub's answer about pull request {target.number} is not GitHub's."
            ) from None
        asked = isinstance(baseline, MergeBase)
        return head, MergeBase(base, str(pull["base"].get("ref") or base)) if asked else baseline

    def _fetch_both(self, wanted: str, ref: str) -> None:
        """One request for both commits where the checkout has neither, as `actions/checkout` leaves it; what fails is tried one by one."""
        if self._store.commit(wanted) is not None:
            return
        base = self._merge_base_by_github(ref, wanted)
        if base and not self._store.holds(base):
            self._store.fetch(wanted, base)

    def _merge_base_by_github(self, ref: str, head: str) -> str | None:
        if self._told is None:
            self._told = _asked(self._plan, ref, head, self._around)
        return self._told[0]

    def _head(self, wanted: str) -> tuple[str, str]:
        """The target that holds the commit, and its id."""
        commit = self._store.commit(wanted)
        if commit is None and (got := self._store.fetch(wanted)):
            commit = got[0]
        if commit is not None and self._store.holds(commit, self._place.prefix):
            return f"{self._place.folder}@{commit}", commit
        if commit is not None:
            raise SourceError(
                f"The commit {commit[:12]} has no folder {self._place.prefix}.", "Check the input path."
            )
        return self._head_of_archive(wanted)

    def _head_of_archive(self, wanted: str) -> tuple[str, str]:
        destination = self._plan.destination
        why = "; ".join(self._store.troubles) or "it was not found"
        try:
            with self._around.ask() as github:
                commit = github.commit(destination.repository, wanted)
        except NetworkError as error:
            here = self._store.commit("HEAD")
            if here is None or self._plan.destination.head_sha != wanted:
                raise SourceError(
                    f"The commit {wanted} is neither in the checkout nor to be had from GitHub ({why}; {error.message.rstrip('.')}).",
                    error.advice,
                ) from None
            self._notes.append(
                f"The commit {wanted[:12]} could not be fetched ({why}), so the checked out commit {here[:12]} was audited: "
                "line numbers can differ in files that the base branch changed too."
            )
            return f"{self._place.folder}@{here}", here
        self._notes.append(
            f"The commit {commit[:12]} was read from GitHub's archive, as it could not be fetched ({why})."
        )
        return self._address(commit), commit

    def _address(self, commit: str) -> str:
        """A commit on GitHub, or the audited folder of it."""
        folder = quote(self._place.prefix.rstrip("/"))
        return f"{self._addresses}/tree/{commit}/{folder}" if folder else f"{self._addresses}/commit/{commit}"

    def _base(self, ref: str, head: str) -> tuple[str | None, str | None, str]:
        """The merge base as (commit to be read here, target on GitHub, why neither)."""
        store, prefix = self._store, self._place.prefix
        named = store.commit(ref)
        base = store.merge_base(named, head) if named else None
        if base is None:
            base = self._merge_base_by_github(ref, head) or store.fetch_merge_base(ref, head)
            if base is None:
                why = [self._told[1]] if self._told else []
                return None, None, "; ".join([*why, *store.troubles])
        if not store.holds(base):
            store.fetch(base)
        if store.holds(base):
            if not store.holds(base, prefix):
                return None, None, f"commit {base[:12]} has no folder {prefix}"
            return base, None, ""
        if base == head:
            return base, None, ""
        return None, self._address(base), ""
