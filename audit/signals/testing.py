"""Whether the repository tests and measures itself."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from audit.documents.signals import Signal
from audit.facts.classify import is_docs_path, is_test_path
from audit.facts.python.model import PythonFacts, Scope
from audit.signals.ci_runs import CiRuns
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath

# What pytest collects by default, and unittest's discovery.
_COLLECTED: Final = re.compile(r"test_.*\.py|.*_tests?\.py|tests?\.py")
_CASES: Final = re.compile(r"(.*\.)?\w*(?:Test|Tests|TestCase|TestBase|TesterMixin)")
# Fixtures of pytest itself and of plugins that many have installed.
_FIXTURES: Final = frozenset(
    """
    tmp_path tmpdir tmp_path_factory tmpdir_factory monkeypatch capsys capfd caplog request recwarn pytestconfig cache testdir pytester doctest_namespace
    mocker benchmark event_loop httpx_mock requests_mock responses snapshot data_regression num_regression file_regression faker client subtests
    record_property record_xml_attribute worker_id respx_mock aiohttp_client
    """.split()
)

# Decorators that hand a test its arguments.
_FILLING: Final = ("parametrize", "given", "patch", "params", "expand")

_BENCH_WORDS: Final = frozenset(
    {"benchmark", "benchmarks", "benchmarking", "bench", "benches", "microbenchmark", "microbenchmarks"}
)
# "bench" in the name of a collection of tasks that models are evaluated on: that is no benchmark of the repository.
_TASK_COLLECTIONS: Final = frozenset(
    """mt tau tau2 swe big bigger live long wild agent agents safety harm math code gui web os jailbreak legal med medical vl mm mmt arena
    fin sci bbq spider tool llm rag judge reward vision video chart doc truth ops data edit eq ie cmmlu cmt c""".split()
)
_SPEED: Final = re.compile(
    r"(?:^|_)(?:inference_(?:time|speed)|train(?:ing)?_speed|speed_?test|speed_(?:comparison|benchmark)|perf_?test|"
    r"(?:measure|test|eval|compute|get|profile|compare)_(?:inference_)?(?:speed|fps|latency|throughput|runtime))(?:_|$)"
)
_WORTH_A_LOOK: Final = re.compile(r"bench|asv\.conf|speed|throughput|latency|perf|inference.time|fps|runtime")
_BARE_SPEED: Final = re.compile(r"(?:^|_)(?:throughput|latency)(?:_|$)")
# Folders in which the word means a set of data or tasks, and a verb that makes one.
_TASK_FOLDERS: Final = frozenset(
    {"data", "dataset", "datasets", "tasks", "task", "envs", "environments", "config", "configs", "conf"}
)
_MAKES_TASKS: Final = frozenset(
    {
        "build",
        "create",
        "make",
        "prepare",
        "download",
        "convert",
        "construct",
        "collect",
        "load",
        "preprocess",
    }
)
_CODE: Final = frozenset(
    {"py", "sh", "bash", "ipynb", "cu", "cc", "cpp", "cxx", "c", "rs", "jl", "slurm", "lua", "r"}
)


def tests(repository: Repository) -> Signal[bool]:
    """Whether a test of the repository's own code can be run: a test function or case that pytest or unittest collects.

    `test.py` in research code evaluates a model, and `tasks_test.py` may be a data split: what counts is what the file defines.
    """
    fixtures = _fixtures(repository)
    found = []
    for path, facts in repository.python.items():
        line = next(_test_lines(path, facts, fixtures), None)
        if line is not None:
            found.append((path.count("/"), path, line))
    return Signal(bool(found), tuple(place(path, line) for _, path, line in sorted(found)[:2]))


def ci_tests(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether a CI job runs tests or the code end to end."""
    found = CiRuns(repository, path).places()
    return Signal(bool(found), found[:2])


def benchmarks(repository: Repository) -> Signal[bool]:
    """Whether the repository measures itself: speed, memory or learning curves, by scripts or in a folder of benchmarks."""
    found = [
        (rank, path, line)
        for path in repository.paths
        if (rank := _benchmark_rank(path, repository))
        for line in (1,)
    ]
    found += [(3, path, line) for path, line in _measuring_code(repository)]
    chosen = list(dict.fromkeys((path, line) for _, path, line in sorted(found)))
    return Signal(bool(found), tuple(place(path, line) for path, line in chosen[:2]))


# Tests ------------------------------------------------------------------------------------------------------------


def _fixtures(repository: Repository) -> frozenset[str]:
    """Names that the repository's own fixtures provide to test functions."""
    found = set(_FIXTURES)
    for facts in repository.python.values():
        for scope in facts.scopes:
            if not scope.decorators:
                continue
            if scope.kind == "function" and any("fixture" in decorator for decorator in scope.decorators):
                found.add(scope.name)
                found.update(re.findall(r"name='(\w+)'", " ".join(scope.decorators)))
    return frozenset(found)


def _test_lines(path: str, facts: PythonFacts, fixtures: frozenset[str]) -> Iterator[int]:
    """Lines of the tests that a runner would collect from a file."""
    collected = _COLLECTED.fullmatch(path.rpartition("/")[2].lower()) is not None
    if not collected and not is_test_path(path):
        return
    for scope in facts.scopes:
        if scope.kind != "function" or not scope.name.startswith("test"):
            continue
        around = facts.scopes[scope.parent]
        if around.kind == "class":
            if _is_case(around) or (
                collected and around.name.startswith("Test") and scope.name.startswith("test_")
            ):
                yield scope.line
        elif collected and around.kind == "module" and _is_test_function(scope, facts, path, fixtures):
            yield scope.line


def _is_case(scope: Scope) -> bool:
    return any(_CASES.fullmatch(base.partition("[")[0]) for base in scope.bases)


def _is_test_function(scope: Scope, facts: PythonFacts, path: str, fixtures: frozenset[str]) -> bool:
    """A function whose every parameter pytest could fill in; `def test(args, model)` of an evaluation script has others."""
    folder, _, name = path.rpartition("/")
    if not _imports_a_runner(facts):
        # A script named for testing a model; of a file that was read tolerantly the parameters are not known.
        doubtful = scope.name == "test" or facts.parser != "ast"
        if name.lower() == "test.py" or (doubtful and not is_test_path(folder + "/x")):
            return False
    if any(word in decorator for decorator in scope.decorators for word in _FILLING):
        return True
    return all(
        param.default or param.name.startswith("*") or param.name in fixtures for param in scope.params
    )


def _imports_a_runner(facts: PythonFacts) -> bool:
    return any(
        item.module.partition(".")[0] in ("pytest", "unittest", "absl", "nose") for item in facts.imports
    )


# Benchmarks -------------------------------------------------------------------------------------------------------


def _benchmark_rank(path: str, repository: Repository) -> int:
    """How plainly a file is a benchmark: 1 by its own name, 2 by its folder's, 0 not at all."""
    path_lower = path.lower()
    if not _WORTH_A_LOOK.search(path_lower):
        return 0
    *folders, name = path_lower.split("/")
    stem, _, extension = name.rpartition(".")
    if name == "asv.conf.json":
        return 1
    if extension not in _CODE or stem == "__init__" or repository.is_vendored(path) or is_docs_path(path):
        return 0
    if not _TASK_FOLDERS.isdisjoint(folders):
        return 0
    if {"test", "tests"}.isdisjoint(folders) and (
        _is_bench_name(stem) or _is_speed_name(stem, path, repository)
    ):
        return 1
    return 2 if any(_is_benchmark_folder(folder) for folder in folders) else 0


@cache
def _is_benchmark_folder(folder: str) -> bool:
    words = _words(folder)
    measured = {"speed", "perf", "performance", "inference", "train", "training", "micro", "runtime"}
    return bool(words) and words[-1 if words[0] in measured else 0] in _BENCH_WORDS


@cache
def _is_bench_name(stem: str) -> bool:
    words = _words(stem)
    for index, word in enumerate(words):
        if word in _BENCH_WORDS:
            before = words[index - 1] if index else ""
            return before not in _TASK_COLLECTIONS and before not in _MAKES_TASKS
    return False


def _is_speed_name(stem: str, path: str, repository: Repository) -> bool:
    """A name that speaks of speed; one word alone (`latency.py`) only where the file is something to run."""
    plain = stem.replace("-", "_")
    if _SPEED.search(plain):
        return True
    facts = repository.python.get(path)
    runs = facts is not None and (facts.statements > 0 or any(scope.kind == "main" for scope in facts.scopes))
    return runs and _BARE_SPEED.search(plain) is not None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def _measuring_code(repository: Repository) -> Iterator[tuple[str, int]]:
    """Code that uses a library made for benchmarks, and tests that take pytest-benchmark's fixture."""
    for path, facts in repository.python.items():
        for item in facts.imports:
            if item.module.startswith("torch.utils") and f"{item.module}.{item.name}".startswith(
                "torch.utils.benchmark"
            ):
                yield path, item.line
        for scope in facts.scopes:
            if scope.name.startswith("test") and any(param.name == "benchmark" for param in scope.params):
                yield path, scope.line
            if scope.decorators and any("perf_report" in decorator for decorator in scope.decorators):
                yield path, scope.line
