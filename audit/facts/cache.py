"""The fact cache: SQLite under the user's cache folder, keyed by blob id, kind and extractor version.

A cache is a convenience: whatever goes wrong with it (corrupt, locked, read-only, full) costs time and never an answer.
"""

import contextlib
import hashlib
import os
import sqlite3
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

_SCHEMA = 2
_MAX_ROWS = 400_000


@cache
def extractor_version() -> str:
    """A digest of the code that makes facts and of the running Python, whose parser they come from."""
    digest = hashlib.sha256(f"{_SCHEMA} {sys.version_info[:2]}".encode())
    here = Path(__file__).parent
    for path in sorted([*here.rglob("*.py"), *here.rglob("*.yaml"), here.parent / "safety" / "secrets.py"]):
        if path.exists():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def default_folder(environ: Mapping[str, str]) -> Path:
    """`$ML_AUDIT_CACHE_DIR`, else `$XDG_CACHE_HOME/ml-audit`, else the platform's usual place."""
    if environ.get("ML_AUDIT_CACHE_DIR"):
        return Path(environ["ML_AUDIT_CACHE_DIR"])
    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]) / "ml-audit"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "ml-audit"
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111
    return home / ("Library/Caches/ml-audit" if sys.platform == "darwin" else ".cache/ml-audit")


class FactCache:
    """Facts by key. Safe with several processes; every method degrades to "nothing cached" when SQLite refuses."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "facts.sqlite"
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection | None:
        for attempt in range(2):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS facts (key BLOB PRIMARY KEY, used INTEGER, value BLOB)"
                )
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS derived (key BLOB PRIMARY KEY, used INTEGER, value BLOB)"
                )
                connection.execute("SELECT key, used, value FROM facts LIMIT 1")
                return connection
            except sqlite3.DatabaseError:
                if attempt:
                    return None
                self._discard()
            except OSError:
                return None
        return None

    def _discard(self) -> None:
        """Throws a corrupt database away; it is rebuilt from the repository."""
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink()

    def get_many(self, keys: Iterable[bytes], table: str = "facts") -> dict[bytes, bytes]:
        """What is known of `keys`; 500 keys a query."""
        if self._connection is None:
            return {}
        wanted, found = list(keys), dict[bytes, bytes]()
        try:
            for start in range(0, len(wanted), 500):
                part = wanted[start : start + 500]
                marks = ",".join("?" * len(part))
                found.update(
                    self._connection.execute(f"SELECT key, value FROM {table} WHERE key IN ({marks})", part)  # noqa: S608
                )
        except sqlite3.DatabaseError:
            return {}
        return found

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], stamp: int, table: str = "facts") -> None:
        """Adds rows; `stamp` (seconds) orders them by age, and the oldest go when there are too many."""
        if self._connection is None:
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(
                f"INSERT OR REPLACE INTO {table} (key, used, value) VALUES (?, ?, ?)",  # noqa: S608
                [(key, stamp, value) for key, value in rows],
            )
            self._connection.execute("COMMIT")
            (count,) = self._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()  # noqa: S608
            if count > _MAX_ROWS:
                self._connection.execute(
                    f"DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} ORDER BY used LIMIT ?)",  # noqa: S608
                    (count - _MAX_ROWS // 2,),
                )
        except sqlite3.DatabaseError:
            with contextlib.suppress(sqlite3.DatabaseError):
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Closes the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
