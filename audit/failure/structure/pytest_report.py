"""What pytest printed: sessions, counts, the blocks of failed tests with the exception each ended in, the short summary.

Which section a block stands in decides: FAILURES and ERRORS may fail a session, RERUNS, XFAILURES and captured output do not.
"""

import re
from collections.abc import Sequence

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.pytest_blocks import CRASH, ONE_LINE, Block, block, one_line_block
from audit.failure.structure.pytest_live import Live

Counts = dict[str, int]


class Item(msgspec.Struct, frozen=True):
    """A test by its id with an outcome: PASSED, FAILED, ERROR, SKIPPED, XFAIL, XPASS, RERUN. `message` of a short summary line."""

    node: str
    outcome: str
    line: Line
    message: str = ""


class Session(msgspec.Struct, frozen=True):
    """One run of pytest. `counts` by the words of the last line (`failed`, `passed`, `errors`, …), `summary` that line, None
    where the run did not come to it. `collected`: None where not told. `pending`: the test that had begun and not ended.
    """

    blocks: tuple[Block, ...]
    short: tuple[Item, ...]
    progress: tuple[Item, ...]
    counts: Counts
    summary: Line | None
    first: Line
    last: Line
    collected: int | None = None
    coverage: Line | None = None
    crashed: tuple[Line, ...] = ()
    collection_failed: bool = False
    pending: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the session says that tests failed or could not be run."""
        return bool(
            self.counts.get("failed", 0) or self.counts.get("errors", 0) or self.collection_failed
        ) or (
            self.summary is None
            and bool(self.blocks or any(item.outcome in ("FAILED", "ERROR") for item in self.short))
        )

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of what failed in the end: by the short summary, else by the progress lines, else by the blocks' headers."""
        names = [item.node for item in self.short if item.outcome in ("FAILED", "ERROR")]
        progress = [item.node for item in self.progress if item.outcome in ("FAILED", "ERROR")]
        if not names or len(names) < len(set(progress)):
            names += progress
        if not names:
            names = [block.name for block in self.blocks if block.section in ("FAILURES", "ERRORS")]
        passed_later = {item.node: item.line.number for item in self.progress if item.outcome == "PASSED"}
        failed_at = {
            item.node: item.line.number for item in self.progress if item.outcome in ("FAILED", "ERROR")
        }
        recovered = {node for node, at in passed_later.items() if node in failed_at and at > failed_at[node]}
        listed = {item.node for item in self.short if item.outcome in ("FAILED", "ERROR")}
        return tuple(dict.fromkeys(name for name in names if name in listed or name not in recovered))


_RULE = re.compile(r"(?:={3,}|!{3,}) (?P<title>.+?) (?:={3,}|!{3,})$")
_HEADER = re.compile(r"(?:_{3,} (?P<name>.+?) _{3,}|_{1,3} (?P<long>[^\s_].*?[^\s_]) _{1,4})$")
"""A long name leaves its header one `_` on each side; a row of single ones divides frames."""
_QUIET_END = re.compile(
    r"(?P<counts>\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun|reruns)\b.{0,200}) in \d[\d.]*m?s(?: "
    r"\([\d:]+\))?$|no tests (?:ran|collected) in \d"
)
_COUNT = re.compile(
    r"(?<!\d)(\d{1,9}) (failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|reruns?)\b"
)
_SHORT = re.compile(
    r"(?P<outcome>FAILED|ERROR|XFAIL|XPASS|SKIPPED|PASSED|RERUN)(?: \[[\d.]+s?\])? (?P<node>[^\s-][^\[\n]{0,300}?(?:\[.{0,300}?\])?)(?: - (?P<message>.*))?$"
)
_SKIP_SHORT = re.compile(r"SKIPPED \[\d+\]")
_PROGRESS = re.compile(
    r"(?:\[(?P<worker>gw\d+)\] (?:\[ *\d+%\] )?(?P<first>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN) (?P<node1>\S.*)$)|"
    r"(?P<node>[\w./\\-]+\.py::\S.*?) (?P<outcome>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b(?: \(.*\))?(?:\s+\[ *\d+%\])?\s*$"
)
_PENDING = re.compile(r"(?P<node>[\w./\\-]+\.py::\S.*?)(?:\s|$)")
_ALONE = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)(?:\s+\[ *\d+%\])?\s*$")
_COLLECTED = re.compile(r"(?:collecting \.\.\. ?)?collected (\d+) items?")
_COVERAGE = re.compile(r"(?:FAIL )?Required test coverage of [\d.]+%? not reached|Coverage failure: total of")
_SECTIONS = {"FAILURES", "ERRORS", "RERUNS", "XFAILURES", "XPASSES", "PASSES", "SKIPPED"}
_START = "test session starts"


def sessions(lines: Sequence[Line]) -> list[Session]:
    """The pytest runs in a step's lines, in order; a run that printed no header (`-q`) begins where its first report is."""
    starts = [
        index for index, line in enumerate(lines) if line.text.startswith("===") and _START in line.text
    ]
    found: list[Session] = []
    bounds = [0, *starts] if not starts or starts[0] > 0 else starts
    for begin, end in zip(bounds, [*bounds[1:], len(lines)], strict=True):
        part = lines[begin:end]
        if part and ((starts and begin >= starts[0]) or _looks_like_pytest(part)):
            found.append(_Reader().read(part))
    return found


def _looks_like_pytest(lines: Sequence[Line]) -> bool:
    for line in lines:
        text = line.text
        if (
            text.startswith("=")
            and (rule := _RULE.match(text))
            and (
                rule["title"] in _SECTIONS
                or rule["title"] == "short test summary info"
                or _QUIET_END.match(rule["title"])
            )
        ):
            return True
        if text[:1].isdigit() and _QUIET_END.match(text):
            return True
    return False


class _Reader:
    """Reads one session."""

    def __init__(self) -> None:
        self.section = ""
        self.blocks: list[Block] = []
        self.short: list[Item] = []
        self.progress: list[Item] = []
        self.counts: Counts = {}
        self.summary: Line | None = None
        self.collected: int | None = None
        self.coverage: Line | None = None
        self.crashed: list[Line] = []
        self.collection_failed = False
        self.header: Line | None = None
        self.name = ""
        self.body: list[Line] = []
        self.pending: str | None = None
        self.live = Live()

    def read(self, lines: Sequence[Line]) -> Session:
        last = lines[0]
        for line in lines:
            if self.summary is not None and not self._still(line):
                break
            self._line(line)
            last = line
        self._close()
        return Session(
            tuple(self.blocks or self.live.blocks()),
            tuple(self.short),
            tuple(self.progress),
            self.counts,
            self.summary,
            lines[0],
            last,
            self.collected,
            self.coverage,
            tuple(self.crashed),
            self.collection_failed,
            self.pending,
        )

    def _still(self, line: Line) -> bool:
        """After the last line of a session only its own trailing remarks belong to it."""
        return bool(_COVERAGE.match(line.text)) or line.text == ""

    def _line(self, line: Line) -> None:
        text = line.text
        if CRASH.search(text):
            self.crashed.append(line)
        if _COVERAGE.search(text):
            self.coverage = line
        if text[:1] in "=!" and (rule := _RULE.match(text)):
            self._rule(rule["title"], line)
            return
        if self.section in _SECTIONS:
            header = _HEADER.match(text) if text.startswith("_") else None
            if header is not None:
                self._close()
                self.header, self.name = line, header["name"] or header["long"]
            elif self.header is not None:
                self.body.append(line)
            elif (row := ONE_LINE.match(text)) is not None:
                self.blocks.append(one_line_block(self.section, row, line))
        elif self.section == "short test summary info":
            self._short(line)
        else:
            self._running(line)
        if text[:1].isdigit() and self.section != "captured" and (end := _QUIET_END.match(text)):
            self._end(end["counts"] or "", line)

    def _rule(self, title: str, line: Line) -> None:
        self._close()
        if _QUIET_END.match(title) or re.match(r"no tests (ran|collected)", title):
            self._end(title, line)
        elif "errors during collection" in title or "error during collection" in title:
            self.collection_failed = True
        else:
            self.section = (
                title
                if title in _SECTIONS or title == "short test summary info"
                else ("" if title == _START else title)
            )

    def _end(self, text: str, line: Line) -> None:
        self._close()
        self.counts = {_plural(word): integer(number) for number, word in _COUNT.findall(text)}
        self.summary = line
        self.section = "end"

    def _short(self, line: Line) -> None:
        if _SKIP_SHORT.match(line.text):
            return
        if item := _SHORT.match(line.text):
            self.short.append(Item(item["node"].strip(), item["outcome"], line, item["message"] or ""))

    def _running(self, line: Line) -> None:
        done = len(self.progress)
        self._outcome(line)
        if len(self.progress) > done:
            self.live.ended(self.progress[-1].node, self.progress[-1].outcome in ("FAILED", "ERROR"), line)
        else:
            self.live.line(line)

    def _outcome(self, line: Line) -> None:
        """What a line of the running session tells: how many tests there are, a test's begin or its outcome."""
        text = line.text
        if self.collected is None and (collected := _COLLECTED.search(text)):
            self.collected = integer(collected[1])
        if ".py::" in text or "::" in text:
            if done := _PROGRESS.match(text):
                self.progress.append(
                    Item((done["node1"] or done["node"]).strip(), done["first"] or done["outcome"], line)
                )
                self.pending = None
            elif pending := _PENDING.match(text):
                self.pending = pending["node"]
                self.live.began()
        elif self.pending and (alone := _ALONE.match(text)):
            self.progress.append(Item(self.pending, alone[1], line))
            self.pending = None

    def _close(self) -> None:
        if self.header is not None:
            self.blocks.append(block(self.section, self.name, self.header, self.body))
            if self.name.startswith("ERROR collecting"):
                self.collection_failed = True
        self.header, self.body = None, []


def _plural(word: str) -> str:
    return {"error": "errors", "warning": "warnings", "rerun": "reruns", "reruns": "reruns"}.get(word, word)
