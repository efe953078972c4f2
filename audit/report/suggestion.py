"""One-click suggestions: a safe edit as the body of a review comment on the lines that it replaces."""

from collections.abc import Callable

import msgspec

from audit.documents.finding import Edit, Finding
from audit.report import view
from audit.safety.sanitize import markdown_code, markdown_prose, printable, suggestion_block

Lines = Callable[[str, int, int], tuple[str, ...] | None]
"""Path, first and last line (both included) to those lines, where they can be commented on."""

_LONGEST = 600
_MOST_LINES = 50


class Suggestion(msgspec.Struct, frozen=True):
    """A comment on the lines `start_line` to `end_line` of `path`; `replacement` stands for the whole of them."""

    finding: Finding
    path: str
    start_line: int
    end_line: int
    replacement: str


def suggestion(finding: Finding, edit: Edit, prefix: str, lines: Lines) -> Suggestion | None:
    """The edit as a suggestion; None where its lines cannot be commented on, where it changes nothing, or where it would write what a
    reader could not see. `prefix`: the audited folder in the repository."""
    path = f"{prefix.strip('/')}/{edit.path}" if prefix.strip("/") else edit.path
    replacement = edit.replacement.removesuffix("\n")
    if printable(replacement, multiline=True) != replacement or replacement.count("\n") > _MOST_LINES:
        return None
    if edit.end_line >= edit.start_line:
        before = lines(path, edit.start_line, edit.end_line)
        if before is None or "\n".join(before) == replacement:
            return None
        return Suggestion(finding, path, edit.start_line, edit.end_line, replacement)
    # An insertion is shown on a line beside it, which stays.
    if (after := lines(path, edit.start_line, edit.start_line)) is not None:
        text = f"{replacement}\n{after[0]}"
        return _plain(Suggestion(finding, path, edit.start_line, edit.start_line, text))
    if edit.start_line > 1 and (at := lines(path, edit.end_line, edit.end_line)) is not None:
        return _plain(Suggestion(finding, path, edit.end_line, edit.end_line, f"{at[0]}\n{replacement}"))
    return None


def _plain(made: Suggestion) -> Suggestion | None:
    return made if printable(made.replacement, multiline=True) == made.replacement else None


def body(made: Suggestion, rules: view.Rules) -> str:
    """The comment's Markdown: what is the matter, and the block that GitHub can commit."""
    finding = made.finding
    said = f"{markdown_prose(finding.message, _LONGEST)} {markdown_code(finding.rule, 100)}"
    mend = view.mend_of(finding, rules)
    parts = [said, *([markdown_prose(mend, _LONGEST)] if mend else []), suggestion_block(made.replacement)]
    return "\n\n".join(parts)
