import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from audit.cli import main as main_module
from audit.cli.main import COMMANDS, cli, run
from audit.cli.schema_command import NAMES
from audit.engine.exit_codes import MEANINGS, ExitCode
from tests.engine.repositories import repository

HEAVY = (
    "pydantic",
    "github",
    "jinja2",
    "rich",
    "tree_sitter",
    "msgspec",
    "yaml",
    "requests",
    "sqlite3",
    "multiprocessing",
)


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path / "cache"))
    return repository(tmp_path / "trainer")


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "audit", *arguments], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["--version"],
        ["audit", "--help"],
        ["rules", "--help"],
        ["rules", "list", "--help"],
    ],
)
def test_help_imports_nothing_heavy(arguments):
    code = f"import sys; from audit.cli.main import run; c = run({arguments}); print('\\0', c, [m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[1].split() == ["0", "[]"]


def test_help_names_every_command_and_exit_code(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in COMMANDS)
    assert all(f"{code.value} " in text and meaning in text for code, meaning in MEANINGS.items())
    assert set(MEANINGS) == set(ExitCode)


def test_every_command_is_there_and_has_its_line():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None and command.name == name
        assert command.help


def test_no_arguments_shows_help_and_is_wrong_usage(capsys):
    assert run([]) == 2
    assert "Usage: ml-audit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nonsense"], "No such option"),
        (["audit", ".", "--format", "xml"], "'xml' is not one of"),
        (["audit", ".", "--jobs", "0"], "0 is not in the range"),
        (["audit", ".", "--json", "--format", "sarif"], "ask for different things"),
        (["audit", ".", "--output", "/nowhere/at/all/x.json"], "There is no folder"),
        (["audit", ".", "again"], "unexpected extra argument"),
        (["rules", "show", "nothing.known"], "no rule called nothing.known"),
        (["rules", "list", "--category", "nothing"], "one of"),
        (["schema", "nothing"], "is not one of"),
        (["schema"], f"Choose from: {', '.join(NAMES)}"),
        (["completion", "tcsh"], "is not one of"),
    ],
)
def test_wrong_usage_is_one_message_and_code_2(arguments, said, capsys):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith("ml-audit: ") and "Traceback" not in err


def test_a_target_that_is_not_there_is_code_3(tmp_path, capsys):
    assert run([str(tmp_path / "nothing")]) == 3
    out, err = capsys.readouterr()
    assert out == "" and "nothing" in err and "Traceback" not in err


def test_a_word_that_is_nearly_a_command_is_explained(capsys):
    assert run(["rulse"]) == 3
    assert "Perhaps the command rules is meant" in capsys.readouterr().err


def test_an_invalid_configuration_is_code_2(trainer, capsys):
    (trainer / ".ml-audit").mkdir()
    (trainer / ".ml-audit" / "config.yaml").write_text("nonsense: 1\n")
    assert run([str(trainer)]) == 2
    assert (
        ".ml-audit/config.yaml:1:1: nonsense: this key is not known here. Allowed: ignore,"
        in capsys.readouterr().err
    )


def broken(*_: object) -> None:
    raise ZeroDivisionError("a fault\nwith \x1b[31m lines")


def test_a_fault_of_ours_is_code_4_in_one_line(trainer, capsys, monkeypatch):
    monkeypatch.setattr("audit.engine.audit.audit", broken)
    assert run([str(trainer)]) == 4
    _, err = capsys.readouterr()
    assert "ml-audit: internal error: ZeroDivisionError: a fault" in err
    assert "Traceback" not in err and "--verbose" in err and "\x1b" not in err


def test_with_verbose_the_traceback_is_shown(trainer, capsys, monkeypatch):
    monkeypatch.setattr("audit.engine.audit.audit", broken)
    assert run([str(trainer), "--verbose"]) == 4
    _, err = capsys.readouterr()
    assert "Traceback" in err and "in broken" in err and "\x1b" not in err


def test_an_interruption_is_code_130(trainer, capsys, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.engine.audit.audit", interrupted)
    assert run([str(trainer)]) == 130
    assert capsys.readouterr().err.strip() == "ml-audit: interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_control_c_ends_the_process_with_130(tmp_path):
    code = (
        "import sys, time, audit.engine.audit as a\n"
        "def wait(*_):\n    print('ready', flush=True); time.sleep(60)\n"
        "a.audit = wait\nfrom audit.cli.main import main\nsys.argv[1:] = ['.']\nmain()\n"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert (running.returncode, err.strip()) == (130, "ml-audit: interrupted")


@pytest.mark.parametrize(("fail_on", "code"), [("info", 1), ("never", 0)])
def test_a_reader_that_goes_away_changes_no_exit_code(trainer, fail_on, code):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "audit", str(trainer), "--json", "--fail-on", fail_on, "--quiet"],
            stdout=closed, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, "")


def test_the_first_word_may_be_an_option(trainer, monkeypatch, capsys):
    monkeypatch.chdir(trainer)
    assert run(["--json", "--fail-on", "never", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("{\n")


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"ml-audit, version {main_module.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_command_and_variable(shell, capsys):
    assert run(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "_ML_AUDIT_COMPLETE" in text and "ml-audit" in text


def test_completion_answers(tmp_path):
    environment = os.environ | {
        "_ML_AUDIT_COMPLETE": "bash_complete",
        "COMP_WORDS": "ml-audit ru",
        "COMP_CWORD": "1",
    }
    done = process(env=environment)
    assert "rules" in done.stdout
