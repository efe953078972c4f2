"""`ml-audit init`: writes, refuses to overwrite, prints, asks."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli.init_command import init_command
from audit.cli.main import run
from audit.state.manifest_reading import read_manifest
from tests.engine.repositories import TRAINER


@pytest.fixture
def project(tmp_path: Path) -> Path:
    from textwrap import dedent

    for name, text in TRAINER.items():
        (tmp_path / name).write_text(dedent(text))
    (tmp_path / "other.sh").write_text("python train.py --wide\n")
    return tmp_path


def test_a_manifest_is_written_beside_the_code(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(project), "--no-cache"]) == 0
    text = (project / "ml-audit.yaml").read_text()
    manifest = read_manifest(text.encode())
    assert manifest.training is not None
    assert (manifest.training.learning_rate, manifest.training.optimizer, manifest.training.seed) == (
        0.1,
        "SGD",
        0,
    )
    said = capsys.readouterr().err
    assert "experiment train: " in said and "written to" in said and "--experiment NAME" in said
    assert [file.name for file in project.iterdir() if "part" in file.name] == []


def test_what_is_there_is_not_touched(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "ml-audit.yaml").write_text("project: {name: mine}\n")
    assert run(["init", str(project), "--no-cache"]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert (project / "ml-audit.yaml").read_text() == "project: {name: mine}\n"
    assert run(["init", str(project), "--no-cache", "--force"]) == 0
    assert "learning_rate: 0.1" in (project / "ml-audit.yaml").read_text()


def test_stdout_holds_the_document_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(project), "--no-cache", "--output", "-"]) == 0
    read_manifest(capsys.readouterr().out.encode())
    assert not (project / "ml-audit.yaml").exists()


def test_an_unknown_experiment_or_profile(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(project), "--no-cache", "--experiment", "nothing"]) == 2
    assert "There is no experiment called nothing. The code shows train" in " ".join(
        capsys.readouterr().err.split()
    ).replace("ml-audit: ", "")
    assert not (project / "ml-audit.yaml").exists()


def test_another_tools_manifest(project: Path) -> None:
    old = project / "reprollm.yaml"
    old.write_text(
        "schema_version: 1\nproject: {name: p}\nmodels: {primary: {provider: huggingface, id: a/b}}\n"
    )
    assert run(["init", "--from", str(old)]) == 0
    assert read_manifest((project / "ml-audit.yaml").read_bytes()).models["primary"].id == "a/b"


def test_questions(project: Path) -> None:
    result = CliRunner().invoke(
        init_command, [str(project), "--interactive", "--no-cache"], input="2\n" + "\n" * 30
    )
    assert result.exit_code == 0, result.output
    assert "name: other" in (project / "ml-audit.yaml").read_text()
