"""Training: whether a run can be measured, saved, taken up again and set without editing code."""

import re
from collections import defaultdict
from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.python.model import Call
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted

NO_TRAINING = "Nothing in the repository's own code trains a model."


def _kinds(context: Context) -> frozenset[str]:
    return frozenset(loop.kind for loop in context.path.all_loops)


def evaluation(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
    elif context.signals.evaluation.value:
        yield passed("There is code that measures the model.", *capped(context.signals.evaluation.evidence))
    else:
        yield failed(
            "The repository trains, and no code of it measures what was trained.",
            *capped(context.path.primary_loop[1], 2),
        )


def checkpoint(context: Context) -> Iterable[Outcome]:
    value = context.signals.checkpoint.value
    if not context.path.training or value is None:
        yield not_applicable(NO_TRAINING)
        return
    places = capped(context.signals.checkpoint.evidence or context.path.primary_loop[1], 3)
    if not (value.model or value.optimizer):
        yield failed(
            "Training ends without writing the model anywhere that was seen.", *places, severity=Severity.INFO
        )
    elif _kinds(context) <= {"sklearn"}:
        yield passed("The fitted model is written.", *places)
    elif value.optimizer and value.progress:
        yield passed("Checkpoints hold what is needed to go on: model, optimizer and progress.", *places)
    else:
        missing = " and ".join(
            name
            for name, there in (
                ("optimizer's state", value.optimizer),
                ("number of the epoch or step", value.progress),
            )
            if not there
        )
        yield failed(
            f"Checkpoints hold the model without the {missing}: a run that breaks off has to start again.",
            *places,
        )


def resume(context: Context) -> Iterable[Outcome]:
    value = context.signals.checkpoint.value
    if not context.path.training or value is None:
        yield not_applicable(NO_TRAINING)
    elif _kinds(context) <= {"sklearn"}:
        yield not_applicable("What is fitted in one call is not resumed.")
    elif context.signals.resume.value:
        yield passed("Training can go on from a checkpoint.", *capped(context.signals.resume.evidence))
    elif not value.optimizer:
        yield not_applicable("Checkpoints hold nothing from which training could go on.")
    else:
        yield failed(
            "Checkpoints hold the optimizer's state, and nothing was seen that loads it again.",
            *capped(context.signals.checkpoint.evidence, 3),
        )


def settings(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
    elif context.signals.config_driven.value:
        yield passed(
            "Settings of a run are given from outside.", *capped(context.signals.config_driven.evidence, 3)
        )
    else:
        paths = tuple(dict.fromkeys(entry.path for entry in context.path.training))
        yield failed(
            f"{paths[0]} takes no settings from outside: another learning rate, seed or path means editing the code.",
            Place(paths[0]),
        )


def tracking(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
    elif _kinds(context) <= {"sklearn"}:
        yield not_applicable("What is fitted in one call has no course to record.")
    elif context.signals.experiment_tracking.value:
        yield passed("Runs are recorded.", *capped(context.signals.experiment_tracking.evidence, 3))
    else:
        yield failed(
            "No tracker records the settings and the course of a run.",
            *capped(context.path.primary_loop[1], 1),
        )


def accumulation(context: Context) -> Iterable[Outcome]:
    """`zero_grad` at every batch while the optimizer steps only at some: what was accumulated is thrown away."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    scopes: dict[tuple[str, int], list[Call]] = defaultdict(list)
    for file, call in context.path.reached.calls():
        if call.loops and call.name.rpartition(".")[2] in ("step", "zero_grad", "backward"):
            scopes[file, call.scope].append(call)
    periodic: list[Place] = []
    bad: list[Outcome] = []
    for (file, _), calls in scopes.items():
        steps = [c for c in calls if _last(c) == "step" and _optimizer(c) and _now_and_then(c.test)]
        if not steps or not any(_last(c) == "backward" for c in calls):
            continue
        periodic.append(Place(file, steps[0].line))
        every = [
            c
            for c in calls
            if _last(c) == "zero_grad"
            and c.test == ""
            and c.loops == steps[0].loops
            and c.name.rpartition(".")[0] == steps[0].name.rpartition(".")[0]
        ]
        if every and all(_last(c) != "step" or not _optimizer(c) or _now_and_then(c.test) for c in calls):
            bad.append(
                failed(
                    f"{file}:{every[0].line} sets the gradients to zero at every batch, while the optimizer steps only at some ({file}:{steps[0].line}): "
                    "gradients of the batches between are thrown away.",
                    Place(file, every[0].line),
                    Place(file, steps[0].line),
                )
            )
    yield from bad[:OUTCOME_LIMIT]
    if not periodic:
        yield not_applicable("No loop was seen whose optimizer steps only at some batches.")
    elif not bad:
        yield passed("Gradients are kept until the optimizer steps.", *capped(periodic))


def _last(call: Call) -> str:
    return call.name.rpartition(".")[2]


def _optimizer(call: Call) -> bool:
    return bool(re.search(r"optim|(?:^|\.)opt$", call.name.rpartition(".")[0], re.I))


def _now_and_then(test: str) -> bool:
    return "%" in test and "accum" in test.lower()


def performance(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    groups: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in context.signals.performance_hints.value:
        groups[place.path, place.note].append(place)
    for (path, note), places in list(groups.items())[:OUTCOME_LIMIT]:
        more = f" (and {counted(len(places) - 1, 'more place')})" if len(places) > 1 else ""
        yield failed(
            f"{path}:{places[0].line}: {note}{more}.",
            *capped(Place(p.path, p.line) for p in places),
            key=note,
        )
    if not groups:
        yield passed("Nothing was seen on the training path that wastes the hardware.")


RULES = (
    Rule(
        "training.evaluation",
        Severity.WARNING,
        "What is trained is measured",
        "A model that nobody measures cannot be said to be reproduced.",
        "Add an evaluation: the metric, the data it is computed on, and the command.",
        "documentation",
        2,
        "def evaluate(model, loader): …",
        "A training loop that prints its loss and no more.",
        evaluation,
    ),
    Rule(
        "training.checkpoint",
        Severity.INFO,
        "Checkpoints are complete",
        "Without the optimizer's state and the step a run that breaks off starts again, or goes on as another run.",
        "Save model, optimizer, scheduler, epoch and step in one file.",
        "determinism",
        1,
        "torch.save({'model': …, 'optimizer': …, 'epoch': epoch}, path)",
        "torch.save(model.state_dict(), path)",
        checkpoint,
    ),
    Rule(
        "training.resume",
        Severity.INFO,
        "Training can be resumed",
        "A checkpoint that nothing loads is of no use when a run breaks off.",
        "Add a flag that loads model, optimizer and step.",
        "determinism",
        0.5,
        "python train.py --resume last.pt",
        "The optimizer's state is saved and never loaded.",
        resume,
    ),
    Rule(
        "training.settings",
        Severity.WARNING,
        "Runs are set from outside",
        "Settings that are edited in the code belong to no commit: nobody knows with which values a result was made.",
        "Take hyper-parameters, seed and paths from flags or a configuration file.",
        "configuration",
        3,
        "parser.add_argument('--lr', type=float, default=3e-4)",
        "lr = 3e-4 in the middle of train.py, and no flag.",
        settings,
    ),
    Rule(
        "training.tracking",
        Severity.INFO,
        "Runs are recorded",
        "The curve of a run shows where a reproduction leaves the original.",
        "Write settings, metrics and the commit of each run to a tracker, or to a file beside the checkpoint.",
        "documentation",
        0.5,
        "SummaryWriter(log_dir)",
        "print(loss)",
        tracking,
    ),
    Rule(
        "training.accumulation",
        Severity.WARNING,
        "Accumulated gradients are kept",
        "Gradients that are set to zero before the step make the effective batch smaller than the settings say.",
        "Call zero_grad right after the step, under the same condition.",
        "configuration",
        2,
        "if i % accumulate == 0: optimizer.step(); optimizer.zero_grad()",
        "optimizer.zero_grad(); loss.backward(); if i % accumulate == 0: optimizer.step()",
        accumulation,
    ),
    Rule(
        "training.performance",
        Severity.INFO,
        "The hardware is used",
        "A loop that waits at every step costs time and energy; it changes no result.",
        "See the places that are named.",
        "",
        0,
        "Losses are collected on the device and read every 100 steps.",
        "loss.item() at every step.",
        performance,
    ),
)
