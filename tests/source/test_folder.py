"""The snapshot of a plain folder."""

import os
from pathlib import Path

import pytest

from audit.source.blobs import blob_id
from audit.source.errors import SourceError
from audit.source.snapshot import Entry, EntryKind
from source.test_worktree import contents, look, why


def write(folder: Path, name: str, content: str = "x\n") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_files_links_and_what_is_left_out(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tmp_path / "plain"
    for name in (
        "a.py",
        "pkg/b.py",
        ".venv/x.py",
        "my_env/pyvenv.cfg",
        "my_env/lib/y.py",
        "w/node_modules/z.js",
    ):
        write(folder, name, name)
    write(folder, "pkg/__pycache__/b.pyc")
    write(folder, "venv")
    (folder / "link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    snapshot = look(folder, environ)
    assert snapshot.git is None
    assert snapshot.repository == "plain"
    assert snapshot.entries == (
        Entry("a.py", blob_id(b"a.py"), EntryKind.FILE, 4, tracked=False),
        Entry("link", blob_id(b"/etc"), EntryKind.SYMLINK, 4, tracked=False),
        Entry("pkg/b.py", blob_id(b"pkg/b.py"), EntryKind.FILE, 8, tracked=False),
        Entry("venv", blob_id(b"x\n"), EntryKind.FILE, 2, tracked=False),
    )
    assert contents(snapshot)["link"] == b"/etc"
    assert why(snapshot) == {"pipe": "a named pipe, not a file"}
    assert snapshot.notes == (
        "The folder is not in a Git repository.",
        "Folders that tools make were left out: .venv, __pycache__, my_env, node_modules.",
    )


def test_recursive_links_end(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tmp_path / "loop"
    write(folder, "a/b/c.py")
    (folder / "a/b/up").symlink_to(folder)
    (folder / "self").symlink_to("self")
    assert set(contents(look(folder, environ))) == {"a/b/c.py", "a/b/up", "self"}


def test_deep_nesting_ends(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    snapshot = look(folder, environ)
    assert snapshot.entries == ()
    assert [gap.why for gap in snapshot.gaps] == ["folders nested more than 200 deep were not entered"]


def test_an_unreadable_folder_is_a_gap(tmp_path: Path, environ: dict[str, str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    folder = tmp_path / "plain"
    write(folder, "shut/a")
    (folder / "shut").chmod(0)
    assert why(look(folder, environ)) == {"shut": "permission denied"}
    (folder / "shut").chmod(0o755)


def test_what_is_no_folder_is_explained(tmp_path: Path, environ: dict[str, str]) -> None:
    write(tmp_path, "file")
    with pytest.raises(SourceError, match="is not a folder"):
        look(tmp_path / "file", environ)
    with pytest.raises(SourceError, match="neither a folder of this machine nor owner/repo"):
        look(tmp_path / "nothing", environ)
    with pytest.raises(SourceError, match="asks for a commit, but the folder is not in a Git repository"):
        look(f"{tmp_path}@main", environ)


def test_content_that_is_too_much_to_hash_has_a_stand_in(tmp_path: Path, environ: dict[str, str]) -> None:
    folder = tmp_path / "plain"
    write(folder, "a", "0123456789")
    write(folder, "b", "0123456789")
    first = look(folder, environ, limit=5)
    assert len({entry.blob for entry in first.entries}) == 2
    assert all(len(entry.blob) == 40 for entry in first.entries)
    assert look(folder, environ, limit=5).entries == first.entries
    assert set(contents(first).values()) == {"10 bytes, over the limit of 5 bytes"}


def test_without_folder_handles_links_are_still_refused(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audit.source.confined.HAS_FOLDER_HANDLES", False)
    folder = tmp_path / "plain"
    write(folder, "pkg/a.py", "a\n")
    write(tmp_path / "out", "a.py", "TOKEN\n")
    snapshot = look(folder, environ)
    assert contents(snapshot) == {"pkg/a.py": b"a\n"}
    (folder / "pkg").rename(folder / "moved")
    (folder / "pkg").symlink_to(tmp_path / "out")
    assert contents(snapshot) == {"pkg/a.py": "cannot be read (a link or a file stands where a folder was)"}
