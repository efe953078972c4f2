"""What the log says of a comparison: that it failed, in which line, and the numbers that its message states."""

import ast
from typing import Final

import msgspec

from audit.failure.gates.calc import Seen
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.entries import ScriptEntry, TestEntry
from audit.failure.gates.model import Assertion
from audit.failure.gates.shown import Shown
from audit.failure.gates.templates import Gap, Template, messages, number_in, template_of
from audit.failure.model import Line


class Told(msgspec.Struct, frozen=True):
    """What the log says of a comparison: the line, and numbers that its message states, by expression."""

    line: Line
    numbers: dict[str, float]
    failed: bool
    assertion: Assertion | None = None
    sure: bool = True


def passed_of(seen: Seen) -> bool | None:
    if not isinstance(seen.result.data, bool):
        return None
    return seen.result.data is (True if seen.passes is None else seen.passes)


def told_of(seen: Seen, entry: TestEntry | ScriptEntry, checkout: Checkout, shown: Shown) -> Told | None:
    node = seen.node
    first, last = node.lineno, node.end_lineno or node.lineno
    holder = _holder(checkout, seen.path, node)
    printed = _printed(seen, holder, checkout, shown)
    if isinstance(entry, TestEntry):
        failed = shown.failed(entry.id)
        if failed is None:
            return Told(printed[0], printed[1], False) if printed else None
        last = max(last, getattr(holder, "end_lineno", last) or last)
        section = shown.section(entry.id)
        if section is None:
            here = shown.footer(seen.path, first, last)
            if here is None and shown.footer(seen.path, entry.node.lineno, entry.node.end_lineno or 10**9):
                return None  # the test failed at another statement
            return Told(
                printed[0] if printed else failed, printed[1] if printed else {}, True, sure=here is not None
            )
        if not section.at(seen.path, first, last):
            return None
        return Told(failed, printed[1] if printed else {}, True, section.assertion)
    if printed is None:
        return None
    fails = seen.passes is False or passed_of(seen) is False
    return Told(printed[0], printed[1], fails)


def _printed(
    seen: Seen, holder: ast.AST | None, checkout: Checkout, shown: Shown
) -> tuple[Line, dict[str, float]] | None:
    """The line that a message beside the comparison printed, and the numbers in it by expression."""
    candidates = [seen.message] if seen.message is not None else []
    candidates += [m for m in _beside(holder, _part(checkout, seen, holder)) if m is not seen.message]
    best: tuple[int, Line, dict[str, float]] | None = None
    for candidate in candidates[:12]:
        template = template_of(candidate)
        hit = shown.printed(template) if template is not None else None
        if template is not None and hit is not None and (best is None or template.weight > best[0]):
            best = (template.weight, hit[0], _numbers(template, hit[1]))
    return (best[1], best[2]) if best else None


def _part(checkout: Checkout, seen: Seen, holder: ast.AST | None) -> ast.AST:
    """The part of a construct in which a comparison stands."""
    parents = checkout.parents(seen.path)
    here: ast.AST = seen.node
    while (above := parents.get(here)) is not None and above is not holder:
        here = above
    return here


def _beside(holder: ast.AST | None, inner: ast.AST) -> list[ast.expr]:
    """Messages that a construct prints for a comparison in its part `inner`: an assertion's, a branch's, the other parts of a tuple or call."""
    if holder is None:
        return []
    if isinstance(holder, ast.Assert):
        parts: list[ast.AST] = [holder.msg] if holder.msg is not None else []
    elif isinstance(holder, ast.If):
        parts = [*holder.body, *holder.orelse]
    else:
        parts = [p for p in ast.iter_child_nodes(holder) if p is not inner]
    return [message for part in parts for message in messages(part)]


def _numbers(template: Template, texts: dict[str, str]) -> dict[str, float]:
    formats: dict[str, Gap] = {gap.expression: gap for gap in template.gaps}
    found = {}
    for expression, text in texts.items():
        value = (
            number_in(text, percent=formats[expression].format.endswith("%"))
            if expression in formats
            else None
        )
        if value is not None:
            found[expression] = value
    return found


def _holder(checkout: Checkout, path: str, node: ast.expr) -> ast.AST | None:
    """The smallest construct around a comparison that also holds its message: an assertion, a branch, a tuple, a call."""
    parents = checkout.parents(path)
    inner: ast.AST = node
    here = parents.get(inner)
    while here is not None and not isinstance(here, _SCOPES):
        holds = isinstance(here, _HOLDERS) and not (isinstance(here, ast.If) and inner is not here.test)
        if holds and _beside(here, inner):
            return here
        inner, here = here, parents.get(here)
    return None


_HOLDERS: Final = (ast.Assert, ast.If, ast.Tuple, ast.List, ast.Call, ast.Dict)
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module, ast.For, ast.With, ast.Try)


def label_of(seen: Seen, checkout: Checkout) -> str:
    """A short text beside the comparison that names it: `("throughput", tps >= floor, …)`."""
    holder = _holder(checkout, seen.path, seen.node)
    if not isinstance(holder, ast.Tuple | ast.Call | ast.List):
        return ""
    for part in ast.iter_child_nodes(holder):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and 0 < len(part.value) <= 60:
            return part.value
    return ""
