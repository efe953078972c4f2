"""Many ranks, one cause: who failed first, and who only waited for it or was ended because of it.

A watchdog that speaks at T with a timeout of τ began to wait at T − τ; a peer's closed connection names no cause; the launcher's
"root cause" is the first end it noticed.
"""

import re
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.scene import Scene
from audit.failure.cause.wording import points_elsewhere
from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.launcher import Ended
from audit.failure.structure.steps import Step

_WATCHDOG = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, "
    r"NumelIn=(?P<numel>\d+))?.{0,120}?Timeout\(ms\)=(?P<timeout>\d+)"
)
_POINTER = re.compile(
    r"remote process exited|Connection closed by (?:remote )?peer|Connection reset by peer|socketPollConnect|typically caused by a remote "
    r"worker|See root cause above|"
    r"DistBackendError|broken pipe|Broken pipe|ncclRemoteError|peer (?:process )?(?:died|exited|crashed)|NCCL communicator was aborted|RendezvousClosed|"
    r"another rank|other ranks?|a remote rank|this or another task|another (?:task|process|worker|node|host) (?:has )?(?:died|failed|crashed|exited)|"
    r"worker .{0,30}(?:died|terminated)|SignalException|Signals\.SIGTERM",
)
_DEATH = re.compile(r"\bexit(?:ed)? with signal|SIGKILL|exitcode\s*: -9|\bKilled\b|code 137|signal 9")


class Watchdog(msgspec.Struct, frozen=True):
    """One rank's report that a collective did not end. `began`: seconds since 1970 at which the wait began, None without a time."""

    line: Line
    sequence: int
    operation: str
    elements: int | None
    timeout_ms: int
    rank: int | None
    began: float | None


def watchdogs(scene: Scene, steps: Sequence[Step]) -> list[Watchdog]:
    """The first watchdog report of each rank."""
    found: dict[tuple[str, int | None], Watchdog] = {}
    for step in steps:
        for line in step.lines:
            if "Watchdog caught" in line.text and (seen := _WATCHDOG.search(line.text)):
                timeout = integer(seen["timeout"])
                report = Watchdog(
                    line,
                    integer(seen["seq"]),
                    seen["op"],
                    integer(seen["numel"]) if seen["numel"] else None,
                    timeout,
                    line.stream.rank,
                    None if line.time is None else line.time - timeout / 1000,
                )
                found.setdefault((line.source, line.stream.rank), report)
    return list(found.values())


def demote(candidates: Sequence[Candidate]) -> list[Candidate]:
    """What says itself that another process failed is a consequence, whatever its exception's type. A lost connection is one outside of tests only:
    a test may be of it.
    """
    return [
        msgspec.structs.replace(candidate, strength=Strength.CASCADE)
        if candidate.strength < Strength.CONFIRMED
        and (
            (candidate.strength <= Strength.GENERIC and points_elsewhere(candidate.line.text))
            or (candidate.origin is not Origin.TEST and _POINTER.search(candidate.line.text))
        )
        else candidate
        for candidate in candidates
    ]


def first_of(candidates: Sequence[Candidate], ends: Sequence[Ended]) -> Candidate | None:
    """Of candidates on several ranks the one whose rank failed first: by time where all have one, else by the launcher's first notice."""
    ranked = [candidate for candidate in candidates if candidate.rank is not None]
    if len({candidate.rank for candidate in ranked}) < 2:
        return None
    strongest = max(candidate.strength for candidate in ranked)
    ranked = [candidate for candidate in ranked if candidate.strength == strongest]
    if all(candidate.at is not None for candidate in ranked):
        return min(ranked, key=lambda candidate: (candidate.at or 0.0, candidate.line.number))
    noticed = {end.rank for end in ends if end.first}
    by_launcher = [candidate for candidate in ranked if candidate.rank in noticed]
    return min(by_launcher or ranked, key=lambda candidate: candidate.line.number)


def stalled(scene: Scene, steps: Sequence[Step]) -> Candidate | None:
    """Only watchdogs, no rank with an error of its own: ranks in different collectives are a program's error, all in the same one the network's or a hang."""
    reports = watchdogs(scene, steps)
    if not reports:
        return None
    earliest = min(
        reports,
        key=lambda report: (
            report.began or float("inf"),
            report.rank if report.rank is not None else 1 << 30,
        ),
    )
    step = next(step for step in steps if earliest.line in step.lines)
    shapes = {
        (report.operation, report.elements) for report in reports if report.sequence == earliest.sequence
    }
    behind = min(reports, key=lambda report: report.sequence)
    if len(shapes) > 1:
        return _stall(
            earliest.line,
            step,
            "collective_mismatch",
            Category.CORRECTNESS,
            "Ranks wait in different collectives at the same sequence number.",
        )
    if behind.sequence < max(report.sequence for report in reports):
        return _stall(
            behind.line,
            step,
            "collective_mismatch",
            None,
            f"Rank {behind.rank} is behind the others in its sequence of collectives; what kept it is not in the logs.",
        )
    return _stall(
        earliest.line,
        step,
        "nccl_timeout",
        None,
        "All ranks that report wait in the same collective and none reports an error of its own.",
    )


def _stall(line: Line, step: Step, signature: str, category: Category | None, why: str) -> Candidate:
    return Candidate(
        line,
        signature,
        category,
        Strength.CASCADE,
        Origin.SIGNATURE,
        step,
        Outcome.TERMINAL,
        why=why,
        at=line.time,
    )


def died_by_kill(ends: Sequence[Ended], steps: Sequence[Step]) -> bool:
    """Whether a process is reported to have been ended by SIGKILL."""
    if any(end.signal == "SIGKILL" or end.exit_code in (-9, 137) for end in ends):
        return True
    return any(
        step.exit_code in (137, 247) or any(_DEATH.search(line.text) for line in step.lines[-200:])
        for step in steps
    )
