"""Which profiles a repository holds: from code paths and configurations, never from a document's keywords.

Confidence: high, a main purpose with a code path of its own; medium, real but secondary; low, one script, option or entry.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any

import msgspec

from audit.documents.place import Place
from audit.documents.report import DetectedProfile
from audit.documents.signals import Signal, Signals
from audit.facts.python.model import PythonFacts
from audit.profiles.definitions import Detection, Profile, profiles
from audit.signals.graph import Node
from audit.signals.methods import LLM_HEADS
from audit.signals.queries import asks, generates, imported_heads, is_engine
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath

_EVIDENCE = 4
_MAX_ENTRIES = 60
_LEVELS = ("low", "medium", "high")
_GENERATORS = frozenset(
    {"generate", "generate_text", "stream_generate", "generate_stream", "batched_generate_fn", "generate_fn"}
)
_TENSORS = frozenset({"torch", "jax", "tensorflow", "mlx", "flax", "lightning"})
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
Answer = tuple[str, list[Place]] | None


def detect(
    repository: Repository,
    path: TrainingPath,
    signals: Signals | Mapping[str, Signal[Any]],
    known: Mapping[str, Profile] | None = None,
) -> tuple[DetectedProfile, ...]:
    """The profiles that hold, in alphabetical order, each with its confidence and the best places. `known`: all that there are (the shipped ones)."""
    view = _View(repository, path, signals)
    found = []
    for name, profile in sorted((profiles() if known is None else known).items()):
        detector = _DETECTORS.get(profile.detection.by)
        answer = detector(view, profile.detection) if detector else None
        if answer:
            found.append(DetectedProfile(name, answer[0], tuple(dict.fromkeys(answer[1]))[:_EVIDENCE]))
    return tuple(found)


class _View:
    """The repository and what several detectors ask about it."""

    def __init__(
        self, repository: Repository, path: TrainingPath, signals: Signals | Mapping[str, Signal[Any]]
    ) -> None:
        self.repository, self.path, self.signals = repository, path, signals

    def signal(self, name: str) -> Signal[Any] | None:
        return self.signals.get(name) if isinstance(self.signals, Mapping) else self.signals.named(name)

    @cached_property
    def training(self) -> frozenset[Node]:
        """Scopes that run in training; nothing where nothing trains."""
        return self.path.reached.nodes if self.path.training else frozenset()

    @cached_property
    def queries(self) -> dict[str, list[Place]]:
        """Calls of models behind an API, by file."""
        return self._calls(lambda call, facts: asks(call.name))

    @cached_property
    def generation(self) -> dict[str, list[Place]]:
        """Calls that generate with a model in the process, training apart, by file."""
        found = self._calls(lambda call, facts: is_engine(call) or generates(call, facts), self.training)
        for file, facts in self.repository.code.items():
            with_tensors = {item.scope for item in facts.imports if item.module.partition(".")[0] in _TENSORS}
            for index, scope in enumerate(facts.scopes):
                # A file that needs tensors in some other function alone generates something else.
                if scope.kind == "function" and scope.name in _GENERATORS and with_tensors & {0, index}:
                    found.setdefault(file, []).append(place(file, scope.line, f"defines {scope.name}()"))
        return found

    @cached_property
    def speaks(self) -> bool:
        """Whether a language model is run or asked anywhere."""
        return bool(self.queries or self.generation) or any(
            generates(c, f) for f in self.repository.code.values() for c in f.calls
        )

    def _calls(
        self, wanted: Callable[[Any, PythonFacts], bool], apart: frozenset[Node] = frozenset()
    ) -> dict[str, list[Place]]:
        found: dict[str, list[Place]] = defaultdict(list)
        for file, facts in self.repository.code.items():
            for call in facts.calls:
                if (file, call.scope) not in apart and wanted(call, facts):
                    found[file].append(place(file, call.line, call.name))
        return dict(found)


# Training ----------------------------------------------------------------------------------------------------------


def _loop(view: _View, _: Detection) -> Answer:
    kind, places = view.path.primary_loop
    if kind == "none":
        return None
    documented = any(entry.documented for entry in view.path.training)
    return ("high" if documented or len(view.path.training) > 1 else "medium"), list(places)


def _finetuning(view: _View, _: Detection) -> Answer:
    """A training loop in whose reach a language model is loaded or built; else recipes for a trainer that is derived here."""
    loops = [
        loop for loop in view.path.all_loops if loop.kind in ("hf_trainer", "raw_torch", "lightning", "jax")
    ]
    if not loops:
        return _recipes(view)
    heads = frozenset[str]().union(
        *(imported_heads(view.path.graph.python[file]) for file in view.path.reached.scopes)
    )
    if not heads & LLM_HEADS:
        return None
    strong = [entry for entry in view.path.training if entry.documented or _TRAINS.search(entry.path)]
    places = [place(loop.node[0], loop.line, loop.kind) for loop in loops]
    return ("high" if strong else "medium"), places


def _recipes(view: _View) -> Answer:
    """Configurations that name a model and a learning rate, beside classes derived from a library's trainer."""
    derived = [
        place(file, scope.line, scope.name)
        for file, facts in view.repository.code.items()
        for scope in facts.scopes
        if scope.kind == "class" and any(_TRAINER_BASE.fullmatch(base) for base in scope.bases)
    ]
    if not derived:
        return None
    recipes = [
        place(file, 1, "recipe")
        for file, config in view.repository.configs.items()
        if {"learning_rate", "lr"} & (keys := {setting.key.rpartition(".")[2] for setting in config.settings})
        and {"base_model", "model_name_or_path", "model_name"} & keys
    ]
    return ("high", [*derived, *recipes[:2]]) if recipes else None


_TRAINER_BASE = re.compile(r"(?:transformers|trl)(?:\.\w+)*\.\w*Trainer")
_TRAINS = re.compile(r"(?i)train|finetun|fine_tun|sft|dpo|ppo|grpo|lora|distill")


def _environment(view: _View, _: Detection) -> Answer:
    loops = [loop for loop in view.path.all_loops if loop.kind == "rl"]
    if not loops:
        return None
    main = view.path.primary_loop[0] == "rl"
    return ("high" if main else "low"), [place(loop.node[0], loop.line, "rl") for loop in loops]


def _tables(view: _View, _: Detection) -> Answer:
    loops = [loop for loop in view.path.all_loops if loop.kind == "sklearn"]
    if not loops:
        return None
    main = view.path.primary_loop[0] == "sklearn"
    return ("high" if main else "low"), [place(loop.node[0], loop.line, "sklearn") for loop in loops]


# Generation and judging ---------------------------------------------------------------------------------------------

_SERVES = re.compile(
    r"(?i)(?:^|[/_])(?:serve|serving|server|worker|inference|infer|generate|generation|chat|deploy|api|cli|engine|predict|run)\w*(?:[/.]|$)"
)


def _generation(view: _View, _: Detection) -> Answer:
    local = {file: places for file, places in view.generation.items() if not _DATA_MAKING.search(file)}
    places = [where for found in local.values() for where in found[:1]]
    serving = [file for file in local if _SERVES.search(file)]
    if len(serving) >= 2 and len(local) >= 3 and len(local) / max(1, len(view.repository.code)) > 0.02:
        return "high", places
    if len(local) >= 2:
        return "medium", places
    if local or view.queries:
        return "low", places or [where for found in view.queries.values() for where in found[:1]]
    return None


_DATA_MAKING = re.compile(r"(?i)(?:^|/)(?:data|datasets?|data_creation|scripts/data)/")


def _judging(view: _View, _: Detection) -> Answer:
    signal = view.signal("judge")
    if signal is None or not signal.value:
        return None
    places = list(signal.evidence)
    files = {where.path for where in places}
    if len(files) < 3 and len(view.repository.code) > 100 * len(files):
        return "low", places
    return "high", places


# Names ---------------------------------------------------------------------------------------------------------------


class _Hit(msgspec.Struct, frozen=True):
    """A name or library that speaks for a profile, and how loudly."""

    weight: int
    where: Place
    anchor: bool = False
    node: Node | None = None


def _names(view: _View, detection: Detection) -> Answer:
    if detection.needs == "language_model" and not view.speaks:
        return None
    hits = [*_by_import(view, detection), *_by_name(view, detection)]
    if not hits:
        return None
    hits.sort(key=lambda hit: (-hit.weight, hit.where))
    files = {hit.where.path for hit in hits}
    weight = sum(max(hit.weight for hit in hits if hit.where.path == file) for file in files)
    if weight < 2 and detection.needs:
        return None  # beside a model, one function's name is a word, not a purpose
    share = len(files) / max(1, len(view.repository.code))
    level = 2 if weight >= 5 and len(files) >= 2 and share > 0.02 else 1 if weight >= 3 else 0
    if detection.anchors and level and not any(hit.anchor for hit in hits) and not _reaches_model(view, hits):
        level = 0
    return _LEVELS[level], [hit.where for hit in hits]


def _reaches_model(view: _View, hits: list[_Hit]) -> bool:
    """Whether one entry point reaches both: code named after the purpose, and a model that is asked or generates."""
    named = {hit.node for hit in hits if hit.node}
    asking = {
        (file, call.scope)
        for file, facts in view.repository.code.items()
        for call in facts.calls
        if asks(call.name) or is_engine(call) or generates(call, facts)
    }
    for entry in view.path.entries[:_MAX_ENTRIES]:
        reached = view.path.graph.reach(entry.starts)
        if reached & named and reached & asking:
            return True
    return False


def _by_import(view: _View, detection: Detection) -> Iterator[_Hit]:
    own = {file.removeprefix("src/").partition("/")[0].removesuffix(".py") for file in view.repository.code}
    for file, facts in view.repository.code.items():
        for item in facts.imports:
            names = {item.module.partition(".")[0], item.module, f"{item.module}.{item.name}"}
            if not item.module.startswith(".") and names & detection.imports and not names & own:
                yield _Hit(3, place(file, item.line, f"imports {item.module}"), anchor=True)
                break
            if item.module.partition(".")[0] in detection.helpers:
                yield _Hit(1, place(file, item.line, f"imports {item.module}"))
                break


def _by_name(view: _View, detection: Detection) -> Iterator[_Hit]:
    wanted, ignored = _pattern(detection.words), _pattern(detection.ignore)

    def speaks(name: str) -> bool:
        text = _spoken(name)
        return bool(wanted.search(text)) and not (detection.ignore and ignored.search(text))

    for file, facts in view.repository.code.items():
        acts = detection.tools and _offers_tools(facts)
        folder, _, stem = file.rpartition("/")
        if speaks(stem.removesuffix(".py")) or speaks(folder.rpartition("/")[2]):
            yield _Hit(3 if acts else 2, place(file, 1, "named after it"), anchor=acts)
        for index, scope in enumerate(facts.scopes):
            if scope.kind in ("function", "class") and speaks(scope.name):
                weight = 3 if acts else 2 if scope.kind == "class" else 1
                yield _Hit(weight, place(file, scope.line, scope.name), acts, (file, index))


@cache
def _pattern(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(" (?:" + "|".join(map(re.escape, phrases)) + ") ")


@lru_cache(maxsize=50_000)
def _spoken(name: str) -> str:
    """The words of a name, in lower case and between blanks."""
    return " " + " ".join(_WORDS.findall(name)).lower() + " "


def _offers_tools(facts: PythonFacts) -> bool:
    """Whether a model is asked with tools that it may call."""
    return any(
        asks(call.name) and (call.kwargs.keys() & {"tools", "functions", "tool_choice"})
        for call in facts.calls
    )


_DETECTORS: dict[str, Callable[[_View, Detection], Answer]] = {
    "loop": _loop,
    "training": _finetuning,
    "environment": _environment,
    "tables": _tables,
    "generation": _generation,
    "judge": _judging,
    "names": _names,
}
