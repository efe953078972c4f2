"""How outputs are scored (category eval)."""

import re
from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, declaring
from audit.rules.execution import is_greedy
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed

_UNCLEAR = re.compile(
    r"(?i)\b(?:refus\w*|asr|attack[_ -]?success\w*|jailbreak\w*|harm\w*|toxic\w*|unsafe\w*|safe\w*)\b"
)
"""Metrics that count what somebody has to define first."""


def metrics(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.metrics"):
        yield passed(f"{view.name} names the metrics.")
    else:
        yield view.lacks("by which metrics outputs are scored", "evaluation.metrics")


def implementation(view: View) -> Iterable[Outcome]:
    names = _metrics(view)
    if not names:
        yield not_applicable("No metric is declared.")
        return
    if view.says("evaluation.implementation"):
        yield passed(f"{view.name} says what computes the metrics.")
        return
    silent = [name for name in names if not view.says(f"evaluation.implementation.{name}")]
    if not silent:
        yield passed(f"{view.name} says what computes each metric.")
        return
    yield view.lacks(
        f"what computes {listed(silent)}",
        "evaluation.implementation",
        *(f"evaluation.implementation.{n}" for n in silent[:3]),
    )


def _metrics(view: View) -> list[str]:
    found = view.leaf("evaluation.metrics")
    value = found.value if found else ()
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]


def aggregation(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.aggregation"):
        yield passed(f"{view.name} says how scores are put together.")
    else:
        yield view.lacks("how scores of single examples are put together", "evaluation.aggregation")


def repetitions(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.repetitions"):
        yield passed(f"{view.name} says how often the evaluation is repeated.")
    elif is_greedy(view):
        yield not_applicable("Generation is greedy: a repetition says the same.")
    elif not view.is_any("inference"):
        yield not_applicable("Nothing is seen to be drawn at random where outputs are scored.")
    else:
        yield view.lacks("how often the evaluation is repeated", "evaluation.repetitions")


def definitions(view: View) -> Iterable[Outcome]:
    unclear = [name for name in _metrics(view) if _UNCLEAR.search(name.replace("_", " "))]
    if not unclear and not view.is_any("safety"):
        yield not_applicable("No metric counts what has to be defined first.")
        return
    if view.table("evaluation.definitions"):
        yield passed(f"{view.name} defines what is counted.")
        return
    what = (
        f"what counts for {listed(unclear)}" if unclear else "what counts as harmful, refused or successful"
    )
    yield failed(
        f"{view.name} does not define {what}.", view.place("evaluation.definitions"), key="definitions"
    )


def query_budget(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.query_budget"):
        yield passed(f"{view.name} says how many queries an attack may make.")
    else:
        yield view.lacks("how many queries an attack may make per example", "evaluation.query_budget")


RULES = (
    declaring(
        "eval.metrics_declared",
        Severity.WARNING,
        "The manifest names the metrics",
        "Which number is the result is decided before the run, or after it. A manifest says it before.",
        "Write their names into `evaluation.metrics`.",
        "evaluation: {metrics: [exact_match, f1]}\n",
        "evaluation: {repetitions: 3}\n",
        metrics,
        "evaluation",
    ),
    declaring(
        "eval.metric_implementation_referenced",
        Severity.WARNING,
        "The manifest says what computes the metrics",
        "BLEU, F1 and exact match exist in many versions that tokenize, lower and strip differently. The name alone is no formula.",
        "Write a package with its version, or a file of the repository, into `evaluation.implementation`: one for all, or one for each metric.",
        "evaluation:\n  metrics: [bleu]\n  implementation: {bleu: sacrebleu 2.4.3}\n",
        "evaluation:\n  metrics: [bleu]\n",
        implementation,
        "evaluation",
    ),
    declaring(
        "eval.aggregation_declared",
        Severity.WARNING,
        "The manifest says how scores are put together",
        "A mean over examples, over tasks, and a median of runs are three numbers from the same outputs.",
        "Write it into `evaluation.aggregation`: mean over examples, macro average over tasks, best of runs.",
        "evaluation: {metrics: [f1], aggregation: macro average over tasks}\n",
        "evaluation: {metrics: [f1]}\n",
        aggregation,
        "evaluation",
    ),
    declaring(
        "eval.repetitions_declared",
        Severity.WARNING,
        "The manifest says how often the evaluation is repeated",
        "Where outputs are drawn at random, one run is one draw. Without the number of runs nobody knows how far a score can move.",
        "Write it into `evaluation.repetitions`; 1 is an answer.",
        "evaluation: {metrics: [pass_at_1], repetitions: 5}\n",
        "evaluation: {metrics: [pass_at_1]}      # temperature 0.8\n",
        repetitions,
        "evaluation",
    ),
    declaring(
        "eval.definitions_declared",
        Severity.WARNING,
        "The manifest defines what is counted",
        "What counts as a refusal or a successful attack is a choice of the authors: a phrase list, a classifier, a judge. Two choices give rates that have "
        "nothing in common.",
        "Write a sentence for each term into `evaluation.definitions`.",
        "evaluation:\n  metrics: [attack_success_rate]\n  definitions: {attack success: the judge answers 1 or 2 of 5}\n",
        "evaluation:\n  metrics: [attack_success_rate]\n",
        definitions,
        "evaluation",
        "safety",
    ),
    declaring(
        "eval.query_budget_declared",
        Severity.WARNING,
        "The manifest says how many queries an attack may make",
        "With enough tries every attack succeeds. A rate without its budget cannot be compared.",
        "Write the number of queries per example into `evaluation.query_budget`.",
        "evaluation: {query_budget: 20}\n",
        "evaluation: {metrics: [attack_success_rate]}\n",
        query_budget,
        "safety",
    ),
)
