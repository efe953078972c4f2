import pytest

from audit.engine.against import base_target, report_file
from audit.source.folder import folder_snapshot
from tests.engine.repositories import commit, effects, git, repository, write


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("owner/repo", "owner/repo@main"),
        ("owner/repo@topic", "owner/repo@main"),
        ("https://github.com/owner/repo/pull/3", "https://github.com/owner/repo/commit/main"),
        ("https://git.example.org/owner/repo", "https://git.example.org/owner/repo/commit/main"),
    ],
)
def test_on_github_the_ref_is_looked_at_and_the_note_says_so(target, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, note = base_target(target, "main", folder_snapshot(str(tmp_path)), effects(tmp_path))
    assert base == expected
    assert "not with the merge base" in note


def test_here_it_is_the_merge_base(tmp_path):
    from audit.source.open import open_snapshot

    folder = repository(tmp_path / "r")
    parting = git(folder, "rev-parse", "HEAD")
    git(folder, "switch", "-q", "-c", "topic")
    write(folder, {"a.py": "x = 1\n"})
    commit(folder)
    git(folder, "switch", "-q", "main")
    write(folder, {"b.py": "x = 1\n"})
    commit(folder)
    with open_snapshot(f"{folder}@topic", environ=effects(tmp_path).environ) as snapshot:
        base, note = base_target(f"{folder}@topic", "main", snapshot, effects(tmp_path))
    assert base == f"{folder}@{parting}"
    assert note == f"Compared with {parting[:12]}, where this and main part."


def test_only_what_exists_as_a_file_is_a_report(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    assert report_file(str(tmp_path / "a.json")) == tmp_path / "a.json"
    for name in (str(tmp_path), "main", "no\0name", "x" * 5000):
        assert report_file(name) is None
