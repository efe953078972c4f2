"""Everything the rules look at, arranged: jobs, steps, tests, exceptions by stream, hits by line."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from audit.documents.verdict import Category
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.model import GateOutcome
from audit.failure.model import Hit, Line, Reading
from audit.failure.structure.launcher import Ended, reports
from audit.failure.structure.progress import alive, worked
from audit.failure.structure.pytest_report import Session, sessions
from audit.failure.structure.steps import Conclusion, Job, Step, jobs
from audit.failure.structure.tracebacks import Traceback, tracebacks
from audit.failure.structure.workflow import Written, annotated
from audit.telemetry.model import Outcome, Telemetry, TestResults

StreamKey = tuple[str, int | None, str | None]
"""Source, rank, worker: who wrote a line."""


class StepView:
    """One step, with what its lines hold. Each part is worked out when a rule first asks."""

    def __init__(self, step: Step, hits: "HitIndex", reports: Sequence[TestResults] = ()) -> None:
        self.step = step
        self._hits = hits
        self._reports = reports

    def reported(self, node: str) -> str:
        """What a test report says of a failed test: the first line of its failure, "" where there is no report of it."""
        name = node.rpartition("::")[2]
        for results in self._reports:
            for case in results.cases:
                if case.outcome in (Outcome.FAILED, Outcome.ERROR) and (
                    case.id == node or case.id.endswith(name)
                ):
                    return case.message
        return ""

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """The signature hits on the step's lines, echoed and quoted text left out."""
        return tuple(hit for line in self.step.lines for hit in self._hits.on(line) if not hit.discounted)

    def hits_on(self, line: Line) -> Sequence[Hit]:
        """The signature hits on one line, discounted ones too."""
        return self._hits.on(line)

    def between(self, first: int, last: int) -> Sequence[Line]:
        """The step's lines from one number to another, both included."""
        lines = self.step.lines
        return lines[bisect_left(lines, first, key=_number) : bisect_right(lines, last, key=_number)]

    def statement_before(self, line: Line) -> str:
        """The program text above an exception's line, as tracebacks and test reports print it; "" where there is none."""
        stream = self.streams.get(stream_of(line), ())
        end = bisect_left(stream, line.number, key=_number)
        for other in reversed(stream[max(0, end - 8) : end]):
            if other.number < line.number - 8:
                break
            text = other.text.strip().removeprefix(">").strip()
            if text and not text.startswith(("^", "~", "E ", "File ", "...")) and set(text) - set("^~ "):
                return text[:400]
        return ""

    @cached_property
    def streams(self) -> dict[StreamKey, tuple[Line, ...]]:
        """The step's lines by who wrote them."""
        grouped: dict[StreamKey, list[Line]] = defaultdict(list)
        for line in self.step.lines:
            grouped[stream_of(line)].append(line)
        return {key: tuple(lines) for key, lines in grouped.items()}

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """The pytest runs of the step."""
        return tuple(sessions(self.step.lines))

    @cached_property
    def tracebacks(self) -> tuple[Traceback, ...]:
        """All tracebacks, stream by stream."""
        return tuple(found for lines in self.streams.values() for found in tracebacks(lines))

    @cached_property
    def ends(self) -> tuple[Ended, ...]:
        """What launchers report of their processes."""
        return tuple(reports(self.step.lines))

    @cached_property
    def alive(self) -> dict[StreamKey, tuple[int, ...]]:
        """Line numbers of signs of life, by stream."""
        return {
            key: tuple(line.number for line in lines if alive(line)) for key, lines in self.streams.items()
        }

    def alive_after(self, line: Line) -> bool:
        """Whether the stream of a line was at work after it (and not only another test run or command)."""
        return any(number > line.number for number in self.alive.get(stream_of(line), ())[-1:])

    def succeeded_after(self, line: Line) -> bool:
        """Whether the stream of a line reports work done after it, which a note at a level of information is not."""
        return self._last_work.get(stream_of(line), 0) > line.number

    @cached_property
    def _last_work(self) -> dict[StreamKey, int]:
        """The number of the last line that reports work done, by stream."""
        return {
            key: next((line.number for line in reversed(lines) if worked(line)), 0)
            for key, lines in self.streams.items()
        }


class HitIndex:
    """Hits by the line they stand on."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._by_place: dict[tuple[str, int], list[Hit]] = defaultdict(list)
        for hit in hits:
            self._by_place[hit.line.source, hit.line.number].append(hit)

    def on(self, line: Line) -> Sequence[Hit]:
        """The hits on a line."""
        return self._by_place.get((line.source, line.number), ())


class Scene:
    """The logs of one failure, and the gates of its checkout as they come out when done again."""

    def __init__(
        self,
        reading: Reading,
        gates: Sequence[GateOutcome] = (),
        written: Sequence[Written] = (),
        checkout: Checkout | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.reading = reading
        self.telemetry = telemetry or Telemetry()
        self.gates = tuple(gates)
        self.checkout = checkout
        self._reports = self.telemetry.tests
        self.hits = HitIndex(reading.hits)
        self.jobs: tuple[Job, ...] = tuple(annotated(job, written) for job in jobs(reading))
        self._views: dict[int, StepView] = {}

    def view(self, step: Step) -> StepView:
        """The view of a step, made once."""
        key = id(step)
        if key not in self._views:
            self._views[key] = StepView(step, self.hits, self._reports)
        return self._views[key]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps of all jobs."""
        return tuple(step for job in self.jobs for step in job.steps)

    def suspects(self, job: Job) -> tuple[Step, ...]:
        """The steps of a job to look for its cause in: those that failed, or where the log does not say, all that may have."""
        failed = tuple(
            step
            for step in job.steps
            if step.conclusion is Conclusion.FAILURE and not step.teardown and not step.tolerated
        )
        if failed:
            return failed
        if job.conclusion in (Conclusion.SUCCESS,):
            return ()
        return tuple(
            step for step in job.steps if step.conclusion is Conclusion.UNKNOWN and not step.teardown
        )


def _number(line: Line) -> int:
    return line.number


def stream_of(line: Line) -> StreamKey:
    """Who wrote a line."""
    return line.source, line.stream.rank, line.stream.worker


def category_of(text: str) -> Category | None:
    """The catalogue's category, None for one that the surroundings decide."""
    return None if text == "by_context" else Category(text)
