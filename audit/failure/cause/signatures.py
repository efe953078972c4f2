"""Known causes that tools print in a line of their own: package managers, hubs, compilers, drivers, configuration tools."""

import re

import msgspec

from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.classify import STRUCTURAL, judge, states_a_check
from audit.failure.cause.scene import StepView, category_of, stream_of
from audit.failure.cause.wording import EVENT, MEANT_SO
from audit.failure.model import Hit, Kind, Line
from audit.failure.structure.progress import metric_line, worked
from audit.failure.structure.tracebacks import NAMED

ENVIRONMENT = frozenset(
    {"network", "hub", "git", "storage", "cloud", "filesystem", "packaging", "containers"}
)
"""Families whose failures are of the surroundings and come before the symptoms that they cause."""
_TRAINING = frozenset({"training", "megatron", "mlperf"})
_WARNING = re.compile(
    r"^(?:\S{1,40} ){0,3}\W{0,2}(?:WARN(?:ING)?|INFO|DEBUG|NOTE|note|warning|hint)\b|##\[(?:warning|notice|debug)\]|\bWarning: |^-- "  # CMake's status lines
    r"|^[IW]\d{4} \d\d:\d\d:\d\d|^(?:\S{1,40} ){0,3}[IW] \S{1,100}\.(?:cc|cpp|cu|py):\d+\]",  # glog and TensorFlow
    re.IGNORECASE,
)
_ABOVE_TESTS = frozenset({"cloud", "ci", "github_actions", "kubernetes"})
"""Families of what runs the machine: where their words stand among the output of tests, they are not a test's."""
_RETRY = re.compile(
    r"\b(?:retry(?:ing)?|attempt \d+ ?(?:/|of)|will retry|trying again|falling back)\b", re.IGNORECASE
)


_BUILT = re.compile(
    r"\bSuccessfully (?:built|installed)\b|\bBuilt target\b|\bfinished with status 'done'|\[(\d{1,6})/\1\]|\bBuild(?:ing)? (?:succeeded|completed|successful)|"
    r"\bBUILD SUCCESS|\bFinished `?(?:release|dev)\b|\bCompiled successfully\b|\bninja: no work to do"
)
"""What a build tool prints when it got to its end."""


def find(view: StepView) -> list[Candidate]:
    """One candidate a signature, its first line, outside of test reports and of exceptions' own lines."""
    spans = [(session.first.number, session.last.number, session.first.source) for session in view.sessions]
    raised = {(link.line.source, link.line.number) for found in view.tracebacks for link in found.links}
    inside = [(found.first, found.last, found.source) for found in view.tracebacks]
    first: dict[str, Candidate] = {}
    for met in view.hits:
        hit, line = met, met.line
        if not _eligible(hit) or (line.source, line.number) in raised:
            continue
        if hit.signature.family not in _ABOVE_TESTS and any(
            low <= line.number <= high and source == line.source for low, high, source in spans
        ):
            continue
        if any(low <= line.number < high and source == line.source for low, high, source in inside):
            continue
        if hit.signature.id == "nccl_last_error" and (told := _next(view, line)) is not None:
            hit = msgspec.structs.replace(hit, line=told)
            line = told
        if line.text.rstrip().endswith("Traceback (most recent call last)"):
            continue  # IPython's header; the exception's own line stands at its end
        key = hit.signature.name
        if key in first:
            first[key] = _again(first[key], view, hit, line)
        else:
            first[key] = _candidate(view, hit)
    return _started(view, list(first.values()))


_BEFORE_START = frozenset({"pod_not_scheduled", "kubernetes_volume_failed"})
_TAKEN_AWAY = frozenset({"pod_evicted", "pod_storage_limit"})


def _started(view: StepView, found: list[Candidate]) -> list[Candidate]:
    """What kept a pod from its start is over where it ran: events are listed when all has ended, those of the beginning too."""
    if any(candidate.signature == "pod_storage_limit" for candidate in found):  # says why it was evicted
        found = [
            msgspec.structs.replace(candidate, strength=Strength.CONFIRMING)
            if candidate.signature == "pod_evicted"
            else candidate
            for candidate in found
        ]
    ran = any(candidate.signature in _TAKEN_AWAY for candidate in found) or any(
        metric_line(line.text) for line in view.step.lines
    )
    return [
        msgspec.structs.replace(candidate, outcome=Outcome.RECOVERED)
        if ran and candidate.signature in _BEFORE_START
        else candidate
        for candidate in found
    ]


def _next(view: StepView, line: Line) -> Line | None:
    """The line after one that only announces it (`Last error:`)."""
    if not line.text.strip().endswith(":"):
        return None
    return next(
        (
            other
            for other in view.streams[stream_of(line)]
            if other.number > line.number and other.text.strip()
        ),
        None,
    )


def _eligible(hit: Hit) -> bool:
    signature = hit.signature
    if signature.role not in ("root", "confirming", "cascade"):
        return False
    if signature.family in _TRAINING and signature.category not in ("data_config", "metric_policy"):
        return False  # what the numbers of the training say is asked by `training`
    if states_a_check(hit):
        return False  # what a check looks at and by how much it was missed is asked by `gates`
    if signature.id in STRUCTURAL or signature.family == "tests":
        return signature.id in ("no_tests_ran", "pytest_usage_error", "bazel_timeout", "failed_consistently")
    return not hit.line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP} and not MEANT_SO.search(
        hit.line.text[:600]
    )


def warns(line: Line) -> bool:
    """Whether the program itself calls the line a warning, a note, or an attempt among several."""
    if EVENT.match(line.text[:160]) or "Sanitizer: " in line.text[:160]:
        return False  # whatever they call their level, what they report is no hint
    return bool(_WARNING.search(line.text[:160]) or _RETRY.search(line.text))


def _candidate(view: StepView, hit: Hit, at: Line | None = None) -> Candidate:
    line = at or hit.line
    strength = {"root": Strength.NAMED, "confirming": Strength.CONFIRMING, "cascade": Strength.CASCADE}[
        hit.signature.role
    ]
    outcome = Outcome.PROGRESSED if _survived(view, hit, line) else Outcome.TERMINAL
    if hit.signature.id in _NOTICES:
        outcome = Outcome.PROGRESSED if _long_after(view, line) else Outcome.TERMINAL
    elif warns(line):
        outcome = Outcome.RECOVERED if outcome is Outcome.PROGRESSED else Outcome.UNRESOLVED
    category = category_of(hit.signature.category)
    if category is None and strength is Strength.NAMED:
        named = NAMED.match(line.text.strip())
        category = (
            judge(
                named["kind"] if named else "",
                (named["message"] or "") if named else line.text,
                (),
                context=view.step.command,
            ).category
            if named
            else None
        )
        strength = Strength.NAMED if category is not None else Strength.CONFIRMING
    return Candidate(
        line,
        hit.signature.name,
        category,
        strength,
        Origin.SIGNATURE,
        view.step,
        outcome,
        strength is Strength.NAMED and not warns(line),
        hit,
        at=line.time,
        kind=hit.signature.family,
    )


_NOTICES = frozenset({"instance_preempted"})
"""Words that a machine will be taken away: work goes on until it is."""
_NOTICE_SECONDS = 900
"""Providers give from half a minute to some minutes; what still works a quarter of an hour later was spared."""
_NOTICE_LINES = 200


def _long_after(view: StepView, line: Line) -> bool:
    """Whether work went on long after a notice."""
    later = [other for other in view.streams[stream_of(line)] if other.number > line.number and worked(other)]
    if not later:
        return False
    if line.time is not None and later[-1].time is not None:
        return later[-1].time - line.time > _NOTICE_SECONDS
    return len(later) > _NOTICE_LINES


def _survived(view: StepView, hit: Hit, line: Line) -> bool:
    """Whether what a line tells did not end anything. A build that failed is survived by one that came to its end, by no other sign of life."""
    if not view.alive_after(line):
        return False
    if hit.signature.family != "build":
        return True
    return any(
        other.number > line.number and _BUILT.search(other.text[:600])
        for other in view.streams[stream_of(line)]
    )


def _again(before: Candidate, view: StepView, hit: Hit, line: Line) -> Candidate:
    """The same signature once more: counted; where the first was survived or only a warning, and this one is neither, this one stands."""
    if before.hit is not None and warns(before.line) and not warns(line):
        return msgspec.structs.replace(_candidate(view, hit, line), count=before.count + 1)
    if (
        before.outcome in (Outcome.PROGRESSED, Outcome.RECOVERED)
        and not (before.hit and _survived(view, before.hit, line))
        and stream_of(line) == stream_of(before.line)
    ):
        outcome = Outcome.UNRESOLVED if warns(line) else Outcome.TERMINAL
        return msgspec.structs.replace(
            before, line=line, outcome=outcome, count=before.count + 1, at=line.time
        )
    return msgspec.structs.replace(before, count=before.count + 1)
