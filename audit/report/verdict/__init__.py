"""Renderers of the verdict: one verdict in, one text out. Nothing here decides anything."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from audit.documents.verdict import Verdict

Renderer = Callable[[Verdict], str]

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
