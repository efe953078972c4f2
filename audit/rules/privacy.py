"""What is protected from whom, as the manifest declares it."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, declaring
from audit.rules.rule import Outcome, passed


def _says(view: View, path: str, what: str) -> Outcome:
    return (
        passed(f"{view.name} says {what}.", view.place(path)) if view.says(path) else view.lacks(what, path)
    )


def threat_model(view: View) -> Iterable[Outcome]:
    yield _says(view, "privacy.threat_model", "what an attacker knows and wants")


def mechanism(view: View) -> Iterable[Outcome]:
    yield _says(view, "privacy.mechanism", "what protects, or that nothing does")


def metrics(view: View) -> Iterable[Outcome]:
    yield _says(view, "privacy.metrics", "by which metrics leaking is measured")


def attack(view: View) -> Iterable[Outcome]:
    yield _says(view, "privacy.attack", "which attack measures it")


RULES = (
    declaring(
        "privacy.threat_model_declared",
        Severity.CRITICAL,
        "The manifest says what an attacker knows and wants",
        "Privacy is always against somebody: one who sees outputs, gradients, or weights. Numbers for one say nothing about another.",
        "Write it into `privacy.threat_model`.",
        "privacy: {threat_model: black-box access to the final model's logits}\n",
        "privacy: {mechanism: dp-sgd}\n",
        threat_model,
        "privacy",
    ),
    declaring(
        "privacy.mechanism_declared",
        Severity.CRITICAL,
        "The manifest says what protects",
        "An epsilon follows from the mechanism and its settings: noise, clipping, sampling rate, accountant. Without them it cannot be checked.",
        "Write it into `privacy.mechanism`, its settings into `privacy.params`; `none` where a model is attacked as it is.",
        "privacy:\n  mechanism: dp-sgd\n  params: {noise_multiplier: 1.1, max_grad_norm: 1.0, delta: 1e-5}\n",
        "privacy: {threat_model: black box}\n",
        mechanism,
        "privacy",
    ),
    declaring(
        "privacy.metrics_declared",
        Severity.WARNING,
        "The manifest says by which metrics leaking is measured",
        "An attack's accuracy hides what matters, its true positives at few false ones. Which number is reported has to be said before.",
        "Write their names into `privacy.metrics`.",
        "privacy: {metrics: [tpr at 0.1% fpr]}\n",
        "privacy: {mechanism: dp-sgd}\n",
        metrics,
        "privacy",
    ),
    declaring(
        "privacy.attack_config_declared",
        Severity.WARNING,
        "The manifest says which attack measures it",
        "A weak attack finds little in any model. How many shadow models, queries and samples it had decides what its result is worth.",
        "Write it into `privacy.attack`, its settings into `privacy.params`; `none` where only a bound is reported.",
        "privacy:\n  attack: likelihood ratio, 64 shadow models\n",
        "privacy: {metrics: [auc]}\n",
        attack,
        "privacy",
    ),
)
