"""Tests, and the machine that runs them."""

import re
from collections.abc import Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.model import CiFacts, CiStep, LockFacts
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import capped, listed
from audit.signals.repository import Repository

_NO_CODE = "The repository holds no Python code of its own."
_NO_CI = "There is no CI."
_RUNNERS = frozenset({"tox", "nox"})
"""Read like CI files, but nothing runs them by itself."""


def tests(context: Context) -> Iterable[Outcome]:
    signal = context.signals.tests
    if signal.value:
        yield passed("There are tests of the repository's own code.", *capped(signal.evidence))
    elif not context.repository.code:
        yield not_applicable(_NO_CODE)
    else:
        number = len(context.repository.code)
        yield failed(
            f"No test checks {'the one Python file' if number == 1 else f'any of the {number} Python files'}."
        )


def _services(repository: Repository) -> dict[str, CiFacts]:
    """Files that a CI service runs."""
    return {
        path: body
        for path, body in repository.ci.items()
        if body.system not in _RUNNERS and not path.endswith(("tox.ini", "noxfile.py"))
    }


def ci(context: Context) -> Iterable[Outcome]:
    found = _services(context.repository)
    if found:
        yield passed(f"CI is defined in {listed(tuple(found), 3)}.", *capped(Place(path) for path in found))
    elif not context.repository.code:
        yield not_applicable(_NO_CODE)
    else:
        yield failed(
            "No CI runs when the code changes, so a commit that breaks it is noticed by the next user."
        )


def ci_tests(context: Context) -> Iterable[Outcome]:
    signal = context.signals.ci_tests
    found = _services(context.repository)
    if signal.value:
        yield passed("CI runs the tests.", *capped(signal.evidence))
    elif not found:
        yield not_applicable(_NO_CI)
    elif not context.signals.tests.value:
        yield failed(
            f"{listed(tuple(found), 3)} {'runs' if len(found) == 1 else 'run'} neither tests nor a short run of the code.",
            *capped(Place(path) for path in found),
            fix="Add a job that runs a smoke test: a few steps of training or evaluation on a tiny input.",
            severity=Severity.INFO,
        )
    else:
        yield failed(
            f"There are tests, and no job of {listed(tuple(found), 3)} runs them.",
            *capped([*(Place(path) for path in found), *context.signals.tests.evidence]),
        )


_LOCKED_INSTALL = re.compile(
    r"\buv\s+(?:sync|run)\b|\bpoetry\s+(?:install|sync)\b|\bpdm\s+(?:install|sync)\b|\bpipenv\s+(?:sync|install)\b|\bpixi\s+(?:install|run)\b|\bconda-lock\s+install\b"
    r"|--require-hashes|\.lock\b|lock\.ya?ml|pylock"
)
_INSTALL = re.compile(
    r"\b(?:pip3?|conda|mamba|micromamba|uv|poetry|pdm|pipenv|pixi)\s+(?:pip\s+|env\s+|-\S+\s+)*(?:install|sync|create|update|run)\b|-m\s+pip\s+install"
)
_SETUP_ACTIONS = re.compile(
    r"^(?:prefix-dev/setup-pixi|pdm-project/setup-pdm|snok/install-poetry|conda-incubator/setup-miniconda|mamba-org/setup-micromamba)"
)


def ci_lock(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    locks = sorted(path for path, _ in repository.bodies(LockFacts))
    if not locks:
        yield not_applicable("There is no lock file that CI could install from.")
        return
    if not _services(repository):
        yield not_applicable(_NO_CI)
        return
    installing = [
        (path, step, text)
        for path, step, text, line in _steps(repository)
        if _INSTALL.search(text) or _SETUP_ACTIONS.match(step.uses)
    ]
    if not installing:
        yield not_applicable("No job of the CI installs packages.")
        return
    locked = [
        Place(path, step.line or None) for path, step, text in installing if _LOCKED_INSTALL.search(text)
    ]
    if locked:
        yield passed("CI installs from the lock.", *capped(locked))
    elif any(_SETUP_ACTIONS.match(step.uses) for _, step, _ in installing):
        yield passed(
            "CI installs with a tool that reads the lock.",
            *capped(Place(path, step.line or None) for path, step, _ in installing),
        )
    else:
        yield failed(
            f"CI installs packages without {listed(locks, 2)}: what it tests is not what the lock says.",
            *capped(Place(path, step.line or None) for path, step, _ in installing),
        )


def _steps(repository: Repository) -> Iterator[tuple[str, CiStep, str, int]]:
    for path, body in _services(repository).items():
        for job in body.jobs:
            for step in job.steps:
                yield path, step, "\n".join(command.text for command in step.commands), step.line


RULES = (
    Rule(
        "testing.tests",
        Severity.WARNING,
        "There are tests",
        "Without a test a change of behaviour shows first in the results, if at all.",
        "Test the pieces that decide the numbers: data preparation, loss, metric, and one step of training on a tiny input.",
        "testing",
        6,
        "tests/test_metric.py with a test function.",
        "No test file.",
        tests,
    ),
    Rule(
        "testing.ci",
        Severity.WARNING,
        "There is CI",
        "What nobody runs on a clean machine works on the author's alone.",
        "Add a workflow that installs the package and runs the tests on every pull request.",
        "ci_cd",
        5,
        ".github/workflows/test.yml",
        "No CI file.",
        ci,
    ),
    Rule(
        "testing.ci_runs_tests",
        Severity.WARNING,
        "CI runs the tests",
        "Tests that only run by hand stop passing without anybody's notice.",
        "Add a job that runs `pytest`.",
        "ci_cd",
        4,
        "A job runs `pytest tests`.",
        "The only job builds the documentation.",
        ci_tests,
    ),
    Rule(
        "testing.ci_installs_locked",
        Severity.INFO,
        "CI installs from the lock",
        "CI that resolves versions anew tests other packages than the lock records.",
        "Install in CI with `uv sync --locked`, `poetry install` or `pip install --require-hashes -r …`.",
        "ci_cd",
        1,
        "uv sync --locked",
        "uv.lock is there, CI runs `pip install -e .`.",
        ci_lock,
    ),
)
