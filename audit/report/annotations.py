"""The annotations of a check run, within GitHub's limits.

Source of the limits: GitHub's REST description of check runs (50 a request, `message` 64 KB, `title` 255 characters, lines from 1); a path
that is none loses the whole request, and characters beyond the basic plane were refused in practice.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from audit.assess.gate import Scope
from audit.documents.finding import Finding, Severity
from audit.documents.place import Place
from audit.report import view
from audit.report.story import Story, chapters
from audit.safety.sanitize import basic_plane, cut, printable

LEVELS = {Severity.CRITICAL: "failure", Severity.WARNING: "warning", Severity.INFO: "notice"}
_LONGEST_MESSAGE = 8_000
_LONGEST_TITLE = 200
_MOST_PLACES = 5

Annotation = dict[str, Any]


class Annotations(msgspec.Struct, frozen=True):
    """What is annotated, worst first; `dropped`: how many findings more there are than were wanted; `placeless`: how many stand in no line."""

    shown: tuple[Annotation, ...]
    dropped: int
    placeless: int


def told(story: Story) -> list[Finding]:
    """The findings that are marked in the files: what blocks, then what is new; where nothing was compared, or everything counts, all."""
    parts = chapters(story)
    if story.report.summary.new is not None and story.gate.scope is Scope.NEW:
        return [*parts.blocking, *parts.new]
    return view.failures(story.report)


def annotations(story: Story, most: int) -> Annotations:
    """At most `most` annotations, ordered by severity."""
    findings = sorted(told(story), key=lambda finding: -finding.severity.rank)
    made = [(finding, _annotation(finding, story)) for finding in findings]
    placed = [annotation for _, annotation in made if annotation is not None]
    return Annotations(tuple(placed[:most]), max(len(placed) - most, 0), len(made) - len(placed))


def _annotation(finding: Finding, story: Story) -> Annotation | None:
    place = next((place for place in finding.evidence if _is_sendable(place)), None)
    if place is None:
        return None
    line = place.line if place.line is not None and place.line >= 1 else 1
    prefix = story.links.prefix.strip("/") if story.links else ""
    title = ": ".join(filter(None, (finding.rule, view.title_of(finding, story.rules))))
    return {
        "path": f"{prefix}/{place.path}" if prefix else place.path,
        "start_line": line,
        "end_line": line,
        "annotation_level": LEVELS[finding.severity],
        "message": cut(
            basic_plane(printable(_message(finding, place, story), multiline=True)), _LONGEST_MESSAGE
        ),
        "title": cut(basic_plane(printable(title)), _LONGEST_TITLE),
    }


def _message(finding: Finding, place: Place, story: Story) -> str:
    lines = [finding.message.strip() or finding.rule.strip() or "A finding without words."]
    others: Sequence[Place] = [each for each in finding.evidence if each is not place]
    if others:
        more = len(others) - _MOST_PLACES
        said = ", ".join(view.where(each) for each in others[:_MOST_PLACES])
        lines.append(f"Also: {said}" + (f" and {more} more" if more > 0 else ""))
    if mend := view.mend_of(finding, story.rules):
        lines.append(f"Fix: {mend}")
    return "\n".join(lines)


def _is_sendable(place: Place) -> bool:
    """A path that JSON and GitHub take as it is: another one would name another file."""
    path = place.path
    return bool(path) and path == basic_plane(printable(path)) and not path.startswith("/")
