"""What training writes to come back to, and whether it can."""

import re
from collections.abc import Iterator

from audit.documents.place import Place
from audit.documents.signals import Checkpoint, Signal
from audit.facts.python.model import Assign, Call
from audit.signals.knowledge import effects_of
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_PARTS = (
    ("rng_state", re.compile(r"(rng|random_state|randstate|prng)", re.I)),
    ("optimizer", re.compile(r"(optim|opt_state|(^|[_.])opt($|[_.\d\[])|(^|_)solver|sgd|adam)", re.I)),
    ("progress", re.compile(r"(epoch|step|iter|progress|trained_batches|num_timesteps)", re.I)),
    ("model", re.compile(r"(model|net|state_dict|weight|params|generator|encoder|decoder|(^|_)ema|actor|critic|policy|module|agent|backbone|head)", re.I)),
)  # fmt: skip
_SAVES = frozenset(
    {
        "save",
        "save_checkpoint",
        "save_on_master",
        "dump",
        "save_state",
        "save_model",
        "save_file",
        "write_checkpoint",
    }
)
_NOT_CHECKPOINTS = (
    "numpy.",
    "json.",
    "yaml.",
    "csv.",
    "PIL.",
    "cv2.",
    "matplotlib.",
    "torchvision.",
    "plt.",
    "wandb.",
    "pandas.",
    "image",
    "img",
    "fig",
)
_ALL = ("model", "optimizer", "rng_state", "progress")


def checkpoint(repository: Repository, path: TrainingPath) -> Signal[Checkpoint | None]:
    """What the shipped training code writes, what its trainer writes included; None where nothing trains."""
    if not path.trains:
        return Signal(None)
    found: dict[str, Place] = {}
    for file, call in path.calls:
        for part in _written(path, file, call):
            found.setdefault(part, Place(file, call.line, part))
    for loop in path.all_loops:
        where = Place(loop.node[0], loop.line, "written by the inherited trainer")
        inherited = {
            "hf_trainer": _ALL,
            "lightning": ("model", "optimizer", "progress") if not _is_fabric(path, loop.node[0]) else (),
        }
        for part in inherited.get(loop.kind, ()):
            found.setdefault(part, where)
    places = tuple(dict.fromkeys(found[part] for part in _ALL if part in found))
    return Signal(Checkpoint(**{part: part in found for part in _ALL}), places[:4])


def _is_fabric(path: TrainingPath, file: str) -> bool:
    return any("abric" in call.name for call in path.source(file).calls)


def _written(path: TrainingPath, file: str, call: Call) -> tuple[str, ...]:
    """The parts of a training state that a call writes."""
    last = call.name.rpartition(".")[2]
    named = [part for effect in effects_of(call.name) for part in effect.checkpoint]
    if named:
        return tuple(named)
    roots = path.heads(file)
    if last in ("ModelCheckpoint", "BackupAndRestore") and roots & {"keras", "tensorflow", "tf_keras"}:
        only_weights = call.kwargs.get("save_weights_only") == "True"
        return ("model",) if only_weights else ("model", "optimizer")
    if last == "save" and "stable_baselines3" in roots:
        return ("model", "optimizer", "progress")
    if not (last in _SAVES or last.lstrip("_").startswith("save_")) or call.name.lower().startswith(
        _NOT_CHECKPOINTS
    ):
        return ()
    receiver = call.name.rpartition(".")[0]
    if "client_state" in call.kwargs:  # DeepSpeed's engines
        return ("model", "optimizer", "progress", *_parts_of(path, file, call, call.kwargs["client_state"]))
    if receiver.rpartition(".")[2].lower() in (
        "saver",
        "checkpoint_manager",
        "ckpt_manager",
        "manager",
        "checkpointer",
        "ckptr",
        "mngr",
        "ckpt_mngr",
    ):
        return ("model", "optimizer", "progress")
    parts: set[str] = set()
    for value in [
        *call.args,
        *(v for k, v in call.kwargs.items() if k in ("obj", "state", "target", "item", "items", "save_dict")),
    ]:
        parts.update(_parts_of(path, file, call, value))
    if (
        not parts
        and roots & {"keras", "tensorflow", "tf_keras"}
        and last == "save"
        and not call.name.startswith("torch.")
    ):
        return ("model",)
    if call.name in ("pickle.dump", "joblib.dump") and any(loop.kind == "sklearn" for loop in path.all_loops):
        return ("model",)
    if not parts and call.name in ("torch.save", "pickle.dump", "joblib.dump"):
        parts.update(
            part for part, pattern in _PARTS if part == "model" and call.args and pattern.search(call.args[0])
        )
    return tuple(sorted(parts))


def _parts_of(path: TrainingPath, file: str, call: Call, value: str) -> Iterator[str]:
    if value.startswith("{"):
        yield from _parts_of_dict(value)
    elif value.endswith(".state_dict()"):
        yield from ("optimizer",) if _PARTS[1][1].search(value) else ("model",)
    elif re.fullmatch(r"[\w.]+", value) and not value[0].isdigit():
        for assign in path.source(file).assigns:
            yield from _parts_of_assign(assign, value, call)
        yield from _parts_of_flax_state(path, file, call, value)


def _parts_of_assign(assign: Assign, value: str, call: Call) -> Iterator[str]:
    if assign.target == value and assign.value.startswith("{"):
        yield from _parts_of_dict(assign.value)
    elif assign.target.startswith(value + "["):
        key = assign.target[len(value) + 1 : -1].strip("'\"")
        yield from _parts_of_key(key, assign.value)


def _parts_of_flax_state(path: TrainingPath, file: str, call: Call, value: str) -> Iterator[str]:
    """A TrainState carries parameters, optimizer state and step."""
    if "save_checkpoint" in call.name and re.search(r"(train_)?state$", value):
        roots = path.heads(file)
        if roots & {"flax", "jax", "orbax"}:
            yield from ("model", "optimizer", "progress")


def _parts_of_dict(text: str) -> Iterator[str]:
    """Parts named by the keys of a rendered dict, or by what stands under them."""
    for key, value in re.findall(
        r"['\"]([\w\-./ ]{1,60})['\"]: ((?:[^,{}()\[\]]|\([^()]*\)|\[[^\[\]]*\])*)", text
    ):
        yield from _parts_of_key(key, value)
    for star in re.findall(r"\*\*([\w.]+)", text):
        yield from _parts_of_key(star, "")


def _parts_of_key(key: str, value: str) -> Iterator[str]:
    if re.search(r"(best|args|config|version|time|class|name)", key, re.I) and not value.endswith(
        "state_dict()"
    ):
        return
    for part, pattern in _PARTS:
        if pattern.search(key) or (
            part in ("optimizer", "rng_state")
            and re.search(r"optim\w*\.state_dict|get_rng_state|random\.getstate|random\.get_state", value)
            and part in _value_part(value)
        ):
            yield part
            return
    if value.endswith(".state_dict()"):
        yield "model"


def _value_part(value: str) -> str:
    return "rng_state" if re.search(r"rng_state|getstate|get_state", value) else "optimizer"


# Coming back -------------------------------------------------------------------------------------------------------

_RESTORES = re.compile(
    r"(restore_checkpoint|restore_or_initialize|latest_step|load_checkpoint|resume_from_checkpoint|load_state|auto_load_model|resume\w*)"
)


# `start_epoch = checkpoint["epoch"]`
_PROGRESS_READ = re.compile(
    r"^\w+\['(epoch|step|global_step|iter|iter_num|iteration|steps|epochs)'\]( \+ 1)?$"
)


def resume(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether training can take up again with its optimizer or step."""
    if not path.trains:
        return Signal(False)
    places = [Place(file, call.line) for file, call in path.calls if _resumes(path, file, call)]
    loading = {
        file
        for file, call in path.calls
        if call.name.rpartition(".")[2] in ("load", "load_checkpoint", "restore")
    }
    for file, assign in path.reached.assigns():
        if file in loading and _PROGRESS_READ.search(assign.value):
            places.append(Place(file, assign.line))
    return Signal(bool(places), tuple(places[:3]))


def _resumes(path: TrainingPath, file: str, call: Call) -> bool:
    receiver, _, last = call.name.rpartition(".")
    if last in ("Estimator", "TPUEstimator") and receiver.startswith("tensorflow"):
        return True  # an estimator takes up what its model_dir holds
    if re.search(r"(load|restore|resume|restart)\w*checkpoint|load_ckpt|auto_resume", last) and any(
        re.search(r"optim", word, re.I) for word in (*call.args, *call.kwargs)
    ):
        return True
    if last == "load_state_dict":
        text = receiver + " " + " ".join(call.args)
        return bool(re.search(r"(optim|(^|[._])opt($|[._\s\[])|sched)", text, re.I))
    if call.kwargs.get("resume_from_checkpoint", "None") not in ("None", "False") or call.kwargs.get(
        "ckpt_path", "None"
    ) not in ("None", "'best'", "'last'"):
        return (
            last in ("train", "fit", "Trainer", "from_argparse_args")
            or "resume_from_checkpoint" in call.kwargs
        )
    if last in ("restore", "restore_checkpoint", "restore_or_initialize", "latest_step", "latest_checkpoint"):
        return True
    if last == "load_state" and "accelerator" in receiver:
        return True
    if last in ("fit", "fit_generator") and call.kwargs.get("initial_epoch", "0") not in ("0",):
        return not call.kwargs["initial_epoch"].isdigit() or _loads_whole_model(path, file)
    if last == "load" and "env" in call.kwargs and "stable_baselines3" in path.heads(file):
        return True
    return last == "load" and receiver.rpartition(".")[2] in ("fabric", "PPO", "checkpoint_manager")


def _loads_whole_model(path: TrainingPath, file: str) -> bool:
    return any(call.name.rpartition(".")[2] == "load_model" for call in path.source(file).calls)
