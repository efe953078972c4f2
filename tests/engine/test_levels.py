"""Levels, the manifest and profiles of a repository's own, through a whole audit."""

import pytest

from audit.documents.errors import DocumentError
from audit.documents.finding import Status
from audit.engine import experiment as kinds
from audit.engine.audit import audit
from audit.engine.levels import landmarks
from audit.engine.levels import level_of as level
from audit.engine.options import Options
from tests.engine.repositories import TRAINER, commit, effects, git, write
from tests.signals.building import build

MANIFEST = "project: {name: t}\nexperiment: {command: python train.py, profiles: [training]}\n"


def snapshot(*paths: str):
    return build(dict.fromkeys((*paths, "a.py"), "x: 1\n")).snapshot


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ((), 0),
        (("sub/ml-audit.yaml", "ml-audit.yaml.bak", "docs/ml-audit.lock"), 0),
        (("ml-audit.yaml",), 1),
        (("reprollm.yaml",), 1),
        (("reprollm.yaml", "reprollm.lock", ".reprollm/runs/1/run.json"), 1),  # read by no rule of level 2
        (("ml-audit.lock",), 2),
        (("ml-audit.yaml", ".ml-audit/runs/1/run.json"), 2),
        ((".ml-audit/config.yaml",), 0),
    ],
)
def test_the_level_is_what_the_root_holds(paths, found):
    assert landmarks(snapshot(*paths)).level == found


def test_a_level_is_lowered_and_never_raised(monkeypatch):
    monkeypatch.setattr("audit.engine.levels.HIGHEST_LEVEL", 2)
    with_lock = snapshot("ml-audit.yaml", "ml-audit.lock")
    assert [level(with_lock, asked) for asked in ("auto", "0", "1", "2")] == [2, 0, 1, 2]
    assert level(snapshot("ml-audit.yaml"), "2") == 1
    assert level(snapshot(), "2") == 0


def test_the_manifest_of_this_program_goes_first():
    there = landmarks(snapshot("reprollm.yaml", "ml-audit.yaml"))
    assert there.manifest is not None and there.manifest.path == "ml-audit.yaml"


@pytest.fixture
def trainer(tmp_path):
    folder = tmp_path / "trainer"
    folder.mkdir()
    write(folder, TRAINER)
    git(folder, "init", "-q", "-b", "main")
    commit(folder)
    return folder


def audited(folder, tmp_path, **asked):
    return audit(Options(str(folder), **asked), effects(tmp_path)).report


def test_a_manifest_brings_level_1_and_its_profiles(trainer, tmp_path):
    assert audited(trainer, tmp_path).level == 0
    write(trainer, {"ml-audit.yaml": MANIFEST})
    report = audited(trainer, tmp_path)
    assert report.level == 1
    assert report.profiles.declared == ("training",)
    assert report.profiles.resolved == ("core", "training")
    assert {finding.level for finding in report.findings} == {0, 1}


def test_options_and_configuration_lower_it(trainer, tmp_path):
    write(trainer, {"ml-audit.yaml": MANIFEST})
    assert audited(trainer, tmp_path, level="0").level == 0
    write(trainer, {".ml-audit/config.yaml": "level: 0\n"})
    assert audited(trainer, tmp_path).level == 0
    assert audited(trainer, tmp_path, level="1").level == 1


def test_what_was_asked_for_and_is_not_there_is_said(trainer, tmp_path):
    report = audited(trainer, tmp_path, level="1")
    assert report.level == 0
    assert "Level 1 was asked for; without ml-audit.yaml it is level 0 that ran." in report.coverage.notes


def test_a_manifest_that_is_a_link_is_said_to_be_none(trainer, tmp_path):
    (tmp_path / "elsewhere.yaml").write_text(MANIFEST)
    (trainer / "ml-audit.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    commit(trainer)
    report = audited(trainer, tmp_path)
    assert report.level == 0
    assert (
        "ml-audit.yaml is a symbolic link, which is not followed: it was not read." in report.coverage.notes
    )


def test_options_go_before_the_manifests_profiles(trainer, tmp_path):
    write(trainer, {"ml-audit.yaml": MANIFEST})
    assert audited(trainer, tmp_path, profiles=("rl",)).profiles.declared == ("rl",)


def test_an_invalid_manifest_ends_the_audit_whether_or_not_it_was_audited_before(trainer, tmp_path):
    write(trainer, {"ml-audit.yaml": "trainin: {}\n"})
    for _ in range(2):
        with pytest.raises(
            DocumentError, match=r"ml-audit.yaml:1:1: trainin: this key is not known; perhaps training"
        ):
            audited(trainer, tmp_path)
    assert audited(trainer, tmp_path, level="0").level == 0


def test_a_profile_that_there_is_not_is_named_with_its_line(trainer, tmp_path):
    write(trainer, {"ml-audit.yaml": "experiment:\n  profiles: [finetune]\n"})
    with pytest.raises(
        DocumentError, match=r"ml-audit.yaml:2:14: experiment.profiles: there is no profile called finetune"
    ):
        audited(trainer, tmp_path)


def test_a_manifest_that_changes_changes_the_answer(trainer, tmp_path):
    write(trainer, {"ml-audit.yaml": MANIFEST})
    before = audited(trainer, tmp_path)
    write(trainer, {"ml-audit.yaml": MANIFEST.replace("training", "rl")})
    assert audited(trainer, tmp_path).profiles.declared == ("rl",) != before.profiles.declared


def test_an_unchanged_manifest_is_not_read_again(trainer, tmp_path, monkeypatch):
    write(trainer, {"ml-audit.yaml": MANIFEST})
    first = audited(trainer, tmp_path)
    monkeypatch.setattr(kinds, "_declared", None)
    assert audited(trainer, tmp_path) == first


def test_a_profile_of_ones_own_is_declared_and_weighs(trainer, tmp_path):
    write(
        trainer,
        {
            ".ml-audit/profiles/strict.yaml": "about: Nothing passes.\nextends: training\nseverities: {documentation.citation: critical}\n",
            "ml-audit.yaml": "experiment: {profiles: strict}\n",
        },
    )
    report = audited(trainer, tmp_path)
    assert report.profiles.resolved == ("core", "training", "strict")
    (found,) = [each for each in report.findings if each.rule == "documentation.citation"]
    assert (found.status, found.severity.value) == (Status.FAIL, "CRITICAL")


def test_a_profile_of_ones_own_is_detected(trainer, tmp_path):
    profile = "about: Some.\ndetection: {imports: [torch]}\n"
    write(trainer, {".ml-audit/profiles/torchy.yaml": profile})
    assert "torchy" in [each.profile for each in audited(trainer, tmp_path).profiles.detected]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ml-audit.yaml": "trainin: {}\n"},
        {".ml-audit/profiles/a.yaml": "extends: nothing\n", "ml-audit.yaml": MANIFEST},
    ],
)
def test_the_base_may_have_had_a_mistake(trainer, tmp_path, wrong):
    write(trainer, wrong)
    commit(trainer)
    git(trainer, "rm", "-q", "-r", *wrong)
    write(trainer, {"ml-audit.yaml": MANIFEST})
    commit(trainer)
    report = audited(trainer, tmp_path, baseline="main~1")
    assert report.level == 1 and report.summary.new is not None


def test_a_changed_line_of_code_keeps_the_severities_of_a_profile(trainer, tmp_path):
    """The tree that says the same as the one before: rules about Git are asked anew, and weigh as before."""
    write(
        trainer,
        {
            ".ml-audit/profiles/strict.yaml": "about: Nothing passes.\nseverities: {code.clean_tree: critical}\n",
            "ml-audit.yaml": "experiment: {profiles: strict}\n",
        },
    )
    commit(trainer)
    audited(trainer, tmp_path)
    (trainer / "train.py").write_text("# a comment\n" + (trainer / "train.py").read_text())
    (found,) = [each for each in audited(trainer, tmp_path).findings if each.rule == "code.clean_tree"]
    assert (found.status, found.severity.value) == (Status.FAIL, "CRITICAL")


def test_the_manifest_of_reprollm_is_read(trainer, tmp_path):
    write(
        trainer,
        {"reprollm.yaml": "project: {name: t}\nexperiment: {profiles: [training]}\nexecution: {seed: 3}\n"},
    )
    report = audited(trainer, tmp_path)
    assert (report.level, report.profiles.declared) == (1, ("training",))
    (found,) = [each for each in report.findings if each.rule == "train.optimizer_declared"]
    assert found.message.startswith("reprollm.yaml does not say")


def test_lines_that_moved_moved_in_what_is_proposed(trainer, tmp_path):
    """The tree that says the same as the one before: the earlier answer with other lines is the answer that a whole audit gives."""
    write(trainer, {"ml-audit.yaml": MANIFEST + "training:\n  batch_size: 4\n"})
    commit(trainer)
    audited(trainer, tmp_path)
    (trainer / "train.py").write_text("# a comment\n" + (trainer / "train.py").read_text())
    moved = audited(trainer, tmp_path)
    assert moved.findings == audited(trainer, tmp_path, use_cache=False).findings
    (found,) = [each for each in moved.findings if each.rule == "train.optimizer_declared"]
    assert found.fix is not None
    assert [edit.replacement for edit in found.fix.edits] == ["  optimizer: SGD  # from train.py:8\n"]
