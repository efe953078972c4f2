"""setup.py by its syntax tree alone: it is never run.

Read are the keywords of `setup(…)`: literals, names assigned once at the module's top, concatenations, and
the common ways of reading a requirements file (then that file's name goes to `includes`).
Source: https://setuptools.pypa.io/en/latest/references/keywords.html.
"""

import ast
import re
from dataclasses import dataclass, field

from audit.facts.dependencies.line import is_project, normalise, parse_requirement
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement
from audit.facts.python.extract import too_much

MAX_DEPTH = 20
MAX_ITEMS = 5_000
_MAX_CHARS = 300_000

Text = tuple[str, int]
"""A string and the line of its literal."""

_REQUIREMENTS_FILE = re.compile(
    r"[\w./\\-]*req[\w.-]*\.(?:txt|in)|[\w./\\-]*requirements[\w./\\-]*\.(?:txt|in)", re.IGNORECASE
)
_OLD_LIST = re.compile(r"\b(install_requires|tests_require|setup_requires)\s*=\s*\[([^\]]{0,4000})\]")
_OLD_WORD = re.compile(r"\b(name|license|python_requires)\s*=\s*(['\"])([^'\"\n]{1,200})\2")
_LITERAL = re.compile(r"(['\"])([^'\"\n]{1,500})\1")
_SCRIPT = re.compile(r"\s*([\w.-]+)\s*=\s*([\w.]+(?::[\w.]+)?)")


@dataclass(slots=True)
class _Module:
    """What stands at the top of the module: the values of names, and its functions.

    `arguments`: a dictionary of keywords of `setup` that a function returns, for the `setup.py` of a repository of several
    packages to pass on.
    """

    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    items: dict[str, dict[str, ast.expr]] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    setup: ast.Call | None = None
    arguments: ast.Dict | None = None
    budget: int = MAX_ITEMS


def extract(text: str) -> Extracted:
    """The facts of a setup.py. Python 2 that today's parser refuses is read by patterns, and said to be
    partial."""
    text = text.removeprefix("\ufeff")
    if len(text) > _MAX_CHARS or too_much(text):
        return Extracted(DependencyFacts(declares=False), "too much of it to be parsed")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Extracted(_by_pattern(text), f"not today's Python ({type(error).__name__}): read by patterns")
    module = _survey(tree)
    if module.setup is None and module.arguments is None:
        return Extracted(DependencyFacts(declares=False))
    return Extracted(_Reader(module).facts())


def _survey(tree: ast.Module) -> _Module:
    """Names, functions and the call of `setup`, wherever at the top they stand (`if`, `try`, `with`, a main
    function)."""
    module = _Module()
    pending: list[ast.stmt] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[node.name] = node
            if any(_is_setup(s.value) for s in node.body if isinstance(s, ast.Expr)):
                pending.extend(reversed(node.body))
            module.arguments = module.arguments or _returned_arguments(node)
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            _assign(module, node)
        if isinstance(node, ast.Expr):
            if _is_setup(node.value):
                module.setup = node.value  # type: ignore[assignment]
            else:
                _mutate(module, node.value)
        for name in ("orelse", "finalbody", "body"):
            pending.extend(reversed(getattr(node, name, [])))
    return module


def _is_setup(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name == "setup"


def _returned_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Dict | None:
    """The dictionary that a function returns, where it holds keywords that only `setup` has."""
    for statement in node.body:
        value = statement.value if isinstance(statement, ast.Return) else None
        if isinstance(value, ast.Dict) and any(
            isinstance(key, ast.Constant) and key.value in ("python_requires", "install_requires")
            for key in value.keys
        ):
            return value
    return None


def _assign(module: _Module, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
    if node.value is None:
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            if isinstance(node, ast.AugAssign):
                module.values.setdefault(target.id, []).append(node.value)
            else:
                module.values[target.id] = [node.value]
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            key = target.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                module.items.setdefault(target.value.id, {})[key.value] = node.value


def _mutate(module: _Module, node: ast.expr) -> None:
    """`requirements.append("x")`, `.extend([…])` at the top."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return
    owner, verb = node.func.value, node.func.attr
    if isinstance(owner, ast.Name) and verb in {"append", "extend", "insert"} and owner.id in module.values:
        module.values[owner.id].append(node.args[-1])


class _Reader:
    def __init__(self, module: _Module) -> None:
        self.module = module
        call = module.setup
        self.keywords: dict[str, ast.expr] = {}
        for keyword in call.keywords if call is not None else ():
            if keyword.arg is not None:
                self.keywords[keyword.arg] = keyword.value
            else:  # setup(**options)
                self.keywords.update(self._table(keyword.value))
        if module.arguments is not None:
            self.keywords = {**self._table(module.arguments), **self.keywords}
        self.includes: list[str] = []
        self.requirements: list[Requirement] = []
        self.invalid: list[tuple[str, int]] = []

    def facts(self) -> DependencyFacts:
        """Everything that the keywords of `setup` say."""
        self._require("install_requires", "")
        self._require("requires", "")
        self._require("tests_require", "test")
        extras = self.keywords.get("extras_require")
        for extra, value in self._table(extras).items() if extras is not None else ():
            self._add(value, extra.partition(":")[0], extra.partition(":")[2])
        python = self.keywords.get("python_requires")
        version = self._text(python) if python is not None else None
        license_text = self._word("license") or next(
            (
                t.rsplit("::", 1)[-1].strip()
                for t, _ in self._texts(self.keywords.get("classifiers"))
                if t.startswith("License ::")
            ),
            "",
        )
        declares = bool({"install_requires", "extras_require", "tests_require"} & self.keywords.keys())
        return DependencyFacts(
            declares=declares or bool(self.requirements),
            requirements=tuple(self.requirements),
            includes=tuple(dict.fromkeys(self.includes)),
            invalid=tuple(self.invalid),
            python=version[0] if version else "",
            python_line=version[1] if version else 0,
            name=self._word("name"),
            scripts=self._scripts(),
            license=license_text if len(license_text) <= 100 else "",
        )

    def _word(self, keyword: str) -> str:
        node = self.keywords.get(keyword)
        found = self._text(node) if node is not None else None
        return found[0].strip() if found else ""

    def _require(self, keyword: str, group: str) -> None:
        node = self.keywords.get(keyword)
        if node is not None:
            self._add(node, group, "")

    def _add(self, node: ast.expr, group: str, marker: str) -> None:
        for text, line in self._texts(node):
            for offset, raw in enumerate(text.split("\n")):
                part = raw.strip()
                if not part or part.startswith("#") or is_project(part):
                    continue
                requirement = parse_requirement(
                    f"{part}; {marker}" if marker else part, line + offset, group=group
                )
                if requirement is not None:
                    self.requirements.append(requirement)
                else:
                    self.invalid.append((part[:300], line + offset))

    def _scripts(self) -> dict[str, str]:
        node = self.keywords.get("entry_points")
        if node is None:
            return {}
        table = self._table(node)
        listed = [
            t
            for key in ("console_scripts", "gui_scripts")
            if key in table
            for t, _ in self._texts(table[key])
        ]
        if not table:
            listed = [line for t, _ in self._texts(node) for line in t.split("\n")]
        found: dict[str, str] = {}
        for text in listed:
            match = _SCRIPT.match(text)
            if match is not None:
                found[match[1]] = match[2]
        return found

    # -- values
    # ------------------------------------------------------------------------------------------------

    def _text(self, node: ast.expr, depth: int = 0) -> Text | None:
        texts = self._texts(node, depth)
        return texts[0] if len(texts) == 1 else None

    def _texts(self, node: ast.expr | None, depth: int = 0) -> list[Text]:
        """The strings that `node` evaluates to, as far as the text tells; files it reads go to `includes`."""
        self.module.budget -= 1
        if node is None or depth > MAX_DEPTH or self.module.budget < 0:
            return []
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [t for element in node.elts for t in self._texts(element, depth + 1)]
        if isinstance(node, ast.Starred):
            return self._texts(node.value, depth + 1)
        if isinstance(node, ast.Name):
            return [t for value in self.module.values.get(node.id, ()) for t in self._texts(value, depth + 1)]
        if isinstance(node, ast.BinOp):
            return self._binary(node, depth)
        if isinstance(node, ast.IfExp):
            return self._texts(node.body, depth + 1) + self._texts(node.orelse, depth + 1)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self._texts(node.generators[0].iter, depth + 1)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.JoinedStr):
            return self._joined(node, depth)
        return []

    def _constant(self, node: ast.Constant) -> list[Text]:
        return [(node.value, node.lineno)] if isinstance(node.value, str) else []

    def _joined(self, node: ast.JoinedStr, depth: int) -> list[Text]:
        parts: list[str] = []
        for value in node.values:
            inner = value.value if isinstance(value, ast.FormattedValue) else value
            found = self._text(inner, depth + 1) or self._number(inner)
            if found is None:
                return []
            parts.append(found[0])
        return [("".join(parts), node.lineno)]

    def _number(self, node: ast.expr) -> Text | None:
        """A number as it stands in a formatted string, given as it is or by a name that is assigned once."""
        if isinstance(node, ast.Name):
            values = self.module.values.get(node.id, [])
            node = values[0] if len(values) == 1 else node
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return str(node.value), node.lineno
        return None

    def _binary(self, node: ast.BinOp, depth: int) -> list[Text]:
        if not isinstance(node.op, ast.Add):
            return []
        left, right = self._texts(node.left, depth + 1), self._texts(node.right, depth + 1)
        if (
            self._is_string(node.left, depth)
            and self._is_string(node.right, depth)
            and len(left) == len(right) == 1
        ):
            return [(left[0][0] + right[0][0], left[0][1])]
        return left + right

    def _is_string(self, node: ast.expr, depth: int) -> bool:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True
        if isinstance(node, ast.Name) and depth <= MAX_DEPTH:
            values = self.module.values.get(node.id, [])
            return len(values) == 1 and self._is_string(values[0], depth + 1)
        return isinstance(node, ast.BinOp) and depth <= MAX_DEPTH and self._is_string(node.left, depth + 1)

    def _subscript(self, node: ast.Subscript, depth: int) -> list[Text]:
        key = node.slice
        if not isinstance(key, ast.Constant):
            return []
        table = self._table(node.value, depth + 1)
        if isinstance(key.value, str):
            if key.value in table:
                return self._texts(table[key.value], depth + 1)
            return self._from_list(node.value, [key.value], depth)
        return []

    def _from_list(self, node: ast.expr, names: list[str], depth: int) -> list[Text]:
        """`deps["torch"]` where `deps` is computed from one list of requirements: the entry of that name."""
        if not isinstance(node, ast.Name):
            return []
        listed = {
            normalise(re.split(r"[\s\[<>=!~;@]", t, maxsplit=1)[0]): (t, line)
            for t, line in self._texts_within(node, depth)
        }
        return [listed[normalise(name)] for name in names if normalise(name) in listed]

    def _texts_within(self, node: ast.Name, depth: int) -> list[Text]:
        found: list[Text] = []
        for value in self.module.values.get(node.id, ()):
            for inner in ast.walk(value):
                self.module.budget -= 1
                if self.module.budget < 0:
                    break
                if isinstance(inner, ast.Name) and inner.id != node.id:
                    found += self._texts(inner, depth + 1)
        return found

    def _call(self, node: ast.Call, depth: int) -> list[Text]:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Attribute) and name in {
            "split",
            "splitlines",
            "strip",
            "format",
            "read",
            "readlines",
        }:
            texts = self._texts(function.value, depth + 1)
            if name in {"split", "splitlines"}:
                return [
                    (part.strip(), line) for text, line in texts for part in text.split("\n") if part.strip()
                ]
            return texts
        if name in {"list", "sorted", "set", "tuple", "map", "filter", "chain", "sum", "str"}:
            arguments = node.args[1:] if name in {"map", "filter"} else node.args
            return [t for argument in arguments for t in self._texts(argument, depth + 1)]
        files = self._files(node)
        if files:
            self.includes += files
            return []
        local = self.module.functions.get(name)
        if local is None:
            return []
        return self._local_call(node, local, depth)

    def _local_call(
        self, node: ast.Call, local: ast.FunctionDef | ast.AsyncFunctionDef, depth: int
    ) -> list[Text]:
        """A helper of this file: the requirements file that it names, the list it returns, or entries of a
        list."""
        files = [f for inner in ast.walk(local) for f in self._files(inner)]
        if files:
            self.includes += files
            return []
        names = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        returned = [s.value for s in ast.walk(local) if isinstance(s, ast.Return) and s.value is not None]
        if names:
            for inner in ast.walk(local):
                if isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
                    found = self._from_list(inner.value, names, depth + 1)
                    if found:
                        return found
            return []
        return [t for value in returned[:5] for t in self._texts(value, depth + 1)]

    def _files(self, node: ast.AST) -> list[str]:
        """Names of requirements files among the literals of a call."""
        if not isinstance(node, ast.Call):
            return []
        found: list[str] = []
        for inner in ast.walk(node):
            value = inner.value if isinstance(inner, ast.Constant) else None
            if isinstance(value, str) and len(value) < 200 and _REQUIREMENTS_FILE.fullmatch(value):
                found.append(value.removeprefix("./"))
            self.module.budget -= 1
            if self.module.budget < 0:
                break
        return found

    def _table(self, node: ast.expr | None, depth: int = 0) -> dict[str, ast.expr]:
        """A dictionary with constant string keys as {key: expression}."""
        if node is None or depth > MAX_DEPTH:
            return {}
        if isinstance(node, ast.Dict):
            found: dict[str, ast.expr] = {}
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    found.update(self._table(value, depth + 1))
                elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found[key.value] = value
            return found
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return {k.arg: k.value for k in node.keywords if k.arg is not None}
        if isinstance(node, ast.Name):
            tables = [self._table(value, depth + 1) for value in self.module.values.get(node.id, ())]
            merged = {key: value for table in tables for key, value in table.items()}
            return {**merged, **self.module.items.get(node.id, {})}
        return {}


def _by_pattern(text: str) -> DependencyFacts:
    requirements: list[Requirement] = []
    line, counted = 1, 0
    for found in _OLD_LIST.finditer(text):
        if found[1] == "setup_requires":
            continue
        group = "test" if found[1] == "tests_require" else ""
        for literal in _LITERAL.finditer(found[2]):
            at = found.start(2) + literal.start()
            line += text.count("\n", counted, at)
            counted = at
            requirement = parse_requirement(literal[2], line, group=group)
            if requirement is not None and len(requirements) < MAX_ITEMS:
                requirements.append(requirement)
    words = {found[1]: found[3] for found in _OLD_WORD.finditer(text)}
    return DependencyFacts(
        declares=bool(requirements),
        requirements=tuple(requirements),
        python=words.get("python_requires", ""),
        name=words.get("name", ""),
        license=words.get("license", ""),
    )
