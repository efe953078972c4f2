"""The environment: what has to be installed, and whether anybody can install the same again."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from audit.documents.finding import Fix, Severity
from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_example_path, is_test_path
from audit.facts.kinds import Kind
from audit.facts.model import BaseImage, Requirement
from audit.rules.imports import (
    NO_IMPORTS,
    Declaration,
    by_name,
    declarations,
    installs_itself,
    locked,
    mentions,
    normalise,
    outside_imports,
    own_projects,
)
from audit.rules.pinning import Resolutions, pin_edits
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.sources import declared_twice, invalid_lines, package_index, vcs_commit
from audit.rules.undeclared import undeclared
from audit.rules.wording import capped, counted, listed
from audit.signals.repository import Repository

_METADATA = (Kind.PYPROJECT, Kind.SETUP_PY, Kind.SETUP_CFG)
_NO_CODE = "The repository holds no Python code of its own."


def manifest(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    paths = context.signals.dependency_manifest.value
    if paths:
        yield passed(
            f"{listed(paths)} {'declares' if len(paths) == 1 else 'declare'} the dependencies.",
            *capped(Place(path) for path in paths),
        )
        return
    if not repository.code and not repository.notebooks:
        yield not_applicable(_NO_CODE)
        return
    uses = outside_imports(repository, context.path)
    if not uses and repository.code:
        yield not_applicable(NO_IMPORTS)
        return
    said = [each for each in mentions(repository) if not installs_itself(each, repository)]
    evidence = capped(each[0].place for each in uses.values())
    if said:
        where = listed(tuple(dict.fromkeys(each.path for each in said)), 3)
        yield failed(
            f"No manifest declares the dependencies ({listed(tuple(uses), 5) or 'those of the notebooks'}); install commands stand only in {where}.",
            *capped([*(each.place for each in said[:2]), *evidence]),
        )
    else:
        yield failed(
            f"Nothing declares the packages that the code imports: {listed(tuple(uses), 6) or 'those of the notebooks'}.",
            *evidence,
            severity=Severity.CRITICAL,
        )


def lock(context: Context) -> Iterable[Outcome]:
    signals = context.signals
    state, evidence = signals.lockfile.value, signals.lockfile.evidence
    if not signals.dependency_manifest.value and state == "none":
        yield not_applicable("No manifest declares dependencies that a lock could record.")
    elif state == "full":
        yield passed("A lock records the exact version of every package.", *capped(evidence))
    elif state == "partial":
        yield failed(
            "Exact versions are recorded for a part of what is installed"
            + (f" ({listed(tuple(dict.fromkeys(each.path for each in evidence)), 3)})." if evidence else "."),
            *capped(evidence),
            severity=Severity.INFO,
        )
    else:
        first = signals.dependency_manifest.value[0]
        yield failed(
            f"No lock file: installing from {first} gives whatever versions are newest on that day.",
            Place(first),
        )


def critical_pinned(context: Context) -> Iterable[Outcome]:
    packages = context.signals.critical_dependencies.value
    if not packages:
        yield not_applicable("No package that the numbers depend on is declared or imported.")
        return
    stated = by_name(declarations(context.repository))
    resolved = Resolutions(context.repository)
    good: list[str] = []
    loose: list[_Loose] = []
    for name, package in sorted(packages.items()):
        rows = [each for each in stated.get(name, ()) if not each.moves]
        open_rows = [each for each in rows if not _is_one_version(each.requirement)]
        if package.locked:
            good.append(f"{name} {package.locked}")
            loose += _beside_the_lock(context.repository, name, open_rows, resolved)
        elif package.exact or (rows and not open_rows):
            good.append(name)
        elif open_rows:
            found = _loose(context.repository, name, rows, open_rows)
            loose += found
            if not found:
                good.append(name)
    yield from _by_manifest(loose, locked(context.repository), resolved)
    if good and not loose:
        yield passed(f"Pinned or locked: {listed(good, 8)}.")
    elif not loose:
        yield not_applicable("No manifest declares a package that the numbers depend on.")


def _is_one_version(requirement: Requirement) -> bool:
    """One version: exact, or conda's `=1.2.3`, which leaves only the build open."""
    whole = requirement.source == "conda" and re.fullmatch(
        r"=\d+(?:\.\w+){2,}", requirement.specifier.replace(" ", "")
    )
    return requirement.exact or bool(whole)


_FOR_DEVELOPERS = re.compile(
    r"(?:^|[-_./])(?:dev|develop|tests?|testing|docs?|lint|ci|style|typing)(?:[-_.][^/]*)?\.(?:txt|in|ya?ml)$"
)
"""Lists of what people need who work on the code; no result is made with them."""


class _Loose(msgspec.Struct, frozen=True):
    """A declaration that leaves the version open. `kind`: "list" (a file that is installed from), "side" (such a file of an example, or an
    extra), "metadata" (a range where a range is right), "beside" (another file, `pinned`, has the version, `version` where pip wrote it)."""

    name: str
    row: Declaration
    kind: str
    pinned: str = ""
    version: str = ""


def _loose(
    repository: Repository, name: str, rows: list[Declaration], open_rows: list[Declaration]
) -> list[_Loose]:
    """One a manifest that leaves the version of a package open; none where metadata gives a range and a list beside it the version."""

    def is_metadata(each: Declaration) -> bool:
        return repository.kinds.get(each.path) in _METADATA

    def pin_of(each: Declaration) -> Declaration | None:
        """What says the version of the same environment. Parts that lie side by side have environments of their own."""
        return next((pin for pin in pins if _is_beside(each.path, pin.path)), None)

    pins = [each for each in rows if _is_one_version(each.requirement)]
    lists = [each for each in open_rows if not is_metadata(each)]
    if not lists and pins:
        return []
    main = [each for each in lists or open_rows if not each.requirement.group] or lists or open_rows
    first_of_each = {each.path: each for each in reversed(main)}
    found = []
    for path, row in sorted(first_of_each.items()):
        side = (
            bool(row.requirement.group) or is_example_path(path) or bool(_FOR_DEVELOPERS.search(path.lower()))
        )
        pinned = pin_of(row)
        kind = "metadata" if not lists else "beside" if pinned is not None else "side" if side else "list"
        version = _pinned_version([pin for pin in pins if _is_beside(path, pin.path)])
        found.append(_Loose(name, row, kind, pinned.at if pinned is not None else "", version))
    return found


def _pinned_version(pins: list[Declaration]) -> str:
    """The one version that pip's lists say, "" where they differ or leave it open."""
    found = {
        each.requirement.specifier.replace(" ", "").removeprefix("==")
        for each in pins
        if each.requirement.source == "pip"
    }
    return found.pop() if len(found) == 1 else ""


def _beside_the_lock(
    repository: Repository, name: str, open_rows: list[Declaration], resolved: Resolutions
) -> Iterator[_Loose]:
    """Lists that pip installs from, where a lock beside them has the version: two ways to install, with two outcomes. A `.in` file is what
    a lock was made from."""
    first_of_each = {
        each.path: each
        for each in reversed(open_rows)
        if repository.kinds.get(each.path) is Kind.REQUIREMENTS
    }
    for path, row in sorted(first_of_each.items()):
        known = resolved.of(row)
        if (
            known
            and not path.endswith(".in")
            and not _FOR_DEVELOPERS.search(path.lower())
            and not is_example_path(path)
        ):
            yield _Loose(name, row, "beside", known[1])


def _is_beside(path: str, pin: str) -> bool:
    """Whether a manifest may describe the environment of another one: it lies in the same folder, around it, or right below."""
    folder, pinned = path.rpartition("/")[0], pin.rpartition("/")[0]
    around = not pinned or f"{folder}/".startswith(f"{pinned}/")
    return around or pinned.rpartition("/")[0] == folder


def _by_manifest(
    loose: list[_Loose], locks: dict[str, tuple[str, str]], resolved: Resolutions
) -> Iterator[Outcome]:
    """One finding a manifest and kind, since a person mends a manifest in one go; where many manifests have the same fault, the rest in one."""
    groups: dict[tuple[str, str], list[_Loose]] = defaultdict(list)
    for each in sorted(loose, key=lambda each: (_KINDS[each.kind], each.row.path.count("/"), each.row.path)):
        groups[each.kind, each.row.path].append(each)
    for kind in _KINDS:
        of_kind = [found for (its_kind, _), found in groups.items() if its_kind == kind]
        for found in of_kind[:_MANIFESTS]:
            yield _open_versions(kind, found, locks, resolved)
        if rest := of_kind[_MANIFESTS:]:
            paths = [found[0].row.path for found in rest]
            names = sorted({each.name for found in rest for each in found})
            verb = "leaves" if len(paths) == 1 else "leave"
            yield failed(
                f"{counted(len(paths), 'further manifest')} {verb} the version of {listed(names, 6)} open as well.",
                *capped(Place(path) for path in paths),
                fix="Write the versions that the results were made with.",
                key=f"more {kind}",
                severity=None if kind == "list" else Severity.INFO,
            )


_KINDS = {"list": 0, "beside": 1, "metadata": 2, "side": 3}
_MANIFESTS = 5
"""Manifests with open versions that are told one by one, of each kind."""


def _open_versions(
    kind: str, found: list[_Loose], locks: dict[str, tuple[str, str]], resolved: Resolutions
) -> Outcome:
    """The finding about the open versions of one manifest."""
    found = sorted(found, key=lambda each: (each.row.requirement.line, each.name))
    path, single = found[0].row.path, len(found) == 1
    where = found[0].row.at if single else path
    message = f"{where} asks for {listed([each.row.said for each in found], 6)}"
    if kind == "beside":
        pins = list(dict.fromkeys(each.pinned for each in found))
        message += (
            f", while {listed(pins, 3)} {'pins' if len(pins) == 1 else 'pin'} {'it' if single else 'them'}: "
            f"who installs from {path} gets {'another version' if single else 'other versions'}."
        )
    else:
        message += f", and no lock file says which {'version' if single else 'versions'} gave the results."
    known = {each.name: locks[each.name] for each in found if each.name in locks}
    written = {each.row.requirement.name: each.name for each in found}  # conda says pytorch
    pinned = listed(
        [f"`{here}=={known[name][0] if name in known else 'VERSION'}`" for here, name in written.items()], 4
    )
    source = (
        f"as {listed(sorted({file for _, file in known.values()}), 2)} has it"
        if len(known) == len(found)
        else f"the {'version' if single else 'versions'} that the results were made with"
    )
    advice = f"Write {pinned}, {source}."
    if kind == "metadata":
        advice = (
            "A range is right for a package's metadata: record the exact versions beside it, in a lock file (`uv lock`) "
            f"or a constraints file with {pinned}, {source}."
        )
    return failed(
        message,
        *capped((Place(path, each.row.requirement.line or None, each.row.said) for each in found), 10),
        fix=_fix(advice, kind, found, resolved),
        key=kind,
        severity=None if kind == "list" else Severity.INFO,
    )


def _fix(advice: str, kind: str, found: list[_Loose], resolved: Resolutions) -> Fix:
    """The advice, with edits for the lines whose version a lock knows; in metadata a range is right."""
    if kind == "metadata" or found[0].row.path.endswith(".in"):
        return Fix(advice)
    versions = ((each.row, (resolved.of(each.row) or (each.version,))[0]) for each in found)
    known = ((row, version) for row, version in versions if version)
    edits = tuple(sorted(set(pin_edits(known))))
    return Fix(advice, safe=bool(edits), edits=edits)


# Python ----------------------------------------------------------------------------------------


def python_version(context: Context) -> Iterable[Outcome]:
    signal = context.signals.python_version
    if signal.value:
        yield passed(f"The Python version is declared: {signal.value}.", *capped(signal.evidence))
    elif not context.repository.code and not context.repository.notebooks:
        yield not_applicable(_NO_CODE)
    else:
        first = next(iter(context.repository.manifests), "")
        yield failed(
            "No file declares which Python version the code needs.", *([Place(first)] if first else [])
        )


# Containers --------------------------------------------------------------------------------------------------------


def container(context: Context) -> Iterable[Outcome]:
    signal = context.signals.container
    if signal.value:
        yield passed("A container definition describes the system below Python.", *capped(signal.evidence))
    elif not context.repository.code:
        yield not_applicable(_NO_CODE)
    else:
        yield failed(
            "No container definition records the system below Python (CUDA, compilers, system libraries)."
        )


def base_image(context: Context) -> Iterable[Outcome]:
    own = own_projects(context.repository)
    images = [
        (path, image)
        for path, body in context.repository.containers.items()
        if not is_test_path(path) and not is_docs_path(path)
        for image in body.images
        if not image.stage
        and image.image not in ("", "scratch")
        and normalise(image.image.rpartition("/")[2]) not in own
    ]
    if not images:
        yield not_applicable("No container definition names a base image.")
        return
    loose: dict[str, list[tuple[str, BaseImage]]] = defaultdict(list)
    for path, image in images:
        name = f"{image.image}:{image.tag}" if image.tag else image.image
        if not image.digest and not _TEMPLATE.search(name):
            loose[name].append((path, image))
    moving = {name: uses for name, uses in loose.items() if _moves(uses[0][1])}
    for name, uses in moving.items():
        yield failed(
            f"{uses[0][0]}:{uses[0][1].line} builds on {name}{'' if uses[0][1].tag else ' without a tag'}, which is another image after each release.",
            *capped(Place(path, image.line) for path, image in uses),
            fix=_digest(name),
            key=name,
            severity=Severity.INFO
            if all(_FOR_EDITORS.search(path) for path, _ in uses)
            else Severity.WARNING,
        )
    tagged = {name: uses for name, uses in loose.items() if name not in moving}
    if tagged:
        yield _by_tag(tagged)
    if not loose:
        yield passed(
            "Every base image is named by its digest, or by a variable that is set outside.",
            *capped(Place(p, i.line) for p, i in images),
        )


_FOR_EDITORS = re.compile(r"(?:^|/)\.(?:gitpod|devcontainer)(?:[./]|$)")
"""Containers that an editor opens the repository in; results are made elsewhere."""

_TEMPLATE = re.compile(r"[${}<>]")
"""What stands in an image's name where something else fills it in."""

_MOVING_TAG = re.compile(
    r"(?:^|[-_.])(?:latest|nightly|edge|main|master|dev|devel|develop|stable|rolling|current)(?:$|[-_.](?!\d))"
    r"|^(?:main|master|nightly|latest)[-_.]"
)


def _moves(image: BaseImage) -> bool:
    """Whether the tag follows releases or a branch; "devel" beside a version is a flavour of that version."""
    return not image.tag or bool(
        _MOVING_TAG.search(image.tag) and not re.search(r"\d+\.\d+.*devel", image.tag)
    )


def _digest(name: str) -> str:
    return f"Add the digest: `{name}@sha256:…` (`docker buildx imagetools inspect` prints it)."


def _by_tag(tagged: dict[str, list[tuple[str, BaseImage]]]) -> Outcome:
    """One finding about all images that are named by a tag of one version: the same habit everywhere."""
    places = [Place(path, image.line, name) for name, uses in tagged.items() for path, image in uses]
    names = list(tagged)
    if len(places) == 1:
        said = f"{places[0].path}:{places[0].line} builds on {names[0]}"
    else:
        said = f"{counted(len({place.path for place in places}), 'container definition')} build on {listed(names, 4)}"
    return failed(
        f"{said}: a tag can be moved to another image, a digest cannot.",
        *capped(places, 8),
        fix=_digest(names[0]),
        key=names[0] if len(names) == 1 else "tags",
    )


RULES = (
    Rule(
        "environment.manifest",
        Severity.WARNING,
        "Dependencies are declared",
        "Without a list of packages everybody has to guess what to install, and the first run fails on an import.",
        "Declare every imported package in pyproject.toml, requirements.txt or environment.yml.",
        "environment",
        6,  # as much as loose pins, no lock, undeclared imports and moving addresses together: to declare something is never worse
        "requirements.txt lists torch and numpy.",
        "train.py imports torch; no file declares it.",
        manifest,
    ),
    Rule(
        "environment.lock",
        Severity.WARNING,
        "Exact versions are locked",
        "Ranges resolve to other versions every month; numbers move with them, and old code stops working with new packages.",
        "Commit a lock file: `uv lock`, `poetry lock`, `pip-compile --generate-hashes`, or a full `conda env export`.",
        "environment",
        2,
        "uv.lock stands beside pyproject.toml.",
        "requirements.txt lists names alone.",
        lock,
    ),
    Rule(
        "environment.critical_pinned",
        Severity.WARNING,
        "Packages that the numbers depend on are pinned",
        "A new release of the framework, the model library or the tokenizer changes kernels, defaults and results.",
        "Pin the exact version, or commit a lock that covers it.",
        "environment",
        2,
        "torch==2.4.1, or torch>=2 with a lock that has 2.4.1.",
        "torch>=2 and no lock.",
        critical_pinned,
    ),
    Rule(
        "environment.undeclared_imports",
        Severity.WARNING,
        "What is imported is declared",
        "An environment made from the manifest lacks the package, and the code fails on its import.",
        "Declare the package in the manifest.",
        "environment",
        1,
        "wandb is imported and declared, or imported inside try/except.",
        "train.py imports einops, which no manifest declares.",
        undeclared,
    ),
    Rule(
        "environment.declared_twice",
        Severity.WARNING,
        "No package is declared with two versions",
        "Two files that describe one environment disagree: which one was used decides the results, and nobody knows.",
        "Keep one declaration, or make both agree.",
        "environment",
        1,
        "setup.py says torch>=2, requirements.txt torch==2.4.1.",
        "requirements.txt says torch==2.4.1, environment.yml pytorch=1.13.",
        declared_twice,
    ),
    Rule(
        "environment.invalid_requirements",
        Severity.WARNING,
        "Requirement lines are valid",
        "pip refuses the whole file for one line that it cannot read.",
        "Correct the line, or make it a comment.",
        "environment",
        1,
        "numpy==1.26.4",
        "numpy = 1.26.4",
        invalid_lines,
    ),
    Rule(
        "environment.python_version",
        Severity.WARNING,
        "The Python version is declared",
        "Old pins have no wheels for a new Python, and a new Python changes hashing, typing and the standard library.",
        "Add `requires-python` to pyproject.toml, or a .python-version file.",
        "environment",
        1,
        'requires-python = ">=3.10,<3.13"',
        "Neither metadata nor a .python-version file.",
        python_version,
    ),
    Rule(
        "environment.vcs_commit",
        Severity.WARNING,
        "Dependencies from Git name a commit",
        "A branch moves: the same line installs other code next week.",
        "Append the commit to the address.",
        "environment",
        1,
        "git+https://github.com/org/lib@ followed by a 40-digit commit",
        "git+https://github.com/org/lib",
        vcs_commit,
        security_severity=4.0,
    ),
    Rule(
        "environment.package_index",
        Severity.WARNING,
        "Packages come from an index that can be trusted",
        "pip takes the highest version from any index: who registers a private name on the public one gets their code installed "
        "(dependency confusion); over http:// anybody on the way can.",
        "Use one index that proxies the public one, or bind packages to indexes (`[[tool.uv.index]]` with `explicit`), and https.",
        "environment",
        0.5,
        "--extra-index-url https://download.pytorch.org/whl/cu121",
        "--extra-index-url http://pypi.corp.example/simple",
        package_index,
        security_severity=6.5,
    ),
    Rule(
        "environment.container",
        Severity.INFO,
        "A container describes the system",
        "CUDA, cuDNN and system libraries change results too, and pip does not install them.",
        "Add a Dockerfile or a dev container that installs from the lock.",
        "environment",
        0.5,
        "Dockerfile",
        "No container definition.",
        container,
    ),
    Rule(
        "environment.base_image",
        Severity.INFO,
        "Base images are pinned by digest",
        "A tag points to another image after each rebuild; with `latest` even CUDA and Python change.",
        "Append @sha256:… to the image.",
        "environment",
        0.5,
        "FROM python:3.11-slim@sha256:…",
        "FROM pytorch/pytorch:latest",
        base_image,
    ),
)
