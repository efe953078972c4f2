"""Exceptions as Python prints them: tracebacks, their chains, and those quoted inside another process's report.

One stream (rank, worker) at a time: interleaved streams are told apart before a traceback is read.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Line


class Relation(StrEnum):
    """What an exception is to the one printed before it."""

    FIRST = "first"
    CONTEXT = "context"  # "During handling of the above exception, another exception occurred"
    DIRECT = "direct"  # "The above exception was the direct cause of the following exception"
    QUOTED = "quoted"  # the text of another process's or thread's exception, printed inside this one


class Frame(msgspec.Struct, frozen=True):
    """One frame: the file as printed, its line, the function, its statement ("" where not printed)."""

    path: str
    line: int
    function: str
    statement: str = ""


class Raised(msgspec.Struct, frozen=True):
    """One exception. `kind`: its dotted type as printed, `message`: its first line. `line`: the log line that names it."""

    kind: str
    message: str
    line: Line
    frames: tuple[Frame, ...] = ()
    relation: Relation = Relation.FIRST


class Traceback(msgspec.Struct, frozen=True):
    """A traceback with its whole chain, in the order printed. `first`, `last`: line numbers of its text.

    `logged`: a logger printed it, so that it was caught. `ignored`: Python says itself that nobody was told (finalisers, exit handlers).
    """

    links: tuple[Raised, ...]
    first: int
    last: int
    logged: bool = False
    ignored: bool = False

    @property
    def source(self) -> str:
        """The log it stands in."""
        return self.links[0].line.source


HEADER = re.compile(
    r"(?P<indent>[\s|]*)(?P<original>Original )?Traceback \(most recent call last\):\s*$|(?P<plus>[\s|]*)\+ Exception Group Traceback \(most "
    r"recent call last\):"
)
_FRAME = re.compile(
    r'[\s|]*File "(?P<path>[^"]{1,500})", line (?P<line>\d{1,7})(?:, in (?P<function>.{1,200}))?'
)
EXCEPTION = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Za-z_]\w{1,80})(?:\((?P<inner>\w{1,80})\))?(?:: ?(?P<message>.*))?$"
)
NAMED = re.compile(
    r"(?P<kind>(?:[A-Za-z_]\w{0,60}\.){0,8}(?:[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Warning|Failure|Timeout|Expired)|(?:[a-z_]\w{0,40}\.){1,6}[A-Z]\w{1,60}|StopIteration|Empty|OutOfMemoryError))"
    r"(?::(?: (?P<message>.*))?|\s*)$"
)
_CONTEXT = "During handling of the above exception, another exception occurred"
_DIRECT = "The above exception was the direct cause of the following exception"
_MARGIN = re.compile(r"[\s|]*")
_LEVEL = re.compile(r"\b(?:ERROR|WARNING|WARN|EXCEPTION|CRITICAL)\b|^[EW]\d{4} ")
_IGNORED = re.compile(
    r"Exception ignored (?:in|on)\b|Error in atexit\.|Error in sys\.excepthook|Exception in thread .* \(most likely raised during interpreter shutdown\)"
)
_LOGGED_HEADER = re.compile(r"(?P<prefix>\S.{0,160}?[\]:|-] {1,8})Traceback \(most recent call last\):\s*$")
"""A logger that puts its own prefix before every line of a message."""
_FAR = 60
"""Lines between two links of a chain, or from the last frame to the exception's own line: more is another text."""


def tracebacks(lines: Sequence[Line]) -> list[Traceback]:
    """All tracebacks of one stream's lines, in order."""
    lines, prefixed = _without_prefixes(lines)
    return [
        msgspec.structs.replace(found, logged=True) if found.first in prefixed else found
        for found in _printed(lines)
    ]


def _without_prefixes(lines: Sequence[Line]) -> tuple[Sequence[Line], set[int]]:
    """The lines, of tracebacks that a logger printed with its prefix before each line without it; and where these begin."""
    begin: set[int] = set()
    bare: list[Line] = []
    prefix = ""
    for line in lines:
        if prefix and line.text.startswith(prefix):
            bare.append(msgspec.structs.replace(line, text=line.text[len(prefix) :]))
            continue
        prefix = ""
        if line.text.endswith("(most recent call last):") and (header := _LOGGED_HEADER.match(line.text)):
            prefix = header["prefix"]
            begin.add(line.number)
            line = msgspec.structs.replace(line, text=line.text[len(prefix) :])  # noqa: PLW2901
        bare.append(line)
    return (bare, begin) if begin else (lines, begin)


def _printed(lines: Sequence[Line]) -> list[Traceback]:
    found: list[Traceback] = []
    index = 0
    links: list[Raised] = []
    first = 0
    relation = Relation.FIRST
    while index < len(lines):
        text = lines[index].text
        if _CONTEXT in text or _DIRECT in text:
            relation = Relation.CONTEXT if _CONTEXT in text else Relation.DIRECT
            if not links and (before := _above(lines, index)) is not None:
                links, first = [before], before.line.number
            index += 1
            continue
        header = HEADER.match(text)
        if header is None:
            index += 1
            continue
        quoted = bool(header["original"]) or _inside(links, lines, index, relation)
        if links and relation is Relation.FIRST and not quoted:
            found.append(_closed(links, first, lines))
            links = []
        if not links:
            first = lines[index].number
        raised, index = _raised(
            lines, index, Relation.QUOTED if quoted else relation if links else Relation.FIRST
        )
        if raised is not None:
            links.append(raised)
            if (inner := _remote(lines, index, raised)) is not None:
                links.append(inner)
        relation = Relation.FIRST
    if links:
        found.append(_closed(links, first, lines))
    return found


def _closed(links: list[Raised], first: int, lines: Sequence[Line]) -> Traceback:
    place = bisect_left(lines, first, key=lambda line: line.number)
    before = lines[place - 1] if place else None
    near = before.text if before is not None and before.number >= first - 2 else ""
    ignored = bool(_IGNORED.search(near[:200]))
    return Traceback(tuple(links), first, links[-1].line.number, bool(_LEVEL.search(near[:120])), ignored)


def _inside(links: list[Raised], lines: Sequence[Line], index: int, relation: Relation) -> bool:
    """Whether this header stands in the message of the exception just read: a worker's traceback that its parent prints."""
    if not links or relation is not Relation.FIRST:
        return False
    before = links[-1].line
    if lines[index].number - before.number > 6:
        return False
    return bool(_QUOTES.search(before.text)) or any(
        _QUOTES.search(line.text) for line in lines[max(0, index - 4) : index] if line.number > before.number
    )


_QUOTES = re.compile(
    r"in DataLoader worker process|-- Process \d+ terminated|ProcessRaisedException|RayTaskError|RemoteTraceback|Original Traceback|"
    r"RemoteError|WorkerException|Caught \w+ in|ray::|CellExecutionError"
)


def _above(lines: Sequence[Line], index: int) -> Raised | None:
    """The exception that a chain's sentence speaks of where it was printed without its traceback."""
    for line in reversed(lines[max(0, index - 25) : index]):
        if found := NAMED.match(line.text):
            return Raised(found["kind"], (found["message"] or "").strip(), line)
    return None


def _raised(lines: Sequence[Line], index: int, relation: Relation) -> tuple[Raised | None, int]:
    """The exception whose header stands at `index`, and the index after its line."""
    margin = _margin(lines[index].text)
    frames: list[Frame] = []
    at = index + 1
    while at < len(lines) and lines[at].number - lines[index].number <= 400 + _FAR:
        text = lines[at].text
        if frame := _FRAME.match(text):
            below = lines[at + 1].text.strip() if at + 1 < len(lines) else ""
            statement = "" if below.startswith("File ") else below[:300]
            frames.append(Frame(frame["path"], integer(frame["line"]), frame["function"] or "", statement))
        elif HEADER.match(text):
            return None, at
        elif (
            text.strip(" |")
            and _margin(text) <= margin
            and not text.lstrip(" |").startswith(("[Previous line repeated", "..."))
        ):
            body = text[_MARGIN.match(text).end() :]  # type: ignore[union-attr]
            named = EXCEPTION.match(body)
            if named is not None:
                return Raised(
                    named["kind"], (named["message"] or "").strip(), lines[at], tuple(frames), relation
                ), at + 1
            if frames and not body.startswith(("+-", "~", "^")):
                return None, at
        at += 1
    return None, at


def _remote(lines: Sequence[Line], index: int, raised: Raised) -> Raised | None:
    """`RayTaskError(T): ray::task()` is followed by the task's frames without a header, and by `T: message`."""
    outer = EXCEPTION.match(lines[index - 1].text.strip(" |"))
    if outer is None or outer["inner"] is None:
        return None
    frames: list[Frame] = []
    for line in lines[index : index + 200]:
        if frame := _FRAME.match(line.text):
            frames.append(Frame(frame["path"], integer(frame["line"]), frame["function"] or ""))
        elif (named := EXCEPTION.match(line.text.strip())) and named["kind"].rpartition(".")[2] == outer[
            "inner"
        ]:
            return Raised(
                named["kind"], (named["message"] or "").strip(), line, tuple(frames), Relation.QUOTED
            )
        elif HEADER.match(line.text):
            return None
    return None


def _margin(text: str) -> int:
    found = _MARGIN.match(text)
    return found.end() if found else 0


PROBES = (
    "KeyError",
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "StopIteration",
    "IndexError",
    "LookupError",
    "NotImplementedError",
)
"""Exceptions that code raises to find out which way to go: what is raised while one is handled is the failure."""


def root_of(links: Sequence[Raised]) -> Raised:
    """The link that names the cause: the quoted inner exception, of explicit chains the first, of implicit ones the first unless a probe."""
    quoted = [link for link in links if link.relation is Relation.QUOTED]
    if quoted:
        return quoted[-1]
    root = links[-1]
    for before, after in zip(reversed(links[:-1]), reversed(links[1:]), strict=True):
        if after.relation is Relation.CONTEXT and before.kind.rpartition(".")[2] in PROBES:
            break
        root = before
    return root
