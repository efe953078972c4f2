"""What fields of other people's documents are called, and which of our words mean theirs."""

import re
from typing import Final

_SPLIT: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def folded(name: str) -> str:
    """A name in one spelling: `rootCause`, `root-cause` and `Root Cause` are `root_cause`."""
    return "_".join(part.lower() for part in _SPLIT.split(name[:200]) if part)


def _named(**fields: str) -> dict[str, str]:
    return {name: field for field, names in fields.items() for name in [field, *names.split()]}


VERDICT: Final = _named(
    category="classification failure_category failure_class failure_type failure_kind class label type kind root_cause_category cause_category "
    "error_category verdict result_category failure_mode",
    decision="action recommended_action outcome disposition merge_decision gate_decision recommended_decision suggested_action next_action",
    confidence="certainty confidence_level confidence_tier",
    cause="root_cause primary_cause primary root cause_line root_cause_line failure origin primary_evidence error_location location",
    other_causes="additional_causes secondary_causes other_root_causes further_causes",
    pre_existing="preexisting already_failing fails_on_main existed_before already_on_main",
    failing="failed failing_tests failed_tests failing_checks failed_checks failures failing_test_names failed_test_names failed_jobs failing_gates "
    "failed_gates",
    passed_checks="passed passing passing_checks passing_tests passed_tests successes what_passed",
    facts="metrics numbers measurements computed computed_facts recomputed values computed_metrics key_numbers recomputed_facts key_metrics",
    claims="claim_checks claims_checked checked_claims statements",
    evidence="evidence_lines supporting_evidence log_evidence quotes citations evidences log_lines proof",
    trace="code_trace call_path code_path source_trace code_locations code_places",
    alternatives="ruled_out other_hypotheses rejected_hypotheses considered also_considered why_not alternative_causes",
    recommendation="recommendations suggestion suggested_fix fix next_step next_steps remediation advice action_item how_to_fix mitigation",
    not_known="unknown unknowns missing_evidence limitations open_questions missing gaps uncertainties what_is_missing needed_evidence",
    schema_version="version_of_schema",
    tool="generator produced_by analyzer",
    summary="explanation description headline title rationale reasoning analysis conclusion reason details short_summary synopsis why",
    # of the cause, at the top of a flat document
    cause_text="error error_message root_cause_text cause_message log_excerpt excerpt quote error_line_text failing_line log_line message root_cause_message",
    cause_file="file log_file log log_path source_log cause_log error_file root_cause_file",
    cause_line_number="line line_number lineno line_no log_line_number error_line root_cause_line_number cause_line_no",
    signature="error_signature pattern fingerprint signature_id root_cause_signature cause_signature error_code",
    job="job_name failed_job failing_job",
    step="step_name failed_step failing_step",
    rank="failed_rank failing_rank",
    test="failing_test failed_test test_name test_id first_failing_test",
    source_file="code_file source_path failing_file",
    source_line="code_line source_line_number failing_source_line",
    function="symbol function_name failing_function",
)
"""Field name -> what it means at the top of a verdict."""

CAUSE: Final = _named(
    text="message quote excerpt line_text content error error_message log_line description summary snippet raw evidence verbatim cause root_cause reason what",
    file="path log log_file source filename log_path location",
    line="line_number lineno line_no number log_line_number row",
    signature="kind type pattern id code error_type class fingerprint",
    category="classification",
    decision="action",
    job="job_name",
    step="step_name",
    rank="rank_id",
)
EVIDENCE: Final = _named(
    kind="type source_type origin",
    trust="trust_level reliability",
    file="path source log filename source_file log_file",
    line="line_number lineno line_no row",
    text="quote excerpt content message snippet log_line line_text verbatim raw what",
    role="relation significance why meaning reason purpose",
)
FACT: Final = _named(
    name="metric id key label title what fact",
    value="number result amount actual computed measured",
    unit="units",
    formula="how derivation computation expression method",
    inputs="operands sources from based_on",
)
INPUT: Final = _named(name="label key id", value="number", source="place location file where")
CLAIM: Final = _named(
    text="claim statement quote sentence content",
    status="verdict result outcome assessment judgement judgment",
    why="reason explanation rationale details note",
)
TRACE: Final = _named(
    path="file filename source source_file",
    line="line_number lineno line_no",
    symbol="function name function_name method",
    why="reason note role description what",
)
ALTERNATIVE: Final = _named(
    category="hypothesis label class classification cause type name",
    why_not="reason why evidence_against explanation rejected_because rationale",
)
TOOL: Final = _named(name="tool", version="tool_version")

BOOLEANS: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "passed": ("category", frozenset({"passed"})),
    "success": ("category", frozenset({"passed"})),
    "failed": (
        "category",
        frozenset(
            {
                "ml_regression",
                "correctness",
                "data_config",
                "infra_runtime",
                "metric_policy",
                "unsupported_claim",
            }
        ),
    ),
    "is_infra": ("category", frozenset({"infra_runtime"})),
    "is_infrastructure": ("category", frozenset({"infra_runtime"})),
    "infrastructure_failure": ("category", frozenset({"infra_runtime"})),
    "is_regression": ("category", frozenset({"ml_regression"})),
    "model_regression": ("category", frozenset({"ml_regression"})),
    "is_code_bug": ("category", frozenset({"correctness"})),
    "code_bug": ("category", frozenset({"correctness"})),
    "inconclusive": ("category", frozenset({"inconclusive"})),
    "needs_human": ("category", frozenset({"inconclusive"})),
    "needs_evidence": ("decision", frozenset({"need_evidence"})),
    "need_more_evidence": ("decision", frozenset({"need_evidence"})),
    "block": ("decision", frozenset({"block"})),
    "blocking": ("decision", frozenset({"block", "fix_code", "fix_config"})),
    "should_block": ("decision", frozenset({"block", "fix_code", "fix_config"})),
    "should_block_merge": ("decision", frozenset({"block", "fix_code", "fix_config"})),
    "block_merge": ("decision", frozenset({"block", "fix_code", "fix_config"})),
    "allow_merge": ("decision", frozenset({"allow"})),
    "safe_to_merge": ("decision", frozenset({"allow"})),
    "merge_allowed": ("decision", frozenset({"allow"})),
    "can_merge": ("decision", frozenset({"allow"})),
    "rerun": ("decision", frozenset({"rerun"})),
    "should_rerun": ("decision", frozenset({"rerun"})),
    "retry": ("decision", frozenset({"rerun"})),
    "should_retry": ("decision", frozenset({"rerun"})),
    "retryable": ("decision", frozenset({"rerun"})),
    "actionable": ("decision", frozenset({"block", "fix_code", "fix_config", "rerun"})),
}
"""Truth values that follow from category or decision: field name -> (which of both, values that make it true)."""

WORDS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "category": {
        "ml_regression": (
            "model_regression",
            "regression",
            "quality_regression",
            "training_regression",
            "model_quality",
            "model",
            "ml",
        ),
        "correctness": (
            "code_bug",
            "bug",
            "code",
            "code_error",
            "code_defect",
            "software_bug",
            "test_failure",
            "defect",
        ),
        "data_config": (
            "config",
            "configuration",
            "data",
            "data_or_config",
            "config_error",
            "configuration_error",
            "environment",
            "data_error",
            "dependency",
        ),
        "infra_runtime": (
            "infrastructure",
            "infra",
            "runtime",
            "platform",
            "infra_failure",
            "infrastructure_failure",
            "system",
            "hardware",
            "environment",
        ),
        "metric_policy": (
            "policy",
            "threshold",
            "gate",
            "tolerance",
            "metric_gate",
            "gate_policy",
            "performance_gate",
            "metric",
            "gate_too_tight",
        ),
        "unsupported_claim": (
            "claim",
            "unsupported",
            "false_claim",
            "claim_not_supported",
            "misleading_claim",
        ),
        "inconclusive": (
            "unknown",
            "insufficient_evidence",
            "undetermined",
            "unclear",
            "needs_investigation",
            "other",
        ),
        "passed": ("success", "pass", "none", "ok", "no_failure", "green"),
    },
    "decision": {
        "block": ("reject", "request_changes", "deny", "fail", "revert", "hold", "do_not_merge", "no_go"),
        "allow": ("approve", "accept", "merge", "pass", "proceed", "ignore", "go", "none", "no_action"),
        "rerun": ("retry", "re_run", "restart", "rerun_job"),
        "fix_config": (
            "change_config",
            "update_config",
            "fix_configuration",
            "fix",
            "changes_needed",
            "request_changes",
            "reject",
            "block",
        ),
        "fix_code": (
            "change_code",
            "patch",
            "fix_bug",
            "fix",
            "code_change",
            "changes_needed",
            "request_changes",
            "reject",
            "block",
        ),
        "need_evidence": (
            "needs_evidence",
            "need_more_evidence",
            "investigate",
            "needs_investigation",
            "escalate",
            "manual_review",
            "needs_info",
            "unknown",
            "hold",
        ),
    },
    "confidence": {
        "high": ("certain", "strong", "confirmed"),
        "medium": ("moderate", "likely", "probable"),
        "low": ("weak", "possible", "uncertain"),
    },
    "status": {
        "supported": ("true", "confirmed", "verified", "pass", "holds", "valid"),
        "contradicted": ("false", "refuted", "unsupported", "fail", "does_not_hold", "invalid", "rejected"),
        "not_derivable": (
            "unverifiable",
            "unknown",
            "not_verifiable",
            "cannot_verify",
            "undetermined",
            "insufficient_evidence",
            "unverified",
        ),
    },
    "role": {
        "cause": ("root_cause", "primary", "supports", "supporting"),
        "consequence": ("symptom", "effect", "secondary", "cascade"),
        "context": ("background", "supporting", "info"),
        "recovered": ("ignored", "noise", "benign"),
        "ruled_out": ("excluded", "contradicts", "rejected", "against"),
    },
}
"""Our words -> others' words for the same, the closest first. The last ones of a decision are weaker but still true."""


def allowed_word(concept: str, word: str, allowed: tuple[object, ...]) -> object | None:
    """The allowed value that means our word, None where there is none: the same word first, then the closest of the others'."""
    texts = {folded(str(value)): value for value in allowed if isinstance(value, str)}
    for candidate in (word, *WORDS.get(concept, {}).get(word, ())):
        if candidate in texts:
            return texts[candidate]
    return None
