"""The verdict as JSON: the document exactly, keys in the order of the design, same bytes for the same verdict."""

from audit.documents.verdict import Verdict
from audit.report.json import dump


def render(verdict: Verdict) -> str:
    """The document with a newline at its end."""
    return dump(verdict)
