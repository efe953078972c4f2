"""The experiments of a repository: entry points with the commands that start them, each with its settings."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.documents.signals import Signals
from audit.documents.state import Confidence, Leaf, Source, State
from audit.facts.classify import is_test_path
from audit.signals.repository import Repository
from audit.signals.training_path import Entry, TrainingPath, resolve_target
from audit.state.observed import hydra
from audit.state.observed.calls import Group, by_calls, by_names, library_defaults
from audit.state.observed.choosing import choose
from audit.state.observed.identities import identities
from audit.state.observed.launches import Launch, add_command, add_config, launch_of
from audit.state.observed.model import Experiment, Rank
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.settings import Settings

MAX_EXPERIMENTS = 60
_MAX_LAUNCHES = 40
_TOOL = re.compile(
    r"(?i)(?:^|[/_\-])(?:convert\w*|export\w*|demo\w*|visuali\w*|plot\w*|download\w*|upload\w*|preprocess\w*|prepare\w*|release\w*|setup|merge\w*|push\w*|tokenize\w*|stats?|check\w*|scrape\w*)(?=[_.\-]|$)"
)


def experiments(repository: Repository, path: TrainingPath, signals: Signals) -> tuple[Experiment, ...]:
    """All experiments that the code shows, the main one first; at most sixty.

    Main is what trains (where nothing does: what evaluates), what the README starts first, what stands nearest to the root.
    """
    found: list[Experiment] = []
    names: set[str] = set()
    for scene, launch in _runs(repository, path):
        made = _observed(scene, launch, signals)
        if made is None:
            continue
        name = _unique(made.name, names)
        names.add(name)
        found.append(msgspec.structs.replace(made, name=name))
        if len(found) >= MAX_EXPERIMENTS:
            break
    return tuple(found)


def _runs(repository: Repository, path: TrainingPath) -> Iterator[tuple[Scene, Launch]]:
    training = list(path.training)
    others = [entry for entry in path.evaluating if entry not in training]
    by_entry: dict[str, list[Launch]] = {}
    for origin, command in path.commands:
        if not command.target or is_test_path(origin) or origin.startswith(".github/"):
            continue
        for target in resolve_target(repository, path.graph, command, origin)[:1]:
            by_entry.setdefault(target, []).append(launch_of(repository, origin, command))
    chosen = [entry for entry in (*training, *others) if not _TOOL.search(entry.path)]
    rows = []
    for entry in dict.fromkeys(chosen):
        scene = Scene(path, entry)
        launches = by_entry.get(entry.path, [])[:_MAX_LAUNCHES] or [Launch(entry.path, None)]
        for launch in launches:
            rows.append((_order(repository, scene, launch), len(rows), scene, launch))
    for _, _, scene, launch in sorted(rows, key=lambda row: row[:2]):
        yield scene, launch


def _order(repository: Repository, scene: Scene, launch: Launch) -> tuple[int, int, int, int]:
    entry = scene.entry
    trains = 0 if entry in scene.path.training else 1
    readme = 0 if launch.origin == repository.readme else 1
    return trains, 0 if entry.documented else 1, readme, entry.path.count("/")


def _observed(scene: Scene, launch: Launch, signals: Signals) -> Experiment | None:
    settings = _settings(scene, launch)
    resolver = Resolver(scene.graph, settings)
    groups = [
        *library_defaults(scene),
        *by_calls(scene, resolver),
        *by_names(scene, resolver),
        *identities(scene, resolver),
        *_command(launch),
    ]
    chosen = choose(groups)
    if not any(name.startswith(("models.", "datasets.", "training.", "generation.")) for name in (*chosen.state.leaves, *chosen.candidates)):
        return None
    return Experiment(
        _name(scene.entry, launch),
        scene.entry.path,
        launch.place,
        (),
        chosen.state,
        chosen.candidates,
    )


def _settings(scene: Scene, launch: Launch) -> Settings:
    settings = scene.settings.copy()
    if scene.hydra is not None:
        hydra.compose(settings, scene.repository, *scene.hydra, launch.command)
    for file in launch.files:
        if file in scene.repository.configs:
            add_config(settings, file, scene.repository.configs[file], Rank.CONFIG)
        else:
            _add_python(settings, scene.repository, file)
    add_command(settings, launch, strict=scene.strict)
    return settings


def _add_python(settings: Settings, repository: Repository, file: str) -> None:
    from audit.state.observed.options import constant_option

    for assign in repository.code[file].assigns:
        option = constant_option(file, assign) if assign.scope == 0 and assign.target.isidentifier() else None
        if option is not None and option.said is not None:
            settings.add(option.name, msgspec.structs.replace(option.said, rank=Rank.CONFIG))


def _command(launch: Launch) -> Iterator[Group]:
    command = launch.command
    if command is None:
        return
    yield Group("execution.command", (Said(command.text, launch.place, "command", Rank.CODE),))
    if command.launchers:
        yield Group("execution.launcher", (Said(command.launchers[-1], launch.place, "command", Rank.CODE),))


def _name(entry: Entry, launch: Launch) -> str:
    if launch.files:
        parts = launch.files[-1].rpartition(".")[0].split("/")
        return _slug("-".join(parts[-2:] if len(parts) > 2 else parts[-1:]))
    stem = entry.path.rpartition("/")[2].removesuffix(".py")
    if launch.origin.endswith((".sh", ".slurm", ".sbatch", ".bash", ".job")):
        return _slug(launch.origin.rpartition("/")[2].rpartition(".")[0])
    return _slug(stem)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "experiment"


def _unique(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, 10_000) if f"{name}-{n}" not in taken)


__all__ = ["Confidence", "Leaf", "Place", "Source", "State", "experiments"]
