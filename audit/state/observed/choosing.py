"""Which of the values that places say of a setting holds, which lost, and where nobody may decide."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from audit.documents.state import Confidence, Leaf, Source, State, Value
from audit.state.observed.calls import Group
from audit.state.observed.equal import agree
from audit.state.observed.model import Rank
from audit.state.observed.options import Said
from audit.state.values import same

_MOST_CANDIDATES = 12


class Chosen(msgspec.Struct, frozen=True):
    """The settings of a run: sure ones as a state, unsure ones with what they may be."""

    state: State
    candidates: dict[str, tuple[Leaf, ...]]


def choose(groups: Iterable[Group]) -> Chosen:
    """One value for each setting, or its candidates."""
    by_setting: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        by_setting[group.setting].append(group)
    leaves: dict[str, Leaf] = {}
    alternatives: dict[str, tuple[Leaf, ...]] = {}
    candidates: dict[str, tuple[Leaf, ...]] = {}
    for setting in sorted(by_setting):
        winner, unsure = _decided(by_setting[setting])
        if winner is not None:
            leaves[setting] = _leaf(winner.said[0], Confidence.OBSERVED)
            lost = [
                said
                for said in winner.said[1:]
                if said.rank > Rank.LIBRARY
                and said.value is not None
                and not same(said.value, winner.said[0].value)
            ]
            if lost:
                alternatives[setting] = tuple(_leaf(said, Confidence.OBSERVED) for said in lost)
        elif unsure:
            candidates[setting] = tuple(_leaf(said, Confidence.UNRESOLVED) for said in unsure)
    _without_strangers(leaves, candidates)
    for path in [path for path in leaves if _is_unset(path, leaves[path].value)]:
        del leaves[path]
    epochs, steps = leaves.get("training.epochs"), leaves.get("training.max_steps")
    if (
        epochs
        and steps
        and epochs.detail.startswith("library default")
        and isinstance(steps.value, (int, float))
        and steps.value > 0
    ):
        del leaves["training.epochs"]  # steps decide, and nobody speaks of epochs
    return Chosen(
        State(leaves, {path: rows for path, rows in alternatives.items() if path in leaves}), candidates
    )


_COUNTS = ("batch_size", "epochs", "max_steps", "total_timesteps", "max_length", "gradient_accumulation")


def _is_unset(path: str, value: Value) -> bool:
    """Whether a number stands for none: -1 epochs, a batch of 0 that is computed later."""
    if path == "training.precision":
        return isinstance(value, bool)  # a switch, which names none
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    last = path.rpartition(".")[2]
    return (last in _COUNTS and value <= 0) or (
        last in ("warmup_steps", "seed", "warmup_ratio") and value < 0
    )


_OF_ID = ("revision", "subset", "split", "tokenizer", "tokenizer_revision", "adapter_revision")


def _without_strangers(leaves: dict[str, Leaf], candidates: dict[str, tuple[Leaf, ...]]) -> None:
    """Drops what belongs to one of several possible models or data sets, or to one of which nothing else is known; and a tokenizer that is the
    model's own."""
    for path in [*leaves, *candidates]:
        role, _, last = path.rpartition(".")
        if last == "id" or not path.startswith(("models.", "datasets.")) or ".sampling" in role:
            continue
        whose = f"{role}.id"
        possible = candidates.get(whose, ())
        unknown = (
            whose not in leaves and whose not in candidates and last not in ("path", "adapter", "sampling")
        )
        several = last in _OF_ID and len(possible) > 1
        same_as_model = last == "tokenizer" and (
            (whose in leaves and path in leaves and leaves[whose].value == leaves[path].value)
            or (whose in candidates and path in candidates)
            or len(candidates.get(path, ())) > 1
        )
        if unknown or several or same_as_model:
            leaves.pop(path, None)
            candidates.pop(path, None)


def _decided(groups: list[Group]) -> tuple[Group | None, list[Said]]:
    """The group that wins, or what the setting may be."""
    named = [g for g in groups if g.by_name]
    called = [g for g in groups if not g.by_name and (g.opaque or g.said[0].rank > Rank.LIBRARY)]
    library = [g for g in groups if not g.by_name and g.said and g.said[0].rank == Rank.LIBRARY]
    opaque = any(g.opaque or (g.said and not _top(g).known) for g in called)
    spoken = [g for g in called if g.said and not _unset(g) and _top(g).known]
    option = next((g for g in named if g.said and not _unset(g)), None)
    if option is not None:
        connected = any(_top(g).place == _top(option).place for g in spoken) or (
            _is_sure(option) and _agree([option, *spoken])
        )
        if connected or not spoken or opaque:
            # An option that a call is given, or that nothing speaks against.
            return (option, []) if _is_sure(option) else (None, _possible([option, *spoken]))
    sure = [g for g in spoken if _is_sure(g)]
    if spoken:
        if len(sure) == len(spoken) and _agree(spoken):
            return (max(spoken, key=lambda g: _top(g).rank), []) if not opaque else (None, _possible(spoken))
        if _agree(spoken) and not opaque and all(_top(g).known for g in spoken):
            return spoken[0], []  # on some branch only, but nowhere otherwise
        return None, _possible([*spoken, *([option] if option else [])])
    if opaque:
        return None, _possible(called)
    unset = [g for g in (*named, *called) if g.said and not _top(g).known]
    if unset:
        return None, _possible(unset)
    if library and _agree(library):
        return library[0], []
    return None, []


def _top(group: Group) -> Said:
    return group.said[0]


def _unset(group: Group) -> bool:
    """Whether the group says that nothing is set."""
    return all(said.value is None for said in group.said) and group.said[0].known


def _is_sure(group: Group) -> bool:
    top = group.said[0]
    return group.sure and top.known and top.value is not None


def _agree(groups: list[Group]) -> bool:
    first = _top(groups[0]).value
    return all(agree(group.setting, _top(group).value, first) for group in groups[1:])


def _possible(groups: list[Group]) -> list[Said]:
    """Every value that the groups hold, each once."""
    found: list[Said] = []
    values: list[Value] = []
    for group in groups:
        for said in group.said:
            if said.value is not None and not any(same(said.value, value) for value in values):
                values.append(said.value)
                found.append(said)
    return found[:_MOST_CANDIDATES]


def _leaf(said: Said, confidence: Confidence) -> Leaf:
    return Leaf(said.value, Source.CODE, confidence, said.detail, said.place)
