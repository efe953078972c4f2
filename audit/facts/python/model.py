"""What one Python file says. Every record is a small array-like Struct: there are hundreds of thousands of them.

Expressions are kept as *text*: a bounded, normalised rendering of the syntax tree (`render.py`) in which names carry their
import's full dotted name. A string literal is text in quotes (`'a'`), a number `0.1`, a name `args.seed`, a call
`torch.device('cuda')`, and what is too large ends in `…`. `ast.literal_eval` reads a literal's text back.
"""

import msgspec


class Import(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`module` is absolute ("torch.nn") or relative (".utils", leading dots kept); `name` is "" for `import module`, the
    imported name for `from module import name` ("*" too); `alias` the local name that it binds.
    `guarded`: inside `try`/`except ImportError`, or `if TYPE_CHECKING`."""

    module: str
    name: str
    alias: str
    line: int
    scope: int
    guarded: bool = False


class Param(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A parameter: `default` is expression text, "" where there is none; `annotation` likewise."""

    name: str
    default: str
    annotation: str
    line: int


class Scope(msgspec.Struct, frozen=True, array_like=True):
    """A module (always index 0), class, function or main guard, with the index of the scope around it (-1 for the module).

    `kind`: "module", "class", "function", "main" (the body of `if __name__ == "__main__":`). `refs`: names that the scope's own
    statements read or call, as written after import resolution and sorted ("self.evaluate", "utils.train_one_epoch", "main"),
    the edges of the call graph. `bases`, `decorators`: expression text. `digest`: of what a function named as a metric computes, "" for any other.
    """

    name: str
    kind: str
    parent: int
    line: int
    end_line: int
    params: tuple[Param, ...] = ()
    bases: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    digest: str = ""


class Call(msgspec.Struct, frozen=True, array_like=True):
    """A call whose name, or one of whose keywords, is in the vocabulary (`vocabulary.py`).

    `name`: the full dotted name after import resolution ("torch.manual_seed", "self.optimizer.step"); `?.` in front means
    that the receiver is itself an expression ("?.backward" of `f(x).backward()`), a plain leading dot a relative import
    (".utils.train"). `args`, `kwargs`: expression text; `*x` and `**x` are kept as written (the latter under the key "**").
    `loops`: how many `for`/`while` of its own scope it stands in.
    `within`: "iter" (the iterable of a loop or comprehension), "arg:NAME" (an argument of that call), "kwarg:NAME", "assign:TARGET",
    "attr" (receiver of a further attribute), "test" (a condition), "return", "with", "expr" (result discarded), "other".
    `test`: text of the nearest `if` conditions around it inside its scope, joined by " and " ("not " in front for the else branch).
    """

    name: str
    line: int
    scope: int
    args: tuple[str, ...] = ()
    kwargs: dict[str, str] = {}
    loops: int = 0
    within: str = "other"
    test: str = ""


class Assign(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An assignment that may matter: of a constant, of a container of constants, of a vocabulary call, to an attribute, to a subscript with a constant key.

    `target`: "lr", "self.optimizer", "torch.backends.cudnn.benchmark", "os.environ['PYTHONHASHSEED']", "state['optimizer']".
    `annotation` for `x: int = 3` (dataclass fields); `value` is "" for a bare annotation.
    """

    target: str
    value: str
    line: int
    scope: int
    annotation: str = ""
    test: str = ""


class Text(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A string literal that may be an identity: a hub id (`org/name`), an API model, a URL, an absolute path.

    `kind`: "hub", "api", "url", "path". `role`: how it is used: "arg:CALL:INDEX", "kwarg:CALL:NAME", "default:PARAM", "assign:TARGET", "key" (a dict key),
    "item:TARGET" (inside a list, tuple, set or dict value, with what that is assigned to or the key it stands under), "compare", "return", "other".
    """

    kind: str
    value: str
    line: int
    scope: int
    role: str


class PythonFacts(msgspec.Struct, frozen=True, tag="python"):
    """All facts of one Python source (or of the code cells of one notebook).

    `parser`: "ast", or "tree_sitter" for what today's Python refuses (then `why` says what it was refused for).
    `attributes`: attribute names and string subscripts that are read anywhere, sorted ("seed" for `args.seed` and `cfg["seed"]`).
    `ignores`: the inline `# ml-audit: ignore[rule] reason` comments.
    `statements`: how many top-level statements run code (neither imports, definitions, assignments of constants nor docstrings).
    """

    parser: str = "ast"
    why: str = ""
    statements: int = 0
    imports: tuple[Import, ...] = ()
    scopes: tuple[Scope, ...] = ()
    calls: tuple[Call, ...] = ()
    assigns: tuple[Assign, ...] = ()
    texts: tuple[Text, ...] = ()
    attributes: tuple[str, ...] = ()
    ignores: tuple["Ignore", ...] = ()


class Ignore(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An inline suppression: the rules named in the brackets and the reason behind them ("" where none was given)."""

    rules: tuple[str, ...]
    reason: str
    line: int
