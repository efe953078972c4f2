"""A tolerance is suggested from measured noise alone."""

import json

import msgspec
import pytest

from audit.failure.gates import GateOutcome, Subject, suggested_tolerance
from audit.telemetry.model import Telemetry, joined
from audit.telemetry.registry import read_bytes

GATE = GateOutcome(
    "g",
    "gate.py",
    3,
    "",
    "a <= b",
    Subject.PERFORMANCE,
    False,
    metric="tps",
    operator=">=",
    actual=93.0,
    limit=95.0,
)


def runs(*lasts: float) -> Telemetry:
    return joined(
        [
            read_bytes(
                f"seed{i}.jsonl", "\n".join(json.dumps({"step": s, "tps": v}) for s in (1, 2)).encode()
            )
            for i, v in enumerate(lasts)
        ]
    )


def test_from_the_deviation_that_the_repository_states() -> None:
    fact = suggested_tolerance(msgspec.structs.replace(GATE, noise=0.02), Telemetry())
    assert fact is not None
    assert fact.value == pytest.approx(0.06)


def test_from_five_runs() -> None:
    fact = suggested_tolerance(GATE, runs(98.0, 99.0, 100.0, 101.0, 102.0))
    assert fact is not None
    assert fact.value == pytest.approx(3 * 1.5811388 / 100)
    assert len(fact.inputs) == 5


@pytest.mark.parametrize(
    "lasts", [(), (93.0,), (98.0, 99.0, 100.0, 101.0), (100.0,) * 6, (1.0, 5.0, 100.0, 7.0, 300.0)]
)
def test_what_measures_no_noise_suggests_nothing(lasts: tuple[float, ...]) -> None:
    assert suggested_tolerance(GATE, runs(*lasts)) is None
