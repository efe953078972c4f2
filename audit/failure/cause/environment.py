"""The environment's failure stands before the symptom: a download that failed before a file is missing, a full disk before a broken archive."""

import re

from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene
from audit.failure.cause.signatures import ENVIRONMENT
from audit.failure.cause.signatures import find as signatures
from audit.failure.structure.steps import Job

_SYMPTOMS = frozenset(
    "FileNotFoundError JSONDecodeError UnpicklingError EOFError BadZipFile LocalEntryNotFoundError ModuleNotFoundError OSError ReadError "
    "HeaderTooLarge SafetensorError "
    "UnidentifiedImageError ParserError ArrowInvalid EntryNotFoundError ImportError".split()
)
_SYMPTOM_SIGNATURES = frozenset(
    "no_matching_distribution file_not_found file_unreadable module_not_found hub_offline hub_repository_not_found json_invalid "
    "artifact_missing shell_error command_not_found wheel_build_failed".split()
)
_NO_VERSIONS = re.compile(r"from versions: none|No matching distribution")


def root_before(scene: Scene, job: Job, found: Candidate) -> Candidate | None:
    """An unrecovered failure of the environment before a candidate that is a symptom of such failures, None where there is none."""
    if found.kind.rpartition(".")[2] not in _SYMPTOMS and found.signature not in _SYMPTOM_SIGNATURES:
        return None
    earlier: list[Candidate] = []
    for step in job.steps:
        if step.teardown:
            continue
        for candidate in signatures(scene.view(step)):
            if not _is_environment(candidate, found):
                continue
            same = step is found.step
            if not same and candidate.outcome in (Outcome.PROGRESSED, Outcome.RECOVERED):
                continue
            if same and candidate.outcome is Outcome.RECOVERED:
                continue
            earlier.append(candidate)
        if step is found.step:
            break
    return earlier[0] if earlier else None


def _is_environment(candidate: Candidate, found: Candidate) -> bool:
    hit = candidate.hit
    if (
        hit is None
        or hit.signature.family not in ENVIRONMENT
        or hit.signature.role != "root"
        or candidate.strength < Strength.NAMED
    ):
        return False
    if (
        candidate.signature in _SYMPTOM_SIGNATURES
        or candidate.signature == found.signature
        or candidate.origin is not Origin.SIGNATURE
    ):
        return False
    return candidate.line.source != found.line.source or candidate.line.number < found.line.number
