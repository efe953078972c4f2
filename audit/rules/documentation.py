"""What a stranger reads first: how to install, run and train, whether it is true, and on what terms."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_test_path
from audit.facts.model import Command, DocsFacts
from audit.rules.flags import accepted, accepts, spelling
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, listed
from audit.signals.repository import Repository
from audit.signals.training_path import resolve_target

_NO_README = "There is no README."
_NO_TRAINING = "Nothing in this repository trains a model."
_NO_CODE = "The repository holds no code of its own."
_INSTALLS = re.compile(
    r"(?:^|[\s/&;])(?:pip3?|uv|conda|mamba|micromamba|poetry|pdm|pixi|pipenv|npm|rye)\s+(?:pip\s+|env\s+|-[\w-]+\s+)*(?:install|sync|create|update|add)\b"
    r"|setup\.py\s+(?:install|develop)|docker\s+(?:build|pull|run)|docker[ -]compose\s+|make\s+(?:install|setup|build|env)|install\w*\.sh|setup\w*\.sh|python\S*\s+-m\s+pip\s"
)


def _not_read(repository: Repository) -> Outcome | None:
    """The answer where the README is there and could not be read: nothing can be said about what stands in it."""
    path = repository.readme
    facts = repository.file(path) if path else None
    if path is None or (facts is not None and isinstance(facts.body, DocsFacts)):
        return None
    return not_checked(
        f"{path} was not read: {facts.partial if facts and facts.partial else 'it is no text that is known'}.",
        Place(path),
    )


def _guides(repository: Repository) -> dict[str, DocsFacts]:
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


def readme(context: Context) -> Iterable[Outcome]:
    signal = context.signals.readme
    if signal.value:
        yield passed("There is a README.", *capped(signal.evidence))
    else:
        yield failed("There is no README, so nobody knows what this is and how to run it.")


def install(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not context.signals.readme.value:
        yield not_applicable(_NO_README)
        return
    if not repository.code and not repository.notebooks:
        yield not_applicable(_NO_CODE)
        return
    for path, body in _guides(repository).items():
        place = _install_place(path, body)
        if place is not None:
            yield passed(f"{path} says how to install what is needed.", place)
            return
    path = repository.readme or ""
    yield _not_read(repository) or failed(
        f"{path} gives no command that installs what the code needs.", Place(path)
    )


def _install_place(path: str, body: DocsFacts) -> Place | None:
    for command in body.commands:
        if _INSTALLS.search(command.text):
            return Place(path, command.line)
    if body.requirements:
        return Place(path, body.requirements[0].line)
    return next((Place(path, line) for topic, line in body.topics if topic == "install"), None)


def usage(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not context.signals.readme.value:
        yield not_applicable(_NO_README)
        return
    if not repository.code and not repository.notebooks:
        yield not_applicable(_NO_CODE)
        return
    for path, body in _guides(repository).items():
        place = next((Place(path, c.line) for c in body.commands if _runs(c)), None)
        place = place or next((Place(path, line) for _, line in body.code), None)
        place = place or next(
            (
                Place(path, line)
                for target, line in body.links
                if target.partition("#")[0].endswith((".ipynb", ".py", ".sh"))
            ),
            None,
        )
        if place is not None:
            yield passed(f"{path} shows how the code is run.", place)
            return
    path = repository.readme or ""
    yield failed(f"{path} shows no command and no code that runs anything of this repository.", Place(path))


def _runs(command: Command) -> bool:
    """Whether a command does more than install, fetch or look around."""
    if command.target:
        return True
    return (
        bool(command.program) and not _INSTALLS.search(command.text) and command.program not in _HOUSEKEEPING
    )


_HOUSEKEEPING = frozenset(
    "git cd mkdir ls cat source export echo conda pip pip3 wget curl unzip tar sudo apt apt-get brew rm mv cp ln which nvidia-smi chmod set".split()
)


def training(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not context.path.training or context.signals.training_loop.value == "none":
        yield not_applicable(_NO_TRAINING)
        return
    if not context.signals.readme.value:
        yield not_applicable(_NO_README)
        return
    scripts = {entry.path for entry in context.path.training}
    consoles = {name for body in repository.manifests.values() for name in body.scripts}
    for path, body in _guides(repository).items():
        for command in body.commands:
            hits = command.target and scripts.intersection(
                resolve_target(repository, context.path.graph, command, path)
            )
            if (
                hits
                or command.program in consoles
                or (command.target.endswith((".sh", ".slurm", ".sbatch")) and "train" in command.text.lower())
            ):
                yield passed(f"{path} gives the command that trains.", Place(path, command.line))
                return
    for path, body in _guides(repository).items():
        line = next((line for topic, line in body.topics if topic == "training"), None)
        if line is not None:
            yield failed(
                f"{path}:{line} speaks of training, but no document gives the command for {listed(sorted(scripts), 2)}.",
                Place(path, line),
                severity=Severity.INFO,
            )
            return
    first = min(scripts, key=lambda each: (each.count("/"), each))
    yield _not_read(repository) or failed(
        f"No document gives the command that trains ({listed(sorted(scripts), 3)} can).", Place(first)
    )


# What the documents say that is not so --------------------------------------------------------------------------------

_PLACEHOLDER = re.compile(
    r"[$<>{}*\[\]%…|]|\.\.\.|(?:^|[/_-])(?:your|my|some|path|xxx+|foo|bar|any)(?:[/_.-]|$)|(?:^|/)(?:script|file|program|example|code|app|hello|filename|name|module)\.\w+$",
    re.I,
)
_FETCHED = re.compile(
    r"\b(?:wget|curl|cp|mv|ln|git\s+clone|unzip|tar|cat|touch|vim|nano|echo|tee|svn|gdown|hf|huggingface-cli|jupyter)\b"
)
_SHELL_FILES = (".py", ".sh")


def missing_files(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    names = {path.rpartition("/")[2] for path in repository.paths}
    looked = 0
    missing: list[Outcome] = []
    for path, command in _stated_commands(repository):
        target = command.target
        if (
            command.module
            or not target.endswith(_SHELL_FILES)
            or target.startswith(("/", "~", "..", "http"))
            or _PLACEHOLDER.search(target)
        ):
            continue
        looked += 1
        if target.rpartition("/")[2] in names:
            continue
        missing.append(
            failed(
                f"{path}:{command.line} runs {target}, and no file of that name is in the repository.",
                Place(path, command.line),
                fix="Name the file that is meant, or add it.",
                key=target,
            )
        )
    yield from _few(missing, "further commands run a file that is not there")
    if not looked:
        yield not_applicable("No document and no script runs a file.")
    elif not missing:
        yield passed("Every file that documents and scripts run is there.")


def _stated_commands(repository: Repository) -> Iterator[tuple[str, Command]]:
    """Commands that are about this repository: of READMEs and guides outside of documentation sites, of scripts and Makefiles."""
    for path, body in _guides(repository).items():
        if path.startswith(("docs/", "doc/", "documentation/", "website/")):
            continue
        foreign_from = _foreign_parts(repository, body)
        fetched = {
            word
            for command in body.commands
            if _FETCHED.search(command.text)
            for word in re.split(r"[\s/'\"=]+", command.text)
        }
        for command in body.commands:
            if (
                not any(start <= command.line < end for start, end in foreign_from)
                and command.target.rpartition("/")[2] not in fetched
            ):
                yield path, command
    for path, script in repository.scripts.items():
        moved = any(
            command.program in ("cd", "pushd") or command.text.startswith("git clone")
            for command in script.commands
        )
        made = " ".join(command.text for command in script.commands if _FETCHED.search(command.text))
        for command in script.commands:
            if not moved and command.target.rpartition("/")[2] not in made:
                yield path, command


def _foreign_parts(repository: Repository, body: DocsFacts) -> list[tuple[int, int]]:
    """Line ranges of a document that work in another repository: from a `git clone` or `cd` elsewhere to the next heading."""
    own = repository.snapshot.repository.rpartition("/")[2].lower()
    folders = {part.lower() for path in repository.paths for part in path.split("/")[:-1]} | {own}
    parts = []
    for command in body.commands:
        words = command.text.split()
        if (words[:2] == ["git", "clone"] and f"/{own}" not in command.text.lower()) or (
            words[:1] == ["cd"]
            and len(words) > 1
            and words[1].strip("'\"").rstrip("/").rpartition("/")[2].lower()
            not in folders | {"..", ".", "-", ""}
        ):
            pass
        else:
            continue
        end = next((line for _, _, line in body.headings if line > command.line), 10**9)
        parts.append((command.line, end))
    return parts


def unknown_flags(context: Context) -> Iterable[Outcome]:
    repository, graph = context.repository, context.path.graph
    known: dict[str, object] = {}
    looked = 0
    wrong: list[Outcome] = []
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
            if re.fullmatch(r"--?[A-Za-z][\w.-]*", name) and not accepts(flags, name):  # type: ignore[arg-type]
                wrong.append(
                    failed(
                        f"{path}:{flag.line or command.line} passes {name} to {script}, which defines no such flag and stops with an error.",
                        Place(path, flag.line or command.line),
                        Place(script, flags[0].line if flags else None, "where the script defines its flags"),  # type: ignore[index]
                        fix=f"Correct the command, or define {name} in {script}.",
                        key=f"{script} {name}",
                    )
                )
    yield from _few(_first_of_each(wrong), "further documented flags are not defined")
    if not looked:
        yield not_applicable(
            "No documented command passes flags to a script whose flags can be told for certain."
        )
    elif not wrong:
        yield passed(
            "Every flag in documented commands is defined by its script, as far as its parser can be read."
        )


def _first_of_each(outcomes: list[Outcome]) -> list[Outcome]:
    """One outcome a file and key: a document that repeats a wrong flag is mended in one go."""
    seen: dict[tuple[str, str], Outcome] = {}
    for each in outcomes:
        seen.setdefault((each.evidence[0].path, each.key), each)
    return list(seen.values())


def _few(outcomes: list[Outcome], rest: str) -> Iterator[Outcome]:
    yield from outcomes[:OUTCOME_LIMIT]
    if len(outcomes) > OUTCOME_LIMIT:
        yield failed(f"{len(outcomes) - OUTCOME_LIMIT} {rest}.", key="more")


def broken_links(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    folders = {path[:at] for path in repository.paths for at in _slashes(path)}
    hidden = {gap.path for gap in repository.snapshot.gaps} | {
        entry.path for entry in repository.snapshot.entries
    }
    looked = 0
    broken: list[Outcome] = []
    for path, body in _guides(repository).items():
        if not path.lower().endswith((".md", ".markdown")) or path.startswith(
            ("docs/", "doc/", "website/", "documentation/")
        ):
            continue  # a site generator gives links in its sources another meaning
        for target, line in body.links:
            file = _linked_file(path, target)
            if file is None:
                continue
            looked += 1
            if (
                file in hidden
                or file in folders
                or any(file + end in hidden for end in (".md", ".html", "/README.md"))
            ):
                continue
            broken.append(
                failed(
                    f"{path}:{line} links to {file}, which is not in the repository.",
                    Place(path, line),
                    key=file,
                )
            )
    yield from _few(_first_of_each(broken), "further links lead nowhere")
    if not looked:
        yield not_applicable("No document links to a file of the repository.")
    elif not broken:
        yield passed("Every file that documents link to is there.")


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
    ):
        return None
    base = "" if target.startswith("/") else posixpath.dirname(origin)
    file = posixpath.normpath(posixpath.join(base, unquote(target.lstrip("/"))))
    return None if file.startswith("..") or file == "." else file


# Terms, and what to expect ----------------------------------------------------------------------------------------------


def license_(context: Context) -> Iterable[Outcome]:
    signal = context.signals.license
    if signal.value:
        yield passed(f"The licence is {signal.value}.", *capped(signal.evidence))
    elif signal.evidence:
        yield failed(
            f"{signal.evidence[0].path} is not the text of a licence that is known, so tools cannot tell what is allowed.",
            *capped(signal.evidence),
            severity=Severity.INFO,
            fix="Use the unchanged text of a known licence, or name its SPDX id in the manifest.",
        )
    else:
        yield failed("There is no licence: nobody else may lawfully use, change or pass on this code.")


def citation(context: Context) -> Iterable[Outcome]:
    if context.signals.citation.value:
        yield passed(
            "A citation file says how to cite this work.", *capped(context.signals.citation.evidence)
        )
        return
    for path, body in _guides(context.repository).items():
        if body.bibtex:
            yield passed(f"{path} says how to cite this work.", Place(path, body.bibtex))
            return
    if context.signals.training_loop.value == "none" and not context.signals.evaluation.value:
        yield not_applicable("Nothing here trains or evaluates a model whose results would be cited.")
    else:
        yield _not_read(context.repository) or failed(
            "Neither a CITATION.cff nor a BibTeX entry says how to cite this work."
        )


def _topic(context: Context, topic: str, yes: str, no: str) -> Iterator[Outcome]:
    for path, body in _guides(context.repository).items():
        line = next((line for name, line in body.topics if name == topic), None)
        if line is not None:
            yield passed(f"{path}:{line} {yes}", Place(path, line))
            return
    readme_path = context.repository.readme
    yield _not_read(context.repository) or failed(no, *([Place(readme_path)] if readme_path else []))


def hardware(context: Context) -> Iterable[Outcome]:
    if context.signals.training_loop.value in ("none", "sklearn"):
        yield not_applicable(
            _NO_TRAINING
            if context.signals.training_loop.value == "none"
            else "Training needs no special hardware."
        )
        return
    yield from _topic(
        context,
        "hardware",
        "says what hardware was used.",
        "No document says on what hardware training ran, how much memory it needs and how long it takes.",
    )


def results(context: Context) -> Iterable[Outcome]:
    if context.signals.training_loop.value == "none" and not context.signals.evaluation.value:
        yield not_applicable("Nothing here trains or evaluates a model.")
        return
    yield from _topic(
        context,
        "results",
        "says what results to expect.",
        "No document says what result a run should give, so nobody can tell whether theirs is right.",
    )


RULES = (
    Rule(
        "documentation.readme",
        Severity.WARNING,
        "There is a README",
        "It is where everybody looks first for what this is and how to run it.",
        "Write a README.md: what it is, how to install, how to run, what result to expect.",
        "documentation",
        3,
        "README.md at the root.",
        "Only code files.",
        readme,
    ),
    Rule(
        "documentation.install",
        Severity.WARNING,
        "Documents say how to install",
        "Which tool, which file and which order of commands make the environment is known to the author alone.",
        "Give the commands in the README, in a code block.",
        "documentation",
        1.5,
        "`pip install -r requirements.txt` in a code block.",
        "A README without an install command.",
        install,
    ),
    Rule(
        "documentation.usage",
        Severity.WARNING,
        "Documents say how to run it",
        "Code without one command that is known to work leaves everybody to guess the entry point and its flags.",
        "Give one complete command for each thing that the repository does.",
        "documentation",
        1.5,
        "`python train.py --config configs/base.yaml`",
        "A README that only describes the method.",
        usage,
    ),
    Rule(
        "documentation.training",
        Severity.WARNING,
        "Documents give the training command",
        "The published numbers come from one command with its flags; without it they cannot be made again.",
        "Give the exact command, flags included, for every published result.",
        "documentation",
        1.5,
        "`torchrun --nproc_per_node=8 train.py --lr 3e-4`",
        "train.py exists, no document mentions it.",
        training,
    ),
    Rule(
        "documentation.missing_files",
        Severity.WARNING,
        "Documented files exist",
        "Who follows the instructions stops at the first command that runs a file which is not there.",
        "Correct the command or add the file.",
        "documentation",
        1,
        "The README runs train.py, and train.py is there.",
        "The README runs train_v2.py, which was renamed.",
        missing_files,
    ),
    Rule(
        "documentation.unknown_flags",
        Severity.WARNING,
        "Documented flags exist",
        "argparse stops at a flag that it does not know: the documented run cannot be started.",
        "Correct the documents, or define the flag.",
        "documentation",
        1,
        "The README passes --lr, which train.py defines.",
        "The README passes --warmup, which train.py does not define.",
        unknown_flags,
    ),
    Rule(
        "documentation.broken_links",
        Severity.INFO,
        "Linked files exist",
        "A link that leads nowhere often hid the one page that was needed.",
        "Correct the link or add the file.",
        "documentation",
        0.5,
        "[config](configs/base.yaml), which is there.",
        "[data](docs/DATA.md), which is not.",
        broken_links,
    ),
    Rule(
        "documentation.license",
        Severity.WARNING,
        "There is a licence",
        "Without a licence nobody else may use or change the code, and no one can publish a reproduction of it.",
        "Add a LICENSE file with the text of a known licence.",
        "documentation",
        1.5,
        "LICENSE with the text of Apache-2.0.",
        "No licence file and none in the manifest.",
        license_,
    ),
    Rule(
        "documentation.citation",
        Severity.INFO,
        "Documents say how to cite",
        "A citation names the version that results belong to.",
        "Add CITATION.cff with title, authors and version.",
        "documentation",
        0.5,
        "CITATION.cff, or a BibTeX entry in the README.",
        "Neither.",
        citation,
    ),
    Rule(
        "documentation.hardware",
        Severity.INFO,
        "Documents name the hardware",
        "Kernels, batch sizes that fit and run times depend on the device; numbers of one are not those of another.",
        "Say which device, how many, how much memory, how long.",
        "documentation",
        0.5,
        "Trained on 8 A100 (80 GB) in 12 hours.",
        "No word of the device.",
        hardware,
    ),
    Rule(
        "documentation.results",
        Severity.INFO,
        "Documents state the expected result",
        "A reproduction is checked against a number; without one it can neither succeed nor fail.",
        "State the metric, its value, its spread over seeds, and the command that gave it.",
        "documentation",
        1,
        "A table of results with the command for each row.",
        "No number anywhere.",
        results,
    ),
)
