"""Citations, DVC, pattern files, environment files."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts import citation, dvc, envfile, patterns
from audit.facts.extracted import Extracted
from audit.facts.model import CitationFacts, DvcFacts, PatternFacts, TextFacts


def test_env_files_give_names_only() -> None:
    text = "# head\nHF_TOKEN=abc\nexport  WANDB_API_KEY = 'def'\nEMPTY=\nNOTHING= # none\n\nnot a line\n"
    assert envfile.extract(text).body == TextFacts((("HF_TOKEN", 2), ("WANDB_API_KEY", 3)))
    assert "abc" not in repr(envfile.extract(text))
    assert envfile.extract_text(text).body == TextFacts()


def test_attributes_and_ignores() -> None:
    text = '# c\n*.bin filter=lfs diff=lfs merge=lfs -text\n"a b.txt" export-ignore\n/data/my folder/\n!keep.txt\n'
    assert patterns.extract(text).body == PatternFacts(
        (
            ("*.bin", "filter=lfs diff=lfs merge=lfs -text", 2),
            ("a b.txt", "export-ignore", 3),
            ("/data/my folder/", "", 4),
            ("!keep.txt", "", 5),
        )
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "cff-version: 1.2.0\nmessage: cite\ntitle: Net\nversion: 1.0\nauthors:\n- name: A\n",
            CitationFacts(title="Net", version="1.0"),
        ),
        (
            "cff-version: 1.2.0\npreferred-citation:\n  title: Paper\n",
            CitationFacts(valid=False, title="Paper", missing=("message", "title", "authors")),
        ),
        ('{"@context": "x", "name": "Net", "version": "2"}', CitationFacts(False, "Net", "2", ("author",))),
        ('{"title": "Net", "creators": [{"name": "A"}]}', CitationFacts(title="Net")),
        ("@article{net,\n  title = {A {Deep} Net},\n}\n", CitationFacts(title="A {Deep} Net")),
        ("Please cite our paper when you use this.", CitationFacts()),
        ("", CitationFacts(valid=False)),
    ],
)
def test_citations(text: str, expected: CitationFacts) -> None:
    assert citation.extract(text).body == expected


def test_dvc_file() -> None:
    text = "outs:\n- md5: 0123456789abcdef0123456789abcdef.dir\n  path: data\n  size: 3\n"
    assert dvc.extract(text).body == DvcFacts((("data", "0123456789abcdef0123456789abcdef.dir", 2),))


def test_dvc_pipeline() -> None:
    text = (
        "stages:\n  train:\n    cmd: python train.py --lr 0.1\n    outs:\n    - model.pt:\n        cache: false\n"
        "    metrics:\n    - m.json\n  each:\n    foreach: [a, b]\n    do:\n      cmd:\n      - python eval.py ${item}\n"
        "plots:\n- curves.csv\n"
    )
    body = dvc.extract(text).body
    assert isinstance(body, DvcFacts)
    assert body.stages == ("train", "each")
    assert body.outputs == (("model.pt", "", 5), ("m.json", "", 8))
    assert [(command.target, command.line) for command in body.commands] == [("train.py", 3), ("eval.py", 13)]


ALL = [citation.extract, dvc.extract, patterns.extract, envfile.extract]


@pytest.mark.parametrize("extract", ALL)
@given(text=st.text() | st.text(alphabet='{}[]:"@=,\\#!- \nabouts'))
def test_never_raises(extract: Callable[[str], Extracted], text: str) -> None:
    assert extract(text).body is not None


@pytest.mark.parametrize("extract", ALL)
@pytest.mark.parametrize(
    "piece", ['"', "\\", "a=", "@a{", " ", "title = {", "outs:\n- a\n", "x\n", "[", "export "]
)
def test_long_texts_are_bounded(extract: Callable[[str], Extracted], piece: str) -> None:
    assert extract(piece * (500_000 // len(piece))).body is not None
