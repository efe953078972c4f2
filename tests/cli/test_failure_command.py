"""`ml-audit failure`: its options, exit codes, and what it writes where."""

import json
import os
from pathlib import Path

import pytest

from audit.cli.main import run

LOG = (
    "##[group]Run python train.py\n##[endgroup]\nOSError: [Errno 28] No space left on device\n##[error]Process completed with exit code "
    "1.\nCleaning up orphan processes\n"
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "job.log"
    path.write_text(LOG)
    return str(path)


def test_json_alone_on_stdout(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["failure", "--log", log, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["category"], told["cause"]["file"], told["cause"]["line"]) == ("infra_runtime", "job.log", 3)


def test_text_is_the_default(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["failure", "--log", log]) == 0
    assert capsys.readouterr().out.startswith("Machine, network or runner (infra_runtime)")


def test_the_gate_is_closed_only_by_categories_asked_for(log: str) -> None:
    assert run(["failure", "--log", log, "--fail-on-verdict", "infra_runtime"]) == 1
    assert run(["failure", "--log", log, "--fail-on-verdict", "correctness,ml_regression"]) == 0
    assert run(["failure", "--log", log, "--fail-on-verdict", "never"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["failure"],
        ["failure", "--log", "x", "--fail-on-verdict", "bad"],
        ["failure", "--log", "x", "--json", "--format", "text"],
        ["failure", "--log", "x", "--schema", "s", "--format", "html"],
        ["failure", "--log", "x", "--output", "/nowhere/at/all.txt"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert run(arguments) == 2


def test_what_cannot_be_read_is_said(tmp_path: Path, log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["failure", "--log", str(tmp_path / "none.log")]) == 3
    assert "no such file" in capsys.readouterr().err
    assert run(["failure", "--log", log, "--claims", str(tmp_path / "none.md")]) == 3
    assert run(["failure", "--log", log, "--repo", str(tmp_path / "none")]) == 3
    assert run(["failure", "--log", log, "--metrics", str(tmp_path / "none")]) == 3
    assert run(["failure", "--log", log, "--golden", str(tmp_path / "none.json")]) == 3


def test_a_document_by_example(tmp_path: Path, log: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = tmp_path / "example.json"
    example.write_text('{"category": "correctness", "confidence": "low"}')
    assert run(["failure", "--log", log, "--schema", str(example)]) == 0
    assert json.loads(capsys.readouterr().out)["category"] == "infra_runtime"
    example.write_text('{"category": "correctness", "blood_type": "0"}')
    assert run(["failure", "--log", log, "--schema", str(example)]) == 3
    assert "blood_type" in capsys.readouterr().err


def test_output_goes_to_a_file(tmp_path: Path, log: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "verdict.html"
    assert run(["failure", "--log", log, "--format", "html", "--output", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert out.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("option", ["--log", "--claims", "--schema"])
def test_what_never_ends_is_not_opened(
    tmp_path: Path, log: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / ("n" * 5000)):
        given = ["--log", log] if option != "--log" else []
        assert run(["failure", *given, option, str(path)]) == 3
        assert "ml-audit: " in capsys.readouterr().err


def test_a_schema_of_absurd_size_is_refused(
    tmp_path: Path, log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.json").write_bytes(b" " * (5 << 20))
    assert run(["failure", "--log", log, "--schema", str(tmp_path / "s.json")]) == 3
    assert "more than 4 MiB" in capsys.readouterr().err
