"""From a snapshot to signals and findings, and the same from the cache where nothing changed.

Everything here is a function of the snapshot and of this program's code, so it is kept under a digest of both: the audit of an unchanged
tree neither reads a file nor decodes a fact.
"""

import contextlib
import hashlib
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import audit
from audit.assess.score import Cost
from audit.assess.suppression import TEXTS, Comment
from audit.documents.finding import Finding, Severity
from audit.documents.report import Analysis, Coverage, Patterns, Profiles, Quality
from audit.documents.rule import RuleText
from audit.documents.signals import Signals
from audit.engine.neighbour import InDoubt, Neighbour, changed, moved, moves
from audit.facts.cache import FactCache
from audit.facts.model import DocsFacts, FileFacts
from audit.source.snapshot import Entry, Snapshot

if TYPE_CHECKING:  # the rules are imported only where they run
    from audit.lock.held import Held
    from audit.rules.rule import Rule
    from audit.state.manifest_reading import Declared


class RuleFacts(msgspec.Struct, frozen=True):
    """What is needed of a rule once it has run."""

    text: RuleText
    cost: Cost


class Assessment(msgspec.Struct, frozen=True):
    """All that follows from a snapshot alone: before suppression, score and comparison. `comments`: inline suppressions;
    `rules`: every rule of the catalogue, so that an answer from the cache needs none of their modules."""

    signals: Signals
    findings: tuple[Finding, ...]
    analysis: Analysis
    quality: Quality
    patterns: Patterns
    profiles: Profiles
    coverage: Coverage
    comments: tuple[Comment, ...]
    rules: dict[str, RuleFacts]

    @property
    def texts(self) -> dict[str, RuleText]:
        """The words of every rule by its id, those about suppressions too."""
        return {name: rule.text for name, rule in self.rules.items()} | dict(TEXTS)


class Inquiry(msgspec.Struct, frozen=True):
    """How a snapshot is assessed: `level` and declared `profiles` choose the rules. `lenient`: what is wrong in the snapshot's manifest and profiles is
    passed over, as for the base of a comparison. The rest does not change the answer."""

    level: int
    profiles: tuple[str, ...]
    jobs: int | None
    now: int
    files: Callable[[int, int], None]
    lenient: bool = False


def assess(snapshot: Snapshot, inquiry: Inquiry, kept: FactCache | None) -> Assessment:
    """The assessment of `snapshot`, from the cache where it is known. Raises DocumentError where its manifest or a profile is not valid."""
    if kept is None:
        return _made(snapshot, inquiry, None)
    key = _key(snapshot, inquiry)
    if (known := _known(kept, key)) is not None:
        return known
    assessment = _from_neighbour(snapshot, inquiry, kept) or _made(snapshot, inquiry, kept)
    rows = ((key, assessment), (_last(snapshot, inquiry), Neighbour.of(snapshot, key)))
    for row, value in rows:
        # A file name that is not UTF-8 cannot be written: with one in a finding, the tree is assessed anew each time.
        with contextlib.suppress(UnicodeEncodeError):
            kept.put_many([(row, msgspec.msgpack.encode(value))], inquiry.now, "derived")
    return assessment


def _known(kept: FactCache, key: bytes) -> Assessment | None:
    value = kept.get_many([key], "derived").get(key)
    if value is not None:
        with contextlib.suppress(msgspec.MsgspecError):  # a damaged row costs the work once more
            return msgspec.msgpack.decode(value, type=Assessment)
    return None


def _last(snapshot: Snapshot, inquiry: Inquiry) -> bytes:
    """The key of what was assessed last under this repository's name, and asked the same."""
    digest = hashlib.sha256(b"last" + program_digest())
    digest.update(repr((snapshot.repository, *_asked(inquiry))).encode("utf-8", "surrogateescape"))
    return digest.digest()


def _from_neighbour(snapshot: Snapshot, inquiry: Inquiry, kept: FactCache) -> Assessment | None:
    """The assessment of the tree that was assessed last, where this one says the same; None where it does not, or that cannot be told."""
    if inquiry.level >= 2:
        return None  # a lock holds digests of files: the same facts are not the same content
    value = kept.get_many([last := _last(snapshot, inquiry)], "derived").get(last)
    if value is None:
        return None
    try:
        before = msgspec.msgpack.decode(value, type=Neighbour)
    except msgspec.MsgspecError:
        return None
    pairs = changed(before, snapshot)
    assessment = _known(kept, before.assessment) if pairs is not None else None
    if assessment is None or pairs is None:
        return None
    facts = _facts_of(snapshot, pairs, inquiry, kept)
    try:
        assessment = moved(assessment, moves(facts)) if facts is not None else None
    except InDoubt:
        return None
    return assessment and _with_git(_with_notes(assessment, before, snapshot), snapshot, inquiry)


def _facts_of(
    snapshot: Snapshot, pairs: Sequence[tuple[Entry, Entry]], inquiry: Inquiry, kept: FactCache
) -> dict[str, tuple[FileFacts, FileFacts]] | None:
    """Old and new facts of the files that changed, by path; None where the old ones are not known any more."""
    from audit.facts.collect import collect, known_facts

    old = known_facts([old for old, _ in pairs], kept)
    if len(old) < len(pairs):
        return None
    part = msgspec.structs.replace(snapshot, entries=tuple(new for _, new in pairs))
    new = collect(part, jobs=1, cache=kept, now=inquiry.now).facts
    return {path: (old[path], new[path]) for path in old} if old.keys() == new.keys() else None


def _with_notes(assessment: Assessment, before: Neighbour, snapshot: Snapshot) -> Assessment:
    """The assessment with what is said of this snapshot as a whole; its own notes come behind those of the snapshot."""
    from audit.safety.redact import redacted

    own = assessment.coverage.notes[len(before.notes) :]
    coverage = msgspec.structs.replace(assessment.coverage, notes=(*redacted(snapshot.notes), *own))
    return msgspec.structs.replace(assessment, coverage=coverage)


def _with_git(assessment: Assessment, snapshot: Snapshot, inquiry: Inquiry) -> Assessment:
    """The assessment with the rules about the state of Git asked anew."""
    from audit.facts.collect import Collection
    from audit.rules import catalogue
    from audit.rules.rule import Context
    from audit.safety.redact import redacted
    from audit.signals.repository import Repository
    from audit.signals.training_path import TrainingPath

    rules = [
        msgspec.structs.replace(rule, severity=assessment.rules[rule.id].cost.severity)
        for rule in catalogue.RULES
        if rule.of_git and rule.level <= inquiry.level
    ]
    repository = Repository(snapshot, Collection({}, {}, ()))
    asked = catalogue.run(Context(repository, TrainingPath(repository), assessment.signals), rules)
    names = {rule.id for rule in rules}
    others = [finding for finding in assessment.findings if finding.rule not in names]
    return msgspec.structs.replace(assessment, findings=catalogue.ordered([*others, *redacted(asked)]))


def _made(snapshot: Snapshot, inquiry: Inquiry, kept: FactCache | None) -> Assessment:
    from audit.engine.coverage import coverage
    from audit.engine.experiment import experiment
    from audit.facts.collect import collect, default_jobs
    from audit.profiles.detect import detect
    from audit.rules import catalogue
    from audit.rules.rule import Context
    from audit.safety.redact import redacted
    from audit.signals.analysis import analysis, patterns, quality
    from audit.signals.compute import compute_signals
    from audit.signals.repository import Repository
    from audit.signals.training_path import TrainingPath

    collection = collect(
        snapshot, jobs=inquiry.jobs or default_jobs(), cache=kept, now=inquiry.now, progress=inquiry.files
    )
    repository = Repository(snapshot, collection)
    path = TrainingPath(repository)
    signals = compute_signals(repository, path)
    kinds = experiment(snapshot, inquiry, [rule.id for rule in catalogue.RULES])
    detected = detect(repository, path, signals, kinds.known)
    rules = [_weighed(rule, kinds.severities) for rule in catalogue.RULES]
    chosen = [rule for rule in rules if rule.level <= inquiry.level]
    lock = _lock(snapshot, inquiry, kinds.declared, signals)
    context = Context(repository, path, signals, kinds.declared, kinds.applicable(detected), detected, lock)
    findings = catalogue.run(context, chosen)
    made = Assessment(
        signals=signals,
        findings=findings,
        analysis=analysis(repository, signals),
        quality=quality(repository, signals),
        patterns=patterns(signals),
        profiles=Profiles(kinds.names, tuple(profile.name for profile in kinds.resolved), detected),
        coverage=coverage(snapshot, collection),
        comments=tuple(_comments(repository.facts)),
        rules={},
    )
    # Messages, notes and values quote the repository; the words of the rules are our own.
    return msgspec.structs.replace(redacted(made), rules={rule.id: _rule_facts(rule) for rule in rules})


def _lock(
    snapshot: Snapshot, inquiry: Inquiry, declared: "Declared | None", signals: Signals
) -> "Held | None":
    if inquiry.level < 2:
        return None
    from audit.engine.locked import held_lock

    return held_lock(snapshot, declared, signals, lenient=inquiry.lenient)


def _weighed(rule: "Rule", severities: Mapping[str, str]) -> "Rule":
    """The rule with the severity that the profiles ask of it, where that is graver than its own: no profile lowers one."""
    asked = severities.get(rule.id)
    worst = max([rule.severity, *([Severity(asked.upper())] if asked else [])], key=lambda each: each.rank)
    return rule if worst is rule.severity else msgspec.structs.replace(rule, severity=worst)


def _rule_facts(rule: "Rule") -> RuleFacts:
    return RuleFacts(
        RuleText(rule.title, rule.why, rule.fix), Cost(rule.severity, rule.dimension, rule.points)
    )


def _comments(facts_by_path: Mapping[str, FileFacts]) -> Iterator[Comment]:
    for path, facts in facts_by_path.items():
        if isinstance(facts.body, DocsFacts):
            continue  # a document that explains suppressions suppresses nothing
        for ignore in (*facts.ignores, *getattr(facts.body, "ignores", ())):
            yield Comment(path, ignore.line, ignore.rules, ignore.reason)


def _asked(inquiry: Inquiry) -> tuple[object, ...]:
    """What of the inquiry the answer depends on; the manifest and the profiles are among the snapshot's entries."""
    return (inquiry.level, inquiry.profiles, inquiry.lenient)


def _key(snapshot: Snapshot, inquiry: Inquiry) -> bytes:
    digest = hashlib.sha256(program_digest())
    head = (snapshot.repository, snapshot.git, snapshot.gaps, snapshot.notes, *_asked(inquiry))
    for part in head:
        digest.update(repr(part).encode("utf-8", "surrogateescape"))
    for entry in snapshot.entries:
        line = f"{entry.path}\0{entry.blob}\0{entry.kind.value}\0{entry.size}\0{entry.tracked}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.digest()


@cache
def program_digest() -> bytes:
    """A digest of this package's code and data, of the running Python, and of what is installed beside it (a parser's version can change
    what is read from a file)."""
    digest = hashlib.sha256(platform.python_version().encode())
    for installed in map(Path, sys.path):
        with contextlib.suppress(OSError):
            names = sorted(
                path.name for path in installed.iterdir() if path.suffix in (".dist-info", ".egg-info")
            )
            digest.update("\n".join(names).encode("utf-8", "surrogateescape"))
    folder = Path(audit.__file__).parent
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".yaml") and p.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.digest()
