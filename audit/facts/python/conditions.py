"""The conditions around a statement: what they say about whether, and where, it runs."""

import ast
import re
from typing import NamedTuple


class Condition(NamedTuple):
    """The `if` around a statement, kept unrendered until a record needs its text."""

    outer: "Condition | None"
    node: ast.expr
    negated: bool


def runs_code(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return not (is_main_guard(node.test) or _mentions_type_checking(node.test))
    return isinstance(node, (ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith))


def is_main_guard(test: ast.expr) -> bool:
    return (
        type(test) is ast.Compare
        and type(test.left) is ast.Name
        and test.left.id == "__name__"
        and type(test.comparators[0]) is ast.Constant
        and test.comparators[0].value == "__main__"
        and type(test.ops[0]) is ast.Eq
    )


def _mentions_type_checking(node: ast.expr) -> bool:
    return (type(node) is ast.Name and node.id == "TYPE_CHECKING") or (
        type(node) is ast.Attribute and node.attr == "TYPE_CHECKING"
    )


def type_checking(test: Condition | None) -> bool:
    while test is not None:
        if not test.negated and _mentions_type_checking(test.node):
            return True
        test = test.outer
    return False


_ASKS = re.compile(
    r"_?(?:is|has|have|can)_\w+_(?:available|installed|importable)|_?[A-Z0-9_]+_(?:AVAILABLE|INSTALLED)|_?(?:HAS|HAVE)_[A-Z0-9_]+"
)
"""Names by which code asks whether a package is installed: `is_te_available()`, `_JSONNET_AVAILABLE`, `HAS_TRITON`."""


def asked_for(test: Condition | None) -> bool:
    """Whether what stands here runs only where a package is installed that the code asks for first."""
    while test is not None:
        if _asks(test.node, test.negated):
            return True
        test = test.outer
    return False


def _asks(node: ast.expr, negated: bool) -> bool:
    while type(node) is ast.UnaryOp and type(node.op) is ast.Not:
        node, negated = node.operand, not negated
    if type(node) is ast.BoolOp:
        # Of `a and b` both hold; of `not (a or b)` neither does.
        return type(node.op) is (ast.Or if negated else ast.And) and any(
            _asks(each, negated) for each in node.values
        )
    if negated:
        return False
    called = node.func if type(node) is ast.Call else node
    name = called.id if type(called) is ast.Name else called.attr if type(called) is ast.Attribute else ""
    return _ASKS.fullmatch(name) is not None


def catches_import_error(handler: ast.ExceptHandler) -> bool:
    kind = handler.type
    if kind is None:
        return True
    names = kind.elts if type(kind) is ast.Tuple else [kind]
    return any(
        type(n) is ast.Name and n.id in ("ImportError", "ModuleNotFoundError", "Exception") for n in names
    )
