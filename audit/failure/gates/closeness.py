"""Comparisons within tolerances and assertion methods, as calls of a comparator."""

import ast
from typing import TYPE_CHECKING, Final

from audit.failure.gates import operators
from audit.failure.gates.comparators import METHODS, ORDERED, TRUTHS, Comparator, tolerance, within
from audit.failure.gates.values import NOTHING, Namespace, V, merged

if TYPE_CHECKING:
    from audit.failure.gates.calc import Machine

_OPERATORS: Final[dict[str, ast.cmpop]] = {
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    "==": ast.Eq(),
    "!=": ast.NotEq(),
}


def close(
    machine: "Machine",
    node: ast.Call,
    scope: Namespace,
    comparator: Comparator,
    args: list[V],
    kwargs: dict[str, V],
) -> V:
    """A comparison within tolerances: `actual` first, `expected` second, as all of these libraries have it."""
    from audit.failure.gates.calc import Seen

    sides = [*args[:2]]
    for names in (
        ("actual", "a", "input", "first", "x"),
        ("expected", "desired", "b", "other", "second", "y"),
    ):
        sides += [kwargs[n] for n in names if n in kwargs]
    if len(sides) < 2:
        return NOTHING
    rtol, atol = tolerance(comparator, args, kwargs)
    result = _all_within(sides[0], sides[1], rtol, atol, comparator.symmetric)
    symbol = machine.symbols[-1] if machine.symbols else ""
    passes = True if machine.polarity is None else machine.polarity
    if not machine.quiet:
        machine.seen.append(
            Seen(
                node,
                "close",
                sides[0],
                sides[1],
                result,
                scope.path,
                symbol,
                passes,
                machine.message,
                rtol,
                atol,
            )
        )
    return result


def _all_within(actual: V, expected: V, rtol: float | None, atol: float | None, symmetric: bool = False) -> V:
    if rtol is None or atol is None:
        return NOTHING
    if actual.number is not None and expected.number is not None:
        return V(within(actual.number, expected.number, rtol, atol, symmetric), merged(actual, expected))
    if not isinstance(actual.data, list | tuple) or not isinstance(expected.data, list | tuple):
        return NOTHING
    if len(actual.data) != len(expected.data):
        return V(False, merged(actual, expected))
    parts = [_all_within(a, e, rtol, atol).data for a, e in zip(actual.data, expected.data, strict=True)]
    return V(all(parts), merged(actual, expected)) if all(isinstance(p, bool) for p in parts) else NOTHING


def of_test_case(
    machine: "Machine", node: ast.Call, scope: Namespace, name: str, args: list[V], kwargs: dict[str, V]
) -> V:
    """Assertion methods of a test case."""
    if name in METHODS:
        return close(machine, node, scope, METHODS[name], args, kwargs)
    if name in ORDERED and len(args) >= 2:
        operator = ORDERED[name]
        result = operators.compare(_OPERATORS[operator], args[0], args[1])
        machine.polarity, before = True, machine.polarity
        machine.note(node, operator, args[0], args[1], result, scope)
        machine.polarity = before
        return result
    if name in TRUTHS and node.args:
        return machine.judged(node.args[0], scope, TRUTHS[name])
    return NOTHING
