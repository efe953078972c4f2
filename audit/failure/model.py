"""What is known of the logs after one pass: sources, kept lines with their streams and kinds, signature hits.

A pass over a log of any size keeps a bounded part of it: the head, the tail, and the surroundings of whatever a signature
or a structural mark met. A small log is kept whole. `Reading.lines` is therefore sparse: ask `Line.number` for neighbourhood.
"""

from bisect import bisect_left
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import Literal

import msgspec

from audit.documents.place import Gap

Category = Literal[
    "infra_runtime", "correctness", "data_config", "ml_regression", "metric_policy", "by_context"
]
Role = Literal["root", "cascade", "teardown", "confirming", "diagnostic", "warning"]


class Kind(StrEnum):
    """What part of a log's structure a line is. A line may be several.

    The last four say that words in it are nobody's report of a failure: a signature's hit there is discounted.
    """

    STEP = "step"  # begin or end of a step, section, phase of any CI system
    COMMAND = "command"  # a command as the CI system or `set -x` echoes it when it runs
    EXIT = "exit"  # exit codes, signals, "Killed"
    ERROR = "error"  # `##[error]`, `::error`, `ERROR:` at the beginning
    TRACEBACK = "traceback"  # header, frames, exception line, chain sentences, exception groups
    EXCEPTION = "exception"  # `package.TypeError: message` at the beginning of a line (indented or not)
    TEST = "test"  # pytest, unittest, xdist, ctest, bazel: rules, headers, `E` lines, summaries, counts
    PASSED = "passed"  # a test or a check reported as good
    FAILED = "failed"  # a test or a check reported as bad
    SUMMARY = "summary"  # a run's last word: "5 failed, 215 passed in 3.2s", "Ran 12 tests", "OK"
    LAUNCHER = "launcher"  # torchrun, srun, mpirun, ray, accelerate reports
    METRIC = "metric"  # iteration, step or epoch with numbers; progress bars
    GATE = "gate"  # numbers compared with a limit
    ATTEMPT = "attempt"  # retry, attempt k of n, falling back, reducing the batch
    SHELL = "shell"  # `script.sh: line 3: …: command not found`
    KERNEL = "kernel"  # kernel messages
    ECHO = "echo"  # a script's text, printed before it runs
    SOURCE = "source"  # a line of program text inside a traceback or a test report
    TEST_ID = "test_id"  # the words stand in a test's name or parameters, with its outcome
    DUMP = "dump"  # help texts, configuration dumps, listings


class Stream(msgspec.Struct, frozen=True):
    """Who wrote a line, as far as its file's name, the section around it and its own prefix say. `rank`, `attempt` count from 0
    as the launcher prints them; `worker` is a test worker (`gw1`), a pool's or an actor's name.
    """

    job: str | None = None
    step: str | None = None
    rank: int | None = None
    worker: str | None = None
    attempt: int | None = None


class LogSource(msgspec.Struct, frozen=True):
    """One log. `name` as the verdict prints it: `log.txt`, `logs.zip!job/1_step.txt`, `-`. `lines`, `size` (bytes, unpacked) of
    the whole, also where not all of it was kept; `whole`: it could be read to its end; `ends_in_line`: the last line lacks its LF.
    """

    name: str
    lines: int
    size: int
    stream: Stream = Stream()
    whole: bool = True
    ends_in_line: bool = False


class Line(msgspec.Struct, frozen=True):
    """One kept line. `number` from 1, lines end at LF only; `raw` as it stands in the file, its CR at the end removed, long ones
    cut; `text` without colours, time stamps and prefixes of rank or worker, and of a line with carriage returns what was
    last seen; `time` in seconds since 1970 (UTC where the zone is told), None where the line has none.
    """

    source: str
    number: int
    raw: str
    text: str
    time: float | None = None
    stream: Stream = Stream()
    kinds: frozenset[Kind] = frozenset()


class Signature(msgspec.Struct, frozen=True):
    """One entry of the catalogue, without its patterns. `name` is what a verdict says (several ids may share one); `policy`: clauses of the
    label policy (docs/signatures) that decide where the category is arguable; `decoys`, `advice` are sentences for people.
    """

    id: str
    name: str
    family: str
    category: Category
    role: Role
    policy: tuple[int, ...] = ()
    decoys: str = ""
    advice: str = ""


class Capture(msgspec.Struct, frozen=True):
    """What a signature's pattern took out of the line. `value` where `unit` is one of numbers: GiB (converted), s, ms, fraction
    (per cent divided by 100), count, number; None for `unit` "text".
    """

    name: str
    text: str
    unit: str
    value: float | None = None


class Hit(msgspec.Struct, frozen=True):
    """A signature met on a line. `text`: the part of the line that the pattern was tried on (of a line with carriage returns
    one piece); `count`: how often the signature was met in this source at all, of which the first and last are kept.
    """

    signature: Signature
    line: Line
    captures: tuple[Capture, ...] = ()
    text: str = ""
    count: int = 1

    @property
    def discounted(self) -> bool:
        """The words stand in an echoed script, in program text, in a test's name, or in a dump."""
        return bool(self.line.kinds & DISCOUNTED)


class Reading(msgspec.Struct, frozen=True, dict=True):
    """All logs of one failure. `lines` ordered by source (in the order of `sources`) and number; `hits` likewise; `gaps`: what was
    not read or not kept, and why.
    """

    sources: tuple[LogSource, ...]
    lines: tuple[Line, ...]
    hits: tuple[Hit, ...]
    gaps: tuple[Gap, ...] = ()

    def of(self, source: str) -> tuple[Line, ...]:
        """The kept lines of one source."""
        return self._by_source.get(source, ())

    def line(self, source: str, number: int) -> Line | None:
        """That line, None where it was not kept."""
        lines = self.of(source)
        place = bisect_left(lines, number, key=lambda line: line.number)
        return lines[place] if place < len(lines) and lines[place].number == number else None

    @cached_property
    def _by_source(self) -> dict[str, tuple[Line, ...]]:
        return {source: tuple(lines) for source, lines in groupby(self.lines, key=lambda line: line.source)}


DISCOUNTED = frozenset({Kind.ECHO, Kind.SOURCE, Kind.TEST_ID, Kind.DUMP})
