"""Eight dimensions of 0 to 10, and their weighted mean.

A dimension starts at 10 and loses the points of each of its rules that fails, once a rule however often it fails: at the rule's own
severity all of them, one step below half, two steps below a quarter. It never falls below 0: the smallest losses are cut first, so that
what is named always adds up to what was lost. A dimension of which no rule passed or failed (its rules do not apply, or could
not look, or are all suppressed) has no score and takes no part in the mean.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from audit.documents.finding import Finding, Severity, Status
from audit.documents.report import Dimension, Dimensions, Loss

WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "environment": 0.22,
        "determinism": 0.22,
        "documentation": 0.12,
        "testing": 0.10,
        "ci_cd": 0.08,
        "benchmarking": 0.06,
        "data": 0.12,
        "configuration": 0.08,
    }
)
"""Shares of the whole; they add up to 1. What decides whether the same numbers come out again (packages, randomness) weighs most, then
data and the instructions to run it; tests, CI, configuration and benchmarks show that it keeps working."""

FULL = 10.0


class Cost(msgspec.Struct, frozen=True):
    """What a rule costs: `points` in `dimension` ("" for none) where it fails at its own severity."""

    severity: Severity
    dimension: str
    points: float


def dimensions(findings: Iterable[Finding], costs: Mapping[str, Cost]) -> Dimensions:
    """The eight dimensions. `costs` by the rule's id; findings of a rule that is not among them, or of no dimension, cost nothing."""
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.rule in costs and finding.status in (Status.PASS, Status.FAIL):
            by_rule[finding.rule].append(finding)
    judged: set[str] = set()
    losses: dict[str, list[Loss]] = defaultdict(list)
    for name, found in by_rule.items():
        cost = costs[name]
        judged.add(cost.dimension)
        failing = [finding for finding in found if finding.status is Status.FAIL]
        if failing and cost.points > 0:
            losses[cost.dimension].append(_loss(name, cost, failing))
    return Dimensions(**{name: _dimension(name, name in judged, losses[name]) for name in WEIGHTS})


def overall(parts: Dimensions) -> float:
    """The weighted mean of the dimensions that have a score, to one decimal; 0.0 where none has one."""
    scored = [
        (part.score, part.weight) for part in map(parts.__getattribute__, WEIGHTS) if part.score is not None
    ]
    weight = sum(share for _, share in scored)
    return round(sum(score * share for score, share in scored) / weight, 1) if weight else 0.0


def _loss(rule: str, cost: Cost, failing: Sequence[Finding]) -> Loss:
    worst = max(failing, key=lambda finding: finding.severity.rank)
    steps = max(cost.severity.rank - worst.severity.rank, 0)
    points = cost.points / 2**steps
    more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
    return Loss(rule, points, worst.message + more)


def _dimension(name: str, judged: bool, losses: list[Loss]) -> Dimension:
    if not judged:
        return Dimension(None, WEIGHTS[name])
    kept: list[Loss] = []
    left = FULL
    for loss in sorted(losses, key=lambda loss: (-loss.points, loss.rule)):
        taken = round(min(loss.points, left), 2)
        if taken <= 0:
            break
        kept.append(Loss(loss.rule, taken, loss.message))
        left = round(left - taken, 2)
    return Dimension(left, WEIGHTS[name], tuple(kept))
