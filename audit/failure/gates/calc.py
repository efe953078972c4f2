"""A formula evaluator over syntax trees: what a comparator computes from numbers, computed again by us.

This is no interpreter of Python: it knows arithmetic, lists and dicts of numbers, a fixed list of pure functions, and the
repository's own small functions made of these. It opens nothing, imports nothing, calls nothing of the run time, and stops after
a fixed number of steps. A file that code reads is one of the checkout (stored values, configuration) or, where it is a run's
output, is answered from telemetry.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from audit.failure.gates import operators
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.model import Origin
from audit.failure.gates.rundata import RunData, cell
from audit.failure.gates.values import (
    MAX_TEXT,
    NOTHING,
    UNKNOWN,
    AnyRun,
    Array,
    Frame,
    Function,
    Library,
    Namespace,
    PathText,
    Record,
    V,
    items_of,
    merged,
)

MAX_STEPS: Final = 200_000
"""Nodes evaluated for one entry (a test function, a script): a second of work at most."""
MAX_LOOP: Final = 120_000
"""Nodes evaluated in one loop over data."""
MAX_IDLE_LOOP: Final = 20_000
"""Nodes evaluated in one loop over anything else: a simulation or a training loop is not followed to its end."""
MAX_DEPTH: Final = 60
"""Deepest nesting of expressions and calls together."""


class OutOfBudgetError(Exception):
    """The steps of an entry are used up: what was seen so far counts."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A comparison that was reached. `passes`: whether the gate is good where it holds (None: not known from here).

    `message`: the text that is printed where it fails, as an expression.
    """

    node: ast.expr
    operator: str
    left: V
    right: V
    result: V
    path: str
    symbol: str
    passes: bool | None
    message: ast.expr | None = None
    rtol: float | None = None
    atol: float | None = None


@dataclass(slots=True)
class Machine:
    """One evaluation: the checkout, the run's data, a command line, and the comparisons seen on the way."""

    checkout: Checkout
    data: RunData
    argv: tuple[str, ...] | None = None
    environ: dict[str, str] = field(default_factory=dict)
    argv_place: str = ""
    seen: list[Seen] = field(default_factory=list)
    modules: dict[str, Namespace] = field(default_factory=dict)
    main: Namespace | None = None
    steps: int = 0
    depth: int = 0
    symbols: list[str] = field(default_factory=list)
    polarity: bool | None = None
    message: ast.expr | None = None
    quiet: int = 0

    def tick(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OutOfBudgetError

    # -- expressions ---------------------------------------------------------------------------------------------

    def eval(self, node: ast.expr | None, scope: Namespace) -> V:
        """The value of an expression; unknown where a part of it is beyond us."""
        self.tick()
        handler = _EXPRESSIONS.get(type(node))
        if node is None or handler is None or self.depth >= MAX_DEPTH:
            return NOTHING
        self.depth += 1
        try:
            return handler(self, node, scope)
        finally:
            self.depth -= 1

    def judged(
        self, node: ast.expr, scope: Namespace, passes: bool | None, message: ast.expr | None = None
    ) -> V:
        """The value of a condition on which a gate hangs: comparisons in it are seen with that meaning."""
        before = self.polarity, self.message
        self.polarity, self.message = passes, message
        try:
            return self.eval(node, scope)
        finally:
            self.polarity, self.message = before

    def chosen(self, node: ast.expr, scope: Namespace, passes: bool | None, message: ast.expr | None) -> V:
        """The value of a condition that chooses a branch; where neither branch is a failure, no gate hangs on it."""
        self.quiet += passes is None
        try:
            return self.judged(node, scope, passes, message)
        finally:
            self.quiet -= passes is None

    def _constant(self, node: ast.Constant, scope: Namespace) -> V:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool):
            origin = Origin("constant", "", f"{scope.path}:{node.lineno}")
            return V(value, frozenset((origin,))) if abs(value) < operators.MAX_CONSTANT else NOTHING
        return V(value) if value is None or isinstance(value, str | bool) else NOTHING

    def _name(self, node: ast.Name, scope: Namespace) -> V:
        found = scope.get(node.id)
        return found if found is not None else V(Library(node.id))

    def _attribute(self, node: ast.Attribute, scope: Namespace) -> V:
        owner = self.eval(node.value, scope)
        return self.attribute(owner, node.attr)

    def attribute(self, owner: V, name: str) -> V:
        """`owner.name`."""
        data = owner.data
        if data is UNKNOWN:
            return NOTHING
        if isinstance(data, Library) and data.owner is None:
            full = f"{data.name}.{name}"
            return self._command_line() if full == "sys.argv" else V(Library(full))
        if isinstance(data, Namespace):
            return data.names.get(name, NOTHING)
        if isinstance(data, Record):
            if name in data.fields:
                return data.fields[name]
            return V(Library(name, owner)) if data.open else NOTHING
        if isinstance(data, PathText) and name in ("parent", "parents", "name", "stem"):
            from audit.failure.gates import files

            return files.path_attribute(data, name)
        if isinstance(data, AnyRun) and name in (
            "data",
            "metrics",
            "summary",
            "_json_dict",
            "summary_metrics",
        ):
            return owner
        if isinstance(data, Frame) and name in ("values", "iloc", "loc"):
            return owner
        if isinstance(data, Array) and name in ("values", "iloc", "T"):
            return owner
        return V(Library(name, owner))

    def _command_line(self) -> V:
        """`sys.argv`: the words of the command that runs the script."""
        if self.argv is None:
            return NOTHING
        return V(
            [
                V(word, frozenset((Origin("argument", f"argument {index}", self.argv_place),)))
                for index, word in enumerate(self.argv)
            ]
        )

    def _subscript(self, node: ast.Subscript, scope: Namespace) -> V:
        owner = self.eval(node.value, scope)
        if isinstance(node.slice, ast.Slice):
            return self._sliced(owner, node.slice, scope)
        return self.item(owner, self.eval(node.slice, scope))

    def item(self, owner: V, key: V) -> V:
        """`owner[key]`."""
        from audit.failure.gates import files

        data = owner.data
        if not key.known or data is UNKNOWN:
            return NOTHING
        if isinstance(data, dict):
            found = cell(data, key.data) if isinstance(key.data, str | int | float) else None
            return found if found is not None else NOTHING
        if isinstance(data, list | tuple) and isinstance(key.data, int):
            return data[key.data] if -len(data) <= key.data < len(data) else NOTHING
        if isinstance(data, Array) and isinstance(key.data, list):
            return _masked(owner, key)
        return files.item(self, owner, key)

    def _sliced(self, owner: V, node: ast.Slice, scope: Namespace) -> V:
        parts = [
            self.eval(p, scope).data if p is not None else None for p in (node.lower, node.upper, node.step)
        ]
        if (
            not all(p is None or (isinstance(p, int) and not isinstance(p, bool)) for p in parts)
            or parts[2] == 0
        ):
            return NOTHING
        if isinstance(owner.data, Frame):
            return V(Frame(owner.data.rows[slice(*parts)]), owner.origins)
        if not isinstance(owner.data, list | tuple | str):
            return NOTHING
        if isinstance(owner.data, Array):
            return V(type(owner.data)(owner.data[slice(*parts)]), owner.origins)
        return V(owner.data[slice(*parts)], owner.origins)

    def _binary(self, node: ast.BinOp, scope: Namespace) -> V:
        return operators.binary(node.op, self.eval(node.left, scope), self.eval(node.right, scope))

    def _unary(self, node: ast.UnaryOp, scope: Namespace) -> V:
        if isinstance(node.op, ast.Not) and self.polarity is not None:
            inner = self.judged(node.operand, scope, not self.polarity, self.message)
        else:
            inner = self.eval(node.operand, scope)
        return operators.unary(node.op, inner)

    def _boolean(self, node: ast.BoolOp, scope: Namespace) -> V:
        values = [self.eval(part, scope) for part in node.values]
        truths = [operators.truth_of(value) for value in values]
        decisive = isinstance(node.op, ast.Or)
        for value, truth in zip(values, truths, strict=True):
            if truth is None:
                return NOTHING
            if truth is decisive:
                return value
        return values[-1]

    def _compare(self, node: ast.Compare, scope: Namespace) -> V:
        left = self._unjudged(node.left, scope)
        whole: V | None = None
        for operator, right_node in zip(node.ops, node.comparators, strict=True):
            right = self._unjudged(right_node, scope)
            result = operators.compare(operator, left, right)
            self.note(node, operators.symbol(operator), left, right, result, scope)
            if whole is None or operators.truth_of(whole) is not False:
                whole = result
            left = right
        return whole or NOTHING

    def _unjudged(self, node: ast.expr, scope: Namespace) -> V:
        before, self.polarity = self.polarity, None
        try:
            return self.eval(node, scope)
        finally:
            self.polarity = before

    def note(self, node: ast.expr, operator: str, left: V, right: V, result: V, scope: Namespace) -> None:
        """A comparison was reached. Those that only select rows are not noted."""
        if operator and not self.quiet:
            symbol = self.symbols[-1] if self.symbols else ""
            self.seen.append(
                Seen(node, operator, left, right, result, scope.path, symbol, self.polarity, self.message)
            )

    def _conditional(self, node: ast.IfExp, scope: Namespace) -> V:
        from audit.failure.gates.flow import meaning_of_choice

        passes = meaning_of_choice(node.body, node.orelse)
        truth = operators.truth_of(self.chosen(node.test, scope, passes, None))
        if truth is None:
            self.eval(node.body, scope)
            self.eval(node.orelse, scope)
            return NOTHING
        return self.eval(node.body if truth else node.orelse, scope)

    def _listed(self, node: ast.List | ast.Set, scope: Namespace) -> V:
        return V(self._items(node.elts, scope))

    def _tuple(self, node: ast.Tuple, scope: Namespace) -> V:
        return V(tuple(self._items(node.elts, scope)))

    def _items(self, nodes: Sequence[ast.expr], scope: Namespace) -> list[V]:
        made: list[V] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                made.extend(items_of(self.eval(node.value, scope)) or [NOTHING])
            else:
                made.append(self.eval(node, scope))
        return made

    def _dict(self, node: ast.Dict, scope: Namespace) -> V:
        made: dict[Any, V] = {}
        for key_node, value_node in zip(node.keys, node.values, strict=True):
            value = self.eval(value_node, scope)
            if key_node is None:
                made.update(value.data if isinstance(value.data, dict) else {})
                continue
            key = self.eval(key_node, scope)
            if isinstance(key.data, str | int | float):
                made[key.data] = value
        return V(made)

    def _text(self, node: ast.JoinedStr, scope: Namespace) -> V:
        parts: list[str] = []
        origins: list[V] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
                continue
            value = self._unjudged(part.value, scope) if isinstance(part, ast.FormattedValue) else NOTHING
            if (
                not isinstance(value.data, str | int | float)
                or getattr(part, "format_spec", None) is not None
            ):
                return NOTHING
            parts.append(str(value.data))
            origins.append(value)
        text = "".join(parts)
        return V(text, merged(*origins)) if len(text) <= MAX_TEXT else NOTHING

    def _comprehension(self, node: Any, scope: Namespace) -> V:
        """List, set, dict and generator comprehensions; conditions in them select and are no gates."""
        made: list[tuple[V, ...]] = []
        start = self.steps
        inner = Namespace(scope.path, outer=scope)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        before, self.polarity = self.polarity, None if len(node.generators) > 1 else self.polarity
        try:
            complete = self._generate(
                node.generators,
                inner,
                start + MAX_LOOP,
                lambda: made.append(tuple(self.eval(p, inner) for p in parts)),
            )
        finally:
            self.polarity = before
        if not complete:
            return NOTHING
        if isinstance(node, ast.DictComp):
            return V({k.data: v for k, v in made if isinstance(k.data, str | int | float)})
        return V([row[0] for row in made])

    def _generate(
        self,
        generators: Sequence[ast.comprehension],
        inner: Namespace,
        deadline: int,
        emit: Callable[[], None],
    ) -> bool:
        head, *rest = generators
        items = self.iterate(self._unjudged(head.iter, inner))
        if items is None:
            return False
        for item in items:
            self.tick()
            if self.steps > deadline:
                return False
            self.bind(head.target, item, inner)
            keep = self._selected(head.ifs, inner)
            if keep is None:
                return False
            if keep and rest:
                if not self._generate(rest, inner, deadline, emit):
                    return False
            elif keep:
                emit()
        return True

    def _selected(self, conditions: Sequence[ast.expr], inner: Namespace) -> bool | None:
        self.quiet += 1
        try:
            for condition in conditions:
                truth = operators.truth_of(self._unjudged(condition, inner))
                if not truth:
                    return truth
        finally:
            self.quiet -= 1
        return True

    def iterate(self, value: V) -> Iterable[V] | None:
        """The items of a value as a loop sees them; None where they are not known."""
        from audit.failure.gates import files

        found = items_of(value)
        return found if found is not None else files.lines(self, value)

    def bind(self, target: ast.expr, value: V, scope: Namespace) -> None:
        """`target = value`."""
        if isinstance(target, ast.Name):
            scope.set(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Subscript):
            owner, key = self.eval(target.value, scope), self._key(target.slice, scope)
            if isinstance(owner.data, dict) and isinstance(key.data, str | int | float):
                owner.data[key.data] = value
        elif isinstance(target, ast.Attribute):
            owner = self.eval(target.value, scope)
            if isinstance(owner.data, Record):
                owner.data.fields[target.attr] = value

    def _key(self, node: ast.expr, scope: Namespace) -> V:
        return NOTHING if isinstance(node, ast.Slice) else self.eval(node, scope)

    def _unpack(self, targets: Sequence[ast.expr], value: V, scope: Namespace) -> None:
        items = items_of(value)
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        if items is None or (starred is None and len(items) != len(targets)) or len(items) < len(targets) - 1:
            items, starred = [NOTHING] * len(targets), None
        if starred is not None:
            after = len(targets) - starred - 1
            middle = V(items[starred : len(items) - after])
            items = [*items[:starred], middle, *items[len(items) - after :]]
        for target, item in zip(targets, items, strict=False):
            self.bind(target.value if isinstance(target, ast.Starred) else target, item, scope)

    def _walrus(self, node: ast.NamedExpr, scope: Namespace) -> V:
        value = self.eval(node.value, scope)
        self.bind(node.target, value, scope)
        return value

    def _lambda(self, node: ast.Lambda, scope: Namespace) -> V:
        return V(Function(node, scope))

    def _call(self, node: ast.Call, scope: Namespace) -> V:
        from audit.failure.gates import calls

        return calls.call(self, node, scope)

    def _await(self, node: ast.Await, scope: Namespace) -> V:
        return self.eval(node.value, scope)


def _masked(owner: V, mask: V) -> V:
    """`array[array > 3]`, and picking by a list of indexes."""
    if len(mask.data) == len(owner.data) and all(isinstance(m.data, bool) for m in mask.data):
        return V(
            type(owner.data)(v for v, m in zip(owner.data, mask.data, strict=True) if m.data), owner.origins
        )
    places = [m.data for m in mask.data]
    size = len(owner.data)
    if all(isinstance(p, int) and not isinstance(p, bool) and -size <= p < size for p in places):
        return V(Array(owner.data[p] for p in places), owner.origins)
    return NOTHING


_EXPRESSIONS: Final[dict[type, Callable[[Machine, Any, Namespace], V]]] = {
    ast.Constant: Machine._constant,
    ast.Name: Machine._name,
    ast.Attribute: Machine._attribute,
    ast.Subscript: Machine._subscript,
    ast.BinOp: Machine._binary,
    ast.UnaryOp: Machine._unary,
    ast.BoolOp: Machine._boolean,
    ast.Compare: Machine._compare,
    ast.IfExp: Machine._conditional,
    ast.List: Machine._listed,
    ast.Set: Machine._listed,
    ast.Tuple: Machine._tuple,
    ast.Dict: Machine._dict,
    ast.JoinedStr: Machine._text,
    ast.ListComp: Machine._comprehension,
    ast.SetComp: Machine._comprehension,
    ast.GeneratorExp: Machine._comprehension,
    ast.DictComp: Machine._comprehension,
    ast.NamedExpr: Machine._walrus,
    ast.Lambda: Machine._lambda,
    ast.Call: Machine._call,
    ast.Await: Machine._await,
}
