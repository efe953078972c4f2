"""Uncaught exceptions outside of tests: which of a step's tracebacks ended something, and what each names as its root."""

import re

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.classify import Judged, judge
from audit.failure.cause.given import refused
from audit.failure.cause.scene import StepView
from audit.failure.structure.tracebacks import Raised, Traceback, root_of

_OUTSIDE = re.compile(r"site-packages|dist-packages|/lib/python3|<frozen|/bin/")


def find(view: StepView) -> list[Candidate]:
    """One candidate a traceback, outside of what pytest shows as its tests' own."""
    spans = [
        (session.first.number, session.last.number, session.first.source)
        for session in view.sessions
        if session.failed
        or session.summary is not None  # a run that broke off shows what broke it, and no test's own
    ]
    found: list[Candidate] = []
    for traceback in view.tracebacks:
        if any(
            first <= traceback.first <= last and source == traceback.source for first, last, source in spans
        ):
            continue
        found.append(from_traceback(view, traceback))
    return found


def from_traceback(view: StepView, traceback: Traceback, test: str = "") -> Candidate:
    """The candidate that a traceback's root makes: of a chain with a known signature in a later link, that link's knowledge is used too.

    `test`: the test that failed by it, where it is one's.
    """
    root = root_of(traceback.links)
    judged = _judge(view, root, traceback, test)
    line = root.line
    if judged.strength < Strength.NAMED:
        for link in traceback.links:
            other = _judge(view, link, traceback, test)
            if other.strength is Strength.NAMED and (
                judged.category is None
                or other.category is judged.category
                or judged.strength is Strength.CASCADE
            ):
                root, judged, line = link, other, link.line
                break
    if (
        judged.category is Category.CORRECTNESS
        and judged.strength is Strength.GENERIC
        and _breaks_on_import(root)
    ):
        judged = msgspec.structs.replace(
            judged,
            category=Category.DATA_CONFIG,
            signature="package_import_failed",
            why="A package failed while it was imported: its version does not go with the others installed.",
        )
    if (
        judged.category is Category.CORRECTNESS
        and judged.strength is Strength.GENERIC
        and not test
        and refused(root.kind, root.message, view.step.command)
    ):
        judged = msgspec.structs.replace(
            judged,
            category=Category.DATA_CONFIG,
            signature="refused_setting",
            why="What is refused stands on the command line of the step.",
        )
    last = traceback.links[-1].line
    outcome = Outcome.PROGRESSED if view.alive_after(last) else Outcome.TERMINAL
    if traceback.logged and outcome is Outcome.PROGRESSED:
        outcome = Outcome.RECOVERED
    if traceback.ignored:
        judged = msgspec.structs.replace(judged, strength=Strength.CASCADE)
    return Candidate(
        line,
        judged.signature,
        judged.category,
        judged.strength,
        Origin.EXCEPTION,
        view.step,
        outcome,
        judged.sure
        or (
            judged.strength is Strength.GENERIC
            and judged.category is Category.CORRECTNESS
            and bool(_inside(root))
        ),
        judged.hit,
        judged.comparison,
        why=judged.why,
        at=line.time,
        kind=root.kind,
    )


def _judge(view: StepView, link: Raised, traceback: Traceback, test: str) -> Judged:
    hits = [hit for hit in view.hits_on(link.line) if not hit.discounted]
    frames = [frame for item in traceback.links for frame in item.frames] if not link.frames else link.frames
    inside = [frame.path for frame in frames if not _OUTSIDE.search(frame.path)]
    return judge(
        link.kind,
        link.message,
        hits,
        context=test or view.step.command,
        place=inside[-1] if inside else "",
        source=view.statement_before(link.line),
    )


def _breaks_on_import(link: Raised) -> bool:
    """Whether the repository only imported, and the package so imported raised."""
    own = [frame for frame in link.frames if not _OUTSIDE.search(frame.path)]
    return bool(own) and not _inside(link) and own[-1].statement.startswith(("import ", "from "))


def _inside(link: Raised) -> bool:
    """Whether the innermost frame is the repository's own code."""
    return bool(link.frames) and not _OUTSIDE.search(link.frames[-1].path)
