"""The report as SARIF 2.1.0, for GitHub's code scanning and every other reader.

Findings to act on become results. Suppressed ones are only counted, unless asked for: code scanning opens an
alert for each result, suppressed or not. Code scanning shows 5,000 results of a run, 100 locations of a
result and 10 tags of a rule, and refuses 25,000, 1,000 and 20, so the worst 5,000 are written and the rest
is told in a notification.

`security-severity` stands on rules of the category `security` alone: on any other it would turn a missing
seed into a vulnerability.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from audit.documents.finding import Edit, Finding, Severity, Status
from audit.documents.place import Gap, Place
from audit.documents.report import Report
from audit.report import view
from audit.report.json import dump
from audit.safety import sanitize
from audit.safety.sanitize import sarif_text, sarif_uri

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_HOME = "%SRCROOT%"
_MOST_RESULTS = 5_000
_MOST_RELATED = 20
_MOST_NOTIFICATIONS = 1_000
_LONGEST_MESSAGE = 2_000

_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
# GitHub reads above 9.0 as critical, from 7.0 high, from 4.0 medium, above 0 low.
_SECURITY = {Severity.CRITICAL: "8.0", Severity.WARNING: "5.0", Severity.INFO: "2.0"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")

Json = dict[str, Any]


def render(report: Report, *, rules: view.Rules | None = None, suppressed: bool = False) -> str:
    """One log with one run; `suppressed` writes suppressed findings too, as results with a suppression."""
    findings = view.failures(report)
    if suppressed:
        findings += view.with_status(report, Status.SUPPRESSED)
    shown = findings[:_MOST_RESULTS]
    by_rule: dict[str, list[Finding]] = {}
    for finding in shown:
        by_rule.setdefault(finding.rule, []).append(finding)
    numbers = {rule: number for number, rule in enumerate(by_rule)}
    run: Json = {
        "tool": {"driver": _driver(report, by_rule, rules)},
        "automationDetails": {"id": "ml-audit/"},
        "originalUriBaseIds": {_HOME: {"description": {"text": "The root of the audited repository."}}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report, len(findings) - len(shown))],
        "results": [_result(finding, numbers[finding.rule], _home_page(report)) for finding in shown],
        "properties": _facts(report),
    }
    provenance = _provenance(report)
    if provenance:
        run["versionControlProvenance"] = [provenance]
    return dump({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _driver(report: Report, by_rule: dict[str, list[Finding]], rules: view.Rules | None) -> Json:
    return {
        "name": sarif_text(report.tool.name) or "ml-audit",
        "version": sarif_text(report.tool.version),
        "rules": [_rule(findings, rules) for findings in by_rule.values()],
    }


def _rule(findings: list[Finding], rules: view.Rules | None) -> Json:
    first = findings[0]
    worst = max((finding.severity for finding in findings), key=lambda severity: severity.rank)
    title = view.title_of(first, rules) or first.rule
    why, mend = view.why_of(first, rules), rules[first.rule].fix if rules and first.rule in rules else ""
    properties: Json = {"tags": [sarif_text(first.category, 100)], "problem.severity": _PROBLEMS[worst]}
    if first.category == "security":
        properties["security-severity"] = _SECURITY[worst]
    rule: Json = {
        "id": sarif_text(first.rule, 255),
        "shortDescription": {"text": sarif_text(title, 1_000)},
        "fullDescription": {"text": sarif_text(why or title, 1_000)},
        "help": {
            "text": sarif_text("\n\n".join(filter(None, (why, mend))) or title, 4_000),
            "markdown": "\n\n".join(sanitize.markdown(text, 2_000) for text in (why, mend) if text)
            or sanitize.markdown(title, 2_000),
        },
        "defaultConfiguration": {"level": _LEVELS[worst]},
        "properties": properties,
    }
    address = sanitize.safe_url(view.rule_url(first, rules))
    if address:
        rule["helpUri"] = address
    return rule


def _result(finding: Finding, rule: int, home_page: str) -> Json:
    first, *others = finding.evidence or (Place(home_page),)
    message = finding.message if not first.note else f"{finding.message} ({first.note})"
    result: Json = {
        "ruleId": sarif_text(finding.rule, 255),
        "ruleIndex": rule,
        "kind": "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": sarif_text(message, _LONGEST_MESSAGE) or sarif_text(finding.rule) or "-"},
        "locations": [{"physicalLocation": _physical(first)}],
    }
    if others:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(place), **_note(place)}
            for number, place in enumerate(others[:_MOST_RELATED], 1)
        ]
    if finding.fingerprint:
        result["partialFingerprints"] = {"mlAudit/v1": sarif_text(finding.fingerprint, 255)}
    if finding.new is not None:
        result["baselineState"] = "new" if finding.new else "unchanged"
    if finding.status is Status.SUPPRESSED:
        result["suppressions"] = [{"kind": "external", "status": "accepted"}]
    if finding.fix and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix.text, finding.fix.edits)]
    result["properties"] = {"category": sarif_text(finding.category, 100), "places": len(finding.evidence)}
    return result


def _physical(place: Place) -> Json:
    # Code scanning refuses a result without a place and shows none without a line: a whole file is its line
    # 1.
    return {"artifactLocation": _artifact(place.path), "region": {"startLine": max(place.line or 1, 1)}}


def _artifact(path: str) -> Json:
    return {"uri": sarif_uri(path), "uriBaseId": _HOME}


def _note(place: Place) -> Json:
    return {"message": {"text": sarif_text(place.note, 500)}} if place.note else {}


def _fix(text: str, edits: Iterable[Edit]) -> Json:
    """All edits of a finding are one fix: they mend only together."""
    changes: dict[str, list[Json]] = {}
    for edit in edits:
        changes.setdefault(edit.path, []).append(_replacement(edit))
    fix: Json = {
        "artifactChanges": [
            {"artifactLocation": _artifact(path), "replacements": replacements}
            for path, replacements in changes.items()
        ]
    }
    if text:
        fix["description"] = {"text": sarif_text(text, _LONGEST_MESSAGE)}
    return fix


def _replacement(edit: Edit) -> Json:
    """Whole lines go, their line ends too: from the first column to the first column of the line after the
    last."""
    start, after = max(edit.start_line, 1), max(edit.end_line + 1, edit.start_line, 1)
    # The replacement is the file's next content, so it is the one text that is not made printable.
    text = sanitize.unicode_text(edit.replacement)
    if text and not text.endswith("\n"):
        text += "\n"
    return {
        "deletedRegion": {"startLine": start, "startColumn": 1, "endLine": after, "endColumn": 1},
        "insertedContent": {"text": text},
    }


def _invocation(report: Report, dropped: int) -> Json:
    notices = list(_notifications(report, dropped))
    if len(notices) > _MOST_NOTIFICATIONS:
        left = len(notices) - _MOST_NOTIFICATIONS
        notices = [*notices[:_MOST_NOTIFICATIONS], _notice(f"{left} more notifications were left out.")]
    invocation: Json = {"executionSuccessful": True, "toolExecutionNotifications": notices}
    if _TIME.fullmatch(report.generated_at):
        invocation["endTimeUtc"] = report.generated_at
    return invocation


def _notifications(report: Report, dropped: int) -> Iterator[Json]:
    yield _notice(f"{view.verdict(report)}; {view.outcomes(report)}; {view.coverage(report)}", "note")
    if dropped:
        yield _notice(f"{dropped} more findings were left out: code scanning shows {_MOST_RESULTS} of a run.")
    for finding in view.with_status(report, Status.NOT_CHECKED):
        yield _notice(f"{finding.rule} was not checked: {finding.message}", "note")
    for word, gaps in (("read in part", report.coverage.partial), ("skipped", report.coverage.skipped)):
        for gap in gaps:
            yield _gap(word, gap)
    for note in report.coverage.notes:
        yield _notice(note, "note")


def _notice(text: str, level: str = "warning") -> Json:
    return {"level": level, "message": {"text": sarif_text(text, 1_000) or "-"}}


def _gap(word: str, gap: Gap) -> Json:
    place = {"physicalLocation": {"artifactLocation": _artifact(gap.path)}}
    return {**_notice(f"{gap.path} was {word}: {gap.why}"), "locations": [place]}


def _facts(report: Report) -> Json:
    return {
        "score": report.score,
        "risk": sarif_text(report.risk, 100),
        "files": report.coverage.files,
        "parsed": report.coverage.parsed,
        "partial": len(report.coverage.partial),
        "skipped": len(report.coverage.skipped),
        "suppressed": report.summary.suppressed,
    }


def _home_page(report: Report) -> str:
    """The file at which a finding about the whole repository is shown: it should be one that is there."""
    for evidence in (report.signals.readme.evidence, report.signals.dependency_manifest.evidence):
        if evidence:
            return evidence[0].path
    return "README.md"


def _provenance(report: Report) -> Json | None:
    address = sanitize.safe_url(report.repository)
    if not address:
        return None
    found: Json = {"repositoryUri": address}
    if report.commit:
        found["revisionId"] = sarif_text(report.commit, 255)
    return found
