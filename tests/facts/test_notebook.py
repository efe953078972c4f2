"""Notebooks: code on the lines of the file, magics, commands, runs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts.extracted import Extracted
from audit.facts.model import NotebookFacts
from audit.facts.notebook import extract
from audit.facts.python.model import Ignore, Import, Param, PythonFacts, Scope
from audit.facts.remap import remap_lines, remap_text


def code(
    *lines: str, count: int | None = None, outputs: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    source = [f"{line}\n" for line in lines[:-1]] + list(lines[-1:])
    return {
        "cell_type": "code",
        "execution_count": count,
        "metadata": {},
        "outputs": outputs or [],
        "source": source,
    }


def notebook(*cells: dict[str, Any], indent: int | None = 1, **metadata: Any) -> str:
    return json.dumps(
        {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=indent
    )


def facts(extracted: Extracted) -> NotebookFacts:
    assert isinstance(extracted.body, NotebookFacts)
    return extracted.body


IMAGE = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 1000}}
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}


def test_lines_are_those_of_the_file() -> None:
    text = notebook(
        {"cell_type": "markdown", "source": ["import nothing\n"]},
        code("# import torch", "import torch", count=1, outputs=[IMAGE]),
        code("import numpy as np", "", "np.random.seed(0)", count=2),
    )
    body = facts(extract(text))
    lines = text.split("\n")
    assert [(found.module, lines[found.line - 1].strip(' ",')) for found in body.code.imports] == [
        ("torch", "import torch"),
        ("numpy", "import numpy as np\\n"),
    ]
    (call,) = [call for call in body.code.calls if call.name == "numpy.random.seed"]
    assert "np.random.seed(0)" in lines[call.line - 1]
    assert (body.cells, body.executed, body.outputs, body.in_order) == (2, 2, 1, True)


def test_source_as_one_string_and_on_one_line() -> None:
    cell = {"cell_type": "code", "source": "import os\nimport torch", "outputs": [], "execution_count": 1}
    body = facts(extract(notebook(cell, indent=None)))
    assert [(found.module, found.line) for found in body.code.imports] == [("os", 1), ("torch", 1)]


def test_magics_are_blanked_and_commands_kept() -> None:
    text = notebook(
        code("!pip install -q torch==2.4.1 'numpy<2'"),
        code("%pip install transformers==4.44.0"),
        code("%load_ext autoreload", "x = !ls", "model?", "if x:", "    !nvidia-smi", "import torch"),
        code("%%bash", "python train.py --lr 0.1 \\", "  --seed 3", "echo done"),
        code("%%time", "import jax"),
        code("%%writefile a.py", "import never"),
        code("%time import flax"),
        code("![ -d repo ] || git clone https://example.test/repo"),
        code("cd .."),
        code("%run eval.py --split test"),
    )
    extracted = extract(text)
    body = facts(extracted)
    assert extracted.partial == ""
    assert body.code.parser == "ast"
    assert [found.module for found in body.code.imports] == ["torch", "jax", "flax"]
    assert [(found.name, found.specifier) for found in body.requirements] == [
        ("torch", "==2.4.1"),
        ("numpy", "<2"),
        ("transformers", "==4.44.0"),
    ]
    targets = {command.target: command for command in body.commands if command.target}
    assert [(flag.name, flag.value) for flag in targets["train.py"].flags] == [
        ("--lr", "0.1"),
        ("--seed", "3"),
    ]
    assert "train.py" in text.split("\n")[targets["train.py"].line - 1]
    assert targets["eval.py"].program == "python"
    assert "nvidia-smi" in [command.program for command in body.commands]


def test_percent_and_bang_inside_python_stay() -> None:
    cell = code('print("""', "%s items", "!important", '""" % 3)', "import torch")
    body = facts(extract(notebook(cell)))
    assert body.code.parser == "ast"
    assert [found.module for found in body.code.imports] == ["torch"]
    assert body.commands == () or all("important" in command.text for command in body.commands)


def test_how_it_was_run() -> None:
    text = notebook(
        code("a = 1", count=5),
        code("b = 1", count=2, outputs=[ERROR]),
        code("c = 1", outputs=[IMAGE]),
        code("d = 1"),
        kernelspec={"name": "python3", "language": "python"},
        language_info={"name": "python", "version": "3.11.4"},
    )
    body = facts(extract(text))
    assert (body.cells, body.executed, body.outputs, body.in_order) == (4, 2, 2, False)
    assert [why for _, why in body.stale] == ["error output", "output without an execution count"]
    assert ["b = 1" in text.split("\n")[line - 1] for line, _ in body.stale] == [True, False]
    assert body.kernel == "python 3.11.4"


def test_other_languages_are_not_parsed() -> None:
    body = facts(extract(notebook(code("library(torch)"), kernelspec={"name": "ir", "language": "R"})))
    assert (body.kernel, body.code, body.cells) == ("R", PythonFacts(), 1)


def test_format_3() -> None:
    cell = {
        "cell_type": "code",
        "input": ["import torch\n"],
        "prompt_number": 3,
        "outputs": [{"output_type": "pyerr"}],
    }
    body = facts(extract(json.dumps({"worksheets": [{"cells": [cell]}], "nbformat": 3}, indent=1)))
    assert [found.module for found in body.code.imports] == ["torch"]
    assert (body.executed, [why for _, why in body.stale]) == (1, ["error output"])


def test_a_mistake_is_said_with_the_line_of_the_file() -> None:
    text = notebook(code("import torch"), code("x = = 1"))
    extracted = extract(text)
    line = next(number for number, line in enumerate(text.split("\n"), start=1) if "x = = 1" in line)
    assert f"line {line}" in extracted.partial


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"cells": 3}', '{"cells": [1, {}, {"cell_type": "code", "source": 7}]}', "[" * 100_000],
)
def test_what_is_no_notebook(text: str) -> None:
    assert facts(extract(text)).cells in (0, 1)
    assert extract(text).partial or text.startswith('{"cells": [1')


CELLS = st.fixed_dictionaries(
    {
        "cell_type": st.sampled_from(["code", "markdown"]),
        "source": st.text() | st.lists(st.text()) | st.integers(),
    },
    optional={"outputs": st.lists(st.just(IMAGE)) | st.none(), "execution_count": st.integers() | st.none()},
)


@given(st.lists(CELLS).map(lambda cells: json.dumps({"cells": cells}, indent=1)) | st.text())
def test_never_raises(text: str) -> None:
    body = facts(extract(text))
    assert all(1 <= found.line <= text.count("\n") + 1 for found in body.code.imports)


@pytest.mark.parametrize(
    "line",
    ["!" * 500_000, "% " * 300_000, "?" * 500_000, "a" * 500_000 + "?", "%time " * 100_000, "\\" * 500_000],
)
def test_long_lines_are_bounded(line: str) -> None:
    assert facts(extract(notebook(code(line)))).cells == 1


def test_remap_reaches_every_line() -> None:
    body = PythonFacts(
        why="line 2: invalid",
        imports=(Import("os", "", "os", 1, 0),),
        scopes=(Scope("<module>", "module", -1, 1, 3, params=(Param("a", "", "", 2),)),),
        ignores=(Ignore(("x",), "", 3),),
    )
    moved = remap_lines(body, [10, 20, 30])
    assert moved.why == "line 20: invalid"
    assert moved.imports[0].line == 10
    assert (moved.scopes[0].line, moved.scopes[0].end_line, moved.scopes[0].params[0].line) == (10, 30, 20)
    assert moved.ignores[0].line == 30
    assert remap_lines(body, []) == body
    assert remap_text("line 9 of it", [10, 20]) == "line 20 of it"
