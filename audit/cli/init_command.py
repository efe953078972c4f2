"""`ml-audit init`."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.common import verbosity
from audit.engine.exit_codes import ExitCode

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.documents.state import Leaf, Value
    from audit.engine.init import Proposal
    from audit.state.observed.model import Experiment

MANIFEST = "ml-audit.yaml"


@click.command(
    "init",
    epilog="""\b
Examples:
  ml-audit init                            propose ml-audit.yaml for this folder's main experiment
  ml-audit init --experiment finetune-7b   for another one
  ml-audit init OWNER/REPO --output -      print it
  ml-audit init --from reprollm.yaml       convert another tool's manifest
""",
)
@click.argument("target", default=".")
@click.option(
    "--interactive", is_flag=True, help="Ask which experiment is meant, and for what the code leaves open."
)
@click.option(
    "--profiles", default="", metavar="A,B", help="Kinds of experiment.  [default: what the code shows]"
)
@click.option(
    "--experiment", default="", metavar="NAME", help="Which of several experiments.  [default: the main one]"
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Convert this manifest (reprollm.yaml) instead of reading code.",
)
@click.option("--force", is_flag=True, help="Replace a manifest that is there.")
@click.option(
    "--output",
    metavar="FILE",
    help="Where it is written; - for stdout.  [default: ml-audit.yaml in TARGET]",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs found.")
@verbosity
def init_command(
    target: str,
    interactive: bool,
    profiles: str,
    experiment: str,
    source: Path | None,
    force: bool,
    output: str | None,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Propose a manifest for TARGET: a path (default: this folder), PATH@REF, owner/repo[@ref] or a GitHub address.

    Values come from the code, each with its place; what the code does not decide is left as a TODO with what it may be. Nothing of the
    repository is executed, and a manifest that is there is not touched without --force.
    """
    place = _place(target, output, source)
    if place is not None and place.exists() and not force:
        raise click.UsageError(f"{place} is there already. --force replaces it, --output names another file.")
    if source is not None:
        from audit.engine.init import converted

        _write(converted(source), place)
        return ExitCode.OK
    from audit.cli.progress import progress
    from audit.engine.init import InitOptions, propose
    from audit.engine.options import Effects

    names = tuple(dict.fromkeys(name.strip() for name in profiles.split(",") if name.strip()))
    options = InitOptions(target, experiment, names, use_cache=not no_cache)
    started = time.perf_counter()
    with progress(quiet=quiet or interactive) as shown:
        effects = Effects(time.time, os.environ, shown.step, shown.files)
        proposal = propose(
            options, effects, _asked if interactive else None, _answered if interactive else None
        )
    _write(proposal.document, place)
    if not quiet:
        _closing(proposal, place)
    if verbose:
        from audit.cli.output import say

        say(f"took {time.perf_counter() - started:.2f} s")
    return ExitCode.OK


def _place(target: str, output: str | None, source: Path | None) -> Path | None:
    """The file to write, None for stdout."""
    if output is not None:
        return None if output == "-" else Path(output)
    if source is not None:
        return source.with_name(MANIFEST)
    folder = Path(target)
    return folder / MANIFEST if folder.is_dir() else None


def _write(document: str, place: Path | None) -> None:
    from audit.cli.output import write_file, write_stdout

    if place is None:
        write_stdout(document)
    else:
        write_file(place, document)


def _closing(proposal: "Proposal", place: Path | None) -> None:
    from audit.cli.output import say

    if proposal.chosen:
        said = f"experiment {proposal.chosen}: {proposal.filled} settings from the code, {proposal.open} left open"
    else:
        said = "the code shows no experiment"
    say(f"{said}; written to {place}" if place else said)
    if proposal.others:
        names = ", ".join(name for name, _ in proposal.others[:8])
        more = f" and {len(proposal.others) - 8} more" if len(proposal.others) > 8 else ""
        say(f"--experiment NAME describes another one: {names}{more}")


def _asked(found: "Sequence[Experiment]") -> str:
    from audit.safety.sanitize import terminal

    for number, each in enumerate(found, 1):
        click.echo(
            terminal(f"{number:3}  {each.name}  {each.place.path}:{each.place.line or 1}", 200), err=True
        )
    number = click.prompt("Which experiment", type=click.IntRange(1, len(found)), default=1, err=True)
    return found[number - 1].name


def _answered(path: str, candidates: "Sequence[Leaf]") -> "Value":
    from audit.safety.sanitize import terminal
    from audit.state.observed.texts import typed

    values = [str(each.value) for each in candidates]
    if values:
        click.echo(terminal(f"{path}: {', '.join(values[:8])}", 500), err=True)
    text = click.prompt(path, default="", show_default=False, err=True)
    return typed(text) if text else None
