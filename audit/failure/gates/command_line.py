"""Command lines of a comparator: argparse and click as far as defaults, flags and the words given go."""

import ast
from typing import TYPE_CHECKING

from audit.failure.gates.model import Origin
from audit.failure.gates.values import NOTHING, ArgumentParser, Namespace, Record, V

if TYPE_CHECKING:
    from audit.failure.gates.calc import Machine


def parser_call(
    machine: "Machine",
    parser: ArgumentParser,
    name: str,
    args: list[V],
    kwargs: dict[str, V],
    scope: Namespace,
) -> V:
    if name == "add_argument":
        _add_argument(parser, args, kwargs)
        return V(None)
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return V(parser)
    if name in ("parse_args", "parse_known_args"):
        made = V(Record(_parsed(machine, parser, scope), open=True))
        return made if name == "parse_args" else V((made, V([])))
    return V(None)


def _add_argument(parser: ArgumentParser, args: list[V], kwargs: dict[str, V]) -> None:
    names = [a.data for a in args if isinstance(a.data, str)]
    if not names:
        return
    flags = [n for n in names if n.startswith("-")]
    longest = max(flags, key=lambda n: (n.startswith("--"), len(n)), default=names[0])
    given = kwargs.get("dest")
    destination = (
        given.data if given and isinstance(given.data, str) else longest.lstrip("-").replace("-", "_")
    )
    action = kwargs.get("action", V(None)).data
    switch = isinstance(action, str) and action.startswith("store_")
    parser.defaults[destination] = kwargs.get("default", V(action == "store_false") if switch else V(None))
    if not flags:
        parser.positionals.append(destination)
    if switch:
        parser.switches.add(destination)
    for flag in flags:
        parser.flags[flag] = destination


def from_decorators(
    machine: "Machine", node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Namespace
) -> dict[str, V]:
    """Parameters of a click command, by the defaults of its decorators and the command line; empty for any other function."""
    parser = ArgumentParser()
    from audit.failure.gates.calls import arguments

    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith((".option", ".argument")):
            args, kwargs = arguments(machine, decorator, scope)
            if "is_flag" in kwargs:
                kwargs["action"] = V("store_true")
            _add_argument(parser, args, kwargs)
    return _parsed(machine, parser, scope) if parser.defaults else {}


def _parsed(machine: "Machine", parser: ArgumentParser, scope: Namespace) -> dict[str, V]:
    """Defaults, with what the command line says in their place."""
    found = dict(parser.defaults)
    if machine.argv is None:
        return {k: (NOTHING if k in parser.positionals else v) for k, v in found.items()}

    def origin(flag: str) -> frozenset[Origin]:
        return frozenset((Origin("argument", flag, machine.argv_place or scope.path),))

    words, positionals = list(machine.argv[1:]), list(parser.positionals)
    while words:
        word = words.pop(0)
        flag, equals, value = word.partition("=")
        destination = parser.flags.get(flag)
        if destination is None:
            if positionals and not word.startswith("--"):
                name = positionals.pop(0)
                found[name] = V(_scalar(word), origin(name))
        elif destination in parser.switches:
            found[destination] = V(True)
        elif equals or words:
            found[destination] = V(_scalar(value if equals else words.pop(0)), origin(flag))
    return found


def _scalar(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text) if len(text) < 40 else text
        except ValueError:
            continue
    return text
