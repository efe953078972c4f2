"""A tree that says the same as the one assessed before gets the same answer as if it were assessed in full."""

from collections.abc import Callable
from pathlib import Path

import pytest

from audit.engine import assessment
from audit.engine.audit import audit
from audit.engine.neighbour import InDoubt, moves
from audit.engine.options import Options
from audit.facts.model import FileFacts
from audit.facts.python.extract import extract
from audit.report.json import render
from tests.engine.repositories import commit, effects, repository

SAME = {
    "comment at the end": lambda text: text + "# a word\n",
    "comment above": lambda text: text.replace(
        "    optimizer =", "    # a word\n    # and another\n    optimizer ="
    ),
    "blank lines": lambda text: text.replace("def main", "\n\n\ndef main"),
    "document string": lambda text: text.replace("main():\n", 'main():\n    """Trains."""\n', 1),
    "white space": lambda text: text.replace("lr=0.1", "lr = 0.1"),
}
OTHER = {
    "another seed": lambda text: text.replace("manual_seed(0)", "manual_seed(1)"),
    "no seed": lambda text: text.replace("    torch.manual_seed(0)\n", ""),
    "a new call": lambda text: text + "torch.load('x.pt')\n",
    "statements swapped": lambda text: text.replace(
        "        optimizer.zero_grad()\n        loss.backward()\n",
        "        loss.backward()\n        optimizer.zero_grad()\n",
    ),
    "a suppression": lambda text: text + "# ml-audit: ignore[determinism.flags] no kernels\n",
    "first line moved": lambda text: "\n" + text,
}
Change = Callable[[str], str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the neighbour answered, for each assessment that was not known as it is."""
    answers: list[bool] = []
    real = assessment._from_neighbour

    def watched(*arguments: object) -> object:
        found = real(*arguments)  # type: ignore[arg-type]
        answers.append(found is not None)
        return found

    monkeypatch.setattr(assessment, "_from_neighbour", watched)
    return answers


def text_of(folder: Path, cache: Path, *, use_cache: bool = True) -> str:
    return render(audit(Options(target=str(folder), jobs=1, use_cache=use_cache), effects(cache)).report)


@pytest.mark.parametrize(
    ("change", "answered"),
    [
        *(pytest.param(change, True, id=name) for name, change in SAME.items()),
        *(
            pytest.param(change, False, id=name)
            for name, change in OTHER.items()
            if name != "first line moved"
        ),
    ],
)
def test_the_same_answer_as_in_full(
    change: Change, answered: bool, tmp_path: Path, asked: list[bool]
) -> None:
    folder, cache = repository(tmp_path / "trainer"), tmp_path / "cache"
    text_of(folder, cache)
    script = folder / "train.py"
    before = script.read_text()
    script.write_text(change(before))
    assert script.read_text() != before
    first = text_of(folder, cache)
    assert asked == [False, answered]
    assert first == text_of(folder, cache, use_cache=False)
    assert "train.py differs from the commit" in first or '"differs from the commit"' in first
    commit(folder)
    assert text_of(folder, cache) == text_of(folder, cache, use_cache=False)
    assert asked[-1]  # only the state of Git changed


def test_the_first_line_moved(tmp_path: Path, asked: list[bool]) -> None:
    folder, cache = repository(tmp_path / "trainer"), tmp_path / "cache"
    text_of(folder, cache)
    script = folder / "train.py"
    script.write_text("\n" + script.read_text())
    assert text_of(folder, cache) == text_of(folder, cache, use_cache=False)


def test_another_file_or_another_document_is_assessed_in_full(tmp_path: Path, asked: list[bool]) -> None:
    folder, cache = repository(tmp_path / "trainer"), tmp_path / "cache"
    text_of(folder, cache)
    (folder / "other.py").write_text("import torch\n")
    text_of(folder, cache)
    (folder / "README.md").write_text("# Trainer\n")
    assert text_of(folder, cache) == text_of(folder, cache, use_cache=False)
    assert asked == [False, False, False]


def facts(text: str) -> FileFacts:
    return FileFacts(extract(text).body, size=len(text))


def test_lines_are_paired_by_their_records() -> None:
    old, new = (
        facts("import torch\nx = torch.load('a')\n"),
        facts("import torch\n\n# b\nx = torch.load('a')\n"),
    )
    assert moves({"a.py": (old, new)}).lines == {"a.py": {1: 1, 2: 4}}


@pytest.mark.parametrize(
    "text",
    ["import torch\nx = torch.load('b')\n", "import torch\n", "import torch; x = torch.load('a')\n"],
)
def test_any_other_difference_is_in_doubt(text: str) -> None:
    with pytest.raises(InDoubt):
        moves({"a.py": (facts("import torch\nx = torch.load('a')\n"), facts(text))})
