"""What pytest printed: sessions, counts, the blocks of failed tests with the exception each ended in, the short summary.

Which section a block stands in decides: FAILURES and ERRORS may fail a session, RERUNS, XFAILURES and captured output do not.
"""

import re
from collections.abc import Sequence

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.tracebacks import NAMED, PROBES, Relation, root_of, tracebacks

Counts = dict[str, int]


class Raise(msgspec.Struct, frozen=True):
    """An exception of a block: `line` is the first `E` line of it, `kind` its type ("" for a bare assertion), `place` the footer."""

    kind: str
    message: str
    line: Line
    relation: Relation = Relation.FIRST
    text: tuple[Line, ...] = ()


class Block(msgspec.Struct, frozen=True):
    """One failed test as its section shows it. `section`: FAILURES, ERRORS, RERUNS, XFAILURES, ….

    `name` as in the header (`test_a[1]`, `TestB.test_c`, `ERROR at setup of …`). `root` is the exception that names the cause.
    `frames`: `path:line` places in the order printed. `captured`: what the test wrote, as pytest shows it.
    """

    section: str
    name: str
    header: Line
    root: Raise | None
    raises: tuple[Raise, ...] = ()
    frames: tuple[tuple[str, int, Line], ...] = ()
    captured: tuple[Line, ...] = ()
    worker: str | None = None


class Item(msgspec.Struct, frozen=True):
    """A test by its id with an outcome: PASSED, FAILED, ERROR, SKIPPED, XFAIL, XPASS, RERUN. `message` of a short summary line."""

    node: str
    outcome: str
    line: Line
    message: str = ""


class Session(msgspec.Struct, frozen=True):
    """One run of pytest. `counts` by the words of the last line (`failed`, `passed`, `errors`, …), `summary` that line, None
    where the run did not come to it. `collected`: None where not told.
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
_HEADER = re.compile(r"_{3,} (?P<name>.+?) _{3,}$")
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
    r"(?:\[(?P<worker>gw\d+)\] (?:\[ *\d+%\] )?(?P<first>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN) (?P<node1>\S.*?)\s*$)|"
    r"(?P<node>[\w./\\-]+\.py::\S.*?) (?P<outcome>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b(?: \(.*\))?(?:\s+\[ *\d+%\])?\s*$"
)
_PENDING = re.compile(r"(?P<node>[\w./\\-]+\.py::\S.*?)(?:\s|$)")
_ALONE = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)(?:\s+\[ *\d+%\])?\s*$")
_FOOTER = re.compile(r"(?P<path>[\w./\\<>:-]{1,400}?):(?P<line>\d{1,7}): (?P<kind>[\w.]*)(?: in .*|\s*$)?")
_TB_LINE = re.compile(
    r"(?P<path>/?[\w./\\-]{1,400}\.py):(?P<line>\d{1,7}): (?P<kind>[A-Z]\w*(?:Error|Exception|Failed|Warning)?)(?:: (?P<message>.*))?$"
)
_COLLECTED = re.compile(r"(?:collecting \.\.\. ?)?collected (\d+) items?")
_CRASH = re.compile(
    r"worker '?gw\d+'? crashed|node down: Not properly terminated|replacing crashed worker|Fatal Python error: "
)
_COVERAGE = re.compile(r"(?:FAIL )?Required test coverage of [\d.]+%? not reached|Coverage failure: total of")
_CHAIN = {
    "During handling of the above exception, another exception occurred": Relation.CONTEXT,
    "The above exception was the direct cause of the following exception": Relation.DIRECT,
}
_SECTIONS = {"FAILURES", "ERRORS", "RERUNS", "XFAILURES", "XPASSES", "PASSES", "SKIPPED"}
_MARK = re.compile(r"E(?:   )?")
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
        if part and (begin in starts or _looks_like_pytest(part)):
            found.append(_Reader().read(part))
    return found


def _looks_like_pytest(lines: Sequence[Line]) -> bool:
    for line in lines:
        text = line.text
        if (
            text.startswith("=")
            and (rule := _RULE.match(text))
            and (rule["title"] in _SECTIONS or rule["title"] == "short test summary info")
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

    def read(self, lines: Sequence[Line]) -> Session:
        last = lines[0]
        for line in lines:
            if self.summary is not None and not self._still(line):
                break
            self._line(line)
            last = line
        self._close()
        return Session(
            tuple(self.blocks),
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
        )

    def _still(self, line: Line) -> bool:
        """After the last line of a session only its own trailing remarks belong to it."""
        return bool(_COVERAGE.match(line.text)) or line.text == ""

    def _line(self, line: Line) -> None:
        text = line.text
        if _CRASH.search(text):
            self.crashed.append(line)
        if _COVERAGE.search(text):
            self.coverage = line
        if text[:1] in "=!" and (rule := _RULE.match(text)):
            self._rule(rule["title"], line)
            return
        if self.section in _SECTIONS:
            header = _HEADER.match(text) if text.startswith("___") else None
            if header is not None:
                self._close()
                self.header, self.name = line, header["name"]
            elif self.header is not None:
                self.body.append(line)
            elif (row := _TB_LINE.match(text)) is not None:
                self.blocks.append(_tb_line_block(self.section, row, line))
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
        elif self.pending and (alone := _ALONE.match(text)):
            self.progress.append(Item(self.pending, alone[1], line))
            self.pending = None

    def _close(self) -> None:
        if self.header is not None:
            self.blocks.append(_block(self.section, self.name, self.header, self.body))
            if self.name.startswith("ERROR collecting"):
                self.collection_failed = True
        self.header, self.body = None, []


def _plural(word: str) -> str:
    return {"error": "errors", "warning": "warnings", "rerun": "reruns", "reruns": "reruns"}.get(word, word)


def _tb_line_block(section: str, row: "re.Match[str]", line: Line) -> Block:
    raised = Raise(row["kind"], row["message"] or "", line)
    return Block(
        section,
        f"{row['path']}:{row['line']}",
        line,
        raised,
        (raised,),
        ((row["path"], integer(row["line"]), line),),
    )


def _block(section: str, name: str, header: Line, body: Sequence[Line]) -> Block:
    """A block from its lines: groups of `E` lines, the sentences between chained exceptions, footers, captured output."""
    raises: list[Raise] = []
    frames: list[tuple[str, int, Line]] = []
    captured: list[Line] = []
    group: list[Line] = []
    relation = Relation.FIRST
    in_capture = False
    worker = None
    for line in body:
        text = line.text
        if text.startswith("---") and "Captured" in text:
            in_capture = True
        if in_capture:
            captured.append(line)
            continue
        if text.startswith("[gw"):
            worker = text[1:].partition("]")[0]
        if text.startswith("E ") or text == "E":
            group.append(line)
            continue
        if group:
            raises.append(_raise(group, relation))
            group, relation = [], Relation.FIRST
        if footer := _FOOTER.match(text):
            frames.append((footer["path"], integer(footer["line"]), line))
        for sentence, kind in _CHAIN.items():
            if sentence in text:
                relation = kind
    if group:
        raises.append(_raise(group, relation))
    if not raises:
        raises = _without_marks(body)
    return Block(section, name, header, _root(raises), tuple(raises), tuple(frames), tuple(captured), worker)


def _raise(group: Sequence[Line], relation: Relation) -> Raise:
    """One exception from its `E` lines; the traceback of another process among them names it."""
    bare = [msgspec.structs.replace(line, text=_MARK.sub("", line.text, count=1)) for line in group]
    quoted = tracebacks(bare)
    first = next((line for line in bare if line.text.strip()), bare[0])
    named = NAMED.match(first.text.strip())
    if quoted and quoted[-1].links:
        link = root_of(quoted[-1].links)
        original = next(line for line in group if line.number == link.line.number)
        return Raise(link.kind, link.message, original, Relation.QUOTED, tuple(group))
    original = next(line for line in group if line.number == first.number)
    if named is None:
        return Raise("", first.text.strip(), original, relation, tuple(group))
    message = (named["message"] or "").strip()
    if not message:  # NumPy's assertions begin with an empty line
        behind = (line.text.strip() for line in bare if line.number > first.number)
        message = next((text for text in behind if text), "")
    return Raise(named["kind"], message, original, relation, tuple(group))


def _without_marks(body: Sequence[Line]) -> list[Raise]:
    """`--tb=native` prints Python's own traceback; a crash prints a sentence."""
    native = tracebacks(list(body))
    if native:
        return [Raise(link.kind, link.message, link.line, link.relation) for link in native[-1].links]
    expected = next(
        (
            line
            for line in body
            if line.text.strip()
            in ("Expected:", "Expected nothing", "Differences (unified diff with -expected +actual):")
        ),
        None,
    )
    if expected is not None:
        return [Raise("DocTestFailure", "the example printed something else", expected)]
    for line in body:
        if line.text.strip() and (_CRASH.search(line.text) or NAMED.match(line.text.strip())):
            named = NAMED.match(line.text.strip())
            return [Raise(named["kind"] if named else "", line.text.strip(), line)]
    return []


def _root(raises: Sequence[Raise]) -> Raise | None:
    """The exception that names the cause, by the rule of chains."""
    if not raises:
        return None
    quoted = [raised for raised in raises if raised.relation is Relation.QUOTED]
    if quoted:
        return quoted[-1]
    root = raises[-1]
    for before, after in zip(reversed(raises[:-1]), reversed(raises[1:]), strict=True):
        if after.relation is Relation.FIRST:
            break
        if after.relation is Relation.CONTEXT and before.kind.rpartition(".")[2] in PROBES:
            break
        root = before
    return root
