"""MLPerf training: the score, whether it converged, and the test against the reference convergence points.

Source of the rules: mlcommons/logging `mlperf_logging/rcp_checker` and the training rules, section "RCP".
"""

import math
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.formulas import mean, t_tail
from audit.failure.facts.make import fact
from audit.telemetry.model import MlEvent, Series, Telemetry
from audit.telemetry.numbers import value

_SIGNIFICANCE = 0.05
_REFERENCE = "epochs to converge"


def scores(telemetry: Telemetry) -> Iterator[Fact]:
    """The time to train of each run, how many converged, and the mean without the best and the worst."""
    runs: dict[str, list[MlEvent]] = {}
    for event in telemetry.events:
        runs.setdefault(event.source, []).append(event)
    times: list[float] = []
    ended = converged = 0
    for source, events in list(runs.items())[:50]:
        start, stop = (_last(events, key) for key in ("run_start", "run_stop"))
        if start is None:
            continue
        status = str(stop.metadata.get("status")) if stop is not None else "no run_stop"
        ended += 1
        converged += status == "success"
        if stop is None or not math.isfinite(stop.time_ms - start.time_ms):
            continue
        seconds = (stop.time_ms - start.time_ms) / 1000
        suffix = f" [{source}]" if len(runs) > 1 else ""
        if len(times) < 5:
            inputs = [FactInput(e.key, e.time_ms, f"{e.source}:{e.line}") for e in (start, stop)]
            yield fact(
                f"time_to_train{suffix}",
                seconds,
                "(run_stop.time_ms - run_start.time_ms) / 1000",
                inputs,
                unit="s",
            )
            yield fact(
                f"time_to_train_minutes{suffix}", seconds / 60, "time to train / 60", inputs, unit="min"
            )
        if status == "success":
            times.append(seconds)
        yield from _evaluations(events, suffix)
    if ended > 1:
        yield fact("converged_runs", converged, 'runs whose run_stop says "success"')
        yield fact("finish_rate", converged / ended, "converged runs / runs")
    if len(times) > 2:
        yield fact(
            "score_seconds", olympic(times), "mean time to train without the best and the worst", unit="s"
        )


def _last(events: Sequence[MlEvent], key: str) -> MlEvent | None:
    return next((event for event in reversed(events) if event.key == key), None)


def _evaluations(events: Sequence[MlEvent], suffix: str) -> Iterator[Fact]:
    last = next(
        (e for e in reversed(events) if e.key.startswith("eval_") and value(e.value) is not None), None
    )
    if last is not None:
        found = value(last.value)
        yield fact(
            f"final_{last.key}{suffix}",
            found or 0.0,
            f"last {last.key}",
            [FactInput(last.key, found, f"{last.source}:{last.line}")],
        )


def olympic(values: Sequence[float], drop: int = 1) -> float:
    """The mean without the `drop` smallest and largest, of at least 2 * drop + 1 values; else the mean."""
    ordered = sorted(values)
    return mean(ordered[drop:-drop] if len(ordered) > 2 * drop else ordered)


def epochs_to_converge(events: Sequence[MlEvent]) -> float | None:
    """The epoch (or sample count) at which a run stopped with success, None for one that did not."""
    stop = _last(events, "run_stop")
    if stop is None or stop.metadata.get("status") != "success":
        return None
    for event in (stop, *reversed(events)):
        for key in ("epoch_num", "samples_count", "epoch_count"):
            found = value(event.metadata.get(key))
            if found is not None:
                return found
    return None


def reference_test(submission: Sequence[float], reference: Sequence[float]) -> Iterator[Fact]:
    """Whether a submission converges faster than the reference allows: the least acceptable mean by a one-sided t-test with
    alpha 0.05 and equal variances, and the factor by which the score is scaled above it.
    """
    if len(submission) < 2 or len(reference) < 3:
        return
    centre, own = olympic(reference), olympic(submission)
    middle = mean(reference)
    spread = math.sqrt(mean([(x - middle) * (x - middle) for x in reference]))
    least = _least_mean(centre, spread, len(reference), len(submission))
    inputs = [FactInput("reference runs", len(reference)), FactInput("submission runs", len(submission))]
    yield fact(
        "rcp_mean", centre, "mean of the reference's epochs to converge without best and worst", inputs
    )
    yield fact(
        "submission_mean", own, "mean of the submission's epochs to converge without best and worst", inputs
    )
    yield fact(
        "rcp_least_acceptable_mean",
        least,
        "smallest mean that a one-sided t-test (0.05) does not refuse",
        inputs,
    )
    yield fact("rcp_passed", int(own >= least), "1 where the submission's mean is at least that", inputs)
    if least <= own < centre:
        yield fact("score_scale", centre / own, "reference mean / submission mean", inputs)


def _least_mean(centre: float, spread: float, n: int, m: int) -> float:
    low, high = 0.0, centre
    for _ in range(100):
        middle = (low + high) / 2
        error = spread * math.sqrt(1 / n + 1 / m)
        refused = error == 0 or t_tail((centre - middle) / error, n + m - 2) < _SIGNIFICANCE
        low, high = (middle, high) if refused else (low, middle)
    return high


def reference_series(telemetry: Telemetry) -> Series | None:
    """The reference convergence points among what was read: a list named so, as the reference files have it."""
    return next((s for s in telemetry.series if s.name.lower() == _REFERENCE), None)


def compliance(telemetry: Telemetry) -> Iterator[Fact]:
    """The scores, and the test where reference points are there."""
    yield from scores(telemetry)
    reference = reference_series(telemetry)
    if reference is None:
        return
    by_source: dict[str, list[MlEvent]] = {}
    for event in telemetry.events:
        by_source.setdefault(event.source, []).append(event)
    found = [epochs for events in by_source.values() if (epochs := epochs_to_converge(events)) is not None]
    yield from reference_test(found, list(reference.values))
