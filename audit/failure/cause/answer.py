"""What was found for one job."""

from enum import StrEnum

import msgspec

from audit.failure.cause.candidate import Candidate
from audit.failure.structure.steps import Job, Step


class State(StrEnum):
    """Whether something failed at all."""

    FAILED = "failed"
    PASSED = "passed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class JobCause(msgspec.Struct, frozen=True):
    """What was found for one job. `primary` is None where nothing failed or nothing says why; `why_none` then says what is missing."""

    job: Job
    state: State
    step: Step | None
    primary: Candidate | None
    others: tuple[Candidate, ...] = ()
    consequences: tuple[Candidate, ...] = ()
    recovered: tuple[Candidate, ...] = ()
    why_none: str = ""
