"""JSON files of metrics: JSON lines, arrays and objects of values, and the shapes that trackers and test runners write."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from audit.documents.place import Gap
from audit.telemetry import golden, hf_trainer, pytest_report
from audit.telemetry.artifact import DAMAGED, HEAD, Artifact
from audit.telemetry.building import Collector
from audit.telemetry.flatten import numbers, settings
from audit.telemetry.loosejson import MAX_DOCUMENT, parsed
from audit.telemetry.model import Format, Run, Series, Telemetry, joined
from audit.telemetry.numbers import value, whole
from audit.telemetry.rows import RowReader

_MAX_NESTING = 4
_MIN_ROWS = 2
_RUN_NAMES = ("name", "run_name", "run", "run_id", "id", "exp_name", "experiment")


class _Shape(msgspec.Struct, frozen=True):
    """A document of a known program: how it is recognised and read."""

    fits: Callable[[object], bool]
    read: Callable[[Mapping[str, object], Artifact], Telemetry]


_SHAPES = (
    _Shape(hf_trainer.fits, hf_trainer.read),
    _Shape(pytest_report.fits, pytest_report.read),
    _Shape(golden.fits, golden.read),
)


def is_json(artifact: Artifact) -> bool:
    """Whether it starts as a JSON object or array does."""
    start = artifact.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"{":
        return True
    return start == b"[" and artifact.head.lstrip()[1:].lstrip()[:1] in b'{["0123456789-]NI'


def is_json_lines(artifact: Artifact) -> bool:
    """Whether its first line is an object by itself and another line follows, or its name says so."""
    lines = artifact.head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 2)
    if not lines[0].startswith(b"{"):
        return False
    if artifact.file.lower().removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return True
    whole_line = len(lines) > 1 or len(artifact.head) < HEAD
    if not whole_line or len(lines) < 2 or not lines[1].lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(parsed(lines[0].decode("utf-8", "replace"))[0], dict)
    except ValueError:
        return False


def read_lines(files: Sequence[Artifact]) -> Telemetry:
    """JSON lines. A line that is no JSON object is left out and told."""
    artifact = files[0]
    reader = RowReader(artifact.name, _stem(artifact), Format.JSONL, value)
    bad: list[int] = []
    problem, line = "", 0
    try:
        for line, raw in enumerate(artifact.lines(), 1):
            if not raw.strip():
                continue
            row = _row(raw)
            if row is None:
                bad.append(line)
            else:
                reader.take(row, line)
    except DAMAGED:
        problem = "damaged: it does not unpack to its end"
    if bad and bad[-1] == line and not problem:
        problem = f"ends within a line, at line {line}: that line was left out"
        bad = bad[:-1]
    gaps = [problem] if problem else []
    if bad:
        gaps.append(f"{len(bad)} lines are no JSON objects, the first at line {bad[0]}")
    if not reader.rows and not gaps:
        gaps.append("holds no values")
    return _of_rows(reader, artifact, gaps)


def _row(raw: bytes) -> dict[str, object] | None:
    try:
        document, note = parsed(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
    return _flat(document) if isinstance(document, dict) and not note else None


def _flat(document: Mapping[str, object]) -> dict[str, object]:
    return dict(settings(document))


def _of_rows(reader: RowReader, artifact: Artifact, problems: Sequence[str] = ()) -> Telemetry:
    return Telemetry(
        series=reader.series(),
        tables=reader.tables(),
        runs=reader.runs(),
        files=(artifact.name,),
        gaps=tuple(Gap(artifact.name, problem) for problem in problems),
    )


def read(files: Sequence[Artifact]) -> Telemetry:
    """One JSON document of any of the shapes; one that is cut is read up to the cut."""
    artifact = files[0]
    try:
        raw = artifact.read(MAX_DOCUMENT + 1)
    except DAMAGED:
        return _unread(artifact, "damaged: it does not unpack to its end")
    try:
        document, note = parsed(raw[:MAX_DOCUMENT].decode("utf-8", "replace"))
    except ValueError as error:
        return _unread(artifact, f"no JSON: {error}")
    if len(raw) > MAX_DOCUMENT:
        note = f"larger than {MAX_DOCUMENT // 2**20} MB: read up to there"
    found = _document(document, artifact)
    if note:
        return joined([found, Telemetry(gaps=(Gap(artifact.name, note),))])
    return found


def _unread(artifact: Artifact, why: str) -> Telemetry:
    return Telemetry(files=(artifact.name,), gaps=(Gap(artifact.name, why),))


def _document(document: object, artifact: Artifact) -> Telemetry:
    for shape in _SHAPES:
        if isinstance(document, dict) and shape.fits(document):
            return shape.read(document, artifact)
    if isinstance(document, dict):
        return joined(
            [
                *_histories(document, artifact, _stem(artifact), 0),
                Telemetry(runs=_summary(document, artifact), files=(artifact.name,)),
            ]
        )
    if isinstance(document, list):
        found = _list(document, artifact, _stem(artifact), _stem(artifact))
        return joined([found, Telemetry(files=(artifact.name,))])
    return _unread(artifact, "holds no values")


def _histories(document: Mapping[str, object], artifact: Artifact, run: str, depth: int) -> list[Telemetry]:
    """The lists in an object: equally long lists of numbers are columns of one history, lists of objects are rows."""
    columns = {
        str(key): item
        for key, item in document.items()
        if isinstance(item, list) and len(item) >= _MIN_ROWS and _numeric(item)
    }
    found = [_columns(columns, artifact, run)] if columns else []
    for key, item in document.items():
        if isinstance(item, list) and str(key) not in columns:
            found.append(_list(item, artifact, run, str(key)))
        elif isinstance(item, dict) and depth < _MAX_NESTING:
            found += _histories(item, artifact, run, depth + 1)
    return found


def _numeric(items: Sequence[object]) -> bool:
    return any(value(item) is not None for item in items) and all(
        item is None or value(item) is not None for item in items
    )


def _columns(columns: Mapping[str, Sequence[object]], artifact: Artifact, run: str) -> Telemetry:
    reader = RowReader(artifact.name, run, Format.JSON, value)
    by_length: dict[int, list[str]] = {}
    for name, items in columns.items():
        by_length.setdefault(len(items), []).append(name)
    series: list[Series] = []
    for length, names in by_length.items():
        reader = RowReader(artifact.name, run, Format.JSON, value)
        for index in range(length):
            reader.take({name: columns[name][index] for name in names}, 0)
        series += reader.series()
    return Telemetry(series=tuple(series))


def _list(items: Sequence[object], artifact: Artifact, run: str, name: str) -> Telemetry:
    rows = [item for item in items if isinstance(item, dict)]
    if rows:
        reader = RowReader(artifact.name, run, Format.JSON, value)
        for row in rows:
            reader.take(_flat(row), 0)
        return msgspec.structs.replace(_of_rows(reader, artifact), files=())
    if len(items) >= _MIN_ROWS and _numeric(items):
        return _columns({name: items}, artifact, run)
    return _triples(items, artifact, run, name)


def _triples(items: Sequence[object], artifact: Artifact, run: str, name: str) -> Telemetry:
    """A download of one TensorBoard curve: rows of wall time, step, value."""
    collector = Collector(Format.JSON)
    for item in items:
        if not isinstance(item, list) or len(item) != 3:
            return Telemetry()
        time, step, found = (value(cell) for cell in item)
        at = whole(step)
        if time is not None and at is not None and found is not None:
            collector.add(name, at, found, run=run, source=artifact.name, time=time)
    return Telemetry(series=collector.series())


def _summary(document: Mapping[str, object], artifact: Artifact) -> tuple[Run, ...]:
    found = numbers(document)
    if not found:
        return ()
    kind = Format.WANDB_EXPORT if "_wandb" in document or "_runtime" in document else Format.JSON
    known = settings(document)
    name = next((str(known[key]) for key in _RUN_NAMES if isinstance(known.get(key), str)), _stem(artifact))
    step = whole(document.get("_step"))
    own = {
        key: item
        for key, item in found.items()
        if not key.startswith(("_wandb", "_step", "_runtime", "_timestamp"))
    }
    text = {key: item for key, item in known.items() if isinstance(item, str)}
    return (
        Run(name=name, source=artifact.name, format=kind, summary=own, settings=dict(text), last_step=step),
    )


def _stem(artifact: Artifact) -> str:
    return artifact.file.split(".")[0] or artifact.file
