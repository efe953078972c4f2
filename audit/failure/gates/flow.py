"""Statements of a comparator, as far as the formula evaluator follows them: assignments, branches, loops over known lists, calls of
the repository's own functions.
"""

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from audit.failure.gates import operators
from audit.failure.gates.values import (
    NOTHING,
    Class,
    Function,
    Library,
    LineText,
    Namespace,
    Record,
    V,
)

if TYPE_CHECKING:
    from audit.failure.gates.calc import Machine

MAX_ITERATIONS: Final = 20_000
"""Longest loop that is followed."""
MAX_CALLS: Final = 12
"""Deepest chain of the repository's own functions."""

MAX_MODULES: Final = 60
"""Most modules of the repository that are read for all gates together."""

_GOOD: Final = ("ok", "pass", "passed", "good", "success", "valid", "within", "healthy", "accept")
_BAD: Final = (
    "fail",
    "failed",
    "failure",
    "bad",
    "error",
    "regress",
    "regressed",
    "regression",
    "exceed",
    "violat",
)
_EXITS: Final = ("sys.exit", "exit", "quit", "os._exit", "pytest.fail", "pytest.exit")


class Signal(Exception):  # control flow of the code under view, not an error
    """`return`, `break` or `continue`."""

    def __init__(self, kind: str, value: V = NOTHING) -> None:
        super().__init__(kind)
        self.kind = kind
        self.value = value


def run(machine: "Machine", body: Sequence[ast.stmt], scope: Namespace) -> None:
    """Follows statements in order. Raises Signal, and OutOfBudgetError."""
    for statement in body:
        machine.tick()
        handler = _STATEMENTS.get(type(statement))
        if handler is not None:
            handler(machine, statement, scope)


def _assign(machine: "Machine", node: ast.Assign, scope: Namespace) -> None:
    value = _valued(machine, node.value, node.targets, scope)
    for target in node.targets:
        machine.bind(target, value, scope)


def _annotated(machine: "Machine", node: ast.AnnAssign, scope: Namespace) -> None:
    if node.value is not None:
        machine.bind(node.target, _valued(machine, node.value, [node.target], scope), scope)


def _valued(machine: "Machine", node: ast.expr, targets: Sequence[ast.expr], scope: Namespace) -> V:
    """A right-hand side; a name like `ok` or `failed` says what its comparisons mean."""
    passes = _meaning(targets[0]) if targets else None
    return machine.judged(node, scope, passes) if passes is not None else machine.eval(node, scope)


def _meaning(target: ast.expr) -> bool | None:
    name = (
        target.id
        if isinstance(target, ast.Name)
        else target.attr
        if isinstance(target, ast.Attribute)
        else ""
    )
    words = name.lower().replace("is_", "").split("_")
    if any(word.startswith(bad) for word in words for bad in _BAD):
        return False
    return True if any(word in _GOOD for word in words) else None


def meaning_of_choice(body: ast.expr, orelse: ast.expr) -> bool | None:
    """What `body if condition else orelse` says of its condition: "PASS" or 0 for a status where it is good; None where neither."""
    good, bad = _spoken(body), _spoken(orelse)
    if good is None and bad is None:
        return None
    return good if good is not None else not bad


def _spoken(node: ast.expr) -> bool | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    words = node.value.lower().strip("[]() ").split()
    if any(word.startswith(bad) for word in words for bad in _BAD) or "not" in words:
        return False
    return True if any(word in _GOOD for word in words) else None


def _augmented(machine: "Machine", node: ast.AugAssign, scope: Namespace) -> None:
    load = (
        ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        if isinstance(node.target, ast.Name)
        else node.target
    )
    before = machine.eval(load, scope)
    after = machine.eval(node.value, scope)
    machine.bind(node.target, operators.binary(node.op, before, after), scope)


def _assert(machine: "Machine", node: ast.Assert, scope: Namespace) -> None:
    machine.judged(node.test, scope, True, node.msg)


def _if(machine: "Machine", node: ast.If, scope: Namespace) -> None:
    bad, message = failing(node.body)
    good, other = failing(node.orelse)
    passes = False if bad else True if good else None
    truth = operators.truth_of(machine.chosen(node.test, scope, passes, message or other))
    if truth is not None:
        run(machine, node.body if truth else node.orelse, scope)
        return
    _either(machine, (node.body, node.orelse), scope)


def _either(machine: "Machine", branches: Sequence[Sequence[ast.stmt]], scope: Namespace) -> None:
    """It is not known which branch runs: comparisons in each are seen, names that they set are unknown afterwards."""
    before = dict(scope.names)
    changed: set[str] = set()
    for branch in branches:
        scope.names = dict(before)
        try:
            run(machine, branch, scope)
        except Signal as signal:
            if signal.kind != "return":
                raise
        changed |= {k for k, v in scope.names.items() if before.get(k) is not v}
    scope.names = before | dict.fromkeys(changed, NOTHING)


def failing(body: Sequence[ast.stmt]) -> tuple[bool, ast.expr | None]:
    """Whether a block ends in failure (raises, exits with a status, notes a failure), and the text that it then prints."""
    message: ast.expr | None = None
    bad = False
    for statement in body:
        if isinstance(statement, ast.Raise):
            call = statement.exc
            return True, (call.args[0] if isinstance(call, ast.Call) and call.args else None) or message
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            name, args = ast.unparse(statement.value.func), statement.value.args
            if name in _EXITS:
                text = args[0] if args and not isinstance(args[0], ast.Constant) else None
                clean = bool(args) and isinstance(args[0], ast.Constant) and args[0].value in (0, None)
                bad = bad or not clean if args else bad
                message = (
                    args[0]
                    if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str)
                    else text
                ) or message
            elif name.endswith((".append", ".add", ".error")) and _sounds_bad(name):
                bad, message = True, (args[0] if args else None) or message
            elif name == "print" and args:
                message = message or args[0]
        elif isinstance(statement, ast.Return):
            bad = bad or _returns_failure(statement)
        elif isinstance(statement, ast.Assign | ast.AugAssign):
            bad = bad or _notes_failure(statement)
    return bad, message if bad else None


def _sounds_bad(name: str) -> bool:
    return any(
        bad in part
        for part in name.lower().split(".")
        for bad in ("fail", "error", "bad", "problem", "violation", "regress")
    )


def _returns_failure(node: ast.Return) -> bool:
    return isinstance(node.value, ast.Constant) and (
        node.value.value is False or (type(node.value.value) is int and node.value.value != 0)
    )


def _notes_failure(node: ast.Assign | ast.AugAssign) -> bool:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    meaning = _meaning(target)
    name = target.id.lower() if isinstance(target, ast.Name) else ""
    value = node.value.value if isinstance(node.value, ast.Constant) else None
    if meaning is None and name in ("status", "rc", "exit_code", "code", "ret", "retcode"):
        return value not in (0, None, False)
    return (meaning is False and value not in (0, False, None)) or (meaning is True and value is False)


def _for(machine: "Machine", node: ast.For, scope: Namespace) -> None:
    items = machine.iterate(machine.eval(node.iter, scope))
    if items is None:
        machine.bind(node.target, NOTHING, scope)
        _either(machine, (node.body, ()), scope)
        return
    from audit.failure.gates.calc import MAX_IDLE_LOOP, MAX_LOOP

    start, budget = machine.steps, MAX_IDLE_LOOP
    for count, item in enumerate(items):
        if count == 0:
            budget = MAX_LOOP if _of_run(item) else budget
        if count >= MAX_ITERATIONS or machine.steps - start > budget:
            _abandon(node, scope)
            break
        machine.bind(node.target, item, scope)
        try:
            run(machine, node.body, scope)
        except Signal as signal:
            if signal.kind == "break":
                break
            if signal.kind == "return":
                raise


def _of_run(item: V) -> bool:
    """Whether a loop's item comes from the run's telemetry."""
    parts = [item, *(item.data if isinstance(item.data, tuple) else ())]
    parts += list(item.data.values())[:4] if isinstance(item.data, dict) else []
    return any(o.kind == "metric" for p in parts for o in p.origins) or isinstance(item.data, LineText)


def _abandon(node: ast.For, scope: Namespace) -> None:
    """A loop that is not followed to its end leaves unknown what it sets and whatever it may have filled."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Name):
            continue
        value = scope.get(part.id)
        mutable = value is not None and isinstance(value.data, list | dict | Record)
        if isinstance(part.ctx, ast.Store) or mutable:
            scope.set(part.id, NOTHING)


def _while(machine: "Machine", node: ast.While, scope: Namespace) -> None:
    machine.chosen(node.test, scope, None, None)
    try:
        _either(machine, (node.body, ()), scope)
    except Signal as signal:
        if signal.kind == "return":
            raise


def _with(machine: "Machine", node: ast.With | ast.AsyncWith, scope: Namespace) -> None:
    for item in node.items:
        value = machine.eval(item.context_expr, scope)
        if item.optional_vars is not None:
            machine.bind(item.optional_vars, value, scope)
    run(machine, node.body, scope)


def _try(machine: "Machine", node: ast.Try, scope: Namespace) -> None:
    run(machine, node.body, scope)
    run(machine, node.orelse, scope)
    run(machine, node.finalbody, scope)


def _expression(machine: "Machine", node: ast.Expr, scope: Namespace) -> None:
    value = node.value
    if isinstance(value, ast.Yield):
        raise Signal("return", machine.eval(value.value, scope))
    if isinstance(value, ast.Call) and value.args and ast.unparse(value.func) in _EXITS:
        _status(machine, value.args[0], scope)
        return
    machine.eval(value, scope)


def _status(machine: "Machine", node: ast.expr, scope: Namespace) -> None:
    """An exit status: 0 is good, a true value is not."""
    if isinstance(node, ast.IfExp) and _whole(node.body) and _whole(node.orelse):
        machine.judged(node.test, scope, ast.literal_eval(node.body) == 0)
        return
    machine.judged(node, scope, False)


def _whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _return(machine: "Machine", node: ast.Return, scope: Namespace) -> None:
    raise Signal("return", machine.eval(node.value, scope) if node.value is not None else V(None))


def _break(_: "Machine", __: ast.Break, ___: Namespace) -> None:
    raise Signal("break")


def _continue(_: "Machine", __: ast.Continue, ___: Namespace) -> None:
    raise Signal("continue")


def _define(_: "Machine", node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Namespace) -> None:
    scope.set(node.name, V(Function(node, scope)))


def _define_class(_: "Machine", node: ast.ClassDef, scope: Namespace) -> None:
    scope.set(node.name, V(Class(node, scope)))


def _import(_: "Machine", node: ast.Import, scope: Namespace) -> None:
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        scope.set(name, V(Library(alias.name if alias.asname else name)))


def _import_from(machine: "Machine", node: ast.ImportFrom, scope: Namespace) -> None:
    dotted = "." * node.level + (node.module or "")
    path = machine.checkout.module(dotted, scope.path)
    module = load(machine, path) if path is not None else None
    for alias in node.names:
        local = alias.asname or alias.name
        found = module.names.get(alias.name) if module is not None else None
        if found is None and path is not None and path.endswith("__init__.py"):
            inner = machine.checkout.module(
                f"{dotted}.{alias.name}" if dotted.strip(".") else dotted + alias.name, scope.path
            )
            found = V(load(machine, inner)) if inner is not None else None
        scope.set(local, found if found is not None else V(Library(f"{dotted.lstrip('.')}.{alias.name}")))


def load(machine: "Machine", path: str | None) -> Namespace | None:
    """The names of a module of the repository, its statements followed once; its comparisons are not those of the entry."""
    if path is None:
        return None
    if machine.main is not None and machine.main.path == path:
        return machine.main
    if path in machine.modules or len(machine.modules) >= MAX_MODULES:
        return machine.modules.get(path)
    tree = machine.checkout.tree(path)
    if tree is None:
        return None
    scope = machine.modules[path] = Namespace(path)
    scope.set("__name__", V(path.rpartition("/")[2].removesuffix(".py")))
    scope.set("__file__", V(path))
    machine.quiet += 1
    try:
        for statement in tree.body:
            if isinstance(
                statement,
                ast.Import
                | ast.ImportFrom
                | ast.Assign
                | ast.AnnAssign
                | ast.FunctionDef
                | ast.ClassDef
                | ast.AsyncFunctionDef,
            ):
                run(machine, [statement], scope)
    except Signal:
        pass
    finally:
        machine.quiet -= 1
    return scope


def invoke(machine: "Machine", function: Function, args: Sequence[V], kwargs: dict[str, V]) -> V:
    """A call of one of the repository's own functions."""
    if len(machine.symbols) >= MAX_CALLS:
        return NOTHING
    node = function.node
    scope = Namespace(function.scope.path, outer=function.scope)
    _bind_parameters(machine, node.args, args, kwargs, scope, function)
    if isinstance(node, ast.Lambda):
        return machine._unjudged(node.body, scope)
    if node.decorator_list and not args and not kwargs:
        from audit.failure.gates.command_line import from_decorators

        scope.names.update(from_decorators(machine, node, function.scope))
    machine.symbols.append(node.name)
    before = machine.polarity, machine.message
    machine.polarity, machine.message = None, None
    try:
        run(machine, node.body, scope)
    except Signal as signal:
        return signal.value if signal.kind == "return" else NOTHING
    finally:
        machine.symbols.pop()
        machine.polarity, machine.message = before
    return V(None)


def _bind_parameters(
    machine: "Machine",
    spec: ast.arguments,
    args: Sequence[V],
    kwargs: dict[str, V],
    scope: Namespace,
    function: Function,
) -> None:
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    for name, default in zip(reversed(names), reversed(spec.defaults), strict=False):
        scope.set(name, machine.eval(default, function.scope))
    for argument, default_node in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        scope.set(argument.arg, machine.eval(default_node, function.scope) if default_node else NOTHING)
    given = [function.owner, *args] if function.owner is not None else list(args)
    for name, value in zip(names, given, strict=False):
        scope.set(name, value)
    if spec.vararg is not None:
        scope.set(spec.vararg.arg, V(list(given[len(names) :])))
    for name, value in kwargs.items():
        scope.set(name, value)
    for name in names:
        if name not in scope.names:
            scope.set(name, NOTHING)


def construct(machine: "Machine", made: Class, args: Sequence[V], kwargs: dict[str, V]) -> V:
    """An object of one of the repository's own classes: class attributes, then what `__init__` sets."""
    record = V(instance(machine, made))
    init = record.data.fields.get("__init__")
    if init is not None and isinstance(init.data, Function):
        invoke(machine, Function(init.data.node, init.data.scope, record), args, kwargs)
        return record
    fields = [
        s.target.id for s in made.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    record.data.fields.update(dict(zip(fields, args, strict=False)) | kwargs)  # a dataclass
    return record


def instance(machine: "Machine", made: Class) -> Record:
    """An object with the class's attributes and methods bound to it."""
    scope = Namespace(made.scope.path, outer=made.scope)
    record = Record({}, open=True)
    for statement in made.node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            bound = Function(statement, made.scope, V(record))
            record.fields[statement.name] = V(bound)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            run(machine, [statement], scope)
    record.fields.update(scope.names)
    return record


_STATEMENTS: Final[dict[type, Callable[..., None]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Assert: _assert,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _define_class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
}
