"""Training loops: the places where parameters are updated, told apart by the library that drives them."""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from audit.facts.python.model import Call, PythonFacts
from audit.signals.graph import CallGraph, Node
from audit.signals.knowledge import knowledge

_OPTIMIZER = re.compile(
    r"(optim|(^|[._])opts?($|[._\d\[])|scaler|sgd|adam|solver|engine|strategy|fabric|trainer_?opt)", re.I
)
ORDER = ("hf_trainer", "lightning", "rl", "raw_torch", "jax", "keras", "tf", "sklearn")


class Loop(msgspec.Struct, frozen=True):
    """A place where parameters are updated: which kind of loop, in which scope."""

    kind: str
    node: Node
    line: int


def primary(kinds: Iterable[str]) -> str:
    """The kind that names the loop where several meet: an RL script is one whatever framework computes its gradients."""
    present = set(kinds)
    return next((kind for kind in ORDER if kind in present), "")


def loops_in(path: str, facts: PythonFacts, graph: CallGraph) -> Iterator[Loop]:
    heads = {item.module.partition(".")[0] for item in facts.imports} | {
        item.module for item in facts.imports
    }
    heads |= {f"{item.module}.{item.name}" for item in facts.imports if item.name}

    def uses(group: str) -> bool:
        return any(head in heads for head in knowledge().heads[group])

    steps = any(_optimizer_step(call) for call in facts.calls)
    rl = uses("gym")
    for call in facts.calls:
        last = call.name.rpartition(".")[2]
        kind = _loop_kind(call, last, facts, graph, path, uses, steps)
        if kind:
            if rl and kind in ("raw_torch", "jax", "tf", "keras"):
                kind = "rl"
            yield Loop(kind, (path, call.scope), call.line)


def _optimizer_step(call: Call) -> bool:
    receiver, _, last = call.name.rpartition(".")
    if last == "step":
        return bool(_OPTIMIZER.search(receiver)) or call.name in ("scaler.step", "model.step")
    return last in ("optimizer_step", "manual_backward", "train_batch")


def _loop_kind(
    call: Call,
    last: str,
    facts: PythonFacts,
    graph: CallGraph,
    path: str,
    uses: Callable[[str], bool],
    steps: bool,
) -> str:
    if last == "backward":
        if "fabric" in call.name.lower():
            return "lightning"
        return "raw_torch" if steps or _steps_elsewhere(call, facts) else ""
    if last == "fit" and uses("lightning") and "trainer" in call.name.lower():
        return "lightning"
    if last in ("fit", "fit_generator", "train_on_batch", "partial_fit") and "." in call.name:
        return _fit_kind(call, facts, uses)
    if call.name in ("jax.grad", "jax.value_and_grad") or (
        call.name.startswith("flax.") and last in ("grad", "value_and_grad")
    ):
        return "jax"
    if last in ("GradientTape", "compute_gradients") and uses("tf"):
        return "tf"
    if (
        last == "minimize"
        and _OPTIMIZER.search(call.name.rpartition(".")[0])
        and not call.name.startswith("scipy.")
    ):
        return "tf"
    if last in ("train_and_evaluate",) and uses("tf") and call.name.startswith("tensorflow"):
        return "tf"
    if last == "learn" and uses("gym"):
        return "rl"
    if call.name in ("xgboost.train", "lightgbm.train", "xgboost.cv", "lightgbm.cv"):
        return "sklearn"
    if last == "make_train" and uses("gym"):
        return "rl"
    return _inherited(call, graph, path, uses)


def _steps_elsewhere(call: Call, facts: PythonFacts) -> bool:
    """A step through a wrapper: `optimizer` handed on, or stepped by a scheduler or closure of another name."""
    return any(c.name.rpartition(".")[2] == "zero_grad" for c in facts.calls) and any(
        c.name.rpartition(".")[2] == "step" for c in facts.calls
    )


_TRANSFORMS = re.compile(
    r"(scaler|tokenizer|encoder|binarizer|vectorizer|imputer|pca|tfidf|tsne|umap|transformer|discretizer|normalizer|bag_of_words)",
    re.I,
)


def _fit_kind(call: Call, facts: PythonFacts, uses: Callable[[str], bool]) -> str:
    """`fit` of a model, not of a preprocessing step: judged by the receiver's name and by the class that it was made of."""
    receiver = call.name.rpartition(".")[0]
    made = [c.name for c in facts.calls if c.within == f"assign:{receiver}"]
    if any(_TRANSFORMS.search(name.rpartition(".")[2]) for name in (receiver, *made)):
        return ""
    if uses("keras"):
        return "keras"
    return "sklearn" if uses("sklearn") else ""


def _inherited(call: Call, graph: CallGraph, path: str, uses: Callable[[str], bool]) -> str:
    """A trainer whose loop is a library's: the class itself, or one that the repository derives from it."""
    tail = call.name.rpartition(".")[2]
    if tail == "train" and call.name.lower().endswith("trainer.train") and uses("hf"):
        return "hf_trainer"
    if not (tail.endswith(("Trainer", "CLI", "Fabric", "Lite", "from_argparse_args"))):
        return ""
    names = [call.name]
    node = graph.lookup(call.name, path, call.scope)
    if node is not None and graph.python[node[0]].scopes[node[1]].kind == "class":
        names += list(graph.ancestry(node))
    for kind, patterns in knowledge().trainers.items():
        if any(re.fullmatch(pattern, name) for pattern in patterns for name in names):
            return kind
    return ""
