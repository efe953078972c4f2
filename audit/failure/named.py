"""What failed and what went well, by the names that a reader of the run knows: tests, checks, steps, commands, jobs, ranks and tasks."""

import re
from collections.abc import Iterable, Iterator, Sequence

from audit.failure.cause.answer import JobCause, State
from audit.failure.cause.candidate import Candidate, Origin
from audit.failure.cause.scene import Scene
from audit.failure.digits import integer
from audit.failure.model import Kind, Line
from audit.failure.structure.steps import Conclusion, Step
from audit.failure.structure.verdict_rows import cells_of, name_of_check

MOST_FAILING = 200
MOST_PASSED = 60
_MOST_OF_A_SESSION = 20
_MOST_STEPS = 5
_END = 60
"""Lines at a step's end in which schedulers and make name what failed."""
_ENDED = (
    (re.compile(r"^make(?:\[\d+\])?: \*\*\* \[(?:[^\]]{1,200}: )?(?P<n>[\w./-]{1,80})\] Error"), "make {}"),
    (
        re.compile(
            r"^(?:srun|slurmstepd): error: \S+: task (?P<n>\d{1,6}): (?!Terminated|Killed by|Running)"
        ),
        "task {}",
    ),
    (re.compile(r"Job failed \(system failure\): (?P<n>[a-z][a-z ]{3,40}):"), "{}"),
    (re.compile(r"\*\*\* STEP (?P<n>\d+\.\w+) ON "), "step {}"),
    (re.compile(r"\*\*\* JOB (?P<n>\d+) ON "), "job {}"),
    (re.compile(r"^(?:pod/)?(?P<n>[a-z\d][a-z\d.-]{2,80}) +\d+/\d+ +(?:Evicted|Error|OOMKilled|CrashLoopBackOff|ImagePullBackOff)\b"), "pod {}"),
)  # fmt: skip
_TASKS = re.compile(
    r"(?:srun|slurmstepd): error: \S+: tasks (?P<n>[\d,-]{1,60}): (?!Terminated|Killed by|Running)"
)
_MOST_RANKS = 100_000
_WHILE_RUNNING = re.compile(r"crashed while running '(?P<node>[^']{1,400})'")
_COMMAND = re.compile(r"(?:\$|\+{1,2}) (?P<command>[\w./~\"'{(\[].{0,300})")
_NAMING = ("key", "metric", "test", "pod", "container")
"""Captures of signatures that name what failed."""


def failing(scene: Scene, causes: Sequence[JobCause]) -> tuple[str, ...]:
    """Tests first, then checks, ranks, steps with their commands, and jobs. Of runs that nobody knows to have failed what was going on."""
    names: list[str] = []
    for cause in causes:
        if cause.state is not State.PASSED:
            names += _of_job(scene, cause)
    short = (" ".join(name.split())[:400] for name in names)
    return _told_once(dict.fromkeys(name for name in short if name))[:MOST_FAILING]


def _told_once(names: Iterable[str]) -> tuple[str, ...]:
    """Without a command that a step's name already holds (`python train.py` beside `Run python train.py`)."""
    listed = list(names)
    whole = {name.removeprefix("Run ") for name in listed if name.startswith("Run ")}
    return tuple(name for name in listed if name not in whole)


def _of_job(scene: Scene, cause: JobCause) -> Iterator[str]:
    tests = [candidate for candidate in cause.consequences if candidate.origin is Origin.TEST]
    candidates = [candidate for candidate in (cause.primary, *cause.others, *tests) if candidate is not None]
    for candidate in candidates:
        yield from (name for name in candidate.failing if name not in _own(candidate.step))
    step = cause.step or _last(cause.job.steps)
    if step is not None:
        yield from _tests(scene, step)
    for candidate in candidates:
        yield from _checks(candidate)
    yield from _ranks(scene, cause)
    if step is not None:
        yield from _ended(step.lines[-_END:])
        yield from _own(step)
        yield from _commands(step, cause.primary)
        for other in [other for other in cause.job.steps if _failed(other) and other is not step][
            :_MOST_STEPS
        ]:
            yield from _own(other)
        yield step.job or ""
    yield cause.job.name or ""
    if cause.primary is not None:
        yield cause.primary.line.stream.job or ""
    elif step is not None and step.lines:
        yield step.lines[-1].stream.job or ""


def _failed(step: Step) -> bool:
    return step.conclusion is Conclusion.FAILURE and not step.teardown and not step.tolerated


def _last(steps: Sequence[Step]) -> Step | None:
    return next((step for step in reversed(steps) if not step.teardown and step.lines), None)


def _own(step: Step) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (step.name, step.command) if name))


def _tests(scene: Scene, step: Step) -> Iterator[str]:
    """The tests of a step that failed, that ran when a worker died, and the one that was running when the run ended."""
    for session in scene.view(step).sessions:
        if session.failed or session.summary is None:
            yield from session.failing
        for line in session.crashed:
            if found := _WHILE_RUNNING.search(line.text[:600]):
                yield found["node"]
        if session.summary is None and session.pending:
            yield session.pending


def _checks(candidate: Candidate) -> Iterator[str]:
    """The metric or the key that a failed check is of, as its line has it."""
    if candidate.hit is not None:
        yield from (
            capture.text for capture in candidate.hit.captures if capture.name in _NAMING and capture.text
        )
    if (
        candidate.comparison is not None
        and candidate.origin is Origin.GATE
        and (name := name_of_check(candidate.line.text))
    ):
        yield name


def _ranks(scene: Scene, cause: JobCause) -> Iterator[str]:
    """The rank of the cause, and where others met the same, all of them; of a launcher's report the first."""
    primary = cause.primary
    if primary is not None:
        own = {primary.rank} if primary.rank is not None else set()
        met = {
            candidate.hit.signature.id
            for candidate in (primary, *cause.consequences)
            if candidate.hit is not None
        }
        own |= {
            hit.line.stream.rank
            for hit in scene.reading.hits
            if hit.signature.id in met and hit.line.stream.rank is not None
        }
        if primary.rank is not None:
            yield f"rank {primary.rank}"
        if len(own) > 1:
            yield f"ranks {spans(own)}"
    if cause.step is None:
        return
    ends = scene.view(cause.step).ends
    for end in ends:
        if end.first and end.rank is not None:
            yield f"rank {end.rank}"


def _numbers(text: str) -> Iterator[int]:
    """The numbers of `8-9,12-13`."""
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low and (not high or integer(high) - integer(low) < _MOST_RANKS):
            yield from range(integer(low), integer(high or low) + 1)


def spans(numbers: Iterable[int]) -> str:
    """`0-3, 8, 12-13`."""
    ordered = sorted(set(numbers))
    parts: list[list[int]] = []
    for number in ordered:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(
        f"{part[0]}-{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts
    )


def _ended(lines: Sequence[Line]) -> Iterator[str]:
    for line in lines:
        if found := _TASKS.match(line.text[:400]):
            yield f"ranks {spans(_numbers(found['n']))}"
        for pattern, form in _ENDED:
            if found := pattern.search(line.text[:400]):
                yield form.format(found["n"])


def _commands(step: Step, primary: Candidate | None) -> Iterator[str]:
    """Of a step with several commands the one that ran when it failed."""
    at = primary.line.number if primary is not None and primary.line.source == step.source else None
    last = ""
    for line in step.lines:
        if at is not None and line.number > at:
            break
        if Kind.COMMAND in line.kinds and (found := _COMMAND.match(line.text)):
            last = found["command"]
    yield last


def passed(scene: Scene, causes: Sequence[JobCause]) -> tuple[str, ...]:
    """What visibly went well: steps, test runs with their counts, tests beside those that failed."""
    names: list[str] = []
    for cause in causes:
        for step in cause.job.steps:
            if step.teardown:
                continue
            label = step.label
            for session in scene.view(step).sessions:
                if session.counts.get("passed"):
                    names.append(f"{label}: {session.counts['passed']} passed")
                if session.failed:
                    names += [item.node for item in session.progress if item.outcome == "PASSED"][
                        :_MOST_OF_A_SESSION
                    ]
            names += _good_checks(step)
            if (
                step.conclusion is Conclusion.SUCCESS
                and step.command
                and not step.command.startswith("actions/")
            ):
                names.append(label)
    return tuple(dict.fromkeys(names))[:MOST_PASSED]


_GOOD_ROW = re.compile(r"(?:\s{2,}|\|\s?|[:=>] ?)(?:PASS(?:ED)?|OK|ok|✅|✓|✔)\s?\|?$")
_NUMBER = re.compile(r"\d")


def _good_checks(step: Step) -> Iterator[str]:
    """Rows of checks with numbers that say that they hold."""
    if step.conclusion is not Conclusion.FAILURE:
        return
    for line in step.lines[-400:]:
        if not line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.TEST_ID} and _GOOD_ROW.search(line.text[:300]):
            cells = cells_of(line.text)
            if len(cells) >= 3 and _NUMBER.search(line.text):
                yield cells[0][:80]
