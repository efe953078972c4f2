"""Golden values that no comparison of the checkout was seen to use: by the rules of the functional tests whose files they look like."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from audit.failure.gates.checkout import Checkout
from audit.failure.gates.facts import with_facts
from audit.failure.gates.model import GateOutcome, Origin, Subject
from audit.failure.gates.paired import pair, stored_series
from audit.failure.gates.rundata import RunData, folded
from audit.failure.gates.subjects import subject_of
from audit.telemetry.model import Format, Telemetry

MAX_FILES: Final = 40
GOLDEN_FILE: Final = re.compile(r"(^|/)[^/]*(golden|expected|reference|baseline)[^/]*\.json$", re.IGNORECASE)

# Megatron-LM's functional tests: relative tolerance of the approximate check by metric; the reference value is the golden one.
RTOL: Final = 0.05
RTOL_ZEROS: Final = 0.20


def golden_outcomes(
    checkout: Checkout, telemetry: Telemetry, data: RunData, known: Sequence[GateOutcome]
) -> list[GateOutcome]:
    """An outcome for each metric of a golden file that has a series in the run and is not among `known`."""
    seen = {
        (o.place, folded(g.metric))
        for g in known
        if g.series is not None
        for o in g.origins
        if o.kind == "stored"
    }
    made = []
    for place, metric, golden in _goldens(checkout, telemetry):
        if (place, folded(metric)) in seen:
            continue
        series = data.one(metric)
        if series is None:
            continue
        outcome = _approximate(place, metric, golden, {p.step: p.value for p in series.settled()})
        if outcome is not None:
            made.append(with_facts(outcome, data))
    return made


def _goldens(checkout: Checkout, telemetry: Telemetry) -> Iterator[tuple[str, str, Mapping[int, float]]]:
    for path in [p for p in checkout.paths if GOLDEN_FILE.search(p)][:MAX_FILES]:
        document = checkout.data(path)
        if isinstance(document, dict):
            yield from ((path, name, found) for name, found in _blocks(document))
    for series in telemetry.series:
        if series.format is Format.GOLDEN:
            yield series.source, series.name, {p.step: p.value for p in series.settled()}


def _blocks(document: dict[str, Any]) -> Iterator[tuple[str, dict[int, float]]]:
    for name, block in document.items():
        found = stored_series(block)
        if found and len(found) > 1:
            yield name, found


def allowance(steps: int) -> int:
    """How many steps of an approximate check may be outside: one in a hundred, at least one, at most fifty; none of a single one."""
    return 0 if steps <= 1 else min(max(steps // 100, 1), 50)


def _approximate(
    place: str, metric: str, golden: Mapping[int, float], actual: Mapping[int, float]
) -> GateOutcome | None:
    rtol = RTOL_ZEROS if folded(metric) == "numzeros" else RTOL
    # The functional tests compare values of five decimals.
    rounded = {step: round(value, 5) if abs(value) < 1e9 else value for step, value in actual.items()}
    may = allowance(len(golden))
    series = pair(rounded, golden, over=lambda a, g: abs(a - g) > rtol * abs(g), allowance=may)
    if series is None:
        return None
    subject = subject_of(metric) or Subject.QUALITY
    timing = subject in (Subject.PERFORMANCE, Subject.MEMORY)
    outside = (series.over or 0) + series.missing
    return GateOutcome(
        name=f"golden values: {metric}",
        path=place,
        line=1,
        symbol=metric,
        rule=f"abs(actual - golden) <= {rtol:g} * abs(golden), {may} of {len(golden)} steps may fail",
        subject=subject,
        passed=None if timing else outside <= may,
        metric=metric,
        operator="close",
        rtol=rtol,
        atol=0.0,
        series=series,
        origins=(Origin("stored", metric, place),),
        why="no comparison of the checkout was found to use these values"
        + ("; times are compared by their median" if timing else ""),
    )
