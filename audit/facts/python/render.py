"""Expressions as bounded, normalised text: what a record keeps of the syntax tree.

`ast.unparse` would do, but it is unbounded and ten times slower; a fact needs the shape of an expression, not its every token.
"""

import ast
from collections.abc import Mapping
from typing import Any

ELLIPSIS = "…"
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.MatMult: "@",
    ast.And: "and", ast.Or: "or", ast.Not: "not ", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def dotted(node: ast.AST, aliases: Mapping[str, str]) -> str:
    """The dotted name of a chain of attributes, its root resolved by the file's imports.

    A chain that starts at something other than a name begins with `?.` (`?.backward` for `f(x).backward`); a node that is
    no chain gives "". A name bound by a relative import keeps its leading dots (`.utils.train`).
    """
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is ast.Name:
        root = aliases.get(node.id, node.id)
        if not parts:
            return root
        parts.append(root)
        parts.reverse()
        return ".".join(parts)
    if not parts:
        return ""
    if type(node) is ast.Call and type(node.func) is ast.Name and node.func.id == "super":
        parts.append("super()")
        parts.reverse()
        return ".".join(parts)
    parts.reverse()
    return "?." + ".".join(parts)


def render(node: ast.AST | None, aliases: Mapping[str, str], limit: int = 160) -> str:
    """Text of an expression, at most about `limit` characters, cut with `…`."""
    if node is None:
        return ""
    text = _render(node, aliases, limit, 0)
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _render(node: ast.AST, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    if depth > 12:
        return ELLIPSIS
    kind = type(node)
    if kind is ast.Constant:
        return _constant(node.value, limit)  # type: ignore[attr-defined]
    if kind is ast.Name:
        return aliases.get(node.id, node.id)  # type: ignore[attr-defined]
    if kind is ast.Attribute:
        name = dotted(node, aliases)
        if not name.startswith("?"):
            return name
        return f"{_render(node.value, aliases, limit, depth + 1)}.{node.attr}"  # type: ignore[attr-defined]
    renderer = _RENDERERS.get(kind)
    return renderer(node, aliases, limit, depth + 1) if renderer else ELLIPSIS


def _constant(value: object, limit: int) -> str:
    if isinstance(value, (str, bytes)) and len(value) > limit:
        return repr(value[: limit - 3])[:-1] + ELLIPSIS + "'"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return ELLIPSIS
    return "..." if value is Ellipsis else repr(value)


def _sequence(nodes: list[ast.expr], aliases: Mapping[str, str], limit: int, depth: int) -> str:
    parts: list[str] = []
    size = 0
    for node in nodes:
        if size > limit:
            parts.append(ELLIPSIS)
            break
        parts.append(_render(node, aliases, limit, depth))
        size += len(parts[-1]) + 2
    return ", ".join(parts)


def _call(node: ast.Call, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    inside = _sequence(node.args, aliases, limit, depth)
    words = [
        f"{word.arg}={_render(word.value, aliases, limit, depth)}"
        if word.arg
        else f"**{_render(word.value, aliases, limit, depth)}"
        for word in node.keywords[:12]
    ]
    return f"{_render(node.func, aliases, limit, depth)}({', '.join([inside, *words] if inside else words)})"


def _dict(node: ast.Dict, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    parts: list[str] = []
    size = 0
    for key, value in zip(node.keys, node.values, strict=True):
        if size > limit:
            parts.append(ELLIPSIS)
            break
        shown = _render(value, aliases, 60, depth)
        parts.append(f"{_render(key, aliases, 60, depth)}: {shown}" if key else f"**{shown}")
        size += len(parts[-1]) + 2
    return "{" + ", ".join(parts) + "}"


# How tightly an operator binds, loosest first: what decides where parentheses must stand.
_TIGHT: dict[type[ast.AST], int] = {
    ast.Lambda: 0, ast.IfExp: 1, ast.Or: 2, ast.And: 3, ast.Not: 4, ast.Compare: 5, ast.BitOr: 6, ast.BitXor: 7, ast.BitAnd: 8,
    ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10, ast.Mult: 11, ast.Div: 11, ast.FloorDiv: 11, ast.Mod: 11,
    ast.MatMult: 11, ast.USub: 12, ast.UAdd: 12, ast.Invert: 12, ast.Pow: 13,
}  # fmt: skip


def _tightness(node: ast.AST) -> int:
    operator: ast.AST = getattr(node, "op", node)
    return _TIGHT.get(type(operator), 20)


def _operand(node: ast.AST, floor: int, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    """The text of an operand, in parentheses where it binds less tightly than `floor`."""
    text = _render(node, aliases, limit, depth)
    return f"({text})" if _tightness(node) < floor else text


def _binary(node: ast.BinOp, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    tight = _tightness(node)
    power = type(node.op) is ast.Pow
    left = _operand(node.left, tight + power, aliases, limit, depth)
    right = _operand(node.right, tight + (not power), aliases, limit, depth)
    return f"{left} {_OPERATORS[type(node.op)]} {right}"


def _boolean(node: ast.BoolOp, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    floor = _tightness(node) + 1
    parts = (_operand(value, floor, aliases, limit, depth) for value in node.values[:8])
    return f" {_OPERATORS[type(node.op)]} ".join(parts)


def _unary(node: ast.UnaryOp, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    return _OPERATORS[type(node.op)] + _operand(node.operand, _tightness(node), aliases, limit, depth)


def _compare(node: ast.Compare, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    text = _operand(node.left, 6, aliases, limit, depth)
    for op, right in list(zip(node.ops, node.comparators, strict=True))[:4]:
        text += f" {_OPERATORS[type(op)]} {_operand(right, 6, aliases, limit, depth)}"
    return text


def _subscript(node: ast.Subscript, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    return f"{_render(node.value, aliases, limit, depth)}[{_render(node.slice, aliases, limit, depth)}]"


def _formatted(node: ast.JoinedStr, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    parts = []
    for value in node.values[:12]:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        elif isinstance(value, ast.FormattedValue):
            parts.append("{" + _render(value.value, aliases, limit, depth) + "}")
    return "f" + repr("".join(parts)[:limit])


def _conditional(node: ast.IfExp, aliases: Mapping[str, str], limit: int, depth: int) -> str:
    body, test = (_operand(part, 2, aliases, limit, depth) for part in (node.body, node.test))
    return f"{body} if {test} else {_operand(node.orelse, 1, aliases, limit, depth)}"


_RENDERERS: dict[type[ast.AST], Any] = {
    ast.Call: _call,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.JoinedStr: _formatted,
    ast.IfExp: _conditional,
    ast.List: lambda n, a, m, d: f"[{_sequence(n.elts, a, m, d)}]",
    ast.Tuple: lambda n, a, m, d: f"({_sequence(n.elts, a, m, d)}{',' if len(n.elts) == 1 else ''})",
    ast.Set: lambda n, a, m, d: f"{{{_sequence(n.elts, a, m, d)}}}",
    ast.Starred: lambda n, a, m, d: "*" + _render(n.value, a, m, d),
    ast.Lambda: lambda n, a, m, d: (
        f"lambda {', '.join(p.arg for p in n.args.args)}: {_render(n.body, a, m, d)}"
    ),
    ast.Await: lambda n, a, m, d: _render(n.value, a, m, d),
    ast.Slice: lambda n, a, m, d: (
        f"{_render(n.lower, a, m, d) if n.lower else ''}:{_render(n.upper, a, m, d) if n.upper else ''}"
    ),
    ast.GeneratorExp: lambda n, a, m, d: f"({_comprehension(n.elt, n, a, m, d)})",
    ast.ListComp: lambda n, a, m, d: f"[{_comprehension(n.elt, n, a, m, d)}]",
    ast.SetComp: lambda n, a, m, d: f"{{{_comprehension(n.elt, n, a, m, d)}}}",
}


def _comprehension(
    element: ast.expr,
    node: ast.GeneratorExp | ast.ListComp | ast.SetComp,
    aliases: Mapping[str, str],
    limit: int,
    depth: int,
) -> str:
    first = node.generators[0]
    target, source = _render(first.target, aliases, limit, depth), _render(first.iter, aliases, limit, depth)
    return f"{_render(element, aliases, limit, depth)} for {target} in {source}"
