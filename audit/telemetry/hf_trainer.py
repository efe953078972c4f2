"""`trainer_state.json` of the transformers Trainer (source: transformers `trainer_callback.py`, TrainerState).

Two things the file does not tell: with `logging_nan_inf_filter` (the default) a step whose loss is not finite is
logged as the average without it, and `loss` is the mean since the last log. `train_loss` is the run's average.
"""

from collections.abc import Mapping

from audit.telemetry.artifact import Artifact
from audit.telemetry.building import Collector
from audit.telemetry.flatten import settings
from audit.telemetry.model import Format, Run, Scalar, Telemetry
from audit.telemetry.numbers import value, whole

_AVERAGES = (
    "train_loss",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
    "total_flos",
)
"""What the last row of a finished training holds: of the run as a whole, no point of a history."""

_KEPT = (
    "max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps",
    "num_input_tokens_seen", "total_flos", "epoch", "best_metric", "best_global_step", "best_model_checkpoint",
)  # fmt: skip


def fits(document: object) -> bool:
    """Whether it has a trainer's history and its step."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("log_history"), list)
        and "global_step" in document
    )


def read(document: Mapping[str, object], artifact: Artifact) -> Telemetry:
    """The history as series by step, the state as a run."""
    run = artifact.folder.rsplit("/", 1)[-1] or artifact.file
    collector = Collector(Format.HF_TRAINER)
    averages: dict[str, float] = {}
    history = document.get("log_history")
    for row in history if isinstance(history, list) else ():
        if isinstance(row, dict):
            averages |= _take(row, run, artifact, collector)
    state = _state(document)
    best = value(document.get("best_metric"))
    return Telemetry(
        series=collector.series(),
        runs=(
            Run(
                name=run,
                source=artifact.name,
                format=Format.HF_TRAINER,
                settings=state,
                summary=averages | ({"best_metric": best} if best is not None else {}),
                planned_steps=whole(document.get("max_steps")),
                last_step=whole(document.get("global_step")),
            ),
        ),
        files=(artifact.name,),
    )


def _take(row: Mapping[str, object], run: str, artifact: Artifact, collector: Collector) -> dict[str, float]:
    step = whole(row.get("step"))
    final = "train_runtime" in row
    averages = {}
    for name, item in row.items():
        found = value(item)
        if final and name in _AVERAGES and found is not None:
            averages[name] = found
        elif name == "step" or step is None:
            continue
        elif found is not None:
            collector.add(str(name), step, found, run=run, source=artifact.name)
        elif item is None:
            collector.null(str(name), run=run, source=artifact.name)
    return averages


def _state(document: Mapping[str, object]) -> dict[str, Scalar]:
    known = settings({key: item for key, item in document.items() if key != "log_history"})
    return {key: item for key, item in known.items() if key in _KEPT or key.startswith("trial_params.")}


def newest(artifacts: list[Artifact]) -> tuple[list[Artifact], list[Artifact]]:
    """Of the states of one run (`checkpoint-100/`, `checkpoint-200/`, and the folder above them) the newest, and the
    others, whose histories it repeats.
    """
    runs: dict[str, list[tuple[float, Artifact]]] = {}
    for artifact in artifacts:
        folder, _, last = artifact.folder.rpartition("/")
        number = last.removeprefix("checkpoint-")
        inside = number != last and number.isdecimal()
        runs.setdefault(folder if inside else artifact.folder, []).append(
            (float(number) if inside and len(number) < 18 else float("inf"), artifact)
        )
    kept, left = [], []
    for states in runs.values():
        states.sort(key=lambda state: state[0])
        kept.append(states[-1][1])
        left += [artifact for _, artifact in states[:-1]]
    return kept, left
