"""Which experiment of the code a manifest is about."""

import weakref
from typing import TYPE_CHECKING

import msgspec

from audit.facts.commands.shell import parse_commands
from audit.facts.model import Command
from audit.rules.rule import Context
from audit.signals.repository import Repository

if TYPE_CHECKING:  # computed only where there is a manifest
    from audit.state.observed import Experiment


class Meant(msgspec.Struct, frozen=True):
    """The experiment of the code that the manifest is about, None where there is none. `exact`: its command or its name says so; else it is
    the main one, and a run may be started otherwise. `others`: all experiments that the code shows."""

    experiment: "Experiment | None"
    exact: bool = False
    others: "tuple[Experiment, ...]" = ()


_kept: weakref.WeakKeyDictionary[Repository, Meant] = weakref.WeakKeyDictionary()


def meant(context: Context) -> Meant:
    """Computed once for each repository."""
    if context.repository not in _kept:
        _kept[context.repository] = _meant(context)
    return _kept[context.repository]


def commands(context: Context) -> tuple[Command, ...]:
    """The commands that the manifest declares at its top, parsed; those that start a program of Python or a script first."""
    if context.declared is None:
        return ()
    manifest, positions = context.declared.manifest, context.declared.positions
    texts = (
        ("experiment", manifest.experiment.command if manifest.experiment else None),
        ("execution", manifest.execution.command if manifest.execution else None),
    )
    found: list[Command] = []
    for section, text in texts:
        if text:
            line, _ = positions.nearest((section, "command"))
            found += parse_commands(text, line)
    return tuple(sorted(found, key=lambda command: not command.target))


def _meant(context: Context) -> Meant:
    from audit.state.observed import experiments, started_by

    found = experiments(context.repository, context.path, context.signals)
    if context.declared is None:
        return Meant(None, others=found)
    for command in commands(context):
        started = started_by(
            context.repository, context.path, context.signals, command, context.declared.positions.name
        )
        if started is not None:
            return Meant(started, True, found)
    manifest = context.declared.manifest
    name = manifest.experiment.name if manifest.experiment else None
    named = next((each for each in found if each.name == name), None)
    if named is not None:
        return Meant(named, True, found)
    return Meant(found[0] if found else None, False, found)
