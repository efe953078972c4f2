"""One audit: what the command, the action and the fleet share."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

import audit as package
from audit.assess.baseline import compare
from audit.assess.gate import FailOn
from audit.assess.insights import insights
from audit.assess.risk import risk
from audit.assess.score import dimensions, overall
from audit.assess.suppression import suppress
from audit.documents.drift import Drift
from audit.documents.errors import DocumentError
from audit.documents.finding import Finding, Severity, Status
from audit.documents.report import SCHEMA_VERSION, Baseline, Dimensions, Profiles, Report, Summary, Tool
from audit.engine.assessment import Assessment, Inquiry, assess
from audit.engine.levels import level_of, not_followed
from audit.engine.options import Audited, Effects, Options, moment
from audit.facts.cache import FactCache, opened
from audit.net.errors import NetworkError
from audit.source.errors import SourceError
from audit.source.open import open_snapshot
from audit.source.snapshot import EntryKind, Snapshot

if TYPE_CHECKING:  # pydantic is imported only where a repository has a configuration
    from audit.assess.config import Config, Ignore

CONFIG_PATH = ".ml-audit/config.yaml"
TOOL = "ml-audit"


class _Outcome(msgspec.Struct, frozen=True):
    """The findings as they are reported. `new`: how many a baseline does not have, None where there is none; `note`: what they were
    compared with; `fail_on`: the threshold that held in the commit they were compared with."""

    findings: tuple[Finding, ...]
    new: int | None = None
    baseline: Baseline | None = None
    note: str = ""
    fail_on: FailOn | None = None
    drift: Drift | None = None


class _Work(msgspec.Struct, frozen=True):
    """What every step of one audit needs."""

    options: Options
    effects: Effects
    inquiry: Inquiry
    kept: FactCache | None


def audit(options: Options, effects: Effects) -> Audited:
    """Audits one target. Nothing of it is executed.

    Raises SourceError and NetworkError where it cannot be read, DocumentError where its configuration or the baseline is not valid.
    """
    effects.step(f"Reading {options.target}")
    with (
        opened(effects.environ, use=options.use_cache) as kept,
        open_snapshot(options.target, environ=effects.environ, progress=effects.step) as snapshot,
    ):
        config = _config(snapshot)
        asked = options.level or (config.level if config else None) or "auto"
        work = _Work(options, effects, _inquiry(options, config, effects, level_of(snapshot, asked)), kept)
        assessment = assess(snapshot, work.inquiry, kept)
        outcome = _compared(work, snapshot, _suppressed(assessment, config))
        linked = not_followed(snapshot)
    notes = [note for note in (outcome.note, linked, _fell_short(asked, work.inquiry.level)) if note]
    report = _report(snapshot, assessment, outcome, work.inquiry, notes)
    return Audited(report, assessment.texts, _threshold(config), outcome.fail_on, outcome.drift)


def _config(snapshot: Snapshot) -> "Config | None":
    entry = next((e for e in snapshot.entries if e.path == CONFIG_PATH and e.kind is EntryKind.FILE), None)
    if entry is None:
        return None
    from audit.assess.config import parse_config

    [(_, data)] = snapshot.reader.read([entry])
    if isinstance(data, str):
        raise DocumentError(f"{CONFIG_PATH} cannot be read: {data}.")
    return parse_config(data)


def _inquiry(options: Options, config: "Config | None", effects: Effects, level: int) -> Inquiry:
    return Inquiry(
        level=level,
        profiles=options.profiles or (config.profiles if config else ()),
        jobs=options.jobs,
        now=int(effects.clock()),
        files=effects.files,
    )


def _fell_short(asked: str, level: int) -> str:
    """What is said where fewer rules ran than were asked for."""
    if asked == "auto" or int(asked) <= level:
        return ""
    lacks = "ml-audit.yaml" if level == 0 else "ml-audit.lock"
    return f"Level {asked} was asked for; without {lacks} it is level {level} that ran."


def _suppressed(assessment: Assessment, config: "Config | None") -> tuple[Finding, ...]:
    ignores: Sequence[Ignore] = config.ignore if config else ()
    if not ignores and not assessment.comments:
        return assessment.findings
    return suppress(
        assessment.findings, ignores=ignores, comments=assessment.comments, known=assessment.rules
    )


def _compared(work: _Work, snapshot: Snapshot, findings: tuple[Finding, ...]) -> _Outcome:
    """The findings compared with the baseline, or as they are where none is named."""
    name, archive = work.options.baseline, work.options.baseline_archive
    if archive is not None:
        try:
            return _against(work, snapshot, findings, archive, name or archive, f"Compared with {archive}.")
        except (SourceError, NetworkError) as error:
            return _Outcome(findings, note=f"Baseline not available: {error.message}")
    if name is None:
        return _Outcome(findings)
    from audit.engine.against import base_target, read_report, refuse_itself, report_file

    if file := report_file(name):
        before = read_report(file)
        refuse_itself(name, before.commit, snapshot)
        done = compare(findings, before.findings, head_blobs=_blobs(snapshot), base_blobs=None)
        baseline = Baseline(file.name, before.commit, before.score, before.risk, done.gone)
        return _Outcome(done.findings, done.new, baseline, f"Compared with the report {file.name}.")
    target, note = base_target(work.options.target, name, snapshot, work.effects)
    return _against(work, snapshot, findings, target, name, note)


def _against(
    work: _Work, snapshot: Snapshot, findings: tuple[Finding, ...], target: str, name: str, note: str
) -> _Outcome:
    """The findings compared with those of another target."""
    from audit.engine.against import refuse_itself

    blobs = _blobs(snapshot)
    work.effects.step(f"Reading the baseline {name}")
    with open_snapshot(target, environ=work.effects.environ, progress=work.effects.step) as base:
        commit = base.git.commit if base.git else None
        refuse_itself(name, commit, snapshot)
        config = _config_of_baseline(base)
        found = _suppressed(assessed := _of_baseline(base, work), config)
        done = compare(findings, found, head_blobs=blobs, base_blobs=_blobs(base))
        score = overall(_dimensions(found, assessed))
        called = work.options.baseline_name or name
        baseline = Baseline(called, commit, score, risk(score, found), done.gone)
        drift = _drift(work, base, snapshot, assessed.profiles) if work.options.with_drift else None
        return _Outcome(done.findings, done.new, baseline, note, _threshold(config) or FailOn.CRITICAL, drift)


def _drift(work: _Work, base: Snapshot, snapshot: Snapshot, profiles: Profiles) -> Drift:
    """What changed in the experiment. Profiles that the code shows clearly raise severities like declared ones."""
    from audit.engine.diff import drift_of

    clear = [found.profile for found in profiles.detected if found.confidence == "high"]
    named = tuple(dict.fromkeys((*profiles.resolved, *clear)))
    commit = snapshot.git.commit if snapshot.git else None
    names = (work.options.baseline_name or "the baseline", commit[:12] if commit else work.options.target)
    return drift_of(
        base, snapshot, work.kept, work.effects, names=names, profiles=named, jobs=work.options.jobs
    )


def _of_baseline(base: Snapshot, work: _Work) -> Assessment:
    """What holds of the baseline; a mistake in its manifest or profiles is mended in the audited state, or said there."""
    try:
        return assess(base, work.inquiry, work.kept)
    except DocumentError:
        return assess(base, msgspec.structs.replace(work.inquiry, lenient=True), work.kept)


def _threshold(config: "Config | None") -> FailOn | None:
    return FailOn(config.fail_on) if config and config.fail_on else None


def _config_of_baseline(base: Snapshot) -> "Config | None":
    """The configuration that the baseline had; a mistake in it is mended in the audited state, or said there."""
    with contextlib.suppress(DocumentError):
        return _config(base)
    return None


def _blobs(snapshot: Snapshot) -> dict[str, str]:
    return {entry.path: entry.blob for entry in snapshot.entries if entry.kind is EntryKind.FILE}


def _report(
    snapshot: Snapshot, assessment: Assessment, outcome: _Outcome, inquiry: Inquiry, notes: Sequence[str]
) -> Report:
    findings = outcome.findings
    parts = _dimensions(findings, assessment)
    score = overall(parts)
    coverage = assessment.coverage
    if notes:
        coverage = msgspec.structs.replace(coverage, notes=(*coverage.notes, *notes))
    return Report(
        schema_version=SCHEMA_VERSION,
        tool=Tool(TOOL, package.__version__),
        repository=snapshot.repository,
        commit=snapshot.git.commit if snapshot.git else None,
        level=inquiry.level,
        generated_at=moment(inquiry.now),
        score=score,
        risk=risk(score, findings),
        dimensions=parts,
        analysis=assessment.analysis,
        quality=assessment.quality,
        patterns=assessment.patterns,
        signals=assessment.signals,
        profiles=assessment.profiles,
        findings=findings,
        insights=insights(parts, findings, assessment.signals, assessment.texts),
        summary=_summary(outcome),
        coverage=coverage,
        baseline=outcome.baseline,
    )


def _dimensions(findings: Sequence[Finding], assessment: Assessment) -> Dimensions:
    return dimensions(findings, {name: rule.cost for name, rule in assessment.rules.items()})


def _summary(outcome: _Outcome) -> Summary:
    by_status = Counter(finding.status for finding in outcome.findings)
    failing = Counter(finding.severity for finding in outcome.findings if finding.status is Status.FAIL)
    return Summary(
        critical=failing[Severity.CRITICAL],
        warning=failing[Severity.WARNING],
        info=failing[Severity.INFO],
        passed=by_status[Status.PASS],
        not_applicable=by_status[Status.NOT_APPLICABLE],
        not_checked=by_status[Status.NOT_CHECKED],
        suppressed=by_status[Status.SUPPRESSED],
        new=outcome.new,
        fixed=None if outcome.baseline is None else len(outcome.baseline.fixed),
    )
