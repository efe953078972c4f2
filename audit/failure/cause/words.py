"""A program's own last words, where neither an exception nor a known signature names the cause: the first line that calls itself an error.

Its category is what its words are of; where they are of nothing known it decides nothing.
"""

import re

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene, StepView
from audit.failure.cause.signatures import warns
from audit.failure.cause.wording import points_elsewhere, speaks_of_data, speaks_of_surroundings
from audit.failure.model import Kind, Line
from audit.failure.structure.progress import metric_line

_ERROR = re.compile(
    r"^\W{0,4}(?:[\w.\[\]:/ -]{0,60}?[\s:\]|-])?(?:ERROR|FATAL|CRITICAL|Error|error|fatal|panic|Fatal)\b\W{1,4}(?P<said>\S.*)"
)
_BOILERPLATE = re.compile(
    r"exit(?:ed)? (?:with )?(?:code|status)|Process completed|returned non-zero|script returned|Job failed|failed with exit|see (?:above|"
    r"log)|command .* failed|"
    r"make: \*\*\*|Errors? while running|aborting|Traceback",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"(?:not found|no such file|does not exist|missing|not set|undefined|unknown|unrecogni[sz]ed|invalid|unsupported|must be|is required|not "
    r"mounted|permission denied|unauthori[sz]ed|"
    r"forbidden|credential|expected .{1,60} (?:but )?got)",
    re.IGNORECASE,
)


def find(view: StepView) -> list[Candidate]:
    """The first such line after the step's last metric: one before it was survived."""
    alive = max(
        (
            line.number
            for line in view.step.lines
            if metric_line(line.text) and not _ERROR.match(line.text[:600])
        ),
        default=0,
    )
    said = [
        (line, found["said"]) for line in view.step.lines[-2000:] if (found := _said(view, line)) is not None
    ]
    after = [(line, text) for line, text in said if line.number > alive]
    if not after:
        return []
    line, text = after[0]
    return [
        Candidate(
            line,
            "error_message",
            _category(text),
            Strength.GENERIC,
            Origin.SIGNATURE,
            view.step,
            Outcome.TERMINAL,
            why="The program's own message is all that is known of the cause.",
        )
    ]


_LAST_WORD = re.compile(
    r"\bwhat\(\):|(?:^|[\s:\]\w])(?:error|fatal|failed|failure|cannot|could not|assert(?:ion)?|panic|CHECK)\b[^\n]{0,200}\S",
    re.IGNORECASE,
)
_BACK = 40
"""Lines before a crash in which the program may say what it died of: a dump of frames stands between."""


def before_crash(scene: Scene, crash: Candidate) -> Candidate:
    """The program's last word before it crashed, where it said one; the crash itself where it did not."""
    for line in reversed(crash.step.lines):
        if line.source != crash.line.source or not 0 < crash.line.number - line.number <= _BACK:
            continue
        hits = [hit for hit in scene.hits.on(line) if not hit.discounted]
        if (
            line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST, Kind.TEST_ID, Kind.EXIT}
            or line.text.startswith("##[")
            or _BOILERPLATE.search(line.text)
            or any(hit.signature.role in ("diagnostic", "warning", "teardown", "cascade") for hit in hits)
            or points_elsewhere(line.text)
            or warns(line)
        ):
            continue
        if _LAST_WORD.search(line.text[:600]):
            return msgspec.structs.replace(
                crash,
                line=line,
                category=_category(line.text[:600]) or crash.category,
                sure=False,
                why="It is the program's last word before it crashed.",
            )
    return crash


def _said(view: StepView, line: Line) -> "re.Match[str] | None":
    if (
        line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST, Kind.TEST_ID, Kind.TRACEBACK}
        or line is view.step.end
        or line.text.startswith("##[")
    ):
        return None
    found = _ERROR.match(line.text[:600])
    told = found is not None and not _BOILERPLATE.search(line.text) and not points_elsewhere(line.text)
    return found if told else None


def _category(text: str) -> Category | None:
    if speaks_of_surroundings(text):
        return Category.INFRA_RUNTIME
    if speaks_of_data(text) or _MISSING.search(text):
        return Category.DATA_CONFIG
    return None
