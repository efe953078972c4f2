"""Calls in a comparator: its own functions, known pure ones, readers of files, comparators of test libraries."""

import ast
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from audit.failure.gates import files, flow, operators
from audit.failure.gates.closeness import close, of_test_case
from audit.failure.gates.command_line import parser_call
from audit.failure.gates.comparators import COMPARATORS
from audit.failure.gates.library import known_function, reduction
from audit.failure.gates.model import Origin
from audit.failure.gates.values import (
    MAX_TEXT,
    NOTHING,
    AnyRun,
    ArgumentParser,
    Array,
    Class,
    Column,
    EventStore,
    FileText,
    Frame,
    Function,
    Library,
    Namespace,
    OpenFile,
    PathText,
    Record,
    V,
    items_of,
    merged,
)

if TYPE_CHECKING:
    from audit.failure.gates.calc import Machine

_LOADERS: Final = frozenset(
    {"json.load", "json.loads", "yaml.safe_load", "yaml.load", "yaml.full_load", "tomllib.load", "tomllib.loads", "toml.load",
     "toml.loads", "ujson.load", "ujson.loads", "orjson.loads", "omegaconf.OmegaConf.load", "OmegaConf.load"}
)  # fmt: skip
_ENVIRON: Final = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})
_TRACKERS: Final = frozenset(
    {
        "mlflow.tracking.MlflowClient",
        "mlflow.MlflowClient",
        "mlflow.client.MlflowClient",
        "mlflow.get_run",
        "wandb.Api",
    }
)
"""What gives a tracker's client or run: its metrics are those of the run in question."""
_JOIN: Final = frozenset({"os.path.join", "path.join", "posixpath.join"})


def call(machine: "Machine", node: ast.Call, scope: Namespace) -> V:
    """The value of a call."""
    function = machine._unjudged(node.func, scope)
    name = function.data.name if isinstance(function.data, Library) and function.data.owner is None else ""
    short = name.rpartition(".")[2]
    judged = name in ("all", "any", "bool") or short in ("exit", "int")
    if not judged and not isinstance(function.data, Function):
        # `sum(a > b for …)` counts; a function of the checkout may well be given what must hold.
        counts = bool(name) and known_function(name) is not None
        before, machine.polarity = machine.polarity, None
        machine.quiet += counts
        try:
            args, kwargs = arguments(machine, node, scope)
        finally:
            machine.polarity = before
            machine.quiet -= counts
    else:
        args, kwargs = arguments(machine, node, scope)
    data = function.data
    if isinstance(data, Function):
        return flow.invoke(machine, data, args, kwargs)
    if isinstance(data, Class):
        return flow.construct(machine, data, args, kwargs)
    if not isinstance(data, Library):
        return NOTHING
    if data.owner is None:
        return _library(machine, node, scope, name, args, kwargs)
    return _method(machine, node, scope, data, args, kwargs)


def arguments(machine: "Machine", node: ast.Call, scope: Namespace) -> tuple[list[V], dict[str, V]]:
    args = machine._items(node.args, scope)
    kwargs: dict[str, V] = {}
    for keyword in node.keywords:
        value = machine.eval(keyword.value, scope)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        elif isinstance(value.data, dict):
            kwargs.update({k: v for k, v in value.data.items() if isinstance(k, str)})
    return args, kwargs


def _library(
    machine: "Machine", node: ast.Call, scope: Namespace, name: str, args: list[V], kwargs: dict[str, V]
) -> V:
    comparator = COMPARATORS.get(name)
    if comparator is not None:
        return close(machine, node, scope, comparator, args, kwargs)
    if name in _LOADERS:
        return files.document(machine, args[0], scope.path) if args else NOTHING
    reader = _reader(machine, scope, name, args)
    if reader is not None:
        return reader
    if name in ("sorted", "min", "max") and "key" in kwargs:
        return _by_key(machine, name, args, kwargs)
    if name in ("map", "filter") and len(args) == 2:
        return _mapped(machine, name, args, scope.path)
    if name == "next" and args:
        items = items_of(args[0])
        return items[0] if items else (args[1] if len(args) > 1 else NOTHING)
    if name == "dict":
        return _dict(args, kwargs)
    known = known_function(name)
    return known(args, kwargs) if known is not None else NOTHING


def _reader(machine: "Machine", scope: Namespace, name: str, args: list[V]) -> V | None:
    """Functions that name or read files, and the command line and environment; None where `name` is none of these."""
    short = name.rpartition(".")[2]
    if name in ("open", "io.open", "gzip.open"):
        return files.opened(args)
    if name in ("pathlib.Path", "Path", "pathlib.PurePath"):
        return V(PathText("/".join(files.path_of(a) or "?" for a in args) or "."), merged(*args))
    if name in _JOIN:
        parts = [files.path_of(a) for a in args]
        return V("/".join(p for p in parts if p), merged(*args)) if None not in parts else NOTHING
    if name in ("glob.glob", "glob.iglob"):
        path = files.path_of(args[0]) if args else None
        head, _, tail = (path or "").rpartition("/")
        return files.path_call(machine, PathText(head or "."), "glob", [V(tail)])
    if name in _ENVIRON:
        return _environment(machine, scope, args)
    if name in ("csv.DictReader", "DictReader"):
        return files.rows(machine, args[0], scope.path) if args else NOTHING
    if name in ("pandas.read_csv", "polars.read_csv", "pandas.read_parquet"):
        return files.frame(machine, args[0], scope.path) if args else NOTHING
    if name in ("pandas.read_json",):
        return files.frame(machine, args[0], scope.path) if args else NOTHING
    if short == "EventAccumulator":
        return files.event_store(args)
    if name in _TRACKERS:
        return V(AnyRun(""))
    if name in ("argparse.ArgumentParser", "ArgumentParser"):
        return V(ArgumentParser())
    return None


def _environment(machine: "Machine", scope: Namespace, args: Sequence[V]) -> V:
    name = args[0].data if args else None
    if isinstance(name, str) and name in machine.environ:
        return V(machine.environ[name], frozenset((Origin("environment", name, machine.argv_place),)))
    default = args[1] if len(args) > 1 else V(None)
    return V(default.data, default.origins | {Origin("environment", str(name), scope.path)})


def _by_key(machine: "Machine", name: str, args: list[V], kwargs: dict[str, V]) -> V:
    items = items_of(args[0]) if args else None
    key = kwargs["key"].data
    if items is None or not isinstance(key, Function):
        return NOTHING
    keys = [flow.invoke(machine, key, [item], {}) for item in items]
    order = known_function("sorted")
    assert order is not None  # noqa: S101  # a built-in of ours
    paired = order(
        [V([V((k, V(i))) for i, k in enumerate(keys)])], {k: v for k, v in kwargs.items() if k == "reverse"}
    )
    ranked = items_of(paired)
    if ranked is None:
        return NOTHING
    chosen = [items[pair.data[1].data] for pair in ranked]
    if name == "sorted":
        return V(chosen, args[0].origins)
    return (chosen[0] if name == "min" else chosen[-1]) if chosen else kwargs.get("default", NOTHING)


def _mapped(machine: "Machine", name: str, args: list[V], near: str) -> V:
    found = machine.iterate(args[1])
    if found is None:
        return NOTHING
    items = list(found)
    function = args[0].data
    made = []
    for item in items:
        if isinstance(function, Function):
            made.append(flow.invoke(machine, function, [item], {}))
        elif isinstance(function, Library) and (known := known_function(function.name)):
            made.append(known([item], {}))
        elif isinstance(function, Library) and function.name in _LOADERS:
            made.append(files.document(machine, item, near))
        else:
            return NOTHING
    if name == "map":
        return V(made)
    truths = [operators.truth_of(m) for m in made]
    return NOTHING if None in truths else V([i for i, t in zip(items, truths, strict=True) if t])


def _dict(args: list[V], kwargs: dict[str, V]) -> V:
    made: dict[str, V] = {}
    for pair in (items_of(args[0]) or []) if args and not isinstance(args[0].data, dict) else []:
        if isinstance(pair.data, list | tuple) and len(pair.data) == 2 and isinstance(pair.data[0].data, str):
            made[pair.data[0].data] = pair.data[1]
    if args and isinstance(args[0].data, dict):
        made.update(args[0].data)
    return V({**made, **kwargs})


# -- methods ---------------------------------------------------------------------------------------------------------


def _method(
    machine: "Machine", node: ast.Call, scope: Namespace, method: Library, args: list[V], kwargs: dict[str, V]
) -> V:
    owner, name = method.owner or NOTHING, method.name
    data = owner.data
    if isinstance(data, Record):
        return of_test_case(machine, node, scope, name, args, kwargs)
    if isinstance(data, PathText):
        return files.path_call(machine, data, name, args)
    if isinstance(data, OpenFile | FileText):
        if name in ("readlines", "splitlines", "split"):
            made = files.lines(machine, owner)
            return V(made) if made is not None else NOTHING
        return owner if name in ("read", "strip", "rstrip") else NOTHING
    if isinstance(data, EventStore):
        return files.event_store_call(machine, name, args)
    if isinstance(data, ArgumentParser):
        return parser_call(machine, data, name, args, kwargs, scope)
    if isinstance(data, Frame):
        return files.frame_call(data, name, args, kwargs)
    if isinstance(data, dict):
        return _of_dict(machine, data, owner, name, args)
    if isinstance(data, AnyRun) and name == "get_metric_history":
        return files.metric_history(machine, args)
    if isinstance(data, AnyRun) and name in ("run", "get_run"):
        return owner
    if isinstance(data, AnyRun):
        return (
            machine.data.lookup(args[0].data)
            if name == "get" and args and isinstance(args[0].data, str)
            else NOTHING
        )
    if isinstance(data, list | tuple):
        return _of_list(machine, data, owner, name, args, kwargs)
    if isinstance(data, str):
        return _of_text(data, owner, name, args)
    return (
        owner
        if name in ("item", "detach", "cpu", "float", "numpy", "double") and owner.number is not None
        else NOTHING
    )


def _of_dict(machine: "Machine", data: dict[object, V], owner: V, name: str, args: list[V]) -> V:
    if name == "get" and args:
        found = machine.item(owner, args[0])
        return found if found.known else (args[1] if len(args) > 1 else V(None))
    visible = {k: v for k, v in data.items() if not (isinstance(k, str) and k.startswith("\0"))}
    if name == "items":
        return V([V((V(k), v)) for k, v in visible.items()], owner.origins)
    if name == "values":
        return V(list(visible.values()), owner.origins)
    if name == "keys":
        return V([V(k) for k in visible], owner.origins)
    if name == "update" and args and isinstance(args[0].data, dict):
        data.update(args[0].data)
    if name == "setdefault" and len(args) == 2 and isinstance(args[0].data, str | int):
        return data.setdefault(args[0].data, args[1])
    return V(None) if name == "update" else NOTHING


def _of_list(
    machine: "Machine",
    data: list[V] | tuple[V, ...],
    owner: V,
    name: str,
    args: list[V],
    kwargs: dict[str, V],
) -> V:
    if isinstance(data, list):
        if name == "append" and args:
            machine.tick()
            data.append(args[0])
            return V(None)
        if name == "extend" and args:
            data.extend(items_of(args[0]) or ())
            return V(None)
    if name in (
        "tolist",
        "to_list",
        "numpy",
        "copy",
        "flatten",
        "ravel",
        "detach",
        "cpu",
        "float",
        "astype",
        "squeeze",
        "dropna",
    ):
        kept = [v for v in data if not (name == "dropna" and _no_number(v))]
        return V(
            Array(kept) if isinstance(data, Array) and name not in ("tolist", "to_list") else kept,
            owner.origins,
        )
    if name == "index" and args and args[0].known:
        found = next((i for i, v in enumerate(data) if v.data == args[0].data), None)
        return NOTHING if found is None else V(found)
    if name == "count" and args and args[0].known:
        return V(sum(v.data == args[0].data for v in data))
    if name == "item" and len(data) == 1:
        return data[0]
    known = reduction(name) if isinstance(data, Array) else None
    if known is None:
        return NOTHING
    if isinstance(data, Column):
        owner = V(Column(v for v in data if not _no_number(v)), owner.origins)
    return known([owner, *args], kwargs)


def _no_number(value: V) -> bool:
    return value.data is None or (isinstance(value.data, float) and math.isnan(value.data))


def _of_text(data: str, owner: V, name: str, args: list[V]) -> V:
    simple = {
        "strip": data.strip,
        "lower": data.lower,
        "upper": data.upper,
        "lstrip": data.lstrip,
        "rstrip": data.rstrip,
    }
    if name in simple and not args:
        return V(simple[name](), owner.origins)
    if name in ("startswith", "endswith") and args and isinstance(args[0].data, str):
        return V(data.startswith(args[0].data) if name == "startswith" else data.endswith(args[0].data))
    if name == "split" and len(data) < 10_000:
        separator = args[0].data if args and isinstance(args[0].data, str) and args[0].data else None
        return V([V(part, owner.origins) for part in data.split(separator)])
    if name == "replace" and len(args) == 2 and all(isinstance(a.data, str) for a in args) and args[0].data:
        made = data.replace(args[0].data, args[1].data)
        return V(made, owner.origins) if len(made) < MAX_TEXT else NOTHING
    return NOTHING
