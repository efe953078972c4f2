"""The rules name signatures of the catalogue: none that is not there."""

from pathlib import Path

import pytest
import yaml

import audit.failure
from audit.failure import decide
from audit.failure.cause import classify, devices, environment, signatures, training

CATALOGUE = [
    yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((Path(audit.failure.__file__).parent / "catalogue").glob("*.yaml"))
]
NAMES = {
    name
    for family in CATALOGUE
    for entry in family["signatures"]
    for name in (entry["id"], entry.get("name"))
}
OWN = {
    "step_time_limit",
    "test_time_limit",
    "tolerance_too_tight",
    "policy_gate",
    "gate_did_not_run",
    "gate_reads_missing_key",
    "better_than_bound",
    "value_error",
}
"""Names that the rules themselves give."""


@pytest.mark.parametrize(
    "named",
    [
        decide.DETERMINISTIC,
        decide._LIMIT_IS_WRONG,
        decide._TESTS_MISSING,
        decide._ARGUABLE,
        environment._SYMPTOM_SIGNATURES,
        environment._BROKEN_SIGNATURES,
        environment._WRITES,
        devices._LOST,
        training._STOPPED,
        signatures._NOTICES,
        signatures._BEFORE_START,
        signatures._TAKEN_AWAY,
        classify.STRUCTURAL,
    ],
)
def test_every_name_is_known(named: frozenset[str]) -> None:
    assert named - NAMES - OWN == set()


def test_every_family_is_known() -> None:
    families = {family["family"] for family in CATALOGUE}
    assert families >= signatures.ENVIRONMENT | decide._CLOSED
