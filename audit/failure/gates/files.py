"""What a comparator reads: files of the checkout as stored values, a run's output from telemetry. Nothing is opened."""

import json
import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from audit.failure.gates.model import Origin
from audit.failure.gates.rundata import points_of, same_metric
from audit.failure.gates.values import (
    MAX_ITEMS,
    NOTHING,
    AnyRun,
    Column,
    EventStore,
    FileText,
    Frame,
    Library,
    LineText,
    OpenFile,
    PathText,
    Record,
    V,
    items_of,
    plain,
)

if TYPE_CHECKING:
    from audit.failure.gates.calc import Machine

_STORED: Final = (".json", ".yaml", ".yml", ".toml", ".jsonl", ".csv", ".tsv")


def path_of(value: V) -> str | None:
    """The path that a value names."""
    data = value.data
    if isinstance(data, PathText | OpenFile | FileText):
        return data.path
    return data if isinstance(data, str) else None


def stored(machine: "Machine", path: str, near: str) -> str | None:
    """The checkout's file that a path means, None where it is a run's output."""
    return machine.checkout.resolve(path, near) if path.endswith(_STORED) else None


def document(machine: "Machine", value: V, near: str) -> V:
    """What `json.load`, `yaml.safe_load`, `tomllib.load` make of a file, its text or one of its lines."""
    if isinstance(value.data, LineText):
        return value.data.row
    path = path_of(value)
    if path is None or not isinstance(value.data, OpenFile | FileText):
        return _from_text(value)
    found = stored(machine, path, near)
    if found is None:
        return machine.data.document(path)
    return plain(machine.checkout.data(found), frozenset((Origin("stored", "", found),)))


def _from_text(value: V) -> V:
    """A JSON text that the code itself wrote out."""
    if not isinstance(value.data, str) or not value.data.lstrip().startswith(("{", "[")):
        return NOTHING
    try:
        return plain(json.loads(value.data), value.origins)
    except (ValueError, RecursionError):
        return NOTHING


def rows(machine: "Machine", value: V, near: str) -> V:
    """What `csv.DictReader` and `pandas.read_csv` make of a file: its rows."""
    path = path_of(value)
    if path is None:
        return NOTHING
    found = stored(machine, path, near)
    if found is not None:
        return _stored_rows(machine, found)
    made = machine.data.rows(path)
    return NOTHING if made is None else V(list(made))


def _stored_rows(machine: "Machine", path: str) -> V:
    import csv

    text = machine.checkout.text(path) or ""
    origins = frozenset((Origin("stored", "", path),))
    try:
        reader = csv.DictReader(text.splitlines())
        made = [
            plain({k: v for k, v in row.items() if isinstance(k, str)}, origins)
            for _, row in zip(range(MAX_ITEMS), reader, strict=False)
        ]
    except csv.Error:
        return NOTHING
    return V(made, origins)


def lines(machine: "Machine", value: V) -> list[V] | None:
    """The lines of a data file, each already read."""
    data = value.data
    if isinstance(data, EventStore):
        return None
    if not isinstance(data, OpenFile | FileText):
        return None
    found = stored(machine, data.path, "")
    if found is not None:
        return _stored_lines(machine, found)
    made = machine.data.rows(data.path)
    return [V(LineText(row)) for row in made] if made is not None else None


def _stored_lines(machine: "Machine", path: str) -> list[V]:
    origins = frozenset((Origin("stored", "", path),))
    return [V(line, origins) for line in (machine.checkout.text(path) or "").split("\n")[:MAX_ITEMS]]


def item(machine: "Machine", owner: V, key: V) -> V:
    """`owner[key]` of a table, of a run, of an event store's tags."""
    data = owner.data
    if isinstance(data, AnyRun) and isinstance(key.data, str):
        return machine.data.lookup(key.data)
    if isinstance(data, Frame):
        return _column(data, key)
    if (
        isinstance(data, Library)
        and data.owner is None
        and data.name == "os.environ"
        and isinstance(key.data, str)
    ):
        value = machine.environ.get(key.data)
        return (
            NOTHING
            if value is None
            else V(value, frozenset((Origin("environment", key.data, machine.argv_place),)))
        )
    return NOTHING


def _column(frame: Frame, key: V) -> V:
    """`table["loss"]`, `table[table["step"] > 20]`, `table.iloc[-1]`."""
    if isinstance(key.data, str):
        cells = []
        for row in frame.rows:
            found = row.data.get(key.data) if isinstance(row.data, dict) else None
            if found is None and isinstance(row.data, dict):
                near = [n for n in row.data if isinstance(n, str) and same_metric(key.data, n) == 2]
                found = row.data[near[0]] if len(near) == 1 else None
            if found is None:
                return NOTHING
            cells.append(V(float("nan"), found.origins) if found.data == "" else found)
        return V(Column(cells))
    if isinstance(key.data, list) and len(key.data) == len(frame.rows):
        kept = [row for row, mask in zip(frame.rows, key.data, strict=True) if mask.data is True]
        return V(Frame(tuple(kept)))
    if isinstance(key.data, int) and -len(frame.rows) <= key.data < len(frame.rows):
        return frame.rows[key.data]
    return NOTHING


def opened(args: Sequence[V]) -> V:
    """`open(path)`."""
    path = path_of(args[0]) if args else None
    return V(OpenFile(path), args[0].origins) if path is not None else NOTHING


def event_store(args: Sequence[V]) -> V:
    path = path_of(args[0]) if args else None
    return V(EventStore(path or ""))


def event_store_call(machine: "Machine", name: str, args: Sequence[V]) -> V:
    """Methods of TensorBoard's accumulator: `Reload`, `Tags`, `Scalars`."""
    if name == "Tags":
        return V({"scalars": V(machine.data.tags())})
    if name == "Scalars" and args and isinstance(args[0].data, str):
        series = machine.data.scalars(args[0].data)
        if series is None:
            return NOTHING
        return V([V(Record({"step": V(step), "value": value})) for step, value in points_of(series)])
    return V(None)


def path_call(machine: "Machine", path: PathText, name: str, args: Sequence[V]) -> V:
    """Methods of a path."""
    if name in ("read_text", "read_bytes"):
        return V(FileText(path.path))
    if name == "open":
        return V(OpenFile(path.path))
    if name in ("glob", "rglob", "iterdir"):
        return _globbed(machine, path, args)
    if name in ("resolve", "absolute", "expanduser", "as_posix", "__str__"):
        return V(path)
    if name == "with_name" and args and isinstance(args[0].data, str):
        return V(PathText(posixpath.join(posixpath.dirname(path.path), args[0].data)))
    if name == "joinpath" and args and isinstance(args[0].data, str):
        return V(PathText(f"{path.path}/{args[0].data}"))
    return NOTHING


def path_attribute(path: PathText, name: str) -> V:
    """`path.parent`, `path.name`, `path.stem`."""
    if name == "parent":
        return V(PathText(posixpath.dirname(path.path) or "."))
    if name == "parents":
        parts = path.path.split("/")[:-1]
        return V([V(PathText("/".join(parts[:n]) or ".")) for n in range(len(parts), -1, -1)])
    last = posixpath.basename(path.path)
    return V(last if name == "name" else posixpath.splitext(last)[0])


def _globbed(machine: "Machine", path: PathText, args: Sequence[V]) -> V:
    """Files of the checkout that match, else one path with its pattern: which file of the run that is, telemetry knows."""
    import fnmatch

    pattern = args[0].data if args and isinstance(args[0].data, str) else "*"
    whole = f"{path.path}/{pattern}".removeprefix("./")
    found = sorted(p for p in machine.checkout.paths if fnmatch.fnmatchcase(p, whole.replace("**/", "*")))
    return V([V(PathText(p)) for p in (found or [whole])[:1000]])


def frame(machine: "Machine", value: V, near: str) -> V:
    """`pandas.read_csv(path)`."""
    made = rows(machine, value, near)
    items = items_of(made) if made.known else None
    return V(Frame(tuple(items))) if items is not None else NOTHING


def frame_call(owner: Frame, name: str, args: Sequence[V], kwargs: dict[str, V]) -> V:
    """Methods of a table: `head`, `tail`, `dropna`, `to_dict("records")`, `iterrows`."""
    count = args[0].data if args and isinstance(args[0].data, int) else 5
    if name == "tail":
        return V(Frame(owner.rows[-count:] if count else ()))
    if name == "head":
        return V(Frame(owner.rows[:count]))
    if name in ("to_dict", "to_records"):
        return V(list(owner.rows))
    if name == "iterrows":
        return V([V((V(i), row)) for i, row in enumerate(owner.rows)])
    if name == "dropna":
        subset = kwargs.get("subset") or (args[0] if args else None)
        names = (
            [i.data for i in items_of(subset) or ()]
            if subset is not None and not isinstance(subset.data, str)
            else [subset.data]
            if subset
            else []
        )
        kept = [row for row in owner.rows if all(_filled(row, n) for n in names or row.data)]
        return V(Frame(tuple(kept)))
    return NOTHING


def _filled(row: V, name: Any) -> bool:
    value = row.data.get(name) if isinstance(row.data, dict) else None
    return value is not None and value.data not in ("", None) and value.data == value.data


def metric_history(machine: "Machine", args: Sequence[V]) -> V:
    """MLflow's history of a metric: `get_metric_history(run_id, key)`."""
    key = next((a.data for a in reversed(args) if isinstance(a.data, str)), None)
    series = machine.data.one(key) if key else None
    if series is None:
        return NOTHING
    return V([V(Record({"step": V(s), "value": v, "key": V(series.name)})) for s, v in points_of(series)])
