"""Which commands a job runs, from CI files, scripts and the log: what selects a test or calls a script, and with which words."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from audit.facts.ci.extract import extract as extract_ci
from audit.facts.commands.shell import parse_commands
from audit.facts.model import CiFacts, Command
from audit.failure.gates.checkout import Checkout
from audit.failure.model import Kind, Reading

MAX_FILES: Final = 200
"""Most CI files and scripts that are read."""
MAX_LOGGED: Final = 3_000
"""Most command lines of a log that are read."""

_CI: Final = re.compile(
    r"(^|/)(\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.gitlab/[^/]+\.ya?ml|\.circleci/config\.ya?ml|azure-pipelines\.ya?ml"
    r"|\.buildkite/[^/]+\.ya?ml|Jenkinsfile|\.travis\.ya?ml|\.cirrus\.ya?ml|tox\.ini|noxfile\.py|action\.ya?ml)$"
)
_SCRIPT: Final = re.compile(r"(\.(sh|bash|sbatch|slurm)|(^|/)(Makefile|makefile|GNUmakefile))$")
_PREFIX: Final = re.compile(r"^\s*(?:##\[group\]Run |\[command\]|Run |\++ |\$ |> )")


class Called(msgspec.Struct, frozen=True):
    """A command and where it is written: a CI file or script of the checkout, or a line of a log. `job`, `step`: its names there."""

    command: Command
    path: str
    line: int
    job: str = ""
    step: str = ""
    logged: bool = False


def called(checkout: Checkout, reading: Reading | None) -> list[Called]:
    """All commands found, those of the log last. Never raises."""
    return [*_of_checkout(checkout), *_of_log(reading)]


def _of_checkout(checkout: Checkout) -> Iterator[Called]:
    paths = [p for p in checkout.paths if _CI.search(p)][:MAX_FILES]
    paths += [p for p in checkout.paths if _SCRIPT.search(p)][:MAX_FILES]
    for path in paths:
        text = checkout.text(path)
        if text is None:
            continue
        if _CI.search(path):
            yield from _of_ci(path, text)
        else:
            for command in parse_commands(_recipes(text) if path.endswith("akefile") else text):
                yield Called(command, path, command.line)


def _recipes(makefile: str) -> str:
    """A Makefile's recipe lines alone, line for line."""
    return "\n".join(line.lstrip("\t@-") if line.startswith("\t") else "" for line in makefile.split("\n"))


def _of_ci(path: str, text: str) -> Iterator[Called]:
    body = extract_ci(text).body
    if not isinstance(body, CiFacts):
        return
    for job in body.jobs:
        for step in job.steps:
            for command in step.commands:
                yield Called(command, path, command.line, job.name, step.name)


def _of_log(reading: Reading | None) -> Iterator[Called]:
    count = 0
    for line in reading.lines if reading else ():
        marked = Kind.COMMAND in line.kinds or Kind.STEP in line.kinds
        if not marked and not _PREFIX.match(line.text):
            continue
        text = _PREFIX.sub("", line.text)
        if not text.strip() or len(text) > 2_000:
            continue
        count += 1
        if count > MAX_LOGGED:
            return
        for command in parse_commands(text):
            yield Called(
                command, line.source, line.number, line.stream.job or "", line.stream.step or "", logged=True
            )


def words_of(command: Command) -> list[str]:
    """The command's words behind its target, flags and values in the order in which they are written."""
    words = command.text.split()
    for index, word in enumerate(words):
        if command.target and (
            word == command.target or word.endswith("/" + posixpath.basename(command.target))
        ):
            return [w.strip("'\"") for w in words[index + 1 :]]
    return [w.strip("'\"") for w in words[1:]]


def runs_script(call: Called, path: str) -> bool:
    """Whether a command runs the Python file `path` of the checkout."""
    target = call.command.target
    if not target:
        return False
    if call.command.module:
        dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return dotted == target or dotted.endswith("." + target) or dotted == target + ".__main__"
    plain = target.lstrip("./")
    return path == plain or path.endswith("/" + plain) or plain.endswith("/" + path)


def scripts_run(paths: Sequence[str], calls: Sequence[Called]) -> list[str]:
    """The Python files among `paths` that some command runs, in their order."""
    names: dict[str, list[Called]] = {}
    for call in calls:
        last = call.command.target.rpartition("." if call.command.module else "/")[2]
        for name in (f"{last}.py", "__main__.py") if call.command.module else (last,):
            names.setdefault(name, []).append(call)
    return [p for p in paths if any(runs_script(c, p) for c in names.get(p.rpartition("/")[2], ()))]


def runs_pytest(call: Called) -> bool:
    """Whether a command runs pytest (or unittest)."""
    return call.command.program.rpartition("/")[2] in ("pytest", "py.test") or call.command.target in (
        "pytest",
        "unittest",
        "nose2",
    )
