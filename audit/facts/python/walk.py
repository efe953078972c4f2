"""The walk over a syntax tree that turns it into facts: one pass, iterative.

A loop over an explicit stack with a dispatch on the node's type: no recursion (deep nesting is the attacker's). It takes half as long as
the parse itself, so the commonest nodes (names, constants, calls, plain attributes) are dealt with where they are met, without a turn on
the stack.
"""

import ast
import builtins
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from audit.facts.python.called import Keep, called_name
from audit.facts.python.conditions import (
    Condition,
    asked_for,
    catches_import_error,
    is_main_guard,
    runs_code,
    type_checking,
)
from audit.facts.python.digest import metric_digest
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Assign, Call, Ignore, Import, Param, PythonFacts, Scope, Text
from audit.facts.python.render import dotted, render
from audit.facts.python.vocabulary import (
    CHECKPOINT_KEYS,
    CONFIG_RECEIVERS,
    EXTERNAL,
    KEYWORDS,
    PLAIN_METHODS,
)

MAX_RECORDS = 20_000
MAX_PROMPT = 4_000
"""Characters kept of a text that is named as a prompt: it is part of the experiment as it stands."""
# `sorted(list(x))` sorts `x`, `len(list(x))` counts it: what stands between says nothing about how `x` is used.
_WRAPPERS = frozenset({"list", "tuple"})
_ORDER_BLIND = frozenset(
    {"sorted", "natsorted", "len", "set", "frozenset", "min", "max", "sum", "any", "all"}
)


class _Scope:
    __slots__ = (
        "bases",
        "decorators",
        "digest",
        "end_line",
        "kind",
        "line",
        "name",
        "params",
        "parent",
        "refs",
    )

    def __init__(self, name: str, kind: str, parent: int, line: int, end_line: int) -> None:
        self.name, self.kind, self.parent, self.line, self.end_line = name, kind, parent, line, end_line
        self.params: tuple[Param, ...] = ()
        self.bases: tuple[str, ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.refs: set[str] = set()
        self.digest = ""

    def frozen(self, refs: tuple[str, ...]) -> Scope:
        return Scope(
            self.name,
            self.kind,
            self.parent,
            self.line,
            self.end_line,
            self.params,
            self.bases,
            self.decorators,
            refs,
            self.digest,
        )


class _Env(NamedTuple):
    """Where a statement stands: the index of its scope, how many loops of that scope are around it, the nearest `if`, and the names that
    the scope refers to so far."""

    scope: int
    loops: int
    test: Condition | None
    refs: set[str]


# What a node is within: (kind, payload); the payload is only rendered when a record is made of the node.
Context = tuple[str, Any]
_OTHER: Context = ("other", None)
_EXPR: Context = ("expr", None)
_ITER: Context = ("iter", None)
_TEST: Context = ("test", None)  # a condition: only whether there is anything counts
_ATTR: Context = ("attr", None)
_COMPARE: Context = ("compare", None)
_RETURN: Context = ("return", None)
_GUARDED: Context = ("guarded", None)  # a statement that an `except ImportError` makes optional


class Walk:
    """State of one walk. Items of the stack: a node, where it stands, what it is within."""

    def __init__(self) -> None:
        # What `from helpers import *` often brings along; a file's own imports win.
        self.aliases: dict[str, str] = {"np": "numpy", "tf": "tensorflow", "jnp": "jax.numpy", "pd": "pandas"}
        self.imports: list[Import] = []
        self.scopes: list[_Scope] = []
        self.calls: list[Call] = []
        self.assigns: list[Assign] = []
        self.texts: list[Text] = []
        self.attributes: set[str] = set()
        self.stack: list[tuple[ast.AST, _Env, Context]] = []

    def run(self, tree: ast.Module) -> None:
        module = _Scope("", "module", -1, 1, 0)
        self.scopes.append(module)
        push_body(self.stack, tree.body, _Env(0, 0, None, module.refs))
        stack, dispatch, generic = self.stack, _DISPATCH, Walk.children
        while stack:
            node, env, within = stack.pop()
            dispatch.get(type(node), generic)(self, node, env, within)

    def facts(self, tree: ast.Module, ignores: tuple[Ignore, ...]) -> PythonFacts:
        return PythonFacts(
            statements=sum(1 for node in tree.body if runs_code(node)),
            imports=tuple(self.imports),
            scopes=self.frozen_scopes(),
            calls=tuple(sorted(self.calls, key=_line)),
            assigns=tuple(sorted(self.assigns, key=_line)),
            texts=tuple(sorted(self.texts, key=_line)),
            attributes=tuple(sorted(self.attributes)),
            ignores=ignores,
        )

    def frozen_scopes(self) -> tuple[Scope, ...]:
        """The scopes with only those references that can lead anywhere: to a definition of this file, to something imported, to a method."""
        defined = {scope.name for scope in self.scopes}
        stars = any(item.name == "*" for item in self.imports)
        roots = {full.partition(".")[0] for full in self.aliases.values()} | _OWN
        return tuple(scope.frozen(_leading(scope.refs, defined, roots, stars)) for scope in self.scopes)

    # Generic nodes -------------------------------------------------------------------------------------------

    def children(self, node: ast.AST, env: _Env, within: Context) -> None:
        """Takes up what stands inside a node that has no handler of its own."""
        for name in node._fields:
            value = getattr(node, name, None)
            if type(value) is list:
                for child in reversed(value):
                    self.inside(child, env)
            else:
                self.inside(value, env)

    def inside(self, node: object, env: _Env, within: Context = _OTHER) -> None:
        """Deals with names and constants at once, which are most of what there is, and leaves the rest for later."""
        kind = type(node)
        if kind is ast.Name:
            full = self.aliases.get(node.id)  # type: ignore[attr-defined]
            if full is None:
                env.refs.add(node.id)  # type: ignore[attr-defined]
            else:
                _refer(env.refs, full)
        elif kind is ast.Constant:
            if type(node.value) is str:  # type: ignore[attr-defined]
                self.string(node, env.scope, within)  # type: ignore[arg-type]
        elif isinstance(node, ast.AST) and node._fields:
            self.stack.append((node, env, within))

    def unary(self, node: ast.UnaryOp, env: _Env, within: Context) -> None:
        self.inside(node.operand, env)

    def formatted(self, node: ast.JoinedStr, env: _Env, within: Context) -> None:
        for value in reversed(node.values):
            self.inside(value, env)

    def starred(self, node: ast.Starred | ast.FormattedValue, env: _Env, within: Context) -> None:
        self.inside(node.value, env)

    def binary(self, node: ast.BinOp, env: _Env, within: Context) -> None:
        self.inside(node.right, env)
        self.inside(node.left, env)

    def skip(self, *_: Any) -> None:
        """Nodes that carry nothing."""

    def expression(self, node: ast.Expr, env: _Env, within: Context) -> None:
        value = node.value
        if type(value) is ast.Call:
            self.call(value, env, _EXPR)
        elif type(value) is not ast.Constant:
            self.stack.append((value, env, _EXPR))

    # Imports -------------------------------------------------------------------------------------------------

    def import_(self, node: ast.Import, env: _Env, within: Context) -> None:
        guarded = within is _GUARDED or type_checking(env.test) or asked_for(env.test)
        for name in node.names:
            alias = name.asname or name.name.split(".")[0]
            self.aliases[alias] = name.name if name.asname else alias
            self.imports.append(
                Import(name.name, "", name.asname or name.name, node.lineno, env.scope, guarded)
            )

    def import_from(self, node: ast.ImportFrom, env: _Env, within: Context) -> None:
        module = "." * node.level + (node.module or "")
        guarded = within is _GUARDED or type_checking(env.test) or asked_for(env.test)
        for name in node.names:
            alias = name.asname or name.name
            if alias != "*":
                self.aliases[alias] = (
                    f"{module}.{name.name}" if not module.endswith(".") else module + name.name
                )
            self.imports.append(Import(module, name.name, alias, node.lineno, env.scope, guarded))

    # Scopes --------------------------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef, env: _Env, within: Context) -> None:
        mine = _Scope(node.name, "function", env.scope, node.lineno, node.end_lineno or node.lineno)
        mine.params = self.params(node.args, every=node.name.startswith("test"))
        mine.digest = metric_digest(node)
        index = self.open(mine, node, env)
        push_body(self.stack, node.body, _Env(index, 0, None, mine.refs))

    def class_(self, node: ast.ClassDef, env: _Env, within: Context) -> None:
        scope = env.scope
        mine = _Scope(node.name, "class", scope, node.lineno, node.end_lineno or node.lineno)
        mine.bases = tuple(render(base, self.aliases, 120) for base in node.bases)
        index = self.open(mine, node, env)
        push_body(self.stack, node.body, _Env(index, 0, None, mine.refs))

    def open(self, mine: _Scope, node: ast.FunctionDef | ast.ClassDef, env: _Env) -> int:
        if node.decorator_list:
            mine.decorators = tuple(render(item, self.aliases, 200) for item in node.decorator_list)
            for item in node.decorator_list:
                self.stack.append((item, env, ("decorator", node.name)))
        self.scopes.append(mine)
        return len(self.scopes) - 1

    def params(self, arguments: ast.arguments, *, every: bool = False) -> tuple[Param, ...]:
        """Parameters with a default that says something, and every parameter that a reader would call a seed.

        `every`: the others, too. What tells a test from an evaluation script is whether a runner can fill them in.
        """
        named = [*arguments.posonlyargs, *arguments.args]
        bare = len(named) - len(arguments.defaults)
        pairs: list[tuple[ast.arg, ast.expr | None]] = [
            (arg, None) for arg in named[:bare] if every or "seed" in arg.arg
        ]
        if arguments.defaults:
            pairs += zip(named[bare:], arguments.defaults, strict=True)
        if arguments.kwonlyargs:
            pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if not pairs:
            return ()
        found = [self.param(arg, default, every) for arg, default in pairs]
        return tuple(param for param in found if param is not None)

    def param(self, arg: ast.arg, default: ast.expr | None, every: bool) -> Param | None:
        seed = "seed" in arg.arg.lower()
        if default is None and not every and not seed:
            return None
        if type(default) is ast.Constant:
            if type(default.value) is str and (kind := identity_kind(default.value)):
                role = f"default:{arg.arg}"
                self.texts.append(Text(kind, default.value, default.lineno, len(self.scopes), role))
            elif default.value is None and not seed:
                return None
        annotation = dotted(arg.annotation, self.aliases) if arg.annotation is not None else ""
        return Param(arg.arg, render(default, self.aliases, 80), annotation, arg.lineno)

    # Control flow --------------------------------------------------------------------------------------------

    def if_(self, node: ast.If, env: _Env, within: Context) -> None:
        scope, loops, test, refs = env
        condition = node.test
        if is_main_guard(condition) and self.scopes[scope].kind == "module":
            mine = _Scope("__main__", "main", scope, node.lineno, node.end_lineno or node.lineno)
            self.scopes.append(mine)
            push_body(self.stack, node.orelse, env, within)
            push_body(self.stack, node.body, _Env(len(self.scopes) - 1, 0, None, mine.refs))
            return
        dead = type(condition) is ast.Constant and not condition.value
        if node.orelse:
            otherwise = env if dead else _Env(scope, loops, Condition(test, condition, True), refs)
            push_body(self.stack, node.orelse, otherwise, within)
        if not dead:
            push_body(
                self.stack, node.body, _Env(scope, loops, Condition(test, condition, False), refs), within
            )
        self.stack.append((condition, env, _TEST))

    def for_(self, node: ast.For, env: _Env, within: Context) -> None:
        scope, loops, test, refs = env
        push_body(self.stack, node.orelse, env)
        push_body(self.stack, node.body, _Env(scope, loops + 1, test, refs))
        self.stack.append((node.iter, env, _ITER))

    def while_(self, node: ast.While, env: _Env, within: Context) -> None:
        scope, loops, test, refs = env
        push_body(self.stack, node.orelse, env)
        push_body(self.stack, node.body, _Env(scope, loops + 1, test, refs))
        self.stack.append((node.test, env, _TEST))

    def try_(self, node: ast.Try, env: _Env, within: Context) -> None:
        optional = _GUARDED if any(map(catches_import_error, node.handlers)) else _OTHER
        for body in (node.finalbody, node.orelse, *(handler.body for handler in reversed(node.handlers))):
            push_body(self.stack, body, env, optional)
        push_body(self.stack, node.body, env, optional)

    def with_(self, node: ast.With, env: _Env, within: Context) -> None:
        push_body(self.stack, node.body, env, within)
        for item in reversed(node.items):
            target = item.optional_vars
            held: Context = ("with", None) if target is None else ("assign", target)
            self.stack.append((item.context_expr, env, held))

    def comprehension(self, node: ast.comprehension, env: _Env, within: Context) -> None:
        for condition in node.ifs:
            self.stack.append((condition, env, _TEST))
        self.stack.append((node.iter, env, _ITER))

    # Assignments ---------------------------------------------------------------------------------------------

    def assign(self, node: ast.Assign, env: _Env, within: Context) -> None:
        value, target = node.value, node.targets[0]
        kind = type(value)
        if kind not in _SILENT or len(node.targets) > 1 or not _says_nothing(target):
            for each in node.targets:
                self.keep_assign(each, value, "", node.lineno, env.scope, env.test)
            self.targets(node.targets, env)
        if kind is ast.Call:
            self.call(value, env, ("assign", target))  # type: ignore[arg-type]
        else:
            self.inside(value, env, ("assign", target))

    def targets(self, nodes: list[ast.expr], env: _Env) -> None:
        for node in nodes:
            if type(node) is ast.Subscript:
                self.stack.append((node.value, env, _OTHER))

    def ann_assign(self, node: ast.AnnAssign, env: _Env, within: Context) -> None:
        scope, test = env.scope, env.test
        annotation = (
            render(node.annotation, self.aliases, 100)
            if self.scopes[scope].kind in ("class", "module")
            else ""
        )
        value: ast.expr | None = node.value
        if type(value) is ast.Call and dotted(value.func, self.aliases).rpartition(".")[2] in (
            "field",
            "Field",
        ):
            value = _field_default(value)
        if self.scopes[scope].kind == "class":
            name = render(node.target, self.aliases, 80)
            self.assigns.append(
                Assign(name, render(value, self.aliases, 160), node.lineno, scope, annotation or "?")
            )
        elif value is not None:
            self.keep_assign(node.target, value, annotation, node.lineno, scope, test)
        if node.value is not None:
            self.stack.append((node.value, env, ("assign", node.target)))

    def keep_assign(
        self,
        target: ast.expr,
        value: ast.expr,
        annotation: str,
        line: int,
        scope: int,
        test: Condition | None,
    ) -> None:
        kind = type(target)
        if kind is ast.Tuple or kind is ast.List:
            if type(value) is type(target) and len(value.elts) == len(target.elts):  # type: ignore[attr-defined]
                for one, other in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                    self.keep_assign(one, other, annotation, line, scope, test)
            return
        limit = self.worth(target, value, scope)
        if not limit or len(self.assigns) >= MAX_RECORDS:
            return
        if type(value) is ast.Dict and _is_prompt(target):
            self.keep_prompts(target.id, value, scope)  # type: ignore[attr-defined]
        name = render(target, self.aliases, 100)
        self.assigns.append(
            Assign(name, render(value, self.aliases, limit), line, scope, annotation, self.conditions(test))
        )

    def keep_prompts(self, name: str, table: ast.Dict, scope: int) -> None:
        """A dictionary of prompts leaves a record for each, whole: the dictionary's own text is cut."""
        for key, value in list(zip(table.keys, table.values, strict=True))[:20]:
            if type(key) is ast.Constant and type(key.value) is str and type(value) is ast.Constant:
                text = render(value, self.aliases, MAX_PROMPT)
                self.assigns.append(Assign(f"{name}[{key.value[:60]!r}]", text, value.lineno, scope))

    def worth(self, target: ast.expr, value: ast.expr, scope: int) -> int:
        """How many characters of the value to keep; 0 for an assignment that says nothing."""
        made = type(value)
        if type(target) is ast.Attribute:
            is_text = made is ast.JoinedStr or (made is ast.Constant and type(value.value) is str)  # type: ignore[attr-defined]
            if is_text and _PROMPT.search(target.attr):
                return MAX_PROMPT
            root = dotted(target, self.aliases)
            if (
                root.startswith(("torch.", "tensorflow.", "os.", "jax.", "keras.", "random.", "numpy."))
                or "seed" in target.attr.lower()
            ):
                return 120
            return 100 if (made is ast.Constant and value.value is not None) or made is ast.Dict else 0  # type: ignore[attr-defined]
        if type(target) is ast.Subscript:
            key = target.slice
            if type(key) is not ast.Constant or type(key.value) is not str:
                return 0
            return (
                120
                if key.value.lower() in CHECKPOINT_KEYS or "environ" in render(target.value, self.aliases, 60)
                else 0
            )
        if made is ast.Constant:
            if type(value.value) is str and len(value.value) > 150 and _is_prompt(target):  # type: ignore[attr-defined]
                return MAX_PROMPT
            return 160 if value.value is not None or self.scopes[scope].kind != "function" else 0  # type: ignore[attr-defined]
        if made is ast.Subscript:
            key = value.slice  # type: ignore[attr-defined]
            return (
                60
                if type(key) is ast.Constant and type(key.value) is str and key.value in CHECKPOINT_KEYS
                else 0
            )
        if made is ast.JoinedStr:
            return MAX_PROMPT if _is_prompt(target) else 0
        if made is ast.Dict:
            return 800 if any(type(key) is ast.Constant for key in value.keys) else 0  # type: ignore[attr-defined]
        if made in (ast.List, ast.Tuple, ast.Set):
            small = self.scopes[scope].kind != "function"
            return 300 if small and all(type(e) is ast.Constant for e in value.elts[:8]) else 0  # type: ignore[attr-defined]
        if type(target) is ast.Name and (
            made in (ast.UnaryOp, ast.BinOp) or "seed" in target.id.lower() or target.id == "rng"
        ):
            return 120 if self.scopes[scope].kind != "function" or "seed" in target.id.lower() else 0
        return 100 if made in (ast.Set, ast.SetComp, ast.IfExp) and self.scopes[scope].kind != "class" else 0

    # Calls ---------------------------------------------------------------------------------------------------

    def call(self, node: ast.Call, env: _Env, within: Context) -> None:
        func, aliases = node.func, self.aliases
        if type(func) is ast.Attribute and type(func.value) is ast.Name:
            holder = func.value.id
            name = f"{aliases.get(holder, holder)}.{func.attr}"
        else:
            name = dotted(func, aliases)
        last = ""
        if name:
            last, edge, keep, reads, held = called_name(name)
            if edge:
                env.refs.add(name)
            wanted = keep is Keep.ALWAYS or (
                (keep is not Keep.BY_KEYWORD or node.keywords) and _wanted(keep, node, env.loops)
            )
            if wanted and len(self.calls) < MAX_RECORDS:
                self.calls.append(self.record(node, name, env, within))
            if reads:
                self.reads(node, name)
            if held:
                self.attributes.update(held)
        if not name or name[0] == "?":
            self.stack.append((func, env, _OTHER))
        if node.keywords or node.args:
            self.arguments(node, last, env, within)

    def arguments(self, node: ast.Call, last: str, env: _Env, within: Context) -> None:
        """Takes up the arguments of a call whose name ends in `last`."""
        aliases, refs = self.aliases, env.refs
        for word in reversed(node.keywords):
            value = word.value
            kind = type(value)
            if kind is ast.Name:
                full = aliases.get(value.id)  # type: ignore[attr-defined]
                if full is None:
                    refs.add(value.id)  # type: ignore[attr-defined]
                else:
                    _refer(refs, full)
            elif kind is ast.Constant:
                if type(value.value) is str:  # type: ignore[attr-defined]
                    self.string(value, env.scope, ("kwarg", (last, word.arg)))  # type: ignore[arg-type]
            elif kind is ast.Attribute and type(value.value) is ast.Name:  # type: ignore[attr-defined]
                self.of_name(value, value.value, env, True)  # type: ignore[arg-type,attr-defined]
            else:
                self.stack.append((value, env, ("kwarg", (last, word.arg))))
        wrapped = last in _WRAPPERS and (
            within is _TEST or (within[0] == "arg" and within[1][0] in _ORDER_BLIND)
        )
        index = len(node.args)
        for value in reversed(node.args):
            index -= 1
            kind = type(value)
            if kind is ast.Name:
                full = aliases.get(value.id)  # type: ignore[attr-defined]
                if full is None:
                    refs.add(value.id)  # type: ignore[attr-defined]
                else:
                    _refer(refs, full)
            elif kind is ast.Constant:
                if type(value.value) is str:  # type: ignore[attr-defined]
                    self.string(value, env.scope, ("arg", (last, index)))  # type: ignore[arg-type]
            elif kind is ast.Attribute and type(value.value) is ast.Name:  # type: ignore[attr-defined]
                self.of_name(value, value.value, env, not wrapped or within[0] in _HANDED_ON)  # type: ignore[arg-type,attr-defined]
            else:
                self.stack.append((value, env, within if wrapped else ("arg", (last, index))))

    def record(self, node: ast.Call, name: str, env: _Env, within: Context) -> Call:
        aliases = self.aliases
        words: dict[str, str] = {}
        for word in node.keywords[:60]:
            limit = 300 if type(word.value) is ast.Dict else 600 if word.arg == "choices" else 120
            if word.arg in _PROMPT_WORDS and type(word.value) in (ast.Constant, ast.JoinedStr):
                limit = MAX_PROMPT
            words[word.arg or "**"] = render(word.value, aliases, limit)
        args = tuple(render(arg, aliases, 400 if type(arg) is ast.Dict else 120) for arg in node.args[:8])
        return Call(
            name,
            node.lineno,
            env.scope,
            args,
            words,
            env.loops,
            self.within(within),
            self.conditions(env.test),
        )

    def within(self, context: Context) -> str:
        kind, payload = context
        if kind == "assign":
            return f"assign:{render(payload, self.aliases, 80)}"
        if kind == "arg":
            return f"arg:{payload[0]}"
        if kind == "kwarg":
            return f"kwarg:{payload[1] or '**'}"
        return kind

    def conditions(self, test: Condition | None) -> str:
        parts: list[str] = []
        while test is not None and len(parts) < 4:
            parts.append(("not " if test.negated else "") + render(test.node, self.aliases, 80))
            test = test.outer
        return " and ".join(reversed(parts))

    def reads(self, node: ast.Call, name: str) -> None:
        """`getattr(args, "seed")`, `cfg.get("seed")`."""
        position = 1 if name == "getattr" else 0
        if len(node.args) > position:
            key = node.args[position]
            if type(key) is ast.Constant and type(key.value) is str and len(key.value) < 60:
                self.attributes.add(key.value)

    # Names and strings -----------------------------------------------------------------------------------------

    def attribute(self, node: ast.Attribute, env: _Env, within: Context) -> None:
        value = node.value
        if type(value) is ast.Name:
            self.of_name(node, value, env, within[0] in _HANDED_ON)
            return
        if type(value) is ast.Attribute:
            if value.attr in CONFIG_RECEIVERS:
                self.attributes.add(node.attr)
            inner = value.value
            if type(inner) is ast.Name:
                if inner.id in CONFIG_RECEIVERS:
                    self.attributes.add(node.attr)
                if inner.id in self.aliases:
                    _refer(env.refs, dotted(node, self.aliases))
        self.stack.append((value, env, _ATTR))

    def of_name(self, node: ast.Attribute, holder: ast.Name, env: _Env, handed_on: bool) -> None:
        """`holder.attr`; `handed_on`: its value goes somewhere from where it may be called."""
        if holder.id in CONFIG_RECEIVERS:
            self.attributes.add(node.attr)
            return
        full = self.aliases.get(holder.id)
        if full is not None:
            _refer(env.refs, f"{full}.{node.attr}")
        elif handed_on:
            _refer(env.refs, f"{holder.id}.{node.attr}")

    def subscript(self, node: ast.Subscript, env: _Env, within: Context) -> None:
        key = node.slice
        if type(key) is ast.Constant:
            if type(key.value) is str and len(key.value) < 60:
                holder = node.value
                name = (
                    holder.id
                    if type(holder) is ast.Name
                    else holder.attr
                    if type(holder) is ast.Attribute
                    else ""
                )
                if name in CONFIG_RECEIVERS or (type(holder) is ast.Subscript):
                    self.attributes.add(key.value)
        else:
            self.inside(key, env)
        self.inside(node.value, env, _ATTR)

    def name(self, node: ast.Name, env: _Env, within: Context) -> None:
        full = self.aliases.get(node.id)
        if full is None:
            env.refs.add(node.id)
        else:
            _refer(env.refs, full)

    def constant(self, node: ast.Constant, env: _Env, within: Context) -> None:
        if type(node.value) is str:
            self.string(node, env.scope, within)

    def string(self, node: ast.Constant, scope: int, within: Context) -> None:
        value: str = node.value  # type: ignore[assignment]
        kind = identity_kind(value)
        if kind and len(self.texts) < MAX_RECORDS:
            self.texts.append(Text(kind, value, node.lineno, scope, self.role(within)))

    def role(self, context: Context) -> str:
        kind, payload = context
        if kind in ("arg", "kwarg"):
            return f"{kind}:{payload[0]}:{payload[1]}"
        if kind == "assign":
            return f"assign:{render(payload, self.aliases, 80)}"
        if kind == "item":
            return f"item:{payload if isinstance(payload, str) else self.role(payload)}"
        return kind if kind in ("key", "compare", "return") else "other"

    # Containers --------------------------------------------------------------------------------------------------

    def sequence(self, node: ast.List, env: _Env, within: Context) -> None:
        inner: Context = within if within[0] == "item" else ("item", within)
        for value in reversed(node.elts):
            self.stack.append((value, env, inner))

    def dict_(self, node: ast.Dict, env: _Env, within: Context) -> None:
        for key, value in zip(reversed(node.keys), reversed(node.values), strict=True):
            inner: Context = within if within[0] == "item" else ("item", within)
            if type(key) is ast.Constant and type(key.value) is str:
                inner = ("item", f"'{key.value[:60]}'")
            self.stack.append((value, env, inner))
            if key is not None:
                self.stack.append((key, env, ("key", None)))

    def conditional(self, node: ast.IfExp, env: _Env, within: Context) -> None:
        scope, loops, test, refs = env
        self.stack.append((node.orelse, _Env(scope, loops, Condition(test, node.test, True), refs), within))
        self.stack.append((node.body, _Env(scope, loops, Condition(test, node.test, False), refs), within))
        self.stack.append((node.test, env, _TEST))

    def boolean(self, node: ast.BoolOp, env: _Env, within: Context) -> None:
        for value in reversed(node.values):
            self.inside(value, env, within)

    def compare(self, node: ast.Compare, env: _Env, within: Context) -> None:
        for value in (node.left, *node.comparators):
            self.inside(value, env, _COMPARE)

    def return_(self, node: ast.Return, env: _Env, within: Context) -> None:
        self.inside(node.value, env, _RETURN)


_HANDED_ON = ("arg", "kwarg", "decorator", "assign", "item", "return")
# Values of which an assignment to a plain name says nothing by itself; a call leaves its own record.
_SILENT = frozenset({ast.Call, ast.Name, ast.Attribute, ast.Compare, ast.BoolOp, ast.ListComp})
_OWN = frozenset({"self", "cls", "super()", "?"})


_PROMPT = re.compile(r"(?i)prompt|template|instruction|system_message|few_?shot")


# Keywords of calls that hand a model what it is told.
_PROMPT_WORDS = frozenset(
    {
        "prompt", "system", "system_prompt", "user_prompt", "system_message", "system_instruction", "instructions",
        "instruction", "template", "prompt_template", "judge_prompt", "grader_template", "rubric", "chat_template",
    }
)  # fmt: skip


def _is_prompt(target: ast.expr) -> bool:
    """Whether a variable is named as one that holds what a model is told."""
    return type(target) is ast.Name and _PROMPT.search(target.id) is not None


def _says_nothing(target: ast.expr) -> bool:
    """Whether an assignment of a silent value to `target` can be passed over: to a variable or to the object's own attribute, none named as a seed."""
    if type(target) is ast.Name:
        return "seed" not in target.id.lower() and target.id != "rng"
    if type(target) is ast.Attribute:
        holder = target.value
        return type(holder) is ast.Name and holder.id == "self" and "seed" not in target.attr.lower()
    return False


def _wanted(keep: Keep, node: ast.Call, loops: int) -> bool:
    """Whether a call is kept that its name alone does not decide about."""
    if keep is Keep.IN_LOOPS:
        return loops > 0
    if keep is Keep.VARIABLE_NAME:
        return len(node.args) > 1 and ast.Constant not in (type(node.args[0]), type(node.args[1]))
    if keep is Keep.WITH_ARGUMENTS and (node.args or node.keywords):
        return True
    for word in node.keywords:  # noqa: SIM110 - a generator would cost more than all of this
        if word.arg in KEYWORDS:
            return True
    return False


def _refer(refs: set[str], name: str) -> None:
    """Notes an edge of the call graph, unless it leads out of any repository."""
    root, dot, rest = name.partition(".")
    if dot and (
        root in EXTERNAL or (rest.rpartition(".")[2] in PLAIN_METHODS and root not in ("self", "cls"))
    ):
        return
    refs.add(name)


def _leading(refs: set[str], defined: set[str], roots: set[str], stars: bool) -> tuple[str, ...]:
    kept: set[str] = set()
    for ref in refs:
        root, dot, rest = ref.partition(".")
        if not dot:
            if root in defined or (stars and root not in _BUILTINS):
                kept.add(ref)
        elif root in roots or root in defined or stars:
            kept.add(ref)
        else:
            kept.add("?." + rest.rpartition(".")[2])
    return tuple(sorted(kept))


_BUILTINS = frozenset(dir(builtins))


def push_body(
    stack: list[tuple[ast.AST, _Env, Context]], body: Sequence[ast.stmt], env: _Env, within: Context = _OTHER
) -> None:
    """Pushes statements so that they are popped in source order: imports bind before their uses are met."""
    if body:
        stack += [(node, env, within) for node in reversed(body)]


def _line(record: Call | Assign | Text) -> int:
    return record.line


def _field_default(call: ast.Call) -> ast.expr | None:
    """The default of `dataclasses.field(default=…)` or a factory's body."""
    for word in call.keywords:
        if word.arg == "default":
            return word.value
        if word.arg == "default_factory":
            return word.value.body if type(word.value) is ast.Lambda else word.value
    return call.args[0] if call.args else None


_DISPATCH: dict[type, Any] = {
    ast.Import: Walk.import_,
    ast.ImportFrom: Walk.import_from,
    ast.FunctionDef: Walk.function,
    ast.AsyncFunctionDef: Walk.function,
    ast.ClassDef: Walk.class_,
    ast.If: Walk.if_,
    ast.For: Walk.for_,
    ast.AsyncFor: Walk.for_,
    ast.While: Walk.while_,
    ast.Try: Walk.try_,
    ast.With: Walk.with_,
    ast.AsyncWith: Walk.with_,
    ast.comprehension: Walk.comprehension,
    ast.Assign: Walk.assign,
    ast.AnnAssign: Walk.ann_assign,
    ast.Call: Walk.call,
    ast.Attribute: Walk.attribute,
    ast.Subscript: Walk.subscript,
    ast.Name: Walk.name,
    ast.Constant: Walk.constant,
    ast.Expr: Walk.expression,
    ast.List: Walk.sequence,
    ast.Tuple: Walk.sequence,
    ast.Set: Walk.sequence,
    ast.Dict: Walk.dict_,
    ast.IfExp: Walk.conditional,
    ast.BoolOp: Walk.boolean,
    ast.BinOp: Walk.binary,
    ast.UnaryOp: Walk.unary,
    ast.JoinedStr: Walk.formatted,
    ast.FormattedValue: Walk.starred,
    ast.Starred: Walk.starred,
    ast.Compare: Walk.compare,
    ast.Return: Walk.return_,
    ast.Pass: Walk.skip,
    ast.Break: Walk.skip,
    ast.Continue: Walk.skip,
    ast.Global: Walk.skip,
    ast.Nonlocal: Walk.skip,
    ast.alias: Walk.skip,
}
if hasattr(ast, "TryStar"):
    _DISPATCH[ast.TryStar] = Walk.try_
