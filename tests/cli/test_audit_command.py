import json
import os
import stat
from pathlib import Path

import jsonschema
import msgspec
import pytest

from audit.cli.audit_command import FORMATS
from audit.cli.main import run
from audit.cli.output import OutputError, write_file
from audit.cli.schema_command import schema_text
from audit.documents.report import Report
from audit.report import FORMATS as RENDERERS
from tests.engine.repositories import commit, git, repository, write


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return repository(tmp_path / "trainer")


def test_the_formats_are_those_of_the_renderers():
    assert set(FORMATS) == set(RENDERERS)


def test_with_json_stdout_is_the_document_alone(trainer, capsys):
    assert run([str(trainer), "--json", "--fail-on", "never"]) == 0
    out, err = capsys.readouterr()
    report = msgspec.json.decode(out, type=Report)
    assert report.repository
    assert err == ""


def test_the_document_satisfies_the_schema(trainer, capsys):
    run([str(trainer), "--json", "--fail-on", "never"])
    schema = json.loads(schema_text("audit-report"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


@pytest.mark.parametrize("form", FORMATS)
def test_the_gate_is_the_same_whatever_the_format(trainer, form, tmp_path, capsys):
    target = str(tmp_path / f"report.{form}")
    assert run([str(trainer), "--format", form, "--fail-on", "info", "--output", target]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "the gate is closed:" in err and f"written to {target}" in err
    assert Path(target).stat().st_size > 100
    assert run([str(trainer), "--format", form, "--fail-on", "never", "--output", target, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_threshold_of_the_command_line_wins_over_the_configuration(trainer, capsys):
    write(trainer, {".ml-audit/config.yaml": "fail_on: info\n"})
    assert run([str(trainer), "--quiet"]) == 1
    assert run([str(trainer), "--quiet", "--fail-on", "never"]) == 0


def test_with_a_baseline_only_what_is_new_closes_the_gate(trainer, capsys):
    git(trainer, "switch", "-q", "-c", "topic")
    write(trainer, {"notes.md": "Nothing of importance.\n"})
    commit(trainer)
    assert run([str(trainer), "--fail-on", "info", "--quiet"]) == 1
    assert run([str(trainer), "--fail-on", "info", "--quiet", "--baseline", "main"]) == 0
    assert run([str(trainer), "--quiet", "--baseline", "topic"]) == 2
    assert "itself, so nothing could be new" in capsys.readouterr().err


def test_passed_rules_are_shown_when_asked_for(trainer, capsys):
    run([str(trainer), "--fail-on", "never"])
    assert "Passed (" not in capsys.readouterr().out
    run([str(trainer), "--fail-on", "never", "--show-passed"])
    assert "Passed (" in capsys.readouterr().out


def test_in_a_pipe_there_is_no_colour_and_no_progress(trainer, capsys):
    run([str(trainer), "--fail-on", "never"])
    out, err = capsys.readouterr()
    assert "\x1b" not in out and err == ""


def test_without_cache_nothing_is_written(trainer, tmp_path):
    assert run([str(trainer), "--fail-on", "never", "--quiet", "--no-cache"]) == 0
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_changes_nothing(trainer, tmp_path, monkeypatch, capsys):
    run([str(trainer), "--fail-on", "never", "--json"])
    first = json.loads(capsys.readouterr().out)
    blocked = tmp_path / "a-file"
    blocked.write_text("in the way")
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(blocked / "below"))
    assert run([str(trainer), "--fail-on", "never", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert first | {"generated_at": ""} == second | {"generated_at": ""}


class TestWriteFile:
    def test_it_replaces_and_leaves_nothing_beside(self, tmp_path):
        path = tmp_path / "report.json"
        path.write_text("old")
        write_file(path, "new \udcff\n")
        assert path.read_bytes() == b"new \\udcff\n"
        assert [path.name for path in tmp_path.iterdir()] == ["report.json"]

    def test_a_failure_leaves_the_old_one(self, tmp_path, monkeypatch):
        path = tmp_path / "report.json"
        path.write_text("old")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(OutputError, match="No space left on device"):
            write_file(path, "new")
        assert path.read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["report.json"]

    def test_a_link_stays_one(self, tmp_path):
        (tmp_path / "real").mkdir()
        link = tmp_path / "report.json"
        link.symlink_to(tmp_path / "real" / "report.json")
        write_file(link, "new")
        assert link.is_symlink() and (tmp_path / "real" / "report.json").read_text() == "new"

    def test_a_device_is_written_to_as_it_is(self):
        write_file(Path(os.devnull), "new")
        assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)

    def test_a_folder_is_refused(self, tmp_path):
        with pytest.raises(OutputError):
            write_file(tmp_path, "new")
