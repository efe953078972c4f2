"""The cache as an attacker, a full disk or another program left it: it costs time and never an answer."""

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.facts.cache import FactCache, default_folder

ROWS = [(b"k", b"v")]


def kept(folder: Path) -> dict[bytes, bytes]:
    """What a new cache gives after one that wrote."""
    for action in range(2):
        cache = FactCache(folder)
        if action == 0:
            cache.put_many(ROWS, 1)
        found = cache.get_many([b"k"])
        cache.close()
    return found


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 100)


def cut(path: Path) -> None:
    os.truncate(path, 5_000)


def torn(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))


def other_tables(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE facts (a, b)")
        connection.execute("CREATE TABLE derived (a)")


@pytest.mark.parametrize("damage", [garbage, cut, torn, other_tables])
def test_a_damaged_database_is_rebuilt(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    assert kept(tmp_path) == dict(ROWS)
    damage(tmp_path / "facts.sqlite")
    kept(tmp_path)
    assert kept(tmp_path) == dict(ROWS)


def test_values_of_another_type_are_not_handed_out(tmp_path: Path) -> None:
    kept(tmp_path)
    with sqlite3.connect(tmp_path / "facts.sqlite") as connection:
        connection.execute("UPDATE facts SET value = 'text'")
    assert FactCache(tmp_path).get_many([b"k"]) == {}


def test_a_database_that_somebody_holds_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.facts.cache._SECONDS_TO_WAIT", 0)
    kept(tmp_path)
    holder = sqlite3.connect(tmp_path / "facts.sqlite", isolation_level=None)
    holder.execute("PRAGMA journal_mode=DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    cache = FactCache(tmp_path)
    cache.put_many([(b"other", b"v")], 2)
    assert cache.get_many([b"k"]) == {}
    holder.execute("COMMIT")
    holder.close()
    assert FactCache(tmp_path).get_many([b"k", b"other"]) == dict(ROWS)


def test_assessments_are_few_and_small(tmp_path: Path) -> None:
    cache = FactCache(tmp_path)
    for number in range(250):
        cache.put_many([(b"%d" % number, b"v")], number, "derived")
    cache.put_many([(b"large", bytes(16 * 2**20 + 1))], 999, "derived")
    keys = [b"large", *(b"%d" % number for number in range(250))]
    found = cache.get_many(keys, "derived")
    assert len(found) <= 200
    assert b"249" in found
    assert b"0" not in found
    assert b"large" not in found


def test_facts_are_for_their_owner_alone(tmp_path: Path) -> None:
    kept(tmp_path / "new")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["file", "file/below", "link"])
def test_a_place_that_is_no_folder_keeps_nothing(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("link")
    assert kept(tmp_path / place) == {}


def test_without_a_home_nothing_is_written_into_the_working_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert default_folder({}) is None
    assert default_folder({"HOME": "relative", "XDG_CACHE_HOME": "relative"}) is None
    assert kept_nowhere() == {}


def kept_nowhere() -> dict[bytes, bytes]:
    cache = FactCache(None)
    cache.put_many(ROWS, 1)
    return cache.get_many([b"k"])
