from audit.documents.finding import Severity, Status
from audit.source.snapshot import GitState, Submodule
from tests.rules.factory import context, failures, outcomes, status

COMMIT = "a" * 40
CLEAN = GitState(commit=COMMIT, branch="main", remote="https://example.org/x.git", modified=(), untracked=())
REF = GitState(commit=COMMIT)
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"


def test_a_plain_folder_is_no_repository() -> None:
    assert failures("code.git_repository", context(git=None)) == [
        "The audited folder is not a Git repository, so no commit names the code that ran."
    ]
    assert status("code.git_repository", context(git=CLEAN)) is Status.PASS
    for name in (
        "commit",
        "clean_tree",
        "untracked_files",
        "submodules_initialized",
        "remote_recorded",
        "large_files",
    ):
        assert status(f"code.{name}", context(git=None)) is Status.NOT_APPLICABLE


def test_a_repository_without_a_commit() -> None:
    assert status("code.commit", context(git=GitState())) is Status.FAIL
    assert status("code.commit", context(git=CLEAN)) is Status.PASS


def test_changed_files_are_named_and_counted() -> None:
    many = GitState(commit=COMMIT, modified=tuple(f"f{n}.py" for n in range(9)), untracked=())
    (outcome,) = outcomes("code.clean_tree", context(git=many))
    assert outcome.message == "9 tracked files differ from the commit: f0.py, f1.py, f2.py and 6 more."
    assert len(outcome.evidence) == 9
    assert outcome.evidence[-1].note == "differs from the commit"
    one = GitState(commit=COMMIT, modified=("train.py",), untracked=())
    assert failures("code.clean_tree", context(git=one)) == [
        "1 tracked file differs from the commit: train.py."
    ]
    assert status("code.clean_tree", context(git=CLEAN)) is Status.PASS


def test_without_a_work_tree_nothing_is_compared() -> None:
    assert status("code.clean_tree", context(git=REF)) is Status.NOT_CHECKED
    assert status("code.untracked_files", context(git=REF)) is Status.NOT_CHECKED


def test_untracked_code_weighs_more_than_untracked_notes() -> None:
    code = GitState(commit=COMMIT, modified=(), untracked=("notes.md", "new_loss.py"))
    (outcome,) = outcomes("code.untracked_files", context(git=code))
    assert (outcome.status, outcome.severity, outcome.evidence[0].path) == (Status.FAIL, None, "new_loss.py")
    notes = GitState(commit=COMMIT, modified=(), untracked=("notes.md",))
    (outcome,) = outcomes("code.untracked_files", context(git=notes))
    assert outcome.severity is Severity.INFO
    assert status("code.untracked_files", context(git=CLEAN)) is Status.PASS


def test_submodules() -> None:
    missing = GitState(
        commit=COMMIT, modified=(), untracked=(), submodules=(Submodule("lib", False), Submodule("ok", True))
    )
    assert failures("code.submodules_initialized", context(git=missing)) == [
        "The submodule lib is not checked out, so its code is missing and was not audited."
    ]
    there = GitState(commit=COMMIT, modified=(), untracked=(), submodules=(Submodule("ok", True),))
    assert status("code.submodules_initialized", context(git=there)) is Status.PASS
    assert status("code.submodules_initialized", context(git=CLEAN)) is Status.NOT_APPLICABLE
    in_a_ref = GitState(commit=COMMIT, submodules=(Submodule("lib", False),))
    assert status("code.submodules_initialized", context(git=in_a_ref)) is Status.NOT_CHECKED


def test_the_remote() -> None:
    assert status("code.remote_recorded", context(git=CLEAN)) is Status.PASS
    assert status("code.remote_recorded", context(git=REF)) is Status.FAIL


def test_large_files_are_told_one_by_one() -> None:
    large = GitState(
        commit=COMMIT, modified=(), untracked=(), large_files=(("a.bin", 11 * 2**20), ("b.bin", 200 * 2**20))
    )
    assert failures("code.large_files", context(git=large)) == [
        "b.bin is kept in Git with 200 MiB: every clone downloads every version of it.",
        "a.bin is kept in Git with 11 MiB: every clone downloads every version of it.",
    ]
    crowd = GitState(commit=COMMIT, large_files=tuple((f"{n:03}.bin", 2**24) for n in range(45)))
    found = outcomes("code.large_files", context(git=crowd))
    assert (len(found), found[-1].message) == (41, "5 further large files are kept in Git.")
    assert status("code.large_files", context(git=CLEAN)) is Status.PASS


def test_lfs_pointers_in_a_work_tree_are_a_failure_elsewhere_a_gap() -> None:
    files = {
        "data/a.json": POINTER,
        "data/w.bin": POINTER,
        ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    }
    (outcome,) = outcomes("code.lfs_pointers", context(files, git=CLEAN))
    assert outcome.status is Status.FAIL
    assert [place.path for place in outcome.evidence] == ["data/a.json", "data/w.bin"]
    assert status("code.lfs_pointers", context(files, git=REF)) is Status.NOT_CHECKED


def test_small_files_that_lfs_does_not_keep_are_no_pointers() -> None:
    files = {"w.bin": b"1234", "v.npy": b"1", ".gitattributes": "*.npz filter=lfs\n*.bin -text\n"}
    assert status("code.lfs_pointers", context(files, git=CLEAN)) is Status.NOT_APPLICABLE


def test_lfs_patterns_of_a_folder_reach_that_folder_only() -> None:
    files = {
        "data/.gitattributes": "raw/*.bin filter=lfs\n",
        "data/raw/a.bin": b"12",
        "raw/b.bin": b"12",
        "data/c.bin": b"12",
    }
    (outcome,) = outcomes("code.lfs_pointers", context(files, git=CLEAN))
    assert [place.path for place in outcome.evidence] == ["data/raw/a.bin"]
