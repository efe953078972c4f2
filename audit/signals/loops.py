"""Training loops: the places where parameters are updated, told apart by the library that drives them."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from audit.facts.python.model import Call, PythonFacts, Scope
from audit.signals.graph import CallGraph, Node
from audit.signals.knowledge import knowledge

ORDER = ("hf_trainer", "lightning", "rl", "raw_torch", "jax", "keras", "tf", "sklearn")
_OPTIMIZER = re.compile(
    r"(optim|(^|[._])opts?($|[._\d\[])|scaler|sgd|adam|solver|engine|strategy|fabric|trainer_?opt)", re.I
)
_TRANSFORMS = re.compile(
    r"(scaler|tokenizer|encoder|binarizer|vectorizer|imputer|pca|tfidf|tsne|umap|transformer|discretizer|normalizer|"
    r"bag_of_words)",
    re.I,
)
_TRAINERS = ("Trainer", "CLI", "Fabric", "Lite", "from_argparse_args")


class Loop(msgspec.Struct, frozen=True):
    """A place where parameters are updated: which kind of loop, in which scope."""

    kind: str
    node: Node
    line: int


def primary(kinds: Iterable[str]) -> str:
    """The kind that names the loop where several meet: an RL script is one whatever framework computes its gradients."""
    present = set(kinds)
    return next((kind for kind in ORDER if kind in present), "")


def find_loops(code: Mapping[str, PythonFacts], graph: CallGraph) -> Iterator[Loop]:
    """Every training loop of the repository's own code, file by file."""
    steps = any(_steps_optimizer(call) for facts in code.values() for call in facts.calls)
    own = any(_is_trainer(facts, scope) for facts in code.values() for scope in facts.scopes)
    for path, facts in code.items():
        yield from _File(path, facts, graph, steps, own).loops()


def _is_trainer(facts: PythonFacts, scope: Scope) -> bool:
    """A `train` method of a class of the repository that calls itself a trainer."""
    owner = facts.scopes[scope.parent] if scope.parent > 0 else None
    return scope.name == "train" and owner is not None and owner.kind == "class" and "Trainer" in owner.name


def _steps_optimizer(call: Call) -> bool:
    receiver, _, last = call.name.rpartition(".")
    if last == "step":
        return bool(_OPTIMIZER.search(receiver)) or call.name in ("scaler.step", "model.step")
    return last in ("optimizer_step", "manual_backward", "train_batch")


class _File:
    """One file's calls, with what it imports. `steps`: some file of the repository steps an optimizer; `own`: some class of the
    repository is a trainer with a loop of its own."""

    def __init__(self, path: str, facts: PythonFacts, graph: CallGraph, steps: bool, own: bool) -> None:
        self.path, self.facts, self.graph, self.steps, self.own = path, facts, graph, steps, own
        self.heads = {item.module for item in facts.imports}
        self.heads |= {item.module.partition(".")[0] for item in facts.imports}
        self.heads |= {f"{item.module}.{item.name}" for item in facts.imports if item.name}

    def uses(self, group: str) -> bool:
        """Whether the file imports a library of the group (`heads` in knowledge.yaml)."""
        return not self.heads.isdisjoint(knowledge().heads[group])

    def loops(self) -> Iterator[Loop]:
        reinforcement = self.uses("gym")
        for call in self.facts.calls:
            kind = self.of_gradient(call) or self.of_estimator(call) or self.of_trainer(call)
            if kind:
                if reinforcement and kind in ("raw_torch", "jax", "tf", "keras"):
                    kind = "rl"
                yield Loop(kind, (self.path, call.scope), call.line)
        yield from self.derived()

    def derived(self) -> Iterator[Loop]:
        """Classes of the repository that are a library's trainer, whatever they are called."""
        for index, scope in enumerate(self.facts.scopes):
            if any(base.partition("[")[0].endswith("Trainer") for base in scope.bases):
                kind = self.family(self.graph.ancestry((self.path, index)))
                if kind:
                    yield Loop(kind, (self.path, index), scope.line)

    def family(self, names: Iterable[str]) -> str:
        """The kind of trainer that one of these class names is."""
        told = tuple(names)
        for kind, patterns in knowledge().trainers.items():
            if any(re.fullmatch(pattern, name) for pattern in patterns for name in told):
                return kind
        return ""

    def of_gradient(self, call: Call) -> str:
        """Loops that compute gradients themselves."""
        receiver, _, last = call.name.rpartition(".")
        if last == "backward" and (
            receiver == "torch.autograd" or self.facts.scopes[call.scope].name == "backward"
        ):
            return ""  # the backward pass of a function of the repository's own
        if last == "backward":
            # A backward pass alone may be an attack or a saliency map: somebody must step an optimizer, too.
            return "lightning" if "fabric" in receiver.lower() else "raw_torch" if self.steps else ""
        if call.name in ("jax.grad", "jax.value_and_grad"):
            return "jax"
        if call.name.startswith("flax.") and last in ("grad", "value_and_grad"):
            return "jax"
        if (
            last in ("GradientTape", "compute_gradients", "apply_gradients")
            and self.uses("tf")
            and not self.uses("jax")
        ):
            return "tf"
        if last == "minimize" and _OPTIMIZER.search(receiver) and not call.name.startswith("scipy."):
            return "tf"
        return ""

    def of_estimator(self, call: Call) -> str:
        """Loops behind a library's `fit`, `learn` or `train`."""
        receiver, _, last = call.name.rpartition(".")
        if last in ("fit", "fit_generator", "train_on_batch", "partial_fit") and receiver:
            if self.uses("lightning") and "trainer" in receiver.lower():
                return "lightning"
            return self.fit(receiver)
        if last == "train_and_evaluate" and call.name.startswith("tensorflow"):
            return "tf"
        if last in ("learn", "make_train") and self.uses("gym"):
            return "rl"
        if call.name in ("xgboost.train", "lightgbm.train", "xgboost.cv", "lightgbm.cv"):
            return "sklearn"
        return ""

    def fit(self, receiver: str) -> str:
        """`fit` of a model, not of a preprocessing step: judged by the receiver's name and the class it was made of."""
        made = [call.name for call in self.facts.calls if call.within == f"assign:{receiver}"]
        if any(_TRANSFORMS.search(name.rpartition(".")[2]) for name in (receiver, *made)):
            return ""
        if self.uses("keras") or (self.uses("tf") and not self.uses("sklearn")):
            return "keras"  # also as `tensorflow.keras`, without an import of its own
        return "sklearn" if self.uses("sklearn") else ""

    def of_trainer(self, call: Call) -> str:
        """A trainer whose loop is a library's: the class itself, or one that the repository derives from it."""
        if call.name.lower().endswith("trainer.train") and self.uses("hf") and not self.own:
            return "hf_trainer"
        if not call.name.endswith(_TRAINERS):
            return ""
        names = [call.name]
        node = self.graph.lookup(call.name, self.path, call.scope)
        if node is not None and self.graph.python[node[0]].scopes[node[1]].kind == "class":
            names += list(self.graph.ancestry(node))
        return self.family(names)
