"""The fact cache: SQLite under the user's cache folder, keyed by blob id, kind and extractor version.

A cache is a convenience: whatever goes wrong with it (corrupt, locked, read-only, full) costs time and never an answer.
"""

import contextlib
import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

_SCHEMA = 2
# Rows of facts have some kilobytes; a derived row holds a whole assessment, a hundred of them.
_MAX_ROWS = {"facts": 400_000, "derived": 200}
_MAX_VALUE = 16 * 2**20
_SECONDS_TO_WAIT = 5
# What is wrong with the file itself, SQLITE_ERROR standing for tables of another shape. A file that is locked, read-only or on a full disk is
# left alone: somebody may be using it.
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


@cache
def extractor_version() -> str:
    """A digest of the code that makes facts and of the running Python, whose parser they come from."""
    digest = hashlib.sha256(f"{_SCHEMA} {sys.version_info[:2]}".encode())
    here = Path(__file__).parent
    for path in sorted([*here.rglob("*.py"), *here.rglob("*.yaml"), here.parent / "safety" / "secrets.py"]):
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def default_folder(environ: Mapping[str, str]) -> Path | None:
    """`$ML_AUDIT_CACHE_DIR`, else `$XDG_CACHE_HOME/ml-audit`, else the platform's usual place, None for a user without a home."""
    if environ.get("ML_AUDIT_CACHE_DIR"):
        return Path(environ["ML_AUDIT_CACHE_DIR"])
    if os.path.isabs(environ.get("XDG_CACHE_HOME", "")):  # noqa: PTH117 (the specification says to pass over others)
        return Path(environ["XDG_CACHE_HOME"]) / "ml-audit"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "ml-audit"
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    if not home.is_absolute():  # nobody's home: "~" would be a folder of the working directory
        return None
    return home / ("Library/Caches/ml-audit" if sys.platform == "darwin" else ".cache/ml-audit")


class FactCache:
    """Facts by key. Safe with several processes; every method degrades to "nothing cached" when SQLite refuses."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "facts.sqlite" if folder else None
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection | None:
        if self._path is None:
            return None
        for _ in range(2):
            try:
                return _connect(self._path)
            except sqlite3.Error as error:
                if not _is_broken(error):
                    return None
                self._discard(self._path)
            except OSError:
                return None
        return None

    def _discard(self, path: Path) -> None:
        """Throws a corrupt database away; it is rebuilt from the repository."""
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                path.with_name(path.name + suffix).unlink()

    def _refused(self, error: sqlite3.Error) -> None:
        """After an error in the middle of the work: a database whose damage shows only now is begun anew."""
        if self._path is not None and _is_broken(error):
            self.close()
            self._discard(self._path)
            self._connection = self._opened()

    def get_many(self, keys: Iterable[bytes], table: str = "facts") -> dict[bytes, bytes]:
        """What is known of `keys`; 500 keys a query."""
        if self._connection is None:
            return {}
        wanted, found = list(keys), dict[bytes, bytes]()
        try:
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                rows = self._connection.execute(
                    f"SELECT key, value FROM {table} WHERE key IN ({marks})",  # noqa: S608
                    part,
                )
                found.update((key, value) for key, value in rows if isinstance(value, bytes))
        except sqlite3.Error as error:
            self._refused(error)
            return {}
        return found

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], stamp: int, table: str = "facts") -> None:
        """Adds rows; `stamp` (seconds) orders them by age, and the oldest go when there are too many. One over 16 MiB is not kept."""
        if self._connection is None:
            return
        kept = [(key, stamp, value) for key, value in rows if len(value) <= _MAX_VALUE]
        if not kept:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                f"INSERT OR REPLACE INTO {table} (key, used, value) VALUES (?, ?, ?)",  # noqa: S608
                kept,
            )
            self._connection.execute("COMMIT")
            (count,) = self._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()  # noqa: S608
            if count > _MAX_ROWS[table]:
                self._connection.execute(
                    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY used LIMIT ?)",  # noqa: S608
                    (count - _MAX_ROWS[table] // 2,),
                )
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            self._refused(error)

    def close(self) -> None:
        """Closes the database."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _connect(path: Path) -> sqlite3.Connection:
    """The database at `path`, made where there is none, readable by its owner alone: facts quote private code."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = sqlite3.connect(path, timeout=_SECONDS_TO_WAIT, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        for table in _MAX_ROWS:
            connection.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key BLOB PRIMARY KEY, used INTEGER, value BLOB)"
            )
            connection.execute(f"SELECT key, used, value FROM {table} LIMIT 1")  # noqa: S608
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _is_broken(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


@contextlib.contextmanager
def opened(environ: Mapping[str, str], *, use: bool = True) -> Iterator[FactCache | None]:
    """The user's cache while the block runs; None where it is not to be used."""
    kept = FactCache(default_folder(environ)) if use else None
    try:
        yield kept
    finally:
        if kept is not None:
            kept.close()
