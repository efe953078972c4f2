"""noxfile.py by its syntax tree: what each session installs and runs. Source:
https://nox.thea.codes/en/stable/config.html."""

import ast
import shlex

from audit.facts.ci.steps import Collector
from audit.facts.extracted import Extracted
from audit.facts.model import CiStep
from audit.facts.python.extract import too_much

_MAX_CHARS = 500_000
_RUNS = frozenset({"run", "run_always", "run_install"})


def read(text: str) -> Extracted:
    """Each function decorated as a session is a job; each call of `session.run` or `session.install` a
    step."""
    collector = Collector("nox", text)
    if len(text) > _MAX_CHARS or too_much(text):
        return Extracted(collector.facts(), "too much of it to be parsed")
    try:
        tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Extracted(collector.facts(), f"not Python: {type(error).__name__}")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(_is_session(d) for d in node.decorator_list):
            steps = [step for call in ast.walk(node) for step in _step(collector, call)]
            collector.job(node.name, node.lineno, sorted(steps, key=lambda step: step.line))
    return Extracted(collector.facts(), collector.partial)


def _is_session(node: ast.expr) -> bool:
    target = node.func if isinstance(node, ast.Call) else node
    name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
    return name == "session"


def _step(collector: Collector, node: ast.AST) -> list[CiStep]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    owner, verb = node.func.value, node.func.attr
    if not isinstance(owner, ast.Name) or owner.id not in {"session", "s"}:
        return []
    words = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    prefix = {"install": ["pip", "install"], "conda_install": ["conda", "install"]}.get(verb)
    if prefix is None and verb not in _RUNS:
        return []
    words = [*(prefix or []), *words]
    return collector.text(shlex.join(words), node.lineno) if words else []
