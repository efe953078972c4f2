"""Which random number generators each training script draws from, and which of them it seeds."""

import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

import msgspec

from audit.documents.place import Place
from audit.facts.python.model import Call, PythonFacts
from audit.rules.rule import Context
from audit.signals.graph import Node, Reached
from audit.signals.loops import Loop
from audit.signals.seeds import seeds_of
from audit.signals.training_path import Entry, TrainingPath

GENERATORS = {
    "python": "Python's random module",
    "numpy": "NumPy's global generator",
    "torch": "PyTorch's generator",
    "tensorflow": "TensorFlow's generator",
    "env": "the environments' generators",
}

_PYTHON_DRAWS = frozenset(
    """
    random randint randrange choice choices shuffle sample uniform gauss normalvariate betavariate expovariate triangular lognormvariate
    gammavariate vonmisesvariate paretovariate weibullvariate getrandbits
    """.split()
)
_NUMPY_DRAWS = frozenset(
    """
    rand randn randint random random_sample ranf sample random_integers choice shuffle permutation uniform normal standard_normal beta binomial
    exponential gamma geometric gumbel laplace logistic lognormal multinomial multivariate_normal poisson dirichlet bytes standard_gamma
    standard_exponential standard_t triangular vonmises weibull zipf chisquare
    """.split()
)
_TORCH_DRAWS = frozenset(
    "rand randn randint randperm normal multinomial bernoulli rand_like randn_like poisson".split()
)
_ENVIRONMENTS = frozenset({"gym", "gymnasium", "minigrid", "stable_baselines3"})
_SEEDED_ANYWAY = frozenset({"envpool"})
"""Environments that take a fixed seed where none is given."""

_ENVIRONMENT = re.compile(r"(?:^|[._])(?:envs?|environment|vec_env|\w*_envs?)$")
_SEEDS_BY_ITSELF = re.compile(
    r"(?:.*\.)?LightningCLI|(?:detectron2|mmengine|mmcv|mmdet|mmseg|fastai)(?:\.\w+)*\.(?:default_setup|Runner|from_cfg|set_seed|seed_all_rng)"
)
"""Entry points of frameworks that seed when they are told to by their own settings."""

_TORCH_HEADS = frozenset({"torch", "pytorch_lightning", "lightning", "transformers", "trl", "accelerate"})
_TF_HEADS = frozenset({"tensorflow", "keras", "tf_keras"})


class Script(msgspec.Struct, frozen=True):
    """One training script: what it reaches, where it draws from each generator, and where it seeds it."""

    entry: Entry
    nodes: frozenset[Node]
    draws: dict[str, Place]
    seeds: dict[str, tuple[tuple[str, Call], ...]]
    inherited: frozenset[str]

    def seeded(self, generator: str) -> bool:
        return generator in self.seeds or generator in self.inherited


_NAMED_FOR_TRAINING = re.compile(
    r"train|finetun|fine_tun|sft|dpo|ppo|grpo|learn|(?:^|[/_])(?:main|run|fit|distill)", re.I
)
_NAMED_OTHERWISE = re.compile(
    r"(?:^|[/_\-])(?:generat|infer|eval|sampl|convert|consolidat|calibrat|chat|serv|export|merge|demo|deploy|bench|profil|visual|plot|test|predict|util)",
    re.I,
)


def scripts(context: Context) -> tuple[Script, ...]:
    """The training scripts, one for each file that starts training; documented ones where there are any.

    Scripts that only share code with training, and self-tests of library modules, are left out: what they draw harms nobody.
    Several rules ask, and each answer walks the call graph once a script, so the last answer is remembered.
    """
    known = _ANSWERS.get(context.path)
    if known is None:
        known = _ANSWERS[context.path] = _scripts(context)
    return known


_ANSWERS: WeakKeyDictionary[TrainingPath, tuple[Script, ...]] = WeakKeyDictionary()


def _scripts(context: Context) -> tuple[Script, ...]:
    path = context.path
    likely = [entry for entry in path.training if _likely(context, entry)]
    chosen = [entry for entry in likely if entry.documented] or likely
    found: dict[str, Script] = {}
    for entry in chosen:
        if entry.path not in found:
            nodes = path.graph.reach(entry.starts)
            found[entry.path] = _script(context, entry, nodes)
    return tuple(found.values())


def _likely(context: Context, entry: Entry) -> bool:
    name = entry.path.rpartition("/")[2]
    if "train" in name or "tun" in name:
        return True
    if _NAMED_OTHERWISE.search("/" + entry.path):
        return False
    here = any(node[0] == entry.path for node in context.path.loops)
    if not entry.documented and entry.path.rpartition("/")[0] + "/__init__.py" in context.repository.path_set:
        return bool(_NAMED_FOR_TRAINING.search(name))
    return here or bool(_NAMED_FOR_TRAINING.search(name))


def _script(context: Context, entry: Entry, nodes: frozenset[Node]) -> Script:
    reached = Reached(context.path.graph.python, nodes)
    loops = [loop for node in sorted(nodes & context.path.loops.keys()) for loop in context.path.loops[node]]
    every: dict[str, list[Place]] = {}
    seeds: dict[str, list[tuple[str, Call]]] = {}
    inherited: set[str] = set()
    for loop in loops:
        if loop.kind == "hf_trainer":
            inherited.update(("python", "numpy", "torch"))
    for file, call in reached.calls():
        facts = reached.python[file]
        for generator in seeds_of(call):
            seeds.setdefault(generator, []).append((file, call))
        if _SEEDS_BY_ITSELF.fullmatch(call.name):
            inherited.update(("python", "numpy", "torch"))
        if _hands_a_seed_to_sb3(call, facts):
            inherited.update(("python", "numpy", "torch", "env"))
        for generator, said in _drawn(call, facts):
            every.setdefault(generator, []).append(Place(file, call.line, said))
    if "torch" in seeds or "torch" in inherited:
        _without_workers(reached, every)
    draws = {generator: places[0] for generator, places in every.items()}
    if loops:
        _drawn_by_frameworks(reached, entry, loops, draws)
    return Script(entry, nodes, draws, {k: tuple(v) for k, v in seeds.items()}, frozenset(inherited))


_IN_LOADERS = re.compile(r"data|transform|augment|collat|loader|reader|crop|image", re.I)


def _without_workers(reached: Reached, every: dict[str, list[Place]]) -> None:
    """Take out what loader workers draw: PyTorch seeds Python's and (from 1.9) NumPy's generators there from its own."""
    if not any(
        call.name.rpartition(".")[2].endswith("DataLoader") and call.kwargs.get("num_workers", "0") != "0"
        for _, call in reached.calls()
    ):
        return
    for generator in ("python", "numpy"):
        kept = [
            place for place in every.get(generator, ()) if not _in_loader(reached.python[place.path], place)
        ]
        if kept:
            every[generator] = kept
        else:
            every.pop(generator, None)


def _in_loader(facts: PythonFacts, place: Place) -> bool:
    line = place.line or 0
    names = [
        scope.name
        for scope in facts.scopes
        if scope.kind in ("function", "class") and scope.line <= line <= scope.end_line
    ]
    inside = not names or names[-1] in ("__getitem__", "__call__", "__iter__", "collate_fn")
    return inside or bool(_IN_LOADERS.search(" ".join((place.path, *names))))


def _hands_a_seed_to_sb3(call: Call, facts: PythonFacts) -> bool:
    return call.kwargs.get("seed", "None") != "None" and imports(facts, {"stable_baselines3", "sb3_contrib"})


def imports(facts: PythonFacts, heads: set[str] | frozenset[str]) -> bool:
    """Whether the file imports one of these packages."""
    return any(item.module.partition(".")[0] in heads for item in facts.imports)


def _drawn(call: Call, facts: PythonFacts) -> Iterator[tuple[str, str]]:
    """The generators that a call draws from, with how a reader would call it."""
    receiver, _, last = call.name.rpartition(".")
    if receiver == "random" and last in _PYTHON_DRAWS and imports(facts, {"random"}):
        yield "python", call.name
    elif receiver == "numpy.random" and last in _NUMPY_DRAWS:
        yield "numpy", call.name
    elif receiver == "torch" and last in _TORCH_DRAWS and "generator" not in call.kwargs:
        yield "torch", call.name
    elif (
        last == "DataLoader"
        and call.kwargs.get("shuffle", "False") not in ("False", "None")
        and "generator" not in call.kwargs
    ):
        yield "torch", "a DataLoader that shuffles"
    elif (
        last == "reset"
        and _ENVIRONMENT.search(receiver)
        and imports(facts, _ENVIRONMENTS)
        and not imports(facts, _SEEDED_ANYWAY)
    ):
        yield "env", call.name


def _drawn_by_frameworks(reached: Reached, entry: Entry, loops: list[Loop], draws: dict[str, Place]) -> None:
    """Weights that the framework initialises where training is seen."""
    for loop in loops:
        facts = reached.python[loop.node[0]]
        where = Place(loop.node[0], loop.line, "the first weights of the model that is trained")
        if loop.kind in ("raw_torch", "hf_trainer", "lightning", "rl") and _builds_with_torch(facts):
            draws.setdefault("torch", where)
        elif loop.kind in ("keras", "tf", "rl") and imports(facts, _TF_HEADS):
            draws.setdefault("tensorflow", where)


def _builds_with_torch(facts: PythonFacts) -> bool:
    """Whether the file imports PyTorch for more than its writer of event files."""
    return any(
        item.module.partition(".")[0] in _TORCH_HEADS
        and not f"{item.module}.{item.name}".startswith("torch.utils.tensorboard")
        for item in facts.imports
    )


def elsewhere(context: Context, generator: str, nodes: frozenset[Node]) -> list[tuple[str, Call]]:
    """Calls that seed the generator in code that these nodes do not hold, tests left out."""
    found = []
    for file, facts in context.repository.code.items():
        for call in facts.calls:
            if (file, call.scope) not in nodes and generator in seeds_of(call):
                found.append((file, call))
    return found


def may_be_reached(context: Context, file: str, call: Call, nodes: frozenset[Node]) -> bool:
    """Whether some code in `nodes` names the function around the call: a way that the call graph may have missed."""
    scopes = context.repository.code[file].scopes
    names: set[str] = set()
    index = call.scope
    while index > 0:
        scope = scopes[index]
        if scope.kind in ("function", "class") and not re.fullmatch(
            r"__\w+__|main|run|forward|step|reset|seed", scope.name
        ):
            names.add(scope.name)
        index = scope.parent
    if not names:
        return False
    for path, at in nodes:
        for ref in context.path.graph.python[path].scopes[at].refs:
            if not names.isdisjoint(ref.split(".")):
                return True
    return False


def unread_flag(context: Context, script: Script) -> Place | None:
    """A `--seed` that the script's own file defines and does not read."""
    facts = context.path.graph.python[script.entry.path]
    if "seed" in facts.attributes:
        return None
    for call in facts.calls:
        if call.name.endswith("add_argument") and "'--seed'" in call.args:
            return Place(script.entry.path, call.line, "--seed, not read in this file")
    return None
