"""The hub: calls that load from it, code that is taken from it, and the model and dataset ids that stand in the repository."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from audit.documents.place import Place
from audit.documents.signals import HubCalls, HubId, Signal
from audit.facts.python.model import Call, PythonFacts
from audit.signals.graph import CallGraph
from audit.signals.literals import BUILDERS, Use, literal, uses
from audit.signals.once import once
from audit.signals.repository import Repository, place
from audit.signals.training_path import TrainingPath

_COMMIT = re.compile(r"[0-9a-f]{40}")
_EVIDENCE = 6
_PLACES_PER_ID = 3
_CATALOGUE = 60  # ids in the containers of one file from which it lists what exists, not what is run

# Calls ----------------------------------------------------------------------------------------------------------

_FILE_LOADS = frozenset({"hf_hub_download", "snapshot_download", "cached_download"})
_DATASET_MODULES = frozenset(
    {"datasets", "datasets.load", "nlp"}
)  # nlp: what `datasets` was called before 1.0
_LOCAL_NAME = re.compile(
    r"(?i)\b(?:output|out|save|saved|tmp|temp|local|work|cache|log|run)_?(?:dir|directory|path|folder|root)\b|tempfile|\bos\.getcwd\b"
)
_OWN_FILE = re.compile(r"[./~]|.*\.(?:py|json|jsonl|csv|pt|pth|bin)$")


def hub_calls(repository: Repository, path: TrainingPath) -> Signal[HubCalls]:
    """Loading calls of the repository's own Python files that reach the hub, tests and notebooks apart.

    `pinned`: a commit as literal revision. `passthrough`: a revision that is passed on as a variable.
    """
    total = pinned = passthrough = 0
    evidence: list[Place] = []
    for file, call in _loading(repository, path):
        total += 1
        revision = _revision(call, repository.code[file])
        if _COMMIT.fullmatch(literal(revision)):
            pinned += 1
        elif revision and not literal(revision) and revision != "None":
            passthrough += 1
        evidence.append(place(file, call.line, f"{_short(call.name)}({call.args[0] if call.args else '…'})"))
    return Signal(HubCalls(total, pinned, passthrough), tuple(evidence[:_EVIDENCE]))


def _loading(repository: Repository, path: TrainingPath) -> Iterator[tuple[str, Call]]:
    for file, facts in repository.code.items():
        star = any(item.module == "datasets" and item.name == "*" for item in facts.imports)
        for call in facts.calls:
            if _reaches_hub(call, file, path.graph, star):
                yield file, call


def _reaches_hub(call: Call, file: str, graph: CallGraph, star: bool) -> bool:
    receiver, _, last = call.name.rpartition(".")
    if last == "from_pretrained" and receiver:
        if receiver in ("self", "cls", "super()") or _is_own(receiver, call, file, graph):
            return False
    elif last == "load_dataset":
        if not (receiver in _DATASET_MODULES or (star and not receiver)):
            return False
        if _first(call, "path") in BUILDERS:
            return False
    elif (
        last not in _FILE_LOADS
        or (receiver and receiver.startswith("."))
        or graph.lookup(call.name, file, call.scope)
    ):
        return False
    if call.kwargs.get("local_files_only") == "True":
        return False
    source = (call.args[0] if call.args else "") or call.kwargs.get("pretrained_model_name_or_path", "")
    text = literal(source)
    return not (_OWN_FILE.match(text) if text else _LOCAL_NAME.search(source))


def _is_own(receiver: str, call: Call, file: str, graph: CallGraph) -> bool:
    """Whether the receiver is a class of the repository that brings a `from_pretrained` of its own."""
    node = graph.lookup(receiver, file, call.scope)
    if node is None or graph.python[node[0]].scopes[node[1]].kind != "class":
        return False
    queue, seen = [node], {node}
    outside = False
    while queue:
        info = graph.class_info(queue.pop())
        if "from_pretrained" in info.methods:
            return True
        outside = outside or info.foreign
        fresh = [base for base in info.bases if base not in seen]
        seen.update(fresh)
        queue += fresh
    return not outside


def _first(call: Call, word: str) -> str:
    return literal(call.args[0] if call.args else call.kwargs.get(word, ""))


def _revision(call: Call, facts: PythonFacts) -> str:
    """The revision that a call asks for, looked up in the dictionary that it unpacks."""
    if "revision" in call.kwargs or "**" not in call.kwargs:
        return call.kwargs.get("revision", "")
    name = call.kwargs["**"].lstrip("*")
    for other in facts.calls:
        if (
            other.scope == call.scope
            and other.name == "dict"
            and other.within == f"assign:{name}"
            and "revision" in other.kwargs
        ):
            return other.kwargs["revision"]
    for assign in facts.assigns:
        if assign.scope == call.scope and assign.target == name and (match := _IN_DICT.search(assign.value)):
            return match[1]
    return ""


_IN_DICT = re.compile(r"'revision': ?([^,}]{1,80})")


def _short(name: str) -> str:
    return ".".join(name.split(".")[-2:])


# Code from the hub -----------------------------------------------------------------------------------------------

_TRUSTS = re.compile(r"'trust_remote_code': ?True")


def trust_remote_code(repository: Repository, path: TrainingPath) -> Signal[bool]:
    """Whether code of the hub is run: `trust_remote_code` set to true in a call, a default, a configuration or a command.

    An option that is off unless somebody asks for it is not.
    """
    found = [*trusted_places(repository)]
    return Signal(bool(found), tuple(found[:_EVIDENCE]))


def trusted_places(repository: Repository) -> Iterator[Place]:
    """Every place that switches `trust_remote_code` on: those in code first."""
    yield from _trusted_in_code(repository)
    yield from _trusted_elsewhere(repository)


@once
def _trusted_in_code(repository: Repository) -> tuple[Place, ...]:
    return tuple(_trusting_code(repository))


def _trusting_code(repository: Repository) -> Iterator[Place]:
    for file, facts in repository.code.items():
        for call in facts.calls:
            if call.kwargs.get("trust_remote_code") == "True" or _TRUSTS.search(call.kwargs.get("**", "")):
                yield place(file, call.line, f"{_short(call.name)}(trust_remote_code=True)")
            elif call.name.endswith("add_argument") and _option_is_on(call):
                yield place(file, call.line, "option that is on by default")
        for assign in facts.assigns:
            if "True" not in assign.value:
                continue
            if ("trust_remote_code" in assign.target and assign.value == "True") or _TRUSTS.search(
                assign.value
            ):
                yield place(file, assign.line, "trust_remote_code = True")
        for scope in facts.scopes:
            for param in scope.params:
                if param.name == "trust_remote_code" and param.default == "True":
                    yield place(file, param.line, f"default of {scope.name}()")


def _option_is_on(call: Call) -> bool:
    named = any("trust_remote_code" in arg.replace("-", "_") for arg in call.args)
    return named and call.kwargs.get("default") == "True"


def _trusted_elsewhere(repository: Repository) -> Iterator[Place]:
    for file, config in repository.configs.items():
        for setting in config.settings:
            if setting.key.endswith("trust_remote_code") and setting.value.lower() in ("true", "yes", "1"):
                yield place(file, setting.line, f"{setting.key}: {setting.value}")
            elif "trust_remote_code=True" in setting.value:
                yield place(file, setting.line, setting.key)
    for file, script in repository.scripts.items():
        for command in script.commands:
            for flag in command.flags:
                if flag.name.lstrip("-").replace("-", "_") == "trust_remote_code" and flag.value.lower() in (
                    "",
                    "true",
                    "1",
                ):
                    yield place(file, flag.line, f"{flag.name} {flag.value}".strip())
            if "trust_remote_code=True" in command.text:
                yield place(file, command.line, "trust_remote_code=True")


# Ids ------------------------------------------------------------------------------------------------------------

_FOREIGN_HEADS = frozenset(
    """
    application text image audio video multipart font message africa america antarctica asia atlantic australia europe indian pacific us etc utc gmt
    documents downloads desktop local
    data dataset datasets model models checkpoint checkpoints ckpt ckpts output outputs result results log logs cache tmp temp src
    lib bin config configs conf
    script scripts run runs weights pretrained saved_models saved assets figures figs plots images train training test tests
    val valid validation eval evaluation dev
    input inputs home root docs doc examples example experiments exp exps utils rewards reward loss losses metrics metric perf charts time memory grad
    logps logits episode rollout rollouts env global optim lr stats debug media files file prompts prompt templates template refs heads origin
    kernels-community github.com gitlab.com huggingface.co hf.co and or n yes no true false on off km usr opt var etc dev proc sys mnt
    """.split()
)
_FILE_NAME = re.compile(
    r"(?i).*\.(?:pyi?|json[l5]?|ya?ml|txt|md|rst|[ct]sv|pth?|bin|ckpt|safetensors|np[yz]|pkl|pickle|h5|hdf5|zst|xz|gz|bz2|zip|tar|tgz|sh|cfg|ini|toml|log|png|jpe?g|gif|svg|webp|pdf"
    r"|html?|css|jsx?|tsx?|ipynb|parquet|arrow|onnx|model|vocab|bpe|tfrecords?|wav|flac|mp[34]|xml|lock|exe|so|c|cc|cpp|cu|h|hpp|rs|go|java|tex|bib|env|whl|slurm|jinja2?|tmpl|lmdb|db|sqlite|orbax|msgpack|pb|[a-z]{2}-[a-z]{2})"
)
_OUTPUT = re.compile(
    r"(?:^|_)(?:out|output|outputs|save|saved|push|upload|uploaded|export|dest|destination|target_repo|write|result|results|log|logs|logging|run_name|wandb|project|entity|experiment|"
    r"cache|dir|directory|folder|template|url|uri|mime|mimetype|media_type|content_type|accept|timezone|tz|branch|image|docker|container|github|license|licence|git|ref|action|uses|tag|"
    r"file|filename|filepath|version|metric|metrics|key|keys|column|columns|field|citation|homepage|author|user|username|hostname|device|dtype|kernel|kernels)(?:_|$)"
    r"|hub_model_id|hub_dataset_id|repo_to|new_repo|hf_username|served_model_name|name_or_alias"
)
_DATA = re.compile(
    r"(?:^|_)(?:data|dataset|datasets|corpus|corpora|mixer|mixture|benchmark|train_set|eval_set|test_set|prompts)(?:_|$|\d)|dataset"
)
_MODEL = re.compile(
    r"(?:^|_)(?:model|models|tokenizer|tokenizers|processor|pretrained|checkpoint|checkpoints|ckpt|llm|llms|lm|vlm|backbone|encoder|decoder|teacher|student|policy|reference|adapter|adapters|"
    r"peft|lora|reward|rm|judge|grader|embedder|embedding|embeddings|reranker|retriever|ranker|generator|critic|vae|unet|base|weights|bert|roberta|gpt|gpt2|llama|mistral|qwen|gemma|t5|clip|"
    r"whisper|transformer|diffusion|hf_hub|arch|architecture|verifier|classifier|guard|drafter|draft|speculative|actor|engine)(?:_|$|\d)|name_or_path|model|tokenizer"
)
_NEUTRAL = re.compile(
    r"\d+|id|ids|path|paths|name|names|repo|repo_id|repo_name|hf_id|hf_path|hf_name|hub_id|hf_repo|hf_repo_id|hf_hub_url|hub_url|ms_hub_url|hub"
    r"|value|values|default|args|kwargs|source|sources|location|uri|type|options|choices"
)
_MODEL_CALL = re.compile(
    r"(?:from_pretrained|AutoModel\w*|AutoTokenizer|AutoProcessor|SentenceTransformer|CrossEncoder|LLM|AsyncLLMEngine|EngineArgs|AsyncEngineArgs|\w*[Mm]odel\w*|\w*[Tt]okenizer\w*|\w*LM|\w*Pipeline|pipeline|Engine|"
    r"WhisperModel|HuggingFace\w*|\w*Embedd\w*|\w*Encoder\w*|\w*[Rr]erank\w*|Llama|\w*Retriever|Bert\w*|FlagModel|BGEM3FlagModel|BertScorer|evaluate|LoRARequest|HookedTransformer|GLiNER|InferenceClient)"
)
_DATA_CALL = re.compile(
    r"(?:\w*load_dataset\w*|\w*(?:Task|Benchmark)\w*|load_dataset_builder|get_dataset_\w+|\w*[Dd]ataset\w*|\w*_data|\w*DataModule|Data\w*Config)"
)
_UPLOAD_CALL = re.compile(
    r"(?:push_to_hub|register\w*|create_repo|upload_file|upload_folder|upload_large_folder|upload|create_branch|create_commit|delete_repo|create_pull_request|add_collection_item|metadata_update|create_tag|list_repo_commits|get_kernel|"
    r"save_pretrained\w*|encoding_for_model|get_logger|getLogger|Image|join|Path|open|exists|makedirs|startswith|endswith|split|replace|strptime|gettz|timezone|ZoneInfo|print|log|scalar|add_scalar\w*|get_repo|route|get|post|put|delete|"
    r"Response|StreamingResponse|FileResponse|register_buffer|find|glob|field|compile|sub|match|search|format)"
)
_SIZED = re.compile(
    r"(?i).*(?:[-_]\d+(?:\.\d+)?(?:x\d+)?[bm](?![a-z])|[-_](?:instruct|chat|base|large|small|xl|xxl|mini|uncased|cased|hf|it|sft|dpo|gptq|awq|gguf)(?![a-z])"
    r"|/(?:bert|roberta|t5|gpt|opt|llama|bloom|whisper|clip|vit|deberta)-).*"
)
_DATASET_NAME = re.compile(
    r"(?i).*(?:dataset|datasets|preferences?|-qa|_qa|corpus|benchmark|bench|\d+k(?![a-z]))"
)

_SCRATCH = re.compile(r"(?i).*(?:ckpts?|checkpoints?|outputs?|results?|logs)\d*")  # folders that a run writes


def model_ids(repository: Repository, path: TrainingPath) -> Signal[tuple[HubId, ...]]:
    """Model ids of the hub that stand as literals where the repository loads them; upload targets and catalogues left out."""
    return _ids(repository, "model")


def dataset_ids(repository: Repository, path: TrainingPath) -> Signal[tuple[HubId, ...]]:
    """Dataset ids of the hub, likewise."""
    return _ids(repository, "dataset")


@once
def _uses_with_roles(repository: Repository) -> tuple[tuple[str, Use], ...]:
    """Uses of what the hub may hold, each with what it is there."""
    own = _own_folders(repository)
    hub = [use for use in uses(repository) if use.kind == "hub"]
    items = Counter(use.path for use in hub if use.how == "item")
    catalogues = {path for path, number in items.items() if number > _CATALOGUE}
    return tuple(
        (role, use)
        for use in hub
        if not (use.how == "item" and use.path in catalogues)
        and not _lies_beside(use, own)
        and not is_foreign(use.value, repository, own)
        and (role := role_of(use))
    )


def _ids(repository: Repository, role: str) -> Signal[tuple[HubId, ...]]:
    other_catalogue = _tfds_folders(repository) if role == "dataset" else frozenset()
    found: dict[str, list[tuple[int, Use]]] = defaultdict(list)
    for meant, use in _uses_with_roles(repository):
        if meant != role or (not other_catalogue.isdisjoint(_folders_above(use.path)) and "/" in use.value):
            continue
        found[use.value].append((_rank(use), use))
    rows: list[HubId] = []
    for value, places in found.items():
        best: dict[str, Use] = {}
        for _, use in sorted(places, key=lambda item: (item[0], item[1].path, item[1].line)):
            best.setdefault(use.path, use)
        rows += [
            HubId(value, use.path, use.line, bool(_COMMIT.fullmatch(literal(use.revision))))
            for use in list(best.values())[:_PLACES_PER_ID]
        ]
    rows.sort()
    return Signal(tuple(rows), tuple(_best_places(rows)))


def _tfds_folders(repository: Repository) -> frozenset[str]:
    """Folders whose code takes data from TensorFlow Datasets and none from the hub: `glue/sst2` is a name of that catalogue there."""
    heads: dict[str, set[str]] = defaultdict(set)
    for path, facts in repository.code.items():
        heads[path.rpartition("/")[0]].update(item.module.partition(".")[0] for item in facts.imports)
    return frozenset(
        folder
        for folder, names in heads.items()
        if "tensorflow_datasets" in names and "datasets" not in names
    )


def _lies_beside(use: Use, folders: frozenset[str]) -> bool:
    """Whether `a/b` begins with a folder beside the file that names it, or beside one around it, and nothing loads it: a path."""
    head, slash, _ = use.value.partition("/")
    if not slash or use.call.rpartition(".")[2] in ("from_pretrained", "load_dataset"):
        return False
    return any(f"{above}/{head}" in folders for above in _folders_above(use.path) if above)


def _folders_above(path: str) -> Iterator[str]:
    """The folder that a file lies in, and those around it; the root is ""."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _best_places(rows: Iterable[HubId]) -> list[Place]:
    return [Place(row.path, row.line, row.id) for row in rows][:_EVIDENCE]


def _rank(use: Use) -> int:
    loads = use.call.rpartition(".")[2] in ("from_pretrained", "load_dataset")
    return {"code": 1, "config": 2, "script": 3, "notebook": 4}[use.origin] - (1 if loads else 0)


def _own_folders(repository: Repository) -> frozenset[str]:
    """Every folder of the repository, as a path from the root."""
    folders: set[str] = set()
    for file in repository.paths:
        folder = file.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


def is_foreign(value: str, repository: Repository, folders: frozenset[str]) -> bool:
    """Whether a string of the shape `a/b` is something else: a path, a media type, a time zone, a metric's name."""
    head, _, tail = value.partition("/")
    if not tail:
        return False
    if (
        len(head) < 2
        or len(tail) < 2
        or not (re.search("[A-Za-z]", head))
        or not re.search("[A-Za-z]", tail)
        or tail[-1] in "-_."
        or head[-1] in "-_."
    ):
        return True
    if (
        head.lower() in _FOREIGN_HEADS
        or _SCRATCH.fullmatch(head)
        or _FILE_NAME.fullmatch(tail)
        or ("." in head and re.search(r"\.(?:com|org|io|net|co|ai|dev)$", head))
    ):
        return True
    # A project's own organisation on the hub often has the name of its package.
    own = {part.lower() for part in repository.snapshot.repository.split("/")}
    return value in repository.path_set or value in folders or (head in folders and head.lower() not in own)


def role_of(use: Use) -> str:
    """ "model", "dataset", or "" for a use that loads neither (an upload target, a key of a catalogue, a comparison)."""
    last = use.call.rpartition(".")[2].strip("?")
    word = use.name.rpartition(".")[2]
    if (
        use.call.startswith(("torch.hub.", "github."))
        or _UPLOAD_CALL.fullmatch(last)
        or _RESULTS.search(use.value)
    ):
        return ""
    loaded = _role_of_load(last, use)
    if loaded is not None:
        return loaded
    if use.how == "key":
        return "dataset" if re.search(r"(?i)mix|datasets$|dataset_weights", use.holder or use.name) else ""
    if (use.uploads and _TARGET.fullmatch(word)) or word.startswith("ms_"):  # another hub's address
        return ""
    if use.how == "setting" and _LABEL.search(use.name):
        return ""
    if use.how == "setting" and _DATA_FILE.search(use.path) and _NEUTRAL.fullmatch(word):
        return "dataset"
    for name in (use.name, use.holder):
        role = _role_of_name(name, use.origin)
        if role:
            return "" if role == "output" else role
    if _DATA_CALL.fullmatch(last):
        return "dataset"
    if _MODEL_CALL.fullmatch(last):
        return "model"
    if _DATA_FILE.search(use.path) and use.how in ("default", "assign"):
        return "dataset"
    return _role_of_shape(use)


def _role_of_load(last: str, use: Use) -> str | None:
    """What a call loads that is made for loading, None for any other call."""
    if last in _FILE_LOADS or last in ("hf_hub_url", "hf_download"):
        return "dataset" if use.repo_type == "dataset" else "" if use.repo_type == "space" else "model"
    followed = use.how in ("assign", "default")  # a variable that the call is given
    if last in ("from_pretrained", "load_dataset"):
        if followed or use.name in ("", "path", "pretrained_model_name_or_path"):
            return "model" if last == "from_pretrained" else "dataset"
    elif last in ("SentenceTransformer", "LLM") and followed:
        return "model"
    return None


_LABEL = re.compile(
    r"(?:^names|(?:^|\.)(?:classes|labels|class_names|label_names|categories|id2label))\.\d+$"
)
"""The names of the classes that a data set tells apart, some of which are two words for one thing (`Handbag/Satchel`)."""
_TARGET = re.compile(r"(?i)repo|repo_?id|repo_?name|hub_?(?:repo|id|name|path)|dataset_repo|hf_repo(?:_id)?")
_RESULTS = re.compile(r"(?i)/.*(?:leaderboard|results|outputs|logs)$")
_DATA_FILE = re.compile(r"(?i)(?:^|[/_])(?:data|datasets?)(?:_[a-z]+)?(?:/|\.(?:py|json|ya?ml)$)")


def _role_of_name(name: str, origin: str) -> str:
    """What a keyword, parameter, flag or dotted key is for, read from its last telling part."""
    for part in reversed(name.replace("[", ".").split(".")):
        word = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", part.strip("'\"]")).replace("-", "_").lower()
        if not word or _NEUTRAL.fullmatch(word):
            continue
        if _OUTPUT.search(word) and not re.search(
            r"(?:model|tokenizer)(?:_name)?(?:_or)?_(?:path|dir|key)$|(?:dataset|data)(?:_name)?(?:_or)?_(?:path|key)$|^dataset_(?:tag|version)$|_id$",
            word,
        ):
            return "output"
        if re.search(r"hub_model_id|hub_dataset_id|repo_to|served_model_name|upload|push", word):
            return "output"
        if _DATA.search(word) and not re.search(r"(?:model|tokenizer)(?:_name|_id|_path)?$", word):
            return "dataset"
        if _MODEL.search(word):
            return "model"
        if origin == "config":
            return ""
    return ""


def _role_of_shape(use: Use) -> str:
    """Where the name of the place is silent, the id itself has to speak, and only in places that hold values."""
    if use.how in ("compare", "other") or use.origin == "config":
        return ""
    if _SIZED.fullmatch(use.value):
        return "model"
    return "dataset" if _DATASET_NAME.fullmatch(use.value) else ""
