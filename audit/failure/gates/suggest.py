"""A tolerance for a gate that is too tight: only from measured noise, never from the miss itself."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.gates.model import GateOutcome
from audit.failure.gates.rundata import same_metric
from audit.telemetry.model import Format, Telemetry

DEVIATIONS: Final = 3.0
"""Standard deviations that an unchanged program stays within, 997 times of 1000."""
MIN_RUNS: Final = 5
"""Fewer runs measure no deviation: of four the estimate is off by half as often as not."""


def suggested_tolerance(gate: GateOutcome, telemetry: Telemetry) -> Fact | None:
    """The relative tolerance that measured noise justifies, as three standard deviations; None where none was measured.

    Noise is what the repository states for the reference, else the deviation of the metric's last values over five or more
    repeated runs.
    """
    if gate.noise is not None and gate.noise > 0:
        place = next((o.place for o in gate.origins if o.kind in ("stored", "constant")), gate.path)
        return Fact(
            name="suggested_relative_tolerance",
            value=DEVIATIONS * gate.noise,
            formula=f"{DEVIATIONS:g} * relative run-to-run deviation that the repository states",
            inputs=(FactInput("noise", gate.noise, place),),
        )
    lasts = _last_values(gate.metric, telemetry) if gate.metric else []
    values = [value for value, _ in lasts]
    if len(values) < MIN_RUNS or not fmean(values):
        return None
    noise = stdev(values) / abs(fmean(values))
    if not 0 < noise < 0.5:  # no spread measures nothing; half the value is no repetition of one experiment
        return None
    return Fact(
        name="suggested_relative_tolerance",
        value=DEVIATIONS * noise,
        formula=f"{DEVIATIONS:g} * standard deviation (n - 1) / mean of the last values of {len(values)} runs",
        inputs=tuple(FactInput("last value", value, place) for value, place in lasts[:20]),
    )


def _last_values(metric: str, telemetry: Telemetry) -> Sequence[tuple[float, str]]:
    """The last finite value of the metric in each run."""
    found: dict[str, tuple[float, str]] = {}
    for series in telemetry.series:
        if series.format is Format.GOLDEN or not len(series) or same_metric(metric, series.name) < 2:
            continue
        point = series.point(-1)
        if math.isfinite(point.value):
            found.setdefault(series.run, (point.value, series.place(point)))
    return list(found.values())
