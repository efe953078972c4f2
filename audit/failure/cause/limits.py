"""Time limits: who ended the work, and whether it was going on at its normal rate when it was ended."""

import re
import statistics
from collections.abc import Sequence
from itertools import pairwise

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Strength
from audit.failure.cause.scene import StepView
from audit.failure.model import Line
from audit.failure.structure.progress import alive

_LIMIT = re.compile(
    r"timeout: sending signal|has exceeded the maximum execution time|ran longer than the maximum time|"
    r"has timed out after \d+ minutes|DUE TO TIME LIMIT|execution took longer than|"
    r"timed out after \d|Timeout has been exceeded|exceeded (?:the |its )?(?:time|walltime|wall-clock) limit|Job exceeded time limit|Too long with no output|"
    r"(?:job|step|command|process) (?:was )?(?:killed|terminated|stopped|cancelled).{0,30}(?:time ?out|time limit)|PBS: job killed: walltime|"
    r"TERM_RUNLIMIT|(?-i:TIMED OUT)|Command took >",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r"Watchdog|WorkNCCL|Retry|retry|HTTP|Read timed out|connection|Connection|barrier|rendezvous|TCPStore|pytest-timeout|requests?\b|socket|rank",
    re.IGNORECASE,
)
_SILENCE = re.compile(
    r"no output|without (?:any )?output|output timeout|has been idle|inactivity", re.IGNORECASE
)
"""A limit on silence: whatever was printed before, at its end nothing was."""
_CODE = 124
_LAST = 20
"""Lines at the end of a step in which its end is told."""
_SILENT = 0.2
"""The share of the whole time without a line after which a run counts as hanging (label policy 6)."""


def find(view: StepView) -> list[Candidate]:
    """The line that says that a limit ended the step."""
    lines = view.step.lines
    ended = view.step.exit_code in (_CODE, 137, 143)
    for line in lines[-400:] if ended else lines[-_LAST:]:
        if _LIMIT.search(line.text) and not _NOT_THIS.search(line.text):
            return [_candidate(view, line)]
    if view.step.exit_code == _CODE and view.step.end is not None:
        return [_candidate(view, view.step.end)]
    return []


def _candidate(view: StepView, line: Line) -> Candidate:
    progressing = False if _SILENCE.search(line.text) else _progressing(view.step.lines, line)
    why = {
        True: "Work went on at its usual rate until the limit ended it: the limit does not fit the amount of work.",
        False: "Nothing was printed for a large part of the time before the limit: the program hung.",
        None: "Whether work went on until the limit cannot be seen.",
    }[progressing]
    return Candidate(
        line,
        "step_time_limit",
        Category.METRIC_POLICY if progressing else None,
        Strength.NAMED,
        Origin.LIMIT,
        view.step,
        sure=bool(progressing),
        failing=(view.step.label,),
        why=why,
        at=line.time,
    )


def _progressing(lines: Sequence[Line], end: Line) -> bool | None:
    """True: signs of life to the end at a steady rate; False: a long silence before it; None: not to be seen."""
    living = [line for line in lines if line.number < end.number and alive(line)]
    if len(living) < 5:
        return None
    times = [line.time for line in living if line.time is not None]
    if len(times) < 5 or end.time is None:
        return True if living[-1].number >= end.number - 30 else None
    whole = end.time - times[0]
    if whole <= 0:
        return True
    if (end.time - times[-1]) > max(_SILENT * whole, 5.0):
        return False
    gaps = [after - before for before, after in pairwise(times)]
    half = len(gaps) // 2
    early, late = statistics.fmean(gaps[:half] or [0]), statistics.fmean(gaps[half:] or [0])
    return None if early > 0 and late >= 2 * early and late > 1.0 else True
