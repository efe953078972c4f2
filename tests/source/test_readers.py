"""Readers travel to worker processes and answer there as they do here."""

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from audit.source.snapshot import BlobReader, Entry
from source.conftest import Repo
from source.test_worktree import look


def read_all(reader: BlobReader, entries: tuple[Entry, ...]) -> list[bytes | str]:
    return [content for _, content in reader.read(entries)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("suffix", ["", "@HEAD"])
def test_readers_work_in_other_processes(repo: Repo, method: str, suffix: str) -> None:
    for number in range(50):
        repo.write(f"f{number:02}", f"{number}\n")
    repo.commit()
    snapshot = look(f"{repo.path}{suffix}", repo.environ)
    expected = [f"{number}\n".encode() for number in range(50)]
    # Read here first: a forked process inherits this one's cat-file, and must not use it.
    assert read_all(snapshot.reader, snapshot.entries) == expected
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        halves = [snapshot.entries[:25], snapshot.entries[25:]] * 3
        results = [pool.submit(read_all, snapshot.reader, half) for half in halves]
        assert [answer for result in results[:2] for answer in result.result()] == expected
        assert all(len(result.result()) == 25 for result in results)
    assert read_all(snapshot.reader, snapshot.entries) == expected


@pytest.mark.parametrize("suffix", ["", "@HEAD"])
def test_readers_are_values(repo: Repo, suffix: str) -> None:
    repo.commit(a="a\n")
    snapshot = look(f"{repo.path}{suffix}", repo.environ)
    assert pickle.loads(pickle.dumps(snapshot.reader)) == snapshot.reader


def test_a_root_that_is_gone_answers_for_each_file(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n", b="b\n")
    snapshot = look(repo.path, repo.environ)
    repo.path.rename(tmp_path / "moved")
    assert (
        read_all(snapshot.reader, snapshot.entries)
        == ["the folder of the snapshot gone since it was listed"] * 2
    )
