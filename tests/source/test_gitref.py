"""The snapshot of a commit: its trees and blobs, whatever the work tree holds."""

from pathlib import Path

import pytest

from audit.source.blobs import blob_id
from audit.source.errors import SourceError
from audit.source.snapshot import Entry, EntryKind, Submodule
from source.conftest import Repo
from source.test_worktree import contents, look


def test_a_ref_is_read_from_the_object_store(repo: Repo) -> None:
    (repo.path / "link").symlink_to("a.py")
    first = repo.commit(a__py="one\n")
    repo.git("tag", "v1")
    repo.commit(a__py="two\n", b__py="b\n")
    repo.write("a.py", "dirty\n")
    repo.write("new.py")
    snapshot = look(f"{repo.path}@v1", repo.environ)
    assert snapshot.entries == (
        Entry("a.py", blob_id(b"one\n"), EntryKind.FILE, 4),
        Entry("link", blob_id(b"a.py"), EntryKind.SYMLINK, 4),
    )
    assert contents(snapshot) == {"a.py": b"one\n", "link": b"a.py"}
    assert snapshot.repository == "project"
    assert snapshot.git is not None
    assert (snapshot.git.commit, snapshot.git.branch) == (first, None)
    assert (snapshot.git.modified, snapshot.git.untracked) == (None, None)


@pytest.mark.parametrize("ref", ["main", "HEAD", "main~0", "HEAD@{0}", "feature/@x"])
def test_all_that_git_takes_for_a_commit(repo: Repo, ref: str) -> None:
    commit = repo.commit(a="a\n")
    repo.git("branch", "feature/@x")
    snapshot = look(f"{repo.path}@{ref}", repo.environ)
    assert snapshot.git is not None
    assert snapshot.git.commit == commit
    assert snapshot.git.branch == {"main": "main", "HEAD": "main", "feature/@x": "feature/@x"}.get(ref)


def test_a_path_that_holds_an_at_sign(repo: Repo) -> None:
    repo.commit(a="a\n")
    odd = repo.path.rename(repo.path.with_name("pro@ject"))
    assert contents(look(odd, repo.environ)) == {"a": b"a\n"}
    assert contents(look(f"{odd}@main", repo.environ)) == {"a": b"a\n"}


def test_a_folder_at_a_ref(repo: Repo) -> None:
    repo.write("sub/a.py", "a\n")
    repo.commit(top="t\n")
    snapshot = look(f"{repo.path / 'sub'}@HEAD", repo.environ)
    assert contents(snapshot) == {"a.py": b"a\n"}
    assert snapshot.notes == ("Only the folder sub/ of the repository was looked at.",)
    (repo.path / "later").mkdir()
    with pytest.raises(SourceError, match="HEAD has no folder later/"):
        look(f"{repo.path / 'later'}@HEAD", repo.environ)


def test_bare_repositories_show_their_head(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "bare.git"))
    snapshot = look(tmp_path / "bare.git", repo.environ)
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.git is not None
    assert snapshot.git.branch == "main"
    assert snapshot.git.modified is None


def test_a_branch_that_only_the_remote_has(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="a\n")
    repo.git("branch", "side")
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    snapshot = look(f"{tmp_path / 'clone'}@side", repo.environ)
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.notes == ("side is no local branch; the remote's, origin/side, was looked at.",)


def test_what_is_no_commit_is_explained(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="has no commit yet"):
        look(f"{repo.path}@HEAD", repo.environ)
    repo.commit(a="a\n")
    repo.commit(a="b\n")
    with pytest.raises(SourceError) as caught:
        look(f"{repo.path}@nowhere", repo.environ)
    assert caught.value.message == f"{repo.path} has no commit named nowhere."
    repo.git("clone", "--quiet", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    with pytest.raises(SourceError) as caught:
        look(f"{tmp_path / 'clone'}@HEAD~1", repo.environ)
    assert caught.value.advice.startswith("This clone is shallow: fetch what is missing")


def test_missing_blobs_of_a_partial_clone_are_gaps(repo: Repo, tmp_path: Path) -> None:
    repo.commit(a="first\n")
    repo.commit(a="second\n", b="b\n")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "--quiet", "--filter=blob:none", f"file://{repo.path}", str(tmp_path / "part"))
    here = look(tmp_path / "part", repo.environ)
    assert contents(here) == {"a": b"second\n", "b": b"b\n"}
    assert here.gaps == ()
    before = look(f"{tmp_path / 'part'}@HEAD~1", repo.environ)
    assert contents(before) == {}
    assert [(gap.path, gap.why) for gap in before.gaps] == [
        ("a", "its content was never fetched into this partial clone")
    ]


def test_submodules_and_large_files_of_a_ref(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other", repo.environ)
    other.path.mkdir()
    other.git("init", "--quiet")
    commit = other.commit(a="a\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "lib")
    size = 10 * 2**20 + 1
    repo.write("big", b"\0" * size)
    repo.commit()
    snapshot = look(f"{repo.path}@HEAD", repo.environ, limit=1000)
    assert snapshot.git is not None
    assert snapshot.git.submodules == (Submodule("lib", False),)
    assert snapshot.git.large_files == (("big", size),)
    assert Entry("lib", commit, EntryKind.SUBMODULE) in snapshot.entries
    read = contents(snapshot)
    assert read["lib"] == "a submodule, a repository of its own"
    assert read["big"] == "10.0 MiB, over the limit of 1000 bytes"


def test_sizes_that_are_not_known_beforehand_are_bounded_too(repo: Repo) -> None:
    import msgspec

    repo.commit(a="a" * 3000, b="b\n")
    snapshot = look(f"{repo.path}@HEAD", repo.environ, limit=1000)
    unknown = [msgspec.structs.replace(entry, size=None) for entry in snapshot.entries]
    assert [content for _, content in snapshot.reader.read(unknown)] == [
        "2.9 KiB, over the limit of 1000 bytes", b"b\n",
    ]  # fmt: skip


def test_a_damaged_object_does_not_take_others_with_it(repo: Repo) -> None:
    repo.commit(a="a\n", b="bbbb\n", c="c\n")
    snapshot = look(f"{repo.path}@HEAD", repo.environ)
    blob = repo.git("rev-parse", "HEAD:b")
    damaged = repo.path / ".git/objects" / blob[:2] / blob[2:]
    damaged.chmod(0o644)
    damaged.write_bytes(b"damaged")
    read = contents(snapshot)
    assert (read["a"], read["c"]) == (b"a\n", b"c\n")
    assert isinstance(read["b"], str)


def test_more_contents_than_one_pipe_holds(repo: Repo) -> None:
    for number in range(900):
        repo.write(f"d{number % 7}/f{number}", f"{number}\n" * 300)
    repo.commit()
    snapshot = look(f"{repo.path}@HEAD", repo.environ)
    read = contents(snapshot)
    assert len(read) == 900
    assert all(content == f"{path.rpartition('f')[2]}\n".encode() * 300 for path, content in read.items())
