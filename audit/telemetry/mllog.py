"""MLPerf's `:::MLLOG` lines (source: mlcommons/logging, `mlperf_logging/mllog`)."""

import json
from collections.abc import Sequence

from audit.documents.place import Gap
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.building import Collector
from audit.telemetry.flatten import settings
from audit.telemetry.model import Format, MlEvent, Run, Scalar, Telemetry
from audit.telemetry.numbers import value, whole

MARK = ":::MLLOG"
MAX_EVENTS = 200_000
_MAX_LINE = 64 * 1024
_STEP_KEYS = ("step_num", "samples_count", "epoch_num", "step", "epoch")
"""Entries of the metadata that say where in the training a value was taken; the first that is there counts."""


def is_log(artifact: Artifact) -> bool:
    """Whether such a line stands near its start."""
    return MARK.encode() in artifact.head


def event(text: str, source: str, line: int) -> MlEvent | None:
    """The event of one line, None where it holds none. What stands before the mark is a prefix of a launcher."""
    at = text.find(MARK)
    if at < 0 or len(text) > _MAX_LINE:
        return None
    try:
        document = json.loads(text[at + len(MARK) :])
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("key"), str):
        return None
    held = document.get("value")
    metadata = document.get("metadata")
    time = value(document.get("time_ms"))
    return MlEvent(
        source=source,
        line=line,
        time_ms=float("nan") if time is None else time,
        kind=str(document.get("event_type") or ""),
        key=document["key"],
        value=held if isinstance(held, str | int | float | bool) else None,
        metadata=settings(metadata) if isinstance(metadata, dict) else {},
    )


def read(files: Sequence[Artifact]) -> Telemetry:
    """The events of one log, the evaluations among them as series."""
    artifact = files[0]
    events: list[MlEvent] = []
    gaps: list[Gap] = []
    broken = 0
    try:
        for line, raw in enumerate(artifact.lines(), 1):
            if b":::MLLOG" not in raw:
                continue
            found = event(raw.decode("utf-8", "replace"), artifact.name, line)
            if found is None:
                broken += 1
            elif len(events) < MAX_EVENTS:
                events.append(found)
    except DAMAGED:
        gaps.append(Gap(artifact.name, "damaged: it does not unpack to its end"))
    if broken:
        gaps.append(Gap(artifact.name, f"{broken} :::MLLOG lines are no JSON"))
    if len(events) == MAX_EVENTS:
        gaps.append(Gap(artifact.name, f"holds more than {MAX_EVENTS:,} events: read up to there"))
    found_all = gathered(events, artifact.name)
    return Telemetry(
        series=found_all.series,
        runs=found_all.runs,
        events=tuple(events),
        files=(artifact.name,),
        gaps=tuple(gaps),
    )


def gathered(events: Sequence[MlEvent], run: str) -> Telemetry:
    """The events of one run as series (evaluations) and a run record (status, times, settings)."""
    collector = Collector(Format.MLLOG)
    known: dict[str, Scalar] = {}
    status, started, ended = None, None, None
    for entry in events:
        if entry.key == "run_start":
            started = entry.time_ms / 1000
        elif entry.key == "run_stop":
            ended = entry.time_ms / 1000
            status = str(entry.metadata.get("status") or "") or None
        elif (
            entry.key.startswith("eval_") and value(entry.value) is not None and entry.kind == "POINT_IN_TIME"
        ):
            axis = next((key for key in _STEP_KEYS if whole(entry.metadata.get(key)) is not None), "row")
            step = whole(entry.metadata.get(axis)) if axis != "row" else None
            collector.add(
                entry.key, len(events) if step is None else step, value(entry.value) or 0.0,
                run=run, source=entry.source, axis=axis, time=entry.time_ms / 1000, line=entry.line,
            )  # fmt: skip
        elif entry.kind == "POINT_IN_TIME" and entry.value is not None:
            known[entry.key] = entry.value
    if not events:
        return Telemetry()
    record = Run(
        name=run, source=events[0].source, format=Format.MLLOG, settings=known, status=status,
        started=started, ended=ended,
    )  # fmt: skip
    return Telemetry(series=collector.series(), runs=(record,))
