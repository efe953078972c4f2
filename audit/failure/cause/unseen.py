"""What a green job hides: checks that failed while the script went on, checks that looked at nothing, a loss that is no number to the end."""

import re
from collections.abc import Sequence

import msgspec

from audit.failure.cause import runners, tests, training
from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate, Outcome, Strength, gate_did_not_run
from audit.failure.cause.scene import Scene, StepView
from audit.failure.gates.model import NotRun
from audit.failure.model import Kind
from audit.failure.structure.steps import Job

_NOTHING = re.compile(
    r"\b(?:0|no|zero) (?:\w+ ){0,2}(?:metrics?|values?|comparisons?|checks?|baselines?|golden values|benchmarks?|reference values|test "
    r"cases) (?:were |was |to be |are )?"
    r"(?:compared|checked|found|to compare|evaluated|ran|run|matched|available|selected)\b|"
    r"nothing to (?:compare|check)\b|\bskipp(?:ed|ing) (?:the )?(?:golden|comparison|baseline|regression|benchmark|accuracy|"
    r"quality)[ -]?(?:check|comparison|gate|test)?\b|"
    r"\b(?:compared|checked) 0 (?:of \d+ )?\w+",
    re.IGNORECASE,
)


def find(scene: Scene, job: Job) -> list[Candidate]:
    """In a job that ended well; none of it is sure, for somebody may have meant it so."""
    found: list[Candidate] = []
    for step in job.steps:
        if step.teardown or step.tolerated:
            continue
        view = scene.view(step)
        last = view.sessions[-1] if view.sessions else None
        if last is not None and (last.failed or tests.ran_nothing(last)):
            found += tests.find(view)
        elif last is None:
            found += runners.unittest_ran_nothing(view)
        found += _looked_at_nothing(view)
    found += [candidate for candidate in training.find(scene, job) if candidate.outcome is Outcome.TERMINAL]
    return [msgspec.structs.replace(candidate, sure=False) for candidate in found]


def _looked_at_nothing(view: StepView) -> list[Candidate]:
    """The line by which a check says that it compared nothing."""
    for line in view.step.lines:
        if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST_ID} or not _NOTHING.search(line.text[:600]):
            continue
        why = "The check compared nothing, so its success says nothing."
        return [gate_did_not_run(line, view.step, why)]
    return []


_EMPTY = ("no_metrics", "key_mismatch", "missing_both")
"""Kinds of gates that had nothing to compare in this run, whatever their conclusion."""


def without_comparison(causes: tuple[JobCause, ...], gates: Sequence[NotRun]) -> tuple[JobCause, ...]:
    """The jobs, a green one as hiding a gate that compared nothing where its checkout and its metrics say so. The cause is the last line of its
    last step: that is where the gate's success is told, if anywhere.
    """
    empty = [gate for gate in gates if gate.kind in _EMPTY]
    if not empty:
        return causes
    found: list[JobCause] = []
    for cause in causes:
        step = next(
            (
                step
                for step in reversed(cause.job.steps)
                if not step.teardown and step.command and any(line.text.strip() for line in step.lines)
            ),
            None,
        )
        if cause.state is not State.PASSED or step is None:
            found.append(cause)
            continue
        line = next(line for line in reversed(step.lines) if line.text.strip())
        place = empty[0].path if empty[0].line is None else f"{empty[0].path}:{empty[0].line}"
        why = f"{place}: {empty[0].why}; the gate's success says nothing."
        candidate = gate_did_not_run(line, step, why, failing=(empty[0].name,), strength=Strength.GENERIC)
        found.append(msgspec.structs.replace(cause, state=State.FAILED, step=step, primary=candidate))
    return tuple(found)
