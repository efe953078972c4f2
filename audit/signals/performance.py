"""Habits that make the training path slower than its hardware: hints, never faults."""

from collections.abc import Iterable

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.python.model import Call
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_SYNCS = frozenset({"item", "cpu", "numpy", "tolist"})
_MOST = 30


def performance_hints(
    repository: Repository, path: TrainingPath, mixed_precision: bool
) -> Signal[tuple[Place, ...]]:
    """At most 30 places on the training path. `mixed_precision`: that signal's value."""
    if not path.training:
        return Signal(())
    stepping = {
        (loop.node[0], loop.node[1])
        for loop in path.all_loops
        if loop.kind in ("raw_torch", "lightning", "rl")
    }
    depths = {node: _depth(repository.code[node[0]].calls, node[1]) for node in stepping}
    found: list[Place] = []
    for file, call in path.calls:
        last = call.name.rpartition(".")[2]
        depth = depths.get((file, call.scope))
        # A module that is sent to the host (`vae.cpu()`, result discarded) is no tensor that is waited for.
        if (
            depth is not None
            and last in _SYNCS
            and call.loops >= depth
            and call.within != "expr"
            and not _periodic(call)
        ):
            found.append(
                Place(file, call.line, f".{last}() in the training loop waits for the device at every step")
            )
        elif last == "DataLoader" and _without_workers(call):
            found.append(
                Place(file, call.line, "loader without worker processes: loading and computing take turns")
            )
    if stepping and not mixed_precision and _uses_gpu(path):
        node = min(stepping)
        line = next(loop.line for loop in path.all_loops if loop.node == node)
        found.append(Place(node[0], line, "no mixed precision on a path that runs on a GPU"))
    places = tuple(sorted(set(found), key=lambda p: (p.path, p.line or 0, p.note)))[:_MOST]
    return Signal(places, places[:4])


def _depth(calls: Iterable[Call], scope: int) -> int:
    """In how many loops of its scope the training step stands, at least 1: what stands in fewer runs once an epoch."""
    steps = [
        call.loops
        for call in calls
        if call.scope == scope and call.name.rpartition(".")[2] in ("backward", "manual_backward", "step")
    ]
    return max(1, min(steps, default=1))


def _periodic(call: Call) -> bool:
    """Whether the call runs only now and then (`if step % 100 == 0`) or only when something is to be shown."""
    return "%" in call.test or any(
        word in call.test.lower() for word in ("log", "print", "verbose", "eval", "debug", "save")
    )


def _without_workers(call: Call) -> bool:
    if "**" in call.kwargs or len(call.args) >= 6:
        return False
    return call.kwargs.get("num_workers", "0") == "0"


def _uses_gpu(path: TrainingPath) -> bool:
    texts = ("cuda", "device")
    return any(
        any(word in arg for word in texts)
        for _, call in path.calls
        for arg in (*call.args, *call.kwargs.values(), call.name)
    )
