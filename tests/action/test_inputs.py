import json

import jsonschema
import pytest
import yaml

from audit.action.inputs import (
    OUTPUTS,
    InputError,
    Inputs,
    Mode,
    OnError,
    allowed,
    names,
    read_inputs,
)
from audit.assess.gate import FailOn, Scope
from audit.github.destination import CommentMode
from tests.action.world import ROOT

CONTAINER = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
COMPOSITE = yaml.safe_load((ROOT / "composite" / "action.yml").read_text("utf-8"))


def problems(**given: str) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        read_inputs({f"INPUT_{name.upper().replace('_', '-')}": value for name, value in given.items()})
    return caught.value.problems


def test_the_inputs_of_the_design_in_its_order():
    assert names() == (
        "path", "repo-url", "ref", "mode", "level", "profiles", "fail-on", "fail-on-scope", "fail-on-drift", "fail-on-verdict",
        "baseline", "logs", "run-id", "metrics", "golden", "claims", "comment", "comment-key", "check-run", "annotations",
        "suggestions", "lock", "output-dir", "sarif-file", "ca-bundle", "on-error", "github-token", "repo-token",
    )  # fmt: skip


def test_nothing_set_gives_the_defaults():
    inputs = read_inputs({})
    assert (inputs.mode, inputs.baseline, inputs.comment, inputs.on_error) == (
        Mode.AUDIT,
        "auto",
        CommentMode.ALWAYS,
        OnError.FAIL,
    )
    assert (inputs.path, inputs.fail_on, inputs.fail_on_scope, inputs.github_token) == (
        None,
        None,
        None,
        None,
    )
    assert (inputs.check_run, inputs.suggestions, inputs.annotations, inputs.output_dir) == (
        True,
        False,
        50,
        "ml-audit-report",
    )


@pytest.mark.parametrize("name", names())
def test_empty_and_blank_mean_unset(name):
    assert (
        read_inputs({f"INPUT_{name.upper()}": ""})
        == read_inputs({f"INPUT_{name.upper()}": " \n"})
        == read_inputs({})
    )


@pytest.mark.parametrize("variable", ["INPUT_FAIL-ON", "INPUT_FAIL_ON"])
def test_a_containers_and_a_composite_actions_names(variable):
    assert read_inputs({variable: " warning "}).fail_on is FailOn.WARNING


def test_values_of_every_kind():
    inputs = read_inputs(
        {
            "INPUT_PROFILES": "llm, rl\nvision,llm",
            "INPUT_FAIL-ON-SCOPE": "new",
            "INPUT_CHECK-RUN": "False",
            "INPUT_ANNOTATIONS": "0",
            "INPUT_COMMENT-KEY": "CI / audit (3.12)"[:10],
            "INPUT_BASELINE": "baselines/main, old.json",
            "INPUT_GITHUB-TOKEN": "secret-value",
        }
    )
    assert inputs.profiles == ("llm", "rl", "vision")
    assert (inputs.fail_on_scope, inputs.check_run, inputs.annotations) == (Scope.NEW, False, 0)
    assert inputs.baseline == "baselines/main, old.json"
    assert "secret-value" not in repr(inputs)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("fail_on", "critcal", "critical, warning, info, never"),
        ("fail_on", "CRITICAL", "critical, warning, info, never"),
        ("fail_on_scope", "pr", "all, new"),
        ("comment", "sometimes", "always, changes, findings, off"),
        ("mode", "scan", "audit, failure, publish"),
        ("level", "3", "auto, 0, 1, 2"),
        ("on_error", "ignore", "fail, warn"),
        ("check_run", "maybe", "true, false"),
        ("annotations", "301", "a number from 0 to 300"),
        ("annotations", "ten", "a number from 0 to 300"),
        ("run_id", "-3", "the number of a workflow run"),
        ("ref", "--upload-pack=x", "a branch, tag or commit"),
        ("ref", "a b", "a branch, tag or commit"),
        ("baseline", "--output=x", "auto, none, a ref, or a JSON report"),
        ("comment_key", "a-->b", "letters, digits, blanks, . _ / -"),
        ("profiles", "UPPER", "names, with commas between"),
    ],
)
def test_a_wrong_value_names_the_input_the_value_and_what_is_allowed(name, value, words):
    name_with_hyphens = name.replace("_", "-")
    assert problems(**{name: value}) == (
        f'The input {name_with_hyphens} has the value "{value}"; allowed: {words}.',
    )


def test_all_mistakes_are_told_at_once():
    assert [text.split()[2] for text in problems(fail_on="x", comment="y", level="z")] == [
        "level",
        "fail-on",
        "comment",
    ]


def test_a_token_in_the_wrong_input_is_not_shown():
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    [text] = problems(fail_on=token)
    assert token not in text


def test_a_long_value_is_cut():
    assert len(problems(fail_on="x" * 10_000)[0]) < 400


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"logs": "a.log"}, "The input logs is set, but it belongs to mode failure, not to mode audit."),
        (
            {"fail_on_verdict": "correctness"},
            "The input fail-on-verdict is set, but it belongs to mode failure",
        ),
        (
            {"mode": "publish", "run_id": "3"},
            "The input run-id is set, but it belongs to mode failure, not to mode publish.",
        ),
        (
            {"mode": "failure", "logs": "a", "run_id": "3"},
            "The inputs logs and run-id both say where the logs are",
        ),
        (
            {"mode": "failure", "ref": "main"},
            "The inputs repo-url and ref belong to mode audit; mode failure takes",
        ),
        ({"lock": "true"}, 'The input lock has the value "true"; allowed: off, check, update.'),
        ({"repo_token": "x"}, "The input repo-token is set, but repo-url is not"),
        ({"mode": "publish", "repo_url": "a/b"}, "The inputs repo-url and ref belong to mode audit"),
    ],
)
def test_what_cannot_be_done_is_an_error(given, said):
    assert problems(**given)[0].startswith(said)


def test_what_is_not_asked_for_is_none():
    read_inputs({"INPUT_FAIL-ON-DRIFT": "never", "INPUT_FAIL-ON-VERDICT": "never", "INPUT_LOCK": "false"})


def test_every_input_says_what_it_allows():
    assert all(allowed(field) and field.description for field in Inputs.model_fields.values())


def test_both_action_files_have_the_same_inputs_and_outputs():
    assert CONTAINER["inputs"] == COMPOSITE["inputs"]
    assert list(CONTAINER["inputs"]) == list(names())
    assert list(CONTAINER["outputs"]) == list(COMPOSITE["outputs"]) == list(OUTPUTS)


def test_the_composite_action_hands_every_input_and_output_on():
    step = next(step for step in COMPOSITE["runs"]["steps"] if step.get("id") == "audit")
    handed = {name: value for name, value in step["env"].items() if name.startswith("INPUT_")}
    assert handed == {
        f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in names()
    }
    assert {name: output["value"] for name, output in COMPOSITE["outputs"].items()} == {
        name: f"${{{{ steps.audit.outputs.{name} }}}}" for name in OUTPUTS
    }


def test_the_defaults_of_the_action_file_are_those_of_the_model():
    given = {
        f"INPUT_{name.upper()}": str(item["default"])
        for name, item in CONTAINER["inputs"].items()
        if name != "github-token"
    }
    assert read_inputs(given) == read_inputs({})


def test_the_schema_takes_what_the_model_takes():
    schema = json.loads((ROOT / "schemas" / "action-inputs.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    assert checker.is_valid(
        {"fail-on": "warning", "check-run": False, "annotations": 10, "logs": "", "run-id": "12"}
    )
    for wrong in ({"fail-on": "critcal"}, {"annotations": 301}, {"no-such": "x"}, {"check-run": "yes"}):
        assert not checker.is_valid(wrong)
