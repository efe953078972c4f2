"""The data sets of the manifest: which they are, and which part of them is used."""

from collections.abc import Iterable

from audit.documents.finding import Severity
from audit.rules.declared import View, candidates, declaring, or_else
from audit.rules.rule import Outcome, failed, not_applicable, passed
from audit.rules.wording import listed

_TRAINED_ON = ("train", "preference")
_SCORED_ON = ("evaluation", "test", "validation")
_WHOLE = frozenset({"all", "full", "none", "head", "first", "sequential", "in order"})
"""Strategies that draw nothing."""


def declared(view: View) -> Iterable[Outcome]:
    if view.is_any("rl") and not view.is_any("finetuning", "inference", "tabular"):
        yield not_applicable("A policy learns from its environment.")
        return
    wanted: list[tuple[str, ...]] = [_TRAINED_ON] if view.is_any("training", "finetuning") else []
    wanted += [_SCORED_ON] if view.is_any("evaluation") else []
    named = [role for role in view.roles("datasets") if _is_named(view, role)]
    silent = [roles for roles in wanted if not set(roles) & set(named)]
    if not silent:
        yield passed(f"{view.name} names its data sets: {listed(named)}.")
        return
    for roles in silent:
        what = "trained on" if roles is _TRAINED_ON else "scored on"
        paths = [f"datasets.{role}.{key}" for role in roles for key in ("id", "path")]
        yield view.lacks(f"which data set is {what}", *paths)


def _is_named(view: View, role: str) -> bool:
    return view.says(f"datasets.{role}.id", f"datasets.{role}.path")


def _on_the_hub(view: View) -> list[str]:
    """Roles of data sets that have an id: files of the repository are what they are."""
    return [role for role in view.roles("datasets") if view.says(f"datasets.{role}.id")]


def split(view: View) -> Iterable[Outcome]:
    roles = _on_the_hub(view)
    if not roles:
        yield not_applicable("No data set with an id is declared.")
        return
    yield from or_else(
        (
            view.lacks(f"which split of {view.text(f'datasets.{role}.id')} is used", f"datasets.{role}.split")
            for role in roles
            if not view.says(f"datasets.{role}.split")
        ),
        passed("Every declared data set has a split."),
    )


def subset(view: View) -> Iterable[Outcome]:
    """Asked for where the code passes one: many data sets have a single one."""
    roles = _on_the_hub(view)
    if not roles:
        yield not_applicable("No data set with an id is declared.")
        return
    yield from or_else(
        (
            view.lacks(
                f"which subset of {view.text(f'datasets.{role}.id')} is used", f"datasets.{role}.subset"
            )
            for role in roles
            if not view.says(f"datasets.{role}.subset")
            and candidates(view.context, f"datasets.{role}.subset")
        ),
        passed("The code asks for no subset that is not declared."),
    )


def preprocessing(view: View) -> Iterable[Outcome]:
    roles = [role for role in view.roles("datasets") if _is_named(view, role)]
    if not roles:
        yield not_applicable("No data set is declared.")
        return
    silent = [role for role in roles if not view.says(f"datasets.{role}.preprocessing")]
    if not silent:
        yield passed("Every declared data set says how it is prepared.")
        return
    yield failed(
        f"{view.name} does not say how the data in {'role' if len(silent) == 1 else 'roles'} {listed(silent)} is prepared.",
        *(view.place(f"datasets.{role}.preprocessing") for role in silent),
        key="preprocessing",
    )


def sampling_seed(view: View) -> Iterable[Outcome]:
    drawn = [
        role
        for role in view.roles("datasets")
        if view.table(f"datasets.{role}.sampling")
        and view.text(f"datasets.{role}.sampling.strategy").lower() not in _WHOLE
    ]
    if not drawn:
        yield not_applicable("No data set is declared to be sampled.")
        return
    yield from or_else(
        (
            view.lacks(
                f"with which seed the sample in role {role} is drawn", f"datasets.{role}.sampling.seed"
            )
            for role in drawn
            if not view.says(f"datasets.{role}.sampling.seed")
        ),
        passed("Every declared sample has a seed."),
    )


RULES = (
    declaring(
        "dataset.declared",
        Severity.INFO,
        "The manifest names the data that is trained and scored on",
        "A number without its data set is no result: the same name exists in many versions, and a path on somebody's disk in none.",
        "Write the id on the hub, or the path in the repository, into `datasets.train`, `datasets.evaluation` and so on.",
        "datasets:\n  train: {id: acme/reviews, split: train}\n",
        "models:\n  primary: {id: acme/tiny}\n",
        declared,
        "training",
        "finetuning",
        "evaluation",
    ),
    declaring(
        "dataset.split_declared",
        Severity.WARNING,
        "Every declared data set has a split",
        "Scored on `test` and scored on `validation` are two results. A loader's default split is not what everybody expects.",
        "Add `split` to the data set.",
        "datasets:\n  evaluation: {id: acme/reviews, split: test}\n",
        "datasets:\n  evaluation: {id: acme/reviews}\n",
        split,
    ),
    declaring(
        "dataset.subset_declared",
        Severity.INFO,
        "The manifest names the subset that the code asks for",
        "One id on the hub holds many configurations: languages, tasks, sizes. The id alone does not say which of them was used.",
        "Add `subset` to the data set.",
        "datasets:\n  evaluation: {id: acme/tasks, subset: algebra, split: test}\n",
        "datasets:\n  evaluation: {id: acme/tasks, split: test}      # the code loads algebra\n",
        subset,
    ),
    declaring(
        "dataset.preprocessing_declared",
        Severity.WARNING,
        "The manifest says how data is prepared",
        "Filters, truncation, templates and normalisation change which examples there are and what they say; a copy prepared otherwise gives other numbers.",
        "Add `preprocessing` to the data set: the script's path, a sentence, or `none`.",
        "datasets:\n  train: {id: acme/reviews, split: train, preprocessing: scripts/clean.py}\n",
        "datasets:\n  train: {id: acme/reviews, split: train}\n",
        preprocessing,
        "training",
        "finetuning",
        "evaluation",
    ),
    declaring(
        "dataset.sampling_seed_declared",
        Severity.WARNING,
        "Every declared sample has a seed",
        "A random sample without its seed is another sample next time, and small samples differ by points.",
        "Add `sampling.seed`, or `sampling.strategy: first` where nothing is drawn.",
        "datasets:\n  evaluation: {id: acme/reviews, sampling: {size: 200, seed: 7}}\n",
        "datasets:\n  evaluation: {id: acme/reviews, sampling: {size: 200}}\n",
        sampling_seed,
    ),
)
