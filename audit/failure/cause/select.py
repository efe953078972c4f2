"""From what was found to the cause: which of the candidates, job by job, and what the others are to it."""

import re
from collections.abc import Sequence

from audit.documents.verdict import Category
from audit.failure.cause import (
    configured,
    devices,
    distributed,
    environment,
    exceptions,
    gates,
    growth,
    hang,
    libraries,
    limits,
    machine,
    pins,
    raised,
    shapes,
    signatures,
    tests,
    training,
    unseen,
    words,
)
from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.recomputed import refine
from audit.failure.cause.scene import Scene, StepView
from audit.failure.digits import integer
from audit.failure.model import Kind
from audit.failure.structure.comparison import Subject
from audit.failure.structure.launcher import Ended
from audit.failure.structure.progress import TOTAL
from audit.failure.structure.steps import Conclusion, Job, Step


def select(scene: Scene) -> tuple[JobCause, ...]:
    """One answer a job, in the order of the logs."""
    return tuple(_job(scene, job) for job in scene.jobs)


def _job(scene: Scene, job: Job) -> JobCause:
    suspects = scene.suspects(job)
    recovered = _recovered(scene, job)
    if not suspects and job.conclusion is Conclusion.SUCCESS:
        hidden = unseen.find(scene, job)
        if hidden:
            return JobCause(
                job, State.FAILED, hidden[0].step, hidden[0], tuple(hidden[1:]), recovered=recovered
            )
        return JobCause(job, State.PASSED, None, None, recovered=recovered)
    if not suspects:
        state = State.CANCELLED if job.conclusion is Conclusion.CANCELLED else State.UNKNOWN
        return JobCause(job, state, None, None, recovered=recovered)
    records = machine.find(scene, job)
    trained = training.find(scene, job)
    answers: list[tuple[Step, list[Candidate], list[Candidate]]] = []
    for step in suspects if job.conclusion is Conclusion.FAILURE else ():
        live, rest = _step(scene, job, scene.view(step), records, trained)
        answers.append((step, live, rest))
    if not answers:
        live, rest = _together(scene, job, suspects, records, trained)
        failed = bool(live) or _fails(scene, suspects)
        if not failed:
            return JobCause(job, _ended(scene, job, suspects), None, None, recovered=recovered)
        answers.append((live[0].step if live else suspects[-1], live, rest))
    return _answer(job, answers, recovered)


def _answer(
    job: Job,
    answers: Sequence[tuple[Step, list[Candidate], list[Candidate]]],
    recovered: tuple[Candidate, ...],
) -> JobCause:
    """The first step that says why; the causes of later failed steps stand beside it where they are others."""
    named = [(step, live) for step, live, _ in answers if live]
    consequences = tuple(candidate for _, _, rest in answers for candidate in rest)
    if not named:
        step = answers[0][0]
        return JobCause(
            job,
            State.FAILED,
            step,
            None,
            (),
            consequences,
            recovered,
            "Nothing in the log of the failed step says why it failed.",
        )
    step, live = named[0]
    primary = live[0]
    others = [candidate for candidate in live[1:] if candidate.strength >= Strength.GENERIC]
    others += [later[0] for _, later in named[1:] if later[0].signature != primary.signature]
    return JobCause(job, State.FAILED, step, primary, tuple(others), consequences, recovered)


def _step(
    scene: Scene, job: Job, view: StepView, records: Sequence[Candidate], trained: Sequence[Candidate]
) -> tuple[list[Candidate], list[Candidate]]:
    """The causes of one failed step, the first being the one, and what is a consequence of them."""
    tested = [refine(candidate, scene) for candidate in tests.find(view) or hang.find(view)]
    found = [*exceptions.find(view), *signatures.find(view), *limits.find(view)]
    if not any(candidate.strength > Strength.CASCADE for candidate in tested):
        found += [refine(candidate, scene) for candidate in gates.find(view)]
    found += trained
    live, rest = _settle(scene, job, [view.step], tested, found, records)
    if (
        not live
        and not distributed.watchdogs(scene, [view.step])
        and not any(end.exit_code or end.signal for end in view.ends)
    ):
        live = words.find(view)
    return live, rest


def _together(
    scene: Scene,
    job: Job,
    steps: Sequence[Step],
    records: Sequence[Candidate],
    trained: Sequence[Candidate],
) -> tuple[list[Candidate], list[Candidate]]:
    """The causes where no step is known to have failed: all that may have, looked at as one (rank files, bare logs)."""
    tested: list[Candidate] = []
    found: list[Candidate] = []
    for step in steps:
        view = scene.view(step)
        tested += [refine(candidate, scene) for candidate in tests.find(view)]
        found += [*exceptions.find(view), *signatures.find(view), *limits.find(view)]
        found += [
            refine(gate, scene)
            for gate in gates.find(view)
            if gate.comparison is not None and gate.comparison.strength >= 3 and _exit(view)
        ]
    found += trained
    live, rest = _settle(scene, job, steps, tested, found, records)
    if not _fails(scene, steps):
        live = [
            candidate
            for candidate in live
            if candidate.outcome is Outcome.TERMINAL
            and candidate.strength >= Strength.GENERIC
            and _ends_here(scene, candidate)
        ]
    return live, rest


def _settle(
    scene: Scene,
    job: Job,
    steps: Sequence[Step],
    tested: list[Candidate],
    found: list[Candidate],
    records: Sequence[Candidate],
) -> tuple[list[Candidate], list[Candidate]]:
    """Orders candidates: records of the machine, tests, terminal exceptions and tools' own words, checks, training."""
    tested = [
        configured.decide(scene, pins.decide(scene, candidate)) for candidate in distributed.demote(tested)
    ]
    found = [
        configured.decide(scene, pins.decide(scene, candidate)) for candidate in distributed.demote(found)
    ]
    ends = [end for step in steps for end in scene.view(step).ends]
    roots = [candidate for candidate in found if candidate.strength >= Strength.GENERIC]
    rest = [candidate for candidate in found if candidate.strength < Strength.GENERIC]
    rest += [candidate for candidate in tested if candidate.strength < Strength.CONFIRMING]
    live = _by_outcome(scene, roots, steps)
    if (
        first := distributed.first_of(
            [candidate for candidate in live if candidate.origin is Origin.EXCEPTION], ends
        )
    ) is not None:
        rest += [
            candidate for candidate in live if candidate.origin is Origin.EXCEPTION and candidate is not first
        ]
        live = [
            candidate for candidate in live if candidate.origin is not Origin.EXCEPTION or candidate is first
        ]
    live = _ordered(live)
    tests_first = [candidate for candidate in tested if candidate.strength >= Strength.CONFIRMING]
    live = [*_cluster_order(tests_first), *live] if tests_first else live
    live = _with_training(live)
    if live and (before := _root_before(scene, job, live[0])) is not None:
        rest.append(live[0])
        live = [before, *[candidate for candidate in live[1:] if candidate.signature != before.signature]]
    live = _with_records(live, rest, records, ends, steps)
    if not live:
        crashed = [
            candidate
            for candidate in rest
            if candidate.signature
            in (
                "segmentation_fault",
                "process_aborted",
                "fatal_python_error",
                "heap_corruption",
                "child_got_signal",
            )
        ]
        live = (
            [words.before_crash(scene, min(crashed, key=lambda candidate: candidate.line.number))]
            if crashed and not distributed.watchdogs(scene, steps)
            else []
        )
    if not live and (stall := distributed.stalled(scene, steps)) is not None and stall.category is not None:
        live = [stall]
    live = [_explained(scene, job, candidate) for candidate in live[:1]] + live[1:]
    primary = live[:1]
    return live, [candidate for candidate in rest if candidate not in primary]


def _explained(scene: Scene, job: Job, cause: Candidate) -> Candidate:
    """The cause by what the run tells of it elsewhere: how its memory grew, what was raised, which shapes differ."""
    grown = devices.masked(scene, job, growth.decide(scene.view(cause.step), cause))
    return shapes.decide(raised.decide(scene, job, grown))


def _root_before(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    return (
        environment.root_before(scene, job, found)
        or devices.lost_before(scene, job, found)
        or libraries.not_loaded_before(scene, job, found)
    )


def _by_outcome(scene: Scene, roots: Sequence[Candidate], steps: Sequence[Step]) -> list[Candidate]:
    """What ended something. An uncaught exception that seems survived still counts where nothing else does: output is buffered, and comes late.
    Not where a signal ended the work that went on after it: who sent the signal is told elsewhere, or nowhere.
    """
    terminal = [candidate for candidate in roots if candidate.outcome is Outcome.TERMINAL]
    if terminal:
        return terminal
    signalled = _by_signal(scene, steps)
    uncaught = [
        candidate
        for candidate in roots
        if candidate.outcome is Outcome.PROGRESSED
        and candidate.origin in (Origin.EXCEPTION, Origin.SIGNATURE)
        and not (signalled and scene.view(candidate.step).succeeded_after(candidate.line))
    ]
    warned = [candidate for candidate in roots if candidate.outcome is Outcome.UNRESOLVED]
    return warned or uncaught


_SIGNALLED = frozenset({129, 130, 137, 143, 241, 247})
"""Codes of SIGHUP, SIGINT, SIGKILL, SIGTERM as shells and Python wrappers give them."""


def _by_signal(scene: Scene, steps: Sequence[Step]) -> bool:
    """Whether somebody ended the work from outside."""
    return any(
        step.exit_code in _SIGNALLED
        or any(end.exit_code in (-1, -2, -9, -15, *_SIGNALLED) for end in scene.view(step).ends)
        for step in steps
    )


_PRIORITY = {Origin.LIMIT: 0, Origin.EXCEPTION: 1, Origin.SIGNATURE: 1, Origin.GATE: 2, Origin.TRAINING: 3}


def _ordered(live: Sequence[Candidate]) -> list[Candidate]:
    """A limit that ended the step first; then by strength, then by where it stands: a named root before an unknown exception, of failed checks
    the weightiest, of equals the earlier (by time where all lines have one).
    """
    timed = all(candidate.at is not None for candidate in live)

    def key(candidate: Candidate) -> tuple[int, int, int, int, float, int]:
        weight = gates.weight(candidate) if candidate.origin is Origin.GATE else 0
        return (
            0 if candidate.origin is Origin.LIMIT else 1,
            -candidate.strength,
            _PRIORITY.get(candidate.origin, 1),
            weight,
            candidate.at if timed and candidate.at is not None else 0.0,
            candidate.line.number,
        )

    return sorted(live, key=key)


def _cluster_order(tested: Sequence[Candidate]) -> list[Candidate]:
    """Of independent causes among tests the first, and before it none that a rerun alone may mend."""
    poisoned = [
        candidate
        for candidate in tested
        if candidate.hit is not None and candidate.hit.signature.family in ("cuda", "memory", "filesystem")
    ]
    if tested and poisoned and tested[0] is poisoned[0]:
        return [
            tested[0],
            *[
                candidate
                for candidate in tested[1:]
                if not (candidate.hit is not None and candidate.hit.signature.family in ("cuda", "memory"))
            ],
        ]
    return sorted(tested, key=lambda candidate: candidate.category is Category.INFRA_RUNTIME)


_NO_NUMBER = re.compile(r"\bnan\b|\binf(?:inity|inite)?\b|\bnon-?finite\b|\bnot finite\b", re.IGNORECASE)
"""What later steps complain of when a model computes no numbers any more."""


def _before(first: Candidate, second: Candidate) -> bool:
    return first.line.source != second.line.source or first.line.number < second.line.number


def _with_training(live: Sequence[Candidate]) -> list[Candidate]:
    """A loss that is no number explains a check that says so, a quality check, or an end without other words; it is no news beside other causes."""
    trained = [candidate for candidate in live if candidate.origin is Origin.TRAINING]
    rest = [candidate for candidate in live if candidate.origin is not Origin.TRAINING]
    if not trained or trained[0].outcome is not Outcome.TERMINAL:
        return rest
    explains = (
        not rest
        or (
            rest[0].comparison is not None and rest[0].comparison.subject in (Subject.FINITE, Subject.QUALITY)
        )
        or (rest[0].hit is not None and rest[0].hit.signature.family in ("training", "megatron"))
        or rest[0].signature in ("floating_point_error", "loss_not_finite")
        or (_NO_NUMBER.search(rest[0].line.text[:600]) is not None and _before(trained[0], rest[0]))
    )
    return [trained[0], *rest] if explains else rest


def _with_records(
    live: list[Candidate],
    rest: list[Candidate],
    records: Sequence[Candidate],
    ends: Sequence[Ended],
    steps: Sequence[Step],
) -> list[Candidate]:
    """The machine's record stands above what followed from it: a kill above lost connections, a broken device above errors of the device."""
    for record in records:
        if record.signature == "oom_killed":
            killed = distributed.died_by_kill(ends, steps)
            own = (
                bool(live)
                and live[0].origin in (Origin.TEST, Origin.EXCEPTION)
                and live[0].strength >= Strength.NAMED
            )
            built = machine.ended_a_build(record) and any(
                _of_a_build(candidate) for candidate in (*live, *rest)
            )
            applies = not live or live[0].origin is Origin.CRASH or (killed and not own) or built
        else:
            families = ("cuda", "distributed", "memory")
            applies = (
                not live
                or (live[0].hit is not None and live[0].hit.signature.family in families)
                or live[0].strength <= Strength.GENERIC
            )
        if applies:
            rest += live
            return [record]
    return live


def _of_a_build(candidate: Candidate) -> bool:
    hit = candidate.hit
    return hit is not None and (
        hit.signature.family in ("build", "toolchains") or "build" in hit.signature.name
    )


def _fails(scene: Scene, steps: Sequence[Step]) -> bool:
    """Whether bare logs say that something failed: a failed test run, a launcher's report, a code other than zero."""
    for step in steps:
        view = scene.view(step)
        if (
            any(session.failed for session in view.sessions)
            or any((end.exit_code or 0) != 0 or end.signal for end in view.ends)
            or _exit(view)
        ):
            return True
    return False


def _exit(view: StepView) -> bool:
    from audit.failure.structure.steps import EXIT

    return any(
        (code := EXIT.search(line.text)) is not None and integer(code[1]) != 0
        for line in view.step.lines[-60:]
    )


def _ends_here(scene: Scene, candidate: Candidate) -> bool:
    """Whether a bare log ends with the event: nothing but its own lines follows in its stream."""
    lines = candidate.step.lines
    return lines[-1].number - candidate.line.number < 400 and not scene.view(candidate.step).alive_after(
        candidate.line
    )


_LAST_WORDS = 15
"""Lines at the end of a bare log among which a good end is told: summaries and notes of exit handlers follow it."""
_GOOD_END = re.compile(
    r"\bdone\b|\bfinish(?:ed)?\b|\bcomplete(?:d|ly)?\b|\bsuccess(?:ful(?:ly)?)?\b|\bsucceeded\b|\bexit ?code:? ?0\b|\btrain_runtime\b",
    re.IGNORECASE,
)
_PAST_PLAN = re.compile(
    r"early[ _-]?stop|stopp(?:ed|ing) early|patience|target (?:\w+ )?reached", re.IGNORECASE
)


def _short_of_its_plan(step: Step) -> bool:
    """Whether the last count of steps is below the number that was planned, and nothing says that this was meant so."""
    lines = [line for line in step.lines if not line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP}]
    last = next((found for line in reversed(lines) if (found := TOTAL.search(line.text[:400]))), None)
    if last is None or integer(last["step"]) >= integer(last["total"]) - 1:
        return False
    return not any(_PAST_PLAN.search(line.text[:400]) for line in lines[-200:])


def _ended(scene: Scene, job: Job, steps: Sequence[Step]) -> State:
    """Nothing failed that the log shows: whether it also shows a good end."""
    if job.conclusion is Conclusion.CANCELLED:
        return State.CANCELLED  # whatever went well before
    if not job.complete:
        return State.UNKNOWN
    for step in steps:
        view = scene.view(step)
        if view.sessions and all(session.summary is not None for session in view.sessions):
            return State.PASSED
        tail = [line.text[:400] for line in step.lines if line.text.strip()][-_LAST_WORDS:]
        if any(_GOOD_END.search(text) for text in tail) and not _short_of_its_plan(step):
            return State.PASSED
    return State.UNKNOWN


def _recovered(scene: Scene, job: Job) -> tuple[Candidate, ...]:
    """Events of a job that were survived: retried, handled, logged."""
    found: list[Candidate] = []
    for step in job.steps:
        if step.teardown:
            continue
        view = scene.view(step)
        if not view.hits:
            continue
        found += [
            candidate
            for candidate in signatures.find(view)
            if candidate.outcome in (Outcome.PROGRESSED, Outcome.RECOVERED)
            and candidate.strength >= Strength.CASCADE
        ]
    return tuple(found[:20])
