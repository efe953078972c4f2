"""Names for experiments: from what starts them, and where that is the same, from what differs."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from audit.signals.training_path import Entry
from audit.state.observed.launches import Launch, assigned
from audit.state.observed.texts import is_placeholder

_SCRIPTS = (".sh", ".slurm", ".sbatch", ".bash", ".job")
_NAMED = ("exp_name", "experiment_name", "run_name", "experiment", "exp")
_TELLING = (
    "config_name",
    "config",
    "model_name_or_path",
    "model",
    "base_model",
    "dataset",
    "datasets",
    "loss",
    "method",
    "task",
    "env",
    "env_id",
    "arch",
    "algo",
    "stage",
    "mode",
)
_LONGEST = 60


def name_of(entry: Entry, launch: Launch) -> str:
    """The configuration's name, the script's, what the command calls the run, or the entry point's."""
    if launch.files:
        parts = launch.files[-1].rpartition(".")[0].split("/")
        return _slug("-".join(parts[-2:] if len(parts) > 2 else parts[-1:]))
    if launch.origin.endswith(_SCRIPTS):
        return _slug(launch.origin.rpartition("/")[2].rpartition(".")[0])
    values = {name: text for name, text, _ in assigned(launch.command)} if launch.command else {}
    called = next(
        (values[name] for name in _NAMED if values.get(name) and not is_placeholder(values[name])), ""
    )
    if not entry.path and launch.command is not None:
        return _slug(called.rpartition("/")[2] or launch.command.program)
    folder, _, stem = entry.path.removesuffix(".py").rpartition("/")
    own = (
        folder.rpartition("/")[2]
        if stem in ("main", "__main__", "cli", "run", "train") and folder not in ("", "src", "scripts")
        else ""
    )
    return _slug(called.rpartition("/")[2] or (f"{own}-{stem}" if own else stem))


def distinct(rows: Sequence[tuple[str, Launch]]) -> list[str]:
    """The names, each once. Equal ones are told apart by what their commands set differently, else by their number."""
    by_name: dict[str, list[Launch]] = defaultdict(list)
    for name, launch in rows:
        by_name[name].append(launch)
    taken: Counter[str] = Counter()
    found = []
    for name, launch in rows:
        made = name
        if len(by_name[name]) > 1 and by_name[name][0] is not launch:
            made = _slug(f"{name}-{_difference(launch, by_name[name])}")
        taken[made] += 1
        while taken[made] > 1:
            made = (
                f"{name}-{taken[made]}"
                if made == name or not made.startswith(name + "-")
                else f"{made}-{taken[made]}"
            )
            taken[made] += 1
        found.append(made)
    return found


def _difference(launch: Launch, others: Sequence[Launch]) -> str:
    """Values that this command alone sets, of the flags that tell most."""
    mine = _values(launch)
    theirs = [_values(other) for other in others if other is not launch]
    telling = [name for name in (*_TELLING, *sorted(mine)) if mine.get(name)]
    for name in dict.fromkeys(telling):
        value = mine[name]
        if (
            not is_placeholder(value)
            and len(value) < 60
            and all(other.get(name) != value for other in theirs)
        ):
            short = value.rstrip("/").rpartition("/")[2]
            return short if name in _TELLING else f"{name}-{short}"
    folder = launch.origin.rpartition("/")[0].rpartition("/")[2]
    return folder if launch.origin.endswith(_SCRIPTS) else ""


def _values(launch: Launch) -> dict[str, str]:
    return {name: text for name, text, _ in assigned(launch.command)} if launch.command else {}


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST].strip("-") or "experiment"
