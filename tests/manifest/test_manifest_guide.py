"""The guide's examples are manifests and profiles, by our reader and by the exported schema."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from audit.cli.schema_command import schema_text
from audit.documents.manifest import Manifest
from audit.profiles.own import own_profiles
from audit.rules.catalogue import RULES
from audit.state.manifest_reading import read_declared

GUIDE = (Path(__file__).parents[2] / "docs" / "manifest.md").read_text("utf-8")
_EXAMPLE = re.compile(r"<!-- example: (\w+) -->\n```yaml\n(.*?)^```$", re.M | re.S)


def examples(kind: str) -> list[str]:
    return [text for found, text in _EXAMPLE.findall(GUIDE) if found == kind]


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def test_there_are_examples() -> None:
    assert (len(examples("manifest")), len(examples("profile"))) == (2, 1)
    assert GUIDE.count("```yaml") == 3


@pytest.mark.parametrize("text", examples("manifest"))
def test_they_are_manifests(text: str) -> None:
    read_declared(text.encode())
    jsonschema.validate(plain(text), json.loads(schema_text("manifest")))


def test_the_first_one_shows_every_section() -> None:
    declared = read_declared(examples("manifest")[0].encode())
    shown = set(declared.manifest.model_fields_set) | {"stages", "privacy"}
    assert shown == set(Manifest.model_fields)
    assert declared.state.leaves["training.learning_rate"].value == 2e-5


def test_the_profile_is_one() -> None:
    (text,) = examples("profile")
    own_profiles([(".ml-audit/profiles/ablation.yaml", text.encode())], [rule.id for rule in RULES])
    jsonschema.validate(plain(text), json.loads(schema_text("profile")))


def test_the_example_leaves_no_question_open() -> None:
    """At level 1 the example passes every rule that can be told from it alone."""
    from audit.documents.finding import Status
    from audit.rules.catalogue import run
    from tests.rules.declaring import LEVEL_1, with_manifest

    given = with_manifest(examples("manifest")[0], {"prompts/answer.txt": "Answer."})
    left = {f.rule: f.message for f in run(given, LEVEL_1) if f.status is Status.FAIL}
    left.pop("exec.profile_detection_mismatch")  # there is no code
    assert left == {}


@pytest.mark.parametrize(
    "text",
    [
        "trainin: {}",
        "training: {lr: 1}",
        "generation: {temperature: 3}",
        "models: {Primary: {}}",
        "prompts: {a: {few: 1}}",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain(text), json.loads(schema_text("manifest")))
