"""MLflow's file store (`mlruns/<experiment>/<run>/`) and its SQLite store.

Source of the layouts: mlflow `store/tracking/file_store.py` and `store/tracking/dbmodels/models.py`. The SQLite store
holds NaN as 0.0 with `is_nan` set and an infinity as the largest double.
"""

import math
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from urllib.parse import quote

import yaml

from audit.documents.place import Gap
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, Run, Scalar, Telemetry
from audit.telemetry.numbers import number, value, whole

_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_MAX_TEXT = 1_000
_MAX_META = 256 * 1024
_MAX_ROWS = 4_000_000
_MAX_INSTRUCTIONS = 5_000  # calls of the handler, each after 100,000 SQLite instructions: some seconds in all
_MAGIC = b"SQLite format 3\0"


def is_database(artifact: Artifact) -> bool:
    """Whether it is a SQLite file."""
    return artifact.head.startswith(_MAGIC)


def group_store(artifacts: Sequence[Artifact]) -> list[tuple[Artifact, ...]]:
    """The files of each run of a file store: those below a folder whose `meta.yaml` names a run."""
    roots = {
        artifact.folder: artifact
        for artifact in artifacts
        if artifact.file == "meta.yaml" and b"run_id" in artifact.head
    }
    runs: dict[str, list[Artifact]] = {folder: [meta] for folder, meta in roots.items()}
    for artifact in artifacts:
        for part in ("metrics", "params", "tags"):
            folder, found, _ = artifact.name.partition(f"/{part}/")
            if found and folder in runs:
                runs[folder].append(artifact)
                break
    owned = {id(artifact) for files in runs.values() for artifact in files}
    experiments = [
        (artifact,)
        for artifact in artifacts
        if artifact.file == "meta.yaml" and b"experiment_id" in artifact.head and id(artifact) not in owned
    ]
    return [tuple(files) for files in runs.values()] + experiments


def read_store(files: Sequence[Artifact]) -> Telemetry:
    """One run of a file store (or an experiment's own file, which holds no values)."""
    meta_file = files[0]
    meta, gaps = _meta(meta_file)
    if "run_id" not in meta:
        return Telemetry(files=(meta_file.name,), gaps=tuple(gaps))
    root = meta_file.folder
    parts = [(artifact, artifact.name[len(root) + 1 :].split("/", 1)) for artifact in files[1:]]
    params = {path[1]: _text(artifact) for artifact, path in parts if path[0] == "params"}
    tags = {path[1]: _text(artifact) for artifact, path in parts if path[0] == "tags"}
    name = str(meta.get("run_name") or tags.get("mlflow.runName") or meta["run_id"])
    collector = Collector(Format.MLFLOW)
    for artifact, path in parts:
        if path[0] == "metrics":
            problem = _metric(artifact, path[1], name, collector)
            if problem:
                gaps.append(Gap(artifact.name, problem))
    run = _run(name, meta_file.name, params, meta.get("status"), meta.get("start_time"), meta.get("end_time"))
    return Telemetry(
        series=collector.series(),
        runs=(run,),
        files=tuple(artifact.name for artifact in files),
        gaps=tuple(gaps),
    )


def _meta(artifact: Artifact) -> tuple[dict[str, object], list[Gap]]:
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        document = yaml.load(artifact.read(_MAX_META), Loader=loader)  # noqa: S506 a safe loader
    except (yaml.YAMLError, ValueError, RecursionError, *DAMAGED):
        return {}, [Gap(artifact.name, "no readable YAML")]
    return (
        (document, []) if isinstance(document, dict) else ({}, [Gap(artifact.name, "no run's description")])
    )


def _text(artifact: Artifact) -> str:
    try:
        return artifact.read(_MAX_TEXT).decode("utf-8", "replace").strip()
    except DAMAGED:
        return ""


def _metric(artifact: Artifact, name: str, run: str, collector: Collector) -> str:
    """Reads lines of `milliseconds value step`; what is wrong with them, empty where nothing is."""
    bad = 0
    try:
        for line, raw in enumerate(artifact.lines(), 1):
            cells = raw.decode("utf-8", "replace").split()
            if not cells:
                continue
            found = number(cells[1]) if 2 <= len(cells) <= 3 else None
            step = whole(cells[2]) if len(cells) == 3 else 0
            stamp = number(cells[0])
            if found is None or step is None or stamp is None:
                bad = bad or line
                continue
            collector.add(name, step, found, run=run, source=artifact.name, time=stamp / 1000, line=line)
    except DAMAGED:
        return "damaged: it does not unpack to its end"
    return f"line {bad} is no metric: left out" if bad else ""


def _run(name: str, source: str, params: dict[str, str], status: object, start: object, end: object) -> Run:
    code = whole(status)
    started, ended = value(start), value(end)
    settings: dict[str, Scalar] = dict(params)
    return Run(
        name=name,
        source=source,
        format=Format.MLFLOW,
        settings=settings,
        status=_STATUS.get(code, str(code)) if code is not None else str(status) if status else None,
        started=started / 1000 if started else None,
        ended=ended / 1000 if ended else None,
    )


def read_database(files: Sequence[Artifact]) -> Telemetry:
    """The runs of a SQLite store, opened read-only and immutable; any other SQLite file is told as not readable."""
    artifact = files[0]
    gaps: list[Gap] = []
    collector = Collector(Format.MLFLOW)
    runs: list[Run] = []
    try:
        with closing(_connected(artifact)) as connection:
            if not _is_store(connection):
                gaps.append(Gap(artifact.name, "a SQLite file, and no MLflow store"))
            else:
                _rows(connection, artifact, collector, runs)
    except sqlite3.Error as error:
        gaps.append(Gap(artifact.name, f"damaged or cut: {error}: read up to there"))
    except (OSError, OverflowError, ValueError, MemoryError) as error:
        gaps.append(Gap(artifact.name, f"cannot be read: {error}"))
    if artifact.path is not None and _unmerged(artifact):
        gaps.append(Gap(artifact.name, "its last changes are in a write-ahead log, which was not read"))
    return Telemetry(series=collector.series(), runs=tuple(runs), files=(artifact.name,), gaps=tuple(gaps))


def _unmerged(artifact: Artifact) -> bool:
    path = artifact.path
    if path is None:
        return False
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _connected(artifact: Artifact) -> sqlite3.Connection:
    """A connection that writes nothing, trusts no schema and stops after a bounded amount of work."""
    if artifact.path is not None:
        uri = f"file:{quote(str(artifact.path.absolute()))}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True)
    else:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(artifact.data or b"")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    calls = 0

    def enough() -> int:
        nonlocal calls
        calls += 1
        return int(calls > _MAX_INSTRUCTIONS)

    connection.set_progress_handler(enough, 100_000)
    return connection


def _is_store(connection: sqlite3.Connection) -> bool:
    # Only real tables: a view under such a name could compute without end.
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('runs', 'metrics')"
    )
    return len(found.fetchall()) == 2


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _rows(connection: sqlite3.Connection, artifact: Artifact, collector: Collector, runs: list[Run]) -> None:
    names: dict[str, str] = {}
    params = _params(connection)
    named = "name" if "name" in _columns(connection, "runs") else "run_uuid"
    query = f"SELECT run_uuid, {named}, status, start_time, end_time FROM runs LIMIT 10000"  # noqa: S608 a fixed name
    for run_id, name, status, start, end in connection.execute(query):
        names[str(run_id)] = str(name or run_id)
        runs.append(_run(str(name or run_id), artifact.name, params.get(str(run_id), {}), status, start, end))
    repeated = len(set(names.values())) < len(names)
    flag = "is_nan" if "is_nan" in _columns(connection, "metrics") else "0"
    query = (
        f"SELECT run_uuid, key, value, timestamp, step, {flag} FROM metrics "  # noqa: S608 a fixed name
        f"ORDER BY run_uuid, key, timestamp, step LIMIT {_MAX_ROWS}"
    )
    for run_id, key, held, stamp, step, is_nan in connection.execute(query):
        found, at, time = value(held), whole(step), value(stamp)
        if found is None or at is None:
            continue
        run = names.get(str(run_id), str(run_id))
        collector.add(
            str(key),
            at,
            math.nan if is_nan else _infinite(found),
            run=f"{run} ({str(run_id)[:8]})" if repeated else run,
            source=artifact.name,
            time=math.nan if time is None else time / 1000,
        )


def _infinite(found: float) -> float:
    return math.copysign(math.inf, found) if abs(found) >= sys.float_info.max else found


def _params(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    if {"key", "value", "run_uuid"} <= _columns(connection, "params"):
        for run_id, key, held in connection.execute("SELECT run_uuid, key, value FROM params LIMIT 100000"):
            found.setdefault(str(run_id), {})[str(key)] = str(held)[:_MAX_TEXT]
    return found
