"""Where gates begin: test functions with their fixtures and parameters, and scripts with their command line."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import msgspec

from audit.failure.gates.checkout import Checkout
from audit.failure.gates.commands import Called, runs_script, scripts_run, words_of
from audit.failure.model import Reading

MAX_FILES: Final = 120
"""Most Python files looked into for one verdict."""
SMALL: Final = 60
"""Python files of a checkout that is looked through whole: people hand in a piece of theirs."""
MAX_PARAMETERS: Final = 64
"""Most parameter sets of one test."""
_TEST_FILE: Final = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|tests)\.py$")
_GATE_FILE: Final = re.compile(
    r"(gate|check|compare|golden|budget|threshold|regress|verify|validate)[^/]*\.py$"
)
_GATE_TEXT: Final = re.compile(r"assert|\b(?:raise|exit|SystemExit|fail|return False|return 1)\b")
_READS: Final = re.compile(
    r"json\.loads?\(|read_csv|EventAccumulator|DictReader|safe_load|get_metric_history|read_json|\.summary\["
)
_DATA_TEXT: Final = re.compile(
    r"\b(json|csv|yaml|toml|open|read_text|read_csv|EventAccumulator|mlflow|wandb|pandas)\b"
)


class TestEntry(msgspec.Struct, frozen=True):
    """A test function. `owner`: the class it stands in. `parameters`: names with expressions of one parameter set; `id` as pytest names it."""

    path: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None
    parameters: tuple[tuple[str, ast.expr], ...]
    id: str


class ScriptEntry(msgspec.Struct, frozen=True):
    """A script, with the words of its command line (None: not known) and where that is written."""

    path: str
    argv: tuple[str, ...] | None
    place: str
    environ: tuple[tuple[str, str], ...] = ()


def gate_files(
    checkout: Checkout, calls: Sequence[Called], reading: Reading | None, measured: bool
) -> list[str]:
    """Python files in which a gate may stand, the likeliest first: named by the log, called by a command that the log shows, called by
    any command; with telemetry (`measured`) test files too, and all files of a small checkout. Without it only the log can tell of a gate.
    """
    own = checkout.python_files()
    texts = "\n".join(line.text for line in reading.lines) if reading else ""
    named = [p for p in own if f"{p}:" in texts]
    logged = [c for c in calls if c.logged]
    shown = scripts_run(own, logged)
    ordered = [*named, *shown]
    if measured or len(own) <= SMALL:
        ordered += scripts_run(own, calls)
    if len(own) <= SMALL:
        ordered += own
    elif measured:
        ordered += [p for p in own if _TEST_FILE.search(p) or _GATE_FILE.search(p)]
    likely = set(named) | set(shown)
    kept = (
        p for p in dict.fromkeys(ordered) if _promising(checkout, p, len(own) > SMALL and p not in likely)
    )
    return [p for _, p in zip(range(MAX_FILES), kept, strict=False)]


def _promising(checkout: Checkout, path: str, strictly: bool) -> bool:
    """Whether a file compares something; `strictly`: and reads results from files, as few of a large checkout's tests do."""
    text = checkout.text(path)
    return bool(text and _GATE_TEXT.search(text) and (not strictly or _READS.search(text)))


def is_test(path: str, tree: ast.Module) -> bool:
    """Whether pytest or unittest finds tests in the file."""
    return bool(_TEST_FILE.search(path)) or any(
        isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name.startswith("test_")
        for n in tree.body
    )


def tests_in(path: str, tree: ast.Module) -> Iterator[TestEntry]:
    """The tests of a file, one entry a parameter set."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield from _with_parameters(path, node, None, f"{path}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith(
                    "test"
                ):
                    yield from _with_parameters(path, inner, node, f"{path}::{node.name}::{inner.name}")


def _with_parameters(
    path: str, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None, name: str
) -> Iterator[TestEntry]:
    marks = [_parametrized(d) for d in reversed(node.decorator_list)]
    sets = [m for m in marks if m]
    if not sets:
        yield TestEntry(path, node, owner, (), name)
        return
    for count, chosen in enumerate(product(*sets)):
        if count >= MAX_PARAMETERS:
            return
        parameters = tuple(pair for part, _ in chosen for pair in part)
        yield TestEntry(path, node, owner, parameters, f"{name}[{'-'.join(label for _, label in chosen)}]")


ParameterSet = tuple[tuple[tuple[str, ast.expr], ...], str]


def _parametrized(decorator: ast.expr) -> list[ParameterSet]:
    """(names with expressions, label) of every set of `@pytest.mark.parametrize("a,b", [...])`."""
    if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("parametrize"):
        return []
    if len(decorator.args) < 2:
        return []
    names = _names(decorator.args[0])
    values = _literal_items(decorator.args[1])
    made: list[ParameterSet] = []
    for index, value in enumerate(values):
        label = ""
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("param"):
            label = next(
                (
                    str(k.value.value)
                    for k in value.keywords
                    if k.arg == "id" and isinstance(k.value, ast.Constant)
                ),
                "",
            )
            parts = list(value.args)
        else:
            parts = (
                list(value.elts) if len(names) > 1 and isinstance(value, ast.Tuple | ast.List) else [value]
            )
        if len(parts) != len(names):
            continue
        shown = label or "-".join(_label(n, p, index) for n, p in zip(names, parts, strict=True))
        made.append((tuple(zip(names, parts, strict=True)), shown))
    return made


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [n.strip() for n in node.value.split(",") if n.strip()]
    if isinstance(node, ast.Tuple | ast.List):
        return [str(e.value) for e in node.elts if isinstance(e, ast.Constant)]
    return []


def _literal_items(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return list(node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        bounds = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, int)]
        if 1 <= len(bounds) == len(node.args) <= 3 and (len(bounds) < 3 or bounds[2]):
            return [ast.copy_location(ast.Constant(n), node) for n in list(range(*bounds))[:MAX_PARAMETERS]]
    return []


def _label(name: str, node: ast.expr, index: int) -> str:
    """pytest's id of a value: text and numbers as they are, names of classes and functions, else the argument's name and index."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return str(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.unparse(node)
    return f"{name}{index}"


def scripts_for(path: str, checkout: Checkout, calls: Sequence[Called]) -> list[ScriptEntry]:
    """A file as a script, once for every command line that runs it; once without where none does and it reads data."""
    found = []
    for call in calls:
        if runs_script(call, path):
            words = (path, *_plain_words(call))
            place = f"{call.path}:{call.line}"
            found.append(ScriptEntry(path, words, place, call.command.env))
    # The log shows the words that were really used; the workflow may hold variables in their place.
    unique = {entry.argv: entry for entry in reversed(found)}
    entries = [e for e in unique.values() if e.argv is None or not any("$" in w for w in e.argv)] or list(
        unique.values()
    )
    if entries:
        return entries[:8]
    return [ScriptEntry(path, None, path)] if _DATA_TEXT.search(checkout.text(path) or "") else []


def _plain_words(call: Called) -> list[str]:
    """The words up to a redirection or a pipe."""
    kept = []
    for word in words_of(call.command):
        if word.startswith((">", "2>", "&>", "|", ";", "<")):
            break
        kept.append(word)
    return kept
