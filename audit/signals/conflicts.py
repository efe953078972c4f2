"""One setting, two values, in places that claim to describe one run. Only what a reader would call a contradiction."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from audit.documents.place import Place
from audit.documents.signals import ConfigConflict, ConflictPlace, Signal
from audit.facts.classify import is_test_path
from audit.facts.python.model import Call
from audit.signals.command_conflicts import command_conflicts
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath, resolve_target

_SAID = re.compile(
    r"(?<!paper )\b(?:default(?:s? to| is| value is| value)?\s*[:=]?\s*|defaults to\s+)"
    r"(None|True|False|'[^']{1,60}'|\"[^\"]{1,60}\"|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=[\s)\],;.]|$)",
    re.I,
)
_IMAGE_PYTHON = re.compile(r"^(\d+\.\d+)")


def config_conflicts(repository: Repository, path: TrainingPath) -> Signal[tuple[ConfigConflict, ...]]:
    """Defaults that help texts or documents state and the code does not have; defaults that are no choice; Hydra groups without the
    file that a list of defaults names; Python versions that exclude each other."""
    found = [
        *_joined([*_options(repository), *_documented_defaults(repository, path)]),
        *_hydra_defaults(repository),
        *_python_versions(repository),
        *command_conflicts(repository, path),
    ]
    places = tuple(
        Place(p.path, p.line, f"{conflict.setting}: {p.value}") for conflict in found for p in conflict.places
    )
    return Signal(tuple(found), places[:6])


_NO_CHOICE = "the default is none of the choices"


def _joined(conflicts: list[ConfigConflict]) -> list[ConfigConflict]:
    """One conflict a definition: a help text and documents that say the same wrong default are mended together."""
    found: dict[tuple[str, str, int | None, bool], ConfigConflict] = {}
    for conflict in conflicts:
        code = next(place for place in conflict.places if place.value.startswith("default="))
        key = (_plain(conflict.setting), code.path, code.line, conflict.note == _NO_CHOICE)
        if key in found:
            first = found[key]
            places = tuple(dict.fromkeys((*first.places, *conflict.places)))
            found[key] = ConfigConflict(
                first.setting, places, "help texts and documents state other defaults than the code has"
            )
        else:
            found[key] = conflict
    return list(found.values())


# Options ---------------------------------------------------------------------------------------------------------


class _Option(msgspec.Struct, frozen=True):
    """An option of a command line as its definition says it: texts of expressions, "" for what it does not say."""

    name: str
    default: str
    help: str
    choices: str
    path: str
    line: int


def _defined(repository: Repository) -> Iterator[_Option]:
    """Options of argparse, absl, click and typer, and fields of dataclasses that carry a help text."""
    for file, facts in repository.code.items():
        for call in facts.calls:
            last = call.name.rpartition(".")[2]
            if last == "add_argument" and call.args:
                names = [arg.strip("'\"") for arg in call.args if arg[:1] in "'\""]
                long = next((name for name in names if name.startswith("--")), names[-1] if names else "")
                yield _option(long, call.kwargs.get("default", ""), call, file)
            elif (
                last.startswith("DEFINE_")
                and len(call.args) > 1
                and call.name.rpartition(".")[0].endswith("flags")
            ):
                text = call.args[2] if len(call.args) > 2 else call.kwargs.get("help", "")
                yield _Option("--" + call.args[0].strip("'\""), call.args[1], text, "", file, call.line)
            elif call.name in ("click.option", "click.decorators.option") and call.args:
                long = next((a.strip("'\"") for a in call.args if a.strip("'\"").startswith("--")), "")
                yield _option(long, call.kwargs.get("default", ""), call, file)
            elif call.name in ("dataclasses.field", "field") and call.within.startswith("assign:"):
                match = re.search(r"'help': ('[^']*'|\"[^\"]*\")", call.kwargs.get("metadata", ""))
                yield _Option(
                    call.within[7:],
                    call.kwargs.get("default", ""),
                    match[1] if match else "",
                    "",
                    file,
                    call.line,
                )


def _option(name: str, default: str, call: Call, file: str) -> _Option:
    if call.kwargs.get("action", "") in ("'store_true'", "'store_false'", "'append'", "'count'"):
        default = ""
    return _Option(
        name, default, call.kwargs.get("help", ""), call.kwargs.get("choices", ""), file, call.line
    )


def _options(repository: Repository) -> Iterator[ConfigConflict]:
    for option in _defined(repository):
        setting = option.name.lstrip("-")
        said = _stated(option.help)
        here = ConflictPlace(option.path, option.line, f"default={option.default}")
        if said and option.default and _differ(said, option.default):
            yield ConfigConflict(
                setting,
                (here, ConflictPlace(option.path, option.line, f"help: default {said}")),
                "the help text states another default than the code has",
            )
        if option.default and option.choices and (meant := _other_choice(option)):
            yield ConfigConflict(
                setting,
                (here, ConflictPlace(option.path, option.line, f"help: {meant}")),
                "the help text says that another choice is the default",
            )
        if option.default and option.choices and _is_no_choice(option.default, option.choices):
            yield ConfigConflict(
                setting,
                (here, ConflictPlace(option.path, option.line, f"choices={option.choices}")),
                _NO_CHOICE,
            )


_DEFAULTS_TO = re.compile(r"(?i)\bdefaults? (?:to|is)\b[:=]?([^.;,()]{1,120})")


def _other_choice(option: _Option) -> str:
    """What the help says is the default, where that names another choice than the one that is; "" where it does not."""
    match = _DEFAULTS_TO.search(option.help)
    try:
        have, allowed = ast.literal_eval(option.default), ast.literal_eval(option.choices)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return ""
    if (
        match is None
        or not isinstance(have, str)
        or not isinstance(allowed, (list, tuple))
        or "%(" in match[1]
    ):
        return ""
    said = match[1].lower()
    words = set(re.findall(r"[\w\-.]+", said))
    others = [
        each
        for each in allowed
        if isinstance(each, str) and len(each) > 3 and each.lower() in words and each != have
    ]
    return " ".join(match[0].split()) if len(others) == 1 and have.lower() not in said else ""


def _is_no_choice(default: str, choices: str) -> bool:
    try:
        have, allowed = ast.literal_eval(default), ast.literal_eval(choices)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return False
    plain = (str, int, float)
    if have == "" or not isinstance(have, plain) or not isinstance(allowed, (list, tuple, set)):
        return False
    return bool(allowed) and all(type(each) is type(have) for each in allowed) and have not in allowed


# Documents -------------------------------------------------------------------------------------------------------


def _documented_defaults(repository: Repository, path: TrainingPath) -> Iterator[ConfigConflict]:
    """A default that a document states, where every definition of that option in the scripts that the document runs has another one."""
    stated = [
        (file, name, value, line)
        for file, body in repository.docs.items()
        for name, value, line in body.defaults
        if not is_test_path(file) and "change" not in file.lower() and "release" not in file.lower()
    ]
    if not stated:
        return
    options: dict[str, list[_Option]] = defaultdict(list)
    for option in _defined(repository):
        options[_plain(option.name)].append(option)
    for file, name, value, line in stated:
        meant = _meant(repository, path, file, options.get(_plain(name), []), name.startswith("--"))
        if meant and all(_differ(_as_literal(value), option.default) for option in meant):
            yield ConfigConflict(
                name.lstrip("-"),
                (
                    ConflictPlace(file, line, f"default {value}"),
                    *(ConflictPlace(o.path, o.line, f"default={o.default}") for o in meant[:3]),
                ),
                "the document states another default than the code has",
            )


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _as_literal(value: str) -> str:
    """A value as documents write it, as a literal: what is no number, truth value or quoted text is a text."""
    if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|None|True|False|'[^']*'|\"[^\"]*\"", value):
        return value
    return repr(value)


def _meant(
    repository: Repository, path: TrainingPath, file: str, options: list[_Option], is_flag: bool
) -> list[_Option]:
    """The definitions that a document speaks about: those of scripts that it runs; else the only one that there is below the document's
    folder, if it is written as a flag."""
    run = {
        target
        for command in repository.docs[file].commands
        if command.target
        for target in resolve_target(repository, path.graph, command, file)
    }
    chosen = [option for option in options if option.path in run]
    if not chosen and is_flag and len(options) == 1:
        folder = file.rpartition("/")[0]
        chosen = [option for option in options if not folder or option.path.startswith(folder + "/")]
    # A script that builds its options elsewhere may define the same one with the default that is told.
    elsewhere = {path for path in run if not _defines(repository, path)}
    return [] if elsewhere else chosen


def _defines(repository: Repository, path: str) -> bool:
    facts = repository.code.get(path)
    return facts is None or any(call.name.rpartition(".")[2] == "add_argument" for call in facts.calls)


# Hydra ------------------------------------------------------------------------------------------------------------


def _hydra_defaults(repository: Repository) -> Iterator[ConfigConflict]:
    """A list of defaults that names a file which its group's folder does not hold."""
    if not any(
        item.module.partition(".")[0] == "hydra"
        for facts in repository.code.values()
        for item in facts.imports
    ):
        return
    folders: dict[str, set[str]] = defaultdict(set)
    for file in repository.paths:
        folder, _, name = file.rpartition("/")
        if name.endswith((".yaml", ".yml")):
            folders[folder].add(name.rpartition(".")[0])
    for file, config in repository.configs.items():
        if config.format != "yaml":
            continue
        for setting in config.settings:
            match = _DEFAULT_ITEM.fullmatch(setting.key)
            if (
                match is None
                or not re.fullmatch(r"[\w-]+", setting.value)
                or setting.value.lower() in ("null", "none")
            ):
                continue
            parent = file.rpartition("/")[0]
            folder = f"{parent}/{match[1]}" if parent else match[1]
            if folders.get(folder) and setting.value not in folders[folder]:
                known = ", ".join(sorted(folders[folder])[:4])
                yield ConfigConflict(
                    match[1],
                    (
                        ConflictPlace(file, setting.line, setting.value),
                        ConflictPlace(
                            f"{folder}/{min(folders[folder])}.yaml", None, f"{folder} holds {known}"
                        ),
                    ),
                    "the list of defaults names a file that its group does not hold",
                )


_DEFAULT_ITEM = re.compile(r"defaults\.\d+\.([\w-]+(?:/[\w-]+)*)")


def _stated(text: str) -> str:
    """The default that a help text names, "" where it names none."""
    if "%(default)" in text or text.endswith("…'"):
        return ""
    match = _SAID.search(text.strip("'\""))
    return match[1] if match else ""


def _differ(said: str, default: str) -> bool:
    """Whether two literals stand for different values; False where either is no literal or the kinds do not compare."""
    try:
        have = ast.literal_eval(default)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    try:
        stated = ast.literal_eval(said)
    except (ValueError, SyntaxError):
        return False
    if isinstance(have, bool) != isinstance(stated, bool):
        return False
    if isinstance(have, (int, float)) and isinstance(stated, (int, float)):
        return abs(have - stated) > 1e-9 * max(abs(have), abs(stated), 1e-300)
    if isinstance(have, str) and isinstance(stated, (int, float)):
        return False
    return type(have) is type(stated) and have != stated


def _python_versions(repository: Repository) -> Iterator[ConfigConflict]:
    """A container whose Python the project's own requirement excludes."""
    declared = next(((f, m) for f, m in repository.manifests.items() if m.python and "/" not in f), None)
    if declared is None:
        return
    try:
        allowed = SpecifierSet(declared[1].python)
    except InvalidSpecifier:
        return
    for file, container in repository.containers.items():
        for image in container.images:
            match = _IMAGE_PYTHON.match(image.tag)
            if (
                image.image.rpartition("/")[2] != "python"
                or match is None
                or "/" in file.strip("./").replace("docker/", "")
            ):
                continue
            try:
                version = Version(match[1] + ".99")
            except InvalidVersion:
                continue
            if not allowed.contains(version) and not allowed.contains(Version(match[1] + ".0")):
                yield ConfigConflict(
                    "python",
                    (
                        ConflictPlace(declared[0], declared[1].python_line or None, declared[1].python),
                        ConflictPlace(file, image.line, f"python:{image.tag}"),
                    ),
                    "the container's Python is one that the project excludes",
                )
