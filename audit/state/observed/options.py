"""What a person can set of an entry point, and which values it has where nobody does: parsers, dataclasses, functions, constants."""

import re
from collections.abc import Iterator

import msgspec

from audit.documents.place import Place
from audit.documents.state import Scalar, Value
from audit.facts.python.model import Assign, Call, Scope
from audit.signals.graph import CallGraph
from audit.state.observed.model import Rank
from audit.state.observed.texts import NoLiteral, literal

_CONFIG_CLASS = re.compile(r"(?i)arg|config|cfg|param|option|setting|hparam")
_DATACLASS = (
    "dataclasses.dataclass",
    "dataclass",
    "flax.struct.dataclass",
    "chz.chz",
    "attr.s",
    "attrs.define",
)
_BASES = (
    "pydantic.BaseModel",
    "BaseModel",
    "BaseSettings",
    "pydantic_settings.BaseSettings",
    "Tap",
    "tap.Tap",
)


class Said(msgspec.Struct, frozen=True):
    """What one place says of an option. `known`: False where it sets a value that cannot be read (a placeholder, a variable)."""

    value: Value
    place: Place
    detail: str
    rank: int
    known: bool = True


class Option(msgspec.Struct, frozen=True):
    """An option with its default, None where somebody must give a value."""

    name: str
    said: Said | None
    place: Place
    choices: tuple[Scalar, ...] = ()


def plain(name: str) -> str:
    """The name as options, attributes and keys share it: lower case, underscores."""
    return name.strip("'\"").lstrip("-+~").replace("-", "_").lower()


def options_of_file(graph: CallGraph, path: str) -> Iterator[tuple[int, Option]]:
    """All options that a file defines, each with the index of the scope that does."""
    facts = graph.python[path]
    fires: set[str] = set()
    for call in facts.calls:
        last = call.name.rpartition(".")[2]
        if last == "add_argument":
            yield from ((call.scope, option) for option in _argument(path, call))
        elif last.startswith("DEFINE_") and len(call.args) > 1:
            name = call.args[0].strip("'\"")
            yield call.scope, _option(plain(name), call.args[1], path, call.line, f"default of --{name}")
        elif last == "Fire":
            fires.update(call.args[:1] or ("",))
        elif last in ("option", "argument") and call.name.startswith(("click.", "typer.")):
            yield from ((call.scope, option) for option in _argument(path, call))
    fields: dict[int, list[Assign]] = {}
    for assign in facts.assigns:
        if assign.annotation:
            fields.setdefault(assign.scope, []).append(assign)
    for index, scope in enumerate(facts.scopes):
        if scope.kind == "class" and index in fields and _is_config(scope, graph, path, index):
            yield from ((index, _field(path, scope, assign)) for assign in fields[index])
        elif (
            scope.kind == "function"
            and scope.params
            and scope.parent >= 0
            and _is_command(scope, facts.scopes, fires)
        ):
            for param in scope.params:
                text = _typer_default(param.default)
                yield (
                    COMMAND,
                    _option(
                        plain(param.name), text, path, param.line, f"default of {scope.name}({param.name}=)"
                    ),
                )


COMMAND = -1
"""In place of a scope: a parameter of a function that is a command, which counts where its file is the entry point."""


def _is_command(scope: Scope, scopes: tuple[Scope, ...], fires: set[str]) -> bool:
    """Whether the function's parameters are flags: Fire, typer, tyro, a Hydra or click command."""
    if scopes[scope.parent].kind not in ("module", "main"):
        return False
    if fires:
        return True
    return any(re.search(r"(?:^|\.)(?:command|callback)\b|typer|app\.", name) for name in scope.decorators)


_TYPER = re.compile(r"typer\.(?:Option|Argument)\((.+)\)", re.DOTALL)


def _typer_default(text: str) -> str:
    match = _TYPER.fullmatch(text)
    return match[1].partition(", ")[0] if match else text


def _argument(path: str, call: Call) -> Iterator[Option]:
    names = [plain(arg) for arg in call.args if arg[:1] in "'\""]
    spelled = [arg.strip("'\"") for arg in call.args if arg[:1] in "'\""]
    long = [name for name, raw in zip(names, spelled, strict=True) if raw.startswith("--")]
    dest = plain(call.kwargs["dest"]) if call.kwargs.get("dest", "")[:1] in ("'", '"') else ""
    name = dest or (long or names or [""])[0]
    if not name:
        return
    action = call.kwargs.get("action", "").strip("'\"")
    default = call.kwargs.get("default", "")
    if action == "store_true" and not default:
        default = "False"
    elif action == "store_false" and not default:
        default = "True"
    elif not default and "required" not in call.kwargs and spelled and spelled[0].startswith("-"):
        default = "None"
    shown = next((raw for raw in spelled if raw.startswith("--")), spelled[0] if spelled else name)
    made = _option(name, default, path, call.line, f"default of {shown}")
    made = msgspec.structs.replace(made, choices=_choices(call.kwargs.get("choices", "")))
    yield made
    for other in (*long, *names):
        if other != name and len(other) > 1:
            yield msgspec.structs.replace(made, name=other)


def _choices(text: str) -> tuple[Scalar, ...]:
    try:
        found = literal(text)
    except NoLiteral:
        return ()
    return found if isinstance(found, tuple) else ()


def _field(path: str, scope: Scope, assign: Assign) -> Option:
    return _option(
        plain(assign.target), assign.value, path, assign.line, f"default of {scope.name}.{assign.target}"
    )


def _option(name: str, text: str, path: str, line: int, detail: str) -> Option:
    where = Place(path, line or None)
    if not text:
        return Option(name, None, where)
    try:
        value = literal(text)
    except NoLiteral:
        known = _constant(text)
        if known is None:
            return Option(name, Said(None, where, detail, Rank.DEFAULT, known=False), where)
        value = known
    return Option(name, Said(value, where, detail, Rank.DEFAULT), where)


_DTYPE = re.compile(
    r"(?:torch|jnp|jax\.numpy|tensorflow|numpy)\.(float16|bfloat16|float32|float64|half|int8)"
)


def _constant(text: str) -> str | None:
    match = _DTYPE.fullmatch(text)
    return match[1] if match else None


def _is_config(scope: Scope, graph: CallGraph, path: str, index: int) -> bool:
    decorated = any(name.partition("(")[0] in _DATACLASS for name in scope.decorators)
    derived = any(base in _BASES for base in graph.ancestry((path, index)))
    return (decorated or derived) and bool(_CONFIG_CLASS.search(scope.name))


def constant_option(path: str, assign: Assign) -> Option | None:
    """A constant of a module that a configurator overrides, as an option."""
    option = _option(plain(assign.target), assign.value, path, assign.line, f"{assign.target} in {path}")
    return option if option.said and option.said.known else None
