"""Which of the kinds of experiment that a repository holds one run is."""

from collections.abc import Mapping

from audit.documents.signals import Signals
from audit.documents.state import State
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath
from audit.state.observed.scene import Scene

Detected = Mapping[str, frozenset[str]]
"""Kinds of experiment with the files that speak for them."""


def detected_files(repository: Repository, path: TrainingPath, signals: Signals) -> Detected:
    """The kinds that the signals show by files: where a judge is, where models are evaluated."""
    return {"llm_judge": frozenset(place.path for place in signals.judge.evidence) if signals is not None and signals.judge.value else frozenset()}


def profiles_of(scene: Scene, state: State, detected: Detected) -> tuple[str, ...]:
    """The kinds of this run: by its loop where it trains, by what it makes and scores where it does not."""
    found: set[str] = set()
    kinds = scene.loop_kinds
    if "rl" in kinds:
        found.add("rl")
    elif kinds == {"sklearn"}:
        found.add("tabular")
    elif scene.trains:
        found.add("finetuning" if scene.is_llm else "training")
    elif scene.speaks:
        found.add("inference")
    if any(path.startswith(("models.judge.", "evaluation.judge.")) for path in state.leaves) or (
        not scene.trains and scene.entry.path in detected["llm_judge"]
    ):
        found.add("llm_judge")
        found.discard("inference")
    if not scene.trains and any(path.startswith("evaluation.") for path in state.leaves) and "llm_judge" not in found:
        found.add("evaluation")
        found.discard("inference")
    return tuple(sorted(found))
