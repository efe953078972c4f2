import pytest

from audit.engine.against import base_target, report_file
from audit.engine.audit import audit
from audit.engine.options import Options
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


HOLD = """\
import torch


def restore(path):
    return torch.load(path, weights_only=False)


def cached(path):
    return torch.load(path, weights_only=False)
"""


@pytest.mark.parametrize(
    "change",
    [
        {"hold.py": "# A line.\n\n\n" + HOLD},
        {"hold.py": None, "keep.py": HOLD},
        {"hold.py": None, "store/keep.py": HOLD},
        {"hold.py": None, "keep.py": "# A line.\n\n\n" + HOLD},
        {"hold.py": None, "keep.py": HOLD.replace("restore", "again")},
    ],
    ids=["moved lines", "renamed", "moved to a folder", "renamed with moved lines", "renamed and changed"],
)
def test_findings_survive_moved_lines_and_renamed_files(tmp_path, change):
    folder = repository(tmp_path / "r", {"hold.py": HOLD, "README.md": "# Hold\n"})
    git(folder, "switch", "-q", "-c", "topic")
    for name, text in change.items():
        if text is None:
            (folder / name).unlink()
        else:
            write(folder, {name: text})
    commit(folder)
    report = audit(Options(str(folder), baseline="main"), effects(tmp_path)).report
    loads = [finding for finding in report.findings if finding.rule == "security.torch_load"]
    assert [finding.new for finding in loads] == [False]
    assert (report.summary.new, report.summary.fixed) == (0, 0)


def test_one_more_place_in_a_renamed_file_is_new(tmp_path):
    folder = repository(tmp_path / "r", {"hold.py": HOLD, "README.md": "# Hold\n"})
    git(folder, "switch", "-q", "-c", "topic")
    (folder / "hold.py").unlink()
    write(
        folder, {"keep.py": HOLD + "\n\ndef third(path):\n    return torch.load(path, weights_only=False)\n"}
    )
    commit(folder)
    report = audit(Options(str(folder), baseline="main"), effects(tmp_path)).report
    assert [finding.new for finding in report.findings if finding.rule == "security.torch_load"] == [True]
