"""The verdict as JSON: the document exactly, keys in the order of the design, same bytes for the same verdict."""

from collections.abc import Sequence

from audit.documents.verdict import Verdict
from audit.failure.plots import Plot
from audit.report.json import dump


def render(verdict: Verdict, plots: Sequence[Plot] = ()) -> str:
    """The document with a newline at its end."""
    return dump(verdict)
