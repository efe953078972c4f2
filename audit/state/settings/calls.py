"""Settings that the keywords and arguments of library calls state."""

import re
from collections.abc import Iterator

from audit.documents.state import Value
from audit.facts.python.model import Call
from audit.state.names import concept, plain
from audit.state.settings.expressions import Unknown, value_of
from audit.state.settings.key import Found
from audit.state.settings.vocabulary import Family, family_of, words

_OPTIMIZER = re.compile(
    r"torch\.optim\.(?!lr_scheduler)\w+"
    r"|(?:tensorflow\.)?keras\.optimizers\.(?:legacy\.)?[A-Z]\w*"
    r"|tensorflow\.train\.\w*Optimizer"
    r"|optax\.(?:adamw?|sgd|lion|rmsprop|adafactor|lamb|lars|adagrad|radam|nadamw?|novograd|adabelief)"
    r"|(?:bitsandbytes\.optim|torch_optimizer|transformers|transformers\.optimization|apex\.optimizers|deepspeed\.ops\.\w+|timm\.optim|lion_pytorch|prodigyopt"
    r"|optimizers?)\.\w*(?:Adam|SGD|Lion|Lamb|LAMB|LARS|Adafactor|Prodigy|RMSprop)\w*"
)
_SCHEDULE = re.compile(
    r"torch\.optim\.lr_scheduler\.[A-Z]\w+"
    r"|(?:transformers|diffusers)\.(?:\w+\.)?get_\w*schedule\w*"
    r"|optax\.(?:\w+_schedule|schedules\.\w+)"
    r"|timm\.scheduler\.\w+"
    r"|(?:tensorflow\.)?keras\.optimizers\.schedules\.\w+"
)


def call_settings(call: Call, scope: str) -> Iterator[Found]:
    """The settings that one call states."""
    last = call.name.rpartition(".")[2]
    if last in words().not_settings or last.startswith("DEFINE_") or call.within == "test":
        return
    if last in words().seeds:
        yield from _seed(call, last, scope)
    elif last in words().determinism:
        yield _found("execution.determinism", scope, f"{last}()", (call.args or ("True",))[0], call)
    elif last == "set_float32_matmul_precision" and call.args:
        yield _found("training.precision", scope, f"{last}()", call.args[0], call)
    elif _OPTIMIZER.fullmatch(call.name):
        yield from _chosen(call, last, scope, "training.optimizer", "optimizer", "training.learning_rate")
    elif _SCHEDULE.fullmatch(call.name):
        yield from _chosen(call, last, scope, "training.scheduler", "scheduler", "")
    else:
        yield from _identities(call, last, scope)
        yield from _keywords(call, last, scope)


_GENERATORS = frozenset({"random", "numpy", "np", "torch", "env", "cuda"})


def _seed(call: Call, last: str, scope: str) -> Iterator[Found]:
    """A call that seeds: its seed where that is a literal, else that there is one."""
    if call.name.startswith(("self.", "?.")) or call.within in ("iter",):
        return
    words = [call.kwargs[word] for word in ("seed", "a", "x") if word in call.kwargs]
    given = (call.args or tuple(words) or ("",))[0]
    if last in ("seed", "RandomState", "default_rng", "random_seed") and not given and call.within != "expr":
        return
    where = "" if call.name.startswith("?") else ".".join(call.name.split(".")[-3:])
    if last == "seed" and call.name.rpartition(".")[0].rpartition(".")[2] not in _GENERATORS:
        return
    if given:
        yield _found("training.seed", scope, f"{where}()", given, call)


def _chosen(call: Call, last: str, scope: str, what: str, word: str, first: str) -> Iterator[Found]:
    """An optimizer or schedule: which one it is, and its keywords under the name that it is assigned to, so that another class is one change."""
    held = call.within[7:] if call.within.startswith("assign:") else word
    holder = held.rpartition(".")[2]
    holder = holder if re.fullmatch(r"\w{1,60}", holder) and holder not in ("_", "opt") else word
    yield Found(what, scope, holder, last, call.line, f"{last}(…)")
    if first and len(call.args) > 1:
        yield _found(first, scope, f"{holder}.lr", call.args[1], call)
    elif first and call.name.startswith(("optax.", "keras.", "tensorflow.")) and call.args:
        yield _found(first, scope, f"{holder}.lr", call.args[0], call)
    for name, text in call.kwargs.items():
        if name not in ("**", "params", "last_epoch", "verbose", "optimizer", "foreach", "fused", "name"):
            kind = concept(name) or (
                "training.params.optimizer_args" if first else "training.params.lr_decay"
            )
            if kind != "recording":
                yield _found(kind, scope, f"{holder}.{_same_word(name)}", text, call)


def _same_word(name: str) -> str:
    return "lr" if name in ("learning_rate", "lr") else name


def _keywords(call: Call, last: str, scope: str) -> Iterator[Found]:
    """Keywords of any other call that bear the name of a setting, and all of those calls that only hold settings."""
    family = family_of(last)
    for name, text in call.kwargs.items():
        if name == "**":
            continue
        if (prompt := _prompt(name, text, call, scope)) is not None:
            yield prompt
        elif (kind := _kind(name, text, call, family)) is not None:
            yield _found(kind, scope, f"{last}.{name}", text, call)


def _kind(name: str, text: str, call: Call, family: Family | None) -> str | None:
    """What a keyword is; None where it is no setting, or its name says too little."""
    kind = (family.own.get(name) if family else None) or concept(name)
    if name == "revision" and _TOKENIZER.fullmatch(call.name.rpartition(".")[0].rpartition(".")[2]):
        kind = "models.primary.tokenizer_revision"
    if kind is None and family and family.concept:
        return family.concept if family.concept.count(".") > 1 else f"{family.concept}.{plain(name)}"
    if kind is None or kind == "recording":
        return None
    if family is None and (
        _is_of_a_tensor(name, call) or name in words().ambiguous or _says_little(name, text)
    ):
        return None
    return kind


def _is_of_a_tensor(name: str, call: Call) -> bool:
    """Whether a type is that of one tensor, and not a model's."""
    return name == "dtype" and not _LOADS_MODEL.search(call.name)


def _prompt(name: str, text: str, call: Call, scope: str) -> Found | None:
    """A text that a call hands a model as what it is told: a sentence at least, no name of one."""
    kind = concept(name) or ""
    plainly = text.removeprefix("f")
    if (
        not kind.startswith("prompts.")
        or kind.endswith("few_shot")
        or len(text) < _SHORTEST_PROMPT
        or plainly[:1] not in "'\""
    ):
        return None
    try:
        value = value_of(plainly.replace("…", "..."))
    except Unknown:
        return None
    if not isinstance(value, str) or " " not in value.strip():
        return None
    last = call.name.rpartition(".")[2]
    return Found(kind, scope, f"{last}.{name}", value, call.line, f"{last}({name}=)")


_SHORTEST_PROMPT = 20
_LOADS_MODEL = re.compile(
    r"(?:from_pretrained|from_config|pipeline|load_model|Model\w*|create_model|Engine\w*|LLM)$"
)


def _says_little(name: str, text: str) -> bool:
    """Whether a keyword of a call that nobody knows says too little: an object that is handed on, a word with many meanings."""
    return text[:1] not in "'\"-0123456789.[(TFN" and not text.startswith("torch.") and name in words().vague


# Identities ------------------------------------------------------------------------------------------------------

_TOKENIZER = re.compile(r"\w*(?:Tokenizer|Processor|FeatureExtractor)\w*")


def _identities(call: Call, last: str, scope: str) -> Iterator[Found]:
    """Models and datasets that a call takes by its first argument."""
    if not call.args:
        return
    receiver = call.name.rpartition(".")[0].rpartition(".")[2]
    first = call.args[0]
    match last:
        case "from_pretrained":
            kind = "models.primary.tokenizer" if _TOKENIZER.fullmatch(receiver) else "models.primary.id"
            yield _found(kind, scope, f"{receiver}.from_pretrained", first, call)
        case "load_dataset" | "load_dataset_builder" if call.name.startswith(
            ("datasets.", "nlp.", "load_dataset")
        ):
            yield _found("datasets.train.id", scope, f"{last}.path", first, call)
            if len(call.args) > 1:
                yield _found("datasets.train.subset", scope, f"{last}.name", call.args[1], call)
        case "SentenceTransformer":
            yield _found("models.embedding.id", scope, f"{last}.model", first, call)
        case "CrossEncoder" | "LLM" | "WhisperModel":
            yield _found("models.primary.id", scope, f"{last}.model", first, call)
        case "snapshot_download" | "hf_hub_download":
            yield _found("models.primary.id", scope, f"{last}.repo_id", first, call)
        case "load_metric":
            yield _found("evaluation.metrics", scope, f"{last}.path", first, call)
        case "load" if call.name.startswith("evaluate."):
            yield _found("evaluation.metrics", scope, "evaluate.load.path", first, call)
        case "clip_grad_norm_" | "clip_grad_norm" | "clip_grad_value_" if len(call.args) > 1:
            yield _found("training.gradient_clipping", scope, f"{last}.max_norm", call.args[1], call)


def _found(kind: str, scope: str, key: str, text: str, call: Call) -> Found:
    detail = f"{'.'.join(call.name.split('.')[-2:])}(…)"
    try:
        value: Value = value_of(text)
    except Unknown:
        return Found(kind, scope, key, text, call.line, detail, resolved=False)
    return Found(kind, scope, key, value, call.line, detail)
