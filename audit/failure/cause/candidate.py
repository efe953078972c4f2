"""A line that may name the cause, with what is known of it."""

from enum import IntEnum, StrEnum

import msgspec

from audit.documents.verdict import Category
from audit.failure.model import Hit, Line
from audit.failure.structure.comparison import Comparison
from audit.failure.structure.steps import Step


class Strength(IntEnum):
    """How much a line says by itself. Higher is more."""

    CASCADE = 1  # says itself that the cause is elsewhere
    CONFIRMING = 2  # locates or confirms a failure, names no cause
    GENERIC = 3  # an uncaught exception or a failed check without a known signature
    NAMED = 4  # a signature known as a root
    CONFIRMED = 5  # the machine's own record: kernel, hardware, scheduler


class Outcome(StrEnum):
    """What became of the event."""

    RECOVERED = "recovered"
    PROGRESSED = "progressed_after"
    TERMINAL = "terminal"
    UNRESOLVED = "unresolved"


class Origin(StrEnum):
    """How it was found."""

    TEST = "test"
    EXCEPTION = "exception"
    GATE = "gate"
    SIGNATURE = "signature"
    MACHINE = "machine"
    TRAINING = "training"
    LIMIT = "limit"
    CRASH = "crash"
    CLAIM = "claim"


class Candidate(msgspec.Struct, frozen=True):
    """A line that may name the cause. `category` is None where the line alone does not decide it. `sure`: the line and its
    surroundings leave no other category; `failing`: the tests, gates or ranks that failed by it; `count`: events like it.
    `why`: one sentence for the verdict. `at`: seconds since 1970 at which it took effect (a timeout began to wait, not ended).
    """

    line: Line
    signature: str
    category: Category | None
    strength: Strength
    origin: Origin
    step: Step
    outcome: Outcome = Outcome.TERMINAL
    sure: bool = False
    hit: Hit | None = None
    comparison: Comparison | None = None
    failing: tuple[str, ...] = ()
    count: int = 1
    why: str = ""
    at: float | None = None
    kind: str = ""
    context: tuple[Line, ...] = ()

    @property
    def rank(self) -> int | None:
        """The rank that wrote the line."""
        return self.line.stream.rank


def gate_did_not_run(
    line: Line,
    step: Step,
    why: str,
    *,
    failing: tuple[str, ...] = (),
    strength: Strength = Strength.NAMED,
    sure: bool = False,
) -> Candidate:
    """A gate that looked at nothing, told by `line`. `failing`: what to call it, else its step."""
    return Candidate(
        line,
        "gate_did_not_run",
        Category.METRIC_POLICY,
        strength,
        Origin.GATE,
        step,
        sure=sure,
        failing=failing or (step.label,),
        why=why,
    )
