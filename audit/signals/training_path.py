"""The training path: the code that runs when somebody trains (or, where nobody can, evaluates) with this repository."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property

import msgspec

from audit.documents.place import Place
from audit.facts.model import Command, DependencyFacts, DvcFacts
from audit.facts.python.model import Call, PythonFacts
from audit.signals.graph import CallGraph, Node, Reached
from audit.signals.instantiated import instantiations
from audit.signals.loops import ORDER, Loop, find_loops, primary
from audit.signals.repository import Repository

_TRAINS = re.compile(r"(train|finetun|fine_tun|pretrain|main|run|sft|dpo|ppo|grpo|learn|fit|distill)", re.I)
_DOES_NOT_TRAIN = re.compile(
    r"(^|[_/\-])(bench\w*|profil\w*|sampl\w*|generat\w*|infer\w*|demo\w*|convert\w*|export\w*|eval\w*|tests?|visuali\w*|plot\w*|"
    r"predict\w*|preprocess\w*|download\w*|deploy\w*|serve\w*|server|app|onnx\w*|upload\w*|merge\w*|quantize\w*|release\w*|docs?|conf|setup)(?=[_/.\-]|$)",
    re.I,
)
_TOOL = re.compile(
    r"(^|[_\-])(convert\w*|export\w*|demo\w*|visuali\w*|plot\w*|download\w*|upload\w*|preprocess\w*|release\w*)(?=[_.\-]|$)",
    re.I,
)
_EVALUATES = re.compile(
    r"(eval|benchmark|judge|score|test|metric|attack|inference|main|run|generate|predict)", re.I
)


_INSTANTIATES = frozenset(
    {"instantiate", "instantiate_from_config", "get_obj_from_str", "LightningCLI", "instantiate_class"}
)
_BUILD_FILES = ("setup.py", "conftest.py", "noxfile.py", "versioneer.py")
_NO_FACTS = PythonFacts()


class Entry(msgspec.Struct, frozen=True):
    """Something a person can run: a script, a console command. `documented`: a document, script or manifest names it."""

    path: str
    starts: tuple[Node, ...]
    documented: bool


class TrainingPath:
    """Entry points, the loops they reach, and all that runs on the way."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.graph = CallGraph(repository.code, _targets(repository))

    @cached_property
    def loops(self) -> dict[Node, list[Loop]]:
        """Every training loop in the repository's own code, by scope."""
        found: dict[Node, list[Loop]] = defaultdict(list)
        for loop in find_loops(self.repository.code, self.graph):
            found[loop.node].append(loop)
        return dict(found)

    @cached_property
    def commands(self) -> tuple[tuple[str, Command], ...]:
        """Every command of documents, scripts, Makefiles, CI, containers, with the file that says it."""
        return tuple(commands_of(self.repository))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entry points of the repository's own code."""
        documented = self._documented()
        imported = self._imported_files
        entries = []
        for path, facts in self.repository.code.items():
            mains = [(path, index) for index, scope in enumerate(facts.scopes) if scope.kind == "main"]
            if self._can_be_run(path, facts, bool(mains), path in documented, path in imported):
                entries.append(Entry(path, (*mains, (path, 0)), path in documented))
        return (*entries, *self._console_scripts())

    def _can_be_run(
        self, path: str, facts: PythonFacts, guarded: bool, documented: bool, imported: bool
    ) -> bool:
        """Whether a file is a script that a person runs, and not a module, a self-test in one, or a build file."""
        folder, _, name = path.rpartition("/")
        if name in _BUILD_FILES:
            return False
        if documented:
            return guarded or facts.statements > 0
        if guarded:
            return not imported or bool(_TRAINS.search(name))
        return facts.statements > 0 and not imported and folder not in self._libraries

    @cached_property
    def training(self) -> tuple[Entry, ...]:
        """The entry points that train."""
        able = [entry for entry in self.entries if self._nearest_loop(entry)]
        likely = [
            entry
            for entry in able
            if not _DOES_NOT_TRAIN.search(entry.path.rpartition("/")[2]) or _plainly_trains(entry.path)
        ]
        likely = [
            entry
            for entry in likely
            if not _DOES_NOT_TRAIN.search("/" + entry.path.rpartition("/")[0]) or entry.documented
        ] or likely
        chosen = likely or able
        return tuple(chosen)

    @cached_property
    def is_library(self) -> bool:
        """Whether the repository has loops for others to run and nothing that a person runs here."""
        return not self.entries and bool(self.loops)

    @cached_property
    def trains(self) -> bool:
        """Whether somebody trains with this code: through an entry point, or, with a library, through its functions."""
        return bool(self.training) or self.is_library

    @property
    def _library_nodes(self) -> frozenset[Node]:
        code = self.repository.code
        return frozenset((path, index) for path, facts in code.items() for index in range(len(facts.scopes)))

    @cached_property
    def evaluating(self) -> tuple[Entry, ...]:
        """The entry points that evaluate or generate; what counts where nothing trains."""
        able = [e for e in self.entries if not _TOOL.search(e.path.rpartition("/")[2])] or list(self.entries)
        named = [e for e in able if e.documented] or able
        return tuple([e for e in named if _EVALUATES.search(e.path)] or named)

    @cached_property
    def reached(self) -> Reached:
        """All that runs when somebody trains; where there is no training entry point, when somebody evaluates."""
        if self.is_library:
            return Reached(self.graph.python, self._library_nodes)
        chosen = (*self.training, *self._pipeline) if self.training else self.evaluating
        return Reached(self.graph.python, self.graph.reach(node for entry in chosen for node in entry.starts))

    @cached_property
    def calls(self) -> tuple[tuple[str, Call], ...]:
        """The calls that run when somebody trains, those that configuration files describe included."""
        called = list(self.reached.calls())
        if any(call.name.rpartition(".")[2] in _INSTANTIATES for _, call in called):
            called += instantiations(self.repository.configs)
        return tuple(called)

    def source(self, file: str) -> PythonFacts:
        """The facts of a Python file; none for a configuration file that a call came from."""
        return self.graph.python.get(file, _NO_FACTS)

    def heads(self, file: str) -> frozenset[str]:
        """The top-level names of what a file imports; asked once for every call, computed once for every file."""
        found = self._heads.get(file)
        if found is None:
            found = frozenset(item.module.partition(".")[0] for item in self.source(file).imports)
            self._heads[file] = found
        return found

    @cached_property
    def _heads(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _pipeline(self) -> tuple[Entry, ...]:
        """Stages of a DVC pipeline that a training stage is part of: they run as one, with one set of parameters."""
        stages: set[str] = set()
        for origin, body in self.repository.bodies(DvcFacts):
            targets = {
                t for c in body.commands for t in resolve_target(self.repository, self.graph, c, origin)
            }
            if targets & {entry.path for entry in self.training}:
                stages |= targets
        return tuple(entry for entry in self.entries if entry.path in stages)

    @cached_property
    def primary_loop(self) -> tuple[str, tuple[Place, ...]]:
        """The kind of loop that most training entry points end in, with its places; ("none", ()) where nothing trains."""
        votes: Counter[str] = Counter()
        places: dict[str, list[Place]] = defaultdict(list)
        for entry in self.training:
            node = self._nearest_loop(entry)
            if node is None:
                continue
            kinds = {
                loop.kind: Place(node[0], loop.line, "training loop") for loop in reversed(self.loops[node])
            }
            kind = primary(kinds)
            votes[kind] += (3 if entry.documented else 1) + (4 if _plainly_trains(entry.path) else 0)
            places[kind].append(kinds[kind])
        if not votes:
            return "none", ()
        best = max(votes, key=lambda kind: (votes[kind], -ORDER.index(kind)))
        return best, tuple(dict.fromkeys(places[best]))[:4]

    @cached_property
    def all_loops(self) -> tuple[Loop, ...]:
        """The loops on the training path."""
        if not self.trains:
            return ()
        return tuple(
            loop for node in sorted(self.reached.nodes & self.loops.keys()) for loop in self.loops[node]
        )

    def _nearest_loop(self, entry: Entry) -> Node | None:
        """The scope with a training loop that the entry point reaches first."""
        if entry not in self._nearest:
            walk = self.graph.walk(entry.starts) if self.loops else iter(())
            self._nearest[entry] = next((node for node in walk if node in self.loops), None)
        return self._nearest[entry]

    @cached_property
    def _nearest(self) -> dict[Entry, Node | None]:
        return {}

    @cached_property
    def _libraries(self) -> frozenset[str]:
        """Folders that are packages and of which other files import something: what else stands there is a library's module."""
        folders = {path.rpartition("/")[0] for path in self._imported_files}
        return frozenset(f for f in folders if f and f"{f}/__init__.py" in self.repository.path_set)

    @cached_property
    def _imported_files(self) -> frozenset[str]:
        return frozenset(
            module for path in self.repository.code for module in self.graph.imported_modules(path)
        )

    def _documented(self) -> frozenset[str]:
        found: set[str] = set()
        for origin, command in self.commands:
            if command.target:
                found.update(resolve_target(self.repository, self.graph, command, origin))
        return frozenset(found)

    def _console_scripts(self) -> Iterator[Entry]:
        for origin, body in self.repository.bodies(DependencyFacts):
            for target in body.scripts.values():
                module, _, function = target.partition(":")
                path, rest = self.graph.modules.resolve(module.strip(), origin)
                if path is None or rest:
                    continue
                node = self.graph.lookup(f"{module.strip()}.{function.strip()}", origin)
                yield Entry(path, tuple(n for n in (node, (path, 0)) if n), True)


def _plainly_trains(path: str) -> bool:
    return bool(re.search(r"(train|finetun|fine_tun|pretrain)", path.rpartition("/")[2], re.I))


def _targets(repository: Repository) -> Iterator[str]:
    """Dotted names in configuration that an instantiating framework would call."""
    yield from (call.name for _, call in instantiations(repository.configs))


def commands_of(repository: Repository) -> Iterator[tuple[str, Command]]:
    """Every command that the repository's files spell out."""
    for path, docs in repository.docs.items():
        yield from ((path, command) for command in docs.commands)
    for path, script in repository.scripts.items():
        yield from ((path, command) for command in script.commands)
    for path, container in repository.containers.items():
        yield from ((path, command) for command in container.commands)
    for path, dvc in repository.bodies(DvcFacts):
        yield from ((path, command) for command in dvc.commands)
    for path, ci in repository.ci.items():
        yield from ((path, c) for job in ci.jobs for step in job.steps for c in step.commands)
    for path, notebook in repository.notebooks.items():
        yield from ((path, command) for command in notebook.commands)


def resolve_target(
    repository: Repository, graph: CallGraph, command: Command, origin: str
) -> tuple[str, ...]:
    """The files that a command's target can mean: relative to the file that says it, to the root, or by its name's end."""
    if command.module:
        path, rest = graph.modules.resolve(command.target, origin)
        if path and not rest:
            if path.endswith("__init__.py"):
                main = path[: -len("__init__.py")] + "__main__.py"
                return (main,) if main in repository.path_set else (path,)
            return (path,)
        return ()
    target = command.target.lstrip("./")
    if not target.endswith(".py"):
        return ()
    folder = origin.rpartition("/")[0]
    while True:
        candidate = f"{folder}/{target}" if folder else target
        if candidate in repository.path_set:
            return (candidate,)
        if not folder:
            break
        folder = folder.rpartition("/")[0]
    return tuple(path for path in repository.code if path.endswith("/" + target))[:20]
