"""Where a command writes: documents to stdout or to a file, everything else to stderr."""

import contextlib
import os
import sys
from pathlib import Path

from audit.safety.sanitize import log_text, terminal


class OutputError(Exception):
    """A document could not be written. `message`: one sentence saying what happened; `advice`: what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


def say(text: str) -> None:
    """A message for people, on stderr, harmless to a terminal and to a CI runner. Never fails."""
    with contextlib.suppress(OSError, ValueError):
        lines = terminal(text, 20_000, multiline=True).splitlines() or [""]
        print(log_text("\n".join([f"ml-audit: {lines[0]}", *lines[1:]])), file=sys.stderr)  # noqa: T201


def write_stdout(document: str) -> None:
    """The document alone, in UTF-8 whatever the locale. A reader that went away (`| head`) is no error and changes no exit code."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(document.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        raise OutputError(f"The document could not be written: {error.strerror}.") from None


def silence_stdout() -> None:
    """Sends what is still buffered for a pipe without a reader to nowhere, so that ending the process does not complain."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def write_file(path: Path, document: str) -> None:
    """Writes beside `path` and renames: whatever happens, the old document or the new one is there. Raises OutputError.

    A link is followed and stays one; what is no regular file (a pipe, /dev/null) is written to as it is.
    """
    data = document.encode("utf-8", "backslashreplace")
    try:
        place = path.resolve()
        if place.exists() and not place.is_file():
            place.write_bytes(data)
            return
        draft = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            draft.write_bytes(data)
            draft.replace(place)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise OutputError(
            f"{path} could not be written: {reason}.", "Name another place with --output."
        ) from None
