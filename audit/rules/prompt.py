"""The prompts of the manifest."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, candidates, declaring, or_else
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed


def _written(view: View) -> list[str]:
    return [
        role for role in view.roles("prompts") if view.says(f"prompts.{role}.path", f"prompts.{role}.text")
    ]


def declared(view: View) -> Iterable[Outcome]:
    roles = view.roles("prompts")
    written = _written(view)
    if not roles:
        yield view.lacks(
            "with which prompt the model is asked",
            "prompts.primary.path",
            "prompts.primary.text",
            "prompts.system.text",
        )
        return
    yield from or_else(
        (
            view.lacks(f"the prompt in role {role}", f"prompts.{role}.path", f"prompts.{role}.text")
            for role in roles
            if role not in written
        ),
        passed(f"{view.name} names its prompts: {listed(list(roles))}."),
    )


def file_exists(view: View) -> Iterable[Outcome]:
    named = {role: path for role in view.roles("prompts") if (path := view.text(f"prompts.{role}.path"))}
    if not named:
        yield not_applicable("No prompt is declared to stand in a file.")
        return
    there = view.context.repository.path_set
    yield from or_else(
        (
            failed(
                f"{view.name} says that the prompt in role {role} is {path}, and there is no such file.",
                view.place(f"prompts.{role}.path"),
                fix=_near(path, there),
                key=role,
            )
            for role, path in named.items()
            if path.removeprefix("./") not in there
        ),
        passed("Every declared prompt file is there."),
    )


def _near(path: str, there: Iterable[str]) -> str | None:
    """Where a file of that name is."""
    name = path.rpartition("/")[2]
    found = sorted(each for each in there if each.rpartition("/")[2] == name)
    return f"Perhaps {listed(found, 3, 'or')} is meant." if found else None


def few_shot(view: View) -> Iterable[Outcome]:
    """Asked for where the code can put examples before the question."""
    written = _written(view)
    if not written:
        yield not_applicable("No prompt is declared.")
        return
    yield from or_else(
        (
            view.lacks(f"how many examples the prompt in role {role} shows", f"prompts.{role}.few_shot")
            for role in written
            if not view.says(f"prompts.{role}.few_shot")
            and candidates(view.context, f"prompts.{role}.few_shot")
        ),
        passed("Prompts are not seen to show examples that are not declared."),
    )


RULES = (
    declaring(
        "prompt.declared",
        Severity.WARNING,
        "The manifest names the prompts",
        "A word more or less in a prompt moves scores by points. A prompt that is put together in code is found by nobody who does not run it.",
        "Put the prompt into a file and write its path into `prompts.ROLE.path`, or the text into `prompts.ROLE.text`.",
        "prompts:\n  primary: {path: prompts/answer.txt}\n",
        "prompts:\n  primary: {}\n",
        declared,
        "inference",
    ),
    declaring(
        "prompt.file_exists",
        Severity.CRITICAL,
        "Every declared prompt file is there",
        "A manifest that names a file which is not in the repository names nothing.",
        "Commit the file, or mend the path.",
        "prompts:\n  primary: {path: prompts/answer.txt}      # prompts/answer.txt is tracked\n",
        "prompts:\n  primary: {path: prompts/anwser.txt}\n",
        file_exists,
    ),
    declaring(
        "prompt.few_shot_declared",
        Severity.INFO,
        "The manifest says how many examples a prompt shows where the code can show some",
        "Zero, one and five examples are three experiments, and the number is often a flag's default.",
        "Add `few_shot` to the prompt: their number, or the file that they come from.",
        "prompts:\n  primary: {path: prompts/answer.txt, few_shot: 5}\n",
        "prompts:\n  primary: {path: prompts/answer.txt}      # the code has --num-fewshot\n",
        few_shot,
        "inference",
    ),
)
