"""The gate over a drift: whether what changed in the experiment lets a change pass. Pure, and computed before anything is rendered."""

from audit.documents.drift import Drift, DriftSeverity

THRESHOLDS = ("high", "medium_high", "medium", "low", "never")
"""What `--fail-on` of `diff` and the action's `fail-on-drift` may be."""


def closes(drift: Drift, fail_on: str) -> bool:
    """Whether a change at or above the threshold is among those that the drift counts, shown or not."""
    if fail_on == "never":
        return False
    least = DriftSeverity[fail_on.upper()].rank
    return any(number and DriftSeverity(name).rank >= least for name, number in drift.summary.items())
