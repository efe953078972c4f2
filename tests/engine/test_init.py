"""A manifest proposed from code: valid whatever the code says, with places, with TODOs, and nothing that a second audit contradicts."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.errors import DocumentError
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source
from audit.engine.audit import audit
from audit.engine.init import InitOptions, converted, fitting, propose
from audit.engine.manifest_text import manifest_text, open_line, value_line
from audit.engine.options import Effects, Options
from audit.state.manifest import state_of
from audit.state.manifest_reading import read_declared, read_manifest
from tests.engine.repositories import WHEN

TRAIN = '''
import argparse
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

PROMPT = """Answer the question below.

Question: {question}
"""

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="acme/tiny")
    parser.add_argument("--lr", type=float, default=1e-4)
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    arguments = TrainingArguments("out", learning_rate=args.lr, per_device_train_batch_size=8)
    Trainer(model=model, args=arguments, train_dataset=load_dataset("acme/reviews", split="train")).train()

if __name__ == "__main__":
    main()
'''


def effects() -> Effects:
    return Effects(lambda: WHEN, {"PATH": os.environ["PATH"]})


def folder(at: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = at / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return at


@pytest.fixture
def project(tmp_path: Path) -> Path:
    readme = "# P\n\n```\npython train.py --lr 2e-5\n```\n"
    return folder(
        tmp_path,
        {
            "train.py": TRAIN,
            "README.md": readme,
            "scripts/big.sh": "python train.py --model acme/big --lr 1e-5\n",
        },
    )


def options(at: Path, **further: object) -> InitOptions:
    return InitOptions(str(at), use_cache=False, jobs=1, **further)  # type: ignore[arg-type]


def test_values_come_with_their_places(project: Path) -> None:
    made = propose(options(project), effects())
    lines = made.document.splitlines()
    assert made.chosen == "train"
    assert made.others == (("big", "scripts/big.sh:1"),)
    assert any(line.startswith("    id: acme/tiny  # from train.py:13 (default of --model") for line in lines)
    assert "  learning_rate: 2.0e-05  # from README.md:4 (--lr); 0.0001 in train.py:14" in lines
    assert (
        "  seed: 42  # library default of transformers.TrainingArguments: nothing in the code sets it"
        in lines
    )
    assert any(line.startswith("  method:  # TODO") for line in lines)
    manifest = read_manifest(made.document.encode())
    assert manifest.prompts["primary"].text == "Answer the question below.\n\nQuestion: {question}\n"
    assert manifest.experiment is not None and manifest.experiment.profiles == ("finetuning",)


def test_a_second_audit_contradicts_nothing(project: Path) -> None:
    made = propose(options(project), effects())
    (project / "ml-audit.yaml").write_text(made.document)
    report = audit(Options(str(project), level="1", use_cache=False, jobs=1), effects()).report
    assert report.level == 1
    assert [
        f.message for f in report.findings if f.rule.startswith("declared.") and f.status.value == "fail"
    ] == []
    (project / "ml-audit.yaml").write_text(
        made.document.replace("acme/reviews", "acme/other").replace("2.0e-05", "0.5")
    )
    report = audit(Options(str(project), level="1", use_cache=False, jobs=1), effects()).report
    failing = [f.rule for f in report.findings if f.rule.startswith("declared.") and f.status.value == "fail"]
    assert sorted(failing) == ["declared.dataset", "declared.training"]


def test_another_experiment_by_name(project: Path) -> None:
    made = propose(options(project, experiment="big"), effects())
    assert made.chosen == "big"
    assert "id: acme/big" in made.document
    with pytest.raises(DocumentError, match="no experiment called small"):
        propose(options(project, experiment="small"), effects())


def test_who_asks_is_answered(project: Path) -> None:
    asked: list[str] = []

    def answer(path: str, candidates: object) -> str | None:
        asked.append(path)
        return "lora" if path == "training.method" else None

    made = propose(options(project), effects(), lambda found: found[1].name, answer)
    assert made.chosen == "big"
    assert "training.method" in asked
    assert "  method: lora\n" in made.document


def test_profiles_ask_for_what_they_need(project: Path) -> None:
    made = propose(options(project, profiles=("llm_judge",)), effects())
    assert "  judge:\n    id:  # TODO: the code does not say" in made.document
    read_manifest(made.document.encode())


def test_a_repository_without_an_experiment(tmp_path: Path) -> None:
    made = propose(options(folder(tmp_path, {"notes.txt": "nothing"})), effects())
    assert (made.chosen, made.others) == ("", ())
    assert "The code shows no experiment" in made.document
    read_manifest(made.document.encode())


HOSTILE = '''
import argparse
from transformers import AutoModelForCausalLM
p = argparse.ArgumentParser()
p.add_argument("--model", default="a/b\\x1b[31m: {x}#\\u202e")
p.add_argument("--api", default="sk-ant-REPLACED")
a = p.parse_args()
PROMPT = """  first: line\\tTab \\x07 bell and a colon: here, long enough
\\x1b]0;title\\x07 - item
"""
m = AutoModelForCausalLM.from_pretrained(a.model)
print(m.generate(temperature=9, max_new_tokens=-1, do_sample=True))
'''


def test_what_the_code_says_cannot_break_the_document(tmp_path: Path) -> None:
    at = folder(
        tmp_path,
        {"run.py": HOSTILE, "README.md": "```\npython run.py --model 'x/y: z' # not a comment\n```\n"},
    )
    document = propose(options(at), effects()).document
    read_manifest(document.encode())
    assert "\x1b" not in document and "\x07" not in document and "\u202e" not in document
    assert "temperature:  # TODO: not a value that may be declared" in document


def test_fitting() -> None:
    assert fitting("generation.temperature", 0.7)
    assert not fitting("generation.temperature", 9)
    assert fitting("models.judge.id", "gpt-4")
    assert not fitting("models.Judge.id", "gpt-4")
    assert not fitting("training.nonsense", 1)
    assert fitting("prompts.judge.path", None)


TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80).filter(str.strip)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), TEXT
)


@settings(max_examples=300, deadline=None)
@given(SCALARS, TEXT, TEXT)
def test_every_value_is_read_back(value: object, key: str, note: str) -> None:
    """Whatever stands in a free table comes back as it was, with any note beside it."""
    leaf = Leaf(value, Source.CODE, Confidence.OBSERVED, note, Place(note, 3))  # type: ignore[arg-type]
    document = manifest_text(
        {"training.params.x": value_line(leaf), "models.primary.id": open_line([leaf])}, [note], {}
    )
    declared = read_declared(document.encode())
    found = state_of(declared.manifest).leaves["training.params.x"].value
    if isinstance(value, float):
        assert found == pytest.approx(value)
    else:
        assert found == value or "[redacted" in str(found)


def test_another_tools_manifest(tmp_path: Path) -> None:
    file = tmp_path / "reprollm.yaml"
    file.write_text(
        "schema_version: 1\nproject: {name: p}\nmodels: {primary: {provider: huggingface, id: a/b}}\n"
    )
    assert read_manifest(converted(file).encode()).models["primary"].id == "a/b"
    file.write_text("project: [")
    with pytest.raises(DocumentError):
        converted(file)
