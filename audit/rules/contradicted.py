"""Level 1: what the manifest declares, held against what the code does. Each finding names both places."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.documents.state import Leaf, Value
from audit.facts.model import Command, ConfigFacts
from audit.rules.declared import Check, View, declaring, or_else
from audit.rules.flags import accepted, accepts, spelling
from audit.rules.observing import Meant, commands, meant
from audit.rules.rule import Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import listed
from audit.signals.dataclass_flags import dataclass_flags, takes
from audit.signals.training_path import resolve_target
from audit.state.observed.equal import agree
from audit.state.observed.options import plain
from audit.state.values import number

_LONGEST = 80
_LIBRARY = "library default of "
_FIX = "Correct the manifest where the code is right, and the code or its command where the manifest is."

# What is compared ----------------------------------------------------------------------------------------------------

MODELS = re.compile(r"models\.\w+\.(?:id|adapter|tokenizer)")
FORMS = re.compile(
    r"models\.\w+\.(?:revision|tokenizer_revision|adapter_revision|dtype|quantization|trust_remote_code|chat_template)|inference\.(?:dtype|quantization|tensor_parallel|max_model_len|gpu_memory_utilization|backend)"
)
DATASETS = re.compile(r"datasets\.\w+\.(?:id|path)")
PARTS = re.compile(r"datasets\.\w+\.(?:revision|subset|split|sampling\.\w+)")
PROMPTS = re.compile(r"prompts\.\w+\.(?:text|path|few_shot)")
GENERATION = re.compile(r"generation\.(?!seed$).+")
SEEDS = re.compile(r"(?:experiment|training|generation)\.seed")
TRAINING = re.compile(r"training\.(?!seed$|method$|framework$).+")
EVALUATION = re.compile(r"evaluation\.(?!judge\.|metrics$|implementation|aggregation|definitions).+")
JUDGE = re.compile(r"(?:models|prompts|evaluation)\.judge\..+")


def _compared(
    view: View, settings: re.Pattern[str], apart: re.Pattern[str] | None = None
) -> Iterator[Outcome]:
    """A finding for each declared setting that the code contradicts."""
    found = meant(view.context)
    experiment = found.experiment
    if experiment is None:
        return
    for path in view.paths():
        if not settings.fullmatch(path) or (apart is not None and apart.fullmatch(path)):
            continue
        declared = view.leaf(path)
        seen = _seen(experiment.state.leaves, path, view)
        if declared is None or declared.value is None or seen is None or seen.value is None:
            continue
        if not _may_agree(path, declared.value, seen, found):
            yield _contradiction(view, path, declared, seen, found.exact)


def _seen(leaves: dict[str, Leaf], path: str, view: View) -> Leaf | None:
    """What the code says of the path; of a seed for the whole experiment, that of training."""
    if path == "experiment.seed" and path not in leaves and not view.says("training.seed"):
        return leaves.get("training.seed")
    if path in ("inference.dtype", "inference.quantization") and path not in leaves:
        return leaves.get(path.replace("inference", "models.primary"))
    return leaves.get(path)


def _may_agree(path: str, declared: Value, seen: Leaf, found: Meant) -> bool:
    if agree(path, declared, seen.value):
        return True
    if path == "training.batch_size" and found.experiment is not None:
        return _is_total(declared, seen.value, found.experiment.state.leaves)
    if not found.exact:
        # A run may be started otherwise: only what no place at all has is contradicted.
        if seen.detail.startswith(_LIBRARY):
            return True
        return any(agree(path, declared, each.value) for each in _everywhere(path, found))
    return False


def _is_total(declared: Value, observed: Value, leaves: dict[str, Leaf]) -> bool:
    """Whether the declared batch is that of all devices, or of all steps that are added up."""
    whole, part = number(declared), number(observed)
    if not whole or not part:
        return False
    factors = [
        number(leaves[path].value) or 1
        for path in ("training.gradient_accumulation", "execution.world_size")
        if path in leaves
    ]
    totals = {part}
    for factor in factors:
        totals |= {total * factor for total in totals}
    return whole in totals


def _everywhere(path: str, found: Meant) -> Iterator[Leaf]:
    for each in found.others:
        if path in each.state.leaves:
            yield each.state.leaves[path]
        yield from each.state.alternatives.get(path, ())
        yield from each.candidates.get(path, ())


def _contradiction(view: View, path: str, declared: Leaf, seen: Leaf, exact: bool) -> Outcome:
    mine = view.place(path, f"{path}: {_short(declared.value)}")
    where = seen.place or Place("")
    theirs = Place(
        where.path, where.line, f"{_short(seen.value)}" + (f" ({seen.detail})" if seen.detail else "")
    )
    said = f"{mine.path}:{mine.line} declares {path} {_short(declared.value)}"
    if seen.detail.startswith(_LIBRARY):
        library = seen.detail.removeprefix(_LIBRARY)
        return failed(
            f"{said}; nothing that the command runs sets it, and {library} takes {_short(seen.value)} then, by its documentation.",
            mine,
            theirs,
            fix=f"Set it in the code or in the command, or declare {_short(seen.value)}.",
            key=path,
            severity=Severity.INFO,
        )
    if exact:
        return failed(
            f"{said}; {_at(where)} has {_short(seen.value)}, and that is what the experiment's command runs with.",
            mine,
            theirs,
            fix=f"Declare {_short(seen.value)}, or change {_at(where)}.",
            key=path,
        )
    return failed(
        f"{said}; {_at(where)} has {_short(seen.value)}, and no command or configuration of the repository sets another value.",
        mine,
        theirs,
        fix="Correct the one that is wrong, or name the command that sets the value as experiment.command.",
        key=path,
        severity=Severity.WARNING,
    )


def _at(place: Place) -> str:
    return f"{place.path}:{place.line}" if place.line else place.path


def _short(value: Value) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _agreeing(
    view: View, what: str, settings: re.Pattern[str], apart: re.Pattern[str] | None = None
) -> Iterator[Outcome]:
    declared = [path for path in view.paths() if settings.fullmatch(path)]
    if not declared:
        yield not_applicable(f"The manifest declares no {what}.")
    elif meant(view.context).experiment is None:
        yield not_applicable("The code shows no experiment.")
    else:
        yield from or_else(
            _compared(view, settings, apart), passed(f"Nothing in the code contradicts the declared {what}.")
        )


def models(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "models", MODELS, JUDGE)


def forms(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "form of models", FORMS, JUDGE)


def datasets(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "data sets", DATASETS)


def parts(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "parts of data sets", PARTS)


def prompts(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "prompts", PROMPTS, JUDGE)


def generation(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "generation parameters", GENERATION)


def seeds(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "seeds", SEEDS)


def training(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "training parameters", TRAINING)


def evaluation(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "evaluation parameters", EVALUATION)


def judge(view: View) -> Iterable[Outcome]:
    return _agreeing(view, "judge", JUDGE)


def metrics(view: View) -> Iterable[Outcome]:
    """Metrics go by many names: only where no declared one has a word in common with any that the code computes."""
    declared = view.leaf("evaluation.metrics")
    experiment = meant(view.context).experiment
    seen = experiment.state.leaves.get("evaluation.metrics") if experiment else None
    if declared is None or seen is None:
        yield not_applicable("No metric is declared, or the code shows none by a library's name.")
        return
    mine, theirs = _words(declared.value), _words(seen.value)
    if mine & theirs or any(a in b or b in a for a in mine for b in theirs):
        yield passed("The declared metrics are among those that the code computes.")
    else:
        yield _contradiction(view, "evaluation.metrics", declared, seen, meant(view.context).exact)


def _words(value: Value) -> frozenset[str]:
    items = value if isinstance(value, tuple) else (value,)
    return frozenset(
        word for item in items for word in re.split(r"[^a-z0-9]+", str(item).lower()) if len(word) > 1
    )


# Commands ------------------------------------------------------------------------------------------------------------

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


def _rule(
    name: str,
    severity: Severity,
    title: str,
    why: str,
    passing: str,
    failing: str,
    check: Check,
    fix: str = _FIX,
) -> Rule:
    return declaring(f"declared.{name}", severity, title, why, fix, passing, failing, check)


_FALSE = "Who repeats the experiment follows the manifest, and gets other numbers: a declaration that the code does not keep is worse than none. "

RULES = (
    _rule(
        "model",
        Severity.CRITICAL,
        "The declared models are those that the code loads",
        _FALSE + "Another model is another experiment.",
        "# train.py --model acme/tiny\nmodels: {primary: {id: acme/tiny}}\n",
        "# train.py --model acme/tiny\nmodels: {primary: {id: acme/large}}\n",
        models,
    ),
    _rule(
        "model_form",
        Severity.WARNING,
        "Models are loaded in the declared form",
        _FALSE + "Another revision, dtype or quantization changes outputs.",
        "# from_pretrained(…, torch_dtype=torch.bfloat16)\nmodels: {primary: {dtype: bfloat16}}\n",
        "# from_pretrained(…, torch_dtype=torch.bfloat16)\nmodels: {primary: {dtype: float32}}\n",
        forms,
    ),
    _rule(
        "dataset",
        Severity.CRITICAL,
        "The declared data sets are those that the code reads",
        _FALSE + "Other data give other numbers.",
        "# load_dataset('acme/reviews')\ndatasets: {train: {id: acme/reviews}}\n",
        "# load_dataset('acme/reviews')\ndatasets: {train: {id: acme/news}}\n",
        datasets,
    ),
    _rule(
        "dataset_part",
        Severity.WARNING,
        "The declared part of the data is what the code takes",
        _FALSE + "Another split, subset or sample is other data.",
        "# load_dataset(…, split='test')\ndatasets: {evaluation: {split: test}}\n",
        "# load_dataset(…, split='test')\ndatasets: {evaluation: {split: validation}}\n",
        parts,
    ),
    _rule(
        "prompt",
        Severity.WARNING,
        "The declared prompts are those of the code",
        _FALSE + "A word of a prompt changes what a model answers.",
        "# PROMPT = 'Answer briefly.'\nprompts: {primary: {text: Answer briefly.}}\n",
        "# PROMPT = 'Answer briefly.'\nprompts: {primary: {text: Answer in one word.}}\n",
        prompts,
    ),
    _rule(
        "generation",
        Severity.WARNING,
        "The declared generation parameters are those of the code",
        _FALSE + "Temperature, nucleus and length decide what is sampled.",
        "# SamplingParams(temperature=0)\ngeneration: {temperature: 0}\n",
        "# SamplingParams(temperature=0.7)\ngeneration: {temperature: 0}\n",
        generation,
    ),
    _rule(
        "seed",
        Severity.WARNING,
        "The declared seed is the one that the code sets",
        _FALSE + "With another seed, the run is another one.",
        "# train.py --seed 42\ntraining: {seed: 42}\n",
        "# train.py --seed 0\ntraining: {seed: 42}\n",
        seeds,
    ),
    _rule(
        "training",
        Severity.CRITICAL,
        "The declared hyper-parameters are those of the code",
        _FALSE + "A model trained with another learning rate is another model.",
        "# train.py --lr 2e-5\ntraining: {learning_rate: 2.0e-5}\n",
        "# add_argument('--lr', default=1e-4)\ntraining: {learning_rate: 2.0e-5}\n",
        training,
    ),
    _rule(
        "evaluation",
        Severity.WARNING,
        "The declared evaluation is that of the code",
        _FALSE + "How often is asked, and how many queries may be spent, decides the score.",
        "# run.py --num-trials 5\nevaluation: {repetitions: 5}\n",
        "# add_argument('--num-trials', default=1)\nevaluation: {repetitions: 5}\n",
        evaluation,
    ),
    _rule(
        "metrics",
        Severity.WARNING,
        "The declared metrics are among those that the code computes",
        _FALSE + "A metric that nothing computes has no value.",
        "# evaluate.load('accuracy')\nevaluation: {metrics: [accuracy]}\n",
        "# evaluate.load('accuracy')\nevaluation: {metrics: [bleu]}\n",
        metrics,
    ),
    _rule(
        "judge",
        Severity.CRITICAL,
        "The declared judge is the one that the code asks",
        _FALSE + "Another judge, or the same at another temperature, gives other scores.",
        "# judge.py --judge-model gpt-4-0613\nmodels: {judge: {id: gpt-4-0613}}\n",
        "# add_argument('--judge-model', default='gpt-4')\nmodels: {judge: {id: gpt-4-0613}}\n",
        judge,
    ),
    _rule(
        "command",
        Severity.CRITICAL,
        "What the declared command runs is there",
        "A command that names no file cannot be repeated.",
        "# train.py is there\nexperiment: {command: python train.py}\n",
        "# train.py is there\nexperiment: {command: python trian.py}\n",
        command,
        "Name the file that is run.",
    ),
    _rule(
        "flags",
        Severity.WARNING,
        "The declared command passes flags that its script defines",
        "A parser stops at a flag that it does not know, or lets it pass without effect.",
        "# add_argument('--lr')\nexperiment: {command: python train.py --lr 1e-4}\n",
        "# add_argument('--lr')\nexperiment: {command: python train.py --learning-rate 1e-4}\n",
        flags,
        "Correct the flag, or define it.",
    ),
    _rule(
        "bound_keys",
        Severity.WARNING,
        "Keys that the manifest binds are there",
        "A binding to a key that no file has compares nothing.",
        "# config.yaml has optim.lr\ntraining: {learning_rate: 1.0e-4}\nbindings: {training.learning_rate: {config: 'config.yaml:optim.lr'}}\n",
        "# config.yaml has optim.lr\ntraining: {learning_rate: 1.0e-4}\nbindings: {training.learning_rate: {config: 'config.yaml:lr'}}\n",
        bound_keys,
        "Correct the file or the key.",
    ),
    _rule(
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
