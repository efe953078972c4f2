"""Models and data sets of a run, by the role that the code gives them."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Call
from audit.signals.hub import is_foreign
from audit.signals.literals import BUILDERS, Use, is_bare_model, uses
from audit.signals.once import once
from audit.signals.repository import Repository
from audit.state.observed.calls import Group
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.vocabulary import role_of_name, vocabulary, without_role

_MODEL_CLASS = re.compile(
    r".*(?:AutoModel\w*|\w*ForCausalLM|\w*LMHeadModel|\w*ForSequenceClassification|\w*ForConditionalGeneration|\w*ForMaskedLM|\w*ForQuestionAnswering|\w*ForTokenClassification"
    r"|\w*Model\w*|\w*Pipeline|FastLanguageModel|HookedTransformer|\w*Encoder\w*|CrossEncoder|SentenceTransformer)\.from_pretrained"
)
_TOKENIZER_CLASS = re.compile(r".*[Tt]okenizer\w*\.from_pretrained")
_ADAPTER_CLASS = re.compile(r"(?:peft\.)?(?:Auto)?Peft\w*\.from_pretrained")
_NO_MODEL = re.compile(r".*(?:Config|Processor|FeatureExtractor|GenerationConfig)\.from_pretrained")
_ENGINE = re.compile(
    r"(?:vllm(?:\.\w+)*\.)?(?:LLM|AsyncEngineArgs|EngineArgs)|(?:sentence_transformers(?:\.\w+)*\.)?(?:SentenceTransformer|CrossEncoder)"
)
_ASKS = re.compile(
    r"(?:.*\.)?(?:chat\.completions|completions|responses|messages)(?:\.with_raw_response)?\.(?:create|parse|stream)|(?:.*\.)?(?:ChatCompletion|Completion)\.a?create"
    r"|litellm(?:\.\w+)*\.(?:a?completion|batch_completion)|(?:langchain\w*(?:\.\w+)*\.)?(?:ChatOpenAI|ChatAnthropic|AzureChatOpenAI)"
)
_PIPELINE = re.compile(r"(?:transformers(?:\.\w+)*\.)?pipeline")


def identities(scene: Scene, resolver: Resolver, folder: str) -> Iterator[Group]:
    """What the run loads, and how: models, tokenizers, adapters, data sets. `folder`: where the command is given, "" for the root."""
    data: list[tuple[str, Group]] = []
    for file, call in scene.calls:
        last = call.name.rpartition(".")[2]
        if last == "from_pretrained" and not _NO_MODEL.fullmatch(call.name):
            yield from _loaded(scene, resolver, file, call)
        elif _ENGINE.fullmatch(call.name):
            text = (
                call.kwargs.get("model")
                or call.kwargs.get("model_name_or_path")
                or (call.args[0] if call.args else "")
            )
            yield from _model(
                scene, resolver, file, call, text, "embedding" if "Sentence" in last else "", "id"
            )
        elif _ASKS.fullmatch(call.name):
            text = call.kwargs.get("model") or call.kwargs.get("engine", "")
            yield from _model(scene, resolver, file, call, text, "", "id")
        elif _PIPELINE.fullmatch(call.name) and "model" in call.kwargs:
            yield from _model(scene, resolver, file, call, call.kwargs["model"], "", "id")
        elif last == "load_dataset" and call.name in (
            "datasets.load_dataset",
            "datasets.load.load_dataset",
            "load_dataset",
        ):
            function = scene.graph.python[file].scopes[call.scope].name
            data += [(function, group) for group in _dataset(scene, resolver, file, call)]
    yield from _chosen_by_name(resolver, data)
    yield from _by_names(scene, resolver, folder)


def _chosen_by_name(resolver: Resolver, data: list[tuple[str, Group]]) -> Iterator[Group]:
    """The data sets that are loaded. Where functions load one each (`get_hh`, `get_shp`) and an option names some of them (`--datasets hh`), those."""
    words = {function: set(re.split(r"[^a-z0-9]+", function.lower())) for function, _ in data}
    if len(words) > 1:
        for key in vocabulary().datasets:
            said = resolver.settings.about(key)
            if not said or not said[0].known or said[0].value is None:
                continue
            values = said[0].value if isinstance(said[0].value, tuple) else (said[0].value,)
            named = [
                function
                for function, its in words.items()
                if any(str(value).lower() in its for value in values)
            ]
            if named:
                data = [(function, group) for function, group in data if function in named]
                break
    yield from (group for _, group in data)


# Models ----------------------------------------------------------------------------------------------------------


def _loaded(scene: Scene, resolver: Resolver, file: str, call: Call) -> Iterator[Group]:
    if _ADAPTER_CLASS.fullmatch(call.name):
        text = call.args[1] if len(call.args) > 1 else call.kwargs.get("model_id", "")
        yield from _model(scene, resolver, file, call, text, "", "adapter")
        return
    text = call.args[0] if call.args else call.kwargs.get("pretrained_model_name_or_path", "")
    if _TOKENIZER_CLASS.fullmatch(call.name):
        yield from _model(scene, resolver, file, call, text, "", "tokenizer")
    elif _MODEL_CLASS.fullmatch(call.name):
        yield from _model(scene, resolver, file, call, text, "", "id")


_DETAILS = {
    "revision": "revision",
    "torch_dtype": "dtype",
    "dtype": "dtype",
    "trust_remote_code": "trust_remote_code",
}


def _model(
    scene: Scene, resolver: Resolver, file: str, call: Call, text: str, role: str, what: str
) -> Iterator[Group]:
    if not text:
        return
    holds = resolver.holds(call.test, file, call.scope)
    if holds is False:
        return
    role = role or _role(scene, file, call, text)
    last = ".".join(call.name.split(".")[-2:])
    said = tuple(
        each
        for each in resolver.values(text, file, call.scope, call.line)
        if each.value is None or _is_id(each.value)
    )
    told = tuple(
        msgspec.structs.replace(
            each, detail=f"{each.detail}, loaded by {last}()" if each.detail else f"{last}()"
        )
        for each in said
    )
    if told:
        yield Group(f"models.{role}.{what}", told, sure=told[0].known and holds is True)
    else:
        yield Group(f"models.{role}.{what}", (), opaque=True)
    if what != "id":
        return
    for word, setting in _DETAILS.items():
        if word in call.kwargs:
            found = resolver.values(call.kwargs[word], file, call.scope, call.line)
            rows = tuple(
                msgspec.structs.replace(each, detail=each.detail or f"{last}({word}=)") for each in found
            )
            yield Group(
                f"models.{role}.{setting}",
                rows,
                sure=bool(rows) and rows[0].known and holds is True,
                opaque=not rows,
            )
    for word, name in (("load_in_4bit", "bitsandbytes_4bit"), ("load_in_8bit", "bitsandbytes_8bit")):
        found = resolver.values(call.kwargs.get(word, ""), file, call.scope, call.line)
        if found and found[0].known and found[0].value is True:
            row = msgspec.structs.replace(found[0], value=name, detail=found[0].detail or f"{last}({word}=)")
            yield Group(f"models.{role}.quantization", (row,), sure=holds is True)


def _role(scene: Scene, file: str, call: Call, text: str) -> str:
    scopes = scene.graph.python[file].scopes
    names = [text.rpartition(".")[2].strip("]'\""), call.within.partition(":")[2], call.name]
    at = call.scope
    while at > 0:
        names.append(scopes[at].name)
        at = scopes[at].parent
    names.append(file.rpartition("/")[2].removesuffix(".py"))
    if text[:1] in "'\"":
        names = names[1:]
    return next((role for name in names if (role := role_of_name(name))), "primary")


_NO_ID = re.compile(r".*\.(?:py|ya?ml|json|txt|csv|jsonl|sh|md)$|.*\s.*|\d+(?:\.\d+)?|", re.DOTALL)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and len(value) < 300 and not _NO_ID.fullmatch(value)


# Data ------------------------------------------------------------------------------------------------------------

_SPLITS = {
    "train": "train",
    "validation": "validation",
    "val": "validation",
    "valid": "validation",
    "dev": "validation",
    "test": "test",
    "eval": "evaluation",
}


def _dataset(scene: Scene, resolver: Resolver, file: str, call: Call) -> Iterator[Group]:
    holds = resolver.holds(call.test, file, call.scope)
    if holds is False:
        return
    text = call.args[0] if call.args else call.kwargs.get("path", "")
    said = tuple(
        each
        for each in resolver.values(text, file, call.scope, call.line)
        if each.value is None or _is_id(each.value)
    )
    if said and said[0].value in BUILDERS:
        return
    split = resolver.values(call.kwargs.get("split", ""), file, call.scope, call.line)
    role = _dataset_role(scene, file, call, text, split)
    told = tuple(
        msgspec.structs.replace(
            each, detail=f"{each.detail}, loaded by load_dataset()" if each.detail else "load_dataset()"
        )
        for each in said
    )
    yield Group(
        f"datasets.{role}.id", told, sure=bool(told) and told[0].known and holds is True, opaque=not told
    )
    subset = call.args[1] if len(call.args) > 1 else call.kwargs.get("name", "")
    for setting, text in (
        ("subset", subset),
        ("split", call.kwargs.get("split", "")),
        ("revision", call.kwargs.get("revision", "")),
    ):
        if text:
            found = resolver.values(text, file, call.scope, call.line)
            rows = tuple(
                msgspec.structs.replace(each, detail=each.detail or f"load_dataset({setting})")
                for each in found
            )
            yield Group(
                f"datasets.{role}.{setting}",
                rows,
                sure=bool(rows) and rows[0].known and holds is True,
                opaque=not rows,
            )


def _dataset_role(scene: Scene, file: str, call: Call, text: str, split: tuple[Said, ...]) -> str:
    names = [text.rpartition(".")[2], call.within.partition(":")[2]]
    for name in names:
        words = set(re.split(r"[^a-z]+", name.lower()))
        role = next((role for word, role in _SPLITS.items() if word in words), "")
        if role:
            return role
    if split and isinstance(split[0].value, str) and split[0].known:
        word = re.split(r"[^a-z]", split[0].value.lower())[0]
        if word in _SPLITS and (scene.trains or _SPLITS[word] != "train"):
            return _SPLITS[word] if scene.trains else "evaluation"
    return "train" if scene.trains else "evaluation"


# Names -----------------------------------------------------------------------------------------------------------

_NO_NAME = frozenset(
    (
        "scratch resume auto none null default best last latest base small medium large xl tiny true false random all "
        "train test val main custom model pretrained"
    ).split()
)


def _by_names(scene: Scene, resolver: Resolver, folder: str) -> Iterator[Group]:
    """Options that name a model or a data set, where no call shows where they go."""
    best: dict[str, tuple[int, Group]] = {}
    for key in resolver.settings.names():
        said = resolver.settings.about(key)
        if not said or all(each.value is None and each.known for each in said):
            continue
        for setting, index in _meant(key.rpartition(".")[2], key, "train" if scene.trains else "evaluation"):
            about = (
                _as_model(scene, setting, said)
                if setting.startswith("models.")
                else _as_data(scene, setting, said, folder)
            )
            if about is not None:
                group = msgspec.structs.replace(about, position=index)
                if group.setting not in best or index < best[group.setting][0]:
                    best[group.setting] = (index, group)
    for _, group in best.values():
        yield group


def _as_model(scene: Scene, setting: str, said: tuple[Said, ...]) -> Group | None:
    rows = tuple(
        each for each in said if not each.known or each.value is None or _names_model(scene, each.value)
    )
    if not rows or all(each.value is None and each.known for each in rows):
        top = next((each for each in said if each.known and isinstance(each.value, str)), said[0])
        aliases = _aliased(scene, top.value) if isinstance(top.value, str) else ()
        meant = tuple(
            Said(
                use.value,
                Place(use.path, use.line),
                f"what {top.value} of {top.detail} may stand for",
                top.rank,
                known=False,
            )
            for use in aliases
        )
        return Group(setting, meant, sure=False, by_name=True) if meant else None
    return Group(setting, rows, sure=rows[0] == said[0] and rows[0].known, by_name=True)


def _aliased(scene: Scene, name: str) -> tuple[Use, ...]:
    """Ids in files that run whose last part is `name`: what the repository's own name of a model may stand for."""
    end = "/" + name.lower()
    found = {
        use.value: use
        for use in reversed(uses(scene.repository))
        if use.path in scene.files and use.value.lower().endswith(end)
    }
    return tuple(found[value] for value in sorted(found))


def _names_model(scene: Scene, value: object) -> bool:
    if not isinstance(value, str) or not _is_id(value) or value.lower() in _NO_NAME:
        return False
    if not scene.is_llm:
        return bool(re.fullmatch(r"[A-Za-z][\w.\-/]{2,80}", value))
    return (
        identity_kind(value) in ("hub", "api", "path")
        or is_bare_model(value)
        or value.startswith(("./", "~/", "/", "../"))
        or value.count("/") > 1
    )


def _as_data(scene: Scene, setting: str, said: tuple[Said, ...], directory: str) -> Group | None:
    """A data set's id where it is the hub's, its path where it is a file or folder; a name of the repository's own is a candidate."""
    top = next((each for each in said if each.value is not None), None)
    role = setting.rpartition(".")[0]
    if top is None or not isinstance(top.value, str):
        return Group(setting, said, sure=False, by_name=True) if top is None or not top.known else None
    value = top.value.removeprefix("./")
    heads = (f"{directory}/" if directory else "", "", "data/", "datasets/", "dataset/")
    folder = next((f"{head}{value}" for head in heads if _exists(scene, f"{head}{value}")), "")
    if folder or re.search(r"\.(?:jsonl?|csv|tsv|txt|parquet|arrow|npz|npy|bin|pkl|h5|zip|gz|zst)$", value):
        rows = tuple(
            msgspec.structs.replace(each, value=(folder or value) if each is top else each.value)
            for each in said
        )
        return Group(
            f"{role}.path",
            rows,
            sure=top is said[0] and top.known and not value.startswith(("/", "~", "..")),
            by_name=True,
        )
    if identity_kind(value) == "hub" and not is_foreign(value, scene.repository, frozenset()):
        return Group(setting, said, sure=top is said[0] and top.known, by_name=True)
    if _is_id(value) and value.lower() not in _NO_NAME and not value.startswith(("/", "~", ".")):
        return Group(setting, said, sure=False, by_name=True)
    return None


def _exists(scene: Scene, name: str) -> bool:
    name = name.rstrip("/")
    return name in scene.repository.path_set or name in own_folders(scene.repository)


def _meant(last: str, key: str, main: str) -> Iterator[tuple[str, int]]:
    known = vocabulary()
    role = role_of_name(key.replace(".", "_")) or "primary"
    bare = last if last in known.models else without_role(key)
    if last not in known.models and role != "primary" and last == role:
        bare = "model"  # `--judge gpt-4`
    if bare in known.models:
        yield f"models.{role}.id", known.models.index(bare)
    elif last in known.datasets:
        words = set(re.split(r"[^a-z]+", last))
        kind = next((each for word, each in _SPLITS.items() if word in words), "")
        yield f"datasets.{kind or main}.id", known.datasets.index(last)


@once
def own_folders(repository: Repository) -> frozenset[str]:
    """Every folder of the repository."""
    found: set[str] = set()
    for path in repository.paths:
        at = path.find("/")
        while at >= 0:
            found.add(path[:at])
            at = path.find("/", at + 1)
    return frozenset(found)
