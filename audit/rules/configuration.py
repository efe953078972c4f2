"""Settings: what is wired to one machine, what is read from outside, what has no effect, what disagrees."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.documents.signals import ConfigConflict, ConflictPlace
from audit.facts.classify import is_example_path
from audit.facts.model import TextFacts
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import PythonFacts, Text
from audit.facts.python.vocabulary import CONFIG_RECEIVERS
from audit.rules.flags import Flag, flags_in, literal, parses_otherwise
from audit.rules.imports import core_files
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted, listed
from audit.signals.repository import Repository
from audit.signals.training_path import commands_of

_NO_CODE = "The repository holds no Python code of its own."

# Absolute paths ------------------------------------------------------------------------------------------------------

_EXAMPLE_PATH = re.compile(
    r"path[/_-]to|/(?:user(?:name)?|you|your[\w-]*|my[\w-]*|xxx+|foo|someone|example)(?:/|$)|\.\.\.|…|\$|\{|<|%"
    r"|^/workspaces?(?:/|$)|^/(?:mnt|media|data\d*|scratch|share|srv|work|root)/[^/]+/?$",  # where containers mount things
    re.I,
)
_ROUTES = re.compile(
    r":(?:get|post|put|delete|patch|route|websocket|mount|add_route|add_url_rule|startswith|endswith|replace|strip|lstrip|removeprefix|split|sub|match)(?::|$)"
)


def absolute_paths(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    if not repository.code and not repository.configs:
        yield not_applicable(_NO_CODE)
        return
    mounted = _mounted(repository)
    wired: dict[str, list[Place]] = defaultdict(list)
    settable: dict[str, list[Place]] = defaultdict(list)
    for path, line, value, can_be_set in _absolute(repository):
        if any(value.startswith(f"{folder}/") or value == folder for folder in mounted):
            continue  # a place inside a container that the repository itself starts
        place = Place(path, line, value[:100])
        if can_be_set or is_example_path(path):
            settable[_root(value)].append(place)
        else:
            wired[path].append(place)
    for path, places in sorted(wired.items()):
        yield _machine_paths(places, path, None)
    outcomes = [_machine_paths(places, root, Severity.INFO) for root, places in sorted(settable.items())]
    yield from outcomes[:_ROOTS]
    if rest := sorted(settable)[_ROOTS:]:
        yield failed(
            f"{counted(len(rest), 'further folder')} of one machine {'is' if len(rest) == 1 else 'are'} named in settings and scripts: {listed(rest, 5)}.",
            *capped(settable[root][0] for root in rest),
            key="more",
            severity=Severity.INFO,
        )
    if not wired and not settable:
        yield passed("No path of one particular machine stands in the code or its settings.")


_ROOTS = 10
"""Folders of one machine that are told one by one."""

_SHARED_DISK = re.compile(
    r"/(?:private/|data/|mnt/|nfs/)?(?:home|Users|users)/[^/]+"
    r"|/(?:scratch|gpfs|lustre|nfs|mnt|work|projects?)/(?:gpfs|lustre|nfs|fsw?|fast|projects?|home|users?|work|scratch|data)/[^/]+"
    r"|(?:/|[A-Za-z]:[\\/]+)[^/\\]+[/\\]+[^/\\]+"
)


def _root(value: str) -> str:
    """The person's or project's folder that a path lies in: "/home/alice", "/scratch/gpfs/group"."""
    match = _SHARED_DISK.match(re.sub(r"/{2,}", "/", value))
    return match[0].rstrip("/") if match else value


def _machine_paths(places: list[Place], key: str, severity: Severity | None) -> Outcome:
    """One finding about the paths of one file, or about those below one folder: somebody mends them together."""
    places = list(dict.fromkeys(places))
    values = tuple(dict.fromkeys(place.note for place in places))
    files = tuple(dict.fromkeys(place.path for place in places))
    first = places[0]
    if len(values) == 1 and len(files) == 1:
        said = f"{first.path}:{first.line} names {values[0]}, a place that exists on one machine."
        places = [Place(place.path, place.line) for place in places]
    elif len(files) == 1:
        said = f"{first.path} names {listed(values, 3)}, places that exist on one machine."
    else:
        said = f"{len(files)} files name places below {key}, which exists on one machine: {listed(files, 3)}."
    return failed(said, *capped(places, 10), key=key, severity=severity)


_MOUNT = re.compile(
    r"(?:^|\s)(?:-v|--volume|--bind|-B)[ =]['\"]?(?P<source>[^\s:'\"]*):(?P<target>/[\w./-]+)"
    r"|(?:target|dst|destination)=(?P<other>/[\w./-]+)"
)


def _mounted(repository: Repository) -> frozenset[str]:
    """Folders that commands of the repository mount into a container: a path below one is the same on every machine."""
    found = set()
    for _, command in commands_of(repository):
        if not re.search(r"\b(?:docker|podman|singularity|apptainer|nvidia-docker|srun)\b", command.text):
            continue
        for match in _MOUNT.finditer(command.text):
            target = (match["target"] or match["other"]).rstrip("/")
            if target and target != (match["source"] or "").rstrip("/"):
                found.add(target)
    return frozenset(found)


def _absolute(repository: Repository) -> Iterator[tuple[str, int, str, bool]]:
    """(path, line, value, whether a user can set another one without editing code)."""
    for path, facts in repository.code.items():
        for text in facts.texts:
            if (
                text.kind == "path"
                and _is_whole(text)
                and not _EXAMPLE_PATH.search(text.value)
                and not _is_route(text)
            ):
                yield (
                    path,
                    text.line,
                    text.value,
                    text.role.startswith(("default:", "kwarg:add_argument", "kwarg:DEFINE", "kwarg:Option")),
                )
    for path, config in repository.configs.items():
        for setting in config.settings:
            if (
                setting.value[:1] in "/ABCDEFGHIJ"
                and identity_kind(setting.value) == "path"
                and not _EXAMPLE_PATH.search(setting.value)
            ):
                yield path, setting.line, setting.value, True
    for path, script in repository.scripts.items():
        for _, value, line in script.variables:
            if identity_kind(value) == "path" and not _EXAMPLE_PATH.search(value):
                yield path, line, value, True


_PLACES = re.compile(
    r"/(?:home|Users|root|nfs|gpfs|lustre|raid|private)/|/(?:mnt|media|scratch|ssd|hdd|disk\d*)/[^/]+/[^/]+/|[A-Za-z]:[\\/]"
)


def _is_whole(text: Text) -> bool:
    """Whether the string is a path of its own rather than the end of a longer one (`folder + "/data/dev"`), as far as its use or its beginning
    tells."""
    return text.role != "other" or _PLACES.match(text.value) is not None


def _is_route(text: Text) -> bool:
    return text.role in ("compare", "key") or _ROUTES.search(text.role) is not None


# Environment variables -------------------------------------------------------------------------------------------------

_ENVIRONMENT_READS = frozenset({"os.getenv", "os.environ.get", "getenv", "environ.get"})
_KNOWN_VARIABLES = re.compile(
    r"(?:CUDA|NCCL|SLURM|SLURMD|PMI|PMIX|OMPI|MPI|MV2|PBS|LSB|TORCH|PYTORCH|TORCHELASTIC|TF|XLA|JAX|TPU|OMP|MKL|KMP|OPENBLAS|WANDB|HF|HUGGINGFACE|HUGGING|TRANSFORMERS|DATASETS|ACCELERATE"
    r"|DEEPSPEED|DS|FSDP|RAY|VLLM|TRITON|ROCM|HIP|HSA|NVIDIA|KUBERNETES|KAGGLE|COLAB|GITHUB|GITLAB|CI|RUNNER|TRAVIS|CIRCLE|AZUREML|SM|AWS|GOOGLE|GCP|GCS|AZURE|XDG|LC|PYTEST|PYTHON|CONDA|VIRTUAL|PIP|NUMBA"
    r"|MPLBACKEND|LIGHTNING|SLACK|GH|SDL|MUJOCO|PYOPENGL|QT|SSH|READTHEDOCS|MLFLOW|COMET|NEPTUNE|CLEARML|TENSORBOARD|OPENAI|ANTHROPIC|COHERE|GEMINI|MISTRAL|TOGETHER|GROQ|LITELLM|LANGCHAIN|MASTER|NODE|GROUP|LOCAL|GLOBAL|CROSS|ROLE)(?:_\w*)?"
    r"|RANK|WORLD_SIZE|HOME|USER|USERNAME|PATH|PWD|TMPDIR|TEMP|TMP|SHELL|TERM|LANG|DISPLAY|HOSTNAME|HOST|EDITOR|COLUMNS|LOGNAME|NO_COLOR|LD_LIBRARY_PATH|CC|CXX|DEBUG|BROWSER|APPDATA|LOCALAPPDATA"
    r"|USERPROFILE|SYSTEMROOT|COMPUTERNAME|HTTPS?_PROXY|NO_PROXY|TOKENIZERS_PARALLELISM|BITSANDBYTES_NOWELCOME|LOG_LEVEL|LOGLEVEL|[A-Z]+_VISIBLE_DEVICES"
)
"""Variables that a launcher, a scheduler, a CI service, the system or a well-known library gives or documents."""


_NEEDED_VARIABLE = re.compile(
    r"(?:^|_)(?:DIR|DIRECTORY|PATH|PATHS|ROOT|FOLDER|FILE|URL|URI|KEY|TOKEN|SECRET|PASSWORD|ENDPOINTS?|SERVER|HOST|BUCKET|DATA|DATASET|CONFIG)$"
)
"""Names of values that code cannot invent; a switch that is off when it is not set needs no word."""


def environment_variables(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    reads: dict[str, list[Place]] = defaultdict(list)
    looked = False
    core = core_files(repository, context.path)
    for path, facts in repository.code.items():
        if path not in core:
            continue
        for call in facts.calls:
            if call.name not in _ENVIRONMENT_READS or not call.args:
                continue
            looked = True
            name = literal(call.args[0])
            alone = (
                len(call.args) == 1
                and not call.kwargs
                and call.within.startswith(("assign:", "arg:", "kwarg:", "return"))
            )
            if name and alone and _NEEDED_VARIABLE.search(name) and not _KNOWN_VARIABLES.fullmatch(name):
                reads[name].append(Place(path, call.line))
    if not looked:
        yield not_applicable("The code on the main path reads no environment variable.")
        return
    told = _told_variables(repository)
    missing = [name for name in sorted(reads) if name not in told]
    for name in missing[:OUTCOME_LIMIT]:
        yield failed(
            f"The code reads {name} from the environment without a default, and no document, script, env file or container names it.",
            *capped(reads[name]),
            key=name,
        )
    if len(missing) > OUTCOME_LIMIT:
        yield failed(
            f"{len(missing) - OUTCOME_LIMIT} further variables are read and set nowhere.", key="more"
        )
    if not missing:
        yield passed(
            "Every environment variable that the code needs is set or shown somewhere, or has a default."
        )


def _told_variables(repository: Repository) -> frozenset[str]:
    """Variables that some file shows a user, or sets itself."""
    words: set[str] = set()
    for _, command in commands_of(repository):
        words.update(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", command.text))
        words.update(name for name, _ in command.env)
    for script in repository.scripts.values():
        words.update(name for name, _, _ in script.variables)
    for container in repository.containers.values():
        words.update(name for name, _, _ in container.env)
    for body in repository.docs.values():
        words.update(body.variables)
        for text, _ in body.code:
            words.update(re.findall(r"[A-Z_][A-Z0-9_]{2,}", text))
        for heading, _, _ in body.headings:
            words.update(re.findall(r"[A-Z_][A-Z0-9_]{2,}", heading))
    for _, text_facts in repository.bodies(TextFacts):
        words.update(name for name, _ in text_facts.variables)
    for facts in repository.python.values():
        words.update(
            match[1] for assign in facts.assigns if (match := re.search(r"environ\['(\w+)'\]", assign.target))
        )
        words.update(
            name
            for call in facts.calls
            if call.name == "os.environ.setdefault" and call.args and (name := literal(call.args[0]))
        )
    return frozenset(words)


# Flags without effect ----------------------------------------------------------------------------------------------------

_TAKEN_BY_LAUNCHERS = frozenset(
    "use_env local_rank local-rank node_rank deepspeed deepspeed_config help version master_addr master_port dist_url world_size rank gpu".split()
)


def unused_flags(context: Context) -> Iterable[Outcome]:
    repository = context.repository
    read = _attributes_read(repository)
    passed_on = {flag.name for _, command in commands_of(repository) for flag in command.flags}
    looked = 0
    unused: list[Outcome] = []
    for path, facts in repository.code.items():
        flags, unread = flags_in(path, facts)
        if len(flags) < 4 or unread or facts.parser != "ast" or parses_otherwise(facts):
            continue
        if _handed_on_whole(context, path) or not _is_read_here(context, path, flags):
            continue
        dead = [flag for flag in flags if _is_dead(flag, read)]
        looked += 1
        # Where many are unread, the values are reached in a way that is not seen here.
        if dead and 4 * len(dead) <= len(flags):
            unused.append(_unused(path, dead, passed_on))
    yield from unused[:OUTCOME_LIMIT]
    if len(unused) > OUTCOME_LIMIT:
        yield failed(
            f"{len(unused) - OUTCOME_LIMIT} further scripts define flags that nothing reads.",
            key="more",
            severity=Severity.INFO,
        )
    if not looked:
        yield not_applicable(
            "No script defines flags of which it can be told for certain where they are read."
        )
    elif not unused:
        yield passed("Every flag that can be followed is read somewhere.")


def _attributes_read(repository: Repository) -> frozenset[str]:
    """Every name that any file, vendored ones too, reads from something like an args object; and every parameter's name."""
    names: set[str] = set()
    refs: set[str] = set()
    for facts in repository.python.values():
        names.update(facts.attributes)
        for scope in facts.scopes:
            refs.update(scope.refs)
            if scope.params:
                names.update([param.name for param in scope.params])
    for ref in refs:
        names.update(ref.split("."))
    for notebook in repository.notebooks.values():
        names.update(notebook.code.attributes)
    return frozenset(names)


def _handed_on_whole(context: Context, path: str) -> bool:
    """Whether the file gives all its arguments away at once: to `vars`, to a copy, as `**`, or to something outside of the repository."""
    facts = context.repository.code[path]
    parses = [call.within for call in facts.calls if call.name.rpartition(".")[2] == "parse_args"]
    holders = {within.partition(":")[2] for within in parses if within.startswith("assign:")}
    if not parses or any(holder.rpartition(".")[2] not in CONFIG_RECEIVERS for holder in holders):
        return True  # attributes are recorded of objects that bear one of the usual names
    holders |= {"args", "opt", "opts", "cfg", "config", "FLAGS"}
    for call in facts.calls:
        values = [*call.args, *call.kwargs.values()]
        whole = any(
            value.lstrip("*") in holders or re.search(r"\b(?:vars|asdict|dict)\(|__dict__", value)
            for value in values
        )
        if whole and context.path.graph.lookup(call.name, path, call.scope) is None:
            return True
    return any("__dict__" in assign.value or "vars(" in assign.value for assign in facts.assigns)


def _is_read_here(context: Context, path: str, flags: tuple[Flag, ...]) -> bool:
    """Whether at least half of the flags are read in the file, in one that it imports, or in one that imports it: then it is
    seen how its values are read."""
    graph, code = context.path.graph, context.repository.code
    near = {path}
    for other, facts in code.items():
        targets = (
            {graph.modules.resolve(item.module, other)[0] for item in facts.imports}
            if other == path or _may_import(facts, path)
            else set()
        )
        if other == path:
            near.update(target for target in targets if target)
        elif path in targets:
            near.add(other)
    names = {name for each in near if each in code for name in code[each].attributes}
    return 2 * sum(flag.dest in names for flag in flags) >= len(flags)


def _may_import(facts: PythonFacts, path: str) -> bool:
    stem = path.rpartition("/")[2].removesuffix(".py")
    return any(stem in item.module or item.name == stem for item in facts.imports)


def _is_dead(flag: Flag, read: frozenset[str]) -> bool:
    return (
        flag.dest not in read
        and flag.dest not in _TAKEN_BY_LAUNCHERS
        and flag.action not in ("'version'", "'help'")
        and len(flag.dest) > 1
    )


def _unused(path: str, dead: list[Flag], passed_on: set[str]) -> Outcome:
    """The finding about the flags of one script that nothing reads."""
    names = {
        flag: next((name for name in flag.names if name.startswith("--")), flag.names[0]) for flag in dead
    }
    used = [name for flag, name in names.items() if not passed_on.isdisjoint(flag.names)]
    single = len(dead) == 1
    where = f"{path}:{dead[0].line}" if single else path
    said = (
        f"{where} defines {listed(list(names.values()), 8)}, and nothing reads {'it' if single else 'them'}: "
    )
    said += "setting it has no effect" if single else "setting them has no effect"
    if used:
        said += ", though documented commands do" + ("" if len(used) == len(dead) else f" ({listed(used)})")
    fields = listed([f"args.{flag.dest}" for flag in dead], 4)
    return failed(
        said + ".",
        *capped((Place(path, flag.line, "" if single else name) for flag, name in names.items()), 10),
        key=names[dead[0]] if single else "flags",
        fix=f"Use {fields} where {'it is' if single else 'they are'} meant to act, or remove the {'flag' if single else 'flags'}.",
        severity=None if used else Severity.INFO,
    )


# Disagreement ----------------------------------------------------------------------------------------------------------------


def conflicts(context: Context) -> Iterable[Outcome]:
    found = context.signals.config_conflicts.value
    if not found:
        yield passed("No setting was found with different values in places that describe one run.")
    for conflict in found[:OUTCOME_LIMIT]:
        yield failed(
            _said(conflict),
            *capped(Place(place.path, place.line, place.value[:100]) for place in conflict.places),
            key=conflict.setting,
        )
    if len(found) > OUTCOME_LIMIT:
        yield failed(
            f"{len(found) - OUTCOME_LIMIT} further settings have different values in different places.",
            key="more",
        )


def _said(conflict: ConfigConflict) -> str:
    """The contradiction as a sentence, a place named once."""

    def at(place: ConflictPlace) -> str:
        return f"{place.path}:{place.line}" if place.line else place.path

    one_place = len({at(place) for place in conflict.places}) == 1
    values = [place.value if one_place else f"{place.value} ({at(place)})" for place in conflict.places]
    if not conflict.note:
        return f"{conflict.setting} has different values in places that describe one run: {listed(values)}."
    where = f"{at(conflict.places[0])}: " if one_place else ""
    return f"{where}{conflict.setting}: {conflict.note}: {listed(values)}."


RULES = (
    Rule(
        "configuration.absolute_paths",
        Severity.WARNING,
        "No paths of one machine",
        "A path under one person's home or one cluster's disk does not exist elsewhere: the code stops, or reads other data.",
        "Take the path from a flag or a setting, relative to the repository by default.",
        "configuration",
        2,
        "parser.add_argument('--data', default='data')",
        "root = '/home/alice/imagenet'",
        absolute_paths,
    ),
    Rule(
        "configuration.environment_variables",
        Severity.INFO,
        "Environment variables are documented",
        "A variable that only the author's shell sets changes or stops the run everywhere else.",
        "List the variable in the README or in a `.env.example`, or give it a default.",
        "configuration",
        1,
        "os.environ.get('DATA_DIR', 'data'), or a line about DATA_DIR in the README.",
        "os.environ.get('EXPERIMENT_ROOT'), mentioned nowhere.",
        environment_variables,
    ),
    Rule(
        "configuration.unused_flags",
        Severity.WARNING,
        "Every flag has an effect",
        "Who sets a flag that nothing reads believes in an experiment that never ran.",
        "Use the value, or remove the flag.",
        "configuration",
        1,
        "--warmup is defined and args.warmup is used.",
        "--warmup is defined, args.warmup occurs nowhere.",
        unused_flags,
    ),
    Rule(
        "configuration.conflicts",
        Severity.WARNING,
        "Settings agree",
        "Two places that describe the same run with different values: one of them is not how the results were made.",
        "Correct the one that is wrong, or keep the value in one place.",
        "configuration",
        2,
        "README and config both say a learning rate of 3e-4.",
        "The README says 3e-4, the default in train.py is 1e-4.",
        conflicts,
    ),
)
