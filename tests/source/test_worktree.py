"""The snapshot of a work tree: what Git tracks, what it does not, and what differs."""

import os
from pathlib import Path

import pytest

from audit.documents.place import Gap
from audit.source.blobs import blob_id
from audit.source.errors import SourceError
from audit.source.git import git_in, open_repository
from audit.source.open import open_snapshot
from audit.source.snapshot import Entry, EntryKind, Snapshot, Submodule
from source.conftest import Repo


def look(target: object, environ: dict[str, str], limit: int = 2**20) -> Snapshot:
    with open_snapshot(str(target), environ=environ, limit=limit) as snapshot:
        return snapshot


def contents(snapshot: Snapshot) -> dict[str, bytes | str]:
    return {entry.path: content for entry, content in snapshot.reader.read(snapshot.entries)}


def why(snapshot: Snapshot) -> dict[str, str]:
    return {gap.path: gap.why for gap in snapshot.gaps}


def test_a_clean_tree_is_its_index(repo: Repo) -> None:
    repo.write("pkg/mod.py", "import torch\n")
    commit = repo.commit(README__md="hello\n")
    repo.git("remote", "add", "origin", "https://someone:secret@example.org/owner/name.git")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.entries == (
        Entry("README.md", blob_id(b"hello\n"), EntryKind.FILE, 6),
        Entry("pkg/mod.py", blob_id(b"import torch\n"), EntryKind.FILE, 13),
    )
    assert contents(snapshot) == {"README.md": b"hello\n", "pkg/mod.py": b"import torch\n"}
    assert snapshot.repository == "owner/name"
    assert snapshot.gaps == ()
    assert snapshot.notes == ()
    assert snapshot.git is not None
    assert snapshot.git.commit == commit
    assert snapshot.git.branch == "main"
    assert snapshot.git.remote == "https://example.org/owner/name.git"
    assert snapshot.git.modified == ()
    assert snapshot.git.untracked == ()
    assert not snapshot.git.shallow


def test_the_blob_ids_are_those_of_git(repo: Repo) -> None:
    repo.commit(a__py="print(1)\n", b__py="")
    listed = {line.split("\t")[1]: line.split()[1] for line in repo.git("ls-files", "-s").splitlines()}
    repo.write("new.py", "x = 1\n")
    snapshot = look(repo.path, repo.environ)
    assert {entry.path: entry.blob for entry in snapshot.entries if entry.tracked} == listed
    new = next(entry for entry in snapshot.entries if not entry.tracked)
    assert new.blob == repo.git("hash-object", "--no-filters", "new.py")


def test_every_kind_of_change_is_named_once(repo: Repo) -> None:
    repo.commit(kept="k\n", edited="e\n", deleted="d\n", staged="s\n", both="b\n")
    repo.write("edited", "EE\n")
    (repo.path / "deleted").unlink()
    repo.write("staged", "S\n")
    repo.git("add", "staged")
    repo.write("added", "new and staged\n")
    repo.git("add", "added")
    repo.git("rm", "--quiet", "both")
    repo.write("new.txt")
    repo.write(".gitignore", "*.log\n")
    repo.write("a.log")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("added", "both", "deleted", "edited", "staged")
    assert snapshot.git.untracked == (".gitignore", "new.txt")
    assert [entry.path for entry in snapshot.entries] == [
        ".gitignore", "added", "edited", "kept", "new.txt", "staged",
    ]  # fmt: skip
    edited = next(entry for entry in snapshot.entries if entry.path == "edited")
    assert edited == Entry("edited", blob_id(b"EE\n"), EntryKind.FILE, 3)
    assert snapshot.notes == (
        f"The work tree, which was looked at, differs from commit {snapshot.git.commit[:12]}: "  # type: ignore[index]
        "tracked files changed: 5, untracked paths: 2.",
    )


def test_an_index_that_is_only_out_of_date_is_no_change(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    for name in ("a", "b"):
        os.utime(repo.path / name, (1, 1))
    before = (repo.path / ".git/index").read_bytes()
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ()
    assert (repo.path / ".git/index").read_bytes() == before


def test_a_changed_mode_is_a_change(repo: Repo) -> None:
    repo.commit(run__sh="echo\n")
    (repo.path / "run.sh").chmod(0o755)
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("run.sh",)
    assert snapshot.entries == (Entry("run.sh", blob_id(b"echo\n"), EntryKind.FILE, 5),)


def test_line_ends_that_git_converts_are_no_change(repo: Repo) -> None:
    repo.write(".gitattributes", "*.bat text eol=crlf\n")
    repo.commit(a__bat="one\r\ntwo\r\n")
    os.utime(repo.path / "a.bat", (1, 1))
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ()
    entry = snapshot.entries[1]
    assert (entry.path, entry.blob) == ("a.bat", blob_id(b"one\ntwo\n"))
    assert contents(snapshot)["a.bat"] == b"one\r\ntwo\r\n"


def test_a_file_told_to_be_unchanged_is_looked_at(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.git("update-index", "--assume-unchanged", "a")
    repo.write("a", "changed\n")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("a",)
    assert snapshot.entries[0].blob == blob_id(b"changed\n")


def test_an_unmerged_file_is_read_as_it_lies_there(repo: Repo) -> None:
    repo.commit(a="base\n")
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit(a="other\n")
    repo.git("checkout", "--quiet", "main")
    repo.commit(a="main\n")
    repo.git("merge", "other", fails=True)
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("a",)
    assert b"<<<<<<<" in contents(snapshot)["a"]
    assert len(snapshot.entries) == 1
    assert "A merge is under way: 1 unmerged files were looked at as they lie on disk." in snapshot.notes


def test_empty_repository_and_unborn_head(repo: Repo) -> None:
    snapshot = look(repo.path, repo.environ)
    assert snapshot.entries == ()
    assert snapshot.git is not None
    assert (snapshot.git.commit, snapshot.git.branch) == (None, "main")
    assert snapshot.repository == "project"
    assert snapshot.notes == ("The repository has no commit yet.",)
    repo.write("a")
    repo.git("add", "a")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("a",)


def test_detached_head_has_no_branch(repo: Repo) -> None:
    commit = repo.commit(a="a\n")
    repo.git("checkout", "--quiet", "--detach")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert (snapshot.git.commit, snapshot.git.branch) == (commit, None)


def test_shallow_clone(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.commit(a="b\n")
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    snapshot = look(tmp_path / "clone", repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.shallow
    assert contents(snapshot) == {"a": b"b\n"}


def test_linked_work_tree(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit(a="a\n")
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked" / "b").write_text("b\n")
    snapshot = look(tmp_path / "linked", repo.environ)
    assert snapshot.git is not None
    assert (snapshot.git.commit, snapshot.git.branch) == (commit, "side")
    assert contents(snapshot) == {"a": b"a\n", "b": b"b\n"}
    assert snapshot.git.untracked == ("b",)


def test_a_folder_of_a_work_tree_gives_its_own_files(repo: Repo) -> None:
    repo.write("sub/inner/a.py", "a\n")
    repo.write("sub/b.py", "b\n")
    commit = repo.commit(top__py="t\n")
    repo.write("sub/new.py", "n\n")
    repo.write("elsewhere.py", "e\n")
    repo.write("sub/b.py", "changed\n")
    snapshot = look(repo.path / "sub", repo.environ)
    assert contents(snapshot) == {"b.py": b"changed\n", "inner/a.py": b"a\n", "new.py": b"n\n"}
    assert snapshot.git is not None
    assert snapshot.git.commit == commit
    assert snapshot.git.modified == ("b.py",)
    assert snapshot.git.untracked == ("new.py",)
    assert snapshot.notes[0] == "Only the folder sub/ of the repository was looked at."


def test_a_folder_that_git_ignores_is_a_plain_folder(repo: Repo) -> None:
    repo.commit(__gitignore="out/\n")
    repo.write("out/a.py", "a\n")
    snapshot = look(repo.path / "out", repo.environ)
    assert snapshot.git is None
    assert contents(snapshot) == {"a.py": b"a\n"}
    assert snapshot.notes == (
        "The Git repository around the folder tracks nothing of it, so it was read as a plain folder.",
    )


def test_submodules(repo: Repo, tmp_path: Path, environ: dict[str, str]) -> None:
    other = Repo(tmp_path / "other", environ)
    other.path.mkdir()
    other.git("init", "--quiet")
    other.commit(inner="i\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "lib")
    commit = repo.commit(a="a\n")
    snapshot = look(repo.path, environ)
    assert snapshot.git is not None
    assert snapshot.git.submodules == (Submodule("lib", True),)
    assert snapshot.git.modified == ()
    assert why(snapshot) == {"lib": "a submodule, a repository of its own"}
    assert [entry.path for entry in snapshot.entries] == [".gitmodules", "a", "lib"]
    assert contents(snapshot)["lib"] == "a submodule, a repository of its own"
    Repo(repo.path / "lib", environ).commit(inner="changed\n")
    snapshot = look(repo.path, environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("lib",)
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    snapshot = look(tmp_path / "clone", environ)
    assert snapshot.git is not None
    assert snapshot.git.commit == commit
    assert snapshot.git.submodules == (Submodule("lib", False),)
    assert snapshot.git.modified == ()
    assert why(snapshot) == {"lib": "a submodule, and its content is not here"}


def test_sparse_checkout_names_what_is_not_there(repo: Repo) -> None:
    repo.write("docs/a.md", "d\n")
    repo.write("src/a.py", "s\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "src")
    snapshot = look(repo.path, repo.environ)
    assert contents(snapshot) == {"src/a.py": b"s\n"}
    assert why(snapshot) == {"docs/a.md": "outside the sparse checkout"}
    assert snapshot.git is not None
    assert snapshot.git.modified == ()


def test_links_are_never_followed(repo: Repo, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.py").write_text("TOKEN\n")
    repo.write("pkg/key.py", "harmless\n")
    (repo.path / "file").symlink_to(secret / "key.py")
    (repo.path / "loop").symlink_to(".")
    (repo.path / "dangling").symlink_to("nowhere")
    repo.commit()
    snapshot = look(repo.path, repo.environ)
    kinds = {entry.path: entry.kind for entry in snapshot.entries}
    assert kinds["file"] is kinds["loop"] is kinds["dangling"] is EntryKind.SYMLINK
    assert contents(snapshot)["file"] == os.fsencode(secret / "key.py")
    assert contents(snapshot)["loop"] == b"."
    # A folder on the way becomes a link: after the listing, and before it.
    (repo.path / "pkg/key.py").unlink()
    (repo.path / "pkg").rmdir()
    (repo.path / "pkg").symlink_to(secret)
    assert contents(snapshot)["pkg/key.py"] == "cannot be read (Not a directory)"
    later = look(repo.path, repo.environ)
    assert later.git is not None
    assert "pkg/key.py" in later.git.modified  # type: ignore[operator]
    assert b"TOKEN\n" not in contents(later).values()
    assert "pkg/key.py" not in contents(later)


def test_a_file_that_becomes_a_link_after_the_listing_is_not_read(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("TOKEN\n")
    repo.commit(a="a\n")
    snapshot = look(repo.path, repo.environ)
    (repo.path / "a").unlink()
    (repo.path / "a").symlink_to(tmp_path / "secret")
    assert contents(snapshot) == {"a": "a symbolic link stands where the file was"}


def test_pipes_and_sockets_do_not_block(repo: Repo) -> None:
    repo.commit(tracked="t\n", gone="g\n")
    snapshot = look(repo.path, repo.environ)
    (repo.path / "tracked").unlink()
    os.mkfifo(repo.path / "tracked")
    os.mkfifo(repo.path / "untracked")
    assert contents(snapshot)["tracked"] == "not a regular file"
    later = look(repo.path, repo.environ)
    assert contents(later) == {"gone": b"g\n"}
    assert why(later) == {"tracked": "a named pipe stands where Git tracks a file"}
    assert later.git is not None
    assert later.git.modified == ("tracked",)


def test_unreadable_and_vanished_files_say_so(repo: Repo) -> None:
    repo.commit(a="a\n", b="b\n")
    snapshot = look(repo.path, repo.environ)
    (repo.path / "a").unlink()
    (repo.path / "b").chmod(0)
    read = contents(snapshot)
    assert read["a"] == "gone since it was listed"
    if os.geteuid() != 0:
        assert read["b"] == "permission denied"


def test_odd_names_come_back_as_they_are(repo: Repo) -> None:
    names = [
        b"caf\xe9.py",
        b"new\nline.py",
        b'quote".py',
        b"::error::x",
        b"\x1b[31mred",
        b"-dash",
        b"tab\t.py",
    ]
    for name in names:
        repo.write(name, os.fsdecode(name).encode("utf-8", "surrogateescape"))
    repo.commit()
    repo.write(b"untracked\xff", b"u")
    snapshot = look(repo.path, repo.environ)
    read = contents(snapshot)
    for name in names:
        assert read[name.decode("utf-8", "surrogateescape")] == name
    assert read["untracked\udcff"] == b"u"
    assert "2 files have a name that is not UTF-8." in snapshot.notes


def test_names_that_differ_only_in_case_are_noted(repo: Repo) -> None:
    repo.commit(Model__py="1", model__py="2", other="3")
    snapshot = look(repo.path, repo.environ)
    assert (
        "1 name differs from another only in case; not every file system holds both: Model.py and model.py."
        in snapshot.notes
    )


def test_large_tracked_files_are_measured_as_git_keeps_them(repo: Repo) -> None:
    size = 10 * 2**20 + 1
    repo.write("big.bin", b"\0" * size)
    repo.write("limit.bin", b"\0" * (size - 1))
    repo.commit()
    repo.write("untracked.bin", b"\0" * size)
    snapshot = look(repo.path, repo.environ, limit=1000)
    assert snapshot.git is not None
    assert snapshot.git.large_files == (("big.bin", size),)
    assert contents(snapshot) == {
        "big.bin": "10.0 MiB, over the limit of 1000 bytes",
        "limit.bin": "10.0 MiB, over the limit of 1000 bytes",
        "untracked.bin": "10.0 MiB, over the limit of 1000 bytes",
    }
    blobs = {entry.path: entry.blob for entry in snapshot.entries}
    assert len(blobs["untracked.bin"]) == 40
    assert blobs["untracked.bin"] != blobs["big.bin"]


def test_lfs_pointers_and_what_they_stand_for(repo: Repo) -> None:
    import hashlib

    data = b"\1" * (10 * 2**20 + 5)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n"
    good = pointer % (hashlib.sha256(data).hexdigest().encode(), len(data))
    repo.write("smudged.bin", good)
    repo.write("changed.bin", pointer % (b"0" * 64, 3))
    repo.write("pointer.bin", good)
    repo.commit()
    repo.write(".gitattributes", "*.bin filter=lfs -text\n")
    repo.commit()
    repo.write("smudged.bin", data)
    repo.write("changed.bin", b"abc")
    snapshot = look(repo.path, repo.environ, limit=2**25)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("changed.bin",)
    assert snapshot.git.large_files == ()
    read = contents(snapshot)
    assert read["pointer.bin"] == good
    assert read["smudged.bin"] == data


def test_content_behind_another_filter_is_not_called_changed(repo: Repo) -> None:
    repo.commit(a__nb="filtered\n")
    repo.write(".gitattributes", "*.nb filter=strip\n")
    repo.commit()
    repo.write("a.nb", "filtered, and more\n")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ()
    assert snapshot.notes == (
        "1 tracked files pass through a Git filter or conversion, which is never run here: "
        "whether they differ from the commit is not known.",
    )


def test_folders_of_tools_are_left_out_where_untracked(repo: Repo) -> None:
    repo.write("__pycache__/kept.pyc")
    repo.commit()
    repo.write(".venv/lib/a.py")
    repo.write(".venv/lib/b.py")
    repo.write("web/node_modules/c.js")
    repo.write("tools/my_env/pyvenv.cfg")
    repo.write("tools/my_env/lib/d.py")
    snapshot = look(repo.path, repo.environ)
    assert list(contents(snapshot)) == ["__pycache__/kept.pyc"]
    assert snapshot.git is not None
    assert snapshot.git.untracked == (".venv/", "tools/my_env/", "web/node_modules/")
    assert "Untracked folders that tools make were left out: .venv, my_env, node_modules." in snapshot.notes


def test_an_untracked_repository_inside_is_named(repo: Repo) -> None:
    repo.commit(a="a\n")
    inner = Repo(repo.path / "inner", repo.environ)
    inner.path.mkdir()
    inner.git("init", "--quiet")
    inner.commit(b="b\n")
    snapshot = look(repo.path, repo.environ)
    assert list(contents(snapshot)) == ["a"]
    assert snapshot.gaps == (Gap("inner/", "an untracked repository of its own"),)


def test_the_entry_that_comes_back_has_the_id_of_its_bytes(repo: Repo) -> None:
    repo.commit(a="a\n")
    snapshot = look(repo.path, repo.environ)
    repo.write("a", "later\n")
    ((entry, content),) = snapshot.reader.read(snapshot.entries)
    assert content == b"later\n"
    assert entry == Entry("a", blob_id(b"later\n"), EntryKind.FILE, 6)


def test_an_index_that_lies_about_a_content_gives_no_wrong_id(repo: Repo) -> None:
    repo.commit(a="good\n")
    repo.settle()
    state = (repo.path / "a").stat()
    repo.write("a", "evil\n")
    os.utime(repo.path / "a", ns=(state.st_atime_ns, state.st_mtime_ns))
    repo.git("config", "core.trustctime", "false")
    snapshot = look(repo.path, repo.environ)
    ((entry, content),) = snapshot.reader.read(snapshot.entries)
    assert (entry.blob, content) == (blob_id(b"evil\n"), b"evil\n")


def test_sha256_repositories(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = Repo(tmp_path / "long", environ)
    repo.path.mkdir()
    repo.git("init", "--quiet", "--object-format=sha256")
    repo.commit(a="a\n")
    repo.write("b", "b\n")
    snapshot = look(repo.path, environ)
    assert [len(entry.blob) for entry in snapshot.entries] == [64, 64]
    assert snapshot.entries[1].blob == repo.git("hash-object", "b")
    assert contents(snapshot) == {"a": b"a\n", "b": b"b\n"}


def test_a_damaged_index_is_explained(repo: Repo) -> None:
    repo.commit(a="a\n")
    (repo.path / ".git/index").write_bytes(b"garbage" * 10)
    with pytest.raises(SourceError) as caught:
        look(repo.path, repo.environ)
    assert "Git cannot read the index of" in caught.value.message
    assert f"{repo.path}@HEAD" in caught.value.advice
    assert contents(look(f"{repo.path}@HEAD", repo.environ)) == {"a": b"a\n"}


def test_a_damaged_configuration_is_explained(repo: Repo) -> None:
    repo.commit(a="a\n")
    (repo.path / ".git/config").write_text("[core\n")
    with pytest.raises(SourceError, match="configuration"):
        look(repo.path, repo.environ)


def test_a_repository_of_another_user_is_explained(repo: Repo) -> None:
    repo.commit(a="a\n")
    git = git_in("git", str(repo.path), repo.environ)
    with pytest.raises(SourceError) as caught:
        open_repository(git.with_variables({"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}))
    assert caught.value.message == f"Git refuses to read {repo.path}, because it belongs to another user."
    assert f"safe.directory {repo.path}" in caught.value.advice


def test_a_broken_git_link_makes_a_plain_folder(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/.git").write_text("gitdir: /nowhere/at/all\n")
    (tmp_path / "copy/a").write_text("a\n")
    snapshot = look(tmp_path / "copy", environ)
    assert snapshot.git is None
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.notes[0].startswith("Git does not accept its .git as a repository")


def test_without_git_the_folder_is_read_and_that_is_said(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    (tmp_path / "empty").mkdir()
    environ = {**repo.environ, "PATH": str(tmp_path / "empty")}
    snapshot = look(repo.path, environ)
    assert snapshot.git is None
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.notes[0].startswith("Git is not installed")
    with pytest.raises(SourceError, match="asks for a commit, but git is not installed"):
        look(f"{repo.path}@HEAD", environ)


def test_the_listing_leaves_the_repository_untouched(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "b\n")

    def state() -> dict[str, tuple[int, int]]:
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in repo.path.rglob("*")}

    before = state()
    look(repo.path, repo.environ)
    look(f"{repo.path}@HEAD", repo.environ)
    assert state() == before


def test_environment_of_a_hook_does_not_mislead(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    environ = {
        **repo.environ,
        "GIT_DIR": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "none"),
        "GIT_WORK_TREE": "/",
    }
    assert contents(look(repo.path, environ)) == {"a": b"a\n"}


def test_a_large_file_of_an_old_index_is_compared(repo: Repo) -> None:
    repo.commit(same="s" * 5000, other="o" * 5000)
    for name in ("same", "other"):
        repo.write(name, name[0] * 5000)
        os.utime(repo.path / name, (1, 1))
    repo.write("other", "x" * 5000)
    snapshot = look(repo.path, repo.environ, limit=1000)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("other",)
    assert [entry.blob for entry in snapshot.entries] == [blob_id(b"x" * 5000), blob_id(b"s" * 5000)]


def test_what_is_too_much_to_compare_is_said(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.source.listing.Hasher.__init__.__defaults__", (1000,))
    repo.commit(a="a" * 5000)
    os.utime(repo.path / "a", (1, 1))
    snapshot = look(repo.path, repo.environ, limit=1000)
    assert snapshot.git is not None
    assert snapshot.git.modified == ()
    assert snapshot.notes == ("1 tracked files are too much to be compared with the commit.",)


def test_git_that_waits_for_a_pipe_is_stopped(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.source.git._SECONDS", 1)
    repo.commit(a="a\n")
    os.mkfifo(repo.path / ".gitignore")
    try:
        snapshot = look(repo.path, repo.environ)
    except SourceError as error:
        assert "Git was stopped while it read" in error.message
        assert error.advice.endswith("@HEAD")
    else:
        assert contents(snapshot) == {"a": b"a\n"}


def test_the_git_folder_itself_shows_its_head(repo: Repo) -> None:
    repo.commit(a="a\n")
    repo.write("a", "dirty\n")
    snapshot = look(repo.path / ".git", repo.environ)
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.repository == "project"


def test_settings_that_the_user_gives_are_kept(repo: Repo) -> None:
    repo.commit(a="a\n")
    environ = {
        **repo.environ,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": str(repo.path),
    }
    git = git_in("git", str(repo.path), environ)
    opened = open_repository(git.with_variables({"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}))
    assert opened is not None
    assert opened.git.ask("config", "core.fsmonitor") == "false"


def test_a_submodule_is_a_target_of_its_own(repo: Repo, tmp_path: Path, environ: dict[str, str]) -> None:
    other = Repo(tmp_path / "other", environ)
    other.path.mkdir()
    other.git("init", "--quiet")
    commit = other.commit(inner="i\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "lib")
    snapshot = look(repo.path / "lib", environ)
    assert contents(snapshot) == {"inner": b"i\n"}
    assert snapshot.git is not None
    assert (snapshot.git.commit, snapshot.git.modified) == (commit, ())


def test_sparse_and_split_indexes(repo: Repo) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "src/a.py"):
        repo.write(name, name)
    repo.commit()
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
    snapshot = look(repo.path, repo.environ)
    assert contents(snapshot) == {"src/a.py": b"src/a.py"}
    assert [gap.path for gap in snapshot.gaps] == ["docs/a.md", "docs/deep/b.md"]
    repo.git("sparse-checkout", "disable")
    repo.git("update-index", "--split-index")
    repo.write("src/a.py", "changed")
    snapshot = look(repo.path, repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.modified == ("src/a.py",)
    assert len(snapshot.entries) == 3


def test_a_link_to_the_repository_may_be_the_target(repo: Repo, tmp_path: Path) -> None:
    repo.write("sub/a", "a\n")
    repo.commit()
    (tmp_path / "link").symlink_to(repo.path)
    assert contents(look(tmp_path / "link", repo.environ)) == {"sub/a": b"a\n"}
    assert contents(look(tmp_path / "link/sub", repo.environ)) == {"a": b"a\n"}


def test_two_looks_are_equal(repo: Repo) -> None:
    for number in range(30):
        repo.write(f"d{number % 3}/f{number}", f"{number}\n")
    repo.commit()
    repo.write("d0/f0", "changed\n")
    repo.write("new", "n\n")
    assert look(repo.path, repo.environ) == look(repo.path, repo.environ)
