"""Failed tests of runners other than pytest, and runs that tested nothing."""

import re

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength, gate_did_not_run
from audit.failure.cause.classify import judge
from audit.failure.cause.exceptions import from_traceback
from audit.failure.cause.scene import StepView
from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.other_runners import failed_tests

_UNITTEST = re.compile(r"(?P<outcome>FAIL|ERROR): (?P<name>\S+)(?: \((?P<where>[\w.]+)\))?$")


def find(view: StepView) -> list[Candidate]:
    """unittest's failed tests, else that it ran none, else those of another runner."""
    return _unittest(view) or unittest_ran_nothing(view) or _other_runners(view)


def nothing(view: StepView, line: Line) -> Candidate:
    """A run that tested nothing, told by that line."""
    return gate_did_not_run(line, view.step, "Not one test ran, so nothing was checked.", sure=True)


def _other_runners(view: StepView) -> list[Candidate]:
    """The first failed test of another runner, by what it says of it. A bare outcome yields to an exception or a known cause in the step."""
    failed = failed_tests(view.step.lines)
    first = next((test for test in failed if test.detail is not None), failed[0] if failed else None)
    if first is None:
        return []
    names = tuple(test.name for test in failed)
    if first.detail is None:
        if view.tracebacks or any(hit.signature.role == "root" for hit in view.hits):
            return []
        return [
            Candidate(
                first.line, "test_failed", Category.CORRECTNESS, Strength.GENERIC, Origin.TEST, view.step, failing=names
            )
        ]  # fmt: skip
    hits = [hit for hit in view.hits_on(first.detail) if not hit.discounted]
    judged = judge("AssertionError", first.message, hits, context=first.name)
    return [
        Candidate(
            first.detail,
            judged.signature,
            judged.category,
            judged.strength,
            Origin.TEST,
            view.step,
            sure=judged.category is Category.CORRECTNESS,
            hit=judged.hit,
            comparison=judged.comparison,
            failing=names,
            count=len(failed),
            why=judged.why,
        )
    ]


_RAN = re.compile(r"Ran (?P<ran>\d{1,7}) tests? in ")
_RAN_END = re.compile(r"(?:OK|NO TESTS RAN)(?: \((?P<counts>[^)]{1,80})\))?$")
_LEFT_OUT = re.compile(r"skipped=(\d{1,7})")


def unittest_ran_nothing(view: StepView) -> list[Candidate]:
    """unittest's last word where it found no test, or left all of them out."""
    lines = view.step.lines
    for index in range(len(lines) - 1, max(-1, len(lines) - 200), -1):
        ran = _RAN.match(lines[index].text)
        if ran is None:
            continue
        end = next((line for line in lines[index + 1 : index + 4] if _RAN_END.match(line.text)), None)
        skipped = _LEFT_OUT.search(end.text) if end is not None else None
        count = integer(ran["ran"])
        if end is not None and (count == 0 or (skipped is not None and integer(skipped[1]) == count)):
            return [nothing(view, end if count else lines[index])]
        return []
    return []


def _unittest(view: StepView) -> list[Candidate]:
    """unittest's own runner: the first `FAIL:` or `ERROR:` block, its traceback's exception."""
    failing: list[str] = []
    first: Line | None = None
    for line in view.step.lines:
        if (
            line.text.startswith(("FAIL: ", "ERROR: "))
            and (named := _UNITTEST.match(line.text))
            and (named["where"] or named["name"].startswith("test"))
        ):
            failing.append(line.text.partition(": ")[2].strip())
            first = first or line
    if first is None or not any(
        line.text.startswith("FAILED (") or line.text.startswith("Ran ") for line in view.step.lines
    ):
        return []
    for found in view.tracebacks:
        if found.first > first.number:
            candidate = from_traceback(view, found, failing[0])
            return [
                Candidate(
                    candidate.line, candidate.signature, candidate.category, candidate.strength, Origin.TEST, view.step,
                    Outcome.TERMINAL, candidate.sure, candidate.hit, candidate.comparison, tuple(failing), len(failing), candidate.why, kind=candidate.kind,
                )
            ]  # fmt: skip
    return []
