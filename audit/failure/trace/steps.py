"""From the workflow to the comparison: what selected the test, what it does, what set the limit."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, Protocol

from audit.documents.verdict import TraceStep
from audit.failure.digits import integer
from audit.failure.gates.checkout import SKIPPED, Checkout
from audit.failure.gates.commands import Called, called, runs_pytest, runs_script
from audit.failure.gates.model import GateOutcome
from audit.failure.gates.templates import Template, match, messages, template_of
from audit.failure.model import Kind, Line, Reading
from audit.failure.trace.frames import Place, frames_around
from audit.source.snapshot import Snapshot

MAX_STEPS: Final = 14
MAX_PRINTED: Final = 3_000
"""Python files in whose text the words of a line are looked for."""
MAX_HOLDING: Final = 20
"""Files with such words that are parsed."""
_SPACE: Final = re.compile(r"\s+")
_MARK: Final = re.compile(r"^\s*(?:##\[group\]Run |\[command\]|Run |\++ |\$ |> )")
_NODE: Final = re.compile(r"([\w./-]{1,300}\.py)::([\w:]{1,300})")


class CauseLine(Protocol):
    """The line of a log that a trace starts from."""

    @property
    def file(self) -> str: ...

    @property
    def line(self) -> int: ...


def trace(
    repo: Snapshot | None, reading: Reading | None, cause: CauseLine | None, gates: Sequence[GateOutcome] = ()
) -> list[TraceStep]:
    """The places of the checkout between the workflow and the failing comparison, in that order: the command that ran, the test or
    script, frames of the traceback (the innermost last), the comparison, what set its limit. Empty where none can be told. Never raises.
    """
    checkout = Checkout(repo)
    if repo is None or cause is None or reading is None:
        return []
    gate = _gate_of(cause, gates)
    frames = frames_around(reading.lines, cause.file, cause.line, checkout)
    calls = called(checkout, None)
    line = _line(reading, cause)
    printed = None if frames or gate is not None or line is None else printer(line.text, checkout)
    target = frames[0].path if frames else gate.path if gate is not None else printed.path if printed else ""
    steps = [*_command(reading, cause, calls, target)]
    test = _test_of(reading, cause, gate, checkout)
    if test is not None:
        steps.append(test)
    steps += [_frame(place, checkout, innermost=place is frames[-1]) for place in _few(frames)]
    if printed is not None:
        steps.append(printed)
    if gate is not None:
        steps += _comparison(gate, checkout)
    return _distinct(steps)[:MAX_STEPS]


def _line(reading: Reading, cause: CauseLine) -> Line | None:
    return reading.line(cause.file, cause.line)


def _gate_of(cause: CauseLine, gates: Sequence[GateOutcome]) -> GateOutcome | None:
    """The gate whose failure the log tells nearest to the cause."""
    told = [g for g in gates if g.told is not None and g.told[0] == cause.file and g.passed is not True]
    near = sorted(told, key=lambda g: abs((g.told or ("", 0))[1] - cause.line))
    return near[0] if near and abs((near[0].told or ("", 0))[1] - cause.line) <= 200 else None


def _few(frames: Sequence[Place]) -> list[Place]:
    """The outermost frame and the innermost four."""
    return list(frames) if len(frames) <= 5 else [frames[0], *frames[-4:]]


def _frame(place: Place, checkout: Checkout, innermost: bool) -> TraceStep:
    why = "innermost frame of the traceback in the checkout" if innermost else "frame of the traceback"
    symbol = (
        place.function or _function_at(checkout.tree(place.path), place.line)
        if place.path.endswith(".py")
        else place.function
    )
    return TraceStep(place.path, place.line, symbol, why)


# -- what ran it -----------------------------------------------------------------------------------------------------


def _command(reading: Reading, cause: CauseLine, calls: Sequence[Called], target: str) -> Iterator[TraceStep]:
    """The step of a CI file, and the script's line, that ran what failed."""
    logged = _last_command(reading, cause)
    best = [c for c in calls if logged and _same_command(c, logged)]
    if not best and target:
        best = [c for c in calls if runs_script(c, target)]
    if not best and target and _is_test(target):
        best = [c for c in calls if runs_pytest(c) and _selects(c, target)]
    for call in _nearest(best):
        name = call.step or call.job or call.command.program
        why = f"runs {call.command.text[:200]}" + (f" in job {call.job}" if call.job else "")
        yield TraceStep(call.path, call.line, name, why)


def _last_command(reading: Reading, cause: CauseLine) -> str:
    """The command that the log shows last before the cause."""
    found = ""
    for line in reading.lines:
        if line.source != cause.file:
            continue
        if line.number >= cause.line:
            break
        if Kind.COMMAND in line.kinds or _MARK.match(line.text):
            found = _MARK.sub("", line.text)
    return _SPACE.sub(" ", found).strip()[:2_000]


def _same_command(call: Called, logged: str) -> bool:
    text = _SPACE.sub(" ", call.command.text).strip()
    return len(text) > 3 and (
        text == logged
        or logged.startswith(text + " ")
        or text in logged
        or (len(logged) > 8 and logged in text)
    )


def _nearest(found: Sequence[Called]) -> list[Called]:
    """The CI file's call first, then that of a script; one each."""
    workflow = [c for c in found if c.path.endswith((".yml", ".yaml", "Jenkinsfile"))]
    script = [c for c in found if c not in workflow]
    return [*workflow[:1], *script[:1]]


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def _selects(call: Called, path: str) -> bool:
    """Whether a pytest command's paths hold a file; without paths it looks everywhere."""
    paths = [a.partition("::")[0].rstrip("/").removeprefix("./") for a in call.command.args]
    return not paths or any(path == p or path.startswith(p + "/") or p in (".", "") for p in paths)


# -- the test --------------------------------------------------------------------------------------------------------


def _test_of(
    reading: Reading, cause: CauseLine, gate: GateOutcome | None, checkout: Checkout
) -> TraceStep | None:
    """The function of the failing test: the gate's, else the one that the summary names nearest to the cause."""
    name = gate.name if gate is not None and "::" in gate.name else _named_test(reading, cause)
    found = _NODE.match(name)
    if found is None:
        return None
    path = checkout.resolve(found[1])
    tree = checkout.tree(path) if path is not None else None
    if path is None or tree is None:
        return None
    line = _definition(tree, found[2].split("::"))
    return TraceStep(path, line, found[2], f"the failing test {name[:200]}") if line else None


def _named_test(reading: Reading, cause: CauseLine) -> str:
    """The test whose section the cause stands in, by the summary line that has its name."""
    section = ""
    for line in reading.lines:
        if line.source != cause.file:
            continue
        if line.number <= cause.line and line.text.startswith("___"):
            section = line.text.strip("_ ")
        if line.text.startswith(("FAILED ", "ERROR ")) and "::" in line.text:
            node = line.text.split(" ", 1)[1].split(" - ")[0].strip()
            if line.number == cause.line or (
                section and node.partition("::")[2].replace("::", ".") == section
            ):
                return node
    return ""


def _definition(tree: ast.Module, names: Sequence[str]) -> int | None:
    """The line of `Class::test`."""
    body: Sequence[ast.stmt] = tree.body
    line = None
    for name in names:
        plain = name.partition("[")[0]
        found = next(
            (
                n
                for n in body
                if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and n.name == plain
            ),
            None,
        )
        if found is None:
            return None
        line, body = found.lineno, found.body
    return line


# -- the comparison --------------------------------------------------------------------------------------------------


def _comparison(gate: GateOutcome, checkout: Checkout) -> Iterator[TraceStep]:
    yield TraceStep(gate.path, gate.line, gate.symbol, f"the comparison: {gate.rule[:200]}")
    for origin in gate.origins:
        path, _, number = origin.place.rpartition(":")
        if origin.kind == "stored" and checkout.has(origin.place):
            key = checkout.settings(origin.place).get(origin.name)
            yield TraceStep(
                origin.place, key[1] if key else None, origin.name, "stored value that the comparison uses"
            )
        elif origin.kind == "constant" and number.isdigit() and checkout.has(path):
            if (path, integer(number)) != (gate.path, gate.line):
                yield TraceStep(path, integer(number), "", "constant that the comparison uses")
        elif origin.kind == "argument" and number.isdigit() and checkout.has(path):
            yield TraceStep(path, integer(number), origin.name, "command line that sets the limit")


def printer(text: str, checkout: Checkout) -> TraceStep | None:
    """The statement of the checkout whose message a line of the log is; None where none or several fit equally well."""
    best: list[tuple[int, str, Template]] = []
    pieces = _literals(text)
    own = [p for p in checkout.python_files()[:MAX_PRINTED] if not any(part in p for part in SKIPPED)]
    holding = [p for p in own if any(piece in (checkout.text(p) or "") for piece in pieces)]
    for path in holding[:MAX_HOLDING]:
        tree = checkout.tree(path)
        for node in messages(tree) if tree is not None else ():
            template = template_of(node)
            if template is not None and template.weight >= 10 and match(template, text) is not None:
                best.append((template.weight, path, template))
    best.sort(key=lambda item: -item[0])
    if not best or (len(best) > 1 and best[0][0] == best[1][0] and best[0][1:] != best[1][1:]):
        return None
    _, path, template = best[0]
    return TraceStep(path, template.line, _function_at(checkout.tree(path), template.line), "prints the line")


def _literals(text: str) -> list[str]:
    """Pairs of neighbouring words of a line, as a message's literal text would hold them; numbers may be its values."""
    words = text[:2_000].split()
    return [
        f"{a} {b}"
        for a, b in pairwise(words)
        if a.isascii() and len(a) + len(b) > 5 and not any(c.isdigit() for c in a + b)
    ][:60]


def _function_at(tree: ast.Module | None, line: int) -> str:
    found = ""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            found = node.name
    return found


def _distinct(steps: Sequence[TraceStep]) -> list[TraceStep]:
    """One step a place: a comparison says more than that a frame is there."""
    kept: dict[tuple[str, int | None], TraceStep] = {}
    for step in steps:
        held = kept.get((step.path, step.line))
        if held is None or "frame" in held.why:
            kept[step.path, step.line] = step
    return list(kept.values())
