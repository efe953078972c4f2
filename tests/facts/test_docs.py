"""Documents: commands, requirements, stated values, links, topics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.facts.docs import MAX_ITEMS, MAX_LINE, extract
from audit.facts.extracted import Extracted
from audit.facts.model import DocsFacts


def facts(text: str) -> DocsFacts:
    return body(extract(text))


def body(extracted: Extracted) -> DocsFacts:
    assert isinstance(extracted.body, DocsFacts)
    return extracted.body


MARKDOWN = """---
license: mit
tags: [a]
---
# My [Net](https://example.test)

Works with Python >= 3.8 and `python=3.10`.

## Installation

```bash
$ pip install torch==2.4.1 \\
    "numpy<2"
```

Run `python train.py --lr 0.1` or see [the guide](docs/guide.md#top "Guide").
![logo](./img/a.png) [site](https://example.test) <img src="img/b.png"> [up](#top)

```python
import torch
```

```
epoch 1 loss 0.3
python eval.py --split test
```

```yaml
command: python never.py
```

<!-- comment
python hidden.py
-->

Results
=======

Weights: https://huggingface.co/org/model-7b and https://huggingface.co/datasets/org/data, https://huggingface.co/docs/x.

```bibtex
@article{net,
}
```
"""


def test_markdown() -> None:
    read = facts(MARKDOWN)
    assert read.headings == (("My Net", 1, 5), ("Installation", 2, 9), ("Results", 1, 36))
    assert [
        (command.program, command.target, command.line) for command in read.commands if command.target
    ] == [
        ("python", "train.py", 16),
        ("python", "eval.py", 25),
    ]
    assert [(found.name, found.specifier, found.source) for found in read.requirements] == [
        ("torch", "==2.4.1", "readme"),
        ("numpy", "<2", "readme"),
    ]
    assert read.python_mentions == ((">=3.8", 7), ("==3.10", 7))
    assert read.code == (("import torch", 20),)
    assert read.links == (("docs/guide.md", 16), ("./img/a.png", 17), ("img/b.png", 17))
    assert read.hub_links == (("org/model-7b", 39), ("datasets/org/data", 39))
    assert read.bibtex == 42
    assert dict(read.topics)["install"] == 9
    assert dict(read.topics)["results"] == 36
    assert dict(read.topics)["citation"] == 42


RST = """Title
=====

Training
~~~~~~~~

Run::

    python train.py --seed 1

.. code-block:: python

    import jax

.. code-block:: bash

    pip install jax

.. image:: figures/a.png

See `the page <usage.rst>`_.
"""


def test_restructured_text() -> None:
    read = facts(RST)
    assert read.headings == (("Title", 1, 1), ("Training", 3, 4))
    assert [(command.target, command.line) for command in read.commands if command.target] == [
        ("train.py", 9)
    ]
    assert [(found.name, found.line) for found in read.requirements] == [("jax", 17)]
    assert [line for _, line in read.code] == [12]
    assert read.links == (("figures/a.png", 19), ("usage.rst", 21))


def test_console_blocks_hold_output_too() -> None:
    read = facts("```console\n$ python train.py\nTraining for 3 epochs\npython is great\n$ ls\n```\n")
    assert [(command.program, command.line) for command in read.commands] == [("python", 2), ("ls", 5)]


def test_indented_commands() -> None:
    read = facts("Do this:\n\n    python train.py --epochs 3\n    some output\n\nEnd.\n")
    assert [(command.target, command.line) for command in read.commands] == [("train.py", 3)]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (
            "We use a learning rate of 2e-5 and a batch size of 128.",
            [("learning_rate", "2e-5"), ("batch_size", "128")],
        ),
        ("- **Learning rate:** 5 × 10^-4", [("learning_rate", "5e-4")]),
        ("lr = 1e-3, weight_decay=0.05", [("learning_rate", "1e-3"), ("weight_decay", "0.05")]),
        ("Trained for 90 epochs with seed 42", [("epochs", "90")]),
        ("global batch size is 1,024", [("effective_batch_size", "1024")]),
        ("`max_length`: 2k tokens", [("max_length", "2k")]),
        ("temperature=0.7, top_p = .95", [("temperature", "0.7"), ("top_p", ".95")]),
        ("effective batch size is 64 (`batch_size` per gpu) * 8 (nodes)", []),
        ("epoch 3 of the log", []),
        ("batch size of 80% of it", []),
        ("The solr: 3 server, color = 5", []),
        ("learning rate schedule in 2 phases", []),
        ("see section 3 for the seed", []),
    ],
)
def test_stated_values(line: str, values: list[tuple[str, str]]) -> None:
    assert [(name, value) for name, value, _ in facts(line).values] == values


def test_tables_by_row_and_by_column() -> None:
    text = "| Hyperparameter | 7B | 13B |\n|---|---|---|\n| Batch size | 128 | 128 |\n| Learning rate | 2e-5 | 1e-5 |\n| Note | 3 | 4 |\n"
    assert facts(text).values == (
        ("batch_size", "128", 3),
        ("learning_rate", "2e-5", 4),
        ("learning_rate", "1e-5", 4),
    )
    text = "| Model | lr | Epochs |\n|:--|--:|--:|\n| small | 1e-3 | 10 |\n"
    assert facts(text).values == (("learning_rate", "1e-3", 3), ("epochs", "10", 3))


@pytest.mark.parametrize(
    ("line", "mentions"),
    [
        ("Requires Python 3.8+.", ["3.8+"]),
        ("![x](https://img.shields.io/badge/python-3.9%2B-blue)", ["3.9+"]),
        ("python3 is needed", []),
        ("Python 10.2", []),
        ("conda create -n x python=3.10.4", ["==3.10.4"]),
    ],
)
def test_python_versions(line: str, mentions: list[str]) -> None:
    assert [version for version, _ in facts(line).python_mentions] == mentions


def test_topics_in_sentences() -> None:
    read = facts(
        "We trained on 8x A100 GPUs.\n\nTo reproduce the numbers, fix it.\nIt is released under MIT.\n"
    )
    assert dict(read.topics) == {"hardware": 1, "license": 4, "reproducibility": 3, "training": 1}
    assert facts("Nothing at all.").topics == ()


def test_tables_rules_and_lists_are_no_headings() -> None:
    assert facts("| a | b |\n|---|---|\n\n- item\n---\n\ntext\n\n---\n").headings == ()


def test_bounds_are_said() -> None:
    assert "cut" in extract("x" * (MAX_LINE + 1)).partial
    assert "more than" in extract("# h\n" * (MAX_ITEMS + 1)).partial
    assert len(facts("# h\n" * (MAX_ITEMS + 1)).headings) == MAX_ITEMS


PIECES = [
    "#",
    "```",
    "~~~",
    "\n",
    "|",
    " ",
    "    ",
    "::",
    "$ ",
    "python a.py",
    "](",
    "[",
    "`",
    "lr = 1",
    "<!--",
    "-->",
    "---",
    "@misc{",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_never_raises(text: str) -> None:
    read = facts(text)
    last = text.count("\n") + 1
    assert all(1 <= line <= last for _, _, line in read.headings)
    assert all(1 <= command.line <= last for command in read.commands)


@pytest.mark.parametrize(
    "piece",
    [*PIECES, "a", "[a](", "lr=1 ", "1,111", "x::\n", "```\n", "<!--\n", "~~~\n", "a_*`", "1 ", "|1", "seed"],
)
def test_long_texts_are_bounded(piece: str) -> None:
    assert facts(piece * (1_000_000 // len(piece))).words >= 0


@pytest.mark.parametrize(
    "text",
    [
        "## Accuracy\n\n| Model | Acc. |\n",
        "The example samples should yield 0.5 pass@1.\n",
        "which is expected to output the results in a tabular format:\n",
        "| Model | Avg. STS |\n|:---|:---:|\n| base | 76.25 |\n",
        "| Model | FID |\n|---|---|\n| base | **2.57** |\n",
    ],
)
def test_results_that_a_document_states(text: str) -> None:
    assert "results" in dict(facts(text).topics)


@pytest.mark.parametrize(
    "text",
    [
        "| Option | Default |\n|---|---|\n| lr | 3 |\n",
        "It gives you 3 ways to load a map.\n",
        "The mean | x\n",
    ],
)
def test_numbers_that_are_no_results(text: str) -> None:
    assert "results" not in dict(facts(text).topics)


def test_a_list_of_requirements_that_a_sentence_names_is_an_instruction() -> None:
    assert (
        dict(facts("0. Install python requirements. Please refer [it](requirements.txt)\n").topics)["install"]
        == 1
    )


def test_prompts_and_launchers_in_blocks_without_a_language() -> None:
    text = "```\n> python -m pkg.train --lr 1\nsaved > out.txt\n```\n\n```\nmpiexec -n N python train.py --x\n```\n"
    assert [(each.target, each.line) for each in facts(text).commands] == [("pkg.train", 2), ("train.py", 7)]


def test_a_line_that_opens_and_closes_three_backticks_is_no_fence() -> None:
    read = facts("# P\n\n```python train.py --lr 0.1```\n\n## Results\n\n```\npython eval.py\n```\n")
    assert [heading for heading, _, _ in read.headings] == ["P", "Results"]
    assert [command.target for command in read.commands] == ["train.py", "eval.py"]


def test_escapes_and_footnotes_in_links() -> None:
    read = facts("[a](docs/\\_static/a.png)\n\n[^1]: See the paper.\n[two]: guide.md\n")
    assert read.links == (("docs/_static/a.png", 1), ("guide.md", 4))


def test_environment_variables_that_sentences_name() -> None:
    read = facts("Set `DATA_DIR` first.\n\n| LAB_CACHE_PATH | where |\n\nNo GPU, no path/TO_X, no A_b.\n")
    assert read.variables == ("DATA_DIR", "LAB_CACHE_PATH")


def test_a_script_that_is_sourced_in_a_console() -> None:
    read = facts("# P\n\n```console\n. install.sh\n```\n")
    assert [command.text for command in read.commands] == [". install.sh"]
