"""The report of a first run, read in a second one that may write: what a stranger's pull request claims of itself.

A fork's author can put any file into the artifact. So only the document's own types are let in, within bounds; it must speak of the commit that GitHub says
the run was for; what follows from other parts is computed anew; and all words about rules come from our own catalogue. Texts stay the stranger's: every
rendering quotes them.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from audit.assess.risk import risk
from audit.documents.drift import SCHEMA_VERSION as DRIFT_VERSION
from audit.documents.drift import Drift, DriftSeverity
from audit.documents.errors import DocumentError
from audit.documents.finding import Finding, Severity, Status
from audit.documents.place import Place
from audit.documents.report import SCHEMA_VERSION, Dimension, Report, Summary
from audit.documents.rule import RuleText
from audit.safety.redact import redacted
from audit.safety.texts import with_texts
from audit.state.drift import why_of

LARGEST = 16 * 2**20
"""Bytes of a report: those of large repositories have some 200 KB."""
_LONGEST_TEXT = 20_000
_MOST_FINDINGS = 20_000
_MOST_PLACES = 2_000
_MOST_REMARKS = 1_000
"""Insights, notes, or reasons of one dimension: an honest report has a few dozen, and every one of them is shown."""
_HIGHEST_SCORE = 10.0
_ADVICE = "Only what `report.json` of the same version of ml-audit holds is taken."


def claimed_report(data: bytes, commit: str, repository: str) -> Report:
    """The report in `data`, if it is one about `commit`; `repository` is what it is about, whatever it says. Raises DocumentError."""
    if len(data) > LARGEST:
        raise DocumentError(f"The report is larger than {LARGEST // 2**20} MiB.", _ADVICE)
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentError(f"The artifact holds no report of ml-audit: {error}.", _ADVICE) from None
    for problem in _problems(report, commit):
        raise DocumentError(f"The report is not taken: {problem}.", _ADVICE)
    report = redacted(report)
    findings = report.findings
    return msgspec.structs.replace(
        report, repository=repository, risk=risk(report.score, findings), summary=_summary(report)
    )


def catalogue_texts() -> dict[str, RuleText]:
    """The words of every rule that a report of this version can name."""
    from audit.assess.suppression import TEXTS
    from audit.rules.catalogue import RULES

    return {rule.id: RuleText(rule.title, rule.why, rule.fix) for rule in RULES} | dict(TEXTS)


def _problems(report: Report, commit: str) -> Iterator[str]:
    if report.schema_version != SCHEMA_VERSION:
        yield f"its schema version is not {SCHEMA_VERSION}"
    if report.commit != commit:
        yield "it is about another commit than the run's"
    scores = [report.score, report.baseline.score if report.baseline else 0.0]
    scores += [part.score or 0.0 for part in _dimensions(report)]
    if not all(0 <= score <= _HIGHEST_SCORE for score in scores):
        yield "a score is not between 0 and 10"
    findings = [*report.findings, *(report.baseline.fixed if report.baseline else ())]
    if len(findings) > _MOST_FINDINGS:
        yield f"it has more than {_MOST_FINDINGS} findings"
    remarks = [report.insights, report.coverage.notes, *(part.why for part in _dimensions(report))]
    if max(map(len, remarks)) > _MOST_REMARKS:
        yield f"it has more than {_MOST_REMARKS} remarks of a kind"
    known = catalogue_texts()
    for finding in findings:
        if finding.rule not in known:
            yield "it names a rule that this version does not have"
        yield from _problems_of(finding)
    if _longest_text(report) > _LONGEST_TEXT:
        yield f"a text in it is longer than {_LONGEST_TEXT} characters"


def _longest_text(document: object) -> int:
    """Characters of the longest string in a document."""
    longest = 0

    def measured(text: str) -> str:
        nonlocal longest
        longest = max(longest, len(text))
        return text

    with_texts(document, measured)
    return longest


def _dimensions(report: Report) -> Iterator[Dimension]:
    for name in report.dimensions.__struct_fields__:
        yield getattr(report.dimensions, name)


def _problems_of(finding: Finding) -> Iterator[str]:
    edits = finding.fix.edits if finding.fix else ()
    if len(finding.evidence) > _MOST_PLACES or len(edits) > _MOST_PLACES:
        yield f"a finding has more than {_MOST_PLACES} places"
    if not all(map(_is_inside, finding.evidence)):
        yield "a place in it lies outside of the repository"


def _is_inside(place: Place) -> bool:
    return (
        not place.path.startswith("/")
        and ".." not in place.path.split("/")
        and (place.line is None or 1 <= place.line < 2**31)
    )


def _summary(report: Report) -> Summary:
    """Counts that hold, whatever the report says of itself."""
    status = Counter(finding.status for finding in report.findings)
    failing = [finding for finding in report.findings if finding.status is Status.FAIL]
    severity = Counter(finding.severity for finding in failing)
    compared = report.baseline is not None
    return Summary(
        critical=severity[Severity.CRITICAL],
        warning=severity[Severity.WARNING],
        info=severity[Severity.INFO],
        passed=status[Status.PASS],
        not_applicable=status[Status.NOT_APPLICABLE],
        not_checked=status[Status.NOT_CHECKED],
        suppressed=status[Status.SUPPRESSED],
        new=sum(finding.new is True for finding in failing) if compared else None,
        fixed=len(report.baseline.fixed) if report.baseline else None,
    )


_MOST_CHANGES = 20_000


def claimed_drift(data: bytes, commit: str) -> Drift:
    """The drift in `data`, if it is one up to `commit`; what follows from its changes is computed anew. Raises DocumentError."""
    if len(data) > LARGEST:
        raise DocumentError(f"The drift is larger than {LARGEST // 2**20} MiB.", _ADVICE)
    try:
        drift = msgspec.json.decode(data, type=Drift)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise DocumentError(f"The artifact holds no drift of ml-audit: {error}.", _ADVICE) from None
    for problem in _problems_of_drift(drift, commit):
        raise DocumentError(f"The drift is not taken: {problem}.", _ADVICE)
    drift = redacted(drift)
    counted = Counter(change.severity for change in drift.changes)
    return msgspec.structs.replace(
        drift,
        comparable=not counted[DriftSeverity.HIGH],
        summary={severity.value: counted[severity] for severity in DriftSeverity},
        changes=tuple(msgspec.structs.replace(change, why=why_of(change)) for change in drift.changes),
    )


def _problems_of_drift(drift: Drift, commit: str) -> Iterator[str]:
    if drift.schema_version != DRIFT_VERSION:
        yield f"its schema version is not {DRIFT_VERSION}"
    if drift.b.commit != commit:
        yield "it ends at another commit than the run's"
    if len(drift.changes) > _MOST_CHANGES:
        yield f"it has more than {_MOST_CHANGES} changes"
    if any(len(change.setting) > _LONGEST_SETTING for change in drift.changes):
        yield f"a setting in it has a name of more than {_LONGEST_SETTING} characters"
    if len(drift.notes) > _MOST_REMARKS:
        yield f"it has more than {_MOST_REMARKS} remarks of a kind"
    if _longest_text(drift) > _LONGEST_DRIFT_TEXT:
        yield f"a text in it is longer than {_LONGEST_DRIFT_TEXT} characters"


_LONGEST_SETTING = 8_000
"""A path of Git may have 4,096 bytes, and a configuration's key 1,000 characters."""
_LONGEST_DRIFT_TEXT = 70_000
"""Prompts stand in it whole, up to 64 KiB."""
