"""What stands in place of an answer where the audit could not be done."""

import msgspec

import audit
from audit.report.templates import render_markdown
from audit.safety.sanitize import cut

_TEMPLATE = "trouble.md.j2"
_LONGEST = 2_000


class AuditTrouble(msgspec.Struct, frozen=True):
    """`message`: one sentence saying what happened, or a line for each mistake in a document; `advice`: one saying what to do. `fails`: whether the job fails
    for it."""

    message: str
    advice: str = ""
    fails: bool = True

    @property
    def headline(self) -> str:
        """One line of plain text."""
        return "Not done: the audit failed"


def render(trouble: AuditTrouble, *, commit: str = "", run_url: str = "") -> str:
    """The Markdown of a comment, check or summary; a newline at its end."""
    return render_markdown(
        _TEMPLATE,
        {
            "headline": trouble.headline,
            "messages": cut(trouble.message, _LONGEST).splitlines(),
            "advice": cut(trouble.advice, _LONGEST),
            "commit": commit[:12],
            "run_url": run_url,
            "version": audit.__version__,
        },
    )
