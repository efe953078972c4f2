"""Models and data sets of a run, by the role that the code gives them."""

import re
from collections.abc import Collection, Iterator

import msgspec

from audit.facts.python.model import Call
from audit.signals.literals import BUILDERS
from audit.state.observed.calls import Group
from audit.state.observed.named import SPLITS, by_names, in_files, is_id
from audit.state.observed.options import Said
from audit.state.observed.resolving import Resolver
from audit.state.observed.scene import Scene
from audit.state.observed.vocabulary import role_of_name, vocabulary

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


def identities(scene: Scene, resolver: Resolver, folder: str, files: Collection[str]) -> Iterator[Group]:
    """What the run loads, and how: models, tokenizers, adapters, data sets. `folder`: where the command is given, "" for the root; `files`: the
    configurations that the run reads."""
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
    yield from by_names(scene, resolver, folder)
    yield from in_files(scene, files)


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
        if each.value is None or is_id(each.value)
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


# Data ------------------------------------------------------------------------------------------------------------


def _dataset(scene: Scene, resolver: Resolver, file: str, call: Call) -> Iterator[Group]:
    holds = resolver.holds(call.test, file, call.scope)
    if holds is False:
        return
    text = call.args[0] if call.args else call.kwargs.get("path", "")
    said = tuple(
        each
        for each in resolver.values(text, file, call.scope, call.line)
        if each.value is None or is_id(each.value)
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
        role = next((role for word, role in SPLITS.items() if word in words), "")
        if role:
            return role
    if split and isinstance(split[0].value, str) and split[0].known:
        word = re.split(r"[^a-z]", split[0].value.lower())[0]
        if word in SPLITS and (scene.trains or SPLITS[word] != "train"):
            return SPLITS[word] if scene.trains else "evaluation"
    return "train" if scene.trains else "evaluation"
