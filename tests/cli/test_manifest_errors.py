"""A manifest that is not valid, on the command line."""

import pytest

from audit.cli.main import run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path / "cache"))
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "main.py").write_text("print(1)\n")
    return repository


def test_every_mistake_is_a_line_and_the_exit_code_is_2(folder, capsys):
    (folder / "ml-audit.yaml").write_text(
        "trainin: {}\ngeneration:\n  temperature: 3\nmodels: {primary: {provider: openia}}\n"
    )
    assert run(["audit", str(folder), "-q"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "ml-audit: ml-audit.yaml:1:1: trainin: this key is not known; perhaps training? Allowed:" in err
    assert "\nml-audit.yaml:3:3: generation.temperature: 2 or less is expected, not `3`.\n" in err
    assert "\nml-audit.yaml:4:20: models.primary.provider: one of huggingface, openai," in err
    assert err.rstrip().endswith("See docs/manifest.md, or `ml-audit schema manifest`.")


def test_a_lower_level_audits_all_the_same(folder, capsys):
    (folder / "ml-audit.yaml").write_text("trainin: {}\n")
    assert run(["audit", str(folder), "-q", "--level", "0", "--fail-on", "never"]) == 0
    assert "level 0" in capsys.readouterr().out


def test_hostile_text_of_a_manifest_does_not_reach_the_terminal(folder, capsys):
    (folder / "ml-audit.yaml").write_text('"a\\e[31mb": 1\nmodels: {primary: {provider: "\\u202Eevil\\a"}}\n')
    assert run(["audit", str(folder), "-q"]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err and "\u202e" not in err and "\x07" not in err


def test_runner_commands_in_a_manifest_are_none(folder, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (folder / "ml-audit.yaml").write_text('"x\\n::error::forged": 1\n"y\\r\\n::set-output name=a::b": 1\n')
    assert run(["audit", str(folder), "-q"]) == 2
    assert not [line for line in capsys.readouterr().err.splitlines() if line.startswith("::")]
