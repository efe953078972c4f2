"""`ml-audit diff`."""

import json
from pathlib import Path

import jsonschema
import pytest

from audit.cli.diff_command import FORMATS, SEVERITIES
from audit.cli.main import run
from audit.cli.schema_command import schema_text
from audit.report.drift import FORMATS as RENDERERS
from tests.engine.repositories import TRAINER, commit, repository, write

MANIFEST = """\
schema_version: 1
project: {name: demo}
models:
  primary: {provider: huggingface, id: acme/base-7b, revision: v1}
training: {learning_rate: 2.0e-5, epochs: 3}
"""


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose second commit changes the learning rate and a package."""
    monkeypatch.setenv("ML_AUDIT_CACHE_DIR", str(tmp_path / "cache"))
    folder = repository(tmp_path / "r")
    write(
        folder,
        {
            "train.py": TRAINER["train.py"].replace("lr=0.1", "lr=0.2"),
            "requirements.txt": "torch==2.4.2\nnumpy\n",
        },
    )
    commit(folder)
    return folder


def ends(folder: Path) -> tuple[str, str]:
    return f"{folder}@HEAD~1", f"{folder}@HEAD"


def test_the_formats_are_those_of_the_renderers():
    assert set(FORMATS) == set(RENDERERS)


def test_text_says_what_changed_and_why(changed, capsys):
    assert run(["diff", *ends(changed)]) == 0
    out, err = capsys.readouterr()
    assert (
        "2 settings changed: 1 high, 1 medium; the results before and after are not directly comparable"
        in out
    )
    assert "train.py:7  optimizer.lr (main)  [training.learning_rate]\n      0.1 -> 0.2 (+100 %)\n" in out
    assert (
        "requirements.txt:1  torch  [environment.packages.torch.declared]\n      ==2.4.1 -> ==2.4.2\n" in out
    )
    assert err == ""


def test_json_satisfies_the_schema_and_stands_alone(changed, capsys):
    assert run(["diff", *ends(changed), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    schema = json.loads(schema_text("drift"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert [change["severity"] for change in document["changes"]] == ["HIGH", "MEDIUM"]
    assert len(document["a"]["commit"]) == 40


@pytest.mark.parametrize(("threshold", "code"), [("high", 1), ("medium_high", 1), ("low", 1), ("never", 0)])
def test_the_gate(changed, threshold, code, capsys):
    assert run(["diff", *ends(changed), "--fail-on", threshold]) == code
    assert ("the gate is closed" in capsys.readouterr().err) is bool(code)


def test_what_is_not_shown_closes_the_gate_too(changed, capsys):
    write(changed, {"requirements.txt": "torch==2.4.2\nnumpy==2.1.0\n"})
    assert (
        run(["diff", f"{changed}@HEAD", str(changed), "--min-severity", "high", "--fail-on", "medium"]) == 1
    )
    out, _ = capsys.readouterr()
    assert "numpy" not in out
    assert "1 of less severity not shown" in out


def test_a_work_tree_that_did_not_change(changed, capsys):
    assert run(["diff", f"{changed}@HEAD", str(changed), "--fail-on", "low"]) == 0
    assert "The experiment is the same" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_written(changed, form, tmp_path, capsys):
    target = tmp_path / f"d.{form}"
    assert run(["diff", *ends(changed), "--format", form, "--output", str(target)]) == 0
    assert "0.2" in target.read_text("utf-8")
    out, err = capsys.readouterr()
    assert out == ""
    assert f"written to {target}" in err


def test_the_same_answer_with_and_without_the_cache(changed, capsys):
    answers = []
    for more in ([], [], ["--no-cache"], ["--jobs", "2"]):
        run(["diff", *ends(changed), "--json", *more])
        answers.append(capsys.readouterr().out)
    assert len(set(answers)) == 1


def test_two_manifests(tmp_path, capsys):
    for name, text in (
        ("a.yaml", MANIFEST),
        ("b.yaml", MANIFEST.replace("2.0e-5", "0.00002").replace("revision: v1", "revision: v2")),
    ):
        (tmp_path / name).write_text(text)
    assert run(["diff", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), "--fail-on", "high"]) == 1
    out = capsys.readouterr().out
    assert "models.primary.revision" in out
    assert "learning_rate" not in out


def test_a_manifest_beside_the_code(changed, tmp_path, capsys):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    assert run(["diff", str(tmp_path / "m.yaml"), str(changed), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"]["kind"], document["b"]["kind"]) == ("manifest", "code")
    assert ("training.learning_rate", 2e-05, 0.2) in [
        (change["setting"], change["before"]["value"], change["after"]["value"])
        for change in document["changes"]
    ]
    assert "A manifest was compared with the code" in document["notes"][0]


def test_a_manifest_in_both_commits_is_compared_too(changed, capsys):
    write(changed, {"ml-audit.yaml": MANIFEST})
    commit(changed)
    write(changed, {"ml-audit.yaml": MANIFEST.replace("epochs: 3", "epochs: 4")})
    commit(changed)
    assert run(["diff", *ends(changed), "--json"]) == 0
    [change] = json.loads(capsys.readouterr().out)["changes"]
    assert (change["setting"], change["severity"], change["after"]["place"]["path"]) == (
        "training.epochs",
        "HIGH",
        "ml-audit.yaml",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["diff", "nowhere", "nowhere"], 3, "nowhere is neither a folder of this machine nor owner/repo"),
        (["diff", "."], 2, "Missing argument 'B'"),
        (["diff", ".", ".", "--fail-on", "critical"], 2, "'critical' is not one of"),
        (["diff", ".", ".", "--json", "--format", "html"], 2, "ask for different things"),
        (["diff", ".", ".", "--output", "/nowhere/x"], 2, "There is no folder /nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments, code, said, capsys):
    assert run(arguments) == code
    assert said in capsys.readouterr().err


def test_a_manifest_with_a_mistake_is_said_with_its_line(tmp_path, capsys):
    (tmp_path / "m.yaml").write_text(MANIFEST.replace("epochs", "epocs"))
    assert run(["diff", str(tmp_path / "m.yaml"), str(tmp_path / "m.yaml")]) == 2
    assert "m.yaml:5" in capsys.readouterr().err


def test_thresholds_are_those_of_the_action():
    from audit.assess.drift_gate import THRESHOLDS

    assert (*SEVERITIES, "never") == THRESHOLDS
