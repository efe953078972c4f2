"""A gate that held a stand-in against its limit: the value it looked for was not there under that name, and a zero took its place."""

import math
import re
from collections.abc import Iterator

from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.cause.scene import Scene
from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.comparison import Subject

_LINES = 40
"""Lines before a failed check in which it tells what it read."""
_MISSING = re.compile(
    r"\bKeyError\b|\bnot (?:found|present|available|in)\b|\bmissing\b|\bno (?:such )?(?:key|metric|field|column|result|value|entry)\b|"
    r"\bunknown (?:key|metric)\b|"
    r"\bno (?:match|matching)\b|\bcould not (?:find|parse|read)\b",
    re.IGNORECASE,
)
_STAND_IN = re.compile(
    r"\b(?:using|use|default(?:ing|s|ed)?(?: (?:to|of|value))?|assum(?:e|es|ed|ing)|fall(?:s|ing)? back to|treat(?:ed|ing)? (?:it )?as|set(?:ting)?(?: it)? to|"
    r"return(?:s|ing)?|"
    r"count(?:ed|ing)? as)\b[ =:]{0,3}(?P<n>-?\d{1,3}(?:\.0*)?|nan|inf)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z][a-z\d]*", re.IGNORECASE)


def told(candidate: Candidate, scene: Scene) -> tuple[Line, str] | None:
    """The line that tells of the stand-in, and a sentence; None where the value that was compared is no stand-in."""
    found = candidate.comparison
    if candidate.origin is not Origin.GATE or found is None or found.actual is None:
        return None
    for line in reversed(_before(candidate.line, scene)):
        stand_in = _STAND_IN.search(line.text[:600])
        if stand_in is not None and _MISSING.search(line.text[:600]) and _is(stand_in["n"], found.actual):
            return (
                line,
                "The value was not found under the name that the gate asks for; what it compared is a stand-in.",
            )
    if found.actual == 0 and found.limit and found.subject is Subject.QUALITY:
        for name, value, place in _recorded(scene):
            if value >= found.limit > 0 and _named(name, candidate.line.text):
                return (
                    candidate.line,
                    f'The gate read 0, and {place} holds {value:g} for "{name}": it asks for another name.',
                )
    return None


def _before(line: Line, scene: Scene) -> list[Line]:
    return [
        other for other in scene.reading.of(line.source) if line.number - _LINES <= other.number < line.number
    ]


def _is(text: str, value: float) -> bool:
    if text.lower() in ("nan", "inf"):
        return not math.isfinite(value)
    return float(integer(text.partition(".")[0])) == value


def _recorded(scene: Scene) -> Iterator[tuple[str, float, str]]:
    """What the run's files hold as results: name, value, file."""
    for run in scene.telemetry.runs:
        for name, value in run.summary.items():
            if math.isfinite(value) and "stderr" not in name:
                yield name, value, run.source


def _named(name: str, text: str) -> bool:
    """Whether a line speaks of a recorded metric: all words of the line's metric are in its name."""
    words = {word.lower() for word in _WORD.findall(name.replace("_", " "))}
    said = {word.lower() for word in _WORD.findall(text.replace("_", " "))}
    return len(words & said) >= 2
