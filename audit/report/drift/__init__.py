"""Renderers of a drift: one drift in, one text out. Nothing here decides anything."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from audit.documents.drift import Drift


class Renderer(Protocol):
    """Turns a drift into a text with a newline at its end; never raises on its content."""

    def __call__(self, drift: Drift) -> str: ...


# Modules, not functions: each is imported only when its format is asked for.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text": "audit.report.drift.text",
        "json": "audit.report.drift.json",
        "markdown": "audit.report.drift.markdown",
        "html": "audit.report.drift.html",
    }
)


def renderer(name: str) -> Renderer:
    """The renderer of a format; KeyError where `FORMATS` has no such name."""
    found: Renderer = importlib.import_module(FORMATS[name]).render
    return found
