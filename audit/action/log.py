"""The step's log: lines for people, and the workflow commands that make warnings and errors of some of them."""

from collections.abc import Callable, Mapping

from audit.safety.redact import redact
from audit.safety.sanitize import command, log_text, terminal

_LONGEST = 4000
"""The runner cuts a command's message at 4,096 characters."""


class Log:
    """Everything that is said passes here: credentials are blackened, and nothing that is quoted can become a command.

    `secrets`: values that must not be shown whatever they look like. `debugging`: whether the runner shows debug lines (RUNNER_DEBUG).
    """

    def __init__(
        self, say: Callable[[str], None], secrets: tuple[str, ...] = (), *, debugging: bool = False
    ) -> None:
        self._say = say
        self._secrets = tuple(secret for secret in secrets if secret)
        self._debugging = debugging

    def info(self, text: str) -> None:
        """A line for whoever reads the log."""
        self._say(log_text(terminal(self._clean(text), _LONGEST, multiline=True)))

    def debug(self, text: str) -> None:
        """A line that only a run with debug logging shows."""
        if self._debugging:
            self._command("debug", text)

    def notice(self, text: str) -> None:
        """A notice on the run's page."""
        self._command("notice", text, {"title": "ml-audit"})

    def warning(self, text: str) -> None:
        """A warning on the run's page."""
        self._command("warning", text, {"title": "ml-audit"})

    def error(self, text: str) -> None:
        """An error on the run's page; the exit code decides about the job, not this."""
        self._command("error", text, {"title": "ml-audit"})

    def _command(self, name: str, text: str, properties: Mapping[str, str] | None = None) -> None:
        self._say(command(name, self._clean(text), properties or {}, _LONGEST))

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return redact(text)
