"""`ml-audit diff A B`."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.common import verbosity
from audit.engine.exit_codes import ExitCode

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.documents.drift import Drift

FORMATS = ("text", "json", "markdown", "html")
SEVERITIES = ("high", "medium_high", "medium", "low")


@click.command(
    "diff",
    epilog="""\b
Examples:
  ml-audit diff .@main .                      what this work tree changes
  ml-audit diff .@v1.0 .@v1.1 --min-severity medium
  ml-audit diff OWNER/REPO@v1 OWNER/REPO@v2 --format json
  ml-audit diff .@main . --fail-on high       exit 1 where results are not comparable
""",
)
@click.argument("a")
@click.argument("b")
@click.option(
    "--min-severity",
    type=click.Choice((*SEVERITIES, "none")),
    default="low",
    help="The least severity that is shown.  [default: low]",
)
@click.option(
    "--fail-on",
    type=click.Choice((*SEVERITIES, "never")),
    default="never",
    help="The least severity that closes the gate.  [default: never]",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="How the drift is written.  [default: text]"
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the drift to this file instead of stdout.",
)
@click.option(
    "--profiles", default="", metavar="A,B", help="Kinds of experiment, which raise severities of their own."
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), help="Processes that read files.  [default: one per core]"
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs found.")
@verbosity
def diff_command(
    a: str,
    b: str,
    min_severity: str,
    fail_on: str,
    form: str | None,
    as_json: bool,
    output: Path | None,
    profiles: str,
    jobs: int | None,
    no_cache: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Say what changed in the experiment from A to B, and how much each change matters.

    A and B are a path, PATH@REF, owner/repo@ref or a GitHub address, a manifest or a lock file. Nothing of either is executed.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} ask for different things.")
    if output is not None and not output.parent.is_dir():
        raise click.BadParameter(f"There is no folder {output.parent}.", param_hint="--output")
    from audit.assess.drift_gate import closes
    from audit.cli.progress import progress
    from audit.documents.drift import DriftSeverity
    from audit.engine.diff import DiffOptions, diff
    from audit.engine.options import Effects
    from audit.report.drift.view import at_least, headline

    names = tuple(dict.fromkeys(name.strip() for name in profiles.split(",") if name.strip()))
    started = time.perf_counter()
    with progress(quiet=quiet) as shown:
        drift = diff(
            DiffOptions(a, b, names, jobs=jobs, use_cache=not no_cache),
            Effects(time.time, os.environ, shown.step, shown.files),
        )
    # Decided before anything is written, and by all changes: what is not shown closes the gate too.
    closed = closes(drift, fail_on)
    _publish(
        at_least(drift, DriftSeverity[min_severity.upper()]), "json" if as_json else form or "text", output
    )
    if not quiet:
        _closing(headline(drift), closed, fail_on, output)
    if verbose:
        from audit.cli.output import say

        say(f"took {time.perf_counter() - started:.2f} s")
    return ExitCode.GATE if closed else ExitCode.OK


def _publish(drift: "Drift", form: str, output: Path | None) -> None:
    from audit.cli.output import write_file, write_stdout

    if form == "text":
        from audit.report.drift.text import render
        from audit.report.text import Surface

        document = render(drift, color=output is None and Surface.of(sys.stdout, os.environ, 80).color)
    else:
        from audit.report.drift import renderer

        document = renderer(form)(drift)
    if output is None:
        write_stdout(document)
    else:
        write_file(output, document)


def _closing(headline: str, closed: bool, fail_on: str, output: Path | None) -> None:
    from audit.cli.output import say

    if output is not None:
        say(f"{headline}; written to {output}")
    if closed:
        say(f"the gate is closed: the experiment changed at or above {fail_on}")
