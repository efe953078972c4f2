"""`ml-audit audit TARGET`."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.common import verbosity
from audit.engine.exit_codes import ExitCode

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.assess.gate import Gate
    from audit.documents.report import Report
    from audit.engine.options import Audited
    from audit.source.errors import SourceError

FORMATS = ("text", "json", "markdown", "sarif", "html", "github")


@click.command(
    "audit",
    epilog="""\b
Examples:
  ml-audit audit .                            text on a terminal, plain in a pipe
  ml-audit audit .@v1.2                       a tag, without touching the work tree
  ml-audit audit . --json                     the whole report as JSON
  ml-audit audit . --baseline main            only new findings can close the gate
  ml-audit audit . --fail-on never --format html --output report.html
""",
)
@click.argument("target", default=".")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="How the report is written.  [default: text]"
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to this file instead of stdout.",
)
@click.option(
    "--level",
    type=click.Choice(("auto", "0", "1", "2")),
    help="Which rules run: 0 works on any repository, 1 asks what the manifest ml-audit.yaml says, 2 what the lock holds. It lowers what the "
    "repository is ready for, which auto takes.  [default: auto]",
)
@click.option(
    "--profiles", default="", metavar="A,B", help="Kinds of experiment that the repository is taken to hold."
)
@click.option(
    "--fail-on",
    type=click.Choice(("critical", "warning", "info", "never")),
    help="The least severity that closes the gate.  [default: critical]",
)
@click.option(
    "--baseline",
    metavar="REF|FILE",
    help="A ref, or an earlier JSON report: only what is new since then closes the gate.",
)
@click.option("--show-passed", is_flag=True, help="List passed and inapplicable rules too (text).")
@click.option(
    "--jobs", type=click.IntRange(1, 64), help="Processes that read files.  [default: one per core]"
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs found.")
@verbosity
def audit_command(
    target: str,
    form: str | None,
    as_json: bool,
    output: Path | None,
    level: str | None,
    profiles: str,
    fail_on: str | None,
    baseline: str | None,
    show_passed: bool,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Audit TARGET: a path (default: this folder), PATH@REF, owner/repo[@ref] or a GitHub address.

    Nothing of the audited repository is executed.
    """
    form = _chosen_format(form, as_json)
    if output is not None and not output.parent.is_dir():
        raise click.BadParameter(f"There is no folder {output.parent}.", param_hint="--output")
    from audit.assess.gate import FailOn, Scope, gate
    from audit.cli.progress import progress
    from audit.engine.audit import audit
    from audit.engine.options import Effects, Options
    from audit.source.errors import SourceError

    names = tuple(dict.fromkeys(name.strip() for name in profiles.split(",") if name.strip()))
    options = Options(target, level, names, baseline, jobs=jobs, use_cache=not no_cache)
    started = time.perf_counter()
    try:
        with progress(quiet=quiet) as shown:
            audited = audit(options, Effects(time.time, os.environ, shown.step, shown.files))
    except SourceError as error:
        raise _perhaps_a_command(error, target) from None
    # Decided before anything is written: no format and no failing write changes it.
    threshold = FailOn(fail_on) if fail_on else audited.fail_on or FailOn.CRITICAL
    decided = gate(audited.report.findings, threshold, Scope.NEW if baseline else Scope.ALL)
    _publish(audited, form, output, show_passed)
    if not quiet:
        _closing(audited.report, decided, threshold.value, output)
    if verbose:
        from audit.cli.output import say

        say(f"took {time.perf_counter() - started:.2f} s")
    return ExitCode(decided.exit_code)


def _chosen_format(form: str | None, as_json: bool) -> str:
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} ask for different things.")
    return "json" if as_json else form or "text"


def _perhaps_a_command(error: "SourceError", target: str) -> "SourceError":
    """The error, with the command that was perhaps meant: a misspelt one is taken for a target."""
    from difflib import get_close_matches

    from audit.cli.main import COMMANDS

    near = get_close_matches(target, COMMANDS, 1, 0.75)
    return (
        type(error)(error.message, f"Perhaps the command {near[0]} is meant. {error.advice}")
        if near
        else error
    )


def _publish(audited: "Audited", form: str, output: Path | None, show_passed: bool) -> None:
    from audit.cli.output import write_file, write_stdout

    if form == "text":
        from audit.report.text import Surface, render

        surface = Surface() if output else Surface.of(sys.stdout, os.environ, _columns())
        document = render(audited.report, rules=audited.rules, surface=surface, show_passed=show_passed)
    else:
        from audit.report import renderer

        document = renderer(form)(audited.report, rules=audited.rules)
    if output is None:
        write_stdout(document)
    else:
        write_file(output, document)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80


def _closing(report: "Report", decided: "Gate", threshold: str, output: Path | None) -> None:
    from audit.cli.output import say
    from audit.report.view import verdict

    if output is not None:
        say(f"{verdict(report)}; written to {output}")
    if not decided.passed:
        count = len(decided.blocking)
        new = "new " if report.summary.new is not None else ""
        say(f"the gate is closed: {count} {new}finding{'s' if count != 1 else ''} at or above {threshold}")
