"""How the experiment is started: its command, its seed, what kind of experiment it is (category exec)."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.report import DetectedProfile
from audit.rules.declared import View, declaring, or_else
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed


def command(view: View) -> Iterable[Outcome]:
    if view.says("experiment.command", "execution.command"):
        yield passed(f"{view.name} says which command makes the numbers.")
    else:
        yield view.lacks("which command makes the numbers", "experiment.command", "execution.command")


def seed(view: View) -> Iterable[Outcome]:
    if view.says("experiment.seed", "training.seed", "generation.seed"):
        yield passed(f"{view.name} says which seed a run starts from.")
    elif not view.is_any("training", "finetuning") and is_greedy(view):
        yield not_applicable("Nothing is trained, and generation is greedy: no seed is drawn from.")
    else:
        yield view.lacks(
            "which seed a run starts from", "experiment.seed", "training.seed", "generation.seed"
        )


def is_greedy(view: View) -> bool:
    """Whether generation is declared to take the likeliest token each time."""
    return view.number("generation.temperature") == 0 or view.text("generation.do_sample") == "False"


_SAME_LOOP = {"training": "finetuning"}
"""Kinds that the same code speaks for: the loop that tunes a language model trains, too."""


def profiles(view: View) -> Iterable[Outcome]:
    """What is declared against what the code speaks for: each kind is a finding of its own."""
    strong = _strong(view)
    declared = declared_profiles(view)
    if declared:
        yield from or_else(
            _contradicted(view, declared, strong), passed("The code speaks for the declared profiles.")
        )
    elif not strong:
        yield not_applicable("No profile is declared, and the code speaks for none.")
    else:
        yield failed(
            f"{view.name} declares no profile; the code speaks for {listed(list(strong), 9)}.",
            view.place("experiment.profiles"),
            *(place for each in strong.values() for place in each.evidence[:1]),
            fix=f"Declare what the experiment is: `experiment: {{profiles: [{', '.join(strong)}]}}`.",
            key="none",
        )


def _strong(view: View) -> dict[str, DetectedProfile]:
    """What the code surely is, without the general kinds that a special one stands for."""
    sure = {each.profile: each for each in view.context.detected if each.confidence == "high"}
    implied = {parent for name in sure for parent in _ancestors(view, name)}
    implied |= {general for general, special in _SAME_LOOP.items() if special in sure}
    return {name: each for name, each in sure.items() if name not in implied}


def declared_profiles(view: View) -> tuple[str, ...]:
    """The profiles that the manifest names."""
    declared = view.context.declared
    return declared.manifest.profiles if declared else ()


def _contradicted(
    view: View, declared: tuple[str, ...], strong: dict[str, DetectedProfile]
) -> Iterable[Outcome]:
    kinds, seen = view.context.kinds, {each.profile for each in view.context.detected}
    for name, found in strong.items():
        if name not in kinds and _SAME_LOOP.get(name) not in kinds:
            yield failed(
                f"The code speaks for the profile {name}, which {view.name} does not declare.",
                view.place("experiment.profiles"),
                *found.evidence[:2],
                key=name,
            )
    for name in declared:
        profile = kinds.get(name)
        recognised = profile is not None and bool(profile.detection.by)
        if recognised and name not in seen and not any(name in _ancestors(view, each) for each in seen):
            yield failed(
                f"{view.name} declares the profile {name}, for which nothing in the code speaks.",
                view.place("experiment.profiles"),
                key=name,
            )


def _ancestors(view: View, name: str) -> set[str]:
    """All profiles that a shipped or declared one extends."""
    from audit.profiles.definitions import profiles as shipped

    there = {**shipped(), **view.context.kinds}
    found: set[str] = set()
    pending = [name]
    while pending:
        profile = there.get(pending.pop())
        for parent in profile.extends if profile else ():
            if parent not in found:
                found.add(parent)
                pending.append(parent)
    return found


RULES = (
    declaring(
        "exec.command_declared",
        Severity.WARNING,
        "The manifest says which command makes the numbers",
        "A repository has many scripts, and a script many options. Without the very command, whoever repeats the experiment guesses which of them made "
        "the published numbers.",
        "Write the command into `experiment.command` as it is typed, with all its options.",
        "experiment:\n  command: python train.py --config configs/base.yaml --seed 42\n",
        "experiment:\n  name: base\n",
        command,
    ),
    declaring(
        "exec.seed_declared",
        Severity.WARNING,
        "The manifest says which seed a run starts from",
        "Initial weights, the order of examples, dropout and sampling follow from the seed. With another one the same code gives other numbers, "
        "and nobody can tell a bug from luck.",
        "Write the seed into `experiment.seed`, or into `training.seed` and `generation.seed` where they differ.",
        "experiment:\n  seed: 42\n",
        "experiment:\n  command: python train.py\n",
        seed,
        "training",
        "finetuning",
        "inference",
    ),
    declaring(
        "exec.profile_detection_mismatch",
        Severity.INFO,
        "The declared profiles are those that the code speaks for",
        "The profiles decide which questions are asked. One that is missing leaves questions out; one too many asks what does not arise.",
        "Add the profile to `experiment.profiles`, or take it out. `ml-audit profiles show NAME` says what each is about.",
        "experiment:\n  profiles: [finetuning]      # train.py trains with trl\n",
        "experiment:\n  profiles: [inference]       # train.py trains with trl\n",
        profiles,
    ),
)
