"""What a gate's own comparison, done again on raw numbers, says of a candidate: what it looks at, by how much it was missed, and whether that is noise."""

from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause import misread, noise
from audit.failure.cause.candidate import Candidate, Origin, Strength
from audit.failure.cause.scene import Scene
from audit.failure.gates.model import GateOutcome, Subject
from audit.failure.structure.comparison import TIGHT
from audit.failure.structure.verdict_rows import name_of_check

_NOISY = 2.0
"""A miss of less than two standard deviations of the measured run-to-run noise is what an unchanged program shows too."""


def failing_gate(candidate: Candidate, gates: Sequence[GateOutcome]) -> GateOutcome | None:
    """The gate that a candidate is the report of: told on its line, or of the test that failed by it."""
    if candidate.origin not in (Origin.TEST, Origin.GATE):
        return None
    missed = [gate for gate in gates if gate.passed is False]
    for gate in missed:
        if gate.told == (candidate.line.source, candidate.line.number):
            return gate
    for gate in missed:
        if any(gate.name == name or gate.name in name for name in candidate.failing):
            return gate
    told = [
        gate
        for gate in missed
        if gate.told is not None
        and gate.told[0] == candidate.line.source
        and abs(gate.told[1] - candidate.line.number) <= 30
    ]
    return told[0] if told and candidate.origin is Origin.GATE else None


def within_noise(gate: GateOutcome) -> bool:
    """Whether the miss is smaller than the noise that the repository itself records for the reference."""
    if gate.noise is None or gate.noise <= 0 or gate.margin is None:
        return False
    return abs(gate.margin) < _NOISY * gate.noise


def tighter_than_arithmetic(gate: GateOutcome) -> bool:
    """Whether a tolerance is finer than float32 resolution carries, and the error is of that order."""
    error = gate.actual if gate.derived else None
    if gate.series is not None and error is None:
        error = gate.series.worst_relative
    limit = gate.limit if gate.derived else gate.rtol
    return bool(error is not None and limit is not None and 0 <= limit < TIGHT and abs(error) < TIGHT)


def refine(candidate: Candidate, scene: Scene) -> Candidate:
    """The candidate with the category that its gate's subject and numbers give it, and the noise of what was measured."""
    candidate = _by_gate(candidate, scene.gates)
    if (read := misread.told(candidate, scene)) is not None:
        failing = (name_of_check(candidate.line.text), *candidate.failing)
        candidate = msgspec.structs.replace(
            candidate, line=read[0], hit=None, comparison=None, failing=tuple(filter(None, failing))
        )
        return _as(candidate, Category.METRIC_POLICY, "gate_reads_missing_key", read[1])
    noisy = (
        noise.within(candidate, scene)
        if candidate.category in (Category.ML_REGRESSION, Category.CORRECTNESS)
        else None
    )
    return _as(candidate, Category.METRIC_POLICY, "limit_within_noise", noisy) if noisy else candidate


def _by_gate(candidate: Candidate, gates: Sequence[GateOutcome]) -> Candidate:
    gate = failing_gate(candidate, gates)
    label = gate.name.rpartition(": ")[2] if gate is not None else ""
    if label and "::" not in label and label not in candidate.failing:
        candidate = msgspec.structs.replace(candidate, failing=(label, *candidate.failing))
    if gate is None or (
        candidate.hit is not None and candidate.hit.signature.role == "root" and candidate.comparison is None
    ):
        return candidate
    if tighter_than_arithmetic(gate):
        return _as(
            candidate,
            Category.METRIC_POLICY,
            "tolerance_too_tight",
            "The tolerance is finer than float32 resolution; the error is of that order.",
        )
    match gate.subject:
        case Subject.PERFORMANCE | Subject.MEMORY | Subject.POLICY:
            noise = (
                f" The miss of {abs(gate.margin or 0):.1%} is within the recorded run-to-run deviation of {gate.noise:.1%}."
                if within_noise(gate) and gate.noise
                else ""
            )
            return _as(
                candidate,
                Category.METRIC_POLICY,
                candidate.signature,
                f"Only the gate on {gate.metric or gate.subject.value} was missed.{noise}",
            )
        case Subject.QUALITY if within_noise(gate):
            return _as(
                candidate,
                Category.METRIC_POLICY,
                candidate.signature,
                "The miss is within the recorded run-to-run deviation.",
            )
    return candidate


def _as(candidate: Candidate, category: Category, signature: str, why: str) -> Candidate:
    return msgspec.structs.replace(
        candidate,
        category=category,
        signature=signature,
        why=why,
        strength=max(candidate.strength, Strength.NAMED),
    )
