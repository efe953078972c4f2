"""Level 1: what the manifest declares, held against what the code does. Each finding names both places."""

import re
from collections.abc import Iterable, Iterator

from audit.documents.finding import Severity, Status
from audit.documents.place import Place
from audit.documents.state import Leaf, Value
from audit.rules.declared import Check, View, declaring, or_else
from audit.rules.observing import Meant, meant
from audit.rules.rule import Outcome, Rule, failed, not_applicable, passed
from audit.state.observed.equal import agree
from audit.state.values import number

_LONGEST = 80
_MANY = 40
"""Experiments of a repository above which it is no longer certain that all are seen."""
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
        if (
            path == "training.epochs"
            and declared is not None
            and seen is None
            and not view.says("training.max_steps")
        ):
            yield from _ended_by_steps(view, declared, experiment.state.leaves.get("training.max_steps"))
        if declared is None or declared.value is None or seen is None or seen.value is None:
            continue
        if not _may_agree(path, declared.value, seen, found):
            yield _contradiction(view, path, declared, seen, found.exact)


def _ended_by_steps(view: View, declared: Leaf, steps: Leaf | None) -> Iterator[Outcome]:
    """Epochs are declared of a run that a number of steps ends."""
    count = number(steps.value) if steps is not None else None
    if steps is None or steps.place is None or count is None or count <= 0:
        return
    mine = view.place("training.epochs", f"training.epochs: {_short(declared.value)}")
    said = f"{mine.path}:{mine.line} declares training.epochs {_short(declared.value)}"
    yield failed(
        f"{said}; {_at(steps.place)} has {_short(steps.value)} steps, which end the run whatever the epochs are.",
        mine,
        Place(steps.place.path, steps.place.line, f"max_steps {_short(steps.value)}"),
        fix=f"Declare training.max_steps {_short(steps.value)} instead.",
        key="training.epochs",
        severity=Severity.WARNING,
    )


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
        # A run may be started otherwise: only what no place at all has is contradicted, where all places are seen.
        if len(found.others) > _MANY:
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
    outcomes = list(_agreeing(view, "form of models", FORMS, JUDGE))
    extra = list(_never_quantized(view))
    yield from ([each for each in outcomes if each.status is Status.FAIL] + extra) or outcomes


def _never_quantized(view: View) -> Iterator[Outcome]:
    """Weights are declared to be quantized while they are loaded, and nothing in the repository does that."""
    declared = view.leaf("models.primary.quantization")
    found = meant(view.context)
    if (
        declared is None
        or found.experiment is None
        or not found.exact
        or view.context.signals.quantization.value
    ):
        return
    if (
        _LOADED_AS.search(str(declared.value))
        and "models.primary.quantization" not in found.experiment.state.leaves
    ):
        mine = view.place(
            "models.primary.quantization", f"models.primary.quantization: {_short(declared.value)}"
        )
        yield failed(
            f"{mine.path}:{mine.line} declares models.primary.quantization {_short(declared.value)}, and nothing in the code quantizes weights.",
            mine,
            Place(found.experiment.entry or found.experiment.place.path, None, "loads no quantized weights"),
            fix="Declare `quantization: none`, or load the weights as declared.",
            key="models.primary.quantization",
        )


_LOADED_AS = re.compile(r"(?i)bitsandbytes|bnb|nf4|fp4|load_in|(?:^|\W)[48].?bit")
"""Quantizations that the code asks for when it loads; others are in the weights themselves."""


def datasets(view: View) -> Iterable[Outcome]:
    outcomes = list(_agreeing(view, "data sets", DATASETS))
    extra = list(_files_instead(view))
    yield from ([each for each in outcomes if each.status is Status.FAIL] + extra) or outcomes


def _files_instead(view: View) -> Iterator[Outcome]:
    """A data set of the hub is declared, and the run reads a file."""
    found = meant(view.context)
    experiment = found.experiment
    for role in view.roles("datasets"):
        path = f"datasets.{role}.id"
        declared = view.leaf(path)
        if experiment is None or declared is None or view.says(f"datasets.{role}.path"):
            continue
        seen = experiment.state.leaves.get(f"datasets.{role}.path")
        named = path in experiment.state.leaves or path in experiment.candidates
        if (
            seen is None
            or seen.place is None
            or named
            or (not found.exact and list(_everywhere(path, found)))
        ):
            continue
        mine = view.place(path, f"{path}: {_short(declared.value)}")
        yield failed(
            f"{mine.path}:{mine.line} declares {path} {_short(declared.value)}; {_at(seen.place)} has the run read {_short(seen.value)}.",
            mine,
            Place(seen.place.path, seen.place.line, _short(seen.value)),
            fix=f"Declare `path: {_short(seen.value)}`, and the id only where that file comes from it.",
            key=path,
            severity=Severity.WARNING,
        )


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
    """Metrics and what computes them go by many names: only where nothing declared has a word in common with what the code has."""
    found = meant(view.context)
    leaves = found.experiment.state.leaves if found.experiment else {}
    looked = False
    wrong = []
    for path in ("evaluation.metrics", "evaluation.implementation"):
        declared, seen = view.leaf(path), leaves.get(path)
        if declared is None or seen is None:
            continue
        looked = True
        named = _same_words if path.endswith("metrics") else _same_name
        if not named(declared.value, seen.value):
            wrong.append(_contradiction(view, path, declared, seen, found.exact))
    if not looked:
        yield not_applicable("No metric is declared, or the code shows none by a library's name.")
    else:
        yield from or_else(wrong, passed("The declared metrics are among those that the code computes."))


def _same_words(declared: Value, seen: Value) -> bool:
    mine, theirs = _words(declared), _words(seen)
    return bool(mine & theirs) or any(a in b or b in a for a in mine for b in theirs)


def _same_name(declared: Value, seen: Value) -> bool:
    """Whether one holds the other's name, however that is written: `lm-eval==0.4.2` is lm_eval."""
    mine, theirs = (re.sub(r"[^a-z0-9]+", "", str(value).lower()) for value in (declared, seen))
    return mine in theirs or theirs in mine


def _words(value: Value) -> frozenset[str]:
    items = value if isinstance(value, tuple) else (value,)
    return frozenset(
        word for item in items for word in re.split(r"[^a-z0-9]+", str(item).lower()) if len(word) > 1
    )


def stated(
    name: str,
    severity: Severity,
    title: str,
    why: str,
    passing: str,
    failing: str,
    check: Check,
    fix: str = _FIX,
) -> Rule:
    """A rule of the category "declared", which costs no points."""
    return declaring(f"declared.{name}", severity, title, why, fix, passing, failing, check)


_FALSE = "Who repeats the experiment follows the manifest, and gets other numbers: a declaration that the code does not keep is worse than none. "

RULES = (
    stated(
        "model",
        Severity.CRITICAL,
        "The declared models are those that the code loads",
        _FALSE + "Another model is another experiment.",
        "# train.py --model acme/tiny\nmodels: {primary: {id: acme/tiny}}\n",
        "# train.py --model acme/tiny\nmodels: {primary: {id: acme/large}}\n",
        models,
    ),
    stated(
        "model_form",
        Severity.WARNING,
        "Models are loaded in the declared form",
        _FALSE + "Another revision, dtype or quantization changes outputs.",
        "# from_pretrained(…, torch_dtype=torch.bfloat16)\nmodels: {primary: {dtype: bfloat16}}\n",
        "# from_pretrained(…, torch_dtype=torch.bfloat16)\nmodels: {primary: {dtype: float32}}\n",
        forms,
    ),
    stated(
        "dataset",
        Severity.CRITICAL,
        "The declared data sets are those that the code reads",
        _FALSE + "Other data give other numbers.",
        "# load_dataset('acme/reviews')\ndatasets: {train: {id: acme/reviews}}\n",
        "# load_dataset('acme/reviews')\ndatasets: {train: {id: acme/news}}\n",
        datasets,
    ),
    stated(
        "dataset_part",
        Severity.WARNING,
        "The declared part of the data is what the code takes",
        _FALSE + "Another split, subset or sample is other data.",
        "# load_dataset(…, split='test')\ndatasets: {evaluation: {split: test}}\n",
        "# load_dataset(…, split='test')\ndatasets: {evaluation: {split: validation}}\n",
        parts,
    ),
    stated(
        "prompt",
        Severity.WARNING,
        "The declared prompts are those of the code",
        _FALSE + "A word of a prompt changes what a model answers.",
        "# PROMPT = 'Answer briefly.'\nprompts: {primary: {text: Answer briefly.}}\n",
        "# PROMPT = 'Answer briefly.'\nprompts: {primary: {text: Answer in one word.}}\n",
        prompts,
    ),
    stated(
        "generation",
        Severity.WARNING,
        "The declared generation parameters are those of the code",
        _FALSE + "Temperature, nucleus and length decide what is sampled.",
        "# SamplingParams(temperature=0)\ngeneration: {temperature: 0}\n",
        "# SamplingParams(temperature=0.7)\ngeneration: {temperature: 0}\n",
        generation,
    ),
    stated(
        "seed",
        Severity.WARNING,
        "The declared seed is the one that the code sets",
        _FALSE + "With another seed, the run is another one.",
        "# train.py --seed 42\ntraining: {seed: 42}\n",
        "# train.py --seed 0\ntraining: {seed: 42}\n",
        seeds,
    ),
    stated(
        "training",
        Severity.CRITICAL,
        "The declared hyper-parameters are those of the code",
        _FALSE + "A model trained with another learning rate is another model.",
        "# train.py --lr 2e-5\ntraining: {learning_rate: 2.0e-5}\n",
        "# add_argument('--lr', default=1e-4)\ntraining: {learning_rate: 2.0e-5}\n",
        training,
    ),
    stated(
        "evaluation",
        Severity.WARNING,
        "The declared evaluation is that of the code",
        _FALSE + "How often is asked, and how many queries may be spent, decides the score.",
        "# run.py --num-trials 5\nevaluation: {repetitions: 5}\n",
        "# add_argument('--num-trials', default=1)\nevaluation: {repetitions: 5}\n",
        evaluation,
    ),
    stated(
        "metrics",
        Severity.WARNING,
        "The declared metrics are among those that the code computes",
        _FALSE + "A metric that nothing computes has no value.",
        "# evaluate.load('accuracy')\nevaluation: {metrics: [accuracy]}\n",
        "# evaluate.load('accuracy')\nevaluation: {metrics: [bleu]}\n",
        metrics,
    ),
    stated(
        "judge",
        Severity.CRITICAL,
        "The declared judge is the one that the code asks",
        _FALSE + "Another judge, or the same at another temperature, gives other scores.",
        "# judge.py --judge-model gpt-4-0613\nmodels: {judge: {id: gpt-4-0613}}\n",
        "# add_argument('--judge-model', default='gpt-4')\nmodels: {judge: {id: gpt-4-0613}}\n",
        judge,
    ),
)
