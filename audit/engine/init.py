"""A first manifest for a repository, filled in from its code."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from audit.documents.errors import DocumentError
from audit.documents.state import Confidence, Leaf, Source, Value
from audit.engine.options import Effects
from audit.source.open import open_snapshot
from audit.source.snapshot import Snapshot

if TYPE_CHECKING:  # signals and projections are imported only where a repository is read
    from audit.engine.manifest_text import Line
    from audit.state.observed.model import Experiment


class InitOptions(msgspec.Struct, frozen=True):
    """What a manifest is proposed for. `experiment`: the name of one of several, "" for the main one; `profiles`: kinds that the experiment
    is declared to be, () for those that the code shows."""

    target: str
    experiment: str = ""
    profiles: tuple[str, ...] = ()
    jobs: int | None = None
    use_cache: bool = True


class Proposal(msgspec.Struct, frozen=True):
    """A manifest as text. `chosen`: the experiment that it describes, "" where the code shows none; `others`: the other experiments with what starts
    each; `filled`, `open`: how many settings have a value and how many are left to the reader."""

    document: str
    chosen: str
    others: tuple[tuple[str, str], ...]
    filled: int
    open: int


Choice = Callable[[Sequence["Experiment"]], str]
Answer = Callable[[str, Sequence[Leaf]], Value]


def propose(
    options: InitOptions, effects: Effects, choose: Choice | None = None, answer: Answer | None = None
) -> Proposal:
    """A manifest for the target. `choose` is asked which experiment is meant where there are several, `answer` for the value of a setting that the
    code leaves open (None: it stays open); without them the main experiment is taken and questions stay.

    Raises SourceError and NetworkError where the target cannot be read, DocumentError for a profile or an experiment that there is none of.
    """
    effects.step(f"Reading {options.target}")
    with open_snapshot(options.target, environ=effects.environ, progress=effects.step) as snapshot:
        found = _experiments(snapshot, options, effects)
        name = options.experiment or (choose(found) if choose is not None and len(found) > 1 else "")
        return _proposal(snapshot, found, _chosen(found, name), options.profiles, answer)


def _experiments(snapshot: Snapshot, options: InitOptions, effects: Effects) -> "tuple[Experiment, ...]":
    from audit.engine.observing import observed
    from audit.facts.cache import opened

    with opened(effects.environ, use=options.use_cache) as kept:
        return observed(snapshot, effects, kept, options.jobs)


def _chosen(found: "Sequence[Experiment]", name: str) -> "Experiment | None":
    if not name:
        return found[0] if found else None
    for each in found:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in found[:20]) or "none"
    raise DocumentError(f"There is no experiment called {name}.", f"The code shows {known}.")


def _proposal(
    snapshot: Snapshot,
    found: "Sequence[Experiment]",
    chosen: "Experiment | None",
    profiles: Sequence[str],
    answer: Answer | None,
) -> Proposal:
    from audit.engine.manifest_text import manifest_text

    declared = tuple(profiles) or (chosen.profiles if chosen else ())
    lines = _lines(snapshot, chosen, declared, answer)
    document = manifest_text(lines, _head(found, chosen), {})
    _must_be_valid(document)
    others = tuple((each.name, _start(each)) for each in found if chosen is None or each.name != chosen.name)
    is_open = sum(line.is_open for line in lines.values())
    return Proposal(document, chosen.name if chosen else "", others, len(lines) - is_open, is_open)


def _lines(
    snapshot: Snapshot, chosen: "Experiment | None", profiles: Sequence[str], answer: Answer | None
) -> "dict[str, Line]":
    from audit.engine.manifest_text import open_line, value_line

    lines: dict[str, Line] = {}
    for path, value in _identity(snapshot, chosen, profiles).items():
        lines[path] = value_line(Leaf(value, Source.CODE, Confidence.OBSERVED))
    if chosen is not None:
        for path, leaf in chosen.state.leaves.items():
            if path.startswith("experiment.name"):
                continue
            others = chosen.state.alternatives.get(path, ())
            fits = fitting(path, leaf.value)
            lines[path] = (
                value_line(leaf, others)
                if fits
                else open_line((leaf, *others), "not a value that may be declared")
            )
        for path, candidates in chosen.candidates.items():
            given = answer(path, candidates) if answer is not None else None
            if given is not None and fitting(path, given):
                lines[path] = value_line(Leaf(given, Source.MANIFEST, Confidence.DECLARED))
            elif fitting(path, None):
                lines[path] = open_line(candidates)
    for path in _required(profiles):
        beside = path.replace(".id", ".path").replace(".revision", ".path")
        if (
            path not in lines
            and beside not in lines
            and not any(other.startswith(path + ".") for other in lines)
        ):
            given = answer(path, ()) if answer is not None else None
            ask = given is None or not fitting(path, given)
            lines[path] = (
                open_line() if ask else value_line(Leaf(given, Source.MANIFEST, Confidence.DECLARED))
            )
    return lines


def _identity(snapshot: Snapshot, chosen: "Experiment | None", profiles: Sequence[str]) -> dict[str, Value]:
    found: dict[str, Value] = {"project.name": snapshot.repository.rpartition("/")[2] or snapshot.repository}
    if chosen is not None:
        found["experiment.name"] = chosen.name
    if profiles:
        found["experiment.profiles"] = tuple(profiles)
    return {path: value for path, value in found.items() if fitting(path, value)}


@cache
def _sections() -> Any:
    from audit.documents.manifest import Manifest

    return Manifest


def fitting(path: str, value: Value) -> bool:
    """Whether a manifest may declare `value` at `path`; None asks for the path alone."""
    from pydantic import ValidationError

    tree: dict[str, Any] = {}
    at = tree
    parts = path.split(".")
    for part in parts[:-1]:
        at = at.setdefault(part, {})
    at[parts[-1]] = list(value) if isinstance(value, tuple) else value
    try:
        _sections().model_validate(tree)
    except ValidationError as error:
        return value is None and not any(each["type"] == "extra_forbidden" for each in error.errors())
    return True


def _required(profiles: Iterable[str]) -> tuple[str, ...]:
    """Settings that the profiles ask for, `prompts.judge` as its path."""
    from audit.profiles.definitions import profiles as shipped
    from audit.profiles.definitions import resolve

    known = [name for name in profiles if name in shipped()]
    wanted = dict.fromkeys(path for profile in resolve(known) for path in profile.required)
    return tuple(
        f"{path}.path" if path.startswith("prompts.") and path.count(".") == 1 else path for path in wanted
    )


def _head(found: "Sequence[Experiment]", chosen: "Experiment | None") -> list[str]:
    lines = [
        "What this experiment is. `ml-audit audit` holds it against the code, `ml-audit lock` resolves it to exact versions."
    ]
    if chosen is None:
        return [*lines, "The code shows no experiment: nothing trains, evaluates or asks a model."]
    lines.append(
        f"Proposed from the code: {chosen.name}, started at {_start(chosen)}. Check each line; a TODO is left out until it has a value."
    )
    others = [each.name for each in found if each.name != chosen.name]
    if others:
        shown = ", ".join(others[:12]) + (f" and {len(others) - 12} more" if len(others) > 12 else "")
        lines.append(f"Other experiments of this repository (`ml-audit init --experiment NAME`): {shown}.")
    return lines


def _start(experiment: "Experiment") -> str:
    place = experiment.place
    return f"{place.path}:{place.line}" if place.line else place.path


def _must_be_valid(document: str) -> None:
    """The proposal read as any manifest is. A mistake in it is a fault of this program, and better told than written."""
    from audit.state.manifest_reading import read_manifest

    try:
        read_manifest(document.encode())
    except DocumentError as error:
        raise RuntimeError(f"the proposed manifest is not valid: {error.message}") from error


_LARGEST = 2 * 2**20
"""Bytes of a manifest that is read."""


def converted(file: Path) -> str:
    """Our manifest that says what a `reprollm.yaml` says, its comments with it. Raises DocumentError where the file cannot be read or is none."""
    from audit.state.reprollm_text import from_reprollm

    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise DocumentError(f"{file} cannot be read: {error.strerror}.") from None
    if len(data) > _LARGEST:
        raise DocumentError(f"{file} is larger than {_LARGEST // 2**20} MB, which no manifest is.")
    return from_reprollm(data, file.name)
