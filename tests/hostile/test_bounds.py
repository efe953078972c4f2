"""Files that would cost much more than they are long."""

import pytest

from audit.facts.collect import extract_file
from audit.facts.kinds import Kind
from audit.facts.model import NotebookFacts, PythonFacts
from audit.facts.python.extract import ignores, too_much


@pytest.mark.parametrize("unit", ["x;", "a();", "[],", "x\n", "~"])
def test_source_whose_tree_would_fill_the_memory_is_not_parsed(unit: str) -> None:
    source = unit * (600_000 // len(unit)) + ";".join("x" * 200_000)
    facts = extract_file(source.encode(), Kind.PYTHON)
    assert facts.body is None
    assert facts.partial == "more than 250,000 tokens of Python: not parsed"


def test_long_text_of_few_tokens_is_parsed() -> None:
    source = 'import torch\nx = """' + "é" * 1_000_000 + '"""\n'
    assert not too_much(source)
    assert isinstance(extract_file(source.encode(), Kind.PYTHON).body, PythonFacts)


@pytest.mark.parametrize("kind", [Kind.SETUP_PY, Kind.CI])
def test_other_readers_of_python_know_the_bound(kind: Kind) -> None:
    facts = extract_file(("import nox\n" + "x;" * 149_000).encode(), kind)
    assert facts.partial


def test_a_notebook_of_a_million_outputs_is_not_read() -> None:
    text = '{"cells": [{"cell_type": "code", "outputs": [' + "{}," * 1_000_001 + "{}]}]}"
    facts = extract_file(text.encode(), Kind.NOTEBOOK)
    assert facts.body is None
    assert facts.partial == "more than 1,000,000 JSON objects: not read"


def test_the_language_of_a_notebook_stands_beside_megabytes_of_widgets() -> None:
    widgets = '"widgets": {"state": {"x": "' + "a" * 2_000_000 + '"}}'
    text = f'{{"cells": [], "metadata": {{{widgets}, "kernelspec": {{"name": "r", "language": "R"}}}}}}'
    body = extract_file(text.encode(), Kind.NOTEBOOK).body
    assert isinstance(body, NotebookFacts)
    assert body.kernel == "R"


@pytest.mark.parametrize(
    "metadata", ["[]", "3", '{"kernelspec": []}', '{"language_info": 7, "kernelspec": "x"}']
)
def test_metadata_of_another_shape_says_no_language(metadata: str) -> None:
    body = extract_file(f'{{"cells": [], "metadata": {metadata}}}'.encode(), Kind.NOTEBOOK).body
    assert isinstance(body, NotebookFacts)
    assert body.kernel == ""


def test_suppressions_are_counted_by_line_and_bounded() -> None:
    found = ignores("x = 1\n\n" + "# ml-audit: ignore[a.b] why\n" * 5_000)
    assert len(found) == 1_000
    assert [found[0].line, found[1].line, found[-1].line] == [3, 4, 1_002]
