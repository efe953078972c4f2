"""Commands that documents and scripts show and the code does not take: a value that is none of the choices, a dash that is no hyphen, a key that the
configuration does not have, a script that is called otherwise, two ways to start what is called one run."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches

from audit.documents.signals import ConfigConflict, ConflictPlace
from audit.facts.classify import is_test_path
from audit.facts.model import Command
from audit.facts.python.model import Call
from audit.signals.dataclass_flags import dataclass_flags, takes
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath, resolve_target

_GAP = re.compile(r"[<>{}$…*\[\]]|\.\.\.|(?:^|/)(?:path|your)[/_\-]", re.IGNORECASE)
_DASH = re.compile(r"[–—]{1,2}([A-Za-z][\w-]*)")


def command_conflicts(repository: Repository, path: TrainingPath) -> Iterator[ConfigConflict]:
    """All of them, in the order of the commands."""
    shown = list(_shown(repository, path))
    for origin, command, script in shown:
        yield from _outside_choices(repository, origin, command, script)
    yield from _untaken_flags(path, shown)
    yield from _wrong_dashes(shown)
    yield from _once(_hydra_overrides(repository, shown))
    yield from _once(_misnamed_scripts(repository, path))
    yield from _two_of_one(shown)


def _once(conflicts: Iterator[ConfigConflict]) -> Iterator[ConfigConflict]:
    """The first of those in which one file says the same thing."""
    seen: set[tuple[str, str, str]] = set()
    for conflict in conflicts:
        key = (conflict.setting, conflict.places[0].path, conflict.note)
        if key not in seen:
            seen.add(key)
            yield conflict


def _shown(repository: Repository, path: TrainingPath) -> Iterator[tuple[str, Command, str]]:
    """(file, command, script) of each command that surely starts one script of the repository."""
    for origin, command in path.commands:
        if not command.target or is_test_path(origin) or origin.startswith(".github/"):
            continue
        scripts = resolve_target(repository, path.graph, command, origin)
        if len(scripts) == 1 and scripts[0] in repository.code:
            yield origin, command, scripts[0]


# Choices -------------------------------------------------------------------------------------------------------------


def _outside_choices(
    repository: Repository, origin: str, command: Command, script: str
) -> Iterator[ConfigConflict]:
    options = _choices(repository, script)
    for flag in command.flags:
        if flag.name not in options or not flag.value or _GAP.search(flag.value) or " " in flag.value:
            continue
        call, choices = options[flag.name]
        value = flag.value.strip("'\"")
        if value not in choices and not value.isupper():  # `MODE` stands for one of them
            shown = ", ".join(sorted(choices)[:12])
            yield ConfigConflict(
                flag.name.lstrip("-"),
                (
                    ConflictPlace(origin, flag.line or command.line, value),
                    ConflictPlace(script, call.line, f"choices: {shown}"),
                ),
                "the command passes a value that the script's choices do not hold",
            )


def _choices(repository: Repository, script: str) -> dict[str, tuple[Call, frozenset[str]]]:
    """Flags of a script that have literal choices, each defined once."""
    found: dict[str, tuple[Call, frozenset[str]]] = {}
    times: dict[str, int] = defaultdict(int)
    for call in repository.code[script].calls:
        if call.name.rpartition(".")[2] != "add_argument":
            continue
        for arg in call.args:
            name = arg.strip("'\"")
            times[name] += 1
            plain = call.kwargs.get("type", "str") in ("str", "int", "float") and "nargs" not in call.kwargs
            choices = _literal_choices(call.kwargs.get("choices", "")) if plain else None
            if name.startswith("-") and choices:
                found[name] = (call, choices)
    return {name: row for name, row in found.items() if times[name] == 1}


def _literal_choices(text: str) -> frozenset[str] | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    if not isinstance(value, (list, tuple, set)) or not all(
        isinstance(each, (str, int, float)) for each in value
    ):
        return None
    return frozenset(map(str, value))


# Flags of dataclasses ------------------------------------------------------------------------------------------------


def _untaken_flags(path: TrainingPath, shown: list[tuple[str, Command, str]]) -> Iterator[ConfigConflict]:
    """Flags that a parser of dataclasses does not take: it stops at them, or passes over them in silence. One conflict a flag."""
    known: dict[str, frozenset[str] | None] = {}
    found: dict[tuple[str, str], list[ConflictPlace]] = defaultdict(list)
    for origin, command, script in shown:
        if script not in known:
            known[script] = dataclass_flags(script, path.graph)
        fields = known[script]
        for flag in command.flags if fields is not None else ():
            if re.fullmatch(r"--[A-Za-z][\w-]*", flag.name) and not takes(fields or frozenset(), flag.name):
                where = ConflictPlace(origin, flag.line or command.line, f"{flag.name} {flag.value}".strip())
                found[flag.name, script].append(where)
    for (name, script), places in found.items():
        yield ConfigConflict(
            name.lstrip("-"),
            (*places[:8], ConflictPlace(script, None, f"no field is called {name.lstrip('-')}")),
            "the command passes a flag that the script's parser does not know",
        )


# Dashes --------------------------------------------------------------------------------------------------------------


def _wrong_dashes(shown: list[tuple[str, Command, str]]) -> Iterator[ConfigConflict]:
    for origin, command, script in shown:
        for arg in command.args:
            match = _DASH.fullmatch(arg.partition("=")[0])
            if match:
                yield ConfigConflict(
                    match[1],
                    (
                        ConflictPlace(origin, command.line, arg),
                        ConflictPlace(script, None, f"--{match[1]}"),
                    ),
                    "the command's flag begins with a dash that is no hyphen, so the script does not see it",
                )


# Hydra ---------------------------------------------------------------------------------------------------------------

_MAIN = re.compile(r"hydra\.main\((.*)\)", re.DOTALL)
_FOLDER = re.compile(r"config_path=['\"]([^'\"]{1,200})['\"]")
_OVERRIDE = re.compile(r"([A-Za-z_][\w.\-/]{0,200})=(.*)", re.DOTALL)


def _hydra_overrides(
    repository: Repository, shown: list[tuple[str, Command, str]]
) -> Iterator[ConfigConflict]:
    """Overrides of keys and groups that no file of the configuration's folder has."""
    folders: dict[str, str | None] = {}
    for origin, command, script in shown:
        if script not in folders:
            folders[script] = _config_folder(repository, script)
        folder = folders[script]
        if folder is None or any(
            flag.name in ("--config-dir", "-cd", "--config-path", "-cp") for flag in command.flags
        ):
            continue
        for arg in command.args:
            match = _OVERRIDE.fullmatch(arg)
            if (
                match
                and not match[1].startswith("hydra")
                and (found := _missing(repository, folder, match[1], match[2]))
            ):
                where, value, note = found
                yield ConfigConflict(
                    match[1],
                    (ConflictPlace(origin, command.line, arg), ConflictPlace(where, None, value)),
                    note,
                )


def _config_folder(repository: Repository, script: str) -> str | None:
    """The folder of the script's Hydra configuration; None where there is none, or code adds to it."""
    facts = repository.code[script]
    if any(
        item.name == "ConfigStore" or call.name.endswith("ConfigStore")
        for item in facts.imports
        for call in facts.calls[:1] or ()
    ):
        return None
    for scope in facts.scopes:
        for decorator in scope.decorators:
            match = _MAIN.fullmatch(decorator)
            inner = _FOLDER.search(match[1]) if match else None
            if inner:
                parts = script.split("/")[:-1]
                for part in inner[1].split("/"):
                    parts = parts[:-1] if part == ".." else [*parts, part] if part not in ("", ".") else parts
                folder = "/".join(parts)
                return folder if _is_whole(repository, folder) else None
    return None


def _is_whole(repository: Repository, folder: str) -> bool:
    """Whether the folder holds all that its files take their defaults from: a search path brings in others."""
    files = [name for name in repository.configs if name.startswith(folder + "/")]
    for name in files:
        for setting in repository.configs[name].settings:
            if setting.key.startswith("hydra.searchpath"):
                return False
            plain = re.fullmatch(r"defaults\.\d+", setting.key)
            if plain and re.fullmatch(r"[\w\-/]+", setting.value) and setting.value != "_self_":
                beside = f"{name.rpartition('/')[0]}/{setting.value}".replace("//", "/")
                if not any(
                    each.rpartition(".")[0] in (beside, f"{folder}/{setting.value.lstrip('/')}")
                    for each in files
                ):
                    return False
    return bool(files)


def _missing(repository: Repository, folder: str, key: str, value: str) -> tuple[str, str, str] | None:
    """(file, what there is, note) where the override names a group's file or a key that nothing has."""
    files = [name for name in repository.configs if name.startswith(folder + "/")]
    group = f"{folder}/{key.partition('@')[0]}/"
    held = sorted(name[len(group) :].rpartition(".")[0] for name in files if name.startswith(group))
    if held:
        plain = re.fullmatch(r"[\w\-./]+", value) and value not in ("null", "")
        if not plain or value.removesuffix(".yaml") in held or not get_close_matches(value, held, 1, 0.8):
            return None  # a reader may be told to write a file of this name
        return (
            f"{group}{held[0]}.yaml",
            ", ".join(held[:8]),
            "the command chooses a file that the group does not hold",
        )
    parent, _, last = key.rpartition(".")
    near: list[str] = []
    for name in files:
        below = name[len(folder) + 1 :].rpartition(".")[0].split("/")[:-1]
        for setting in repository.configs[name].settings:
            known = setting.key
            for whole in (known, ".".join([*below, known])):
                if whole == key or whole.startswith(key + ".") or key.startswith(whole + "."):
                    return None
                if whole.rpartition(".")[0] == parent and "." in whole:
                    near.append(f"{name}\0{whole.rpartition('.')[2]}")
    names = {each.partition("\0")[2]: each.partition("\0")[0] for each in near}
    like = get_close_matches(last, names, 1, 0.6) or [
        each for each in names if each.startswith(last) or last.startswith(each)
    ]
    if not parent or not like:
        return None
    return (
        names[like[0]],
        f"{parent}.{like[0]}",
        "the command overrides a key that the configuration does not have",
    )


# Scripts -------------------------------------------------------------------------------------------------------------

_FETCHES = re.compile(r"\b(?:wget|curl|cp|mv|git\s+clone|cat|touch|tee|gdown)\b")


def _misnamed_scripts(repository: Repository, path: TrainingPath) -> Iterator[ConfigConflict]:
    """Commands of documents that run a script which is not there, where the folder holds one that is called nearly so."""
    names = {each.rpartition("/")[2] for each in repository.paths}
    for origin, command in path.commands:
        target = command.target.removeprefix("./")
        if (
            origin not in repository.docs
            or command.module
            or not target.endswith(".py")
            or _GAP.search(target)
        ):
            continue
        folder, _, name = target.rpartition("/")
        if name in names or any(
            _FETCHES.search(each.text) and name in each.text for each in repository.docs[origin].commands
        ):
            continue
        below = origin.rpartition("/")[0]
        for where in dict.fromkeys((f"{below}/{folder}".strip("/"), folder)):
            here = [p.rpartition("/")[2] for p in repository.code if p.rpartition("/")[0] == where]
            near = get_close_matches(name, here, 1, 0.86)
            if near:
                yield ConfigConflict(
                    target,
                    (
                        ConflictPlace(origin, command.line, target),
                        ConflictPlace(f"{where}/{near[0]}".strip("/"), None, near[0]),
                    ),
                    "the document runs a script that is not there; one with a like name is",
                )
                break


# Two commands for one run ----------------------------------------------------------------------------------------------

_MODEL = re.compile(r"model_name_or_path|model|base_model|model_name|arch|config")
_RESULT = re.compile(
    r"learning_rate|lr|num_train_epochs|epochs|num_epochs|warmup_ratio|warmup_steps|weight_decay|lr_scheduler_type|max_steps|lora_r|lora_alpha|lora_dropout|bf16|fp16|seed|temperature|top_p"
)
_FEWEST = 8
_SHARE = 0.75


def _two_of_one(shown: list[tuple[str, Command, str]]) -> Iterator[ConfigConflict]:
    """A document's command and a script's that start the same script with the same model and nearly the same flags, the only ones that do."""
    by_run: dict[tuple[str, str], dict[bool, list[tuple[str, Command]]]] = defaultdict(
        lambda: {True: [], False: []}
    )
    for origin, command, script in shown:
        values = _flags(command)
        model = next((value for name, (value, _) in values.items() if _MODEL.fullmatch(name)), "")
        if model and not _GAP.search(model) and len(values) >= _FEWEST:
            is_script = origin.endswith((".sh", ".slurm", ".sbatch", ".bash", "Makefile"))
            by_run[script, model][is_script].append((origin, command))
    for sides in by_run.values():
        if len(sides[True]) == 1 and len(sides[False]) == 1:
            yield from _differing(sides[False][0], sides[True][0])


def _flags(command: Command) -> dict[str, tuple[str, int]]:
    return {
        flag.name.lstrip("-").replace("-", "_"): (flag.value, flag.line or command.line)
        for flag in command.flags
    }


def _differing(told: tuple[str, Command], done: tuple[str, Command]) -> Iterator[ConfigConflict]:
    first, second = _flags(told[1]), _flags(done[1])
    common = first.keys() & second.keys()
    equal = [name for name in common if _same(first[name][0], second[name][0])]
    if len(common) < _FEWEST or len(equal) < _SHARE * len(common):
        return
    for name in sorted(common - set(equal)):
        if _RESULT.fullmatch(name) and not _GAP.search(first[name][0] + second[name][0]):
            yield ConfigConflict(
                name,
                (
                    ConflictPlace(told[0], first[name][1], first[name][0]),
                    ConflictPlace(done[0], second[name][1], second[name][0]),
                ),
                "the document and the script start the same run with different values",
            )


def _same(a: str, b: str) -> bool:
    if a == b:
        return True
    try:
        return float(a) == float(b)
    except ValueError:
        return a.lower() == b.lower()
