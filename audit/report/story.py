"""What a pull request is told: the report with the gate's decision, in the order in which a reader has to act."""

from collections.abc import Sequence

import msgspec

from audit.assess.gate import FailOn, Gate, Scope
from audit.documents.drift import Drift
from audit.documents.finding import Finding
from audit.documents.report import Report
from audit.report import view
from audit.report.links import Links


class Story(msgspec.Struct, frozen=True):
    """Everything that the comment, the check and the summary are made of. `links`: None where the commit is not on a server; `remark`: what a
    reader must know of where the report comes from; `drift`: what changed in the experiment, None where that is not known."""

    report: Report
    gate: Gate
    rules: view.Rules
    links: Links | None = None
    remark: str = ""
    drift: Drift | None = None


class Chapters(msgspec.Struct, frozen=True):
    """Failing findings, each in one chapter, worst first. `blocking` closes the gate; `new` came with this change; `known` the baseline has
    too, or nobody knows; `fixed` the baseline had."""

    blocking: Sequence[Finding]
    new: Sequence[Finding]
    known: Sequence[Finding]
    fixed: Sequence[Finding]


def chapters(story: Story) -> Chapters:
    """The findings by what a reader must do about them."""
    failing = view.failures(story.report)
    closing = set(story.gate.blocking)
    blocking = [finding for finding in failing if finding in closing]
    rest = [finding for finding in failing if finding not in closing]
    baseline = story.report.baseline
    fixed = sorted(baseline.fixed if baseline else (), key=lambda finding: -finding.severity.rank)
    return Chapters(
        blocking=blocking,
        new=[finding for finding in rest if finding.new is True],
        known=[finding for finding in rest if finding.new is not True],
        fixed=fixed,
    )


def counted(findings: Sequence[Finding], word: str = "") -> str:
    """`1 new critical finding`, `2 critical and 3 new warnings`: how many of each severity; `word` stands before the severity."""
    parts = []
    for severity in view.SEVERITIES:
        if number := len(view.of_severity(findings, severity)):
            parts.append((number, severity.value.lower()))
    said = [
        f"{number} {f'{word} ' if word and not place else ''}{name}"
        for place, (number, name) in enumerate(parts)
    ]
    noun = "finding" if len(findings) == 1 else "findings"
    joined = " and ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else "".join(said)
    return f"{joined} {noun}"


def headline(story: Story) -> str:
    """The decision in one line of plain text: blocked or passed, and on what."""
    gate, parts = story.gate, chapters(story)
    compared = story.report.summary.new is not None
    if not gate.passed:
        new = "new" if gate.scope is Scope.NEW and compared else ""
        reasons = [counted(parts.blocking, new)] if parts.blocking else []
        return f"Blocked: {'; '.join([*reasons, gate.drift] if gate.drift else reasons)}"
    if compared and not parts.new and gate.scope is Scope.NEW:
        return "Passed: nothing new"
    shown = parts.new if compared and gate.scope is Scope.NEW else [*parts.new, *parts.known]
    if not shown:
        return "Passed: nothing to mend"
    said = counted(shown, "new" if compared and gate.scope is Scope.NEW else "")
    return f"Passed: {said}, {_tolerated(gate.fail_on)}"


def _tolerated(fail_on: FailOn) -> str:
    return (
        "and nothing blocks (fail-on: never)"
        if fail_on is FailOn.NEVER
        else f"none at or above {fail_on.value}"
    )


def score_line(report: Report) -> str:
    """`Score 5.9 of 10 (6.4 before, −0.5), risk HIGH (MEDIUM before)`."""
    before = report.baseline
    if before is None:
        return f"Score {report.score:.1f} of 10, risk {report.risk}"
    change = round(report.score - before.score, 1)
    moved = f"{before.score:.1f} before, {change:+.1f}".replace("-", "−") if change else "as before"
    risk = f" ({before.risk} before)" if before.risk != report.risk else ""
    return f"Score {report.score:.1f} of 10 ({moved}), risk {report.risk}{risk}"


def counts_line(story: Story) -> str:
    """What there is besides the headline: new, fixed, known, and what could not be looked at; zeros of the last are left out."""
    summary, parts = story.report.summary, chapters(story)
    total = len(parts.blocking) + len(parts.new) + len(parts.known)
    said = ["1 finding" if total == 1 else f"{total} findings"]
    if summary.new is not None:
        said = [f"{summary.new} new", f"{summary.fixed or 0} fixed", f"{total - summary.new} known before"]
    if summary.not_checked:
        said.append(f"{summary.not_checked} not checked")
    if summary.suppressed:
        said.append(f"{summary.suppressed} suppressed")
    return ", ".join(said)
