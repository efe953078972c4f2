import os
from pathlib import Path

import msgspec
import pytest

from audit.assess.gate import FailOn
from audit.documents.errors import DocumentError
from audit.documents.finding import Status
from audit.documents.report import Report
from audit.engine import assessment
from audit.engine.audit import audit
from audit.engine.options import Options
from audit.report.json import render
from audit.rules.catalogue import RULES
from audit.source.errors import SourceError
from tests.engine.repositories import TRAINER, commit, effects, git, repository, write


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    return repository(tmp_path / "trainer")


def report_of(target: object, cache: Path, **options: object) -> Report:
    return audit(Options(str(target), **options), effects(cache)).report


def rules_of(report: Report, status: Status) -> set[str]:
    return {finding.rule for finding in report.findings if finding.status is status}


def test_a_report_says_what_was_audited(trainer, tmp_path):
    report = report_of(trainer, tmp_path)
    assert (report.schema_version, report.tool.name, report.level) == (1, "ml-audit", 0)
    assert report.commit == git(trainer, "rev-parse", "HEAD")
    assert report.generated_at == "2026-01-02T03:03:16Z"
    assert {finding.rule for finding in report.findings} == {rule.id for rule in RULES if rule.level == 0}
    assert (report.coverage.files, report.coverage.parsed) == (3, 3)
    assert (
        report.analysis.has_readme and report.analysis.has_requirements and not report.analysis.has_pyproject
    )
    assert report.summary.new is None
    assert msgspec.json.decode(render(report), type=Report) == report


def test_every_point_lost_names_a_rule_that_fails(trainer, tmp_path):
    report = report_of(trainer, tmp_path)
    failing = rules_of(report, Status.FAIL)
    for name in report.dimensions.__struct_fields__:
        part = getattr(report.dimensions, name)
        assert {loss.rule for loss in part.why} <= failing
        if part.score is not None:
            assert round(part.score + sum(loss.points for loss in part.why), 2) == 10.0


def test_the_same_bytes_cold_and_warm_with_any_jobs_and_no_cache(trainer, tmp_path):
    texts = {
        render(report_of(trainer, tmp_path / cache, jobs=jobs, use_cache=used))
        for cache, jobs, used in (
            ("a", 1, True),
            ("a", 2, True),
            ("b", 2, True),
            ("b", 1, False),
            ("a", 1, True),
        )
    }
    assert len(texts) == 1


def test_a_warm_audit_of_an_unchanged_tree_collects_nothing(trainer, tmp_path, monkeypatch):
    first = report_of(trainer, tmp_path)

    def made(*_: object) -> None:
        raise AssertionError("it was made anew")

    monkeypatch.setattr(assessment, "_made", made)
    assert report_of(trainer, tmp_path) == first
    write(trainer, {"new.py": "x = 1\n"})
    with pytest.raises(AssertionError, match="made anew"):
        report_of(trainer, tmp_path)


def test_the_key_of_what_is_kept_holds_git_state_and_question(trainer, tmp_path):
    first = report_of(trainer, tmp_path)
    commit(trainer, "the same files in another commit")
    second = report_of(trainer, tmp_path)
    assert first.commit != second.commit
    assert report_of(trainer, tmp_path, profiles=("finetuning",)).profiles.declared == ("finetuning",)


def test_profiles_are_resolved_with_their_parents_and_detected(trainer, tmp_path):
    profiles = report_of(trainer, tmp_path, profiles=("finetuning",)).profiles
    assert profiles.declared == ("finetuning",)
    assert {"core", "finetuning"} <= set(profiles.resolved)
    assert "training" in [found.profile for found in profiles.detected]
    with pytest.raises(DocumentError, match="no profile called nonsense"):
        report_of(trainer, tmp_path, profiles=("nonsense",))


def test_a_profile_raises_severities_and_lowers_none():
    from audit.documents.finding import Severity

    rule = msgspec.structs.replace(RULES[0], severity=Severity.WARNING)
    assert assessment._weighed(rule, {rule.id: "info"}).severity is Severity.WARNING
    assert assessment._weighed(rule, {rule.id: "critical"}).severity is Severity.CRITICAL
    assert assessment._weighed(rule, {}) is rule


def test_a_damaged_row_costs_time_and_no_answer(trainer, tmp_path):
    import sqlite3

    first = report_of(trainer, tmp_path)
    with sqlite3.connect(tmp_path / "cache" / "facts.sqlite") as database:
        assert database.execute("UPDATE derived SET value = x'c1'").rowcount == 2
    assert report_of(trainer, tmp_path) == first


def test_file_names_that_are_not_utf8(trainer, tmp_path):
    (trainer / os.fsdecode(b"caf\xe9.py")).write_text("import torch\n")
    commit(trainer)
    first = report_of(trainer, tmp_path)
    assert first.coverage.files == 4
    assert report_of(trainer, tmp_path) == first
    assert "caf\\xe9" not in first.repository
    render(first)


def test_the_configuration_suppresses_and_sets_the_threshold(trainer, tmp_path):
    before = report_of(trainer, tmp_path)
    rule = next(
        f.rule for f in before.findings if f.status is Status.FAIL and f.rule.startswith("environment.")
    )
    write(
        trainer,
        {".ml-audit/config.yaml": f"ignore:\n  - rule: {rule}\n    reason: We know.\nfail_on: info\n"},
    )
    commit(trainer)
    audited = audit(Options(str(trainer)), effects(tmp_path))
    assert rule in rules_of(audited.report, Status.SUPPRESSED)
    assert rule not in rules_of(audited.report, Status.FAIL)
    assert audited.report.summary.suppressed == sum(
        f.rule == rule and f.status is Status.FAIL for f in before.findings
    )
    assert audited.fail_on is FailOn.INFO


def test_a_path_does_not_suppress_what_a_long_list_of_places_hides(trainer, tmp_path):
    loads = {f"m{n}.py": "import torch\nstate = torch.load(path)\n" for n in range(7)}
    ignore = "ignore:\n  - rule: security.torch_load\n    paths: ['m*.py']\n    reason: Ours.\n"
    write(trainer, {**loads, ".ml-audit/config.yaml": ignore})
    commit(trainer)
    assert "security.torch_load" in rules_of(report_of(trainer, tmp_path), Status.SUPPRESSED)
    write(trainer, {"z.py": loads["m0.py"]})
    assert "security.torch_load" in rules_of(report_of(trainer, tmp_path), Status.FAIL)


def test_a_comment_suppresses_what_stands_on_its_line(trainer, tmp_path):
    before = report_of(trainer, tmp_path)
    found = next(
        f
        for f in before.findings
        if f.status is Status.FAIL
        and f.evidence
        and f.evidence[0].path == "requirements.txt"
        and f.evidence[0].line
    )
    path = trainer / "requirements.txt"
    lines = path.read_text().splitlines()
    lines[found.evidence[0].line - 1] += f"  # ml-audit: ignore[{found.rule}] the newest is wanted"
    path.write_text("\n".join(lines) + "\n")
    commit(trainer)
    after = report_of(trainer, tmp_path)
    [same] = [f for f in after.findings if f.fingerprint == found.fingerprint]
    assert same.status is Status.SUPPRESSED
    assert same.message.endswith("Suppressed: the newest is wanted")


def test_a_document_that_explains_suppressions_is_none(trainer, tmp_path):
    write(trainer, {"docs/usage.md": "Write `# ml-audit: ignore[rule]` on the line.\n"})
    commit(trainer)
    assert not any(f.category == "suppression" for f in report_of(trainer, tmp_path).findings)


def test_a_mistake_in_the_configuration_is_an_error_with_its_line(trainer, tmp_path):
    write(trainer, {".ml-audit/config.yaml": "ignore:\n  - rule: a.b\n"})
    with pytest.raises(DocumentError, match=r"\.ml-audit/config\.yaml:2:5: ignore\.0\.reason: is missing"):
        report_of(trainer, tmp_path)


def test_a_target_that_is_not_there(tmp_path):
    with pytest.raises(SourceError):
        report_of(tmp_path / "nothing", tmp_path)


def test_an_empty_repository(tmp_path):
    git_folder = tmp_path / "empty"
    git_folder.mkdir()
    git(git_folder, "init", "-q")
    report = report_of(git_folder, tmp_path)
    assert (report.commit, report.coverage.files) == (None, 0)
    assert 0.0 <= report.score <= 10.0


class TestBaseline:
    WORSE = TRAINER["requirements.txt"] + "transformers\n"

    @pytest.fixture
    def branch(self, trainer: Path) -> Path:
        """On a branch with one further loose dependency that the code imports, behind a main that moved on."""
        git(trainer, "switch", "-q", "-c", "topic")
        write(trainer, {"requirements.txt": self.WORSE, "more.py": "import transformers\n"})
        commit(trainer)
        git(trainer, "switch", "-q", "main")
        write(trainer, {"LICENSE": "All rights reserved.\n"})
        commit(trainer)
        git(trainer, "switch", "-q", "topic")
        return trainer

    def test_against_a_ref_only_what_the_branch_brought_is_new(self, branch, tmp_path):
        report = report_of(branch, tmp_path, baseline="main")
        new = [f for f in report.findings if f.new]
        # With one more package left open, the list that was half exact records nothing to speak of.
        assert {f.rule for f in new} == {"environment.critical_pinned", "environment.lock"}
        assert "transformers" in " ".join(place.note for f in new for place in f.evidence)
        assert report.summary.new == len(new)
        assert all(f.new is not None for f in report.findings if f.status is Status.FAIL)
        assert any(note.startswith("Compared with ") for note in report.coverage.notes)

    def test_against_a_report_the_same(self, branch, tmp_path):
        base = report_of(f"{branch}@{git(branch, 'merge-base', 'HEAD', 'main')}", tmp_path)
        file = tmp_path / "earlier.json"
        file.write_text(render(base))
        by_file = report_of(branch, tmp_path, baseline=str(file))
        by_ref = report_of(branch, tmp_path, baseline="main")
        assert {f.fingerprint for f in by_file.findings if f.new} == {
            f.fingerprint for f in by_ref.findings if f.new
        }
        for compared, name in ((by_file, "earlier.json"), (by_ref, "main")):
            assert compared.baseline is not None
            assert compared.baseline.name == name
            assert (compared.baseline.commit, compared.baseline.score, compared.baseline.risk) == (
                base.commit,
                base.score,
                base.risk,
            )
        assert by_ref.baseline.fixed == by_file.baseline.fixed

    def test_what_the_branch_mended_is_told(self, trainer, tmp_path):
        git(trainer, "switch", "-q", "-c", "topic")
        write(trainer, {"CITATION.cff": 'cff-version: 1.2.0\ntitle: T\nmessage: "Cite it."\n'})
        commit(trainer)
        report = report_of(trainer, tmp_path, baseline="main")
        assert report.baseline is not None
        assert [f.rule for f in report.baseline.fixed] == ["documentation.citation"]
        assert report.summary.fixed == 1

    def test_moved_lines_and_a_renamed_file_bring_nothing_new(self, trainer, tmp_path):
        git(trainer, "switch", "-q", "-c", "topic")
        (trainer / "src").mkdir()
        git(trainer, "mv", "train.py", "src/train.py")
        (trainer / "requirements.txt").write_text(
            "# pinned where it matters\n\n" + TRAINER["requirements.txt"]
        )
        write(trainer, {"README.md": TRAINER["README.md"].replace("train.py", "src/train.py")})
        commit(trainer)
        report = report_of(trainer, tmp_path, baseline="main")
        assert [(f.rule, f.message) for f in report.findings if f.new] == []

    def test_the_work_tree_against_its_own_commit(self, trainer, tmp_path):
        write(trainer, {"requirements.txt": self.WORSE})
        report = report_of(trainer, tmp_path, baseline="HEAD")
        assert report.summary.new is not None

    def test_a_baseline_that_is_the_audited_commit_is_refused(self, trainer, tmp_path):
        for target, baseline in ((trainer, "main"), (trainer, "HEAD"), (f"{trainer}@main", "main")):
            with pytest.raises(DocumentError, match=r"is the audited commit .* itself"):
                report_of(target, tmp_path, baseline=baseline)
        file = tmp_path / "same.json"
        file.write_text(render(report_of(trainer, tmp_path)))
        with pytest.raises(DocumentError, match=r"is the audited commit .* itself"):
            report_of(trainer, tmp_path, baseline=str(file))

    def test_a_ref_that_is_not_there(self, trainer, tmp_path):
        with pytest.raises(SourceError, match="no commit named nowhere"):
            report_of(trainer, tmp_path, baseline="nowhere")

    def test_a_ref_of_a_plain_folder(self, tmp_path):
        folder = tmp_path / "plain"
        write(folder, TRAINER)
        with pytest.raises(SourceError, match="has none to compare with"):
            report_of(folder, tmp_path, baseline="main")

    @pytest.mark.parametrize("text", ["", "{}", "[1]", "not json", '{"schema_version": 1}', "[" * 100_000])
    def test_a_file_that_is_no_report(self, trainer, tmp_path, text):
        file = tmp_path / "bad.json"
        file.write_text(text)
        with pytest.raises(DocumentError, match="is not a report of ml-audit"):
            report_of(trainer, tmp_path, baseline=str(file))

    def test_a_folder_inside_the_repository(self, trainer, tmp_path):
        write(trainer, {f"part/{name}": text for name, text in TRAINER.items()})
        commit(trainer)
        git(trainer, "switch", "-q", "-c", "topic")
        write(trainer, {"part/requirements.txt": self.WORSE})
        commit(trainer)
        report = report_of(trainer / "part", tmp_path, baseline="main")
        assert report.coverage.files == 3
        assert report.summary.new is not None

    def test_a_mistake_in_the_baselines_configuration_does_not_matter(self, trainer, tmp_path):
        write(trainer, {".ml-audit/config.yaml": "nonsense: 1\n"})
        commit(trainer)
        git(trainer, "switch", "-q", "-c", "topic")
        write(trainer, {".ml-audit/config.yaml": "fail_on: never\n"})
        commit(trainer)
        assert report_of(trainer, tmp_path, baseline="main").summary.new == 0

    def test_what_a_suppression_says_wrongly_is_new_once(self, trainer, tmp_path):
        wrong = {".ml-audit/config.yaml": "ignore:\n  - rule: no.such\n    reason: We know.\n"}
        git(trainer, "switch", "-q", "-c", "topic")
        write(trainer, wrong)
        commit(trainer)
        first = report_of(trainer, tmp_path, baseline="main")
        assert [f.rule for f in first.findings if f.new] == ["suppression.unknown-rule"]
        git(trainer, "switch", "-q", "-c", "later")
        write(trainer, {"notes.txt": "x\n"})
        commit(trainer)
        assert report_of(trainer, tmp_path, baseline="topic").summary.new == 0
