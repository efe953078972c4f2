"""Flags that a script defines with argparse: which they are, where that can be said for certain."""

import ast
import re
from functools import cache

import msgspec

from audit.facts.python.model import Call, PythonFacts
from audit.signals.graph import CallGraph

_OTHER_PARSERS = frozenset(
    """
    fire tyro hydra simple_parsing jsonargparse click typer gin absl configargparse tap argparse_dataclass sacred clize docopt plac datargs
    pydantic_settings pydargs typed_argparse cyclopts chz draccus dargs argbind corgy argh optparse getopt ml_collections launch hydra_zen
    """.split()
)
"""Libraries that give a script flags that no `add_argument` shows."""

_DYNAMIC = frozenset(
    """
    parse_known_args parse_known_intermixed_args HfArgumentParser TrlParser Fire LightningCLI from_cli add_argparse_args from_argparse_args
    parse_args_into_dataclasses add_config_arguments add_args_to_parser add_dataclass_arguments add_arguments argparse_from_dataclass
    """.split()
)


class Flag(msgspec.Struct, frozen=True):
    """An option of a parser: its spellings, the attribute that holds its value, and where it is defined."""

    names: tuple[str, ...]
    dest: str
    path: str
    line: int
    action: str = ""


def literal(text: str) -> str | None:
    """The string that an expression's text is, None where it is no plain string."""
    if len(text) < 2 or text[0] not in "'\"":
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def flags_in(path: str, facts: PythonFacts) -> tuple[tuple[Flag, ...], bool]:
    """The flags that a file defines, and whether some definition could not be read."""
    found: list[Flag] = []
    unread = False
    for call in facts.calls:
        if call.name.rpartition(".")[2] != "add_argument":
            continue
        names = [literal(arg) for arg in call.args]
        # A script that takes "the rest" hands flags on to another one.
        rest = call.kwargs.get("nargs", "")
        if (
            rest.endswith("REMAINDER")
            or rest in ("'...'", "'A...'")
            or not names
            or any(name is None for name in names)
        ):
            unread = True
            continue
        flag = _flag(path, call, tuple(name for name in names if name))
        if flag is not None:
            found.append(flag)
    return tuple(found), unread


def _flag(path: str, call: Call, names: tuple[str, ...]) -> Flag | None:
    spelled = tuple(name for name in names if name.startswith("-"))
    if not spelled:
        return None
    long = next((name for name in spelled if name.startswith("--")), spelled[0])
    dest = literal(call.kwargs.get("dest", "")) or long.lstrip("-").replace("-", "_")
    return Flag(spelled, dest, path, call.line, call.kwargs.get("action", ""))


def parses_otherwise(facts: PythonFacts) -> bool:
    """Whether the file gets flags in a way that `add_argument` does not show, or lets unknown ones pass."""
    if any(item.module.partition(".")[0] in _OTHER_PARSERS for item in facts.imports):
        return True
    return any(call.name.rpartition(".")[2] in _DYNAMIC for call in facts.calls)


def accepted(path: str, graph: CallGraph) -> tuple[Flag, ...] | None:
    """Every flag that the script accepts, None where that is not certain.

    Certain is: the script itself calls `parse_args`, every `add_argument` in it and in the files it reaches names its flags literally,
    no other library defines flags, and no parser comes from outside the repository.
    """
    facts = graph.python.get(path)
    if facts is None or facts.parser != "ast":
        return None
    if not any(call.name.rpartition(".")[2] == "parse_args" for call in facts.calls):
        return None
    starts = [(path, index) for index, scope in enumerate(facts.scopes) if scope.kind in ("main", "module")]
    files = sorted({node[0] for node in graph.reach(starts)} | {path})
    found: list[Flag] = []
    for each in files:
        flags, unread = flags_in(each, graph.python[each])
        if unread or parses_otherwise(graph.python[each]):
            return None
        found += flags
    if not any(flag.path == path for flag in found) or _parser_from_outside(facts, graph, path):
        return None
    return tuple(found)


_ADDS = re.compile(r".+\.add_\w*(?:arg|flag|option|param)\w*")
_PLAIN_ADDS = ("add_argument", "add_argument_group", "add_mutually_exclusive_group")


def _parser_from_outside(facts: PythonFacts, graph: CallGraph, path: str) -> bool:
    """Whether a function from outside the repository makes the parser or adds to it."""
    for index, scope in enumerate(facts.scopes):
        adders = (ref for ref in scope.refs if _ADDS.fullmatch(ref) and not ref.endswith(_PLAIN_ADDS))
        if any(graph.lookup(ref, path, index) is None for ref in adders):
            return True
    parsers = {
        call.within.partition(":")[2]
        for call in facts.calls
        if call.name.rpartition(".")[2] == "ArgumentParser" and call.within.startswith("assign:")
    }
    for call in facts.calls:
        last = call.name.rpartition(".")[2]
        if last == "ArgumentParser" and call.name not in ("argparse.ArgumentParser", "ArgumentParser"):
            return True
        parents = call.kwargs.get("parents", "") if last == "ArgumentParser" else ""
        for name in re.findall(r"([\w.]+)\(", parents):
            if graph.lookup(name, path, call.scope) is None:
                return True
        if (
            last != "ArgumentParser"
            and not parsers.isdisjoint(call.args)
            and graph.lookup(call.name, path, call.scope) is None
        ):
            return True
        if last == "parse_args" and "namespace" in call.kwargs:
            return True
    return False


@cache
def spelling(flag: str) -> str:
    """A flag as two people may write the same one: without the value behind `=`."""
    return flag.partition("=")[0]


def accepts(flags: tuple[Flag, ...], written: str) -> bool:
    """Whether argparse takes `written`: spelled out, as a prefix of a long flag, `-xVALUE`, or `--no-x`."""
    name = spelling(written)
    if name in ("-h", "--help"):
        return True
    names = {spelled for flag in flags for spelled in flag.names}
    if name in names:
        return True
    if name.startswith("--"):
        return any(each.startswith(name) for each in names) or (
            name.startswith("--no-") and "--" + name[5:] in names
        )
    return any(len(each) == 2 and name.startswith(each) for each in names) or any(
        each.startswith(name) and not each.startswith("--") for each in names
    )
