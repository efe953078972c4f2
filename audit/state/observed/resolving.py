"""What an expression of the code comes to in one run, as far as that can be told without running it."""

import ast
import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.documents.state import Value
from audit.facts.python.model import Assign
from audit.facts.python.vocabulary import CONFIG_RECEIVERS
from audit.signals.graph import CallGraph
from audit.state.observed.model import Rank
from audit.state.observed.options import Said, plain
from audit.state.observed.settings import Settings
from audit.state.observed.texts import NoLiteral, literal

_NAME = re.compile(r"[A-Za-z_.][\w.]{0,200}")
_KEY = re.compile(r"([A-Za-z_][\w.]{0,100})\[['\"]([\w\-. ]{1,80})['\"]\]")
_GET = re.compile(r"([A-Za-z_][\w.]{0,100})\.get\(['\"]([\w\-. ]{1,80})['\"](?:, (.{1,80}))?\)")
_CAST = re.compile(r"(?:float|int|str|bool|Path|pathlib\.Path|os\.path\.expanduser)\((.{1,200})\)")
_DTYPE = re.compile(
    r"(?:torch|jnp|jax\.numpy|tensorflow|numpy)\.(float16|bfloat16|float32|float64|half|int8)"
)
_ENVIRON = re.compile(r"os\.(?:environ\.get|getenv)\(['\"](\w+)['\"], (.{1,120})\)")
_CONDITION = re.compile(r" (?:if|or|==|!=|is|in|>|<|>=|<=) |^not ")
_DEPTH = 4


class Resolver:
    """Names of one repository, and the settings of one run."""

    def __init__(self, graph: CallGraph, settings: Settings) -> None:
        self.graph = graph
        self.settings = settings

    def values(self, text: str, file: str, scope: int, line: int, depth: int = 0) -> tuple[Said, ...]:
        """What the expression can be, the last word first; nothing where that is not known."""
        if depth > _DEPTH or not text:
            return ()
        here = Place(file, line or None)
        try:
            return (Said(literal(text), here, "", Rank.CODE),)
        except NoLiteral:
            pass
        if match := _DTYPE.fullmatch(text):
            return (Said(match[1], here, "", Rank.CODE),)
        if match := _CAST.fullmatch(text):
            return self.values(match[1], file, scope, line, depth + 1)
        if match := _ENVIRON.fullmatch(text):
            return self.values(match[2], file, scope, line, depth + 1)
        if match := _GET.fullmatch(text):
            said = self._option(f"{match[1]}.{match[2]}")
            return said or (self.values(match[3], file, scope, line, depth + 1) if match[3] else ())
        if match := _KEY.fullmatch(text):
            return self._option(f"{match[1]}.{match[2]}") or self._of_dictionary(
                match[1], match[2], file, scope
            )
        if _NAME.fullmatch(text):
            return self._named(text, file, scope, depth)
        return self._composed(text, file, scope, line, depth)

    def _composed(self, text: str, file: str, scope: int, line: int, depth: int) -> tuple[Said, ...]:
        """`a if test else b`, `a or b`, `args.bits == 4`, as far as the settings decide them."""
        if len(text) > 400 or "…" in text or not _CONDITION.search(text):
            return ()
        try:
            node = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
        if isinstance(node, ast.IfExp):
            holds = self._holds(node.test, file, scope)
            chosen = [node.body, node.orelse] if holds is None else [node.body if holds else node.orelse]
            found = [self.values(ast.unparse(each), file, scope, line, depth + 1) for each in chosen]
            if len(found) == 1:
                return found[0]
            both = [msgspec.structs.replace(said, known=False) for rows in found for said in rows[:1]]
            return tuple(both)
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            for each in node.values:
                said = self.values(ast.unparse(each), file, scope, line, depth + 1)
                if not said or not said[0].known or said[0].value:
                    return said
            return ()
        if isinstance(node, (ast.Compare, ast.UnaryOp)):
            holds = self._holds(node, file, scope)
            return () if holds is None else (Said(holds, Place(file, line or None), text, Rank.CODE),)
        return ()

    def _named(self, text: str, file: str, scope: int, depth: int) -> tuple[Said, ...]:
        if "." in text.lstrip("."):
            return self._option(text) or self._constant(text, file, depth)
        local = self._local(text, file, scope)
        if local is not None:
            found = self.values(local.value, file, local.scope, local.line, depth + 1)
            return found or ()
        return (
            self._option(text, bare=True)
            or self._constant(text, file, depth)
            or self._parameter(text, file, scope)
        )

    def _option(self, chain: str, *, bare: bool = False) -> tuple[Said, ...]:
        """What is said of the option that an attribute (`args.lr`, `cfg.optim.lr`) reads."""
        parts = chain.split(".")
        if not bare:
            if not any(_is_settings(part) for part in parts[:-1]) or ".config." in chain.replace(
                "self.config.", ""
            ):
                return ()
            while len(parts) > 1 and (_is_settings(parts[0]) or parts[0] == "self"):
                parts = parts[1:]
        for start in range(len(parts)):
            name = plain(".".join(parts[start:]))
            if self.settings.has(name):
                return self.settings.about(name)
        return ()

    def _local(self, name: str, file: str, scope: int) -> Assign | None:
        """The only assignment of a literal to a variable that is visible here."""
        scopes = self.graph.python[file].scopes
        at = scope
        while at >= 0:
            found = [a for a in self.graph.python[file].assigns if a.scope == at and a.target == name]
            if found:
                values = {a.value for a in found}
                return found[0] if len(values) == 1 else None
            at = scopes[at].parent
        return None

    def _constant(self, name: str, file: str, depth: int) -> tuple[Said, ...]:
        """A constant of another module of the repository."""
        module, rest = self.graph.modules.resolve(name, file)
        if module is None or not rest or "." in rest or module not in self.graph.python:
            return ()
        found = [a for a in self.graph.python[module].assigns if a.target == rest and a.scope == 0]
        if len({a.value for a in found}) != 1:
            return ()
        return self.values(found[0].value, module, 0, found[0].line, depth + 1)

    def _parameter(self, name: str, file: str, scope: int) -> tuple[Said, ...]:
        """The default of a parameter: callers may give another value, so nobody may rely on it."""
        scopes = self.graph.python[file].scopes
        at = scope
        while at > 0:
            for param in scopes[at].params:
                if param.name == name and param.default:
                    try:
                        value = literal(param.default)
                    except NoLiteral:
                        return ()
                    if value is None:
                        return ()
                    where = Place(file, param.line or None)
                    return (
                        Said(
                            value, where, f"default of {scopes[at].name}({name}=)", Rank.DEFAULT, known=False
                        ),
                    )
            at = scopes[at].parent
        return ()

    def _of_dictionary(self, name: str, key: str, file: str, scope: int) -> tuple[Said, ...]:
        local = self._local(name, file, scope)
        if local is None or local.value[:1] != "{":
            return ()
        try:
            table = ast.literal_eval(local.value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return ()
        value = table.get(key) if isinstance(table, dict) else None
        if not isinstance(value, (str, int, float)):
            return ()
        return (Said(value, Place(file, local.line), f"{name}[{key!r}]", Rank.CODE),)

    # Conditions ---------------------------------------------------------------------------------------------------

    def holds(self, test: str, file: str, scope: int) -> bool | None:
        """Whether the conditions around a call hold in this run; None where that is not known."""
        if not test:
            return True
        if " or " in test or "…" in test:
            return None
        try:
            tree = ast.parse(test, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
        answers = [self._holds(part, file, scope) for part in parts]
        if False in answers:
            return False
        return True if all(answers) else None

    def _holds(self, node: ast.expr, file: str, scope: int) -> bool | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._holds(node.operand, file, scope)
            return None if inner is None else not inner
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = (list(self._values(side, file, scope)) for side in (node.left, node.comparators[0]))
            if len(left) != 1 or len(right) != 1:
                return None
            return _compared(node.ops[0], left[0], right[0])
        values = list(self._values(node, file, scope))
        return bool(values[0]) if len(values) == 1 else None

    def _values(self, node: ast.expr, file: str, scope: int) -> Iterator[Value]:
        """The value of a side of a comparison, nothing where it is not sure."""
        text = ast.unparse(node)
        said = self.values(text, file, scope, 0)
        if not said and isinstance(node, ast.Name):
            said = next((rows for name in _spellings(text) if (rows := self.settings.about(name))), ())
        if said and said[0].known:
            yield said[0].value


def _is_settings(part: str) -> bool:
    return part in CONFIG_RECEIVERS or part.lower().endswith(
        ("args", "config", "cfg", "opt", "opts", "flags", "params", "hparams", "options", "conf")
    )


def _spellings(name: str) -> Iterator[str]:
    """Options that a parameter named like this is usually given from."""
    base = plain(name)
    for end in ("_name_or_path", "_name", "_path", "_id", "_type"):
        if base.endswith(end):
            yield base.removesuffix(end)
    yield base + "_name"
    yield base + "_name_or_path"


def _compared(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    match op:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.Is():
            return left is None if right is None else None
        case ast.IsNot():
            return left is not None if right is None else None
        case ast.In():
            return left in right if isinstance(right, tuple) else None
        case ast.NotIn():
            return left not in right if isinstance(right, tuple) else None
        case ast.Gt() | ast.Lt() | ast.GtE() | ast.LtE():
            return _ordered(op, left, right)
    return None


def _ordered(op: ast.cmpop, left: Value, right: Value) -> bool | None:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return None
    match op:
        case ast.Gt():
            return left > right
        case ast.Lt():
            return left < right
        case ast.GtE():
            return left >= right
    return left <= right
