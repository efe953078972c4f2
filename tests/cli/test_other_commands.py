import json
import os

import jsonschema
import pytest

from audit.assess.suppression import TEXTS
from audit.cli.doctor_command import checks
from audit.cli.main import run
from audit.cli.schema_command import NAMES, schema_text
from audit.rules.catalogue import RULES


def test_rules_list_has_a_line_for_each(capsys):
    assert run(["rules", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [rule.id for rule in RULES]


def test_rules_list_of_one_category_as_json(capsys):
    assert run(["rules", "list", "--category", "environment", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [item["id"] for item in data] == [rule.id for rule in RULES if rule.category == "environment"]
    assert set(data[0]) >= {
        "id",
        "severity",
        "title",
        "why",
        "fix",
        "dimension",
        "points",
        "passing",
        "failing",
        "level",
        "category",
    }
    assert "check" not in data[0]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rules_show(rule, capsys):
    assert run(["rules", "show", rule.id]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{rule.id}  {rule.severity.value}\n")
    assert rule.why in text and rule.fix in text


@pytest.mark.parametrize("identifier", TEXTS)
def test_rules_show_knows_what_a_report_says_of_suppressions(identifier, capsys):
    assert run(["rules", "show", identifier]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{identifier}  WARNING\n") and TEXTS[identifier].fix in out


def test_a_misspelt_rule_gets_a_hint(capsys):
    assert run(["rules", "show", RULES[0].id[:-1]]) == 2
    assert RULES[0].id in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas(name, capsys):
    assert run(["schema", name]) == 0
    out = capsys.readouterr().out
    assert out == schema_text(name)
    jsonschema.Draft202012Validator.check_schema(json.loads(out))


def test_the_schema_of_the_report_forbids_what_it_does_not_know():
    schema = json.loads(schema_text("audit-report"))
    assert schema["$defs"]["Report"]["additionalProperties"] is False


def test_doctor_never_shows_a_token(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_TOKEN", "not-a-real-token-1234")
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path))
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "GITHUB_TOKEN is set" in out and "not-a-real-token" not in out


def test_doctor_says_what_is_missing(tmp_path):
    (tmp_path / "file").write_text("")
    environ = {"PATH": str(tmp_path), "ML_AUDIT_CACHE_DIR": str(tmp_path / "file" / "below")}
    found = {check.name: check for check in checks(environ)}
    assert found["git"].ok is False and "not found" in found["git"].said
    assert found["cache"].ok is False and "cannot be written" in found["cache"].said
    assert "no GITHUB_TOKEN" in found["token"].said


def test_doctor_has_a_problem_without_a_cache(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", os.fspath(tmp_path / "file" / "below"))
    assert run(["doctor"]) == 3
    assert "PROBLEM  cache" in capsys.readouterr().out
