import json

import pytest

from audit.cli.main import run
from audit.profiles import profiles


def test_profiles_list_has_a_line_for_each(capsys):
    assert run(["profiles", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(profiles())


def test_profiles_list_as_json(capsys):
    assert run(["profiles", "list", "--json"]) == 0
    data = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert data["llm_judge"]["resolved"] == ["core", "inference", "evaluation", "llm_judge"]
    assert data["llm_judge"]["required"]["project.name"] == "core"
    assert data["llm_judge"]["severities"]["judge.model_declared"] == "critical"
    assert data["core"]["path"] is None


@pytest.mark.parametrize("name", sorted(profiles()))
def test_profiles_show(name, capsys):
    assert run(["profiles", "show", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{name}\n{profiles()[name].about}\n")
    for field in profiles()[name].required:
        assert f"\n  {field}" in text


def test_those_of_the_repository_are_shown_too(tmp_path, capsys):
    folder = tmp_path / ".ml-audit" / "profiles"
    folder.mkdir(parents=True)
    (folder / "ablation.yaml").write_text("about: One thing less.\nextends: rl\nrequired: [custom.removed]\n")
    (folder / "notes.txt").write_text("x")
    assert run(["profiles", "show", "ablation", "--path", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("ablation  (.ml-audit/profiles/ablation.yaml)\nOne thing less.\nExtends: rl\n")
    assert "\n  custom.removed\n" in text and "\n  training.total_timesteps  (rl)\n" in text
    assert run(["profiles", "list", "--path", str(tmp_path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(profiles()) + 1


def test_a_mistake_in_one_is_an_invalid_document(tmp_path, capsys):
    folder = tmp_path / ".ml-audit" / "profiles"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text("about: some\nextends: [finetune]\n")
    assert run(["profiles", "list", "--path", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert (
        ".ml-audit/profiles/a.yaml:2:11: extends: there is no profile finetune; perhaps finetuning." in said
    )


def test_escape_sequences_do_not_reach_the_terminal(tmp_path, capsys):
    folder = tmp_path / ".ml-audit" / "profiles"
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text('about: "red \\e[31m text"\n')
    assert run(["profiles", "show", "a", "--path", str(tmp_path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_link_is_not_followed(tmp_path, capsys):
    folder = tmp_path / ".ml-audit" / "profiles"
    folder.mkdir(parents=True)
    (tmp_path / "secret").write_text("about: some\n")
    (folder / "a.yaml").symlink_to(tmp_path / "secret")
    assert run(["profiles", "list", "--path", str(tmp_path), "--json"]) == 0
    assert {each["name"] for each in json.loads(capsys.readouterr().out)} == set(profiles())


def test_a_misspelt_profile_gets_a_hint(capsys):
    assert run(["profiles", "show", "evaluaton"]) == 2
    assert "perhaps evaluation" in capsys.readouterr().err
