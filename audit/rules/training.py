"""Training: whether a run can be measured, saved, taken up again and set without editing code."""

import re
from collections import defaultdict
from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.documents.place import Place
from audit.facts.python.model import Call
from audit.rules.randomness import scripts
from audit.rules.rule import Context, Outcome, Rule, failed, not_applicable, not_checked, passed
from audit.rules.wording import OUTCOME_LIMIT, capped, counted

NO_TRAINING = "Nothing in the repository's own code trains a model."


def _kinds(context: Context) -> frozenset[str]:
    return frozenset(loop.kind for loop in context.path.all_loops)


def evaluation(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
    elif context.signals.evaluation.value:
        yield passed("There is code that measures the model.", *capped(context.signals.evaluation.evidence))
    elif place := _validates(context):
        yield passed("Training measures the model on other data.", place)
    else:
        yield failed(
            "The repository trains, and no code of it measures what was trained.",
            *capped(context.path.primary_loop[1], 2),
            severity=None if any(entry.documented for entry in context.path.training) else Severity.INFO,
        )


_VALIDATES = re.compile(r"(?:^|_)(?:val|valid|validation|eval|evaluation|test)(?:_|$)")
_GIVEN = frozenset(
    {
        "validation_data",
        "validation_split",
        "eval_dataset",
        "eval_set",
        "val_dataloaders",
        "eval_data",
        "val_data",
    }
)


def _validates(context: Context) -> Place | None:
    """Where training is given data to measure on, or reads something that is named for it."""
    graph = context.path.graph
    for file, call in context.path.reached.calls():
        if not _GIVEN.isdisjoint(call.kwargs):
            return Place(file, call.line)
    for loop in context.path.all_loops:
        path, index = loop.node
        names = {part for ref in graph.python[path].scopes[index].refs for part in ref.split(".")}
        if any(_VALIDATES.search(name) for name in names):
            return Place(path, graph.python[path].scopes[index].line or None)
    return None


def checkpoint(context: Context) -> Iterable[Outcome]:
    value = context.signals.checkpoint.value
    if not context.path.training or value is None:
        yield not_applicable(NO_TRAINING)
        return
    places = capped(context.signals.checkpoint.evidence or context.path.primary_loop[1], 3)
    if not (value.model or value.optimizer):
        if _saves_something(context):
            yield not_checked("The code saves something, and what it is could not be followed.")
        else:
            yield failed("Training ends without writing the model anywhere.", *places, severity=Severity.INFO)
    elif _kinds(context) <= {"sklearn"}:
        yield passed("The fitted model is written.", *places)
    elif value.optimizer or _takes_optimizer_state(context):
        yield passed("Checkpoints hold the optimizer's state.", *places)
    else:
        resumes = context.signals.resume.value
        yield failed(
            "Checkpoints hold the model without the optimizer's state: "
            + (
                "a resumed run goes on with a new optimizer, and is another run."
                if resumes
                else "a run that breaks off has to start again."
            ),
            *places,
        )


def _saves_something(context: Context) -> bool:
    return any(
        re.search(r"save|dump|export|push_to_hub|checkpoint", call.name.rpartition(".")[2], re.I)
        for facts in context.repository.code.values()
        for call in facts.calls
    )


def _takes_optimizer_state(context: Context) -> bool:
    """Whether some code asks an optimizer for its state: more than the checkpoint's own call may show."""
    return any(
        call.name.endswith("state_dict") and re.search(r"optim|(?:^|[._])opt\b", call.name, re.I)
        for facts in context.repository.code.values()
        for call in facts.calls
    )


def resume(context: Context) -> Iterable[Outcome]:
    value = context.signals.checkpoint.value
    evidence = context.signals.checkpoint.evidence
    if not context.path.training or value is None:
        yield not_applicable(NO_TRAINING)
    elif _kinds(context) <= {"sklearn"}:
        yield not_applicable("What is fitted in one call is not resumed.")
    elif context.signals.resume.value:
        yield passed("Training can go on from a checkpoint.", *capped(context.signals.resume.evidence))
    elif not value.optimizer or any("inherited" in place.note for place in evidence):
        yield not_applicable("The repository's own code writes nothing from which training could go on.")
    else:
        yield failed(
            "Checkpoints hold the optimizer's state, and nothing was seen that loads it again.",
            *capped(evidence, 3),
        )


_FROM_OUTSIDE = re.compile(
    r"arg|config|cfg|flag|option|param|setting|hparam|getenv|environ|sys|DEFINE_", re.I
)


def settings(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    found = scripts(context)
    if context.signals.config_driven.value or not found:
        yield passed(
            "Settings of a run are given from outside.", *capped(context.signals.config_driven.evidence, 3)
        )
        return
    hard = [script.entry.path for script in found if not _asks_for_settings(context, script.entry.path)]
    if len(hard) < len(found):
        yield passed("Settings of a run are given from outside.")
    else:
        yield failed(
            f"{hard[0]} takes no settings from outside: another learning rate, seed or path means editing the code.",
            Place(hard[0]),
        )


def _asks_for_settings(context: Context, path: str) -> bool:
    """Whether the script names anything like arguments or a configuration."""
    facts = context.path.graph.python[path]
    words = [ref for scope in facts.scopes for ref in scope.refs]
    words += (
        [scope.name for scope in facts.scopes]
        + [item.module for item in facts.imports]
        + [item.name for item in facts.imports]
    )
    return any(_FROM_OUTSIDE.search(word) for word in words)


def tracking(context: Context) -> Iterable[Outcome]:
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
    elif _kinds(context) <= {"sklearn"}:
        yield not_applicable("What is fitted in one call has no course to record.")
    elif context.signals.experiment_tracking.value:
        yield passed("Runs are recorded.", *capped(context.signals.experiment_tracking.evidence, 3))
    elif _kinds(context) & {"hf_trainer", "lightning"}:
        yield passed(
            "The inherited trainer writes a log of its own.", *capped(context.path.primary_loop[1], 1)
        )
    elif place := _writes_a_log(context):
        yield passed("Runs are written to a file.", place)
    else:
        yield failed(
            "No tracker or file records the settings and the course of a run.",
            *capped(context.path.primary_loop[1], 1),
        )


def _writes_a_log(context: Context) -> Place | None:
    for file, call in context.path.reached.calls():
        last = call.name.rpartition(".")[2]
        if (
            call.name in ("json.dump", "json.dumps", "csv.writer", "csv.DictWriter")
            or last == "Logger"
            or last.endswith("FileHandler")
            or (call.name == "logging.basicConfig" and "filename" in call.kwargs)
        ):
            return Place(file, call.line)
    for file in context.path.reached.scopes:
        if re.search(r"log(?:ger|ging)?s?(?:_utils)?\.py$", file):
            return Place(file)
    return None


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


_HINTS = (
    (
        "waits for the device",
        "reads a value from the device at every step, and waits for it",
        "Sum the values up on the device, and read them where they are printed, once in so many steps.",
    ),
    (
        "loader without worker",
        "loads data without worker processes: loading and computing take turns",
        "Give the loader `num_workers`, with a generator and a `worker_init_fn` that are seeded.",
    ),
    (
        "no mixed precision",
        "trains on a GPU without mixed precision",
        "Offer `torch.autocast` as a setting, and say with which one the results were made.",
    ),
)
_SIDE = re.compile(r"eval|valid|test|metric|sampl|infer|score|demo", re.I)


def performance(context: Context) -> Iterable[Outcome]:
    """One finding for each habit, whatever the number of places."""
    if not context.path.training:
        yield not_applicable(NO_TRAINING)
        return
    inherits = bool(_kinds(context) & {"lightning", "hf_trainer", "rl"})
    groups: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in context.signals.performance_hints.value:
        for words, said, fix in _HINTS:
            if (
                words in place.note
                and not _SIDE.search(place.path)
                and not (inherits and words.startswith("no mixed"))
            ):
                groups[said, fix].append(Place(place.path, place.line))
    for (said, fix), found in groups.items():
        places = tuple(dict.fromkeys(found))
        more = f" (and {counted(len(places) - 1, 'more place')})" if len(places) > 1 else ""
        yield failed(f"{places[0].path}:{places[0].line} {said}{more}.", *capped(places), fix=fix, key=said)
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
        "Checkpoints hold the optimizer",
        "Without the optimizer's state a run that breaks off starts again, or goes on as another run.",
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
        "A run that wastes its hardware takes longer, and is repeated less often. The score loses nothing by it.",
        "Read values from the device once in so many steps, load data with workers, offer mixed precision.",
        "",
        0,
        "Losses are collected on the device and read every 100 steps.",
        "loss.item() at every step.",
        performance,
    ),
)
