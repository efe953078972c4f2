"""What a person can set, and where runs are recorded."""

import re
from collections.abc import Iterator
from functools import cache

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.signals.graph import Reached
from audit.signals.knowledge import effects_of
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_TRACKERS = (
    "wandb",
    "tensorboard",
    "mlflow",
    "comet",
    "comet_ml",
    "neptune",
    "clearml",
    "aim",
    "trackio",
    "swanlab",
    "dvclive",
)
# Importing one of these on the training path is using it, also through a handle (`backend = wandb or trackio`).
_IMPORTS = {name: name for name in ("wandb", "mlflow", "neptune", "clearml", "aim", "trackio", "swanlab")} | {
    "comet_ml": "comet"
}
_CALLS = (
    ("argparse", re.compile(r"argparse\.(ArgumentParser|\w*Parser)|(.*\.)?ArgumentParser|configargparse\.\w+")),
    ("hydra", re.compile(r"hydra\.(main|initialize\w*|compose|utils\.instantiate|experimental\.\w+)")),
    ("omegaconf", re.compile(r"omegaconf\.(OmegaConf|DictConfig|omegaconf)\b.*|OmegaConf\..*")),
    ("yaml", re.compile(r"(yaml|ruamel\.yaml)\.(safe_load|load|full_load|unsafe_load|FullLoader|YAML)")),
    ("json", re.compile(r"json\.loads?")),
    ("gin", re.compile(r"gin\.(parse_\w+|configurable|bind_parameter|add_config\w*)")),
    ("ml_collections", re.compile(r"ml_collections\..*|config_flags\..*")),
    ("absl", re.compile(r"absl\.(flags\.\w+|app\.run)|(tensorflow\.)?(compat\.v1\.)?(app\.flags|flags)\.DEFINE_\w+")),
    ("fire", re.compile(r"fire\.Fire")),
    ("click", re.compile(r"click\.(command|option|group|argument)")),
    ("typer", re.compile(r"typer\.\w+")),
    ("tyro", re.compile(r"tyro\.\w+(\.\w+)*")),
    ("jsonargparse", re.compile(r"jsonargparse\.\w+|(.*\.)?LightningCLI")),
    ("hfargumentparser", re.compile(r"(.*\.)?(HfArgumentParser|TrlParser|H4ArgumentParser)")),
    ("simple_parsing", re.compile(r"simple_parsing\.\w+")),
    ("exec_python_files", re.compile(r"exec|runpy\.run_path|importlib\.util\.spec_from_file_location")),
)  # fmt: skip


def experiment_tracking(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """Trackers that the training code (or the evaluation code beside it) writes to."""
    places: dict[str, Place] = {}
    for name, where in (*_called(path), *_derived(path), *_told(repository, path)):
        places.setdefault(name, where)
    return Signal(tuple(sorted(places)), tuple(places[name] for name in sorted(places))[:4])


def _called(path: TrainingPath) -> Iterator[tuple[str, Place]]:
    """Trackers that a call makes or a trainer is told to report to."""
    for file, call in path.calls:
        for effect in effects_of(call.name):
            for name in effect.tracking:
                yield name, Place(file, call.line, name)
        if "tensorboard_log" in call.kwargs:
            yield "tensorboard", Place(file, call.line, "tensorboard_log")
        for name in _reported(call.kwargs.get("report_to", "") + call.kwargs.get("log_with", "")):
            yield name, Place(file, call.line, "report_to")


def _derived(path: TrainingPath) -> Iterator[tuple[str, Place]]:
    """Trackers that a class derives from, or that a module on the path imports."""
    for file, indices in path.reached.scopes.items():
        facts = path.source(file)
        for index in indices:
            for base in facts.scopes[index].bases:
                for effect in effects_of(base):
                    yield from (
                        (name, Place(file, facts.scopes[index].line, name)) for name in effect.tracking
                    )
        for item in facts.imports:
            tracker = _IMPORTS.get(item.module.partition(".")[0])
            if tracker and item.scope in indices:
                yield tracker, Place(file, item.line, tracker)


def _told(repository: Repository, path: TrainingPath) -> Iterator[tuple[str, Place]]:
    """Trackers that configuration or a command tells the Hugging Face trainer to report to."""
    if not any(loop.kind == "hf_trainer" for loop in path.all_loops):
        return
    for file, config in repository.configs.items():
        for setting in config.settings:
            if setting.key.partition(".")[0] == "report_to":
                yield from (
                    (name, Place(file, setting.line, "report_to")) for name in _reported(setting.value)
                )
    for file, command in path.commands:
        for flag in command.flags:
            if flag.name.lstrip("-") == "report_to":
                yield from ((name, Place(file, flag.line, "report_to")) for name in _reported(flag.value))


def _reported(text: str) -> list[str]:
    words = re.findall(r"\w+", text.lower())
    return [{"comet_ml": "comet"}.get(name, name) for name in _TRACKERS if name in words]


def config_driven(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """How a training or evaluation entry point takes its settings."""
    evaluating = path.evaluating
    if path.training:
        evaluating = tuple(
            entry for entry in evaluating if re.search(r"eval|judge", entry.path.rpartition("/")[2])
        )
    entries = [*path.training, *evaluating]
    reached = Reached(path.graph.python, path.graph.reach(node for entry in entries for node in entry.starts))
    places: dict[str, Place] = {}
    for file, call in reached.calls():
        for name in _settings_by(call.name):
            places.setdefault(name, Place(file, call.line, call.name))
    for file, indices in reached.scopes.items():
        for item in path.source(file).imports:
            if item.module == "omegaconf":
                places.setdefault("omegaconf", Place(file, item.line))
        for index in indices:
            scope = path.source(file).scopes[index]
            for decorator in scope.decorators:
                if decorator.startswith("hydra.main"):
                    places.setdefault("hydra", Place(file, scope.line))
                if decorator.startswith(
                    ("dataclasses.dataclass", "dataclass", "flax.struct.dataclass")
                ) and _is_config(scope.name):
                    places.setdefault("dataclass", Place(file, scope.line))
            if index and any(base.endswith(("TypedArgs", "Tap")) for base in scope.bases):
                places.setdefault("tap", Place(file, scope.line))
    return Signal(tuple(sorted(places)), tuple(places[name] for name in sorted(places))[:6])


@cache
def _settings_by(name: str) -> tuple[str, ...]:
    """The ways to take settings that a call of this name belongs to."""
    return tuple(way for way, pattern in _CALLS if pattern.fullmatch(name))


def _is_config(name: str) -> bool:
    return bool(re.search(r"(arg|config|cfg|param|option|setting)", name, re.I))
