"""The model that scores outputs, as the manifest declares it."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, declaring
from audit.rules.rule import Outcome, failed, passed


def model(view: View) -> Iterable[Outcome]:
    if view.says("models.judge.id"):
        yield passed(f"{view.name} names the judge.", view.place("models.judge.id"))
        return
    signal = view.context.signals.judge
    missing = view.lacks("which model judges", "models.judge.id")
    if len(missing.evidence) > 1 or not signal.evidence:
        yield missing
        return
    where = signal.evidence[0]
    yield failed(
        f"{view.name} does not say which model judges; {where.path}:{where.line or 1} asks one.",
        view.place("models.judge.id"),
        *signal.evidence[:3],
        key="models.judge.id",
    )


def prompt(view: View) -> Iterable[Outcome]:
    if view.says("prompts.judge.path", "prompts.judge.text"):
        yield passed(f"{view.name} names the judge's prompt.")
    else:
        yield view.lacks("with which prompt the judge is asked", "prompts.judge.path", "prompts.judge.text")


def params(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.judge.temperature"):
        yield passed(f"{view.name} says how the judge's answers are drawn.")
    else:
        yield view.lacks("at which temperature the judge answers", "evaluation.judge.temperature")


def repetitions(view: View) -> Iterable[Outcome]:
    if view.says("evaluation.judge.repetitions"):
        yield passed(f"{view.name} says how often the judge is asked.")
    else:
        yield view.lacks("how often the judge is asked about an output", "evaluation.judge.repetitions")


RULES = (
    declaring(
        "judge.model_declared",
        Severity.CRITICAL,
        "The manifest names the judge",
        "Another judge is another scale: the same outputs get other scores, and a model of the judge's own family gets better ones.",
        "Write its id, with the date of the snapshot, into `models.judge`.",
        "models:\n  judge: {id: gpt-4o-2024-08-06, provider: openai}\n",
        "evaluation: {judge: {temperature: 0}}\n",
        model,
        "llm_judge",
    ),
    declaring(
        "judge.prompt_declared",
        Severity.CRITICAL,
        "The manifest names the judge's prompt",
        "The judge's prompt is the metric's definition. Without it a score cannot be computed again.",
        "Write its path into `prompts.judge.path`, or the text into `prompts.judge.text`.",
        "prompts:\n  judge: {path: prompts/judge.txt}\n",
        "models:\n  judge: {id: gpt-4o-2024-08-06, provider: openai}\n",
        prompt,
        "llm_judge",
    ),
    declaring(
        "judge.params_declared",
        Severity.CRITICAL,
        "The manifest says how the judge's answers are drawn",
        "A judge at temperature 1 gives one output two scores. The default of most APIs is 1.",
        "Add `evaluation.judge.temperature`, and `top_p`, `max_tokens` and `seed` where they are set.",
        "evaluation:\n  judge: {temperature: 0, max_tokens: 256}\n",
        "evaluation:\n  judge: {repetitions: 3}\n",
        params,
        "llm_judge",
    ),
    declaring(
        "judge.repetitions_declared",
        Severity.WARNING,
        "The manifest says how often the judge is asked",
        "One answer of a judge is a sample. Whether a score is one of them or the mean of five decides what a difference is worth.",
        "Add `evaluation.judge.repetitions`; 1 is an answer.",
        "evaluation:\n  judge: {temperature: 0, repetitions: 3}\n",
        "evaluation:\n  judge: {temperature: 0}\n",
        repetitions,
        "llm_judge",
    ),
)
