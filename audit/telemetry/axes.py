"""Which column counts the steps, which one tells the time, and which ones say whose values a row holds."""

from collections.abc import Iterable

_STEPS = (
    "step", "_step", "global_step", "globalstep", "iteration", "iter", "iterations", "train_step", "training_step",
    "trainer/global_step", "train/global_step", "num_steps", "n_iter", "update", "updates", "num_updates", "tick",
    "batch", "round", "epoch", "epochs", "train/epoch", "episode", "episodes", "generation", "total_timesteps", "timesteps",
    "time/total_timesteps", "env_step", "env_steps", "it", "index",
)  # fmt: skip
"""Names of the column that counts, the finest first: an epoch counts only where no step does."""

_TIMES = ("_timestamp", "timestamp", "wall_time", "wall time", "walltime", "time", "created_at")
_GROUPS = (
    "seed", "run", "run_id", "run_name", "run id", "run name", "trial", "trial_id", "fold", "rank", "worker", "replica",
    "experiment", "exp", "variant", "model", "task", "env", "env_id", "dataset", "method", "config",
)  # fmt: skip
"""Names of columns whose value says which run or group a row belongs to."""

_NAMES = ("metric", "metric_name", "key", "tag", "name", "variable")
_VALUES = ("value", "metric_value", "val", "scalar")

_SPLITS = ("mode", "split", "phase", "stage", "subset")


def _first(names: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.strip().lower(), name)
    return next((by_lower[want] for want in wanted if want in by_lower), None)


def step_column(names: Iterable[str]) -> str | None:
    """The column that counts the steps, None where there is none."""
    return _first(names, _STEPS)


def time_column(names: Iterable[str]) -> str | None:
    """The column that may hold seconds since the epoch; whether it does, `seconds` says."""
    return _first(names, _TIMES)


def split_column(names: Iterable[str]) -> str | None:
    """The column that says `train` or `val`."""
    return _first(names, _SPLITS)


def long_columns(names: Iterable[str]) -> tuple[str, str] | None:
    """The columns for the metric's name and its value, where each row holds one value of any metric."""
    known = list(names)
    name, held = _first(known, _NAMES), _first(known, _VALUES)
    return (name, held) if name is not None and held is not None else None


def group_columns(names: Iterable[str]) -> list[str]:
    """The columns that tell runs apart, in the order of the file."""
    return [name for name in names if name.strip().lower() in _GROUPS]


def seconds(stamp: float | None) -> float:
    """Seconds since the epoch from a number in seconds or milliseconds, NaN where it is neither."""
    if stamp is None:
        return float("nan")
    if 1e9 <= stamp < 1e11:
        return stamp
    return stamp / 1000 if 1e12 <= stamp < 1e14 else float("nan")
