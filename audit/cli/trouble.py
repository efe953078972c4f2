"""What is said, and which exit code given, when a command cannot do its work."""

import traceback

import click

from audit.cli.output import OutputError, say
from audit.documents.errors import DocumentError
from audit.engine.exit_codes import ExitCode
from audit.net.errors import NetworkError
from audit.source.errors import SourceError


def explain(error: Exception, *, verbose: bool) -> ExitCode:
    """Writes what happened and what to do to stderr. A fault of this program gets one line too, and with `verbose` its traceback."""
    match error:
        case click.UsageError():
            say(" ".join(error.format_message().split()))  # click lists choices in lines of their own
            if error.ctx is not None:
                say(f"{error.ctx.command_path} --help says how it is used.")
            return ExitCode.USAGE
        case click.ClickException():
            say(error.format_message())
            return ExitCode.USAGE
        case DocumentError():
            _with_advice(error.message, error.advice)
            return ExitCode.USAGE
        case SourceError() | NetworkError() | OutputError():
            _with_advice(error.message, error.advice)
            return ExitCode.UNABLE
    if verbose:
        _say("".join(traceback.format_exception(error)))
    first = (str(error).splitlines() or [""])[0][:300]
    _say(f"internal error: {type(error).__name__}: {first}")
    if not verbose:
        say("This is a fault of ml-audit. Run it again with --verbose and report what it prints.")
    return ExitCode.INTERNAL


def _with_advice(message: str, advice: str) -> None:
    _say(message)
    if advice:
        _say(advice)


def _say(text: str) -> None:
    """A message that can quote a line of the repository, or an address, without the credentials in it."""
    from audit.safety.redact import redact  # only a failure pays for its import

    say(redact(text))
