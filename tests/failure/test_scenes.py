"""Whole analyses of small logs of our own, each after the facts of a known kind of failure."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from audit.documents.verdict import Confidence
from audit.engine.failure import FailureEffects, FailureOptions, analyse

SCENES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "scenes.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene["id"])
def test_the_verdict_on_a_scene(scene: dict[str, Any], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    text = scene["log"] if scene.get("newline", True) else scene["log"].rstrip("\n")
    log.write_text(text, encoding="utf-8")
    verdict = analyse(FailureOptions((str(log),)), FailureEffects(os.environ)).verdict
    categories = [scene["category"], *scene.get("also_category", [])]
    assert verdict.category.value in categories
    assert verdict.decision.value in [scene["decision"], *scene.get("also_decision", [])]
    if verdict.category.value != scene["category"]:
        assert verdict.confidence is not Confidence.HIGH
    elif scene["line"] is None:
        assert verdict.cause is None
    else:
        assert verdict.cause is not None
        assert any(part in verdict.cause.text for part in [scene["line"], *scene.get("also", [])])
        assert verdict.cause.text == text.split("\n")[verdict.cause.line - 1].strip()
