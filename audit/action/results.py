"""What a run makes of its result: the threshold where no input gives one, the outputs, and the line about the gate."""

from audit.action.plan import Plan
from audit.assess.drift_gate import worst as gravest_change
from audit.assess.gate import FailOn, Gate, Scope
from audit.documents.drift import Drift
from audit.documents.finding import Finding, Status
from audit.documents.report import Report
from audit.engine.options import Audited
from audit.github.destination import Published


def configured_threshold(plan: Plan, audited: Audited) -> FailOn:
    """What `.ml-audit/config.yaml` says. A change is judged by the configuration that it found, and where that cannot be had its own may be stricter
    than the default, not milder: else it could open its own gate.
    """
    if audited.baseline_fail_on is not None:
        return audited.baseline_fail_on
    if audited.fail_on is None or (plan.is_change and audited.fail_on is FailOn.NEVER):
        return FailOn.CRITICAL
    return audited.fail_on


def outputs_of(
    report: Report, decided: Gate, published: Published, drift: Drift | None = None
) -> dict[str, str]:
    """The outputs that follow from the report and the drift; paths of documents are not among them."""
    looked_at = [finding for finding in report.findings if _is_looked_at(finding, decided.scope)]
    worst = max(looked_at, key=lambda finding: finding.severity.rank, default=None)
    gravest = gravest_change(drift) if drift else None
    summary = report.summary
    return {
        "conclusion": "success" if decided.passed else "failure",
        "score": f"{report.score:.1f}",
        "risk": report.risk,
        "findings-total": str(summary.critical + summary.warning + summary.info),
        "findings-new": "" if summary.new is None else str(summary.new),
        "drift": "" if drift is None else gravest.value if gravest else "NONE",
        "highest-severity": worst.severity.value if worst else "",
        "comment-url": published.comment_url,
        "check-url": published.check_url,
    }


def _is_looked_at(finding: Finding, scope: Scope) -> bool:
    return finding.status is Status.FAIL and (scope is Scope.ALL or finding.new is not False)


def gate_line(decided: Gate) -> str:
    """What the gate makes of the findings."""
    asked = f"fail-on: {decided.fail_on.value}, fail-on-scope: {decided.scope.value}"
    if decided.passed:
        return f"The gate is open ({asked})."
    if decided.drift and not decided.blocking:
        return f"The gate is closed: {decided.drift}."
    count = len(decided.blocking)
    which = f"{'new ' if decided.scope is Scope.NEW else ''}finding{'' if count == 1 else 's'}"
    return f"The gate is closed: {count} {which} at or above {decided.fail_on.value} ({asked}){f'; {decided.drift}' if decided.drift else ''}."
