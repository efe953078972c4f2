"""The verdict as SARIF 2.1.0: each cause a result, at the repository's line where the trace knows one, else at the log's."""

from collections.abc import Sequence
from typing import Any

from audit.documents.verdict import Category, Cause, Decision, OtherCause, TraceStep, Verdict
from audit.failure.plots import Plot
from audit.report.json import dump
from audit.report.verdict.view import CATEGORIES, DECISIONS
from audit.safety.sanitize import sarif_text, sarif_uri

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LONGEST = 1_000
_NOTES = (Category.PASSED, Category.METRIC_POLICY, Category.INFRA_RUNTIME, Category.INCONCLUSIVE)

Json = dict[str, Any]


def render(verdict: Verdict, plots: Sequence[Plot] = ()) -> str:
    """One log with one run; a verdict without a cause has no results."""
    results: list[Json] = []
    if verdict.cause is not None:
        results.append(
            _result(verdict.cause, verdict.category, verdict.decision, verdict.recommendation, verdict.trace)
        )
    results += [_result(other, other.category, other.decision, "", ()) for other in verdict.other_causes]
    rules = list(dict.fromkeys(result["ruleId"] for result in results))
    for result in results:
        result["ruleIndex"] = rules.index(result["ruleId"])
    run: Json = {
        "tool": {
            "driver": {
                "name": sarif_text(verdict.tool.name),
                "version": sarif_text(verdict.tool.version),
                "rules": [
                    {"id": rule, "shortDescription": {"text": CATEGORIES[Category(rule.partition("/")[0])]}}
                    for rule in rules
                ],
            }
        },
        "automationDetails": {"id": "ml-audit/failure/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": sarif_text(text, _LONGEST)}}
                    for text in verdict.not_known[:50]
                ],
            }
        ],
        "results": results,
        "properties": {
            "category": verdict.category.value,
            "decision": verdict.decision.value,
            "confidence": verdict.confidence.value,
        },
    }
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(
    cause: Cause | OtherCause, category: Category, decision: Decision, advice: str, trace: Sequence[TraceStep]
) -> Json:
    message = f"{CATEGORIES[category]}: {DECISIONS[decision]}. {cause.file}:{cause.line}: {cause.text}"
    if advice:
        message += f" {advice}"
    log = _location(cause.file.replace("!", "/"), cause.line)
    code = [_location(step.path, step.line) for step in trace if step.line is not None]
    return {
        "ruleId": f"{category.value}/{cause.signature}",
        "level": "note" if category in _NOTES else "error",
        "message": {"text": sarif_text(message, _LONGEST)},
        "locations": [code[-1] if code else log],
        "relatedLocations": [
            {"id": number, **place} for number, place in enumerate([log, *code[:-1]] if code else [])
        ],
    }


def _location(path: str, line: int | None) -> Json:
    region = {"region": {"startLine": line}} if line else {}
    return {"physicalLocation": {"artifactLocation": {"uri": sarif_uri(path)}, **region}}
