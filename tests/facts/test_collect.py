"""Collecting facts: the same answer from bytes and from the cache, in one process and in several."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from audit.facts import collect as module
from audit.facts.cache import FactCache
from audit.facts.collect import collect, extract_file
from audit.facts.decode import decode
from audit.facts.kinds import Kind
from audit.facts.model import TextFacts
from audit.facts.python.model import PythonFacts
from audit.source.snapshot import Entry, Snapshot
from tests.signals.building import MemoryReader


class Reader(MemoryReader, frozen=True):
    """A reader under which the bytes of `moved` are already others than those that were listed."""

    moved: str = ""

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        for entry, data in super().read(entries):
            yield (
                (msgspec.structs.replace(entry, blob="f" * 40), b"y = 2\n")
                if entry.path == self.moved
                else (entry, data)
            )


def snapshot(files: dict[str, bytes], moved: str = "") -> Snapshot:
    entries = tuple(
        Entry(path, f"{hash((path, data)) & 0xFFFFFFFF:040x}", size=len(data))
        for path, data in sorted(files.items())
    )
    return Snapshot("a/b", entries, Reader(files, moved=moved))


FILES = {
    **{f"m{i}.py": f"import torch\ntorch.manual_seed({i})\n".encode() + b"# pad\n" * 900 for i in range(160)},
    "README.md": b"# Title\n",
    "data.bin": b"\0\1",
    "conf.yaml": b"lr: 0.1\n",
}


def test_the_same_from_bytes_processes_and_cache(tmp_path):
    plain = collect(snapshot(FILES), jobs=1, cache=None, now=0)
    cache = FactCache(tmp_path)
    parallel = collect(snapshot(FILES), jobs=2, cache=cache, now=0)
    again = collect(snapshot(FILES), jobs=1, cache=cache, now=0)
    assert plain == parallel == again
    assert list(plain.facts) == sorted(path for path in FILES if path != "data.bin")
    assert isinstance(plain.facts["m3.py"].body, PythonFacts)


SPAWNING = """\
import multiprocessing
from audit.facts.collect import collect
from tests.facts.test_collect import FILES, snapshot

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    assert len(collect(snapshot(FILES), jobs=2, cache=None, now=0).facts) > 160
"""


def test_workers_import_nothing_from_the_folder_that_they_run_in(tmp_path):
    program, here = tmp_path / "program.py", tmp_path / "audited"
    program.write_text(SPAWNING)
    here.mkdir()
    (here / "multiprocessing.py").write_text("open('imported', 'w')\n")
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=here,
        env=os.environ | {"PYTHONPATH": root},
        check=False,
        timeout=120,
    )
    assert [path.name for path in here.iterdir()] == ["multiprocessing.py"]
    assert done.returncode == 0


def test_what_is_cached_is_not_read_again(tmp_path):
    cache = FactCache(tmp_path)
    collect(snapshot(FILES), jobs=1, cache=cache, now=0)
    empty = msgspec.structs.replace(snapshot(FILES), reader=MemoryReader({}))
    assert collect(empty, jobs=1, cache=cache, now=0).facts.keys() == set(FILES) - {"data.bin"}


def test_bytes_that_changed_after_listing_are_not_kept_under_the_old_id(tmp_path):
    cache = FactCache(tmp_path)
    files = {"a.py": b"x = 1\n"}
    first = collect(snapshot(files, moved="a.py"), jobs=1, cache=cache, now=0)
    assert first.facts["a.py"].body.assigns[0].target == "y"  # type: ignore[union-attr]
    second = collect(snapshot(files), jobs=1, cache=cache, now=0)
    assert second.facts["a.py"].body.assigns[0].target == "x"  # type: ignore[union-attr]


def test_a_file_over_its_limit_is_said_to_be_skipped():
    files = {"big.yaml": b"a: 1\n" * 400_000, "a.py": b"x = 1\n"}
    [gap] = collect(snapshot(files), jobs=1, cache=None, now=0).skipped
    assert gap.path == "big.yaml" and gap.why == "1.9 MiB, over the limit of 1.0 MiB for its kind"


@pytest.mark.parametrize("damage", [b"not a database at all", b""])
def test_a_corrupt_cache_is_made_anew(tmp_path, damage):
    FactCache(tmp_path).close()
    (tmp_path / "facts.sqlite").write_bytes(damage)
    cache = FactCache(tmp_path)
    cache.put_many([(b"k", b"v")], 1)
    assert cache.get_many([b"k"]) == {b"k": b"v"}


def test_a_damaged_row_is_made_anew(tmp_path):
    cache = FactCache(tmp_path)
    good = collect(snapshot(FILES), jobs=1, cache=cache, now=0)
    cache.close()
    with sqlite3.connect(tmp_path / "facts.sqlite") as connection:
        connection.execute("UPDATE facts SET value = x'c1c1'")
    connection.close()
    assert collect(snapshot(FILES), jobs=1, cache=FactCache(tmp_path), now=0) == good


def test_a_failing_reader_costs_one_file(monkeypatch):
    def fail(text: str) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(module, "extractor_for", lambda kind: fail)
    found = extract_file(b"x = 1\n", Kind.PYTHON)
    assert found.body is None and found.partial == "its reader failed on it (RuntimeError)"


def test_lfs_pointers_and_binaries_are_no_text():
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    assert extract_file(pointer, Kind.JSON).lfs
    assert extract_file(b"a\0b", Kind.PYTHON).partial == "binary content"
    assert isinstance(extract_file(b"hello", Kind.TEXT).body, TextFacts)


@pytest.mark.parametrize(
    ("data", "text", "remark"),
    [
        (b"a\r\nb\rc", "a\nb\nc", ""),
        ("\ufeffé".encode(), "é", ""),
        ("é".encode("utf-16"), "é", "read as UTF-16"),
        (b"# -*- coding: latin-1 -*-\n\xe9", "# -*- coding: latin-1 -*-\né", "read as iso8859-1"),
        (b"caf\xe9", "café", "not UTF-8, read as Latin-1"),
        (b"a\0", "", "binary content"),
    ],
)
def test_decoding(data, text, remark):
    assert decode(data) == (text, remark)
