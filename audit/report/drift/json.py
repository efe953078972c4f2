"""A drift as JSON: the document exactly, keys in the order of the design, same bytes for the same drift."""

from audit.documents.drift import Drift
from audit.report.json import dump


def render(drift: Drift) -> str:
    """The document with a newline at its end."""
    return dump(drift)
