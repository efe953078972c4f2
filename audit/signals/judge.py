"""Whether a language model scores outputs of an experiment."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.python.model import PythonFacts
from audit.signals.graph import Node
from audit.signals.literals import uses
from audit.signals.queries import asks, generates, is_engine, querying_files
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath

_EVIDENCE = 6
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_JUDGE = frozenset(
    "judge judges judged judging judgment judgement judgments judgements grader graders autograder autorater referee".split()
)
# Part of every name that can speak of a judge: cheaper to look for than words are to tell apart.
_OUTLINE = re.compile("judg|grader|autorater|referee|grading|review", re.IGNORECASE)
_MODEL = frozenset("model models llm llms sampler client engine lm name gpt gpt4 openai api".split())
_LLM = frozenset("gpt chatgpt llm claude openai".split())
# Functions and classes of libraries that let a model score.
_LIBRARY = re.compile(
    r"(?:inspect_ai(?:\.\w+)*\.)?model_graded_(?:qa|fact)|(?:deepeval|ragas|trulens\w*|autoevals|prometheus_eval|judges|phoenix\.evals|langchain\.evaluation|langsmith\.evaluation|openevals)(?:\.\w+)*"
    r"|(?:.*\.)?(?:JudgeLM|JudgeLLM\w*|OpenAIPairwiseJudge|HfPairwiseJudge|PrometheusEval|GEval|LLMJudge|LLMAsJudge)"
)
_CONFIG_FOLDER = re.compile(r"(?i)(?:^|[/_])(?:judges?|annotators?|evaluators?|graders?)(?:[/_.]|$)")


def judge(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether a judge is run: code named as one that reaches a model, an option that names its model, a library's judge.

    Reward models, labelling of data, simulated users and string comparison under that name are none.
    """
    found = list(dict.fromkeys(islice(_places(repository, path), 4 * _EVIDENCE)))
    return Signal(bool(found), tuple(found[:_EVIDENCE]))


def _places(repository: Repository, path: TrainingPath) -> Iterator[Place]:
    yield from _library_judges(repository)
    asking = querying_files(repository)
    local = any(is_engine(c) or generates(c, f) for f in repository.code.values() for c in f.calls)
    if not asking and not local:
        return
    yield from _judging_code(repository, path)
    if asking:
        yield from _judge_models(repository)
        yield from _judge_configs(repository)


def _library_judges(repository: Repository) -> Iterator[Place]:
    for file, facts in repository.code.items():
        for item in facts.imports:
            name = f"{item.module}.{item.name}" if item.name else item.module
            if (
                not item.module.startswith(".")
                and _LIBRARY.fullmatch(name)
                and not _own(repository, item.module)
            ):
                yield place(file, item.line, f"imports {name}")


def _own(repository: Repository, module: str) -> bool:
    head = module.partition(".")[0]
    return any(p.startswith((head + "/", f"src/{head}/")) for p in repository.paths)


@lru_cache(maxsize=50_000)
def words(name: str) -> frozenset[str]:
    """The words of an identifier or path, in lower case."""
    return frozenset(word.lower() for word in _WORDS.findall(name))


def _names_judge(name: str) -> bool:
    if _OUTLINE.search(name) is None:
        return False
    parts = words(name)
    return bool(parts & _JUDGE) or (bool(parts & {"review", "reviewer"}) and bool(parts & _LLM))


def _judging_code(repository: Repository, path: TrainingPath) -> Iterator[Place]:
    """Scopes and files named after judging from which a model is asked."""
    named: dict[str, tuple[Place, list[Node]]] = {}
    for file, facts in repository.code.items():
        stem = file.rpartition("/")[2].removesuffix(".py")
        whole = _names_judge(stem)
        starts = [
            index
            for index, scope in enumerate(facts.scopes)
            if whole or (scope.kind in ("class", "function") and _names_judge(scope.name))
        ]
        if starts:
            first = facts.scopes[starts[0]]
            nodes = _with_children(file, facts, starts)
            named[file] = place(file, max(1, first.line), first.name or stem), nodes
    everything = path.graph.reach(node for _, nodes in named.values() for node in nodes)
    if _asked(path, everything) is None:
        return
    for where, nodes in named.values():
        asked = _asked(path, path.graph.reach(nodes))
        if asked is not None:
            yield where
            yield asked


def _asked(path: TrainingPath, nodes: frozenset[Node]) -> Place | None:
    """Where the first of these scopes asks a model behind an API."""
    for file, index in sorted(nodes):
        for call in path.graph.python[file].calls:
            if call.scope == index and asks(call.name):
                return place(file, call.line, f"asks a model: {call.name}")
    return None


def _with_children(file: str, facts: PythonFacts, starts: list[int]) -> list[Node]:
    chosen = set(starts)
    for index, scope in enumerate(facts.scopes):
        if scope.parent in chosen:
            chosen.add(index)
    return [(file, index) for index in sorted(chosen)]


def _judge_models(repository: Repository) -> Iterator[Place]:
    """Options, parameters and arguments that say which model judges."""
    for file, facts in repository.code.items():
        for call in facts.calls:
            named = call.args[0] if call.name.endswith("add_argument") and call.args else ""
            if _names_model(named) and call.kwargs.get("default", "None") not in ("None", "''"):
                yield place(file, call.line, named)
            for word, value in call.kwargs.items():
                if _names_model(word) and value not in ("None", "False"):
                    yield place(file, call.line, f"{word}={value}")
        for scope in facts.scopes:
            for ref in scope.refs:
                if _names_model(ref.rpartition(".")[2]):
                    yield place(file, max(1, scope.line), f"{scope.name or file}: {ref}")
            for param in scope.params:
                if _names_model(param.name) and param.default not in ("None", "''"):
                    yield place(file, param.line, param.name)
        for assign in facts.assigns:
            if (
                _names_model(assign.target)
                and assign.value not in ("None", "''", "")
                and assign.value[0] in "'\""
            ):
                yield place(file, assign.line, f"{assign.target} = {assign.value}")


def _names_model(name: str) -> bool:
    if _OUTLINE.search(name) is None:
        return False
    parts = words(name)
    return bool(parts & (_JUDGE | {"grading"})) and bool(parts & _MODEL)


def _judge_configs(repository: Repository) -> Iterator[Place]:
    """Configurations of judges that name a model behind an API."""
    for use in uses(repository):
        if (
            use.kind == "api"
            and use.how == "setting"
            and (_CONFIG_FOLDER.search(use.path) or words(use.name) & _JUDGE)
        ):
            yield place(use.path, use.line, f"{use.name}: {use.value}")
