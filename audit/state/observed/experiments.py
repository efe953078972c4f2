"""The experiments of a repository: entry points with the commands that start them, each with its settings."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.signals import Signals
from audit.facts.classify import is_test_path
from audit.facts.model import Command, DependencyFacts
from audit.signals.repository import Repository
from audit.signals.training_path import Entry, TrainingPath, resolve_target
from audit.state.observed import hydra
from audit.state.observed.calls import by_calls, by_names
from audit.state.observed.choosing import choose
from audit.state.observed.features import directory, of_command, of_kind, prompts
from audit.state.observed.identities import identities
from audit.state.observed.kinds import Detected, detected_in, profiles_of
from audit.state.observed.launches import Launch, add_command, add_config, launch_of
from audit.state.observed.lora import settled
from audit.state.observed.model import Experiment, Rank
from audit.state.observed.naming import distinct, name_of
from audit.state.observed.options import constant_option
from audit.state.observed.providers import with_providers
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.settings import Settings
from audit.state.observed.shared import Shared
from audit.state.observed.tools import ToolScene, add_arguments, tool_of

MAX_EXPERIMENTS = 60
_MAX_LAUNCHES = 40
_MAX_ENTRIES = 40
_MOST_SCOPES = 120_000
"""Scopes that the entry points may reach together; of a library with hundreds of examples, the likeliest are looked at."""
_TOOL = re.compile(
    r"(?i)(?:^|[/_\-])(?:convert\w*|export\w*|demo\w*|visuali\w*|plot\w*|download\w*|upload\w*|preprocess\w*|prepare\w*|release\w*|setup|merge\w*|push\w*|tokenize\w*|stats?|check\w*|scrape\w*)(?=[_.\-]|$)"
)


def experiments(repository: Repository, path: TrainingPath, signals: Signals) -> tuple[Experiment, ...]:
    """All experiments that the code shows, the main one first; at most sixty.

    Main is what trains (where nothing does: what evaluates), what the README starts first, what stands nearest to the root.
    """
    detected = detected_in(signals)
    made = [
        (launch, each)
        for scene, launch in _runs(repository, path)
        if (each := _observed(scene, launch, detected)) is not None
    ]
    named = distinct([(each.name, launch) for launch, each in made])
    return tuple(
        msgspec.structs.replace(each, name=name) for (_, each), name in zip(made, named, strict=True)
    )[:MAX_EXPERIMENTS]


def started_by(
    repository: Repository, path: TrainingPath, signals: Signals, command: Command, origin: str
) -> Experiment | None:
    """The experiment that one more command, which stands in `origin`, starts; None where it starts nothing of this repository."""
    target = next(iter(_targets(repository, path, command, origin)), None)
    tool = tool_of(command) if target is None else None
    if tool is not None:
        run = ToolScene(path, Shared(path.graph), tool)
        return _observed(run, launch_of(repository, origin, command), detected_in(signals))
    if target is None and command.target in repository.scripts:
        inner = repository.scripts[command.target].commands
        found = (
            started_by(repository, path, signals, each, command.target)
            for each in inner
            if each.target != command.target
        )
        return next((each for each in found if each is not None), None)
    if target is None or target not in repository.code:
        return None
    entry = next((entry for entry in path.entries if entry.path == target), None)
    if entry is None:
        entry = Entry(target, ((target, 0),), False)
    scene = Scene(path, entry, Shared(path.graph))
    return _observed(scene, launch_of(repository, origin, command), detected_in(signals))


def _targets(repository: Repository, path: TrainingPath, command: Command, origin: str) -> tuple[str, ...]:
    """The files that a command starts."""
    if command.target:
        return resolve_target(repository, path.graph, command, origin)
    return _console_scripts(repository, path).get(command.program, ())


def _runs(repository: Repository, path: TrainingPath) -> Iterator[tuple[Scene, Launch]]:
    by_entry = _launches(repository, path)
    first = _first_in_readme(repository)
    rows: list[tuple[tuple[int, ...], int, Scene, Launch]] = []
    shared = Shared(path.graph)
    left = _MOST_SCOPES
    for entry in sorted(_entries(path), key=_likely)[:_MAX_ENTRIES]:
        scene = Scene(path, entry, shared)
        left -= len(scene.nodes)
        if left < 0 and rows:
            break
        launches = by_entry.get(entry.path, [])
        whole = [launch for launch in launches if not launch.is_template]
        for launch in (whole or launches[:1] or [Launch(entry.path, None)])[:_MAX_LAUNCHES]:
            rows.append((_order(repository, scene, launch, first), len(rows), scene, launch))
    rows += _tool_runs(repository, path, shared, first, len(rows))
    for _, _, scene, launch in sorted(rows, key=lambda row: row[:2])[: 2 * MAX_EXPERIMENTS]:
        yield scene, launch


def _likely(entry: Entry) -> tuple[bool, bool, bool, bool, int, str]:
    """What is most likely an experiment comes first, as far as the path tells."""
    name = entry.path.rpartition("/")[2]
    return (
        not entry.documented,
        bool(_PREPARES.search(entry.path)),
        bool(_TOY.search(entry.path)),
        not _TRAINS.search(name),
        entry.path.count("/"),
        entry.path,
    )


def _tool_runs(
    repository: Repository, path: TrainingPath, shared: Shared, first: dict[str, int], start: int
) -> Iterator[tuple[tuple[int, ...], int, Scene, Launch]]:
    """Runs of other people's programs, behind those of the repository's own."""
    own = _console_scripts(repository, path)
    seen: set[str] = set()
    for origin, command in path.commands:
        tool = tool_of(command)
        if (
            tool is None
            or command.program in own
            or is_test_path(origin)
            or origin.startswith(".github/")
            or command.text in seen
        ):
            continue
        if command.module and path.graph.modules.resolve(command.target, origin)[0] is not None:
            continue
        seen.add(command.text)
        scene, launch = ToolScene(path, shared, tool), launch_of(repository, origin, command)
        order = _order(repository, scene, launch, first)
        yield (order[0] + 4, *order[1:]), start + len(seen), scene, launch
        if len(seen) >= _MAX_LAUNCHES:
            return


def _entries(path: TrainingPath) -> list[Entry]:
    """What trains, then what evaluates; tools that only prepare or convert left out, unless there is nothing else."""
    found: dict[str, Entry] = {}
    for entry in (*path.training, *path.evaluating):
        found.setdefault(entry.path, entry)
    return [entry for entry in found.values() if not _TOOL.search(entry.path)] or list(found.values())


_NO_RUN = re.compile(
    r"(?i)(?:convert|download|upload|merge|export|list|ls|version|env|help|info|install|chat|webui|webchat|serve|api|quantize|preprocess|prepare|validate|tasks)\w*"
)
"""Sub-commands of a console program that neither train nor evaluate."""


def _launches(repository: Repository, path: TrainingPath) -> dict[str, list[Launch]]:
    """The commands of documents and scripts by the entry point that they start, each once."""
    scripts = _console_scripts(repository, path)
    found: dict[str, list[Launch]] = {}
    seen: set[tuple[str, str]] = set()
    for origin, command in path.commands:
        if is_test_path(origin) or origin.startswith(".github/"):
            continue
        if not command.target and command.args and _NO_RUN.fullmatch(command.args[0]):
            continue
        targets = (
            resolve_target(repository, path.graph, command, origin)[:1]
            if command.target
            else scripts.get(command.program, ())
        )
        for target in targets:
            text = re.sub(r"\s+", " ", command.text)
            if (target, text) not in seen:
                seen.add((target, text))
                found.setdefault(target, []).append(launch_of(repository, origin, command))
    return found


def _console_scripts(repository: Repository, path: TrainingPath) -> dict[str, tuple[str, ...]]:
    """Console commands of the repository's own packages, with the files that they run."""
    found: dict[str, tuple[str, ...]] = {}
    for origin, body in repository.bodies(DependencyFacts):
        for name, target in body.scripts.items():
            file, rest = path.graph.modules.resolve(target.partition(":")[0].strip(), origin)
            if file is not None and not rest:
                found[name] = (file,)
    return found


def _first_in_readme(repository: Repository) -> dict[str, int]:
    """Files that commands of the README name, with the line where each is named first."""
    found: dict[str, int] = {}
    readme = repository.docs.get(repository.readme or "")
    for command in readme.commands if readme else ():
        for word in command.text.split():
            name = word.strip("'\"").removeprefix("./")
            if "." in name:
                found.setdefault(name, command.line)
    return found


_PREPARES = re.compile(
    r"(?i)(?:^|/)(?:data(?:_?\w*)?|datasets?|preprocess\w*|tools|utils|misc|extensions|contrib)/"
)
_TOY = re.compile(
    r"(?i)(?:^|[/_\-])(?:debug|tiny|toy|smoke|dummy|test|quick\w*|mini|legacy|old|deprecated|archived?)(?=[/_.\-]|$)"
)
_TRAINS = re.compile(r"(?i)train|finetun|fine_tun|sft|dpo|ppo|grpo|distill")
_EVALUATES = re.compile(r"(?i)(?:^|[/_\-])(?:eval\w*|infer\w*|sampl\w*|generat\w*|predict\w*)(?=[/_.\-]|$)")


def _order(repository: Repository, scene: Scene, launch: Launch, first: dict[str, int]) -> tuple[int, ...]:
    """What a reader would call the main experiment comes first."""
    entry = scene.entry
    line = first.get(launch.origin, 10**6)
    if launch.command is not None and launch.origin == repository.readme:
        line = launch.command.line
    in_readme = launch.command is not None and launch.origin == repository.readme
    trains = scene.trains and (entry in scene.path.training or in_readme)
    words = (entry.path, launch.origin, *launch.files)
    return (
        # What a document starts comes before what nobody mentions, training before the rest.
        2 * (not entry.documented) + (not trains),
        1 if launch.is_template or launch.lacks_file else 0,
        1 if _PREPARES.search(entry.path) else 0,
        1 if any(map(_TOY.search, words)) else 0,
        1 if trains and (launch.only_evaluates or any(map(_EVALUATES.search, words))) else 0,
        0 if _TRAINS.search(entry.path.rpartition("/")[2]) else 1,
        line,
        entry.path.count("/"),
    )


def _observed(scene: Scene, launch: Launch, detected: Detected) -> Experiment | None:
    settings = _settings(scene, launch)
    resolver = Resolver(scene.graph, settings)
    groups = [
        *by_calls(scene, resolver),
        *by_names(scene, resolver),
        *identities(scene, resolver, directory(scene, launch), {*launch.files, *scene.base_files}),
        *of_kind(scene, launch),
        *prompts(scene, resolver, directory(scene, launch)),
        *of_command(scene, launch),
    ]
    chosen = choose(settled(groups, scene, resolver, launch))
    if not any(
        name.startswith(("models.", "datasets.", "training.", "generation."))
        for name in (*chosen.state.leaves, *chosen.candidates)
    ):
        return None
    state = with_providers(chosen.state, is_llm=scene.is_llm)
    return Experiment(
        name_of(scene.entry, launch),
        scene.entry.path,
        launch.place,
        profiles_of(scene, state, detected),
        state,
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
    if launch.command is not None and "deepspeed" in launch.command.text:
        # DeepSpeed's file has an optimizer and a scheduler of its own: what the library takes by default may not hold.
        settings.drop("lr_scheduler_type", Rank.LIBRARY)
    add_command(settings, launch, strict=scene.strict)
    tool = tool_of(launch.command) if launch.command is not None else None
    if tool is not None and launch.command is not None:
        add_arguments(settings, tool, launch.command, launch.origin)
    return settings


def _add_python(settings: Settings, repository: Repository, file: str) -> None:
    for assign in repository.code[file].assigns:
        option = constant_option(file, assign) if assign.scope == 0 and assign.target.isidentifier() else None
        if option is not None and option.said is not None:
            settings.add(option.name, msgspec.structs.replace(option.said, rank=Rank.CONFIG))
