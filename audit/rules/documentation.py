"""What a stranger reads first: how to install, run and train, whether it is true, and on what terms."""

import re
from collections.abc import Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_example_path, is_test_path
from audit.facts.kinds import Kind
from audit.facts.model import Command, DocsFacts
from audit.rules.claims import broken_links, guides, missing_files, unknown_flags
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import capped, counted, listed
from audit.signals.repository import Repository
from audit.signals.training_path import resolve_target

_NO_README = "There is no README."
_NO_TRAINING = "Nothing in this repository trains a model."
_NO_CODE = "The repository holds no code of its own."
_INSTALLS = re.compile(
    r"(?:^|[\s/&;])(?:pip3?|uv|conda|mamba|micromamba|poetry|pdm|pixi|pipenv|npm|rye)\s+(?:pip\s+|env\s+|-[\w-]+\s+)*(?:install|sync|create|update|add)\b"
    r"|setup\.py\s+(?:install|develop)|docker\s+(?:build|pull|run)|docker[ -]compose\s+|make\s+(?:install|setup|build|env)|install\w*\.sh|setup\w*\.sh"
    r"|python\S*\s+-m\s+pip\s"
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
    for path, body in guides(repository).items():
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
    for path, body in guides(repository).items():
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
    yield _not_read(repository) or failed(
        f"{path} shows no command and no code that runs anything of this repository.", Place(path)
    )


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
    told = [(path, command) for path, body in guides(repository).items() for command in body.commands]
    recorded = [(path, command) for path, body in repository.scripts.items() for command in body.commands]
    for found, said in ((told, "gives the command that trains"), (recorded, "holds the command that trains")):
        for path, command in found:
            hits = command.target and scripts.intersection(
                resolve_target(repository, context.path.graph, command, path)
            )
            if hits or (found is told and _starts_training(command, consoles)):
                yield passed(f"{path} {said}.", Place(path, command.line))
                return
    for path, body in guides(repository).items():
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
        f"No document gives the command that trains ({listed(sorted(scripts), 3)} can).",
        Place(first),
        severity=Severity.INFO if all(map(is_example_path, scripts)) else None,
    )


def _starts_training(command: Command, consoles: set[str]) -> bool:
    """Whether a command starts training by another way than the script's own name."""
    return (
        _runs_a_pipeline(command)
        or command.program in consoles
        or (command.target.endswith((".sh", ".slurm", ".sbatch")) and "train" in command.text.lower())
    )


def _runs_a_pipeline(command: Command) -> bool:
    """Whether a tool is started that runs what a file of the repository describes: `dvc repro`, `make train`."""
    words = command.text.split()
    if command.program == "dvc":
        return "repro" in words or words[1:3] == ["exp", "run"]
    return command.program in ("make", "just", "task", "snakemake", "mlflow") and "train" in command.text


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
    elif (spoken := _speaks_of_licence(context.repository)) is not None:
        yield failed(
            f"{spoken.path}:{spoken.line} speaks of a licence, and no licence file holds its text: GitHub and package tools show none.",
            spoken,
            severity=Severity.INFO,
            fix="Put the licence's text into a file LICENSE.",
        )
    elif parts := [path for path in context.repository.of_kind(Kind.LICENSE) if not is_test_path(path)]:
        have = "has its" if len(parts) == 1 else "have their"
        yield failed(
            f"No licence covers the whole repository; {counted(len(parts), 'folder')} {have} own ({listed(parts, 3)}).",
            *capped(Place(path) for path in parts),
            severity=Severity.INFO,
            fix="Add a LICENSE file at the root, or say there which licence holds for which folder.",
        )
    else:
        yield failed("There is no licence: nobody else may lawfully use, change or pass on this code.")


def _speaks_of_licence(repository: Repository) -> Place | None:
    """Where the README has a heading about the licence, with something below it."""
    body = repository.docs.get(repository.readme or "")
    if body is None:
        return None
    line = next((line for text, _, line in body.headings if re.search(r"\blicen[cs]e\b", text, re.I)), None)
    return Place(repository.readme or "", line) if line is not None else None


def citation(context: Context) -> Iterable[Outcome]:
    if context.signals.citation.value:
        yield passed(
            "A citation file says how to cite this work.", *capped(context.signals.citation.evidence)
        )
        return
    for path, body in guides(context.repository).items():
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
    for path, body in guides(context.repository).items():
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
