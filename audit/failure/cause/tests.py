"""Failed tests: the first block of what failed in the end names the cause; blocks with one message are one cause.

Reruns that passed, expected failures and captured output name none. A failed collection stands above all that follows it.
"""

import re
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause import golden, overdue, runners
from audit.failure.cause.candidate import Candidate, Origin, Outcome, Strength
from audit.failure.cause.classify import Judged, best_hit, judge
from audit.failure.cause.scene import StepView, category_of
from audit.failure.cause.wording import points_elsewhere
from audit.failure.model import Hit, Line
from audit.failure.structure.comparison import Subject, comparison
from audit.failure.structure.differences import Differences, differences
from audit.failure.structure.pytest_blocks import Block
from audit.failure.structure.pytest_report import Session
from audit.failure.structure.steps import Conclusion
from audit.failure.structure.tracebacks import NAMED

_VARIES = re.compile(
    r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|'[^']{0,200}'|\"[^\"]{0,200}\"|\[[^\]]{0,80}\]"
)
_IN_PACKAGES = re.compile(r"site-packages|dist-packages|/lib/python3|\\lib\\|<frozen")
_SUBPROCESS = re.compile(r"^(?:subprocess\.)?(?:CalledProcessError|TimeoutExpired)$")
_MOST_HELD = 500


def find(view: StepView) -> list[Candidate]:
    """Causes among the tests of a step, in order, one a distinct message."""
    found: list[Candidate] = []
    for session in view.sessions:
        if session.failed:
            found.extend(_session(view, session))
        elif session.coverage is not None:
            found.append(_coverage(view, session.coverage))
        elif (told := _plugin(view, session)) is not None:
            found.append(told)
        elif session.summary is not None and ran_nothing(session):
            found.append(runners.nothing(view, session.summary))
    return found or runners.find(view)


def _session(view: StepView, session: Session) -> list[Candidate]:
    failing = _Failing(session.failing)
    clusters: dict[tuple[str, str], list[tuple[Block, Judged, Line]]] = {}
    for block in session.blocks:
        if block.section not in ("FAILURES", "ERRORS") or block.root is None or not failing.holds(block):
            continue
        judged, line = _judged(view, block)
        clusters.setdefault(_key(block, judged), []).append((block, judged, line))
    found = [_candidate(view, session, members, failing) for members in clusters.values()]
    if not found:
        found = _from_summary(view, session, failing.nodes)
    crash = _crash(view, session)
    if crash is not None and all(candidate.strength <= Strength.CASCADE for candidate in found):
        return [crash]
    collection = [candidate for candidate in found if candidate.kind == "collection"]
    return collection or found


class _Failing:
    """The ids of what failed in the end, to be asked for many blocks: a session may have tens of thousands of both."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        self._known = frozenset(nodes)
        self._text = "\n".join(nodes)
        self._named = any("::" in node for node in nodes)
        self._by_end: dict[str, list[str]] = {}
        for node in self.nodes:
            parts = node.split("::")
            for end in {"::".join(parts[-count:]) for count in range(1, min(len(parts), 6) + 1)}:
                self._by_end.setdefault(end, []).append(node)

    def holds(self, block: Block) -> bool:
        """Whether the block's test is among them: a test that a rerun saved is not."""
        if not self._named or block.name.startswith("ERROR") or block.name in self._known:
            return True
        bare = block.name.removeprefix("[doctest] ")
        name = bare.replace(".", "::") if bare == block.name else bare
        if name in self._by_end or name in self._text:
            return True
        return any(node in block.name for node in self.nodes[:_MOST_HELD])

    def of(self, block: Block) -> list[str]:
        """The ids that are the block's test."""
        last = block.name.rpartition(" ")[2]
        own = [name for name in dict.fromkeys((block.name, last)) if name in self._known]
        return own + self._by_end.get(block.name.replace(".", "::"), [])


def _key(block: Block, judged: Judged) -> tuple[str, str]:
    root = block.root
    message = _VARIES.sub("#", (root.message if root else ""))[:160]
    return (
        judged.signature
        if judged.hit is not None and judged.strength >= Strength.NAMED
        else root.kind
        if root
        else ""
    ), ("" if judged.hit is not None and judged.strength >= Strength.NAMED else message)


def _judged(view: StepView, block: Block) -> tuple[Judged, Line]:
    """What a block's exception is, and the line that names it."""
    root = block.root
    assert root is not None  # noqa: S101
    line = root.line
    hits = [hit for row in (line, *root.text[:6]) for hit in view.hits_on(row) if not hit.discounted]
    name = f"{block.frames[-1][0] if block.frames else ''}::{block.name}"
    if _SUBPROCESS.match(root.kind) and (inner := _inner(view, block)) is not None:
        return inner
    source = view.statement_before(line)
    judged = judge(
        root.kind,
        root.message,
        hits,
        context=name,
        place=_place(block),
        extra="\n".join(row.text.removeprefix("E").strip() for row in root.text[:8]),
        source=source,
    )
    judged = overdue.judged(block, source, judged)
    if judged.comparison is not None and judged.category is Category.CORRECTNESS:
        judged = _tolerance(judged, differences(row.text for row in root.text))
    if judged.strength is Strength.CASCADE and (inner := _inner(view, block)) is not None:
        return inner
    return judged, line


def _tolerance(judged: Judged, found: Differences) -> Judged:
    """A difference at the edge of what arithmetic gives is a matter of the tolerance and not of the computation."""
    if found.of_rounding or found.at_the_edge:
        why = (
            "The difference is of float32's own resolution."
            if found.of_rounding
            else "Hardly any element differs, and by little more than is allowed."
        )
        return msgspec.structs.replace(
            judged, category=Category.METRIC_POLICY, signature="tolerance_too_tight", why=why, sure=False
        )
    return judged


def _inner(view: StepView, block: Block) -> tuple[Judged, Line] | None:
    """The child process's own words, where the test shows what it wrote."""
    best: tuple[Hit, Line] | None = None
    if block.root is not None and (compared := golden.judged(block.captured, block.root.line)) is not None:
        return compared
    for line in block.captured:
        hit = best_hit([hit for hit in view.hits_on(line) if not hit.discounted])
        if hit is not None and hit.signature.role == "root":
            best = (hit, line)
            break
    if best is not None:
        hit, line = best
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit), line
    for line in reversed(block.captured):
        if (named := NAMED.match(line.text.strip())) and not points_elsewhere(line.text):
            return judge(named["kind"], named["message"] or "", (), context=block.name), line
    return None


def _place(block: Block) -> str:
    """The innermost file of the repository."""
    for path, _, _ in reversed(block.frames):
        if not _IN_PACKAGES.search(path):
            return path
    return ""


def _candidate(
    view: StepView, session: Session, members: Sequence[tuple[Block, Judged, Line]], failing: _Failing
) -> Candidate:
    block, judged, line = members[0]
    names = [node for member, _, _ in members for node in failing.of(member)]
    collecting = block.name.startswith("ERROR collecting")
    return Candidate(
        line,
        judged.signature,
        judged.category,
        judged.strength,
        Origin.TEST,
        view.step,
        Outcome.TERMINAL,
        judged.sure or (judged.strength is Strength.GENERIC and judged.category is Category.CORRECTNESS),
        judged.hit,
        judged.comparison,
        tuple(dict.fromkeys(names))
        or (failing.nodes if len(members) == len(session.blocks) else (block.name,)),
        len(members),
        judged.why,
        kind="collection" if collecting else block.root.kind if block.root else "",
        context=block.root.text[:8] if block.root else (),
    )


def _from_summary(view: StepView, session: Session, failing: Sequence[str]) -> list[Candidate]:
    """Where no block is shown (`--tb=no`, cut logs) the short summary's messages are what is left, and what a test report says of the test."""
    shown = [*session.short, *session.progress]
    for item in shown:
        if item.outcome not in ("FAILED", "ERROR") or item.node not in failing:
            continue
        message = item.message or view.reported(item.node)
        hits = [hit for hit in view.hits_on(item.line) if not hit.discounted]
        if message or best_hit(hits) is not None:
            return [_told(view, item.line, message, hits, item.node, failing)]
    reported = next(((node, text) for node in failing if (text := view.reported(node))), None)
    if reported is None or session.summary is None:
        return []
    return [_told(view, session.summary, reported[1], (), reported[0], failing)]


def _told(
    view: StepView, line: Line, message: str, hits: Sequence[Hit], node: str, failing: Sequence[str]
) -> Candidate:
    """A candidate from a message alone."""
    named = NAMED.match(message)
    kind, said = (named["kind"], named["message"] or "") if named else ("", message)
    judged = judge(kind, said, hits, context=node)
    return Candidate(
        line,
        judged.signature,
        judged.category,
        judged.strength,
        Origin.TEST,
        view.step,
        hit=judged.hit,
        comparison=judged.comparison,
        failing=tuple(failing),
        why=judged.why,
    )


def _crash(view: StepView, session: Session) -> Candidate | None:
    """A process that died under its tests: the first record of the crash, wherever it was printed."""
    for line in view.between(session.first.number, session.last.number):
        hits = [
            hit
            for hit in view.hits_on(line)
            if hit.signature.family == "process" and hit.signature.role in ("root", "confirming")
        ]
        if hits and "Timeout" not in line.text:
            hit = hits[0]
            return Candidate(
                line,
                hit.signature.name,
                category_of(hit.signature.category),
                Strength.CONFIRMING,
                Origin.CRASH,
                view.step,
                hit=hit,
                failing=session.failing,
                count=len(session.crashed),
            )
    return None


_PLUGIN = re.compile(r"(?:ERROR|FAIL(?:ED|URE)?)\b[: ]")


def _plugin(view: StepView, session: Session) -> Candidate | None:
    """What a plugin says of a session whose tests all passed and that failed nevertheless (benchmarks compared, limits of its own)."""
    if view.step.conclusion is not Conclusion.FAILURE:
        return None
    for line in view.between(session.first.number, session.last.number):
        if line.source != session.first.source:
            continue
        hit = next((hit for hit in view.hits_on(line) if hit.signature.id == "benchmark_regressed"), None)
        checked = comparison(line.text, view.step.command) if _PLUGIN.match(line.text) else None
        missed = checked is not None and checked.subject in (
            Subject.PERFORMANCE,
            Subject.MEMORY,
            Subject.POLICY,
        )
        if hit is not None or missed:
            return Candidate(
                line,
                hit.signature.name
                if hit is not None
                else f"{checked.subject.value if checked else 'policy'}_gate",
                Category.METRIC_POLICY,
                Strength.NAMED,
                Origin.GATE,
                view.step,
                hit=hit,
                comparison=checked,
                failing=(view.step.label,),
                why="All tests passed; only a limit that is held against them was missed.",
            )
    return None


def _coverage(view: StepView, line: Line) -> Candidate:
    return Candidate(
        line,
        "coverage_threshold",
        Category.METRIC_POLICY,
        Strength.NAMED,
        Origin.GATE,
        view.step,
        sure=True,
        failing=(_wanted(line),),
        why="All tests passed; only the share of lines that they run is below the limit.",
    )


def _wanted(line: Line) -> str:
    """`coverage >= 92 %`, where the line says so much."""
    found = re.search(r"coverage of (\d[\d.]*)%|fail-under=(\d[\d.]*)", line.text[:400])
    return f"coverage >= {found[1] or found[2]} %" if found else "coverage"


def ran_nothing(session: Session) -> bool:
    """Whether not one test was run: none collected, or all skipped or deselected."""
    if session.summary is None:
        return False
    ran = ("passed", "failed", "errors", "xfailed", "xpassed")
    return not any(session.counts.get(word) for word in ran)
