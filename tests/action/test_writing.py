"""Outputs, documents and log: what the steps after this one read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.action.folder import FolderError, write_document
from audit.action.inputs import OUTPUTS
from audit.action.log import Log
from audit.action.outputs import LONGEST, write_outputs
from tests.action.world import read_outputs
from tests.github_runner import commands


def test_every_output_is_written(tmp_path):
    file = tmp_path / "output"
    file.write_text("earlier=1\n")
    write_outputs(file, {"score": "7.5", "risk": "LOW"}, lambda: "n")
    text = file.read_text()
    assert text.startswith(
        "earlier=1\nconclusion<<ml-audit-n\n\nml-audit-n\nscore<<ml-audit-n\n7.5\nml-audit-n\n"
    )
    found = read_outputs(text.removeprefix("earlier=1\n"))
    assert list(found) == list(OUTPUTS)
    assert (found["score"], found["risk"], found["drift"]) == ("7.5", "LOW", "")


def test_a_value_cannot_end_its_own_block(tmp_path):
    words = iter(["one", "two"] + ["three"] * 50)
    hostile = "x\nml-audit-one\nconclusion=success"
    write_outputs(tmp_path / "o", {"conclusion": hostile}, lambda: next(words))
    assert read_outputs((tmp_path / "o").read_text())["conclusion"] == hostile


def test_a_huge_value_is_cut_and_no_file_is_no_error(tmp_path):
    write_outputs(tmp_path / "o", {"score": "x" * (LONGEST + 5)}, lambda: "n")
    assert len(read_outputs((tmp_path / "o").read_text())["score"]) == LONGEST
    write_outputs(None, {}, lambda: "n")


@given(st.text())
def test_any_text_is_written_as_text(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("o") / "output"
    write_outputs(file, {"risk": text}, lambda: "nonce")
    assert file.read_bytes().decode("utf-8").count("<<ml-audit-nonce\n") == len(OUTPUTS)


def test_a_document_is_written_whole_and_readable(tmp_path):
    assert write_document("out/deep/report.json", "{}\n", [tmp_path]) == "out/deep/report.json"
    file = tmp_path / "out" / "deep" / "report.json"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("{}\n", 0o644)
    assert [each.name for each in file.parent.iterdir()] == ["report.json"]
    write_document("out/deep/report.json", "again", [tmp_path])
    assert file.read_text() == "again"


def test_a_link_in_the_checkout_leads_nothing_out(tmp_path):
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.mkdir()
    workspace.mkdir()
    (workspace / "ml-audit-report").symlink_to(outside)
    with pytest.raises(FolderError, match="symbolic link"):
        write_document("ml-audit-report/report.json", "{}", [workspace])
    (workspace / "file").write_text("")
    with pytest.raises(FolderError, match="cannot be written"):
        write_document("file/report.json", "{}", [workspace])
    assert list(outside.iterdir()) == []


def test_a_link_in_the_place_of_a_document_is_replaced(tmp_path):
    (tmp_path / "secret").write_text("kept")
    (tmp_path / "report.json").symlink_to(tmp_path / "secret")
    write_document("report.json", "{}", [tmp_path])
    assert (tmp_path / "secret").read_text() == "kept"
    assert not (tmp_path / "report.json").is_symlink()


@pytest.mark.parametrize("name", ["../report.json", "a/../../report.json", "/etc/report.json", "."])
def test_nothing_is_written_outside_of_the_workspace(tmp_path, name):
    with pytest.raises(FolderError, match="leads out of the workspace"):
        write_document(name, "{}", [tmp_path])


def test_the_runners_temporary_folder_is_allowed(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "t").mkdir()
    name = str(tmp_path / "t" / "out" / "report.sarif")
    assert write_document(name, "{}", [tmp_path / "w", tmp_path / "t"]) == name


def test_the_log_is_no_place_for_commands_or_secrets():
    said: list[str] = []
    log = Log(said.append, ("s3cret-token", ""), debugging=True)
    log.info("a ##[error]b\n::set-output name=x::y s3cret-token")
    log.warning("100%\n::error::x, s3cret-token")
    log.debug("ghp_" + "a1B2c3D4e5F6" * 3)
    assert "s3cret-token" not in "".join(said)
    assert "a1B2c3" not in "".join(said)
    assert commands(said[0]) == []
    assert said[1].startswith("::warning title=ml-audit::100%25%0A::error::x, ***")
    assert [line.partition("::")[2].partition("::")[0].split()[0] for line in said[1:]] == [
        "warning",
        "debug",
    ]


def test_debug_lines_only_where_the_runner_debugs():
    said: list[str] = []
    Log(said.append).debug("x")
    assert said == []
