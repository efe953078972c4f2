"""The command `ml-audit`: finds the subcommand, and turns whatever goes wrong into one line and an exit code.

Only click is imported here: `--help` must answer at once, and each subcommand brings what it needs itself.
"""

import importlib
import os
import sys
from collections.abc import Sequence

import click

from audit import __version__
from audit.engine.exit_codes import MEANINGS, ExitCode

PROGRAM = "ml-audit"
DEFAULT = "audit"
COMMANDS = {
    "audit": ("audit.cli.audit_command:audit_command", "Audit a repository (the default command)."),
    "failure": (
        "audit.cli.failure_command:failure_command",
        "Say why a run failed, from its logs and metrics.",
    ),
    "init": ("audit.cli.init_command:init_command", "Propose a manifest from the code."),
    "lock": (
        "audit.cli.lock_command:lock_command",
        "Resolve what the manifest declares to exact identities.",
    ),
    "diff": ("audit.cli.diff_command:diff_command", "Say what changed in the experiment between two states."),
    "rules": ("audit.cli.rules_command:rules_command", "List the rules, or explain one."),
    "profiles": (
        "audit.cli.profiles_command:profiles_command",
        "List the kinds of experiment, or explain one.",
    ),
    "schema": ("audit.cli.schema_command:schema_command", "Print the JSON schema of a document."),
    "doctor": ("audit.cli.doctor_command:doctor_command", "Say what ml-audit finds on this machine."),
    "completion": ("audit.cli.completion_command:completion_command", "Print a shell completion script."),
}
"""Subcommands by name: where each is defined, and its line in the help."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it runs. A first word that names none is a target of `audit`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, none of them imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts `audit` in front of what is no subcommand and no option of the group."""
        if args and args[0] not in COMMANDS and args[0] not in ("--help", "-h", "--version"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


def _table() -> str:
    return "\n".join(f"  {code.value:<4} {meaning}" for code, meaning in MEANINGS.items())


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"""\b
Examples:
  ml-audit .                              the repository in this folder
  ml-audit OWNER/REPO                     one on GitHub; GITHUB_TOKEN is used where set
  ml-audit . --baseline main              only what this branch brought can close the gate
  ml-audit . --format sarif --output audit.sarif
  ml-audit rules show environment.lock

\b
Exit codes:
{_table()}""",
)
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Can this machine-learning repository be reproduced? Findings with file, line, reason and fix.

    `ml-audit TARGET` is `ml-audit audit TARGET`. TARGET is a path, PATH@REF, owner/repo[@ref] or a GitHub
    address. Nothing of the audited repository is ever executed.
    """


def main() -> None:
    """The console script: runs the command line and ends the process."""
    _open_streams()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from audit.cli.output import silence_stdout

        silence_stdout()
    sys.exit(code)


def _open_streams() -> None:
    """Puts /dev/null where a caller closed a standard stream (`>&-`): the next file that is opened, the cache perhaps, would take its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and gives its exit code; an error becomes one line on stderr."""
    try:
        result = cli.main(list(arguments), prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ExitCode.USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"{PROGRAM}: interrupted", err=True)
        return ExitCode.INTERRUPTED
    except Exception as error:
        from audit.cli.trouble import explain

        return explain(error, verbose="--verbose" in arguments or "-v" in arguments)
    return result if isinstance(result, int) else ExitCode.OK
