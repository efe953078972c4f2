"""A repository whose configuration tries to run programs, and one that tries to lead the reader astray."""

import os
from pathlib import Path

import pytest

from audit.source.open import open_snapshot
from audit.source.snapshot import Snapshot
from source.conftest import Repo
from source.test_worktree import contents, look


@pytest.fixture
def trap(repo: Repo, tmp_path: Path) -> Path:
    """A repository in which every program that Git can be told to run leaves a mark; the mark's path."""
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat 2>/dev/null\nexit 0\n')
    program.chmod(0o755)
    repo.write("a.py", "a = 1\n")
    repo.write("b.txt", "b\n")
    repo.commit()
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n*.py filter=a=b\n")
    repo.write(".git/info/attributes", "*.txt filter=evil=worse diff=evil\n")
    hooks = repo.path / ".git/hooks"
    for name in (
        "post-index-change",
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    run = str(program)
    for name, value in {
        "core.fsmonitor": run,
        "core.hooksPath": str(hooks),
        "core.sshCommand": run,
        "core.pager": run,
        "core.editor": run,
        "core.askPass": run,
        "core.gitProxy": run,
        "core.alternateRefsCommand": run,
        "core.untrackedCache": "true",
        "credential.helper": f"!{run}",
        "diff.external": run,
        "diff.evil.textconv": run,
        "diff.evil.command": run,
        "filter.evil.clean": run,
        "filter.evil.smudge": run,
        "filter.evil.process": run,
        "filter.evil.required": "true",
        "filter.a=b.clean": run,
        "filter.evil=worse.clean": run,
        "filter.evil=worse.process": run,
        "gpg.program": run,
        "log.showSignature": "true",
        "uploadpack.packObjectsHook": run,
        "remote.origin.url": f"ext::{run}",
        "remote.origin.uploadpack": run,
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        **{
            f"alias.{name}": f"!{run}"
            for name in ("ls-files", "diff-files", "cat-file", "rev-parse", "config")
        },
    }.items():
        repo.git("config", name, value)
    repo.git("config", "core.repositoryformatversion", "1")
    # Files that are as young as the index make Git compare contents, which is when it runs filters.
    repo.write("a.py", "a = 2\n")
    os.utime(repo.path / "b.txt")
    mark.unlink(missing_ok=True)
    return mark


def test_the_trap_works(repo: Repo, trap: Path) -> None:
    repo.git("status", fails=True)
    assert trap.exists()


def test_nothing_that_a_repository_configures_is_run(repo: Repo, trap: Path) -> None:
    snapshot = look(repo.path, repo.environ)
    assert contents(snapshot) == {
        ".gitattributes": b"* filter=evil diff=evil merge=evil\n*.py filter=a=b\n",
        "a.py": b"a = 2\n",
        "b.txt": b"b\n",
    }
    assert contents(look(f"{repo.path}@HEAD", repo.environ)) == {"a.py": b"a = 1\n", "b.txt": b"b\n"}
    assert not trap.exists(), trap.read_text()


def test_racy_files_do_not_run_filters(repo: Repo, trap: Path) -> None:
    # The same size and time as the index: only a look at the content can tell.
    repo.write("a.py", "a = 3\n")
    now = (repo.path / ".git/index").stat().st_mtime_ns
    for name in ("a.py", "b.txt"):
        os.utime(repo.path / name, ns=(now, now))
    look(repo.path, repo.environ)
    assert not trap.exists(), trap.read_text()


def test_a_missing_blob_is_not_fetched(repo: Repo, trap: Path) -> None:
    blob = repo.git("rev-parse", "HEAD:b.txt")
    (repo.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    snapshot = look(f"{repo.path}@HEAD", repo.environ)
    assert contents(snapshot) == {"a.py": b"a = 1\n"}
    assert [(gap.path, gap.why) for gap in snapshot.gaps] == [
        ("b.txt", "its content was never fetched into this partial clone")
    ]
    assert not trap.exists(), trap.read_text()


def test_a_submodule_cannot_run_anything(repo: Repo, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho >> {mark}\n")
    program.chmod(0o755)
    inner = Repo(repo.path / "lib", repo.environ)
    inner.path.mkdir()
    inner.git("init", "--quiet")
    inner.commit(a="a\n")
    repo.commit()
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process"):
        inner.git("config", name, str(program))
    inner.write(".gitattributes", "* filter=x\n")
    inner.write("a", "b\n")
    mark.unlink(missing_ok=True)
    snapshot = look(repo.path, repo.environ)
    assert not mark.exists()
    assert snapshot.git is not None
    assert snapshot.git.submodules[0].initialized


def test_a_work_tree_that_is_said_to_lie_elsewhere_is_not_read(repo: Repo, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.py").write_text("TOKEN\n")
    repo.commit(a="a\n")
    repo.git("config", "core.worktree", str(elsewhere))
    snapshot = look(repo.path, repo.environ)
    assert contents(snapshot) == {"a": b"a\n"}
    assert snapshot.git is not None
    assert snapshot.git.untracked == ()


def test_nothing_is_replaced_by_a_replace_ref(repo: Repo) -> None:
    repo.commit(a="good\n")
    other = repo.git("hash-object", "-w", str(repo.write("b", "evil\n")))
    repo.git("replace", repo.git("rev-parse", "HEAD:a"), other)
    assert contents(look(f"{repo.path}@HEAD", repo.environ)) == {"a": b"good\n"}


def test_an_index_may_name_paths_that_lead_out(repo: Repo, tmp_path: Path) -> None:
    """Git refuses to add such a path, so the entry is asked of the reader directly."""
    import msgspec

    (tmp_path / "secret").write_text("TOKEN\n")
    repo.commit(a="a\n")
    snapshot = look(repo.path, repo.environ)
    entry = msgspec.structs.replace(snapshot.entries[0], path="../secret")
    deep = msgspec.structs.replace(snapshot.entries[0], path="d/" * 300 + "x")
    answers = [content for _, content in snapshot.reader.read([entry, deep, snapshot.entries[0]])]
    assert answers == ["cannot be read (leads out of the tree)", "cannot be read (nested too deeply)", b"a\n"]


def test_a_ref_is_never_an_option(repo: Repo) -> None:
    from audit.source.errors import SourceError

    repo.commit(a="a\n")
    for ref in ("--help", "--output=x", "-h"):
        with pytest.raises(SourceError, match="has no commit named"):
            look(f"{repo.path}@{ref}", repo.environ)


def test_the_snapshot_is_a_context(repo: Repo) -> None:
    repo.commit(a="a\n")
    with open_snapshot(str(repo.path), environ=repo.environ) as snapshot:
        assert isinstance(snapshot, Snapshot)
