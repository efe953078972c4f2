"""Renderers of the verdict: one verdict in, one text out. Nothing here decides anything."""

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from audit.documents.verdict import Verdict
from audit.failure.plots import Plot


class Renderer(Protocol):
    """Turns a verdict into a text with a newline at its end; `plots` are shown where the format can. Never raises on its content."""

    def __call__(self, verdict: Verdict, plots: Sequence[Plot] = ()) -> str: ...


# Modules, not functions: each is imported only when its format is asked for.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text": "audit.report.verdict.text",
        "json": "audit.report.verdict.json",
        "markdown": "audit.report.verdict.markdown",
        "sarif": "audit.report.verdict.sarif",
        "html": "audit.report.verdict.html",
    }
)


def renderer(name: str) -> Renderer:
    """The renderer of a format; KeyError where `FORMATS` has no such name."""
    found: Renderer = importlib.import_module(FORMATS[name]).render
    return found
