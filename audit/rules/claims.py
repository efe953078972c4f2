"""What documents and scripts say that is not so: files, flags and links that are not there."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from urllib.parse import unquote

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_test_path
from audit.facts.model import Command, DocsFacts, PatternFacts
from audit.rules.flags import Flag, accepted, accepts, spelling
from audit.rules.rule import Context, Outcome, failed, not_applicable, passed
from audit.rules.wording import capped, listed
from audit.signals.repository import Repository
from audit.signals.training_path import resolve_target


def guides(repository: Repository) -> dict[str, DocsFacts]:
    """The documents that a user is meant to follow: the README first, then those beside it and in documentation folders."""
    readme = repository.readme
    found = {
        path: body
        for path, body in repository.docs.items()
        if not is_test_path(path) and not _CHANGES.search(path.lower())
    }
    return dict(sorted(found.items(), key=lambda item: (item[0] != readme, item[0].count("/"), item[0])))


_CHANGES = re.compile(
    r"(?:^|/)(?:change(?:log|s)|history|news|releases?|contributing|code_of_conduct|security|authors|todo|blog|migration|license)[^/]*$"
)


_PLACEHOLDER = re.compile(
    r"[$<>{}*\[\]%…|]|\.\.\.|(?:^|[/_-])(?:your|my|some|path|xxx+|foo|bar|any)(?:[/_.-]|$)|(?:^|/)(?:script|file|program|example|code|app|hello|filename|name|module)\.\w+$",
    re.I,
)
_FETCHED = re.compile(
    r"\b(?:wget|curl|cp|mv|ln|git\s+clone|unzip|tar|cat|touch|vim|nano|echo|tee|svn|gdown|hf|huggingface-cli|jupyter)\b"
)


def missing_files(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    names = {path.rpartition("/")[2] for path in repository.paths}
    folders = _folders(repository)
    stems: dict[str, list[str]] = defaultdict(list)
    for each in sorted(names):
        if each.endswith((".py", ".sh")):
            stems[each[:1]].append(each)
    looked = 0
    missing: dict[str, list[Place]] = defaultdict(list)
    alike: dict[str, str] = {}
    for path, command in _stated_commands(repository):
        target = command.target
        if (
            command.module
            or not target.endswith((".py", ".sh"))
            or target.startswith(("/", "~", "..", "http"))
        ):
            continue
        if _PLACEHOLDER.search(target):
            continue
        looked += 1
        folder, _, name = target.rpartition("/")
        if name in names:
            continue
        doc_folder = path.rpartition("/")[0]
        near = next(iter(get_close_matches(name, stems.get(name[:1], ()), 1, 0.86)), "")
        # Neither a folder of this repository nor a like name: it may be a file from elsewhere.
        if near or (folder and (folder in folders or f"{doc_folder}/{folder}" in folders)):
            missing[target].append(Place(path, command.line))
            alike[target] = near
    together: dict[object, list[str]] = defaultdict(list)
    for target, places in missing.items():
        # What one document runs in vain is mended together, unless a file is just written wrongly.
        together[target if alike[target] else tuple(sorted({place.path for place in places}))].append(target)
    outcomes = [
        _missing(targets, [place for target in targets for place in missing[target]], alike[targets[0]])
        for targets in together.values()
    ]
    yield from _few(outcomes, "further commands run a file that is not there")
    if not looked:
        yield not_applicable("No document and no script runs a file.")
    elif not missing:
        yield passed("Every file that documents and scripts run is there.")


def _missing(targets: list[str], places: list[Place], near: str) -> Outcome:
    """The finding about files that are not there, wherever they are run."""
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place.path, place)
    documents = list(first.values())
    where = (
        f"{documents[0].path}:{documents[0].line} runs"
        if len(documents) == 1
        else f"{listed(list(first), 3)} run"
    )
    shown = documents if len(documents) > 1 else list(dict.fromkeys(places))
    return failed(
        f"{where} {listed(targets, 4)}, and no {'file of that name is' if len(targets) == 1 else 'files of these names are'} in the repository.",
        *capped(shown, 10),
        fix=f"Is {near} meant?" if near else "Name the file that is meant, or add it.",
        key=targets[0],
        severity=None if any("/" in target for target in targets) else Severity.INFO,
    )


def _folders(repository: Repository) -> frozenset[str]:
    return frozenset(path[:at] for path in repository.paths for at in _slashes(path))


def _stated_commands(repository: Repository) -> Iterator[tuple[str, Command]]:
    """Commands that are about this repository: of READMEs and guides outside of documentation sites, of scripts and Makefiles."""
    here = {part.lower() for folder in _folders(repository) for part in folder.split("/")}
    here |= {repository.snapshot.repository.rpartition("/")[2].lower(), "..", ".", "-", ""}
    for path, body in guides(repository).items():
        if path.startswith(_SITES):
            continue
        foreign = _foreign_parts(repository, body, here)
        fetched = _fetched(body.commands)
        for command in body.commands:
            elsewhere = any(start <= command.line < end for start, end in foreign)
            if (
                not elsewhere
                and command.target.rpartition("/")[2] not in fetched
                and not _is_made_here(command, body)
            ):
                yield path, command
    for path, script in repository.scripts.items():
        if any(
            command.program in ("cd", "pushd") or command.text.startswith("git clone")
            for command in script.commands
        ):
            continue
        fetched = _fetched(script.commands)
        for command in script.commands:
            sourced = command.program in ("source", ".")
            if not sourced and command.target.rpartition("/")[2] not in fetched:
                yield path, command


_SITES = ("docs/", "doc/", "documentation/", "website/", ".github/")
"""Sources of documentation sites, in which links and file names have another meaning, and templates."""

_ABOUT_OTHERS = re.compile(
    r"download|data ?sets?\b|\bdata\b|third|external|baselines?\b|acknowledg|related|prerequisite", re.I
)


def _fetched(commands: Iterable[Command]) -> frozenset[str]:
    """Words of commands that bring files in: what they name comes from elsewhere."""
    words = (re.split(r"[\s/'\"=]+", command.text) for command in commands if _FETCHED.search(command.text))
    return frozenset(word for each in words for word in each if "." in word)


def _is_made_here(command: Command, body: DocsFacts) -> bool:
    """Whether a Python block stands beside the command: the reader is to save it under the name that is run."""
    return any(line - 8 <= command.line <= line + text.count("\n") + 8 for text, line in body.code)


def _foreign_parts(repository: Repository, body: DocsFacts, here: set[str]) -> list[tuple[int, int]]:
    """Line ranges of a document that work with something else: sections about data and other projects, and
    from a `git clone` or a `cd` elsewhere to the next heading."""
    own = repository.snapshot.repository.rpartition("/")[2].lower()
    starts = [line for text, _, line in body.headings if _ABOUT_OTHERS.search(text)]
    for command in body.commands:
        words = command.text.split()
        if words[:2] == ["git", "clone"]:
            if f"/{own}" not in command.text.lower():
                starts.append(command.line)
        elif (
            words[:1] == ["cd"]
            and len(words) > 1
            and words[1].strip("'\"").rstrip("/").rpartition("/")[2].lower() not in here
        ):
            starts.append(command.line)
    return [(start, next((line for _, _, line in body.headings if line > start), 10**9)) for start in starts]


def unknown_flags(context: Context) -> Iterable[Outcome]:
    repository, graph = context.repository, context.path.graph
    known: dict[str, tuple[Flag, ...] | None] = {}
    looked = 0
    wrong: dict[tuple[str, str], dict[str, Place]] = defaultdict(dict)
    for path, command in _stated_commands(repository):
        if not command.target or not command.flags:
            continue
        scripts = resolve_target(repository, graph, command, path)
        if len(scripts) != 1 or scripts[0] not in repository.code:
            continue
        script = scripts[0]
        if script not in known:
            known[script] = accepted(script, graph)
        flags = known[script]
        if flags is None:
            continue
        looked += 1
        for flag in command.flags:
            name = spelling(flag.name)
            if re.fullmatch(r"--?[A-Za-z][\w.-]*", name) and not accepts(flags, name):
                wrong[path, script].setdefault(name, Place(path, flag.line or command.line))
    outcomes = [_unknown(script, found, known[script]) for (_, script), found in wrong.items()]
    yield from _few(outcomes, "further documents pass flags that a script does not define")
    if not looked:
        yield not_applicable(
            "No documented command passes flags to a script whose flags can be told for certain."
        )
    elif not wrong:
        yield passed(
            "Every flag in documented commands is defined by its script, as far as its parser can be read."
        )


def _unknown(script: str, found: dict[str, Place], flags: tuple[Flag, ...] | None) -> Outcome:
    """The finding about all flags that one document passes to a script in vain."""
    names, first = list(found), next(iter(found.values()))
    single = len(names) == 1
    places = [first] if single else [Place(place.path, place.line, name) for name, place in found.items()]
    return failed(
        f"{first.path}:{first.line} passes {listed(names, 6)} to {script}, which defines no such "
        f"{'flag' if single else 'flags'} and stops with an error.",
        *capped(places, 10),
        Place(script, flags[0].line if flags else None, "where the script defines its flags"),
        fix=f"Correct the command, or define {listed(names, 6)} in {script}.",
        key=f"{script} {names[0]}" if single else script,
    )


def _few(outcomes: list[Outcome], rest: str) -> Iterator[Outcome]:
    yield from outcomes[:_SINGLY]
    if more := outcomes[_SINGLY:]:
        yield failed(
            f"{len(more)} {rest}.",
            *capped((each.evidence[0] for each in more), 20),
            key="more",
            severity=Severity.INFO,
        )


_SINGLY = 10
"""Findings of one rule that are told one by one."""


def broken_links(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    folders = _folders(repository)
    hidden = {gap.path for gap in repository.snapshot.gaps} | {
        entry.path for entry in repository.snapshot.entries
    }
    looked = 0
    broken: dict[str, dict[str, Place]] = defaultdict(dict)
    made = _generated(repository)
    for path, body in guides(repository).items():
        if not path.lower().endswith((".md", ".markdown")) or path.startswith(_SITES):
            continue  # a site generator gives links in its sources another meaning
        for target, line in body.links:
            file = _linked_file(path, target)
            if (
                file is None
                or file.rpartition("/")[2] in made
                or target.lower() in ("link", "url", "todo", "tbd")
            ):
                continue
            looked += 1
            if (
                file in hidden
                or file in folders
                or any(file + end in hidden for end in (".md", ".html", "/README.md"))
            ):
                continue
            shown = target if _HOST.match(target) else file
            broken[path].setdefault(shown, Place(path, line, "" if shown == file else "address"))
    yield from _few(
        [_broken(path, found) for path, found in broken.items()],
        "further documents hold links that lead nowhere",
    )
    if not looked:
        yield not_applicable("No document links to a file of the repository.")
    elif not broken:
        yield passed("Every file that documents link to is there.")


_HOST = re.compile(
    r"(?:www\.|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|ai|edu|dev|gov|co|me)(?:/|$))", re.IGNORECASE
)
"""A link's target that is meant as an address and lacks `https://`."""


def _generated(repository: Repository) -> frozenset[str]:
    """Names of files that .gitignore lists one by one: something makes them, on the documentation's site for instance."""
    return frozenset(
        pattern.rpartition("/")[2]
        for _, body in repository.bodies(PatternFacts)
        for pattern, attributes, _ in body.patterns
        if not attributes and re.fullmatch(r"/?[\w./-]*\w\.\w{1,5}", pattern)
    )


def _broken(path: str, found: dict[str, Place]) -> Outcome:
    """The finding about all links of one document that lead nowhere."""
    names, places = list(found), list(found.values())
    addresses = all(place.note for place in places)
    where = f"{path}:{places[0].line}" if len(names) == 1 else path
    end = (
        "which GitHub takes for a file of the repository: it lacks `https://`"
        if addresses
        else f"which {'is' if len(names) == 1 else 'are'} not in the repository"
    )
    return failed(
        f"{where} links to {listed(names, 3)}, {end}.",
        *capped(
            (Place(path, place.line, "" if len(names) == 1 else name) for name, place in found.items()), 10
        ),
        key=names[0] if len(names) == 1 else "links",
        fix="Write the whole address, with `https://`." if addresses else None,
    )


def _slashes(path: str) -> Iterator[int]:
    at = path.find("/")
    while at >= 0:
        yield at
        at = path.find("/", at + 1)


def _linked_file(origin: str, target: str) -> str | None:
    """The file of the repository that a link means; None for an address, an anchor, or what leads out of the tree (GitHub's own pages)."""
    target = target.partition("#")[0].partition("?")[0].strip().strip("<>")
    if (
        not target
        or "://" in target
        or re.match(r"[A-Za-z][\w+.-]*:", target)
        or target.startswith("//")
        or re.search(r"[$<>{}\s]", target)
        or re.fullmatch(
            r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", target
        )  # an address of mail that lacks its `mailto:`
    ):
        return None
    base = "" if target.startswith("/") else posixpath.dirname(origin)
    file = posixpath.normpath(posixpath.join(base, unquote(target.lstrip("/"))))
    return None if file.startswith("..") or file == "." else file
