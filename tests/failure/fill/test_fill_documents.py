"""Other people's documents filled from a verdict, or refused with the fields that cannot be."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.report import Tool
from audit.documents.verdict import (
    Alternative,
    Category,
    Cause,
    Claim,
    ClaimStatus,
    Confidence,
    Decision,
    Evidence,
    EvidenceKind,
    Fact,
    FactInput,
    Role,
    TraceStep,
    Trust,
    Verdict,
)
from audit.failure.fill import CannotFillError, SchemaError, fill


def verdict(**changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "schema_version": 1,
        "tool": Tool("ml-audit", "1.0"),
        "category": Category.METRIC_POLICY,
        "decision": Decision.RERUN,
        "confidence": Confidence.MEDIUM,
        "cause": Cause(
            "log.txt", 41, "FAIL throughput: 46690 < 47449", "throughput_gate", job="perf", step="Gate"
        ),
        "other_causes": (),
        "pre_existing": None,
        "failing": ("tests/test_perf.py::test_throughput",),
        "passed_checks": ("loss", "val_loss"),
        "facts": (
            Fact(
                "median_tokens_per_sec",
                46690.0,
                "tokens/s",
                "median of steps > 20",
                (FactInput("rows", 240, "history.csv"),),
            ),
            Fact("below_floor", 0.016, "", "1 - median / floor"),
            Fact("steps", 240, "", "rows"),
        ),
        "claims": (Claim("2x faster", ClaimStatus.CONTRADICTED, "1.07x over the steady window"),),
        "evidence": (Evidence(EvidenceKind.LOG, Trust.RAW, "log.txt", 41, "FAIL throughput", Role.CAUSE),),
        "trace": (
            TraceStep("ci.yml", 9, "Gate", "runs it"),
            TraceStep("tools/gate.py", 18, "main", "the comparison: tps >= floor"),
        ),
        "alternatives": (Alternative(Category.ML_REGRESSION, "the loss checks passed"),),
        "recommendation": "Run again on the recorded pool.",
        "not_known": ("the noise of this runner",),
    }
    return Verdict(**(fields | changes))


def filled(schema: Any, **changes: Any) -> Any:
    made = json.loads(fill(verdict(**changes), json.dumps(schema)))
    if "properties" in schema:
        jsonschema.validate(made, schema)
    return made


def refused(schema: Any, **changes: Any) -> list[str]:
    with pytest.raises(CannotFillError) as error:
        fill(verdict(**changes), json.dumps(schema))
    return [path for path, _ in error.value.fields]


def test_a_flat_schema_with_other_words() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["failure_type", "root_cause", "log_line", "action", "confidence"],
        "properties": {
            "failure_type": {"enum": ["infrastructure", "code_bug", "regression", "gate", "unknown"]},
            "root_cause": {"type": "string"},
            "log_line": {"type": "string"},
            "lineNumber": {"type": "integer", "minimum": 1},
            "action": {"enum": ["merge", "retry", "reject", "investigate"]},
            "confidence": {"enum": ["HIGH", "MEDIUM", "LOW"]},
            "run_id": {"type": "string"},
        },
    }
    assert filled(schema) == {
        "failure_type": "gate",
        "root_cause": "log.txt:41: FAIL throughput: 46690 < 47449",
        "log_line": "FAIL throughput: 46690 < 47449",
        "lineNumber": 41,
        "action": "retry",
        "confidence": "MEDIUM",
    }


def test_a_nested_schema_with_references() -> None:
    schema = {
        "type": "object",
        "required": ["classification", "rootCause", "evidence", "metrics"],
        "properties": {
            "classification": {"type": "string"},
            "rootCause": {"$ref": "#/$defs/place"},
            "evidence": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/place"}},
            "metrics": {"type": "object", "additionalProperties": {"type": "number"}},
            "checks": {
                "type": "object",
                "properties": {
                    "passed": {"type": "array", "items": {"type": "string"}},
                    "failed": {"type": "integer"},
                },
            },
        },
        "$defs": {
            "place": {
                "type": "object",
                "required": ["file", "line", "quote"],
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": ["integer", "null"]},
                    "quote": {"type": "string"},
                },
            }
        },
    }
    made = filled(schema)
    assert made["classification"] == "metric_policy"
    assert made["rootCause"] == {"file": "log.txt", "line": 41, "quote": "FAIL throughput: 46690 < 47449"}
    assert made["evidence"] == [{"file": "log.txt", "line": 41, "quote": "FAIL throughput"}]
    assert made["metrics"] == {"median_tokens_per_sec": 46690.0, "below_floor": 0.016, "steps": 240}
    assert made["checks"] == {"passed": ["loss", "val_loss"], "failed": 1}


def test_an_example_document_is_filled_key_by_key() -> None:
    example = {
        "verdict": "INFRA",
        "summary": "…",
        "cause": {"file": "job.log", "line": 1, "text": "…"},
        "facts": [{"name": "x", "value": 1.0, "formula": "a / b"}],
        "claims": [{"claim": "…", "verdict": "supported", "reason": "…"}],
        "trace": [{"path": "a.py", "line": 3, "why": "…"}],
        "should_retry": True,
        "not_known": ["…"],
    }
    made = filled(example)
    assert list(made) == list(example)
    assert made["verdict"] == "METRIC_POLICY"
    assert made["cause"] == {"file": "log.txt", "line": 41, "text": "FAIL throughput: 46690 < 47449"}
    assert made["facts"][1] == {"name": "below_floor", "value": 0.016, "formula": "1 - median / floor"}
    assert made["claims"] == [
        {"claim": "2x faster", "verdict": "contradicted", "reason": "1.07x over the steady window"}
    ]
    assert made["trace"][1] == {"path": "tools/gate.py", "line": 18, "why": "the comparison: tps >= floor"}
    assert made["should_retry"] is True
    assert made["not_known"] == ["the noise of this runner"]


def test_an_example_that_lists_its_choices_binds_to_them() -> None:
    made = filled({"category": "infra | code | policy | data", "decision": "<block|allow|rerun>"})
    assert made == {"category": "policy", "decision": "rerun"}
    assert refused({"category": "infra | code | data"}) == ["category"]


def test_metrics_asked_for_by_name_are_the_facts_of_that_name() -> None:
    schema = {
        "type": "object",
        "required": ["metrics"],
        "properties": {
            "metrics": {
                "type": "object",
                "required": ["tokens_per_sec", "below_floor"],
                "properties": {
                    "tokens_per_sec": {"type": "number"},
                    "below_floor": {"type": "number"},
                    "peak_memory_gb": {"type": ["number", "null"]},
                },
            }
        },
    }
    made = filled(schema)
    assert made == {"metrics": {"tokens_per_sec": 46690.0, "below_floor": 0.016, "peak_memory_gb": None}}
    schema["properties"]["metrics"]["required"].append("loss_delta")  # type: ignore[index]
    schema["properties"]["metrics"]["properties"]["loss_delta"] = {"type": "number"}  # type: ignore[index]
    assert refused(schema) == ["metrics.loss_delta"]


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        ("run_id", {"type": "string"}),
        ("created_at", {"type": "string", "format": "date-time"}),
        ("confidence", {"type": "number", "minimum": 0, "maximum": 1}),
        ("assignee", {"type": "string"}),
        ("category", {"enum": ["hardware", "network"]}),
        ("flaky_probability", {"type": "number"}),
        ("summary", {"type": "string", "pattern": "^(a+)+$"}),
        ("passed_checks", {"type": "array", "minItems": 3, "items": {"type": "string"}}),
        ("rank", {"type": "integer"}),
        ("claims", {"type": "array", "items": {"type": "integer"}}),
    ],
)
def test_what_the_verdict_does_not_hold_is_refused_by_name(name: str, inner: dict[str, Any]) -> None:
    schema = {"type": "object", "required": [name], "properties": {name: inner}}
    found = refused(schema)
    assert len(found) == 1
    assert found[0].startswith(name)


def test_every_unfillable_field_is_named_at_once() -> None:
    schema = {
        "type": "object",
        "required": ["author", "cause", "ticket"],
        "properties": {
            "author": {"type": "string"},
            "ticket": {"type": "string"},
            "cause": {
                "type": "object",
                "required": ["hostname", "line"],
                "properties": {"hostname": {"type": "string"}, "line": {"type": "integer"}},
            },
        },
    }
    assert refused(schema) == ["author", "ticket", "cause.hostname"]


def test_optional_fields_without_an_answer_are_left_out_and_nullable_ones_are_null() -> None:
    schema = {
        "type": "object",
        "required": ["category", "owner"],
        "properties": {
            "category": {"type": "string"},
            "owner": {"type": ["string", "null"]},
            "branch": {"type": "string"},
        },
    }
    assert filled(schema) == {"category": "metric_policy", "owner": None}


def test_without_a_cause_only_a_nullable_one_is_filled() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["cause"],
        "properties": {
            "cause": {
                "anyOf": [
                    {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
                    {"type": "null"},
                ]
            }
        },
    }
    assert filled(schema, cause=None, category=Category.INCONCLUSIVE) == {"cause": None}
    schema["properties"]["cause"] = {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string"}},
    }
    assert refused(schema, cause=None, category=Category.INCONCLUSIVE) == ["cause"]


def test_a_decision_in_coarser_words_is_still_true() -> None:
    schema = {
        "type": "object",
        "required": ["decision"],
        "properties": {"decision": {"enum": ["approve", "reject"]}},
    }
    assert filled(schema, decision=Decision.FIX_CODE) == {"decision": "reject"}
    assert filled(schema, decision=Decision.ALLOW) == {"decision": "approve"}
    assert refused(schema, decision=Decision.RERUN) == ["decision"]
    assert refused(schema, decision=Decision.NEED_EVIDENCE) == ["decision"]


def test_a_constant_of_the_schema_is_no_statement_about_the_run() -> None:
    schema = {
        "type": "object",
        "required": ["format", "category"],
        "properties": {"format": {"const": "triage/v2"}, "category": {"type": "string"}},
    }
    assert filled(schema) == {"format": "triage/v2", "category": "metric_policy"}


def test_groups_of_fields_are_filled_from_the_same_verdict() -> None:
    schema = {
        "type": "object",
        "required": ["result"],
        "properties": {
            "result": {
                "type": "object",
                "required": ["category", "fix"],
                "properties": {"category": {"type": "string"}, "fix": {"type": "string", "maxLength": 10}},
            }
        },
    }
    assert filled(schema) == {"result": {"category": "metric_policy", "fix": "Run again…"}}


def test_numbers_that_json_has_not_are_refused() -> None:
    schema = {"type": "object", "required": ["loss"], "properties": {"loss": {"type": "number"}}}
    assert refused(schema, facts=(Fact("loss", float("nan")),)) == ["loss"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "3",
        "not json",
        '"x"',
        '{"$ref": "https://example.org/x"}',
        '{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}',
    ],
)
def test_a_file_that_asks_for_no_document_is_told(text: str) -> None:
    with pytest.raises((SchemaError, CannotFillError)):
        fill(verdict(), text)


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "string"}, {"type": "integer"}],
        [{"enum": ["correctness"]}, {"enum": ["infra_runtime"]}],
        [{"const": "correctness"}, {"const": "infra_runtime"}],
        [{"pattern": "^a"}, {"pattern": "b$"}],
        [{"type": "string", "maxLength": 400}, {"type": "string", "maxLength": 2}],
    ],
)
def test_parts_that_contradict_each_other_are_refused(parts: list[dict[str, Any]]) -> None:
    for inner in ({"allOf": parts}, {**parts[0], "allOf": parts[1:]}):
        schema = {"type": "object", "properties": {"category": inner}, "required": ["category"]}
        with pytest.raises((SchemaError, CannotFillError)):
            fill(verdict(), json.dumps(schema))


def test_what_two_parts_say_of_one_property_counts_both() -> None:
    parts = [
        {"properties": {"category": {"type": ["string", "null"]}}},
        {"properties": {"category": {"type": "string", "maxLength": 40}}, "required": ["category"]},
    ]
    filled = json.loads(fill(verdict(), json.dumps({"type": "object", "allOf": parts})))
    assert filled == {"category": verdict().category.value}


def test_a_schema_that_multiplies_itself_is_bounded() -> None:
    level: dict[str, Any] = {"type": "object", "properties": {}}
    defs = {
        f"d{i}": {"type": "object", "properties": {f"p{j}": {"$ref": f"#/$defs/d{i + 1}"} for j in range(10)}}
        for i in range(12)
    }
    defs["d12"] = {"type": "string"}
    level["properties"] = {"x": {"$ref": "#/$defs/d0"}}
    level["$defs"] = defs
    with pytest.raises(SchemaError):
        fill(verdict(), json.dumps(level))


_NAMES = st.sampled_from(
    ["category", "cause", "evidence", "facts", "summary", "owner", "line", "passed", "claims", "x"]
)
_LEAF = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": ["string", "null"]},
        {"type": "boolean"},
        {"type": "number"},
        {"enum": ["a", "gate"]},
        {},
        True,
    ]
)
_SCHEMAS = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.builds(lambda p: {"type": "object", "properties": p}, st.dictionaries(_NAMES, inner, max_size=4)),
        st.builds(
            lambda p: {"type": "object", "properties": p, "required": list(p)},
            st.dictionaries(_NAMES, inner, max_size=4),
        ),
        st.builds(lambda i: {"type": "array", "items": i}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(_SCHEMAS)
def test_what_is_filled_is_valid_and_what_is_not_is_refused(inner: Any) -> None:
    schema = {"type": "object", "required": ["cause"], "properties": {"cause": inner, "facts": inner}}
    try:
        made = json.loads(fill(verdict(), json.dumps(schema)))
    except (CannotFillError, SchemaError):
        return
    jsonschema.validate(made, schema)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_filled_or_refused(text: str) -> None:
    try:
        json.loads(fill(verdict(), text))
    except (CannotFillError, SchemaError):
        return
