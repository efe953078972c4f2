"""SARIF: valid by the official schema, within code scanning's limits, and meaning what the report means."""

import functools
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema
import pytest

from audit.documents.finding import Edit, Finding, Fix, Severity, Status
from audit.documents.place import Gap, Place
from audit.documents.report import Coverage
from audit.report.sarif import render

from . import samples

SCHEMA = Path(__file__).parents[1] / "data" / "sarif-schema-2.1.0.json"


@functools.cache
def validator() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(SCHEMA.read_text()))


def run(**changes: Any) -> dict[str, Any]:
    log = json.loads(render(samples.report(**changes), rules=samples.RULES))
    [only] = log["runs"]
    return only


@pytest.mark.parametrize(
    "log",
    [
        render(samples.report(), rules=samples.RULES),
        render(samples.report(), suppressed=True),
        render(samples.clean()),
        render(samples.hostile(), rules=samples.evil_rules(), suppressed=True),
        render(samples.report(repository="https://github.example/o/r", generated_at="nonsense")),
    ],
    ids=["usual", "suppressed", "clean", "hostile", "url"],
)
def test_valid_by_the_official_schema(log: str) -> None:
    assert [error.message for error in validator().iter_errors(json.loads(log))] == []


def test_results_are_the_failures_worst_first() -> None:
    results = run()["results"]
    assert [(r["ruleId"], r["level"], r["kind"]) for r in results] == [
        ("determinism.seed", "error", "fail"),
        ("security.torch-load", "error", "fail"),
        ("environment.lock", "warning", "fail"),
        ("documentation.citation", "note", "fail"),
    ]
    assert results[0]["message"]["text"].endswith("numpy is. (torch.randn)")
    assert results[0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 31},
            }
        }
    ]
    assert [place["id"] for place in results[0]["relatedLocations"]] == [1, 2]
    assert results[0]["partialFingerprints"] == {"mlAudit/v1": "cc33"}
    assert [r["baselineState"] for r in results] == ["new", "unchanged", "unchanged", "unchanged"]


def test_a_finding_about_the_repository_stands_at_a_file_that_is_there() -> None:
    place = run()["results"][3]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "README.md"
    assert place["region"] == {"startLine": 1}


def test_rules_carry_help_and_only_security_a_security_severity() -> None:
    driver = run()["tool"]["driver"]
    rules = {rule["id"]: rule for rule in driver["rules"]}
    assert list(rules) == [
        "determinism.seed",
        "security.torch-load",
        "environment.lock",
        "documentation.citation",
    ]
    assert [run()["results"][n]["ruleIndex"] for n in range(4)] == [0, 1, 2, 3]
    seed = rules["determinism.seed"]
    assert seed["shortDescription"]["text"] == "Every random number generator is seeded"
    assert seed["helpUri"] == "https://example.org/rules/determinism.seed"
    assert seed["help"]["markdown"].endswith("Seed each generator before the first draw.")
    assert seed["defaultConfiguration"] == {"level": "error"}
    assert {rule for rule in rules if "security-severity" in rules[rule]["properties"]} == {
        "security.torch-load"
    }
    assert rules["security.torch-load"]["properties"]["security-severity"] == "8.0"


def test_edits_become_one_fix_over_whole_lines() -> None:
    edits = (
        Edit("a.py", 3, 3, "x = 1\n"),
        Edit("a.py", 5, 4, "import y"),
        Edit("b c.py", 1, 2, ""),
    )
    finding = Finding(
        "r", "c", Severity.INFO, Status.FAIL, 0, "m", (Place("a.py", 3),), Fix("Mend it.", True, edits)
    )
    [fix] = run(findings=(finding,))["results"][0]["fixes"]
    assert fix["description"] == {"text": "Mend it."}
    first, second = fix["artifactChanges"]
    assert first["replacements"] == [
        {
            "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 1},
            "insertedContent": {"text": "x = 1\n"},
        },
        {
            "deletedRegion": {"startLine": 5, "startColumn": 1, "endLine": 5, "endColumn": 1},
            "insertedContent": {"text": "import y\n"},
        },
    ]
    assert second["artifactLocation"]["uri"] == "b%20c.py"
    assert second["replacements"][0]["deletedRegion"]["endLine"] == 3
    assert second["replacements"][0]["insertedContent"] == {"text": ""}


def test_suppressed_findings_are_counted_and_written_only_when_asked_for() -> None:
    assert "environment.container" not in [r["ruleId"] for r in run()["results"]]
    assert run()["properties"]["suppressed"] == 1
    log = json.loads(render(samples.report(), suppressed=True))
    [result] = [r for r in log["runs"][0]["results"] if "suppressions" in r]
    assert result["ruleId"] == "environment.container"
    assert result["suppressions"] == [{"kind": "external", "status": "accepted"}]


def test_what_was_not_looked_at_is_notified() -> None:
    [invocation] = run()["invocations"]
    texts = [notice["message"]["text"] for notice in invocation["toolExecutionNotifications"]]
    assert texts[1:] == [
        "hub.revision was not checked: The hub was not asked: level 0.",
        "legacy/old.py was read in part: Python 2; read by the tolerant reader",
        "data/big.bin was skipped: larger than 10 MB",
        "vendor was skipped: a submodule",
        "The work tree is dirty.",
    ]
    assert invocation["endTimeUtc"] == "2026-01-02T03:04:05Z"


def test_more_than_code_scanning_shows_is_left_out_and_told() -> None:
    findings = tuple(
        Finding("r", "c", tuple(Severity)[n % 3], Status.FAIL, 0, f"m{n}", (Place("a.py", n + 1),) * 30)
        for n in range(6_000)
    )
    gaps = tuple(Gap(f"f{n}", "too large") for n in range(1_200))
    only = run(findings=findings, coverage=Coverage(9, 9, (), gaps))
    assert len(only["results"]) == 5_000
    assert [r["level"] for r in only["results"]].count("error") == 2_000
    assert [r["level"] for r in only["results"]].count("note") == 1_000
    assert len(only["results"][0]["relatedLocations"]) == 20
    notices = only["invocations"][0]["toolExecutionNotifications"]
    assert notices[1]["message"]["text"].startswith("1000 more findings were left out")
    assert len(notices) == 1_001
    assert notices[-1]["message"]["text"] == "202 more notifications were left out."


def test_hostile_paths_are_relative_uris_byte_for_byte() -> None:
    log = json.loads(render(samples.hostile(), suppressed=True))
    uris = set(re.findall(r'"uri": "([^"]*)"', json.dumps(log)))
    assert all(re.fullmatch(r"[A-Za-z0-9%._~-][A-Za-z0-9%._~/-]*", uri) for uri in uris)
    assert b"\xff\x80caf\xe9.py" in {unquote_to_bytes(uri) for uri in uris}


def test_help_of_a_hostile_rule_is_plain_text() -> None:
    log = json.loads(render(samples.hostile(), rules=samples.evil_rules()))
    for rule in log["runs"][0]["tool"]["driver"]["rules"]:
        assert not re.search(r"(?<!\\)\]\(|<[a-z/!]|@[a-z]", rule["help"]["markdown"])
        assert rule.get("helpUri", "https://").startswith("https://")
