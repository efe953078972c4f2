"""Gates of a checkout: the comparisons that decide whether a job is green, found in the code and done again on raw numbers."""

from audit.failure.gates.assertion import assertion_numbers
from audit.failure.gates.evaluate import evaluate
from audit.failure.gates.model import Assertion, GateOutcome, NotRun, Origin, Subject
from audit.failure.gates.notrun import not_run
from audit.failure.gates.suggest import suggested_tolerance

__all__ = [
    "Assertion",
    "GateOutcome",
    "NotRun",
    "Origin",
    "Subject",
    "assertion_numbers",
    "evaluate",
    "not_run",
    "suggested_tolerance",
]
