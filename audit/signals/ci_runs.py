"""Which CI commands run tests, or the repository's own code from end to end."""

import posixpath
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final

from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_example_path, is_vendored_path
from audit.facts.model import CiStep, Command, DependencyFacts, ScriptFacts
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath, resolve_target

_RUNNERS: Final = frozenset(
    {
        "pytest",
        "py.test",
        "nosetests",
        "nose2",
        "unittest",
        "xdoctest",
        "behave",
        "ctest",
        "bats",
        "green",
        "stestr",
    }
)
_RUNNER_MODULES: Final = frozenset(
    {"pytest", "unittest", "nose", "nose2", "xdoctest", "doctest", "torch.testing._internal"}
)
# Programs whose first argument names a task of the project.
_TASKS: Final = frozenset(
    {
        "make",
        "gmake",
        "just",
        "invoke",
        "inv",
        "poe",
        "task",
        "doit",
        "pixi",
        "hatch",
        "pdm",
        "rye",
        "poetry",
        "nox",
        "tox",
        "bazel",
        "cargo",
        "go",
    }
)
_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh", "source", "."})
# Asking only, or a plugin that checks something else than the code's behaviour.
_ASKS_ONLY: Final = frozenset(
    {
        "--collect-only",
        "--co",
        "--version",
        "--help",
        "-h",
        "--fixtures",
        "--markers",
        "--list",
        "--check-links",
        "--flake8",
        "--pylint",
        "--codestyle",
    }
)
_TEST_WORDS: Final = frozenset(
    {
        "test",
        "tests",
        "testing",
        "unittest",
        "unittests",
        "pytest",
        "smoke",
        "e2e",
        "integration",
        "coverage",
        "cov",
        "doctest",
        "citest",
    }
)
_OTHER_WORDS: Final = frozenset(
    "lint style format fmt type types typing typecheck mypy doc docs build install deps dependencies requirements data download clean image env setup report"
    " upload".split()
)
_TEST_ACTION: Final = re.compile(
    r"(?i)(?:^|[/_-])(?:run[_-])?(?:py|unit[_-]?)?tests?(?:$|[/_.@-])|run-pytest"
)
_REPORT_ACTION: Final = re.compile(
    r"(?i)report|publish|result|comment|summary|upload|setup|badge|test-infra/\.github/actions|collect"
)
_TOOL_FOLDERS: Final = frozenset(
    {
        "ci",
        ".ci",
        ".github",
        ".circleci",
        "docs",
        "doc",
        "tools",
        "utils",
        "scripts",
        "dev",
        "release",
        "packaging",
    }
)
_RUN_NAMES: Final = re.compile(
    r"(?:^|[_/-])(?:eval\w*|infer\w*|predict\w*|generate|detect|sample|demo|main|run|benchmark\w*|smoke\w*|segment\w*|classify)(?:[_.-]|$)"
)
_TEST_FILE: Final = re.compile(r"test_\w+\.py|\w+_tests?\.py|(?:run_?)?(?:all_?)?(?:unit_?)?tests?\w*\.py")
_DEPTH: Final = 5


class CiRuns:
    """Looks through the commands of every CI job, into the scripts, Makefiles, tox and nox sessions that they call."""

    def __init__(self, repository: Repository, path: TrainingPath) -> None:
        self.repository = repository
        self.path = path
        self._scripts = dict(repository.bodies(ScriptFacts))
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for script in sorted(self._scripts):
            self._by_name[posixpath.basename(script)].append(script)
        self._known: dict[tuple[str, str], bool] = {}
        self._rules: dict[str, dict[str, list[tuple[tuple[str, ...], list[Command]]]]] = {}

    def places(self) -> tuple[Place, ...]:
        """The steps that run tests, then those that run the code itself; each with the command."""
        found: list[tuple[bool, Place]] = []
        for path, facts in self.repository.ci.items():
            if _is_session_file(path):
                continue
            for step in (step for job in facts.jobs for step in job.steps):
                if hit := self._step(path, step):
                    found.append((not _means_test([hit.note]), hit))
        return tuple(dict.fromkeys(hit for _, hit in sorted(found)))

    def _step(self, path: str, step: CiStep) -> Place | None:
        if step.uses and _runs_elsewhere(step.uses):
            return place(path, step.line, step.uses)
        return next((place(path, c.line, c.text) for c in step.commands if self.runs(c, path)), None)

    def runs(self, command: Command, origin: str, depth: int = 0) -> bool:
        """Whether a command of the file `origin` runs tests or the repository's own code."""
        if depth > _DEPTH or any(flag.name in _ASKS_ONLY for flag in command.flags) or _in_vendored(command):
            return False
        program = command.program.rpartition("/")[2].lower()
        if program in _RUNNERS or (command.module and command.target.partition(".")[0] in _RUNNER_MODULES):
            return True
        if command.module and command.target in ("tox", "nox"):
            return self._task(command.target, command, depth)
        if program.startswith("$"):
            return _stands_for_runner(program, command.args)
        if program in _TASKS:
            return self._task(program, command, depth)
        if program in _SHELLS:
            return self._script(command, origin, depth)
        if program == "dvc":
            return command.args[:1] == ("repro",) or command.args[:2] == ("exp", "run")
        if program in ("papermill", "mlflow", "treon") or (
            program == "jupyter" and any(f.name == "--execute" for f in command.flags)
        ):
            return program != "mlflow" or command.args[:1] == ("run",)
        if program in ("docker", "docker-compose"):
            return "run" in command.args and _means_test(command.args)
        return self._own_code(command, origin)

    # Scripts and tasks --------------------------------------------------------------------------------------------

    def _script(self, command: Command, origin: str, depth: int) -> bool:
        path = self._find(command.target, origin)
        if path is None:
            return False
        return self._once((path, ""), lambda: self._any(self._scripts[path].commands, path, depth))

    def _any(self, commands: Iterable[Command], origin: str, depth: int) -> bool:
        return any(self.runs(command, origin, depth + 1) for command in commands)

    def _once(self, key: tuple[str, str], answer: Callable[[], bool]) -> bool:
        """The answer for a script or rule, found once; what calls itself adds nothing to it."""
        if key not in self._known:
            self._known[key] = False
            self._known[key] = answer()
        return self._known[key]

    def _task(self, program: str, command: Command, depth: int) -> bool:
        if program == "tox":
            return self._session(
                "tox.ini", [f.value for f in command.flags if f.name == "-e"] or list(command.args), depth
            )
        if program == "nox":
            return self._session(
                "noxfile.py",
                [f.value for f in command.flags if f.name in ("-s", "--session", "--sessions")],
                depth,
            )
        if program in ("make", "gmake"):
            return self._make(command, depth)
        return _means_test(command.args[:2])

    def _make(self, command: Command, depth: int) -> bool:
        folder = next((f.value for f in command.flags if f.name in ("-C", "--directory")), "")
        path = next(
            (
                p
                for name in ("Makefile", "makefile", "GNUmakefile")
                if (p := posixpath.join(folder, name)) in self._scripts
            ),
            None,
        )
        targets = [arg for arg in command.args if "=" not in arg]
        if path is None:
            return _means_test(targets)
        return any(self._rule(path, target, depth) for target in targets or self._first_rule(path))

    def _first_rule(self, path: str) -> list[str]:
        return [name for name, _, _ in self._scripts[path].rules if not name.startswith(".")][:1]

    def _rule(self, path: str, target: str, depth: int) -> bool:
        """Whether a rule of a Makefile, or one that it needs, runs tests."""
        if depth > _DEPTH:
            return False
        return self._once((path, target), lambda: self._rule_runs(path, target, depth))

    def _rule_runs(self, path: str, target: str, depth: int) -> bool:
        for needs, commands in self._recipes(path).get(target, ()):
            if self._any(commands, path, depth) or any(self._rule(path, need, depth + 1) for need in needs):
                return True
        return False

    def _recipes(self, path: str) -> dict[str, list[tuple[tuple[str, ...], list[Command]]]]:
        """A Makefile's rules by target: (prerequisites, commands)."""
        if path not in self._rules:
            script = self._scripts[path]
            starts = sorted({line for _, _, line in script.rules})
            by_start: dict[int, list[Command]] = defaultdict(list)
            for command in script.commands:
                at = bisect_right(starts, command.line)
                by_start[starts[at - 1] if at else 0].append(command)
            rules: dict[str, list[tuple[tuple[str, ...], list[Command]]]] = defaultdict(list)
            for name, needs, line in script.rules:
                rules[name].append((needs, by_start[line]))
            self._rules[path] = dict(rules)
        return self._rules[path]

    def _session(self, file: str, names: list[str], depth: int) -> bool:
        """Whether the sessions `names` of tox or nox run tests; without a name all of them."""
        wanted = [part for name in names for part in re.split(r"[,\s]+", name) if part]
        facts = self.repository.ci.get(file)
        if facts is None or not facts.jobs:
            return (
                not wanted
                or _means_test(wanted)
                or any(re.fullmatch(r"py\d*(-.*)?", name) for name in wanted)
            )
        chosen = [
            job for job in facts.jobs if not wanted or any(_same_session(name, job.name) for name in wanted)
        ]
        return any(
            self.runs(c, file, depth + 1) for job in chosen for step in job.steps for c in step.commands
        )

    def _find(self, target: str, origin: str) -> str | None:
        """The script that a path means: from the root, from the folder of the file that says it, or by its end."""
        target = target.lstrip("./")
        if not target:
            return None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        for candidate in (target, beside):
            if candidate in self._scripts:
                return candidate
        alike = self._by_name.get(posixpath.basename(target), ())
        return next((path for path in alike if path.endswith("/" + target)), None)

    # The repository's own code --------------------------------------------------------------------------------------

    def _own_code(self, command: Command, origin: str) -> bool:
        if not command.target:
            return command.program in self._console_scripts and bool(command.flags or command.args)
        if posixpath.basename(command.target) == "setup.py":
            return "test" in command.args or "pytest" in command.args
        return any(
            self._is_run(path)
            for path in resolve_target(self.repository, self.path.graph, command, origin)[:3]
        ) or any(_is_test_script(path) for path in (command.target,) if path in self.repository.python)

    def _is_run(self, path: str) -> bool:
        """Whether running the file exercises the experiment: a test, a training script, an example, an evaluation."""
        if self.repository.is_vendored(path):
            return False
        if _is_test_script(path) or path in self._training:
            return True
        if is_docs_path(path) or path.startswith(".") or path.partition("/")[0] in _TOOL_FOLDERS:
            return False
        return is_example_path(path) or _RUN_NAMES.search("/" + path.rpartition("/")[2]) is not None

    @cached_property
    def _training(self) -> frozenset[str]:
        return frozenset(entry.path for entry in self.path.training)

    @cached_property
    def _console_scripts(self) -> frozenset[str]:
        found = (
            body.scripts for path, body in self.repository.bodies(DependencyFacts) if path.count("/") <= 1
        )
        return frozenset(name for scripts in found for name in scripts)


def _stands_for_runner(variable: str, args: tuple[str, ...]) -> bool:
    """`$(PYTEST) tests`, `$(RUN) pytest`, `$(POETRY) run pytest`: what the variable holds is not known here."""
    behind = args[1:2] if args[:1] == ("run",) else args[:1]
    return "pytest" in variable or bool(_RUNNERS.intersection(behind))


def _is_session_file(path: str) -> bool:
    """tox and nox are called by CI; their files start nothing by themselves."""
    return path.rpartition("/")[2] in ("tox.ini", "noxfile.py")


def _is_test_script(path: str) -> bool:
    """A test by its name; a helper that lies among the tests (`check_license.py`) is none."""
    return _TEST_FILE.fullmatch(path.rpartition("/")[2]) is not None


def _runs_elsewhere(uses: str) -> bool:
    """An action or a workflow of another repository that is said to test."""
    name = uses.partition("@")[0]
    return (
        not name.startswith("./")
        and _TEST_ACTION.search(name) is not None
        and _REPORT_ACTION.search(name) is None
    )


def _means_test(names: Iterable[str]) -> bool:
    words = {word for name in names for word in re.split(r"[^a-z0-9]+", name.lower())}
    return bool(words & _TEST_WORDS) and not words & _OTHER_WORDS


def _same_session(name: str, job: str) -> bool:
    """`py310-torch2` of the command line is an instance of `testenv`; `lint` is that environment alone."""
    if name == job or name.partition("-")[0] == job.partition("-")[0]:
        return True
    return job in ("testenv", "test") and name.startswith("py")


def _in_vendored(command: Command) -> bool:
    paths = [command.target, *command.args]
    return any(
        is_vendored_path(path.rstrip("/") + "/x")
        for path in paths
        if "/" in path or (path and path == command.target)
    )
