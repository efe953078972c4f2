"""How a model is trained, as the manifest declares it."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.state import Leaf
from audit.rules.declared import View, candidates, declaring, missing, named
from audit.rules.rule import Outcome, not_applicable, passed

_LENGTH = ("training.epochs", "training.max_steps", "training.total_timesteps")
_LORA = ("training.lora.rank", "training.lora.alpha", "training.lora.target_modules")
_GRADIENT = ("finetuning", "rl", "training")
"""Kinds that follow a gradient; a table's estimator has settings of its own."""


def _fits_only(view: View) -> bool:
    return view.is_any("tabular") and not view.is_any("finetuning", "rl")


def method(view: View) -> Iterable[Outcome]:
    if view.says("training.method"):
        yield passed(f"{view.name} says how the model is trained.")
    else:
        yield view.lacks("by which method the model is trained", "training.method")


def hyperparameters(view: View) -> Iterable[Outcome]:
    if _fits_only(view):
        yield not_applicable("An estimator is fitted to a table; its settings stand in training.params.")
        return
    silent = missing(view, "training.learning_rate", "training.batch_size")
    if not view.says(*_LENGTH):
        silent.append(_likely_length(view))
    if silent:
        yield view.lacks(f"{named(silent)} of training", *silent, every=True, key="training")
    else:
        yield passed(f"{view.name} says learning rate, batch size and length of training.")


def _likely_length(view: View) -> str:
    """In which unit the code counts."""
    order = ("training.total_timesteps", *_LENGTH[:2]) if view.is_any("rl") else _LENGTH
    return next((path for path in order if candidates(view.context, path)), order[0])


def optimizer(view: View) -> Iterable[Outcome]:
    if _fits_only(view):
        yield not_applicable("An estimator is fitted to a table.")
    elif view.says("training.optimizer"):
        yield passed(f"{view.name} names the optimizer.")
    else:
        yield view.lacks("with which optimizer the model is trained", "training.optimizer")


def precision(view: View) -> Iterable[Outcome]:
    """Asked for where the code can leave single precision, and of language models, whose trainers do so by a flag."""
    if _fits_only(view):
        yield not_applicable("An estimator is fitted to a table.")
    elif view.says("training.precision"):
        yield passed(f"{view.name} says in which precision the model is trained.")
    elif not view.is_any("finetuning") and not view.context.signals.mixed_precision.value:
        yield passed("The code trains in its framework's own precision.")
    else:
        yield view.lacks("in which precision the model is trained", "training.precision")


def lora(view: View) -> Iterable[Outcome]:
    """Asked for where LoRA is declared, or nothing is said of the method and the code configures it."""
    method_ = view.text("training.method").lower()
    seen = [found for path in _LORA for found in candidates(view.context, path)]
    if not (view.table("training.lora") or "lora" in method_ or (not method_ and _configured(seen))):
        yield not_applicable("LoRA is neither declared nor configured in the code.")
        return
    silent = missing(view, *_LORA)
    if silent:
        yield view.lacks(f"{named(silent)} of LoRA", *silent, every=True, key="lora")
    else:
        yield passed(f"{view.name} says rank, alpha and target modules of LoRA.")


def _configured(seen: list[tuple[str, Leaf]]) -> bool:
    return any(path.endswith("rank") for path, _ in seen)


RULES = (
    declaring(
        "train.method_declared",
        Severity.WARNING,
        "The manifest says how the model is trained",
        "Supervised, preference-based and reinforced training, all weights or an adapter: the word decides which settings mean anything.",
        "Write it into `training.method`: full, lora, sft, dpo, ppo, grpo.",
        "training: {method: lora}\n",
        "training: {learning_rate: 2e-5}\n",
        method,
        "finetuning",
    ),
    declaring(
        "train.hyperparameters_declared",
        Severity.CRITICAL,
        "The manifest says learning rate, batch size and length of training",
        "These three make most of the difference between two trainings, and they stand in defaults, configurations and scripts that contradict each other.",
        "Add `learning_rate`, `batch_size`, and `epochs`, `max_steps` or `total_timesteps` to `training`.",
        "training: {learning_rate: 2e-5, batch_size: 8, epochs: 3}\n",
        "training: {learning_rate: 2e-5}\n",
        hyperparameters,
        *_GRADIENT,
    ),
    declaring(
        "train.optimizer_declared",
        Severity.WARNING,
        "The manifest names the optimizer",
        "The same learning rate means something else to SGD and to AdamW, and trainers have defaults that changed between releases.",
        "Add `training.optimizer`.",
        "training: {optimizer: adamw_torch}\n",
        "training: {learning_rate: 2e-5}\n",
        optimizer,
        *_GRADIENT,
    ),
    declaring(
        "train.precision_declared",
        Severity.WARNING,
        "The manifest says in which precision the model is trained",
        "bf16, fp16 with a scaler and fp32 part after few steps, and some trainings diverge in one and not in the other.",
        "Add `training.precision`: bf16, fp16, fp32.",
        "training: {precision: bf16}\n",
        "training: {learning_rate: 2e-5}\n",
        precision,
        *_GRADIENT,
    ),
    declaring(
        "train.lora_config_complete",
        Severity.CRITICAL,
        "The manifest says rank, alpha and target modules of LoRA",
        "Which matrices are adapted, how wide, and how strongly decides what can be learned. Libraries choose target modules where nothing is said.",
        "Add `rank`, `alpha` and `target_modules` to `training.lora`.",
        "training:\n  method: lora\n  lora: {rank: 16, alpha: 32, target_modules: [q_proj, v_proj]}\n",
        "training:\n  method: lora\n  lora: {rank: 16}\n",
        lora,
        "finetuning",
    ),
)
