"""The verdict document from what was found: causes, evidence, alternatives, what to do, what is not known."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from audit.documents.report import Tool
from audit.documents.verdict import (
    SCHEMA_VERSION,
    Alternative,
    Category,
    Cause,
    ClaimStatus,
    Confidence,
    Decision,
    Evidence,
    EvidenceKind,
    Fact,
    OtherCause,
    Role,
    Trust,
    Verdict,
)
from audit.failure import named
from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.cause.scene import Scene
from audit.failure.cause.wording import LOG_CUT, points_elsewhere
from audit.failure.decide import Decided, decide, decision_of
from audit.failure.model import Line
from audit.failure.structure.steps import closes

if TYPE_CHECKING:
    from audit.failure.claims.model import ClaimOutcome

_MOST_FACTS = 40
_REDIRECTED = re.compile(
    r"(?:output (?:goes|written|redirected|saved) to|logs? (?:are |is )?(?:in|at|written to|saved to)|(?<![<>=(\w\]-])(?:[12]|&)?>{1,2}|\| ?tee(?: -a)?|"
    r"--log-dir|--redirects?\b.{0,30}?--log-dir) ?=? ?(?P<path>(?![\d.,]+[a-zA-Z%]{0,3}(?![\w/.-]))[\w./-]{2,120})"
)
"""Where output went. A `>` before a number compares: `loss > 0.5`, `(>4.0s)`, `>= 63.4G`."""
_DISCARDED = re.compile(r"/dev/null\b|\bDEVNULL\b")


def build(
    scene: Scene,
    causes: Sequence[JobCause],
    tool: Tool,
    *,
    facts: Sequence[Fact],
    claims: Sequence["ClaimOutcome"] = (),
    claims_file: str = "",
    measured: bool = False,
    gaps: Sequence[str] = (),
) -> Verdict:
    """One verdict for all jobs: the first failed one leads; of several each has its cause among the others."""
    lead, decided = _lead(causes)
    cause = (
        None
        if lead is None or lead.primary is None or decided.category is Category.INCONCLUSIVE
        else _cause(lead.primary)
    )
    failing = named.failing(scene, causes)
    if decided.category is Category.PASSED and (claims or measured):
        decided = Decided(
            decided.category, decided.decision, Confidence.MEDIUM
        )  # what was measured may hold more than was asked
    unsupported = _unsupported(claims)
    others = _others(causes, lead)
    if unsupported is not None:
        told = Cause(
            claims_file,
            unsupported.line,
            unsupported.claim.text,
            f"{unsupported.family.value}_claim_{unsupported.claim.status.value}",
        )
        refuted = [
            outcome
            for outcome in claims
            if outcome.material and outcome.claim.status is ClaimStatus.CONTRADICTED
        ]
        failing = (*[f"claim: {outcome.claim.text}" for outcome in refuted], *failing)
        if decided.category in (Category.PASSED, Category.INCONCLUSIVE):
            decided = Decided(Category.UNSUPPORTED_CLAIM, Decision.BLOCK, Confidence.MEDIUM)
            cause = told
        else:
            others = (
                *others,
                OtherCause(
                    told.file,
                    told.line,
                    told.text,
                    told.signature,
                    Category.UNSUPPORTED_CLAIM,
                    Decision.BLOCK,
                ),
            )
    return Verdict(
        SCHEMA_VERSION,
        tool,
        decided.category,
        decided.decision,
        decided.confidence,
        cause,
        others,
        None,
        failing,
        named.passed(scene, causes),
        tuple(facts[:_MOST_FACTS]),
        tuple(outcome.claim for outcome in claims),
        (*_evidence(causes, lead), *_claimed(claims, claims_file)),
        (),
        _alternatives(scene, causes, lead, decided),
        _recommendation(lead, decided),
        tuple(_not_known(scene, causes, lead, decided)) + tuple(gaps),
    )


def _doubted(outcome: "ClaimOutcome") -> bool:
    """Whether a claim that a merge could rest on is not borne out."""
    return outcome.material and outcome.claim.status is not ClaimStatus.SUPPORTED


def _unsupported(claims: Sequence["ClaimOutcome"]) -> "ClaimOutcome | None":
    """The claim to name: the first that is contradicted, else the first that cannot be derived."""
    doubted = [outcome for outcome in claims if _doubted(outcome)]
    contradicted = [outcome for outcome in doubted if outcome.claim.status is ClaimStatus.CONTRADICTED]
    return next(iter(contradicted or doubted), None)


def _claimed(claims: Sequence["ClaimOutcome"], file: str) -> list[Evidence]:
    return [
        Evidence(
            EvidenceKind.CLAIM,
            Trust.PROSE,
            file,
            outcome.line,
            outcome.claim.text,
            Role.CAUSE if _doubted(outcome) else Role.CONTEXT,
        )
        for outcome in claims[:20]
    ]


def _lead(causes: Sequence[JobCause]) -> tuple[JobCause | None, Decided]:
    """The job that the verdict is about: the first that failed with a cause, else the first that failed, else what can be said of all."""
    failed = [cause for cause in causes if cause.state is State.FAILED]
    explained = [
        cause for cause in failed if cause.primary is not None and cause.primary.category is not None
    ]
    if failed:
        lead = (explained or failed)[0]
        return lead, decide(lead)
    if causes and all(cause.state is State.PASSED for cause in causes):
        return causes[0], decide(causes[0])
    unclear = [cause for cause in causes if cause.state in (State.CANCELLED, State.UNKNOWN)]
    lead_or_none = unclear[0] if unclear else None
    return lead_or_none, Decided(Category.INCONCLUSIVE, Decision.NEED_EVIDENCE, Confidence.MEDIUM)


def _cause(candidate: Candidate) -> Cause:
    line, step = candidate.line, candidate.step
    return Cause(
        line.source,
        line.number,
        line.raw.strip(),
        candidate.signature,
        step.job or line.stream.job,
        step.label or None,
        line.stream.rank,
    )


def _others(causes: Sequence[JobCause], lead: JobCause | None) -> tuple[OtherCause, ...]:
    found: list[OtherCause] = []
    for cause in causes:
        candidates = ([cause.primary] if cause is not lead and cause.primary is not None else []) + list(
            cause.others
        )
        for candidate in candidates:
            if candidate.category is None:
                continue
            same = (
                lead is not None
                and lead.primary is not None
                and (candidate.signature, candidate.category)
                == (lead.primary.signature, lead.primary.category)
                and cause is lead
            )
            if same:
                continue
            told = _cause(candidate)
            found.append(
                OtherCause(
                    told.file,
                    told.line,
                    told.text,
                    told.signature,
                    candidate.category,
                    decision_of(candidate),
                    told.job,
                    told.step,
                    told.rank,
                )
            )
    return tuple(found[:10])


def _evidence(causes: Sequence[JobCause], lead: JobCause | None) -> list[Evidence]:
    found: list[Evidence] = []
    if lead is not None and lead.primary is not None:
        found.append(_line(lead.primary.line, Role.CAUSE))
        found += [
            _line(line, Role.CONTEXT)
            for line in lead.primary.context
            if line.number != lead.primary.line.number
        ][:6]
    for cause in causes:
        found += [
            _line(candidate.line, Role.CONSEQUENCE)
            for candidate in cause.consequences
            if lead is None or lead.primary is None or candidate.line is not lead.primary.line
        ][:8]
        if cause.step is not None and cause.step.end is not None:
            found.append(_line(cause.step.end, Role.CONSEQUENCE))
        found += [_line(candidate.line, Role.RECOVERED) for candidate in cause.recovered][:6]
    unique = {(piece.file, piece.line, piece.role): piece for piece in found}
    return list(unique.values())[:40]


def _line(line: Line, role: Role) -> Evidence:
    return Evidence(EvidenceKind.LOG, Trust.RAW, line.source, line.number, line.raw.strip(), role)


def _alternatives(
    scene: Scene, causes: Sequence[JobCause], lead: JobCause | None, decided: Decided
) -> tuple[Alternative, ...]:
    """The categories a reader could think of, and what in the evidence speaks against each."""
    if lead is None:
        return ()
    primary = lead.primary
    found: list[Alternative] = []
    seen = {decided.category}
    for candidate in lead.consequences:
        if candidate.category is not None and candidate.category not in seen:
            seen.add(candidate.category)
            found.append(
                Alternative(
                    candidate.category,
                    f"{candidate.line.source}:{candidate.line.number} ({candidate.signature}) follows from the cause and does not name it.",
                )
            )
    for candidate in lead.recovered:
        if candidate.category is not None and candidate.category not in seen:
            seen.add(candidate.category)
            found.append(
                Alternative(
                    candidate.category,
                    f"{candidate.line.source}:{candidate.line.number} ({candidate.signature}) was survived: the run went on after it.",
                )
            )
    if (
        primary is not None
        and primary.origin is Origin.TEST
        and decided.category is Category.CORRECTNESS
        and Category.METRIC_POLICY not in seen
    ):
        found.append(
            Alternative(
                Category.METRIC_POLICY,
                "The check that failed is one of exact behaviour, not of time, memory or coverage.",
            )
        )
    if (
        decided.category in (Category.METRIC_POLICY, Category.ML_REGRESSION)
        and Category.INFRA_RUNTIME not in seen
    ):
        found.append(
            Alternative(
                Category.INFRA_RUNTIME, "The logs hold no unrecovered failure of machine, network or runner."
            )
        )
    if decided.category is Category.INFRA_RUNTIME and Category.CORRECTNESS not in seen:
        found.append(
            Alternative(
                Category.CORRECTNESS,
                "No exception of the program's own comes before the failure of its surroundings.",
            )
        )
    return tuple(found[:6])


_ADVICE = {
    Decision.BLOCK: "Do not take the change as it is",
    Decision.ALLOW: "Nothing speaks against the change",
    Decision.RERUN: "Run it again, elsewhere or once the platform is repaired",
    Decision.FIX_CONFIG: "Correct the configuration, data, limit, pin or credential",
    Decision.FIX_CODE: "Correct the code or its tests",
    Decision.NEED_EVIDENCE: "Supply what is missing",
}


def _recommendation(lead: JobCause | None, decided: Decided) -> str:
    """What to do, and the signature's own advice."""
    base = _ADVICE[decided.decision]
    primary = lead.primary if lead is not None else None
    if primary is None or decided.category in (Category.INCONCLUSIVE, Category.UNSUPPORTED_CLAIM):
        return base + "."
    parts = [base + ": " + primary.why if primary.why else base + "."]
    if primary.hit is not None and primary.hit.signature.advice:
        parts.append(primary.hit.signature.advice)
    return " ".join(part if part.endswith(".") else part + "." for part in parts)


def _not_known(
    scene: Scene, causes: Sequence[JobCause], lead: JobCause | None, decided: Decided
) -> list[str]:
    """What the evidence leaves open, and which file would close it."""
    missing: list[str] = []
    if decided.category is Category.INCONCLUSIVE and lead is not None:
        if lead.why_none:
            missing.append(lead.why_none)
        missing += _files_that_decide(scene, lead)
        if lead.state is State.CANCELLED:
            missing.append(
                "Why the run was cancelled: the run's page names a time limit, a newer run, a failed sibling or a person."
            )
        if lead.state is State.UNKNOWN:
            missing.append("Whether the run failed: the log ends without saying how the run ended.")
        if lead.primary is not None and lead.primary.why:
            missing.append(lead.primary.why)
    for source in scene.reading.sources:
        last = scene.reading.of(source.name)[-1:]
        if (source.ends_in_line and not (last and closes(last[0]))) or not source.whole:
            missing.append(
                f"{source.name} ends in the middle of a line: what followed is not known."
                if source.ends_in_line
                else f"{source.name} could not be read to its end."
            )
    for gap in scene.reading.gaps[:10]:
        missing.append(f"{gap.path}: {gap.why}")
    return list(dict.fromkeys(missing))


def _files_that_decide(scene: Scene, lead: JobCause) -> list[str]:
    """The files that would hold the cause: error files and rank logs of the launcher, redirected output."""
    if lead.step is None:
        return []
    view = scene.view(lead.step)
    found: list[str] = []
    for end in view.ends:
        if end.first and end.rank is not None:
            file = end.error_file or f"attempt_0/{end.rank}/stderr.log of the launcher's log folder"
            found.append(
                f"What rank {end.rank} printed before it ended (exit code {end.exit_code}): {file} would decide."
            )
    cut = next((line for line in lead.step.lines if LOG_CUT.search(line.text[:400])), None)
    if cut is not None:
        found.append(
            f"What was printed after {cut.source}:{cut.number}, where the runner kept no more of the log, would decide."
        )
    redirected = next((match for line in lead.step.lines if (match := _REDIRECTED.search(line.text))), None)
    if redirected is not None and not _DISCARDED.search(redirected["path"]):
        found.append(f"The output of the step went to {redirected['path']}: that file would decide.")
    pointing = next((one for one in lead.consequences if points_elsewhere(one.line.text)), None)
    if pointing is not None:
        found.append(
            f"{pointing.line.source}:{pointing.line.number} points to what another process printed, which is not in the logs: "
            "that process's own log would decide."
        )
        if any(_DISCARDED.search(line.text) for line in lead.step.lines):
            found.append("Output of the step was discarded: it has to be run again with that output kept.")
    if lead.step.exit_code in (137, 247, -9):
        found.append(
            "Who ended the process: the kernel's log (dmesg), the scheduler's or the pod's record around that time would decide."
        )
    return list(dict.fromkeys(found)) or ["The whole output of the failed step would decide."]
