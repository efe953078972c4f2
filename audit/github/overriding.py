"""A repository's own templates: read from the base branch, which no fork can write to, and drawn in a process that may be killed."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from audit.github.client import Client
from audit.github.destination import Destination
from audit.github.errors import ApiError, Kind
from audit.report import comment, summary
from audit.report.overrides import SECONDS, OverrideError, render_override
from audit.report.templates import render_markdown

FOLDER = ".ml-audit/templates"
_SECONDS = 30.0
"""For all drawings together: one that must be made shorter is drawn several times."""
NAMES = (comment.TEMPLATE, comment.CHECK_TEMPLATE, summary.TEMPLATE)
"""The templates that can be overridden."""


class Drawing:
    """Renders a template by its name: the repository's own where it has one that works, else ours. `failures`: why one does not."""

    def __init__(self, overrides: dict[str, str], now: Callable[[], float]) -> None:
        self._overrides = dict(overrides)
        self._now = now
        self._left = _SECONDS
        self.failures: dict[str, str] = {}

    def __call__(self, name: str, values: dict[str, Any]) -> str:
        source = self._overrides.get(name)
        if source is not None:
            started = self._now()
            try:
                return render_override(source, values, seconds=min(max(self._left, 0.1), SECONDS))
            except OverrideError as error:
                self.failures[name] = str(error)
                del self._overrides[name]
            finally:
                self._left -= self._now() - started
        return render_markdown(name, values)


def read_overrides(client: Client, destination: Destination) -> dict[str, str]:
    """The templates in the base branch's folder by their names. Raises ApiError."""
    if destination.base_ref is None:
        return {}
    folder = f"/repos/{destination.repository}/contents/{FOLDER}"
    try:
        listing = client.get(folder, ref=destination.base_ref)
    except ApiError as error:
        if error.kind is Kind.MISSING:
            return {}
        raise
    names = (
        {str(entry.get("name")) for entry in listing if isinstance(entry, dict)}
        if isinstance(listing, list)
        else set()
    )
    return {
        name: source
        for name in NAMES
        if name in names
        and (source := _text(client.get(f"{folder}/{name}", ref=destination.base_ref))) is not None
    }


def _text(answer: Any) -> str | None:
    """A file's content in the API's answer; nothing for what is no file, is not UTF-8 or is too large to be given."""
    if not isinstance(answer, dict) or answer.get("encoding") != "base64" or answer.get("type") != "file":
        return None
    try:
        return base64.b64decode(str(answer.get("content"))).decode()
    except (binascii.Error, ValueError):
        return None
