"""How training is done: the loop, distribution, precision, accumulation, evaluation."""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.python.model import Call
from audit.signals.knowledge import effects_of
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_ACCUMULATES = re.compile(
    r"(grad\w*_?acc(um|$)|accum\w*_(grad|steps?|iters?|iterations?|freq|batch)|^update_freq$|iters_to_accumulate|(^|_)n?_?acc(um)?_steps|^accum_freq$|micro_?batch)",
    re.I,
)
_HALF = re.compile(r"(bfloat16|float16|bf16|fp16|\bhalf\b)", re.I)
_NOT_MIXED = frozenset(
    {"", "None", "False", "32", "'32'", "'no'", "'32-true'", "'fp32'", "'float32'", "'full'", "64"}
)
_EVALUATION = re.compile(
    r"^_?(?:(?:do|run|get|compute|calc|calculate|model|final|full|online|offline)_)?"
    r"(?:evaluate|evaluation|eval|validate|validation|valid|val|test|tester|estimate_loss|compute_metrics|accuracy|score|benchmark|calculate_metrics)(?:_|$)"
    r"|evaluat"
)
_METRICS = ("lm_eval.", "lighteval.", "inspect_ai.", "evaluate.load", "torchmetrics.", "sklearn.metrics.")
_STRATEGIES = (
    ("deepspeed", "deepspeed"),
    ("fsdp", "fsdp"),
    ("ddp", "ddp"),
    ("dp", "dp"),
    ("horovod", "horovod"),
)


def training_loop(repository: Repository, path: TrainingPath) -> Signal[str]:
    """The primary kind of training loop, "none" for a repository that does not train."""
    kind, places = path.primary_loop
    return Signal(kind, places)


def launch_flags(repository: Repository, path: TrainingPath) -> Iterator[tuple[str, int, str, str]]:
    """Flags of the commands that start training entry points: (file, line, name without dashes, value)."""
    training = {entry.path for entry in path.training}
    names = {entry.rpartition("/")[2] for entry in training}
    for file, command in path.commands:
        if command.target and (command.target.rpartition("/")[2] in names or command.module):
            for flag in command.flags:
                yield file, flag.line, flag.name.lstrip("-").replace("-", "_"), flag.value


# Distribution ----------------------------------------------------------------------------------------------------


def distributed(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """What the training code can use to train on several devices."""
    places: dict[str, Place] = {}
    if not path.trains:
        return Signal(())
    for file, call in path.calls:
        for name in _distribution(call):
            places.setdefault(name, Place(file, call.line, name))
    inherited = {loop.kind for loop in path.all_loops} & {"hf_trainer", "lightning"}
    if inherited or "accelerate" in places or "deepspeed" in places:
        _from_configuration(repository, path, places)
        for name, where in _assigned_strategy(path):
            places.setdefault(name, where)
    for file, command in path.commands:
        if "deepspeed" in command.launchers and command.target:
            places.setdefault("deepspeed", Place(file, command.line, "deepspeed launcher"))
    order = (
        "ddp",
        "fsdp",
        "deepspeed",
        "accelerate",
        "horovod",
        "pmap",
        "ray",
        "dp",
        "megatron",
        "tf_distribute",
    )
    found = tuple(name for name in order if name in places)
    return Signal(found, tuple(places[name] for name in found)[:6])


def _distribution(call: Call) -> tuple[str, ...]:
    found = [name for effect in effects_of(call.name) for name in effect.distributed]
    last = call.name.rpartition(".")[2]
    if last in ("Trainer", "Fabric", "from_argparse_args"):
        text = f"{call.kwargs.get('strategy', '')} {call.kwargs.get('accelerator', '')} {call.kwargs.get('distributed_backend', '')}".lower()
        found += [name for word, name in _STRATEGIES if re.search(rf"(^|['\"\s_]){word}", text)]
    return tuple(found)


def _assigned_strategy(path: TrainingPath) -> Iterator[tuple[str, Place]]:
    """`trainer_config["accelerator"] = "ddp"`: the trainer's arguments built up as a mapping."""
    for file, assign in path.reached.assigns():
        if assign.target.endswith(("['accelerator']", "['strategy']")):
            for word, name in _STRATEGIES:
                if assign.value.lower().startswith(f"'{word}"):
                    yield name, Place(file, assign.line, name)


def _from_configuration(repository: Repository, path: TrainingPath, places: dict[str, Place]) -> None:
    """Distribution that a library's trainer is told by a flag or by a configuration file."""
    for file, line, name, value in launch_flags(repository, path):
        if name == "deepspeed" or (name.endswith("config_file") and "deepspeed" in value):
            places.setdefault("deepspeed", Place(file, line))
        if name == "fsdp" or (name.endswith("config_file") and "fsdp" in value):
            places.setdefault("fsdp", Place(file, line))
    for file, config in repository.configs.items():
        keys = {setting.key: setting for setting in config.settings}
        kind = keys.get("distributed_type")
        if kind is not None:
            how = {"DEEPSPEED": "deepspeed", "FSDP": "fsdp", "MULTI_GPU": "ddp"}.get(kind.value.upper())
            places.setdefault("accelerate", Place(file, kind.line))
            if how:
                places.setdefault(how, Place(file, kind.line))
        if any(key.startswith("zero_optimization.stage") for key in keys):
            places.setdefault(
                "deepspeed",
                Place(file, keys[next(k for k in keys if k.startswith("zero_optimization.stage"))].line),
            )
        for key in ("trainer.strategy", "strategy", "trainer.accelerator", "lightning.trainer.strategy"):
            if key in keys:
                for word, name in _STRATEGIES:
                    if keys[key].value.lower().startswith(word):
                        places.setdefault(name, Place(file, keys[key].line))


def all_reduce(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """A reduction over devices that the repository's own code calls."""
    names = ("all_reduce", "psum", "pmean", "allreduce")
    places = [
        Place(file, call.line)
        for file, facts in repository.code.items()
        for call in facts.calls
        if call.name.rpartition(".")[2] in names
    ]
    return Signal(bool(places), tuple(places[:3]))


# Precision and accumulation ----------------------------------------------------------------------------------------


def mixed_precision(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether training can run in reduced precision: autocast, a scaler, a precision argument, half-precision activations."""
    if not path.trains:
        return Signal(False)
    places = [Place(file, call.line) for file, call in path.calls if _reduces_precision(call)]
    kinds = {loop.kind for loop in path.all_loops}
    for file, command in path.commands:
        if "accelerate launch" in command.launchers and re.search(
            r"--mixed_precision[ =](bf16|fp16|fp8)", command.text
        ):
            places.append(Place(file, command.line))
    if kinds & {"hf_trainer", "lightning"}:
        for file, line, name, value in launch_flags(repository, path):
            if (name in ("fp16", "bf16") and value.lower() not in ("false", "0")) or (
                name in ("precision", "mixed_precision") and _HALF.search(value)
            ):
                places.append(Place(file, line))
        for file, config in repository.configs.items():
            for setting in config.settings:
                last = setting.key.rpartition(".")[2]
                if (last in ("fp16", "bf16") and setting.value.lower() == "true") or (
                    last in ("precision", "mixed_precision")
                    and (setting.value in ("16", "bf16", "fp16") or "mixed" in setting.value)
                ):
                    places.append(Place(file, setting.line))
    if any(call.name.startswith("deepspeed.") for _, call in path.calls):
        places += [
            Place(file, setting.line)
            for file, config in repository.configs.items()
            for setting in config.settings
            if re.search(r"(^|\.)(fp16|bf16|bfloat16)\.enabled$", setting.key)
            and setting.value.lower() == "true"
        ]
    if "jax" in kinds or "rl" in kinds:
        places += _half_activations(repository, path)
    return Signal(bool(places), tuple(places[:3]))


def _reduces_precision(call: Call) -> bool:
    last = call.name.rpartition(".")[2]
    if last.startswith("MixedPrecision"):
        return True
    if last in (
        "autocast",
        "GradScaler",
        "LossScaleOptimizer",
        "MixedPrecision",
        "MixedPrecisionPolicy",
        "enable_mixed_precision_graph_rewrite",
    ):
        return call.kwargs.get("enabled") not in ("False",)
    if call.name in ("apex.amp.initialize", "amp.initialize") or call.name.startswith("apex.fp16_utils"):
        return True
    if last in ("set_global_policy", "set_policy"):
        return any("mixed" in arg or "float16" in arg for arg in call.args)
    for word in ("precision", "mixed_precision"):
        if word in call.kwargs and last in ("Trainer", "Fabric", "Accelerator", "from_argparse_args"):
            return call.kwargs[word] not in _NOT_MIXED
    return any(call.kwargs.get(word, "False") not in ("False", "None") for word in ("fp16", "bf16"))


def _half_activations(repository: Repository, path: TrainingPath) -> list[Place]:
    """JAX models take their activations' type as a setting."""
    found = []
    for file, assign in path.reached.assigns():
        if re.search(
            r"(half|mixed|use_bf16|use_half|bfloat16|compute_dtype)", assign.target, re.I
        ) and not assign.target.startswith("os."):
            found.append(Place(file, assign.line))
    for file in path.reached.scopes:
        if {"half_precision", "mixed_precision", "use_mixed_precision", "use_bfloat16"} & set(
            repository.code[file].attributes
        ):
            found.append(Place(file, None))
    return found


@cache
def _accumulates(name: str) -> bool:
    return _ACCUMULATES.search(name) is not None


def gradient_accumulation(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether the training code can accumulate gradients over several batches."""
    if not path.trains:
        return Signal(False)
    places: list[Place] = []
    for file, call in path.calls:
        words = [
            call.name.rpartition(".")[2],
            *call.kwargs,
            *(a.strip("'-").replace("-", "_") for a in call.args[:2] if a.startswith("'-")),
        ]
        steps = words[0] == "step" and re.search(r"accum", call.test, re.I)
        if (
            steps
            or any(map(_accumulates, words))
            or call.name.endswith(("MultiSteps", "accelerator.accumulate"))
        ):
            places.append(Place(file, call.line))
    for file, assign in path.reached.assigns():
        if _accumulates(assign.target.rpartition(".")[2]) and not assign.value.startswith(("'", '"')):
            places.append(Place(file, assign.line))
    for file in path.reached.scopes:
        if any(map(_accumulates, repository.code[file].attributes)):
            places.append(Place(file, None))
        for index in path.reached.scopes[file]:
            for param in repository.code[file].scopes[index].params:
                if _accumulates(param.name):
                    places.append(Place(file, param.line))
    if any(loop.kind in ("hf_trainer", "lightning") for loop in path.all_loops):
        places += [
            Place(f, line) for f, line, name, _ in launch_flags(repository, path) if _accumulates(name)
        ]
        for file, config in repository.configs.items():
            places += [Place(file, s.line) for s in config.settings if _accumulates(s.key.rpartition(".")[2])]
    return Signal(bool(places), tuple(sorted(set(places), key=lambda p: (p.line is None, p)))[:3])


# Evaluation ------------------------------------------------------------------------------------------------------


def evaluation(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether the repository holds code that measures a model."""
    by_name: dict[str, list[Place]] = defaultdict(list)
    for file, facts in repository.code.items():
        stem = file.rpartition("/")[2].removesuffix(".py")
        if _EVALUATION.search(stem) and len(facts.scopes) > 1:
            by_name["file"].append(Place(file, 1))
        for scope in facts.scopes:
            if (
                scope.kind == "function"
                and _EVALUATION.search(scope.name)
                and not scope.name.startswith("__")
            ):
                by_name["function"].append(Place(file, scope.line, scope.name))
        for call in facts.calls:
            receiver, _, last = call.name.rpartition(".")
            if call.name.startswith(_METRICS) or (
                last in ("evaluate", "validate") and "trainer" in receiver.lower()
            ):
                by_name["library"].append(Place(file, call.line))
    places = by_name["function"] + by_name["file"] + by_name["library"]
    return Signal(bool(places), tuple(places[:3]))
