"""Calls that ask a language model for text: through a provider's client, a router, a server, or a model held in the process."""

import re
from functools import cache

from audit.facts.python.model import Call, PythonFacts
from audit.signals.once import once
from audit.signals.repository import Repository

_QUERY = re.compile(
    r"(?:.*\.)?(?:chat\.completions|completions|responses|messages)(?:\.with_raw_response)?\.(?:create|parse|stream)"
    r"|(?:.*\.)?(?:ChatCompletion|Completion)\.a?create"
    r"|(?:litellm(?:\.\w+)*\.|.*[Rr]outer\.)(?:a?completion|batch_completion|text_completion|a?responses)"
    r"|(?:.*\.)?generate_content(?:_async|_stream)?|replicate\.run|ollama\.(?:chat|generate)|together\.Complete\.create"
    r"|(?:langchain\w*(?:\.\w+)*\.)?(?:ChatOpenAI|ChatAnthropic|AzureChatOpenAI|ChatGoogleGenerativeAI|ChatMistralAI|ChatGroq|ChatVertexAI|ChatOllama|init_chat_model)"
    r"|dspy\.(?:LM|Predict|ChainOfThought|OpenAI)|inspect_ai(?:\.\w+)*\.(?:generate|get_model)|.*\.chat\.complete|openai\.(?:Async)?(?:Azure)?OpenAI"
)
_ENGINES = re.compile(
    r"(?:vllm(?:\.\w+)*\.(?:LLM|AsyncLLMEngine|LLMEngine|AsyncLLM)"
    r"|sglang(?:\.\w+)*\.(?:Engine|Runtime|gen)|llama_cpp(?:\.\w+)*\.Llama|lmdeploy\.pipeline|ctransformers\.\w+(?:\.\w+)*)"
)
_ENGINE_HEADS = frozenset(
    {"vllm", "sglang", "lmdeploy", "llama_cpp", "ctransformers", "mlx_lm", "tensorrt_llm", "exllamav2"}
)


@cache
def asks(name: str) -> bool:
    """Whether a call of this resolved name sends a prompt to a model behind an API (or makes the client that does)."""
    return bool(_QUERY.fullmatch(name))


def is_engine(call: Call) -> bool:
    """Whether the call starts an inference engine in this process."""
    return bool(_ENGINES.fullmatch(call.name))


def generates(call: Call, facts: PythonFacts) -> bool:
    """Whether the call generates text with a model that is held in the process."""
    receiver, _, last = call.name.rpartition(".")
    if last not in ("generate", "chat") or not receiver:
        return False
    heads = imported_heads(facts)
    return (
        bool(heads & _ENGINE_HEADS)
        or (last == "generate" and "transformers" in heads)
        or "max_new_tokens" in call.kwargs
    )


def imported_heads(facts: PythonFacts) -> frozenset[str]:
    """The top-level names that a file imports from outside."""
    return frozenset(
        item.module.partition(".")[0] for item in facts.imports if not item.module.startswith(".")
    )


@once
def querying_files(repository: Repository) -> dict[str, Call]:
    """Files that ask a model behind an API, with the first call that does."""
    found = {}
    for path, facts in repository.code.items():
        call = next((c for c in facts.calls if asks(c.name)), None)
        if call is not None:
            found[path] = call
    return found
