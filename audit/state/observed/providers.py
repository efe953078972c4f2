"""Who serves the models of a run, where the id or the call that loads it tells."""

import msgspec

from audit.documents.state import Confidence, Leaf, Source, State
from audit.facts.python.identities import identity_kind
from audit.signals.api_models import provider_of

_KNOWN = frozenset(
    "openai anthropic google azure bedrock vertex mistral cohere together fireworks groq deepseek ollama openrouter".split()
)


def with_providers(state: State, *, is_llm: bool) -> State:
    """The state with a provider beside each model whose id tells one. `is_llm`: an id of the hub's shape is the hub's."""
    leaves = dict(state.leaves)
    for path, leaf in state.leaves.items():
        if path.startswith("models.") and path.endswith(".id") and isinstance(leaf.value, str):
            provider = _provider(leaf.value, leaf.detail, is_llm)
            if provider:
                leaves[path[:-2] + "provider"] = Leaf(
                    provider, Source.CODE, Confidence.OBSERVED, f"by the id {leaf.value}", leaf.place
                )
    return msgspec.structs.replace(state, leaves=dict(sorted(leaves.items())))


def _provider(value: str, detail: str, is_llm: bool) -> str:
    kind = identity_kind(value)
    if kind == "api":
        provider = provider_of(value)
        return provider if provider in _KNOWN else "other"
    if value.startswith(("/", "~", ".")) or value.count("/") > 1:
        return ""
    return "huggingface" if (kind == "hub" and is_llm) or "from_pretrained" in detail else ""
