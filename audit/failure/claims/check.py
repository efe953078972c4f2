"""Every claim of a text held against raw telemetry."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from audit.documents.verdict import Claim, Fact
from audit.failure.claims.counts import (
    check_completion,
    check_determinism,
    check_scale,
    check_spread,
)
from audit.failure.claims.events import check_events
from audit.failure.claims.grammar import statements
from audit.failure.claims.model import ClaimOutcome, Family, Sentence, Statement
from audit.failure.claims.quality import check_quality, check_regression
from audit.failure.claims.result import CONTRADICTED, Result, unknown
from audit.failure.claims.runs import Runs, metrics_in, runs_of
from audit.failure.claims.sentences import sentences
from audit.failure.claims.speed import check_memory, check_speed
from audit.failure.claims.stability import check_stability
from audit.failure.claims.tables import table_statements
from audit.failure.claims.tested import check_tests
from audit.failure.facts.compute import of_log
from audit.failure.model import Reading
from audit.telemetry.model import Telemetry

MAX_CLAIMS: Final = 200
_NUMERIC: Final = (
    Family.SPEED,
    Family.MEMORY,
    Family.QUALITY,
    Family.SCALE,
    Family.SPREAD,
    Family.COMPLETION,
)


def check(
    text: str, telemetry: Telemetry, reading: Reading | None = None, facts: Iterable[Fact] = ()
) -> list[ClaimOutcome]:
    """What raw telemetry says of each claim of a text (a change's description, a report, a README, a commit message), in the order
    of their lines. `facts`: numbers already computed (token totals need the configuration). Prose never supports a claim. Never raises
    for what the text holds.
    """
    runs = runs_of(telemetry, text, of_log(reading) if not telemetry.series else None)
    known = list(facts)
    made: list[ClaimOutcome] = []
    metric = ""
    for sentence in sentences(text):
        for found in _stated(sentence):
            statement = _about(found, metric)
            metric = statement.metric if statement.family is Family.QUALITY else metric
            result = _of_tasks(statement, runs) or _checked(statement, runs, telemetry, reading, known)
            made.append(_outcome(sentence, statement, result))
        if len(made) >= MAX_CLAIMS:
            break
    return _one_a_line(made)


def _of_tasks(statement: Statement, runs: Runs) -> Result | None:
    """A statement about one of several evaluated tasks: what all readings of it agree on; None where there are no such results."""
    if statement.family is not Family.QUALITY or not runs.all or statement.each:
        return None
    looked = runs.candidate or runs.judged or runs.all[0]
    if len(looked.series) < 2 or any(len(series) > 1 for series in looked.series.values()):
        return None
    names = metrics_in(statement.sentence.text, runs)
    found = [
        check_quality(msgspec.structs.replace(statement, metric=name.lower()), runs) for name in names[:4]
    ]
    if not found:
        return None if len(looked.series) < 3 else unknown("which of the results is meant could not be told")
    return (
        found[0]
        if len({result.status for result in found}) == 1
        else unknown("the results that may be meant differ", found[0].facts)
    )


def _about(statement: Statement, metric: str) -> Statement:
    """A statement that names no metric is about the one named last: "Every seed improves." after the accuracy's mean."""
    if statement.family is Family.QUALITY and not statement.metric:
        return msgspec.structs.replace(statement, metric=metric)
    return statement


def _stated(sentence: Sentence) -> list[Statement]:
    """The statements of a sentence. A table's row is one where its header tells both sides, or where it has two cells, name and value."""
    if not sentence.cells:
        return statements(sentence)
    found = table_statements(sentence)
    return found if found or len(sentence.cells) != 2 else statements(sentence)


def _checked(
    statement: Statement, runs: Runs, telemetry: Telemetry, reading: Reading | None, facts: Sequence[Fact]
) -> Result:
    family = statement.family
    if family is Family.SPEED:
        return check_speed(statement, runs)
    if family is Family.MEMORY:
        return check_memory(statement, runs)
    if family is Family.QUALITY:
        return check_quality(statement, runs)
    if family is Family.REGRESSION:
        return check_regression(runs, statement)
    if family is Family.COMPLETION:
        return check_completion(statement, runs)
    if family is Family.SCALE:
        return check_scale(statement, runs, facts)
    if family is Family.STABILITY:
        return check_stability(statement, runs)
    if family is Family.DETERMINISM:
        return check_determinism(statement, runs)
    if family is Family.SPREAD:
        return check_spread(statement, runs)
    if family is Family.EVENTS:
        return check_events(statement.sentence, reading)
    if family is Family.TESTS:
        return check_tests(statement, telemetry, reading)
    return unknown("whose failure it is takes a run of the base commit with the same signature")


def _outcome(sentence: Sentence, statement: Statement, result: Result) -> ClaimOutcome:
    # Without a number of its own a statement that cannot be derived is a manner of speaking, not a result.
    material = statement.family is not Family.ORIGIN and (
        result.status is CONTRADICTED or (statement.family in _NUMERIC and bool(statement.quantities))
    )
    return ClaimOutcome(
        claim=Claim(sentence.text, result.status, result.why),
        line=sentence.line,
        family=statement.family,
        material=material,
        facts=result.facts,
        places=result.places,
    )


def _one_a_line(found: Sequence[ClaimOutcome]) -> list[ClaimOutcome]:
    """One outcome a sentence: of several statements in it the one that does not hold, else the one that could be checked."""
    rank = {"contradicted": 0, "supported": 1, "not_derivable": 2}
    best: dict[tuple[int, str], ClaimOutcome] = {}
    for outcome in found:
        key = (outcome.line, outcome.claim.text)
        held = best.get(key)
        if held is None or rank[outcome.claim.status.value] < rank[held.claim.status.value]:
            best[key] = outcome
    return list(best.values())
