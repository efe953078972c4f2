"""Flags that a parser of dataclasses takes (`HfArgumentParser`): the fields of the classes that it is given, those of a library's bases included."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from audit.facts.python.model import Call
from audit.signals.graph import CallGraph, Node

_PLAIN = frozenset({"object", "abc.ABC", "ABC"})


def dataclass_flags(script: str, graph: CallGraph) -> frozenset[str] | None:
    """The names (without dashes, with underscores) that the script's parser takes; None where that is not certain: another parser beside it, a class
    that cannot be followed, a base of a library whose fields are not known, a field that goes by other names too."""
    facts = graph.python.get(script)
    if facts is None:
        return None
    starts = [(script, index) for index, scope in enumerate(facts.scopes) if scope.kind in ("main", "module")]
    nodes = graph.reach(starts)
    parsers: list[tuple[str, Call]] = []
    for file in {file for file, _ in nodes}:
        for call in graph.python[file].calls:
            last = call.name.rpartition(".")[2]
            if (file, call.scope) not in nodes:
                continue
            if last in ("add_argument", "TrlParser", "H4ArgumentParser", "Fire"):
                return None
            if last == "HfArgumentParser":
                parsers.append((file, call))
    if len(parsers) != 1 or not parsers[0][1].name.startswith("transformers.") or not parsers[0][1].args:
        return None
    file, call = parsers[0]
    names = re.findall(r"[A-Za-z_.][\w.]*", call.args[0])
    found: set[str] = set()
    for name in names:
        fields = _fields(name, file, call.scope, graph)
        if fields is None:
            return None
        found |= fields
    return frozenset(found) if names else None


def _fields(name: str, file: str, scope: int, graph: CallGraph) -> set[str] | None:
    node = graph.lookup(name, file, scope)
    if node is None:
        known = library_fields().get(_canonical(name))
        return set(known) if known is not None else None
    found: set[str] = set()
    for base in graph.ancestry(node):
        if graph.lookup(base, node[0]) is None and base not in _PLAIN:
            known = library_fields().get(_canonical(base))
            if known is None:
                return None
            found |= known
    for each in graph.family(node):
        own = _own_fields(each, graph)
        if own is None:
            return None
        found |= own
    return found


def _own_fields(node: Node, graph: CallGraph) -> set[str] | None:
    facts = graph.python[node[0]]
    if any(call.scope == node[1] and "aliases" in call.kwargs.get("metadata", "") for call in facts.calls):
        return None
    return {assign.target for assign in facts.assigns if assign.scope == node[1] and assign.annotation}


def _canonical(name: str) -> str:
    """`transformers.training_args.TrainingArguments` is `transformers.TrainingArguments`."""
    head, _, _ = name.partition(".")
    return f"{head}.{name.rpartition('.')[2]}"


@cache
def library_fields() -> dict[str, frozenset[str]]:
    """Fields of libraries' dataclasses by the class's name."""
    text = (Path(__file__).parent / "library_fields.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return {name: frozenset(fields) for name, fields in data.items()}


def takes(fields: frozenset[str], flag: str) -> bool:
    """Whether a parser of these fields takes the flag: spelled out with either dash, as a beginning, or with `no_` in front."""
    name = flag.lstrip("-").partition("=")[0].replace("-", "_")
    return (
        name in ("h", "help")
        or any(each.startswith(name) for each in fields)
        or name.removeprefix("no_") in fields
    )
