"""Models behind an API: which provider, and whether the id names one state of the model for good."""

import re
from collections import Counter, defaultdict

from audit.documents.place import Place
from audit.documents.signals import ApiModel, Signal
from audit.signals.literals import Use, uses
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_EVIDENCE = 6
_TABLE = 12

_PROVIDERS = (
    ("anthropic", re.compile(r"claude")),
    (
        "openai",
        re.compile(
            r"gpt-|chatgpt|o[134](?:-|$)|text-(?:davinci|curie|babbage|ada|embedding)|code-davinci|davinci|babbage"
        ),
    ),
    ("google", re.compile(r"gemini|bison|palm")),
    ("cohere", re.compile(r"command|embed-(?:english|multilingual)|rerank")),
    ("mistral", re.compile(r"mistral|mixtral|codestral")),
    ("deepseek", re.compile(r"deepseek")),
    ("xai", re.compile(r"grok")),
    ("alibaba", re.compile(r"qwen")),
    ("perplexity", re.compile(r"sonar")),
    ("zhipu", re.compile(r"glm")),
    ("moonshot", re.compile(r"moonshot")),
    ("baidu", re.compile(r"ernie")),
    ("01ai", re.compile(r"yi-")),
    ("ai21", re.compile(r"j2-|jamba")),
    ("amazon", re.compile(r"titan|nova")),
    ("meta", re.compile(r"llama")),
)
# What routers write in front of a model's name, and whose the model then is.
_ROUTERS = {
    "together_ai": "together", "fireworks_ai": "fireworks", "vertex_ai": "google", "azure_ai": "azure", "ollama_chat": "ollama",
    "nvidia_nim": "nvidia", "hosted_vllm": "vllm",
}  # fmt: skip
_HOSTS = frozenset(
    """
    together_ai openrouter replicate fireworks_ai deepinfra anyscale huggingface hosted_vllm groq novita nvidia_nim sambanova
    ollama ollama_chat bedrock azure azure_ai sagemaker vertex_ai
    """.split()
)


def api_models(repository: Repository, path: TrainingPath) -> Signal[tuple[ApiModel, ...]]:
    """Ids that are handed to an API: arguments, defaults, assignments, values of configurations and flags.

    Keys of dictionaries, routing tables, names of prompt templates and of tokenizers are no calls.
    """
    candidates = [use for use in uses(repository) if use.kind == "api" and _is_value(use)]
    tables = Counter(
        (use.path, use.holder or use.call, use.how) for use in candidates if use.how in ("item", "choice")
    )
    clients = _client_files(repository)
    found: dict[tuple[str, str, str], list[Use]] = defaultdict(list)
    for use in candidates:
        if use.how in ("item", "choice") and tables[use.path, use.holder or use.call, use.how] > _TABLE:
            continue
        if use.how in ("compare", "choice") and use.path not in clients:
            continue
        provider = provider_of(use.value)
        found[provider, use.value, pinnability(use.value, use.name)].append(use)
    rows = []
    for (provider, value, kind), places in found.items():
        best = min(places, key=lambda use: (_RANK[use.how], use.origin != "code", use.path, use.line))
        rows.append(ApiModel(provider, value, kind, best.path, best.line))
    rows.sort()
    return Signal(tuple(rows), tuple(Place(row.path, row.line, row.id) for row in rows[:_EVIDENCE]))


_RANK = {
    "arg": 0,
    "default": 1,
    "assign": 2,
    "setting": 2,
    "flag": 2,
    "variable": 2,
    "return": 3,
    "item": 4,
    "choice": 5,
    "compare": 6,
    "other": 7,
}
_NOT_A_MODEL = re.compile(
    r"(?i)template|encoding|tokeni[sz]er_for|price|cost|output|file|title|label|author|display|description|citation|doc|license"
    r"|legend|caption|folder|_dir$|generator_name|pretty_name|(?:^|_)short_|nick_?name|(?:^|_)alias(?:es)?(?:_|$)"
)
_OFFERED = re.compile(
    r"(?i)_?(?:available|supported|known|valid|allowed)_"
)  # what may be chosen, not what is
_NOT_A_CALL = re.compile(
    r"encoding_for_model|get_encoding|register\w*|startswith|endswith|replace|split|print|join|open|get_conv_template"
    r"|get_conversation_template|Conversation|write|legend|title"
)
_CONFIG_KEY = re.compile(
    r"(?i)model|engine|deployment|judge|annotator|grader|evaluator|llm|generator|scorer|agent|user|provider|name$|id$|backbone"
    r"|teacher|reward|assistant|critic|attack|target|embedding|default|fallback"
)
# What a comparison must hold to be more than the beginning of an id (`"gpt-3" in name`).
_WHOLE = re.compile(r"turbo|davinci|babbage|-\d{3,4}(?:\D|$)|20\d\d")
# Functions that look up what a model costs or takes: the model is asked elsewhere.
_RATES = re.compile(r"(?i)price|pricing|cost|(?:context|token)_?(?:limit|length|window)")
_NO_ID = re.compile(r".*\.(?:csv|jsonl?|ya?ml|txt|py|md)|(?:gpt|o[134]|text)-[^:]*:.*")


def _is_value(use: Use) -> bool:
    if use.how == "key" or _NO_ID.fullmatch(use.value) or _NOT_A_CALL.fullmatch(use.call.rpartition(".")[2]):
        return False
    if _NOT_A_MODEL.search(use.name) or (use.how != "compare" and _NOT_A_MODEL.search(use.holder)):
        return False
    if use.how in ("item", "choice") and _OFFERED.match(use.holder.rpartition(".")[2]):
        return False
    if use.how == "compare" and (not _WHOLE.search(use.value) or _RATES.search(use.holder)):
        return False
    if use.origin == "notebook" and use.how not in ("arg", "default", "assign"):
        return False
    if use.how == "setting":
        return bool(_CONFIG_KEY.search(re.sub(r"(?:\.\d+)+$", "", use.name).rpartition(".")[2]))
    return use.how != "other" or use.origin == "code"


def _client_files(repository: Repository) -> frozenset[str]:
    """Files that import a provider's client."""
    return frozenset(
        path
        for path, facts in repository.code.items()
        if any(item.module.partition(".")[0] in CLIENTS or item.module in CLIENTS for item in facts.imports)
    )


CLIENTS = frozenset(
    """
    openai anthropic litellm cohere mistralai google.generativeai google.genai vertexai together groq replicate ollama
    langchain_openai langchain_anthropic boto3 zhipuai dashscope
    langchain langchain_community langchain_core portkey aisuite fireworks
    """.split()
)


def provider_of(value: str) -> str:
    """Who answers to an id: the router or cloud in front of it, else the maker of the model."""
    head, slash, rest = value.partition("/")
    if slash and head in _HOSTS:
        return _ROUTERS.get(head, head)
    name = (rest if slash else value).rpartition("/")[2].lower()
    return next((provider for provider, pattern in _PROVIDERS if pattern.search(name)), "other")


_DATED = re.compile(
    r"(?:^|\D)20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])(?:\D|$)"
    r"|-(?:(?:0[1-9]|[12]\d|3[01])-)?(?:0[1-9]|1[0-2])-20\d\d"
)
_YEAR_MONTH = re.compile(
    r"(?:mistral|mixtral|codestral|ministral|pixtral)[\w.\-]*-2[3-9](?:0[1-9]|1[0-2])(?:\D|$)"
)
_MONTH_DAY = re.compile(r"-(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\D|$)")
_VERSIONED = re.compile(
    r"-00\d(?:\D|$)|claude-(?:instant-)?v?\d+(?:\.\d+)*(?:-100k)?$|-v\d+(?:\.\d+)*(?::\d+)?$|babbage-002|@\d+$"
)


def pinnability(value: str, name: str = "") -> str:
    """How far an id is fixed. `name`: the keyword or key that it goes by.

    dated_snapshot (2024-08-06), month_day_snapshot (0613, 1106-preview), versioned (claude-2.1), hosted_weights (open weights at a host), deployment_name
    (a name that the customer chose), mutable_alias (anything else).
    """
    head, slash, _ = value.partition("/")
    if _DATED.search(value) or _YEAR_MONTH.search(value):
        return "dated_snapshot"
    if _MONTH_DAY.search(value):
        return "month_day_snapshot"
    if (slash and head in ("azure", "azure_ai", "sagemaker")) or (
        re.search(r"(?i)deployment|^engine$", name) and slash
    ):
        return "deployment_name"
    if (slash and head in _HOSTS and not re.search(r"gpt-[34]|claude|gemini|command", value)) or re.search(
        r"gpt-oss|llama|mixtral", value
    ):
        return "hosted_weights"
    return "versioned" if _VERSIONED.search(value) else "mutable_alias"
