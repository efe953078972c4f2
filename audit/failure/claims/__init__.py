"""Claims of a change's text, held against raw telemetry."""

from audit.failure.claims.check import check
from audit.failure.claims.model import ClaimOutcome, Family

__all__ = ["ClaimOutcome", "Family", "check"]
