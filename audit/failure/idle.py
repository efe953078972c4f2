"""What a verdict tells of gates that looked at nothing or whose failure nobody would see, and of the noise that a tolerance would need.

Only gates of this run count: told by its logs or reports, or written for a step that its logs show.
"""

from collections.abc import Sequence

import msgspec

from audit.documents.verdict import (
    Category,
    Confidence,
    Decision,
    Evidence,
    EvidenceKind,
    Fact,
    Role,
    Trust,
    Verdict,
)
from audit.failure.cause.answer import JobCause
from audit.failure.cause.scene import Scene
from audit.failure.gates.model import GateOutcome, NotRun
from audit.failure.structure.subjects import Subject

_MOST = 5
_STATIC = ("ignored_status", "continue_on_error", "no_match")
_SHOWN = 40
"""Characters of a command by which a log's line is known to be it."""
_NOISE_UNKNOWN = (
    "Noise unknown: no run-to-run deviation is recorded, and it takes five runs of an unchanged program to measure one. "
    "Until then no tolerance can be suggested."
)
_NOISY = ("performance", "memory", "quality", "numerics")


def with_idle_gates(verdict: Verdict, found: Sequence[NotRun], scene: Scene) -> Verdict:
    """The verdict with what is not known because of such gates, and their places. A success beside one of them is not sure."""
    cause = (verdict.cause.file, verdict.cause.line) if verdict.cause is not None else None
    own = [gate for gate in found if (gate.path, gate.line) != cause and _of_this_run(gate, scene)][:_MOST]
    if not own:
        return verdict
    told = [f"Whether {gate.name} holds: {_place(gate)}: {gate.why}." for gate in own]
    places = [_evidence(gate, scene) for gate in own]
    sure = verdict.confidence
    if verdict.category is Category.PASSED and sure is Confidence.HIGH:
        sure = Confidence.MEDIUM
    return msgspec.structs.replace(
        verdict,
        confidence=sure,
        not_known=tuple(dict.fromkeys((*verdict.not_known, *told))),
        evidence=(*verdict.evidence, *places),
    )


def _of_this_run(gate: NotRun, scene: Scene) -> bool:
    if gate.kind not in _STATIC:
        return True
    name = " ".join(gate.name.split())
    return any(
        name in (step.name, step.job) or name[:_SHOWN] in " ".join(step.command.split())
        for step in scene.steps
    )


def _place(gate: NotRun) -> str:
    return gate.path if gate.line is None else f"{gate.path}:{gate.line}"


def _evidence(gate: NotRun, scene: Scene) -> Evidence:
    """The place in the checkout or in the log, with its text where that is known."""
    line = scene.reading.line(gate.path, gate.line or 0)
    if line is not None:
        return Evidence(EvidenceKind.LOG, Trust.RAW, gate.path, line.number, line.raw.strip(), Role.CONTEXT)
    text = scene.checkout.text(gate.path) if scene.checkout is not None and gate.line else None
    rows = (text or "").split("\n")
    at = (gate.line or 0) - 1
    told = rows[at].strip()[:400] if 0 <= at < len(rows) else ""
    return Evidence(EvidenceKind.CONFIG, Trust.RAW, gate.path, gate.line, told or gate.why, Role.CONTEXT)


def with_tolerance(
    verdict: Verdict, causes: Sequence[JobCause], gate: GateOutcome | None, tolerance: Fact | None
) -> Verdict:
    """Of a missed gate the tolerance that measured noise justifies; where none was measured, that none can be suggested."""
    if verdict.category is not Category.METRIC_POLICY or verdict.decision not in (
        Decision.RERUN,
        Decision.FIX_CONFIG,
    ):
        return verdict
    if tolerance is not None and isinstance(tolerance.value, float):
        why = (
            f" Measured noise justifies a relative tolerance of {tolerance.value:.2g} ({tolerance.formula})."
        )
        return msgspec.structs.replace(verdict, recommendation=verdict.recommendation + why)
    primary = next((cause.primary for cause in causes if cause.primary is not None), None)
    compared = primary.comparison if primary is not None else None
    measured = (gate is not None and gate.subject.value in _NOISY and gate.noise is None) or (
        gate is None and compared is not None and compared.subject in (Subject.PERFORMANCE, Subject.MEMORY)
    )
    if not measured or (primary is not None and primary.signature == "limit_within_noise"):
        return verdict
    return msgspec.structs.replace(verdict, not_known=(*verdict.not_known, _NOISE_UNKNOWN))
