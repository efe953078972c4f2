"""A log split into the steps of its CI system, with how each ended as far as the log says.

GitHub Actions, GitLab, Jenkins, Buildkite, Azure Pipelines and bare logs (one step). Markers are those that the runners print.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Kind, Line, Reading


class Conclusion(StrEnum):
    """How a step or a job ended. UNKNOWN: the log does not say."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Step(msgspec.Struct, frozen=True):
    """One step, or one command of a step where the log shows commands (`$ cmd`, `+ cmd`).

    `name` as the log has it, `command` the first command line ("" where not shown), `lines` all its kept lines. `exit_code` as the
    log states it, `end` the line that states how it ended. `teardown`: runs whatever happened before (post-job, after_script).
    `tolerated`: the workflow goes on after its failure (`continue-on-error`).
    """

    source: str
    job: str | None
    name: str
    command: str
    lines: tuple[Line, ...]
    conclusion: Conclusion = Conclusion.UNKNOWN
    exit_code: int | None = None
    end: Line | None = None
    teardown: bool = False
    tolerated: bool = False

    @property
    def label(self) -> str:
        """What to call it: its name as the log has it, else its command."""
        return self.name or self.command


class Job(msgspec.Struct, frozen=True):
    """The steps of one job in order. `complete`: the log runs to the job's own end. `end`: the line that states the conclusion."""

    name: str | None
    steps: tuple[Step, ...]
    conclusion: Conclusion
    complete: bool
    exit_code: int | None = None
    end: Line | None = None


EXIT = re.compile(
    r"(?:exit(?:ed)? (?:with )?(?:code|status)|exited with (?:code|status)|exit code:|exitcode:?|returned exit code|exit status|"
    r"terminated with exit code|returned non-zero exit status|failed with exit code|exited with|exit_code=|rc=)[ :=]{0,3}'?(?:exit status )?(-?\d{1,10})\b",
    re.IGNORECASE,
)
_BEGIN = (
    (re.compile(r"##\[group\]Run (?P<name>.+)"), False),
    (re.compile(r"##\[section\]Starting: (?P<name>.+)"), False),
    (re.compile(r"section_start:\d+:(?P<name>[\w.-]+)"), False),
    (re.compile(r"\[Pipeline\] \{ \((?P<name>[^)]+)\)"), False),
    (
        re.compile(
            r"(?:~~~|---|\+\+\+) (?!(?:FAIL|PASS|SKIP|BENCH|STDERR|STDOUT)\b):?(?P<name>(?:[\w-]+: )?[A-Z:].+)"
        ),
        False,
    ),
    (
        re.compile(
            r"(?P<name>Post job cleanup|Cleaning up orphan processes|Post Run .+|Running after_script)"
        ),
        True,
    ),
)
_TEARDOWN = re.compile(
    r"(?:after_script|upload_artifacts|cleanup|archive_cache|Post (?:Run|Actions|job)|Declarative: Post|Post Actions|Complete job|Finalize|Cleaning up|"
    r"Uploading artifacts|Checkout .* to s$|post-exit hook|pre-exit hook)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"(?:\$|\+{1,2}) (?P<command>[\w./~\"'{(\[].*)")
_GHA_FAILED = re.compile(
    r"##\[error\](?:Process completed with exit code (\d+)|(?:Bash|PowerShell|Cmd\.exe) exited with code '?(\d+)'?)"
)
_CANCELLED = re.compile(
    r"##\[error\]The (?:operation was canceled|job was canceled|strategy configuration was canceled|runner has received a shutdown)|"
    r"^ERROR: Job failed: canceled|^Finished: ABORTED|^The job was canceled because|# Received cancellation signal"
)
_OVERTIME = re.compile(
    r"exceeded the maximum execution time|ran longer than the maximum time|has timed out after \d"
)
"""A limit that the runner kept: it cancels what it ends, and says so in a second line."""
_GOOD = re.compile(
    r"^(?:Job succeeded|Finished: SUCCESS|Build step .* marked build as SUCCESS|CI build succeeded)\b|^🎉"
)
_BAD = re.compile(
    r"^(?:ERROR: Job failed|ERROR: script returned exit code|Finished: (?:FAILURE|UNSTABLE)|🚨 Error: The (?:command exited|agent was lost)|"
    r"Error: The command exited with status [1-9]|Exited with code exit status [1-9]|The command \".*\" exited with [1-9]|Build failed|FATAL: )"
)
_GHA = re.compile(r"##\[(?:group|section|error|endgroup)\]|^Current runner version|^Complete job name")
_SKIPPED_STAGE = re.compile(r'Stage "(?P<name>[^"]+)" skipped due to earlier failure')
_GHA_END = re.compile(r"^(?:Cleaning up orphan processes|Post job cleanup)|##\[section\]Finishing: ")


class _Draft:
    """A step while its lines come in."""

    def __init__(self, source: str, job: str | None, name: str, *, teardown: bool = False) -> None:
        self.source, self.job, self.name, self.teardown = source, job, name, teardown
        self.command = ""
        self.lines: list[Line] = []
        self.conclusion = Conclusion.UNKNOWN
        self.exit_code: int | None = None
        self.end: Line | None = None

    def close(self, conclusion: Conclusion, line: Line, exit_code: int | None = None) -> None:
        self.conclusion, self.end = conclusion, line
        self.exit_code = exit_code if exit_code is not None else self.exit_code

    def done(self) -> Step:
        return Step(
            self.source,
            self.job,
            self.name,
            self.command,
            tuple(self.lines),
            self.conclusion,
            self.exit_code,
            self.end,
            self.teardown,
        )


_CLOSES = re.compile(
    r"(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: exit)?(?: code| status)?[ :=]{1,3}-?\d{1,3}\.?$|^make(?:\[\d+\])?: \*\*\* .+ Error \d{1,3}$|"
    r"\b(?:\d+ (?:passed|failed|errors?|skipped))\b.{0,80} in \d[\d.:]*s\b.{0,40}$|\b(?:done|finished|completed?|succeeded)[.! )]{0,3}$|"
    r"^(?:Terminated|Killed|Aborted)(?: \(core dumped\))?$",
    re.IGNORECASE,
)
"""Last lines that say that all was said."""
_USES = re.compile(r"[\w.-]+/[\w./-]+@|\./|docker://")
_BY_THE_RUNNER = re.compile(
    r"timed? ?out|exceeded|runner|canceled|cancelled|No space left|lost communication"
)


def closes(line: Line) -> bool:
    """Whether a line ends a log though no line end follows it: what a runner, a shell or a test run prints last."""
    text = line.text.rstrip()
    told = _GHA_END.match(text) or _GOOD.match(text) or _BAD.match(text) or _GHA_FAILED.match(text)
    return bool(told or _CLOSES.search(text[-300:]))


def jobs(reading: Reading) -> tuple[Job, ...]:
    """The jobs of the logs: one a job name, and one for all sources that belong to none (rank files, plain logs)."""
    grouped: dict[str | None, list[Step]] = {}
    by_source: dict[str, list[Line]] = {source.name: [] for source in reading.sources}
    for line in reading.lines:
        by_source.setdefault(line.source, []).append(line)
    complete: dict[str | None, bool] = {}
    for source in reading.sources:
        lines = by_source[source.name]
        job = source.stream.job
        grouped.setdefault(job, []).extend(_steps(source.name, job, source.stream.step, lines))
        ended = source.whole and (not source.ends_in_line or bool(lines and closes(lines[-1])))
        complete[job] = complete.get(job, True) and ended
    return tuple(_job(name, steps, complete=complete[name]) for name, steps in grouped.items())


def _steps(source: str, job: str | None, named: str | None, lines: Iterable[Line]) -> list[Step]:
    """The steps of one log. `named`: the file is one step of a job."""
    current = _Draft(source, job, named or "", teardown=bool(named and _TEARDOWN.search(named)))
    drafts = [current]
    for line in lines:
        text = line.text
        begun = None if named else _begins(line)
        if begun is not None:
            name, teardown = begun
            is_command = text.startswith(
                "##[group]Run "
            )  # its words are a script's, not a runner's name for a step
            ends = _TEARDOWN.match(name) if is_command else _TEARDOWN.search(name)
            current = _Draft(source, job, name, teardown=teardown or bool(ends))
            if is_command:
                current.command = name
            drafts.append(current)
        elif (command := _COMMAND.match(text)) and _shows_commands(current, line):
            if current.command and not named:
                current = _Draft(source, job, current.name, teardown=current.teardown)
                drafts.append(current)
            current.command = current.command or command["command"]
        elif named and not current.command and text.startswith("##[group]Run "):
            current.command = text[len("##[group]Run ") :]
        current.lines.append(line)
        _concludes(current, line)
    _forgive(drafts)
    return [draft.done() for draft in drafts if draft.lines]


def _forgive(drafts: list[_Draft]) -> None:
    """A script that printed errors for the runner to show has not failed by that: of one that fails the runner states the exit code, and starts no
    other script after it.
    """
    scripts = [
        draft for draft in drafts if draft.command and not draft.teardown and not _USES.match(draft.command)
    ]
    for draft in scripts[:-1]:
        if (
            draft.conclusion is Conclusion.FAILURE
            and draft.exit_code is None
            and draft.end is not None
            and draft.end.text.startswith("##[error]")
            and not _BY_THE_RUNNER.search(draft.end.text)
        ):
            draft.conclusion, draft.end = Conclusion.UNKNOWN, None


def _shows_commands(current: _Draft, line: Line) -> bool:
    """Whether `$ cmd` is an echoed command here: never inside a GitHub step, whose script is listed beforehand."""
    return (
        not current.command.startswith(("actions/",))
        and not line.text.startswith("+++ ")
        and Kind.TEST not in line.kinds
    )


def _begins(line: Line) -> tuple[str, bool] | None:
    text = line.text
    if not text or text[0] not in "#s[~-+PCR":
        return None
    for pattern, teardown in _BEGIN:
        if found := pattern.match(text):
            return found["name"].strip(), teardown
    return None


def _concludes(current: _Draft, line: Line) -> None:
    text = line.text
    if text.startswith("##[error]"):
        if failed := _GHA_FAILED.match(text):
            current.close(Conclusion.FAILURE, line, integer(failed[1] or failed[2]))
        elif _OVERTIME.search(text):
            current.close(Conclusion.FAILURE, line)
        elif _CANCELLED.match(text):
            if current.end is None or not _OVERTIME.search(current.end.text):
                current.close(Conclusion.CANCELLED, line)
        elif current.conclusion is Conclusion.UNKNOWN:
            current.close(Conclusion.FAILURE, line)


def _job(name: str | None, steps: list[Step], *, complete: bool) -> Job:
    """The job: what its last words say of the whole, and which step they are said of where the step itself does not say."""
    steps = _failed_after_all(steps)
    conclusion, end, code = _last_word(steps)
    github = any(_GHA.match(line.text) for step in steps[:3] for line in step.lines[:200])
    failed = [step for step in steps if step.conclusion is Conclusion.FAILURE and not step.teardown]
    if conclusion is Conclusion.UNKNOWN and failed:
        conclusion, end, code = Conclusion.FAILURE, failed[0].end, failed[0].exit_code
    elif conclusion is Conclusion.UNKNOWN and any(step.conclusion is Conclusion.CANCELLED for step in steps):
        conclusion = Conclusion.CANCELLED
    elif conclusion is Conclusion.UNKNOWN and github:
        ended = any(_GHA_END.match(line.text) for step in steps for line in step.lines)
        conclusion = Conclusion.SUCCESS if ended and complete else Conclusion.UNKNOWN
    if conclusion is Conclusion.FAILURE and not failed and end is not None and _BAD.match(end.text):
        steps = _blamed(steps, end, code)
    if conclusion is Conclusion.SUCCESS:
        steps = [
            msgspec.structs.replace(step, conclusion=Conclusion.SUCCESS)
            if step.conclusion is Conclusion.UNKNOWN
            else step
            for step in steps
        ]
    elif conclusion is Conclusion.FAILURE:
        steps = _earlier_went_well(steps)
    return Job(name, tuple(steps), conclusion, complete, code, end)


def _failed_after_all(steps: list[Step]) -> list[Step]:
    """Where nothing failed but what comes after the work, that is what the job failed by."""
    if any(step.conclusion is Conclusion.FAILURE and not step.teardown for step in steps):
        return steps
    return [
        msgspec.structs.replace(step, teardown=False) if step.conclusion is Conclusion.FAILURE else step
        for step in steps
    ]


def _last_word(steps: list[Step]) -> tuple[Conclusion, Line | None, int | None]:
    """What the runner says of the whole job, its last statement first."""
    found: tuple[Conclusion, Line | None, int | None] = (Conclusion.UNKNOWN, None, None)
    for step in reversed(steps):
        for line in reversed(step.lines[-400:]):
            text = line.text
            if _GOOD.match(text):
                return Conclusion.SUCCESS, line, 0
            if _BAD.match(text):
                code = EXIT.search(text)
                if code is None and text.startswith("Finished:"):
                    found = (Conclusion.FAILURE, line, None)
                    continue  # Jenkins states the exit code on the line before
                return Conclusion.FAILURE, line, integer(code[1]) if code else None
            if _CANCELLED.match(text) and found[0] is Conclusion.UNKNOWN:
                found = (Conclusion.CANCELLED, line, None)
    return found


def _blamed(steps: list[Step], end: Line, code: int | None) -> list[Step]:
    """The job failed and no step says so: runners stop at the first failing command, so it is the last before teardown."""
    skipped = {
        match["name"] for step in steps for line in step.lines if (match := _SKIPPED_STAGE.search(line.text))
    }
    candidates = [
        index
        for index, step in enumerate(steps)
        if not step.teardown and step.name not in skipped and (step.command or len(step.lines) > 1)
    ]
    with_command = [index for index in candidates if steps[index].command]
    order = with_command or candidates or [len(steps) - 1]
    while len(order) > 1 and _CLEARS_UP.match(steps[order[-1]].command) and _broke(steps[order[-2]]):
        order = order[:-1]  # a script's own clearing up, done whatever happened
    chosen = _section(steps, candidates, end, after=order[-1])
    return [
        msgspec.structs.replace(step, conclusion=Conclusion.FAILURE, exit_code=code, end=end)
        if index == chosen
        else step
        for index, step in enumerate(steps)
    ]


def _section(steps: list[Step], candidates: list[int], end: Line, *, after: int) -> int:
    """The section that a script opened by name (`--- Evaluate`, `+++ Gate`) behind its last echoed command, where the runner's word stands in it; else
    `after`."""
    for index in candidates:
        step = steps[index]
        inside = step.lines[0].number <= end.number <= step.lines[-1].number
        if index > after and not step.command and step.source == end.source and inside:
            return index
    return after


_CLEARS_UP = re.compile(
    r"(?:sudo )?(?:\S{1,40} (?:stop|kill|down|rm|delete|logs|prune|cleanup|teardown)\b|docker (?:rm|stop|kill|logs)|rm |kill\w* |pkill |cat |tail |head |ls\b|"
    r"dmesg|nvidia-smi|df\b|free\b|echo |exit\b|wait\b|popd|trap )"
)


def _broke(step: Step) -> bool:
    """Whether a step's last lines hold an exception."""
    return any(line.kinds & {Kind.TRACEBACK, Kind.EXCEPTION} for line in step.lines[-40:])


def _earlier_went_well(steps: list[Step]) -> list[Step]:
    """A step that ran before a failed one and reports nothing has succeeded: a runner stops at the first failure."""
    failing = [
        index
        for index, step in enumerate(steps)
        if step.conclusion is Conclusion.FAILURE and not step.teardown
    ]
    first = failing[0] if failing else len(steps)
    return [
        msgspec.structs.replace(step, conclusion=Conclusion.SUCCESS)
        if index < first and step.conclusion is Conclusion.UNKNOWN
        else step
        for index, step in enumerate(steps)
    ]
