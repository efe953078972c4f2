"""The manifest's bytes, read as hostile: what is declared and where, or every mistake with file, line, column and mend."""

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from audit.documents.mistakes import Hints, Mistake, Path, Positions, complaints, document_error
from audit.documents.state import State
from audit.facts.strict_yaml import read_yaml, untyped
from audit.state.manifest import state_of, twice

if TYPE_CHECKING:  # pydantic is imported only where a manifest is read
    from audit.documents.manifest import Manifest

ADVICE: Final = "See docs/manifest.md, or `ml-audit schema manifest`."


class Declared(msgspec.Struct, frozen=True):
    """A manifest, the places of its keys, and its values by path."""

    manifest: "Manifest"
    positions: Positions
    state: State


def read_manifest(data: bytes, name: str = "ml-audit.yaml") -> "Manifest":
    """The manifest in `data`; `name` is the file's path in messages. Raises DocumentError, a line for every mistake."""
    return read_declared(data, name).manifest


def read_declared(data: bytes, name: str = "ml-audit.yaml") -> Declared:
    """The same, with the places."""
    from audit.documents.manifest import Manifest

    reading = read_yaml(data)
    if not reading.whole:
        raise document_error(reading.mistakes, name, ADVICE)
    positions = Positions(name, reading.marks, reading.flow)
    mistakes = list(reading.mistakes)
    value = {} if reading.value is None else reading.value
    manifest: Manifest | None = None
    if not isinstance(value, dict):
        mistakes.append(
            Mistake(*positions.nearest(()), f"a table is expected: {', '.join(Manifest.model_fields)}")
        )
    else:
        manifest = _validated(prepared(value, ()), positions, mistakes)
    if manifest is not None:
        mistakes += crossed(manifest, positions)
    if mistakes or manifest is None:
        raise document_error(mistakes, name, ADVICE)
    return Declared(manifest, positions, state_of(manifest, positions))


_FREE: Final = frozenset({"params", "metadata"})


def prepared(value: Any, path: Path) -> Any:
    """What is to be validated: keys that say nothing left out (a `TODO`), and YAML's own types where the manifest asks for none."""
    if path and (path[0] == "custom" or path[-1] in _FREE):
        return untyped(value)
    if isinstance(value, dict):
        return {key: prepared(item, (*path, key)) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [prepared(item, (*path, index)) for index, item in enumerate(value)]
    return value if value is None else str(value)


def _validated(value: Any, positions: Positions, mistakes: list[Mistake]) -> "Manifest | None":
    from pydantic import ValidationError

    from audit.documents.manifest import Manifest

    try:
        return Manifest.model_validate(value)
    except ValidationError as error:
        mistakes += complaints(error, Manifest, positions, Hints(CALLED, elsewhere=_elsewhere))
        return None


CALLED: Final = {
    "lr": "learning_rate",
    "num_train_epochs": "epochs",
    "num_epochs": "epochs",
    "n_epochs": "epochs",
    "max_epochs": "epochs",
    "per_device_train_batch_size": "batch_size",
    "train_batch_size": "batch_size",
    "micro_batch_size": "batch_size",
    "gradient_accumulation_steps": "gradient_accumulation",
    "lr_scheduler": "scheduler",
    "lr_scheduler_type": "scheduler",
    "optim": "optimizer",
    "max_grad_norm": "gradient_clipping",
    "max_seq_length": "max_length",
    "mixed_precision": "precision",
    "total_steps": "max_steps",
    "timesteps": "total_timesteps",
    "r": "rank",
    "lora_r": "rank",
    "lora_alpha": "alpha",
    "lora_dropout": "dropout",
    "torch_dtype": "dtype",
    "max_new_tokens": "max_tokens",
    "max_length_tokens": "max_tokens",
    "temp": "temperature",
    "num_return_sequences": "n",
    "stop_sequences": "stop",
    "tensor_parallel_size": "tensor_parallel",
    "version": "backend_version",
    "engine": "backend",
    "model": "id",
    "model_name": "id",
    "model_name_or_path": "id",
    "name": "id",
    "file": "path",
    "config": "subset",
    "config_name": "subset",
    "commit": "revision",
    "sha": "revision",
    "metric": "metrics",
    "cmd": "command",
    "docker": "container",
    "image": "container",
    "cli": "flag",
    "model_ref": "id",
}
"""What libraries call a setting -> what the manifest calls it."""


def _elsewhere(key: str, path: Path) -> str:
    """Where a key of this name belongs, the place closest to the one where it was written."""
    name = CALLED.get(key, key)
    found = [
        each
        for each in _known_settings()
        if each.rpartition(".")[2] == name or each.rpartition(".")[2] == key
    ]
    if not found:
        return ""
    return min(found, key=lambda each: (each.split(".")[0] != str(path[0]), each.count("."), each)).replace(
        "*", "ROLE"
    )


@cache
def _known_settings() -> tuple[str, ...]:
    from audit.documents.manifest import settings

    return tuple(each for each in settings() if not each.startswith("stages."))


# What fits together -----------------------------------------------------------------------------------------------------


def crossed(manifest: "Manifest", positions: Positions) -> Iterator[Mistake]:
    """What is right by itself and wrong beside the rest."""
    from audit.documents.manifest import is_setting

    for setting in manifest.bindings:
        if not is_setting(setting):
            near = difflib.get_close_matches(setting[:200], _known_settings(), 1, 0.6)
            hint = f"; perhaps {near[0].replace('*', 'ROLE')}" if near else ""
            yield Mistake(
                *positions.nearest(("bindings", setting)),
                f"bindings.{setting}: this names no setting of the manifest{hint}",
            )
    for path, dotted in twice(manifest):
        yield Mistake(
            *positions.nearest(path), f"{dotted}: two values come to this path; keep one, or rename its key"
        )
    for name, stage in manifest.stages.items():
        for index, needed in enumerate(stage.needs):
            if needed not in manifest.stages:
                near = difflib.get_close_matches(needed, manifest.stages, 1, 0.6)
                hint = f"; perhaps {near[0]}" if near else f"; there are {', '.join(manifest.stages)}"
                mark = positions.nearest(("stages", name, "needs", index))
                yield Mistake(*mark, f"stages.{name}.needs: there is no stage {needed}{hint}")
    for name in _circular({name: stage.needs for name, stage in manifest.stages.items()}):
        yield Mistake(
            *positions.nearest(("stages", name, "needs")),
            f"stages.{name}.needs: the stage needs itself, directly or through others",
        )


def _circular(needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Names that reach themselves; at most 50 names, so that asking for each is cheap."""
    found = []
    for start in needs:
        reached: set[str] = set()
        pending = list(needs[start])
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += needs.get(name, ())
        if start in reached:
            found.append(start)
    return found
