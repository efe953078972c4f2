"""The snapshot of a repository on GitHub, over real HTTP."""

import multiprocessing
import tarfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from audit.net.errors import NetworkError
from audit.safety.archive import Bounds, TarReader
from audit.source.blobs import blob_id
from audit.source.errors import SourceError
from audit.source.github import unpack
from audit.source.open import open_snapshot
from audit.source.snapshot import Entry, EntryKind, GitState, Submodule
from source.test_readers import read_all
from source.test_worktree import contents, why
from tests.fakegithub import TOKENS, Commit, Contract, FakeGitHub, Pull, fake_github
from tests.fakegithub.archives import gzip_bomb, make_tar
from tests.fakegithub.faults import NOT_FOUND


@pytest.fixture(params=["", "/api/v3"], ids=["github.com", "enterprise"])
def fake(
    request: pytest.FixtureRequest,
    github_contract: Contract,
    enterprise_contract: Contract,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[FakeGitHub]:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")
    contract = enterprise_contract if request.param else github_contract
    with fake_github(contract=contract, prefix=request.param) as running:
        yield running


def know(fake: FakeGitHub, full_name: str, refs: dict[str, Commit]) -> None:
    """A repository with these branches."""
    repository = fake.add_repository(full_name)
    for name, commit in refs.items():
        repository.add_commit(commit, name)


def around(fake: FakeGitHub, token: str | None = None) -> dict[str, str]:
    return {"GITHUB_API_URL": fake.api_url} | ({"GITHUB_TOKEN": token} if token else {})


def test_one_archive_and_one_listing(fake: FakeGitHub) -> None:
    big = b"\0" * (10 * 2**20 + 1)
    commit = Commit(
        {
            "README.md": b"hello\n",
            "pkg/a.py": b"a\n",
            "pkg/A.py": b"A\n",
            "hidden.py": b"h\n",
            "big.bin": big,
        },
        links={"link": "/etc/passwd"},
        submodules={"lib": "1" * 40},
        hidden=("hidden.py",),
    )
    know(fake, "owner/repo", {"main": commit})
    with open_snapshot("owner/repo", environ=around(fake, TOKENS.write), limit=1000) as snapshot:
        assert snapshot.repository == "owner/repo"
        assert snapshot.entries == (
            Entry("README.md", blob_id(b"hello\n"), EntryKind.FILE, 6),
            Entry("big.bin", blob_id(big), EntryKind.FILE, len(big)),
            Entry("lib", "1" * 40, EntryKind.SUBMODULE),
            Entry("link", blob_id(b"/etc/passwd"), EntryKind.SYMLINK, 11),
            Entry("pkg/A.py", blob_id(b"A\n"), EntryKind.FILE, 2),
            Entry("pkg/a.py", blob_id(b"a\n"), EntryKind.FILE, 2),
        )
        assert contents(snapshot) == {
            "README.md": b"hello\n",
            "big.bin": "10.0 MiB, over the limit of 1000 bytes",
            "lib": "a submodule, a repository of its own",
            "link": b"/etc/passwd",
            "pkg/A.py": b"A\n",
            "pkg/a.py": b"a\n",
        }
        assert snapshot.git == GitState(
            commit=commit.sha,
            branch="main",
            remote="https://127.0.0.1/owner/repo.git",
            submodules=(Submodule("lib", False),),
            large_files=(("big.bin", len(big)),),
        )
        assert why(snapshot) == {
            "hidden.py": "GitHub leaves it out of archives (export-ignore in .gitattributes)",
            "lib": "a submodule, and its content is not here",
        }
        assert snapshot.notes == (
            "1 name differs from another only in case; not every file system holds both: pkg/A.py and pkg/a.py.",
        )
    assert [request.path for request in fake.asked()] == [
        "/repos/owner/repo",
        "/repos/owner/repo/commits/main",
        f"/repos/owner/repo/tarball/{commit.sha}",
        f"/repos/owner/repo/git/trees/{commit.sha}",
    ]
    assert len(fake.asked(host="files")) == 1


def test_nothing_is_left_behind(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    know(fake, "owner/repo", {"main": Commit({"a": b"a\n"})})
    with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
    assert [content for _, content in snapshot.reader.read(snapshot.entries)] == ["gone since it was listed"]
    fake.fault("GET", "trees", NOT_FOUND)
    with pytest.raises(NetworkError), open_snapshot("owner/repo", environ=around(fake)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_refs_and_addresses(fake: FakeGitHub) -> None:
    first, second, third = (Commit({"a": content, "sub/b": b"b\n"}) for content in (b"1", b"2", b"3"))
    know(fake, "owner/repo", {"main": first, "feature/x": second, "v1": second})
    repository = fake.world.repositories["owner/repo"]
    repository.pulls[7] = Pull(7, repository.add_commit(third).sha, first.sha)
    server = fake.api_url.removesuffix("/api/v3")
    for target, commit, branch in [
        ("owner/repo", first, "main"),
        ("owner/repo@feature/x", second, "feature/x"),
        (f"owner/repo@{second.sha}", second, None),
        (f"{server}/owner/repo", first, "main"),
        (f"{server}/owner/repo.git", first, "main"),
        ("https://user:pass@127.0.0.1/owner/repo/tree/feature/x", second, "feature/x"),
        ("git@127.0.0.1:owner/repo.git", first, "main"),
        ("ssh://git@127.0.0.1/owner/repo.git", first, "main"),
        (f"{server}/owner/repo/commit/{second.sha}", second, None),
        (f"{server}/owner/repo/releases/tag/v1", second, "v1"),
        (f"{server}/owner/repo/pull/7/files", third, None),
    ]:
        with open_snapshot(target, environ=around(fake)) as snapshot:
            assert snapshot.git is not None
            assert (snapshot.git.commit, snapshot.git.branch) == (commit.sha, branch), target


def test_a_folder_behind_a_branch(fake: FakeGitHub) -> None:
    commit = Commit({"a": b"1", "sub/in/b": b"b\n"}, submodules={"sub/lib": "1" * 40, "other": "2" * 40})
    know(fake, "owner/repo", {"feature/x": commit})
    server = fake.api_url.removesuffix("/api/v3")
    with open_snapshot(f"{server}/owner/repo/tree/feature/x/sub", environ=around(fake)) as snapshot:
        assert contents(snapshot) == {"in/b": b"b\n", "lib": "a submodule, a repository of its own"}
        assert snapshot.git is not None
        assert snapshot.git.submodules == (Submodule("lib", False),)
        assert snapshot.notes == ("Only the folder sub/ of the repository was looked at.",)
    with (
        pytest.raises(SourceError, match="has no folder none/"),
        open_snapshot(f"{server}/owner/repo/tree/feature/x/none", environ=around(fake)),
    ):
        pass
    with (
        pytest.raises(NetworkError, match="does not know nope of owner/repo"),
        open_snapshot(f"{server}/owner/repo/tree/nope/a/b", environ=around(fake)),
    ):
        pass


def test_renamed_empty_and_truncated(fake: FakeGitHub) -> None:
    know(fake, "new/name", {"main": Commit({"a": b"a\n"}, truncated=True)})
    know(fake, "owner/empty", {})
    fake.world.renamed["old/name"] = "new/name"
    with open_snapshot("old/name", environ=around(fake)) as snapshot:
        assert snapshot.repository == "new/name"
        assert snapshot.notes == (
            "old/name is called new/name now.",
            "GitHub's listing of the tree is cut short, so what the archive leaves out is known only in part.",
        )
    with open_snapshot("owner/empty", environ=around(fake)) as snapshot:
        assert snapshot.entries == ()
        assert snapshot.git == GitState(remote="https://127.0.0.1/owner/empty.git")
        assert snapshot.notes == ("The repository has no commit yet.",)


def test_a_private_repository_and_either_variable(fake: FakeGitHub) -> None:
    know(fake, "owner/repo", {"main": Commit({"a": b"a\n"})})
    fake.world.repositories["owner/repo"].private = True
    with (
        pytest.raises(NetworkError, match="does not know owner/repo"),
        open_snapshot("owner/repo", environ=around(fake)),
    ):
        pass
    with open_snapshot(
        "owner/repo", environ={"GITHUB_API_URL": fake.api_url, "GH_TOKEN": TOKENS.write}
    ) as snapshot:
        assert contents(snapshot) == {"a": b"a\n"}


def test_contents_that_an_archive_changes_are_noted(fake: FakeGitHub) -> None:
    commit = Commit({"version": b"$Format:%H$\n"})
    commit.tar = make_tar([("top/version", b"abc\n", tarfile.REGTYPE, "")], comment=commit.sha)
    know(fake, "owner/repo", {"main": commit})
    with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
        assert snapshot.entries == (Entry("version", blob_id(b"abc\n"), EntryKind.FILE, 4),)
        assert snapshot.notes == (
            "1 files differ in the archive from what Git keeps (export-subst, line ends, LFS).",
        )


def test_an_archive_of_another_commit_is_refused(fake: FakeGitHub) -> None:
    commit = Commit({"a": b"a\n"})
    commit.tar = make_tar([("top/a", b"a\n", tarfile.REGTYPE, "")], comment="f" * 40)
    know(fake, "owner/repo", {"main": commit})
    with (
        pytest.raises(SourceError, match="gave the archive of ffffffffffff, not of"),
        open_snapshot("owner/repo", environ=around(fake)),
    ):
        pass


# With names of their own: the bytes hold the time, and workers that collect a second apart must agree.
@pytest.mark.parametrize(
    "body",
    [b"", b"not gzip at all", make_tar([])[:5], b"\x1f\x8b" + b"\0" * 50],
    ids=["empty", "no gzip", "cut off", "gzip of nothing"],
)
def test_a_damaged_archive_is_explained(fake: FakeGitHub, body: bytes) -> None:
    commit = Commit({"a": b"a\n"}, tar=body)
    know(fake, "owner/repo", {"main": commit})
    try:
        with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
            assert snapshot.entries == ()
            assert why(snapshot)
    except SourceError as error:
        assert error.message.startswith("The archive from GitHub is damaged: ")


def test_names_that_lead_out_and_odd_members_are_refused(fake: FakeGitHub) -> None:
    names = ["../evil", "/etc/evil", "top/../../evil", "top/./x", "top/.git/config", "evil"]
    members = [(name, b"e", tarfile.REGTYPE, "") for name in names]
    members += [
        ("top/hard", b"", tarfile.LNKTYPE, "/etc/passwd"),
        ("top/device", b"", tarfile.CHRTYPE, ""),
        ("top/pipe", b"", tarfile.FIFOTYPE, ""),
        ("top/good", b"good\n", tarfile.REGTYPE, ""),
        ("top/good", b"again\n", tarfile.REGTYPE, ""),
        ("top/link", b"", tarfile.SYMTYPE, "../../../etc"),
        ("top/link/passwd", b"through a link\n", tarfile.REGTYPE, ""),
    ]
    know(fake, "owner/repo", {"main": Commit({"good": b"good\n"}, tar=make_tar(members))})
    with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
        assert contents(snapshot) == {
            "good": b"good\n",
            "link": b"../../../etc",
            "link/passwd": b"through a link\n",
        }
        assert why(snapshot) == {
            **dict.fromkeys(names, "refused: its name leads out of the archive's folder"),
            "device": "refused: neither a file nor a symbolic link",
            "hard": "refused: neither a file nor a symbolic link",
            "pipe": "refused: neither a file nor a symbolic link",
            "good": "the archive holds it twice; the first was taken",
        }


def test_a_bomb_is_neither_kept_nor_held(fake: FakeGitHub) -> None:
    size = 300 * 2**20
    commit = Commit({"bomb.bin": b"", "after.py": b"a\n"}, tar=gzip_bomb(size))
    know(fake, "owner/repo", {"main": commit})
    with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
        assert snapshot.entries[0].path == "bomb.bin"
        assert snapshot.entries[0].size == size
        assert contents(snapshot) == {"bomb.bin": "300.0 MiB, over the limit of 32.0 MiB"}
        store = Path(snapshot.reader.store)  # type: ignore[attr-defined]
        assert sum(path.stat().st_size for path in store.iterdir()) < 1000


def test_bounds_are_said(tmp_path: Path) -> None:
    members = [(f"top/f{number}", b"x" * 600, tarfile.REGTYPE, "") for number in range(20)]
    for bounds, reason in [
        (Bounds(members=5), "more than 5 members"),
        (Bounds(unpacked=2**20), ""),
    ]:
        with (tmp_path / "archive").open("wb+") as archive:
            archive.write(make_tar(members))
            archive.seek(0)
            unpacked = unpack(archive, tmp_path, reader=TarReader(archive, bounds))
        assert unpacked.stopped == reason
        assert len(unpacked.entries) == (5 if reason else 20)


def test_the_reader_works_in_other_processes(fake: FakeGitHub) -> None:
    files = {f"d/f{number:03}": f"{number % 90}\n".encode() for number in range(100)}
    know(fake, "owner/repo", {"main": Commit(files)})
    with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            halves = [snapshot.entries[:50], snapshot.entries[50:]]
            answers = [pool.submit(read_all, snapshot.reader, half) for half in halves]
            assert [content for answer in answers for content in answer.result()] == list(files.values())


def test_odd_names_survive(fake: FakeGitHub) -> None:
    names = ["new\nline.py", "caf\udce9.py", "x" * 200 + "/" + "y" * 120, "::error::x", "日本.py"]
    members = [
        (f"top/{name}", name.encode("utf-8", "surrogateescape"), tarfile.REGTYPE, "") for name in names
    ]
    for format_ in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        commit = Commit({}, tar=make_tar(members, format_=format_))
        know(fake, "owner/repo", {"main": commit})
        with open_snapshot("owner/repo", environ=around(fake)) as snapshot:
            assert contents(snapshot) == {name: name.encode("utf-8", "surrogateescape") for name in names}
