"""Which statement of the checkout printed a line of the log: messages as literal pieces with gaps, matched without regular expressions."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

MIN_LETTERS: Final = 6
"""Fewest letters in the literal pieces: "{a} > {b}" would fit any comparison."""
MAX_PIECES: Final = 40
MAX_TEXT: Final = 4_000

_PERCENT: Final = re.compile(r"%(?:\((\w+)\))?[-+ #0]*+\d*+(?:\.\d++)?[sdrfgeEGixX]")
_BRACE: Final = re.compile(r"\{([^{}]*)\}")
_NUMBER: Final = re.compile(
    r"[-+]?(?:\d[\d,_]*+(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?|[-+]?(?:nan|inf)\b", re.IGNORECASE
)


class Gap(msgspec.Struct, frozen=True):
    """A value in a message: the expression's source and its format."""

    expression: str
    format: str = ""


class Template(msgspec.Struct, frozen=True):
    """A message: literal pieces with a gap between each two. `line` where it stands in its file."""

    pieces: tuple[str, ...]
    gaps: tuple[Gap, ...]
    line: int

    @property
    def weight(self) -> int:
        """Letters and digits of its literal text: how much a match says."""
        return sum(c.isalnum() for piece in self.pieces for c in piece)


def template_of(node: ast.expr) -> Template | None:
    """The message that an expression makes, None where it has too little literal text to be recognised."""
    parts = _parts(node)
    if parts is None:
        return None
    pieces, gaps = [""], []
    for part in parts[: MAX_PIECES * 2]:
        if isinstance(part, str):
            pieces[-1] += part
        else:
            gaps.append(part)
            pieces.append("")
    made = Template(tuple(pieces), tuple(gaps), node.lineno)
    return made if made.weight >= MIN_LETTERS else None


def _parts(node: ast.expr) -> list[str | Gap] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [_joined(part) for part in node.values]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _percent(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _parts(node.left), _parts(node.right)
        if left is None and right is None:
            return None
        return [*(left or [_gap(node.left)]), *(right or [_gap(node.right)])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _formatted(node)
    return None


def _gap(node: ast.expr) -> Gap:
    """A value in a sum of texts: `str(loss)` states `loss`."""
    wrapped = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("str", "repr")
    )
    inner = node.args[0] if wrapped and isinstance(node, ast.Call) and node.args else node
    return Gap(ast.unparse(inner))


def _joined(part: ast.expr) -> str | Gap:
    if isinstance(part, ast.FormattedValue):
        spec = part.format_spec
        text = (
            "".join(str(v.value) for v in spec.values if isinstance(v, ast.Constant))
            if isinstance(spec, ast.JoinedStr)
            else ""
        )
        return Gap(ast.unparse(part.value), text)
    return str(part.value) if isinstance(part, ast.Constant) else ""


def _percent(node: ast.BinOp) -> list[str | Gap] | None:
    if not isinstance(node.left, ast.Constant) or not isinstance(node.left.value, str):
        return None
    values = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
    return _filled(node.left.value, _PERCENT, [ast.unparse(v) for v in values])


def _formatted(node: ast.Call) -> list[str | Gap] | None:
    text = node.func.value if isinstance(node.func, ast.Attribute) else None
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return None
    return _filled(text.value, _BRACE, [ast.unparse(v) for v in node.args])


def _filled(text: str, mark: re.Pattern[str], values: Sequence[str]) -> list[str | Gap]:
    parts: list[str | Gap] = []
    at = 0
    for index, match in enumerate(mark.finditer(text[:MAX_TEXT])):
        parts += [text[at : match.start()], Gap(values[index] if index < len(values) else "", match[0])]
        at = match.end()
    return [*parts, text[at:]]


def match(template: Template, text: str) -> dict[str, str] | None:
    """What stands in the gaps of a line that the template made; None where the line is not of it. Linear in the line."""
    text = text[:MAX_TEXT]
    pieces = template.pieces
    at = text.find(pieces[0].strip("\n"))
    if at < 0:
        return None
    at += len(pieces[0].strip("\n"))
    found: dict[str, str] = {}
    for gap, literal in zip(template.gaps, pieces[1:], strict=True):
        piece = literal.strip("\n")
        end = text.find(piece, at) if piece else (len(text) if gap is template.gaps[-1] else at)
        if end < 0:
            return None
        found.setdefault(gap.expression, text[at:end])
        at = end + len(piece)
    return found


def number_in(text: str, percent: bool = False) -> float | None:
    """The number that a gap's text states; with a per-cent format as a fraction."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    try:
        value = float(found[0].replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return value / 100 if percent or text[found.end() : found.end() + 1] == "%" else value


def messages(node: ast.AST) -> Iterator[ast.expr]:
    """Expressions inside `node` that make a text; parts of a text are not told apart from it."""
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, ast.expr) and _is_text(here):
            yield here
            continue
        stack.extend(ast.iter_child_nodes(here))


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod | ast.Add) and (_is_text(node.left) or _is_text(node.right))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
        and _is_text(node.func.value)
    )
