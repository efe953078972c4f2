"""Level 1: the command that the manifest declares has to start something that is there, with what that takes."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.model import Command, ConfigFacts
from audit.rules.contradicted import stated
from audit.rules.declared import View
from audit.rules.flags import accepted, accepts, spelling
from audit.rules.observing import commands, meant
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed
from audit.signals.dataclass_flags import dataclass_flags, takes
from audit.signals.training_path import resolve_target
from audit.state.observed.options import plain

_NO_FILE = re.compile(r"[$<>{}*\[\]…]|^-|://")


def command(view: View) -> Iterable[Outcome]:
    """The declared command has to start something that is there."""
    context = view.context
    found = [each for each in commands(context) if each.target]
    path = "experiment.command" if view.says("experiment.command") else "execution.command"
    if not found:
        yield not_applicable("The manifest declares no command that runs a file.")
        return
    directory = view.text("execution.directory").strip("/")
    missing = [each.target for each in found if _is_missing(view, each, directory)]
    files = [word for each in found for word in _named_files(each) if not _is_there(view, word, directory)]
    mine = view.place(path)
    if directory and not any(each.startswith(directory + "/") for each in view.context.repository.paths):
        where = view.place("execution.directory")
        yield failed(
            f"{where.path}:{where.line} declares that the command is given in {directory}, and the repository has no such folder.",
            where,
            key="execution.directory",
        )
        return
    if missing:
        yield failed(
            f"{mine.path}:{mine.line} declares a command that runs {listed(missing)}, and the repository has no such file.",
            mine,
            fix="Name the file that is run, relative to the repository's root or to execution.directory.",
            key=missing[0],
        )
    for name in files:
        yield failed(
            f"{mine.path}:{mine.line} declares a command that reads {name}, and the repository has no such file.",
            mine,
            key=name,
            severity=Severity.WARNING,
        )
    if not missing and not files:
        yield passed("What the declared command runs is there.")


def _is_missing(view: View, each: Command, directory: str) -> bool:
    repository, graph = view.context.repository, view.context.path.graph
    if _NO_FILE.search(each.target) or each.target.startswith(("/", "~", "..")):
        return False
    if each.module:
        head = each.target.partition(".")[0]
        own = any(
            file.startswith((f"{head}/", f"src/{head}/")) or file in (f"{head}.py", f"src/{head}.py")
            for file in repository.paths
        )
        return own and not resolve_target(repository, graph, each, view.name)
    return not _is_there(view, each.target, directory)


def _is_there(view: View, name: str, directory: str) -> bool:
    paths = view.context.repository.path_set
    name = name.removeprefix("./")
    return any(posixpath.normpath(posixpath.join(folder, name)) in paths for folder in (directory, ""))


def _named_files(each: Command) -> Iterator[str]:
    """Configurations that the command names below a folder."""
    words = [flag.value for flag in each.flags if "output" not in flag.name and "save" not in flag.name]
    for word in (*words, *(arg for arg in each.args if "=" not in arg)):
        if re.fullmatch(r"(?:\./)?[\w.-]+/[\w./-]+\.(?:ya?ml|toml)", word) and ".." not in word:
            yield word


def flags(view: View) -> Iterable[Outcome]:
    """The declared command may pass only what its script takes."""
    looked = False
    for each in commands(view.context):
        taken = _taken(view, each)
        if taken is None:
            continue
        looked = True
        script, place, takes_it = taken
        names = [spelling(flag.name) for flag in each.flags]
        wrong = [
            name
            for name in dict.fromkeys(names)
            if re.fullmatch(r"--?[A-Za-z][\w.-]*", name) and not takes_it(name)
        ]
        if wrong:
            path = "experiment.command" if view.says("experiment.command") else "execution.command"
            mine = view.place(path)
            yield failed(
                f"{mine.path}:{mine.line} declares a command that passes {listed(wrong, 6)} to {script}, which defines no such flag.",
                mine,
                place,
                key=wrong[0],
            )
            return
    if looked:
        yield passed("The declared command passes only flags that its script defines.")
    else:
        yield not_applicable("No declared command runs a script whose flags can be told for certain.")


def _taken(view: View, each: Command) -> tuple[str, Place, Callable[[str], bool]] | None:
    """The script that the command runs, where it defines its flags, and whether it takes one; None where that is not certain."""
    repository, graph = view.context.repository, view.context.path.graph
    scripts = resolve_target(repository, graph, each, view.name) if each.target else ()
    if len(scripts) != 1 or scripts[0] not in repository.code:
        return None
    script = scripts[0]
    known = accepted(script, graph)
    if known is not None:
        place = Place(script, known[0].line if known else None, "where the script defines its flags")
        return script, place, partial(accepts, known)
    fields = dataclass_flags(script, graph)
    if fields is not None:
        return (
            script,
            Place(script, None, "its parser takes the fields of dataclasses"),
            partial(takes, fields),
        )
    return None


def bound_keys(view: View) -> Iterable[Outcome]:
    """Keys of configurations that the manifest binds have to be there."""
    bound = _bindings(view)
    if not bound:
        yield not_applicable("No field is bound to a key of a configuration.")
        return
    repository = view.context.repository
    wrong = []
    for name, where in bound.items():
        file, _, key = where.partition(":")
        if file not in repository.path_set:
            wrong.append((name, file, key, "file"))
        elif file in repository.configs and not _has(repository.configs[file], key):
            wrong.append((name, file, key, "key"))
    for name, file, key, what in wrong:
        mine = view.place(f"bindings.{name}")
        yield failed(
            f"{mine.path}:{mine.line} binds {name} to {key} of {file}, and there is no such {what}.",
            mine,
            *((Place(file),) if what == "key" else ()),
            key=name,
        )
    if not wrong:
        yield passed("Every key that the manifest binds is there.")


def _bindings(view: View) -> dict[str, str]:
    declared = view.context.declared
    bindings = declared.manifest.bindings if declared is not None else {}
    return {name: binding.config for name, binding in bindings.items() if binding.config}


def _has(config: ConfigFacts, key: str) -> bool:
    return any(setting.key == key or setting.key.startswith(key + ".") for setting in config.settings)


_OTHER_READERS = re.compile(
    r"deepspeed|ds_config|accelerate|fsdp|zero\d?|tokenizer|model_config|(?:^|/)config\.json$", re.IGNORECASE
)


def unread_keys(view: View) -> Iterable[Outcome]:
    """Keys of the configurations that the declared command names and of which no code knows the name."""
    experiment = meant(view.context).experiment
    leaf = experiment.state.leaves.get("execution.config_files") if experiment else None
    named = leaf.value if leaf is not None and isinstance(leaf.value, tuple) else ()
    repository = view.context.repository
    files = [
        str(name)
        for name in named
        if str(name) in repository.configs and not _OTHER_READERS.search(str(name))
    ]
    if not files or experiment is None or _read_by_a_library(view, experiment.entry):
        yield not_applicable("The command names no configuration of which it can be told what reads it.")
        return
    known = _known_words(view)
    for file in files:
        settings = [s for s in repository.configs[file].settings if not s.key.rpartition(".")[2].isdigit()]
        unread = [s for s in settings if plain(s.key.rpartition(".")[2]) not in known]
        # Where many are unknown, they are read in a way that is not seen here.
        if unread and 5 * len(unread) <= len(settings):
            names = [s.key for s in unread]
            yield failed(
                f"{file} sets {listed(names, 5)}, and no code knows a setting of {'this name' if len(names) == 1 else 'these names'}.",
                *(Place(file, s.line, s.key) for s in unread[:10]),
                view.place("experiment.command" if view.says("experiment.command") else "execution.command"),
                fix="Correct the name, or remove the key.",
                key=file,
            )
            return
    yield passed("The code knows the names of all keys that the configuration sets.")


def _read_by_a_library(view: View, entry: str) -> bool:
    """Whether what is in the configuration goes where it is not seen: to a library's own parser, to calls as keywords, to objects by name."""
    graph = view.context.path.graph
    facts = graph.python.get(entry)
    if facts is None:
        return True
    starts = [(entry, index) for index, scope in enumerate(facts.scopes) if scope.kind in ("main", "module")]
    files = {file for file, _ in graph.reach(starts)} | {entry}
    for file in files:
        for call in graph.python[file].calls:
            last = call.name.rpartition(".")[2]
            if last in _SWALLOWS or "**" in call.kwargs or any(arg.startswith("**") for arg in call.args):
                return True
    return False


_SWALLOWS = frozenset(
    (
        "HfArgumentParser TrlParser H4ArgumentParser instantiate instantiate_from_config get_obj_from_str LightningCLI from_cli from_dict "
        "vars setattr ConfigDict"
    ).split()
)


def _known_words(view: View) -> frozenset[str]:
    """Every name that any code could read a setting by: attributes, keys, parameters, fields, options."""
    found: set[str] = set()
    for facts in view.context.repository.python.values():
        found.update(map(plain, facts.attributes))
        for scope in facts.scopes:
            found.update(plain(param.name) for param in scope.params)
            found.update(plain(part) for ref in scope.refs for part in ref.split("."))
        found.update(plain(assign.target.rpartition(".")[2]) for assign in facts.assigns)
        for call in facts.calls:
            found.update(map(plain, call.kwargs))
            found.update(plain(arg) for arg in call.args if arg[:1] in "'\"" and len(arg) < 60)
    return frozenset(found)


RULES = (
    stated(
        "command",
        Severity.CRITICAL,
        "What the declared command runs is there",
        "A command that names no file cannot be repeated.",
        "# train.py is there\nexperiment: {command: python train.py}\n",
        "# train.py is there\nexperiment: {command: python trian.py}\n",
        command,
        "Name the file that is run.",
    ),
    stated(
        "flags",
        Severity.WARNING,
        "The declared command passes flags that its script defines",
        "A parser stops at a flag that it does not know, or lets it pass without effect.",
        "# add_argument('--lr')\nexperiment: {command: python train.py --lr 1e-4}\n",
        "# add_argument('--lr')\nexperiment: {command: python train.py --learning-rate 1e-4}\n",
        flags,
        "Correct the flag, or define it.",
    ),
    stated(
        "bound_keys",
        Severity.WARNING,
        "Keys that the manifest binds are there",
        "A binding to a key that no file has compares nothing.",
        "# config.yaml has optim.lr\ntraining: {learning_rate: 1.0e-4}\nbindings: {training.learning_rate: {config: 'config.yaml:optim.lr'}}\n",
        "# config.yaml has optim.lr\ntraining: {learning_rate: 1.0e-4}\nbindings: {training.learning_rate: {config: 'config.yaml:lr'}}\n",
        bound_keys,
        "Correct the file or the key.",
    ),
    stated(
        "unread_keys",
        Severity.INFO,
        "The code knows every key that the configuration sets",
        "Who sets a key that nothing reads believes in an experiment that never ran.",
        "# conf.yaml sets warmup, and the code reads cfg.warmup\nexperiment: {command: python train.py --config conf.yaml}\n",
        "# conf.yaml sets warmpu, and the code reads cfg.warmup\nexperiment: {command: python train.py --config conf.yaml}\n",
        unread_keys,
        "Correct the name of the key, or remove it.",
    ),
)
