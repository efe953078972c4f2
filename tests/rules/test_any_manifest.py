"""Rules over manifests of every kind: none of them fails on one that is valid."""

from functools import cache

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.documents.manifest import settings as declarable
from audit.profiles import profiles
from audit.rules.catalogue import RULES, run
from audit.state.manifest_reading import read_declared
from tests.rules.declaring import with_manifest
from tests.rules.test_level_1 import FILES

TRIED = (
    "x",
    1,
    0.5,
    True,
    ["a", "b"],
    "huggingface",
    "openai",
    "--x",
    "a.yaml:b",
    {"a": {"b": [1]}},
    "a/b.py",
    0,
    2.5,
    [],
)
OUTERMOST = ("schema_version", "experiment.profiles", "bindings", "stages")


def placed(path: str, value: object) -> dict[str, object]:
    whole: object = value
    for part in reversed(path.replace(".*.", ".primary.").split(".")):
        whole = {"k" if part == "*" else part: whole}
    assert isinstance(whole, dict)
    return whole


@cache
def valid_values() -> dict[str, tuple[object, ...]]:
    """Values that each setting takes."""
    found = {}
    for path in declarable():
        if not path.startswith(OUTERMOST):
            found[path] = tuple(value for value in TRIED if _is_valid(placed(path, value)))
    return found


def _is_valid(manifest: dict[str, object]) -> bool:
    try:
        read_declared(yaml.safe_dump(manifest).encode())
    except DocumentError:
        return False
    return True


def merged(into: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    for key, value in other.items():
        below = into.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged(below, value)
        else:
            into[key] = value
    return into


def test_every_setting_takes_some_value() -> None:
    assert [path for path, values in valid_values().items() if not values] == []


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(st.data())
def test_no_rule_fails_on_a_valid_manifest(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(sorted(valid_values())), max_size=15, unique=True))
    manifest: dict[str, object] = {
        "experiment": {"profiles": data.draw(st.lists(st.sampled_from(sorted(profiles())), max_size=3))}
    }
    for path in chosen:
        merged(manifest, placed(path, data.draw(st.sampled_from(valid_values()[path]))))
    if data.draw(st.booleans()):
        manifest = {"experiment": manifest.pop("experiment"), "stages": {"one": _stage(manifest)}}
    text = yaml.safe_dump(manifest)
    if not _is_valid(manifest):
        return  # what is right by itself can be wrong together: a prompt with path and text
    files = FILES if data.draw(st.booleans()) else {}
    for finding in run(with_manifest(text, files), [rule for rule in RULES if rule.level == 1]):
        assert "fault of the audit" not in finding.message, (finding, text)
        assert "\n" not in finding.message


def _stage(manifest: dict[str, object]) -> dict[str, object]:
    allowed = "models datasets prompts generation inference training evaluation execution".split()
    return {key: value for key, value in manifest.items() if key in allowed}
