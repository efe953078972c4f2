"""The gate over a drift: whether what changed in the experiment lets a change pass. Pure, and computed before anything is rendered."""

import msgspec

from audit.assess.gate import Gate
from audit.documents.drift import Drift, DriftSeverity

THRESHOLDS = ("high", "medium_high", "medium", "low", "never")
"""What `--fail-on` of `diff` and the action's `fail-on-drift` may be."""


def closes(drift: Drift, fail_on: str) -> bool:
    """Whether a change at or above the threshold is among those that the drift counts, shown or not."""
    if fail_on == "never":
        return False
    least = DriftSeverity[fail_on.upper()].rank
    return any(number and DriftSeverity(name).rank >= least for name, number in drift.summary.items())


def worst(drift: Drift) -> DriftSeverity | None:
    """The gravest severity that a change of the experiment has; None where nothing changed that counts."""
    found = [DriftSeverity(name) for name, number in drift.summary.items() if number]
    gravest = max(found, key=lambda severity: severity.rank, default=DriftSeverity.NONE)
    return None if gravest is DriftSeverity.NONE else gravest


def with_drift(gate: Gate, drift: Drift | None, fail_on: str | None, *, expected: bool) -> Gate:
    """The gate with the drift asked too. `expected`: what is audited is a change, so that there has to be a drift: one that could not be computed
    must not let through what a computed one might have stopped."""
    if fail_on in (None, "never"):
        return gate
    if drift is None:
        return _closed(gate, f"the drift is not known (fail-on-drift: {fail_on})") if expected else gate
    if not closes(drift, fail_on or "never"):
        return gate
    return _closed(gate, f"the experiment changed at or above {fail_on}")


def _closed(gate: Gate, why: str) -> Gate:
    return msgspec.structs.replace(gate, passed=False, drift=why)
