"""What the profiles require of a manifest and no other rule asks for."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.profiles.definitions import required
from audit.rules.declared import View, declaring, or_else
from audit.rules.rule import Outcome, failed, not_applicable, passed

ASKED_ELSEWHERE = {
    "experiment.command": "exec.command_declared",
    "training.seed": "exec.seed_declared",
    "models.primary.id": "model.primary_declared",
    "generation.temperature": "gen.params_declared",
    "generation.top_p": "gen.params_declared",
    "generation.max_tokens": "gen.params_declared",
    "inference.backend": "gen.backend_declared",
    "datasets.train.id": "dataset.declared",
    "datasets.evaluation.id": "dataset.declared",
    "datasets.evaluation.split": "dataset.split_declared",
    "datasets.test.split": "dataset.split_declared",
    "evaluation.metrics": "eval.metrics_declared",
    "evaluation.definitions": "eval.definitions_declared",
    "evaluation.query_budget": "eval.query_budget_declared",
    "models.judge.id": "judge.model_declared",
    "prompts.judge": "judge.prompt_declared",
    "evaluation.judge.temperature": "judge.params_declared",
    "evaluation.judge.repetitions": "judge.repetitions_declared",
    "training.method": "train.method_declared",
    "training.learning_rate": "train.hyperparameters_declared",
    "training.batch_size": "train.hyperparameters_declared",
    "training.epochs": "train.hyperparameters_declared",
    "training.total_timesteps": "train.hyperparameters_declared",
    "privacy.threat_model": "privacy.threat_model_declared",
    "privacy.mechanism": "privacy.mechanism_declared",
    "privacy.metrics": "privacy.metrics_declared",
    "privacy.attack": "privacy.attack_config_declared",
}
"""Fields that shipped profiles require, and the rule that asks for each with its own words. What a repository's own profile requires is always asked for."""


def required_fields(view: View) -> Iterable[Outcome]:
    kinds = view.context.kinds.values()
    own = required(kind for kind in kinds if kind.path)
    shipped = required(kind for kind in kinds if not kind.path)
    fields = {field: name for field, name in shipped.items() if field not in ASKED_ELSEWHERE} | own
    if not fields:
        yield not_applicable("The profiles require nothing that no other rule asks for.")
        return
    yield from or_else(
        _missing(view, fields),
        passed(f"{view.name} says everything that its profiles require beyond other rules."),
    )


def _missing(view: View, fields: dict[str, str]) -> Iterable[Outcome]:
    for field, profile in fields.items():
        if not view.table(field) and not _need_not(view, field):
            yield failed(
                f"The profile {profile} requires {field}, which {view.name} does not say.",
                view.place(field),
                fix=f"Add `{field}` to {view.name}.",
                key=field,
            )


def _need_not(view: View, field: str) -> bool:
    """Whether a data set's field is no question: a file of the repository stands for id and revision, and what is not named has no revision."""
    section, _, rest = field.partition(".")
    role, _, key = rest.partition(".")
    if section != "datasets" or key not in ("id", "revision"):
        return False
    return view.says(f"datasets.{role}.path") or (key == "revision" and not view.says(f"datasets.{role}.id"))


RULES = (
    declaring(
        "manifest.required",
        Severity.WARNING,
        "The manifest says what its profiles require",
        "Each kind of experiment has settings without which its numbers mean nothing: how many passages were retrieved, which tools an agent may call, "
        "which environment a policy was trained in.",
        "Add the field to the manifest. `ml-audit profiles show NAME` lists what a profile requires.",
        "experiment: {profiles: [rag]}\ncustom:\n  retrieval: {top_k: 5}\n",
        "experiment: {profiles: [rag]}\n",
        required_fields,
    ),
)
