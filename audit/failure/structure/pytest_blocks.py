"""One failed test as pytest shows it: the exceptions of its block, which of them names the cause, places, captured output."""

import re
from collections.abc import Sequence

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Line
from audit.failure.structure.tracebacks import NAMED, PROBES, Relation, root_of, tracebacks


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


_FOOTER = re.compile(r"(?P<path>[\w./\\<>:-]{1,400}?):(?P<line>\d{1,7}): (?P<kind>[\w.]*)(?: in .*|\s*$)?")
ONE_LINE = re.compile(
    r"(?P<path>/?[\w./\\-]{1,400}\.py):(?P<line>\d{1,7}): (?P<kind>[A-Z]\w*(?:Error|Exception|Failed|Warning)?)(?:: (?P<message>.*))?$"
)
CRASH = re.compile(
    r"worker '?gw\d+'? crashed|node down: Not properly terminated|replacing crashed worker|Fatal Python error: "
)
_CHAIN = {
    "During handling of the above exception, another exception occurred": Relation.CONTEXT,
    "The above exception was the direct cause of the following exception": Relation.DIRECT,
}
_STRICT = "[XPASS(strict)]"
_MARK = re.compile(r"E(?:   )?")


def one_line_block(section: str, row: "re.Match[str]", line: Line) -> Block:
    raised = Raise(row["kind"], row["message"] or "", line)
    return Block(
        section,
        f"{row['path']}:{row['line']}",
        line,
        raised,
        (raised,),
        ((row["path"], integer(row["line"]), line),),
    )


def block(section: str, name: str, header: Line, body: Sequence[Line]) -> Block:
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
            raises.append(raise_of(group, relation))
            group, relation = [], Relation.FIRST
        if footer := _FOOTER.match(text):
            frames.append((footer["path"], integer(footer["line"]), line))
        for sentence, kind in _CHAIN.items():
            if sentence in text:
                relation = kind
    if group:
        raises.append(raise_of(group, relation))
    if not raises:
        raises = _without_marks(body)
    if (
        not raises and section == "ERRORS"
    ):  # of the session and not of a test: xdist's workers that do not agree
        raises = [Raise("", line.text.strip(), line) for line in body if line.text.strip()][:1]
    return Block(section, name, header, _root(raises), tuple(raises), tuple(frames), tuple(captured), worker)


def raise_of(group: Sequence[Line], relation: Relation) -> Raise:
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
        if line.text.startswith(_STRICT):  # no exception: the test passed and should not have
            return [Raise("", line.text.strip(), line)]
        if line.text.strip() and (CRASH.search(line.text) or NAMED.match(line.text.strip())):
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
