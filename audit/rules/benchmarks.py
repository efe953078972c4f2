"""Benchmarks: whether speed and quality can be measured again."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.classify import is_test_path
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import capped
from audit.signals.repository import Repository
from audit.signals.training_path import commands_of


def present(context: Context) -> Iterable[Outcome]:
    signal = context.signals.benchmarks
    if signal.value:
        yield passed("There is benchmark code.", *capped(signal.evidence))
    elif not context.repository.code:
        yield not_applicable("The repository holds no Python code of its own.")
    elif context.signals.training_loop.value == "none" and context.signals.evaluation.value:
        yield passed(
            "Measuring is what this repository's own code does.", *capped(context.signals.evaluation.evidence)
        )
    else:
        yield failed(
            "There is no benchmark: no script measures speed, or compares results with those of earlier versions."
        )


def documented(context: Context) -> Iterable[Outcome]:
    signal = context.signals.benchmarks
    if not signal.value:
        yield not_applicable("There is no benchmark code.")
        return
    files = {each.path for each in signal.evidence}
    folders = {path.partition("/")[0] for path in files if "bench" in path.partition("/")[0].lower()}
    place = _how_to_run(context.repository, files, folders)
    if place is not None:
        yield passed("A document, script or CI job runs the benchmarks.", place)
    else:
        yield failed(
            "No command in a document, script or CI job runs the benchmarks.", *capped(signal.evidence)
        )


def _how_to_run(repository: Repository, files: set[str], folders: set[str]) -> Place | None:
    """Where a command runs a benchmark, or a README of their own explains them."""
    names = {path.rpartition("/")[2] for path in files}
    for path, command in commands_of(repository):
        words = f"{command.target} {command.text}"
        if not is_test_path(path) and (
            "bench" in words.lower() or command.target.rpartition("/")[2] in names
        ):
            return Place(path, command.line)
    for path, body in repository.docs.items():
        if path.partition("/")[0] in folders or "bench" in path.lower():
            return Place(path)
        for target, line in body.links:
            if "bench" in target.lower():
                return Place(path, line)
        for text, _, line in body.headings:
            if "benchmark" in text.lower():
                return Place(path, line)
    return None


RULES = (
    Rule(
        "benchmarks.present",
        Severity.INFO,
        "There are benchmarks",
        "Claims of speed and quality can only be checked with the script that measured them.",
        "Add a script that prints the number, the settings and the versions it ran with.",
        "benchmarking",
        6,
        "benchmarks/throughput.py",
        "A table of throughput in the README and no script.",
        present,
    ),
    Rule(
        "benchmarks.documented",
        Severity.INFO,
        "Documents say how to run the benchmarks",
        "A benchmark whose flags nobody knows is not repeated.",
        "Give the command and the hardware.",
        "benchmarking",
        4,
        "`python benchmarks/throughput.py --batch-size 64`",
        "benchmarks/run.py, mentioned nowhere.",
        documented,
    ),
)
