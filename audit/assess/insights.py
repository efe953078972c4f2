"""Sentences that follow from the evidence: where the repository stands, what to do first, and what only shows when signals are seen together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from audit.assess.score import WEIGHTS
from audit.documents.finding import Finding, Severity, Status
from audit.documents.report import Dimension, Dimensions
from audit.documents.rule import RuleText
from audit.documents.signals import Signals

_NAMES = {
    "environment": "the environment",
    "determinism": "determinism",
    "documentation": "documentation",
    "testing": "testing",
    "ci_cd": "CI",
    "benchmarking": "benchmarking",
    "data": "data",
    "configuration": "configuration",
}
_STRONG = 8.0
_WEAK = 6.0
_FIRST_STEPS = 3


def insights(
    parts: Dimensions, findings: Sequence[Finding], signals: Signals, texts: Mapping[str, RuleText]
) -> tuple[str, ...]:
    """At most a dozen sentences, the same for the same evidence. No model and no chance is asked."""
    return (
        *_standing(parts),
        *_first_steps(parts, findings, texts),
        *_combinations(signals, _cleared(findings)),
    )


def _standing(parts: Dimensions) -> Iterator[str]:
    scored = [(name, part) for name in WEIGHTS if (part := getattr(parts, name)).score is not None]
    if not scored:
        yield "Nothing here could be scored: no rule of any dimension applies."
        return
    strong = [name for name, part in scored if part.score >= _STRONG]
    weak = sorted(
        (name for name, part in scored if part.score < _WEAK), key=lambda name: getattr(parts, name).score
    )
    if strong:
        yield f"Strongest: {_listed([f'{_NAMES[name]} ({getattr(parts, name).score:.1f})' for name in strong])}."
    if weak:
        yield f"Weakest: {_listed([_weakness(name, getattr(parts, name)) for name in weak[:3]])}."


def _weakness(name: str, part: Dimension) -> str:
    because = f", most of it by {part.why[0].rule}" if part.why else ""
    return f"{_NAMES[name]} ({part.score:.1f}{because})"


def _first_steps(
    parts: Dimensions, findings: Sequence[Finding], texts: Mapping[str, RuleText]
) -> Iterator[str]:
    """The failing rules whose mending lifts the score most; a critical one first, whatever it costs."""
    gain = {
        loss.rule: loss.points * getattr(parts, name).weight
        for name in WEIGHTS
        for loss in getattr(parts, name).why
    }
    count = Counter(finding.rule for finding in findings if finding.status is Status.FAIL)
    first: dict[str, Finding] = {}
    for finding in findings:
        if finding.status is Status.FAIL and (
            finding.rule not in first or finding.severity.rank > first[finding.rule].severity.rank
        ):
            first[finding.rule] = finding
    order = sorted(
        first.values(), key=lambda f: (f.severity is not Severity.CRITICAL, -gain.get(f.rule, 0.0), f.rule)
    )
    steps = [f for f in order if f.severity is not Severity.INFO or gain.get(f.rule)][:_FIRST_STEPS]
    for number, finding in enumerate(steps):
        mend = finding.fix.text if finding.fix and finding.fix.text else finding.message
        if (times := count[finding.rule]) > 1 and finding.rule in texts:
            mend = f"{texts[finding.rule].fix} ({times} findings)"
        yield f"{('Do first', 'Then', 'Then')[number]} ({finding.rule}): {mend}"


def _cleared(findings: Sequence[Finding]) -> frozenset[str]:
    """Rules that looked and have nothing to say: no sentence may say it in their place."""
    by_rule: dict[str, set[Status]] = defaultdict(set)
    for finding in findings:
        by_rule[finding.rule].add(finding.status)
    return frozenset(
        rule for rule, found in by_rule.items() if found.isdisjoint({Status.FAIL, Status.NOT_CHECKED})
    )


def _combinations(signals: Signals, cleared: frozenset[str]) -> Iterator[str]:
    for combine in _COMBINATIONS:
        if _ASKED_BY.get(combine) in cleared:
            continue
        sentence = combine(signals)
        if sentence:
            yield sentence


def _resume_without_rng(signals: Signals) -> str:
    saved = signals.checkpoint.value
    if signals.seed_control.value and signals.resume.value and saved and not saved.rng_state:
        return (
            "Seeds are set and training can resume, but checkpoints hold no RNG state: a resumed run draws other numbers "
            "than an uninterrupted one."
        )
    return ""


def _seeds_without_flags(signals: Signals) -> str:
    seeded = {"torch", "cuda", "tensorflow"} & set(signals.seed_control.value)
    if seeded and not signals.determinism_flags.value and signals.training_loop.value != "none":
        return "Seeds are set, but no deterministic-algorithm flag: on a GPU two seeded runs can still differ in the last digits and drift apart."
    return ""


def _seeds_without_workers(signals: Signals) -> str:
    if signals.seed_control.value and signals.dataloader_worker_seeding.value is False:
        return (
            "The main process is seeded and nothing seeds the loader's workers for themselves: what random augmentation "
            "draws depends on how many workers run."
        )
    return ""


def _tests_without_ci(signals: Signals) -> str:
    if signals.tests.value and not signals.ci_tests.value:
        return "There are tests, but no CI job runs them: whether they still pass is known only to whoever ran them last."
    return ""


def _lock_without_python(signals: Signals) -> str:
    if signals.lockfile.value == "full" and signals.python_version.value is None:
        return "Every package is locked, but not the Python version that they are installed with."
    return ""


def _numbers_without_pins(signals: Signals) -> str:
    loose = [
        name for name, how in signals.critical_dependencies.value.items() if not how.exact and not how.locked
    ]
    if loose and signals.benchmarks.value and signals.lockfile.value == "none":
        return f"There are benchmarks, but {_listed(sorted(loose)[:4])} may be any version when somebody measures again."
    return ""


def _pinned_code_moving_data(signals: Signals) -> str:
    if signals.lockfile.value == "full" and signals.dataset_pinned.value == "no":
        return (
            "The packages are locked and the data is not: the same code can train on other data next month."
        )
    return ""


def _remote_code_unpinned(signals: Signals) -> str:
    calls = signals.hub_calls.value
    if signals.trust_remote_code.value and calls.total > calls.pinned:
        return "trust_remote_code runs code from the hub at a revision that its owner can change at any time."
    return ""


def _library(signals: Signals) -> str:
    if signals.training_loop.value == "none" and signals.frameworks.value:
        return (
            "No training entry point was found, so rules about training runs do not apply and cost nothing."
        )
    return ""


_COMBINATIONS: tuple[Callable[[Signals], str], ...] = (
    _resume_without_rng,
    _seeds_without_flags,
    _seeds_without_workers,
    _remote_code_unpinned,
    _pinned_code_moving_data,
    _lock_without_python,
    _numbers_without_pins,
    _tests_without_ci,
    _library,
)


_ASKED_BY: Mapping[Callable[[Signals], str], str] = {
    _resume_without_rng: "determinism.resume",
    _seeds_without_flags: "determinism.flags",
    _seeds_without_workers: "determinism.loader_workers",
    _remote_code_unpinned: "hub.trust_remote_code",
    _tests_without_ci: "testing.ci_runs_tests",
}
"""The rule that asks the same question closer to the code, where there is one."""


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
