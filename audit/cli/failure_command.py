"""`ml-audit failure`."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from audit.cli.common import verbosity
from audit.engine.exit_codes import ExitCode

if TYPE_CHECKING:  # none of this is imported for --help
    from audit.engine.failure import Analysed

FORMATS = ("text", "json", "markdown", "sarif", "html")
CATEGORIES = (
    "ml_regression",
    "correctness",
    "data_config",
    "infra_runtime",
    "metric_policy",
    "unsupported_claim",
    "inconclusive",
)


@click.command(
    "failure",
    epilog="""\b
Examples:
  ml-audit failure --log job.log
  ml-audit failure --log logs.zip --repo . --metrics runs/ --claims pull_request.md
  gzip -dc job.log.gz | ml-audit failure --log - --format json
  ml-audit failure --run https://github.com/owner/repo/actions/runs/123456789
  ml-audit failure --log job.log --fail-on-verdict ml_regression,correctness
""",
)
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="PATH",
    help="A log: file, folder, .gz, .xz, .zst, run-logs .zip, or - for standard input. May be given several times.",
)
@click.option(
    "--run",
    "address",
    metavar="URL",
    help="A workflow run whose logs are fetched: https://github.com/OWNER/REPO/actions/runs/ID[/attempts/N]. "
    "GITHUB_TOKEN or GH_TOKEN is used.",
)
@click.option(
    "--repo",
    metavar="TARGET",
    help="The checkout: a path, PATH@REF, owner/repo[@ref] or a GitHub address. It is read, never executed.",
)
@click.option(
    "--metrics",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Files or folders of metrics and test reports. May be given several times.",
)
@click.option(
    "--golden",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Golden values to hold the metrics against. May be given several times.",
)
@click.option(
    "--claims",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A text (of a pull request, a report) whose claims are checked against the metrics.",
)
@click.option(
    "--schema",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A JSON schema or an example document: exactly that document is written instead, or the command fails.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="How the verdict is written.  [default: text]"
)
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the verdict to this file instead of stdout.",
)
@click.option(
    "--fail-on-verdict",
    default="never",
    metavar="A,B|never",
    help="Categories that end the command with exit code 1.  [default: never]",
)
@verbosity
def failure_command(
    logs: tuple[str, ...],
    address: str | None,
    repo: str | None,
    metrics: tuple[Path, ...],
    golden: tuple[Path, ...],
    claims: Path | None,
    schema: Path | None,
    form: str | None,
    as_json: bool,
    output: Path | None,
    fail_on_verdict: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """Say why a run failed: the cause's line, what kind of failure it is, how sure that is, and what to do.

    Reads logs, metrics, the checkout and claims; runs nothing and believes no prose over raw numbers.
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} ask for different things.")
    if schema is not None and form not in (None, "json"):
        raise click.UsageError(f"--schema says what is written, and --format {form} something else.")
    if output is not None and not output.parent.is_dir():
        raise click.BadParameter(f"There is no folder {output.parent}.", param_hint="--output")
    if not logs and address is None:
        raise click.UsageError("Give a log with --log, or a workflow run with --run.")
    if "" in logs:
        raise click.BadParameter("The path is empty.", param_hint="--log")
    closing = _categories(fail_on_verdict)
    _there("--metrics", metrics)
    _there("--golden", golden)
    from audit.cli.progress import progress
    from audit.engine.failure import FailureEffects, FailureOptions, analyse

    with progress(quiet=quiet) as shown, _fetched(address, shown.step) as fetched:
        options = FailureOptions((*logs, *fetched), repo, metrics, golden, claims)
        analysed = analyse(options, FailureEffects(os.environ, sys.stdin.buffer, shown.step))
    _publish(analysed, "json" if as_json else form or "text", schema, output)
    return ExitCode.GATE if analysed.verdict.category.value in closing else ExitCode.OK


def _there(option: str, paths: tuple[Path, ...]) -> None:
    """Raises InputError for a path that names nothing: what was meant to be compared would not be, and a verdict alone hardly shows it."""
    from audit.engine.failure import InputError

    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"{path} is not there.", f"Give {option} a file or a folder.")


@contextmanager
def _fetched(address: str | None, step: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    """The logs of a workflow run, in a folder that goes when they are read. Raises SourceError, NetworkError."""
    if address is None:
        yield ()
        return
    from audit.github.run_logs import described, fetch_logs, run_address
    from audit.net.github import GitHub
    from audit.source.target import server_for

    named = run_address(address)
    server = server_for(named.host, os.environ)
    with TemporaryDirectory(prefix="ml-audit-") as folder:
        step(f"Fetching the logs of run {named.run} of {named.repository}")
        with GitHub(server.api, server.token) as github:
            run = described(github, named.repository, named.run, named.attempt)
            logs = fetch_logs(github, named.repository, run, Path(folder))
        yield (str(logs),)


def _categories(text: str) -> frozenset[str]:
    """The categories that close the gate. Raises BadParameter for an unknown one."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["never"]:
        return frozenset()
    for name in names:
        if name not in CATEGORIES:
            raise click.BadParameter(
                f"{name} is no category of a failure; they are {', '.join(CATEGORIES)}.",
                param_hint="--fail-on-verdict",
            )
    return frozenset(names)


def _publish(analysed: "Analysed", form: str, schema: Path | None, output: Path | None) -> None:
    from audit.cli.output import write_file, write_stdout

    if schema is not None:
        from audit.engine.failure import filled

        document = filled(analysed.verdict, schema)
    else:
        from audit.report.verdict import renderer

        document = renderer(form)(analysed.verdict, analysed.plots)
    if output is None:
        write_stdout(document)
    else:
        write_file(output, document)
