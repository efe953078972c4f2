"""What manifests say that cannot be so, or that means something else tomorrow: contradictions, bad lines, moving addresses, indexes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_example_path
from audit.facts.kinds import Kind
from audit.facts.model import Requirement
from audit.rules.imports import Declaration, declarations, installs_itself, locked, normalise
from audit.rules.rule import Context, Outcome, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted
from audit.signals.repository import Repository

# Contradictions ----------------------------------------------------------------------------------------------------

_SAME_ENVIRONMENT = frozenset(
    {
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "requirements.txt",
        "environment.yml",
        "environment.yaml",
        "pipfile",
    }
)
"""Names of manifests that, in one folder, claim to describe one and the same environment."""


def declared_twice(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    groups: dict[tuple[str, str], list[Declaration]] = defaultdict(list)
    for each in declarations(repository):
        requirement = each.requirement
        if requirement.marker or requirement.group or requirement.url or not requirement.specifier:
            continue
        folder, _, file = each.path.rpartition("/")
        groups[
            folder if file.lower() in _SAME_ENVIRONMENT else each.path, normalise(requirement.name)
        ].append(each)
    found = 0
    for (_, name), stated in sorted(groups.items()):
        clash = next(
            (
                pair
                for pair in combinations(stated, 2)
                if _contradict(pair[0].requirement, pair[1].requirement)
            ),
            None,
        )
        if clash is None:
            continue
        found += 1
        one, other = clash
        yield failed(
            f"{name} is declared twice with versions that exclude each other: {one.said} ({one.at}) and {other.said} ({other.at}).",
            one.place, other.place, key=name,
        )  # fmt: skip
    if not found:
        yield (
            passed("No package is declared with two versions that exclude each other.")
            if groups
            else not_applicable("No manifest states a version.")
        )


def _contradict(one: Requirement, other: Requirement) -> bool:
    """Whether no version satisfies both, as far as an exact one on either side decides it; builds of one version (`+cu121`) are the same."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    for exact, wanted in ((one, other), (other, one)):
        version = _exact_version(exact)
        if not version:
            continue
        text = re.sub(r"\+[\w.]+", "", wanted.specifier)
        if wanted.source == "conda" and re.fullmatch(r"=?[\d.]+(=\w+)?", text):
            text = f"=={text.lstrip('=').partition('=')[0]}.*"
        try:
            if not SpecifierSet(text).contains(Version(version), prereleases=True):
                return True
        except (InvalidSpecifier, InvalidVersion):
            continue
    return False


def _exact_version(requirement: Requirement) -> str:
    match = (
        re.fullmatch(r"={2,3}\s*([\w.+!-]+)", requirement.specifier.strip()) if requirement.exact else None
    )
    return match[1].partition("+")[0] if match else ""


def invalid_lines(context: Context) -> Iterable[Outcome]:
    bad = [
        (path, text, line)
        for path, body in context.repository.manifests.items()
        for text, line in body.invalid
    ]
    for path, text, line in bad[:OUTCOME_LIMIT]:
        yield failed(
            f"{path}:{line} is no requirement that pip accepts: {text[:80]!r}.", Place(path, line), key=text
        )
    if len(bad) > OUTCOME_LIMIT:
        yield failed(
            f"{len(bad) - OUTCOME_LIMIT} further lines of manifests are no requirements.", key="more"
        )
    if not bad:
        yield (
            passed("Every line of the manifests reads as a requirement.")
            if context.repository.manifests
            else not_applicable("There is no manifest.")
        )


# Addresses and indexes ----------------------------------------------------------------------


_TAG = re.compile(r"@v?\d+(?:\.\d+)+[\w.\-]*(?:#|$)")
_NAMED = re.compile(r"://[^/]+/[^@#]+@[^@#/]*\d(?:\.\d+)+[^@#]*(?:#|$)")
"""A revision with a version in its name (`core_v0.15.0`, `release_v2.10`): whether that is a tag or a branch cannot be told."""
_MOVING_ARCHIVE = re.compile(
    r"https?://[^\s]*/archive/(?:refs/heads/)?(?:main|master|develop|dev|HEAD|trunk)\.(?:zip|tar\.gz)", re.I
)


def vcs_commit(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    locks = locked(repository)
    addressed = [
        each
        for each in (*declarations(repository), *_installs(repository))
        if each.moves or _MOVING_ARCHIVE.match(each.requirement.url)
    ]
    addressed = [each for each in addressed if not installs_itself(each, repository)]
    if not addressed:
        yield not_applicable("No dependency is taken from a version control address.")
        return
    loose = {
        (each.path, each.requirement.url): each
        for each in reversed(addressed)
        if not each.requirement.commit and each.requirement.name not in locks
    }
    groups: dict[tuple[str, str], list[Declaration]] = defaultdict(list)
    for each in reversed(loose.values()):
        groups[each.requirement.name, _repository_of(each.requirement.url)].append(each)
    outcomes = [_without_commit(group, repository) for group in groups.values()]
    yield from outcomes[:OUTCOME_LIMIT]
    if len(outcomes) > OUTCOME_LIMIT:
        yield failed(
            f"{len(outcomes) - OUTCOME_LIMIT} further dependencies are taken from addresses without a commit.",
            key="more",
        )
    if not outcomes:
        yield passed(
            "Every dependency that is taken from version control names a commit, or a lock does.",
            *capped(each.place for each in addressed),
        )


def _repository_of(address: str) -> str:
    """The repository that an address names: without transport, branch or fragment."""
    bare = re.sub(r"^(?:git\+)?(?:[a-z+]+://)?(?:[^/@]+@)?", "", address.lower().partition("#")[0])
    return bare.partition("@")[0].removesuffix("/").removesuffix(".git").replace(":", "/", 1)


def _without_commit(group: list[Declaration], repository: Repository) -> Outcome:
    """The finding about one dependency, in however many files it stands; what names a tag at least comes last."""
    group = sorted(group, key=lambda each: _TAG.search(each.requirement.url) is not None)
    first = group[0]
    requirement = first.requirement
    tagged = all(_TAG.search(each.requirement.url) for each in group)
    how = (
        "by a tag, which can be moved"
        if tagged
        else "by the name of a branch or tag, which can be moved"
        if all(_NAMED.search(each.requirement.url) for each in group)
        else "without a commit, so it is whatever the branch holds on that day"
    )
    lesser = tagged or all(each.path in repository.containers or is_example_path(each.path) for each in group)
    address = requirement.url.partition("#")[0][:120]
    more = len({each.path for each in group}) - 1
    others = f", and so {'does' if more == 1 else 'do'} {counted(more, 'other file')}" if more else ""
    return failed(
        f"{first.at} installs {requirement.name} from {address} {how}{others}.",
        *capped((each.place for each in group), 10),
        key=requirement.name,
        fix="Append `@` and the 40 characters of the commit to the address.",
        severity=Severity.INFO if lesser else None,
    )


def _installs(repository: Repository) -> Iterator[Declaration]:
    """What scripts and containers install."""
    for group in (repository.containers, repository.scripts):
        for path, body in group.items():
            yield from (Declaration(path, each) for each in body.requirements)


_TRUSTED_INDEXES = (
    "pypi.org", "files.pythonhosted.org", "download.pytorch.org", "data.pyg.org", "pypi.nvidia.com", "pypi.ngc.nvidia.com", "developer.download.nvidia.com",
    "storage.googleapis.com", "dl.fbaipublicfiles.com", "us-python.pkg.dev", "conda.anaconda.org", "repo.anaconda.com", "pypi.python.org",
    "anaconda.org", "download.openmmlab.com",
    "wheels.vllm.ai", "docs.vllm.ai", "flashinfer.ai", "huggingface.github.io",
)  # fmt: skip
"""Hosts that the projects themselves publish their wheels on; each serves packages of its own publisher alone or is the public index."""

_INDEX_FLAGS = frozenset(
    {"-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links"}
)


def package_index(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    places = list(dict.fromkeys(_indexes(repository)))
    if not places:
        yield (
            passed("Packages come from the public index alone.")
            if repository.manifests
            else not_applicable("There is no manifest.")
        )
        return
    bad = 0
    for address, path, line, extra in places:
        host = re.sub(r"^https?://", "", address).partition("/")[0].partition(":")[0].lower()
        if not host or "$" in host:
            continue
        if address.startswith("http://") and host not in ("localhost", "127.0.0.1"):
            bad += 1
            yield failed(
                f"{path}:{line} takes packages from {address} without encryption: whoever is on the way can replace them.",
                Place(path, line), key=address, fix=f"Use https:// for {host}, or the public index.", severity=Severity.WARNING,
            )  # fmt: skip
        elif extra and not any(host == each or host.endswith("." + each) for each in _TRUSTED_INDEXES):
            bad += 1
            yield failed(
                f"{path}:{line} adds the package index {host} to the public one: of a name on both, the higher version is taken.",
                Place(path, line), key=address,
            )  # fmt: skip
    if not bad:
        yield passed(
            "Every further package index is one that a well-known project keeps for its own wheels.",
            *capped(Place(p, n) for _, p, n, _ in places),
        )


def _indexes(repository: Repository) -> Iterator[tuple[str, str, int, bool]]:
    """(address, path, line, whether it is used beside the public index). Folders of wheels on disk are left out."""
    for path, body in repository.manifests.items():
        for address, line in body.indexes:
            if address.startswith("http"):
                yield address, path, line, repository.kinds.get(path) is not Kind.CONDA
    for group in (repository.containers, repository.scripts):
        for path, scripted in group.items():
            for command in scripted.commands:
                if "install" not in command.text:
                    continue
                for flag in command.flags:
                    if flag.name in _INDEX_FLAGS and flag.value.startswith("http"):
                        yield (
                            flag.value,
                            path,
                            flag.line or command.line,
                            flag.name in ("--extra-index-url", "--index"),
                        )
