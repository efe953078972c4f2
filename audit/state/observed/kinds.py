"""Which of the kinds of experiment that a repository holds one run is."""

import msgspec

from audit.documents.signals import Signals
from audit.documents.state import State
from audit.state.observed.scene import Scene
from audit.state.observed.tools import ToolScene


class Detected(msgspec.Struct, frozen=True):
    """Whether language models are trained, whether anything is scored, and the files in which a judge is."""

    trains_language_models: bool
    scores: bool
    judging: frozenset[str]


_BY_TOOL = {"training": "finetuning", "evaluation": "evaluation", "inference": "inference"}


def detected_in(signals: Signals) -> Detected:
    """What the signals say of the whole repository."""
    judging = frozenset(place.path for place in signals.judge.evidence)
    return Detected(bool(signals.training_method.value), signals.evaluation.value, judging)


def profiles_of(scene: Scene, state: State, detected: Detected) -> tuple[str, ...]:
    """The kinds of this run: by its loop where it trains, by what it makes and scores where it does not."""
    if isinstance(scene, ToolScene):
        return (_BY_TOOL[scene.tool.kind],)
    found: set[str] = set()
    kinds = scene.loop_kinds
    if "rl" in kinds:
        found.add("rl")
    elif kinds == {"sklearn"}:
        found.add("tabular")
    elif scene.trains:
        found.add("finetuning" if scene.is_llm and detected.trains_language_models else "training")
    elif scene.speaks:
        found.add("inference")
    if scene.trains:
        return tuple(sorted(found))
    if (
        any(path.startswith(("models.judge.", "evaluation.judge.")) for path in state.leaves)
        or scene.entry.path in detected.judging
    ):
        return ("llm_judge",)
    scores = (
        any(path.startswith("evaluation.") for path in state.leaves) or "eval" in scene.entry.path.lower()
    )
    if scores and detected.scores:
        return ("evaluation",)
    return tuple(sorted(found))
