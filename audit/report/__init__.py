"""Renderers: one report in, one text out. Nothing here decides anything: the gate was computed before."""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from audit.documents.report import Report
from audit.documents.rule import RuleText


class Renderer(Protocol):
    """Turns a report into a text with a newline at its end; never raises on a report's content.

    `rules` holds the catalogue's words by rule id; a rule that is missing there is shown by its id alone.
    """

    def __call__(self, report: Report, *, rules: Mapping[str, RuleText] | None = None) -> str: ...


# Modules, not functions: each is imported only when its format is asked for.
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "text": "audit.report.text",
        "json": "audit.report.json",
        "markdown": "audit.report.markdown",
        "sarif": "audit.report.sarif",
        "html": "audit.report.html",
        "github": "audit.report.workflow",
    }
)


def renderer(name: str) -> Renderer:
    """The renderer of a format; KeyError where `FORMATS` has no such name."""
    found: Renderer = importlib.import_module(FORMATS[name]).render
    return found
