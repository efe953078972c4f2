"""Facts that the logs hold by themselves: what the cause's line states, how it ended, what was counted."""

from collections.abc import Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate
from audit.failure.cause.scene import Scene


def cause_facts(causes: Sequence[JobCause]) -> list[Fact]:
    """What the causes' own lines state, and how their steps ended."""
    found: list[Fact] = []
    for cause in [cause for cause in causes if cause.state is State.FAILED][:3]:
        if cause.primary is not None:
            found += _captured(cause.primary)
        found += _ended(cause)
    return found


def count_facts(scene: Scene, causes: Sequence[JobCause]) -> list[Fact]:
    """Counts of tests, of events that were survived, of jobs."""
    failed = [cause for cause in causes if cause.state is State.FAILED]
    found = _tests(scene, failed or list(causes))
    found += _recovered(causes)
    if len(scene.jobs) > 1:
        found.append(Fact("failed_jobs", len(failed), "", "jobs with a failed step"))
    return found


def _captured(candidate: Candidate) -> list[Fact]:
    place = f"{candidate.line.source}:{candidate.line.number}"
    found: list[Fact] = []
    if candidate.hit is not None:
        for capture in candidate.hit.captures:
            if capture.value is not None:
                found.append(
                    Fact(
                        capture.name,
                        capture.value,
                        capture.unit,
                        "as the line states it",
                        (FactInput(capture.name, capture.text, place),),
                    )
                )
    compared = candidate.comparison
    if compared is not None and compared.actual is not None and compared.limit is not None:
        found.append(
            Fact("actual", compared.actual, "", "as the line states it", (FactInput("line", None, place),))
        )
        found.append(
            Fact("limit", compared.limit, "", "as the line states it", (FactInput("line", None, place),))
        )
        found.append(
            Fact(
                "actual_minus_limit",
                compared.actual - compared.limit,
                "",
                "actual - limit",
                (FactInput("line", None, place),),
            )
        )
        if compared.actual < compared.limit:
            missed = compared.limit - compared.actual
            found.append(
                Fact("below_limit_by", missed, "", "limit - actual", (FactInput("line", None, place),))
            )
        if compared.limit:
            found.append(
                Fact(
                    "actual_over_limit",
                    compared.actual / compared.limit,
                    "",
                    "actual / limit",
                    (FactInput("line", None, place),),
                )
            )
    if candidate.count > 1:
        found.append(Fact("occurrences", candidate.count, "", "events with the cause's signature"))
    return found


def _ended(cause: JobCause) -> list[Fact]:
    step = cause.step
    if step is None:
        return []
    found: list[Fact] = []
    if step.exit_code is not None and step.end is not None:
        found.append(
            Fact(
                "exit_code",
                step.exit_code,
                "",
                "exit code of the failed step",
                (FactInput("line", None, f"{step.end.source}:{step.end.number}"),),
            )
        )
    return found


def _tests(scene: Scene, causes: Sequence[JobCause]) -> list[Fact]:
    totals: dict[str, int] = {}
    own: dict[str, int] = {}
    for cause in causes:
        for step in cause.job.steps:
            for session in scene.view(step).sessions:
                for word, number in session.counts.items():
                    totals[word] = totals.get(word, 0) + number
                    if step is cause.step:
                        own[word] = own.get(word, 0) + number
    found = [
        Fact(word, number, "", f"sum of `N {word}` of the test runs of the failed step")
        for word, number in sorted(own.items())
        if word != "warnings"
    ]
    found += [
        Fact(f"{word}_in_all_steps", number, "", f"sum of `N {word}` of all test runs of the job")
        for word, number in sorted(totals.items())
        if word != "warnings" and own.get(word) != number
    ]
    collected = [
        session.collected
        for cause in causes
        if cause.step is not None
        for session in scene.view(cause.step).sessions
        if session.collection_failed and session.collected
    ]
    found += [
        Fact("collected_but_not_run", number, "", "collected items of a run whose collection failed")
        for number in collected[:1]
    ]
    return found


def _recovered(causes: Sequence[JobCause]) -> list[Fact]:
    return [
        Fact(
            f"recovered_{candidate.signature}",
            candidate.count,
            "",
            "events with this signature that the run survived",
        )
        for cause in causes
        for candidate in cause.recovered[:5]
    ]
