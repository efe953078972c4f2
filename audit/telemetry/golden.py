"""Recorded reference values: `{metric: {"values": {"1": 3.2, …}}}` as Megatron-LM's functional tests keep them, and the
plainer `{metric: {"1": 3.2, …}}`.
"""

import math
from collections.abc import Mapping

from audit.telemetry.artifact import Artifact
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, Telemetry
from audit.telemetry.numbers import value, whole

_MIN_STEPS = 1


def fits(document: object) -> bool:
    """Whether every object in it is a metric's values by step; text and numbers beside them are notes."""
    if not isinstance(document, dict):
        return False
    entries = [item for item in document.values() if isinstance(item, dict | list)]
    return bool(entries) and all(_steps(item) is not None for item in entries)


def _steps(item: object) -> Mapping[str, object] | None:
    if not isinstance(item, dict):
        return None
    inner = item.get("values")
    steps = inner if isinstance(inner, dict) else item
    keyed = all(isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 19 for key in steps)
    return steps if len(steps) >= _MIN_STEPS and keyed else None


def read(document: Mapping[str, object], artifact: Artifact) -> Telemetry:
    """One series a metric. A value that is text other than a number (`"nan"`) is not finite, as the comparators read it."""
    collector = Collector(Format.GOLDEN)
    run = artifact.file.split(".")[0]
    for name, item in document.items():
        for key, held in (_steps(item) or {}).items():
            step, found = whole(key), value(held)
            if step is not None and held is not None:
                collector.add(name, step, math.nan if found is None else found, run=run, source=artifact.name)
            elif held is None:
                collector.null(name, run=run, source=artifact.name)
    return Telemetry(series=collector.series(), files=(artifact.name,))
