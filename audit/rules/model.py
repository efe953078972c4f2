"""The models of the manifest: which they are, and in what form they are loaded."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, candidates, declaring, observed, or_else
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed
from audit.signals.hub import trusted_places

APIS = frozenset(
    "openai openrouter anthropic google azure bedrock vertex mistral cohere together fireworks groq deepseek".split()
)
"""Providers whose models are asked over the network: their weights are nobody's to load."""

LANGUAGE = ("inference", "finetuning")
"""Kinds that are about a model that is loaded or asked; evaluation, safety, rag and agent extend the first."""


def primary(view: View) -> Iterable[Outcome]:
    if view.says("models.primary.id"):
        yield passed(
            f"{view.name} names the model that the experiment is about.", view.place("models.primary.id")
        )
        return
    others = [role for role in view.roles("models") if role != "primary"]
    beside = f" (only {listed(others)})" if others else ""
    # A model that is trained from its first token may have no id yet: where the code loads none, its name is asked for, not insisted on.
    loads = observed(view.context) is None or bool(candidates(view.context, "models.primary.id"))
    yield view.lacks(
        f"which model the experiment is about{beside}",
        "models.primary.id",
        severity=None if loads or "inference" in view.context.kinds else Severity.WARNING,
    )


def provider(view: View) -> Iterable[Outcome]:
    roles = [role for role in view.roles("models") if view.says(f"models.{role}.id")]
    if not roles:
        yield not_applicable("No model is declared.")
        return
    yield from or_else(
        (
            failed(
                f"{view.name} does not say who provides {view.text(f'models.{role}.id')} (models.{role}).",
                view.place(f"models.{role}.id"),
                fix=f"Add `provider: {_likely(view.text(f'models.{role}.id'))}` to models.{role} if that is where it comes from.",
                key=role,
            )
            for role in roles
            if not view.says(f"models.{role}.provider")
        ),
        passed("Every declared model has a provider."),
    )


_PREFIXES = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "mistral-": "mistral",
    "command-": "cohere",
    "deepseek-": "deepseek",
}


def _likely(identifier: str) -> str:
    """The provider that an id looks like."""
    if identifier.startswith(("./", "models/", "checkpoints/", "output")):
        return "local"
    if "/" in identifier:
        return "huggingface"
    lower = identifier.lower()
    return next((name for prefix, name in _PREFIXES.items() if lower.startswith(prefix)), "huggingface")


def loaded(view: View) -> list[str]:
    """Roles of models whose weights are loaded: all but those behind an API."""
    return [
        role
        for role in view.roles("models")
        if view.says(f"models.{role}.id") and view.text(f"models.{role}.provider") not in APIS
    ]


def dtype(view: View) -> Iterable[Outcome]:
    roles = loaded(view)
    if not roles:
        yield not_applicable("No model whose weights are loaded is declared.")
        return
    everywhere = view.says("inference.dtype", "training.precision")
    silent = [
        role
        for role in roles
        if not view.says(f"models.{role}.dtype") and not (everywhere and role == "primary")
    ]
    if not silent:
        yield passed("Every loaded model has a dtype.")
    elif "primary" in silent:
        yield view.lacks(
            f"in which dtype {_named(silent)} {'is' if len(silent) == 1 else 'are'} loaded",
            "models.primary.dtype",
            "inference.dtype",
            key="dtype",
        )
    else:
        yield view.lacks(
            f"in which dtype {_named(silent)} is loaded",
            f"models.{silent[0]}.dtype",
            key="dtype",
            severity=Severity.INFO,
        )


def _named(roles: list[str]) -> str:
    return listed([f"the model in role {role}" for role in roles])


def quantization(view: View) -> Iterable[Outcome]:
    """Asked for where the code quantizes: weights that nobody touches need no word."""
    if not loaded(view):
        yield not_applicable("No model whose weights are loaded is declared.")
        return
    if any(view.says(f"models.{role}.quantization") for role in view.roles("models")) or view.says(
        "inference.quantization"
    ):
        yield passed(f"{view.name} says how weights are quantized.")
        return
    signal = view.context.signals.quantization
    if not signal.value:
        yield passed("The code quantizes no weights.")
        return
    where = f" ({signal.evidence[0].path}:{signal.evidence[0].line})" if signal.evidence else ""
    yield failed(
        f"The code can load quantized weights by {listed(list(signal.value))}{where}; {view.name} does not say whether the experiment does.",
        view.place("models.primary.quantization"),
        *signal.evidence[:3],
        fix="Add `quantization: none` to models.primary, or how it is quantized.",
        key="quantization",
    )


def adapter(view: View) -> Iterable[Outcome]:
    if any(view.says(f"models.{role}.adapter") for role in view.roles("models")):
        yield passed(f"{view.name} names the adapter.")
        return
    seen = [
        (role, leaf)
        for role in view.roles("models") or ("primary",)
        for _, leaf in candidates(view.context, f"models.{role}.adapter")
    ]
    if not seen:
        yield not_applicable("The code is not seen to put an adapter on a model.")
        return
    role = seen[0][0]
    yield view.lacks(f"which adapter is put on the model in role {role}", f"models.{role}.adapter")


def trust_remote_code(view: View) -> Iterable[Outcome]:
    if any(view.says(f"models.{role}.trust_remote_code") for role in view.roles("models")):
        yield passed(f"{view.name} says whether code of the hub runs.")
        return
    places = tuple(trusted_places(view.context.repository))
    if not places:
        yield not_applicable("No code of the hub is run.")
        return
    yield failed(
        f"{places[0].path}:{places[0].line or 1} runs code of the model's repository; {view.name} does not say so.",
        view.place("models.primary.trust_remote_code"),
        *places[:3],
        key="trust",
    )


RULES = (
    declaring(
        "model.primary_declared",
        Severity.CRITICAL,
        "The manifest names the model that the experiment is about",
        "Which model made the numbers is the first thing that a reader needs. A script has a default, a configuration another, a shell script a third; the "
        "manifest is the place that says which one counts.",
        "Write its id into `models.primary.id`, as its provider calls it.",
        "models:\n  primary: {id: meta-llama/Llama-3.1-8B, provider: huggingface}\n",
        "models:\n  judge: {id: gpt-4o-2024-08-06, provider: openai}\n",
        primary,
        *LANGUAGE,
    ),
    declaring(
        "model.provider_known",
        Severity.WARNING,
        "Every declared model has a provider",
        "The same name means different weights behind different doors: a hub repository, an API's snapshot, a quantized copy on somebody's server. "
        "How an identity can be pinned depends on who provides it.",
        "Add `provider` to the model: huggingface, an API, local, or other.",
        "models:\n  primary: {id: gpt-4o-2024-08-06, provider: openai}\n",
        "models:\n  primary: {id: gpt-4o-2024-08-06}\n",
        provider,
    ),
    declaring(
        "model.dtype_declared",
        Severity.WARNING,
        "The manifest says in which dtype weights are loaded",
        "bfloat16, float16 and float32 give other logits, and greedy decoding parts at the first token that differs. Libraries' defaults have changed "
        "between releases.",
        "Add `dtype` to the model, or `inference.dtype` for all of them.",
        "models:\n  primary: {id: acme/tiny, provider: huggingface, dtype: bfloat16}\n",
        "models:\n  primary: {id: acme/tiny, provider: huggingface}\n",
        dtype,
        *LANGUAGE,
    ),
    declaring(
        "model.quantization_declared",
        Severity.INFO,
        "The manifest says how weights are quantized where the code can do so",
        "Four bits instead of sixteen cost accuracy that no reader expects, and a switch in the code does not tell on which side it stood.",
        "Add `quantization` to the model: `none`, or what was used.",
        "models:\n  primary: {id: acme/tiny, quantization: bitsandbytes-nf4}\n",
        "models:\n  primary: {id: acme/tiny}      # load.py passes load_in_4bit\n",
        quantization,
        *LANGUAGE,
    ),
    declaring(
        "model.adapter_declared",
        Severity.WARNING,
        "The manifest names the adapter that the code puts on a model",
        "With an adapter it is another model. The base model's id alone names something that nobody evaluated.",
        "Write the adapter's id or path into `models.ROLE.adapter`, and its commit into `adapter_revision`.",
        "models:\n  primary: {id: acme/tiny, adapter: acme/tiny-lora}\n",
        "models:\n  primary: {id: acme/tiny}      # eval.py loads acme/tiny-lora onto it\n",
        adapter,
    ),
    declaring(
        "model.trust_remote_code_declared",
        Severity.WARNING,
        "The manifest says so where code of the hub runs",
        "With trust_remote_code the model's repository brings the code that computes its outputs: without its commit, whatever stands there that day.",
        "Add `trust_remote_code: true` to the model, and its `revision`; or switch it off in the code.",
        "models:\n  primary: {id: acme/tiny, trust_remote_code: true, revision: 0123456789abcdef0123456789abcdef01234567}\n",
        "models:\n  primary: {id: acme/tiny}      # load.py passes trust_remote_code=True\n",
        trust_remote_code,
    ),
)
