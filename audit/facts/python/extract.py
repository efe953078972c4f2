"""Python source to facts, in one iterative walk over the syntax tree.

The walk is a loop over an explicit stack with a dispatch on the node's type: no recursion (deep nesting is the attacker's), and
cheaper than the parse itself. Source that today's Python refuses goes to the tolerant reader.
"""

import ast
import builtins
import itertools
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from audit.facts.extracted import Extracted
from audit.facts.python.identities import identity_kind
from audit.facts.python.model import Assign, Call, Ignore, Import, Param, PythonFacts, Scope, Text
from audit.facts.python.render import dotted, render
from audit.facts.python.vocabulary import (
    CALLS,
    CHECKPOINT_KEYS,
    CONFIG_RECEIVERS,
    ENDINGS,
    EXTERNAL,
    KEYWORDS,
    PLAIN_METHODS,
    PREFIXES,
    ROOTS,
    TORCH_DRAWS,
)

_IGNORE = re.compile(r"#\s*ml-audit:\s*ignore\[([^\]\n]{1,200})\][ \t]*([^\n]{0,300})")
_LOADS = frozenset("get getattr".split())
_MAX_RECORDS = 20_000
_MAX_IGNORES = 1_000
_MAX_TOKENS = 250_000
"""Most tokens that are parsed; the largest file of 16,000 in real repositories has 100,000."""
# A word's characters as "a" ("?" stands for those that are not ASCII), blanks as " ", all else, one token each at most, as ".".
_TOKEN_SHAPE = bytes(
    0x61 if chr(byte).isalnum() or chr(byte) in "_?" else 0x20 if chr(byte).isspace() else 0x2E
    for byte in range(256)
)
# `sorted(list(x))` sorts `x`, `len(list(x))` counts it: what stands between says nothing about how `x` is used.
_WRAPPERS = frozenset({"list", "tuple"})
_ORDER_BLIND = frozenset(
    {"sorted", "natsorted", "len", "set", "frozenset", "min", "max", "sum", "any", "all"}
)


def extract(source: str) -> Extracted:
    """Facts of one Python source. Never raises: what `ast` refuses is read tolerantly and marked partial."""
    if too_much(source):
        return Extracted(None, f"more than {_MAX_TOKENS:,} tokens of Python: not parsed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        from audit.facts.python.tolerant import extract_tolerantly

        return extract_tolerantly(source, _why(error))
    walk = _Walk()
    try:
        walk.run(tree)
    except RecursionError:
        from audit.facts.python.tolerant import extract_tolerantly

        return extract_tolerantly(source, "nested too deeply")
    facts = walk.facts(tree, source)
    full = len(walk.calls) >= _MAX_RECORDS or len(walk.texts) >= _MAX_RECORDS
    return Extracted(facts, f"only the first {_MAX_RECORDS} calls and strings were kept" if full else "")


def too_much(source: str) -> bool:
    """Whether a syntax tree of `source` could take more than some 250 MB: its tokens are counted, words in strings and comments too.

    A token costs up to a kilobyte of tree: half a megabyte of `x;` takes half a gigabyte.
    """
    if len(source) <= _MAX_TOKENS:
        return False
    shape = source.encode("ascii", "replace").translate(_TOKEN_SHAPE)
    return shape.count(b".") + shape.count(b" a") + shape.count(b".a") > _MAX_TOKENS


def ignores(source: str) -> tuple[Ignore, ...]:
    """Inline suppressions: `# ml-audit: ignore[rule, rule] reason`; the first thousand of a file."""
    if "ml-audit:" not in source:
        return ()
    found = []
    line, position = 1, 0
    for match in itertools.islice(_IGNORE.finditer(source), _MAX_IGNORES):
        rules = tuple(sorted(rule.strip() for rule in match[1].split(",") if rule.strip()))
        line += source.count("\n", position, match.start())
        position = match.start()
        found.append(Ignore(rules, match[2].strip(), line))
    return tuple(found)


def _why(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    return "nested too deeply" if isinstance(error, (RecursionError, MemoryError)) else str(error)


class _Test(NamedTuple):
    """The `if` around a statement, kept unrendered until a record needs its text."""

    outer: "_Test | None"
    node: ast.expr
    negated: bool


class _Scope:
    __slots__ = ("bases", "decorators", "end_line", "kind", "line", "name", "params", "parent", "refs")

    def __init__(self, name: str, kind: str, parent: int, line: int, end_line: int) -> None:
        self.name, self.kind, self.parent, self.line, self.end_line = name, kind, parent, line, end_line
        self.params: tuple[Param, ...] = ()
        self.bases: tuple[str, ...] = ()
        self.decorators: tuple[str, ...] = ()
        self.refs: set[str] = set()

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
        )


class _Env(NamedTuple):
    """Where a statement stands: the index of its scope, how many loops of that scope are around it, and the nearest `if`."""

    scope: int
    loops: int
    test: _Test | None


# What a node is within: (kind, payload); the payload is only rendered when a record is made of the node.
Context = tuple[str, Any]
_OTHER: Context = ("other", None)
_EXPR: Context = ("expr", None)
_ITER: Context = ("iter", None)
_TEST: Context = ("test", None)  # a condition: only whether there is anything counts
_GUARDED: Context = ("guarded", None)  # a statement that an `except ImportError` makes optional


class _Walk:
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
        self.scopes.append(_Scope("", "module", -1, 1, 0))
        push_body(self.stack, tree.body, _Env(0, 0, None))
        stack, dispatch, generic = self.stack, _DISPATCH, _Walk.children
        while stack:
            node, env, within = stack.pop()
            dispatch.get(type(node), generic)(self, node, env, within)

    def facts(self, tree: ast.Module, source: str) -> PythonFacts:
        return PythonFacts(
            lines=source.count("\n") + 1,
            statements=sum(1 for node in tree.body if _runs(node)),
            docstring=(ast.get_docstring(tree, clean=False) or "")[:200],
            imports=tuple(self.imports),
            scopes=self.frozen_scopes(),
            calls=tuple(sorted(self.calls, key=_line)),
            assigns=tuple(sorted(self.assigns, key=_line)),
            texts=tuple(sorted(self.texts, key=_line)),
            attributes=tuple(sorted(self.attributes)),
            ignores=ignores(source),
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

    def inside(self, node: object, env: _Env) -> None:
        """Deals with names and constants at once, which are most of what there is, and leaves the rest for later."""
        kind = type(node)
        if kind is ast.Name:
            self.name(node, env, _OTHER)  # type: ignore[arg-type]
        elif kind is ast.Constant:
            if type(node.value) is str:  # type: ignore[attr-defined]
                self.string(node, env.scope, _OTHER)  # type: ignore[arg-type]
        elif isinstance(node, ast.AST) and node._fields:
            self.stack.append((node, env, _OTHER))

    def skip(self, *_: Any) -> None:
        """Nodes that carry nothing."""

    def expression(self, node: ast.Expr, env: _Env, within: Context) -> None:
        if type(node.value) is not ast.Constant:
            self.stack.append((node.value, env, _EXPR))

    # Imports -------------------------------------------------------------------------------------------------

    def import_(self, node: ast.Import, env: _Env, within: Context) -> None:
        guarded = within is _GUARDED or _type_checking(env.test) or _asked_for(env.test)
        for name in node.names:
            alias = name.asname or name.name.split(".")[0]
            self.aliases[alias] = name.name if name.asname else alias
            self.imports.append(
                Import(name.name, "", name.asname or name.name, node.lineno, env.scope, guarded)
            )

    def import_from(self, node: ast.ImportFrom, env: _Env, within: Context) -> None:
        module = "." * node.level + (node.module or "")
        guarded = within is _GUARDED or _type_checking(env.test) or _asked_for(env.test)
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
        index = self.open(mine, node, env)
        push_body(self.stack, node.body, _Env(index, 0, None))

    def class_(self, node: ast.ClassDef, env: _Env, within: Context) -> None:
        scope = env.scope
        mine = _Scope(node.name, "class", scope, node.lineno, node.end_lineno or node.lineno)
        mine.bases = tuple(render(base, self.aliases, 120) for base in node.bases)
        index = self.open(mine, node, env)
        push_body(self.stack, node.body, _Env(index, 0, None))

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
        pairs = [(arg, None) for arg in named[:bare] if every or "seed" in arg.arg]
        return tuple(
            param
            for arg, default in (
                *pairs,
                *zip(named[bare:], arguments.defaults, strict=True),
                *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
            )
            if (param := self.param(arg, default, every)) is not None
        )

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
        scope, loops, test = env
        condition = node.test
        if _main_guard(condition) and self.scopes[scope].kind == "module":
            self.scopes.append(_Scope("__main__", "main", scope, node.lineno, node.end_lineno or node.lineno))
            push_body(self.stack, node.orelse, env, within)
            push_body(self.stack, node.body, _Env(len(self.scopes) - 1, 0, None))
            return
        dead = type(condition) is ast.Constant and not condition.value
        otherwise = env if dead else _Env(scope, loops, _Test(test, condition, True))
        push_body(self.stack, node.orelse, otherwise, within)
        if not dead:
            push_body(self.stack, node.body, _Env(scope, loops, _Test(test, condition, False)), within)
        self.stack.append((condition, env, _TEST))

    def for_(self, node: ast.For, env: _Env, within: Context) -> None:
        scope, loops, test = env
        push_body(self.stack, node.orelse, env)
        push_body(self.stack, node.body, _Env(scope, loops + 1, test))
        self.stack.append((node.iter, env, _ITER))

    def while_(self, node: ast.While, env: _Env, within: Context) -> None:
        scope, loops, test = env
        push_body(self.stack, node.orelse, env)
        push_body(self.stack, node.body, _Env(scope, loops + 1, test))
        self.stack.append((node.test, env, _TEST))

    def try_(self, node: ast.Try, env: _Env, within: Context) -> None:
        optional = _GUARDED if any(map(_catches_import_error, node.handlers)) else _OTHER
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
        scope, _, test = env
        target = node.targets[0]
        for each in node.targets:
            self.keep_assign(each, node.value, "", node.lineno, scope, test)
        self.targets(node.targets, env)
        self.stack.append((node.value, env, ("assign", target)))

    def targets(self, nodes: list[ast.expr], env: _Env) -> None:
        for node in nodes:
            if type(node) is ast.Subscript:
                self.stack.append((node.value, env, _OTHER))

    def ann_assign(self, node: ast.AnnAssign, env: _Env, within: Context) -> None:
        scope, _, test = env
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
        self, target: ast.expr, value: ast.expr, annotation: str, line: int, scope: int, test: _Test | None
    ) -> None:
        kind = type(target)
        if kind is ast.Tuple or kind is ast.List:
            if type(value) is type(target) and len(value.elts) == len(target.elts):  # type: ignore[attr-defined]
                for one, other in zip(target.elts, value.elts, strict=True):  # type: ignore[attr-defined]
                    self.keep_assign(one, other, annotation, line, scope, test)
            return
        limit = self.worth(target, value, scope)
        if not limit or len(self.assigns) >= _MAX_RECORDS:
            return
        name = render(target, self.aliases, 100)
        self.assigns.append(
            Assign(name, render(value, self.aliases, limit), line, scope, annotation, self.conditions(test))
        )

    def worth(self, target: ast.expr, value: ast.expr, scope: int) -> int:
        """How many characters of the value to keep; 0 for an assignment that says nothing."""
        made = type(value)
        if type(target) is ast.Attribute:
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
            return 160 if value.value is not None or self.scopes[scope].kind != "function" else 0  # type: ignore[attr-defined]
        if made is ast.Subscript:
            key = value.slice  # type: ignore[attr-defined]
            return (
                60
                if type(key) is ast.Constant and type(key.value) is str and key.value in CHECKPOINT_KEYS
                else 0
            )
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
        func = node.func
        name = dotted(func, self.aliases)
        if name:
            root, dot, rest = name.partition(".")
            last = rest.rpartition(".")[2] if dot else name
            if not dot or not (root in EXTERNAL or (last in PLAIN_METHODS and root not in ("self", "cls"))):
                self.scopes[env.scope].refs.add(name)
            if self.wanted(name, root, last, node, env.loops) and len(self.calls) < _MAX_RECORDS:
                self.calls.append(self.record(node, name, env, within))
            if last in _LOADS:
                self.reads(node, name)
            if "." in rest:
                self.held(name)
            if name[0] == "?":
                self.stack.append((func, env, _OTHER))
        else:
            last = ""
            self.stack.append((func, env, _OTHER))
        self.arguments(node, last, env, within)

    def arguments(self, node: ast.Call, last: str, env: _Env, within: Context) -> None:
        """Takes up the arguments of a call whose name ends in `last`."""
        stack, scope = self.stack, env.scope
        for word in reversed(node.keywords):
            value = word.value
            if type(value) is ast.Name:
                self.name(value, env, _OTHER)
            elif type(value) is not ast.Constant:
                stack.append((value, env, ("kwarg", (last, word.arg))))
            elif type(value.value) is str:
                self.string(value, scope, ("kwarg", (last, word.arg)))
        blind = within is _TEST or (within[0] == "arg" and within[1][0] in _ORDER_BLIND)
        wrapped = blind and last in _WRAPPERS
        for index in range(len(node.args) - 1, -1, -1):
            value = node.args[index]
            if type(value) is ast.Name:
                self.name(value, env, _OTHER)
            elif type(value) is not ast.Constant:
                stack.append((value, env, within if wrapped else ("arg", (last, index))))
            elif type(value.value) is str:
                self.string(value, scope, ("arg", (last, index)))

    def wanted(self, name: str, root: str, last: str, node: ast.Call, loops: int) -> bool:
        if last in CALLS:
            return last not in _IN_LOOPS or loops > 0
        if root in ROOTS or (root in _PREFIX_ROOTS and name.startswith(PREFIXES)):
            return True
        first = last[:1]
        if (first.isupper() or "_" in last) and (last.endswith(ENDINGS) or last.startswith("DEFINE_")):
            return True
        if first in "s_" and last.startswith(("save", "_save")) and (node.args or node.keywords):
            return True
        if last == "getattr":
            return len(node.args) > 1 and ast.Constant not in (type(node.args[0]), type(node.args[1]))
        if last in TORCH_DRAWS and root == "torch":
            return True
        return any(word.arg in KEYWORDS for word in node.keywords)

    def record(self, node: ast.Call, name: str, env: _Env, within: Context) -> Call:
        aliases = self.aliases
        words: dict[str, str] = {}
        for word in node.keywords[:60]:
            words[word.arg or "**"] = render(
                word.value, aliases, 300 if type(word.value) is ast.Dict else 120
            )
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

    def conditions(self, test: _Test | None) -> str:
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

    def held(self, name: str) -> None:
        """`args.root.glob(...)` reads `root`."""
        parts = name.split(".")
        for holder, read in itertools.pairwise(parts[:-1]):
            if holder in CONFIG_RECEIVERS:
                self.attributes.add(read)

    # Names and strings -----------------------------------------------------------------------------------------

    def refer(self, scope: int, name: str) -> None:
        """An edge of the call graph, unless it leads out of any repository."""
        root, _, rest = name.partition(".")
        if root in EXTERNAL and rest:
            return
        if rest:
            last = rest.rpartition(".")[2]
            if last in PLAIN_METHODS and root not in ("self", "cls"):
                return
        self.scopes[scope].refs.add(name)

    def attribute(self, node: ast.Attribute, env: _Env, within: Context) -> None:
        scope = env.scope
        value = node.value
        if type(value) is ast.Name:
            if value.id in CONFIG_RECEIVERS:
                self.attributes.add(node.attr)
            elif value.id in self.aliases or within[0] in _HANDED_ON:
                self.refer(scope, dotted(node, self.aliases))
            return
        if type(value) is ast.Attribute:
            if value.attr in CONFIG_RECEIVERS:
                self.attributes.add(node.attr)
            inner = value.value
            if type(inner) is ast.Name:
                if inner.id in CONFIG_RECEIVERS:
                    self.attributes.add(node.attr)
                if inner.id in self.aliases:
                    self.refer(scope, dotted(node, self.aliases))
        self.stack.append((value, env, ("attr", None)))

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
            self.stack.append((key, env, _OTHER))
        self.stack.append((node.value, env, ("attr", None)))

    def name(self, node: ast.Name, env: _Env, within: Context) -> None:
        full = self.aliases.get(node.id)
        if full is None:
            self.scopes[env.scope].refs.add(node.id)
        else:
            self.refer(env.scope, full)

    def constant(self, node: ast.Constant, env: _Env, within: Context) -> None:
        if type(node.value) is str:
            self.string(node, env.scope, within)

    def string(self, node: ast.Constant, scope: int, within: Context) -> None:
        value: str = node.value  # type: ignore[assignment]
        kind = identity_kind(value)
        if kind and len(self.texts) < _MAX_RECORDS:
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
        scope, loops, test = env
        self.stack.append((node.orelse, _Env(scope, loops, _Test(test, node.test, True)), within))
        self.stack.append((node.body, _Env(scope, loops, _Test(test, node.test, False)), within))
        self.stack.append((node.test, env, _TEST))

    def boolean(self, node: ast.BoolOp, env: _Env, within: Context) -> None:
        for value in reversed(node.values):
            self.stack.append((value, env, within))

    def compare(self, node: ast.Compare, env: _Env, within: Context) -> None:
        for value in (node.left, *node.comparators):
            self.stack.append((value, env, ("compare", None)))

    def return_(self, node: ast.Return, env: _Env, within: Context) -> None:
        if node.value is not None:
            self.stack.append((node.value, env, ("return", None)))


_HANDED_ON = ("arg", "kwarg", "decorator", "assign", "item", "return")
_IN_LOOPS = frozenset({"item", "cpu", "numpy", "tolist", "print"})
_PREFIX_ROOTS = frozenset(prefix.partition(".")[0] for prefix in PREFIXES)
_OWN = frozenset({"self", "cls", "super()", "?"})


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
    for node in reversed(body):
        stack.append((node, env, within))


def _line(record: Call | Assign | Text) -> int:
    return record.line


def _runs(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return not (_main_guard(node.test) or _mentions_type_checking(node.test))
    return isinstance(node, (ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith))


def _main_guard(test: ast.expr) -> bool:
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


def _type_checking(test: _Test | None) -> bool:
    while test is not None:
        if not test.negated and _mentions_type_checking(test.node):
            return True
        test = test.outer
    return False


_ASKS = re.compile(
    r"_?(?:is|has|have|can)_\w+_(?:available|installed|importable)|_?[A-Z0-9_]+_(?:AVAILABLE|INSTALLED)|_?(?:HAS|HAVE)_[A-Z0-9_]+"
)
"""Names by which code asks whether a package is installed: `is_te_available()`, `_JSONNET_AVAILABLE`, `HAS_TRITON`."""


def _asked_for(test: _Test | None) -> bool:
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


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    kind = handler.type
    if kind is None:
        return True
    names = kind.elts if type(kind) is ast.Tuple else [kind]
    return any(
        type(n) is ast.Name and n.id in ("ImportError", "ModuleNotFoundError", "Exception") for n in names
    )


def _field_default(call: ast.Call) -> ast.expr | None:
    """The default of `dataclasses.field(default=…)` or a factory's body."""
    for word in call.keywords:
        if word.arg == "default":
            return word.value
        if word.arg == "default_factory":
            return word.value.body if type(word.value) is ast.Lambda else word.value
    return call.args[0] if call.args else None


_DISPATCH: dict[type, Any] = {
    ast.Import: _Walk.import_,
    ast.ImportFrom: _Walk.import_from,
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.ClassDef: _Walk.class_,
    ast.If: _Walk.if_,
    ast.For: _Walk.for_,
    ast.AsyncFor: _Walk.for_,
    ast.While: _Walk.while_,
    ast.Try: _Walk.try_,
    ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_,
    ast.comprehension: _Walk.comprehension,
    ast.Assign: _Walk.assign,
    ast.AnnAssign: _Walk.ann_assign,
    ast.Call: _Walk.call,
    ast.Attribute: _Walk.attribute,
    ast.Subscript: _Walk.subscript,
    ast.Name: _Walk.name,
    ast.Constant: _Walk.constant,
    ast.Expr: _Walk.expression,
    ast.List: _Walk.sequence,
    ast.Tuple: _Walk.sequence,
    ast.Set: _Walk.sequence,
    ast.Dict: _Walk.dict_,
    ast.IfExp: _Walk.conditional,
    ast.BoolOp: _Walk.boolean,
    ast.Compare: _Walk.compare,
    ast.Return: _Walk.return_,
    ast.Pass: _Walk.skip,
    ast.Break: _Walk.skip,
    ast.Continue: _Walk.skip,
    ast.Global: _Walk.skip,
    ast.Nonlocal: _Walk.skip,
    ast.alias: _Walk.skip,
}
if hasattr(ast, "TryStar"):
    _DISPATCH[ast.TryStar] = _Walk.try_
