"""A process that its test's time limit ended with a dump of all stacks: nothing is reported after it, the stacks are all that is left.

Label policy 6: stacks that wait for each other show a hang; a stack at work shows none.
"""

import re
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause import overdue
from audit.failure.cause.candidate import Candidate, Origin, Strength
from audit.failure.cause.scene import StepView
from audit.failure.model import Line

_BEGIN = re.compile(r"(?P<before>.{0,400}?)\+{8,} Timeout \+{8,}|Timeout \(\d[\d:.]{1,20}\)!$")
_STACK = re.compile(
    r"~{4,} Stack of (?P<name>.{1,120}?) ~{4,}|(?:Current thread|Thread) 0x[0-9a-f]{4,16}.{0,60}\(most recent call first\)"
)
_FRAME = re.compile(r"\s*File \"(?P<path>[^\"]{1,400})\", line \d{1,7}(?: in |, in )(?P<function>\S{1,120})")
_OUTSIDE = re.compile(r"site-packages|dist-packages|/lib/python3|<frozen")


class _Stack(msgspec.Struct):
    """One thread's frames in the order printed: path, statement ("" where not printed)."""

    newest_first: bool
    frames: list[tuple[str, str]]

    def innermost(self) -> list[tuple[str, str]]:
        """The frames from the inside."""
        return self.frames if self.newest_first else self.frames[::-1]


def find(view: StepView) -> list[Candidate]:
    """The line that begins the dump, of a step whose tests ended with it."""
    lines = view.step.lines
    begin = next((index for index, line in enumerate(lines) if _BEGIN.match(line.text[:600])), None)
    if begin is None:
        return []
    stacks = _stacks(lines[begin : begin + 2000])
    if not stacks:
        return []
    line = lines[begin]
    test = (match["before"] or "").strip() if (match := _BEGIN.match(line.text[:600])) else ""
    if any(overdue.asks_the_network(path) for stack in stacks for path, _ in stack.innermost()[:6]):
        return [
            _candidate(
                view, line, test, Category.INFRA_RUNTIME, "The test waited for an answer over the network."
            )
        ]
    waiting = [
        _own(stack) for stack in stacks if any(overdue.waits(*frame) for frame in stack.innermost()[:4])
    ]
    own = [statement for statement in waiting if statement]
    if not own or (not _waits(stacks[-1]) and not _waits(stacks[0])):
        return []
    told = " and ".join(f"`{statement[:80]}`" for statement in dict.fromkeys(own))
    return [
        _candidate(
            view,
            line,
            test,
            Category.CORRECTNESS,
            f"Threads wait in {told}, and nobody ends the wait: a hang.",
        )
    ]


def _waits(stack: _Stack) -> bool:
    return any(overdue.waits(*frame) for frame in stack.innermost()[:4])


def _own(stack: _Stack) -> str:
    """The innermost statement of the repository's own code."""
    return next((statement for path, statement in stack.innermost() if not _OUTSIDE.search(path)), "")


def _candidate(view: StepView, line: Line, test: str, category: Category, why: str) -> Candidate:
    return Candidate(
        line,
        "test_hangs",
        category,
        Strength.GENERIC,
        Origin.TEST,
        view.step,
        failing=(test,) if test else (),
        why=why,
        at=line.time,
    )


def _stacks(lines: Sequence[Line]) -> list[_Stack]:
    found: list[_Stack] = []
    for index, line in enumerate(lines):
        if stack := _STACK.match(line.text):
            found.append(_Stack(stack["name"] is None, []))
        elif found and (frame := _FRAME.match(line.text)):
            below = lines[index + 1].text.strip() if index + 1 < len(lines) else ""
            found[-1].frames.append(
                (frame["path"], "" if below.startswith(("File ", "~~~", "+++")) else below)
            )
    return [stack for stack in found if stack.frames]
