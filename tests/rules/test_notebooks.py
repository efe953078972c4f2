import json

from audit.documents.finding import Severity, Status
from tests.rules.factory import context, failures, outcomes, status


def notebook(*cells: tuple[str, int | None, list[str]]) -> str:
    """A notebook of (source, execution count, outputs)."""

    def output(text: str) -> dict[str, object]:
        if text.startswith("error"):
            return {"output_type": "error", "ename": "ValueError", "evalue": text, "traceback": []}
        return {"output_type": "stream", "name": "stdout", "text": [text]}

    made = [
        {
            "cell_type": "code",
            "metadata": {},
            "execution_count": count,
            "source": [source],
            "outputs": [output(o) for o in outputs],
        }
        for source, count, outputs in cells
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}, indent=1)


CODE = {"lib.py": "def f():\n    return 1\n"}
FINE = notebook(("a = 1", 1, []), ("print(a)", 2, ["1"]))
CLEARED = notebook(("a = 1", None, []), ("print(a)", None, []))
SHUFFLED = notebook(("a = 1", 7, []), ("print(a)", 3, ["1"]))


def test_order() -> None:
    assert status("notebooks.order", context({"a.ipynb": FINE})) is Status.PASS
    assert status("notebooks.order", context({"a.ipynb": CLEARED})) is Status.PASS
    assert status("notebooks.order", context(CODE)) is Status.NOT_APPLICABLE
    assert failures("notebooks.order", context({"a.ipynb": SHUFFLED})) == [
        "The cells of a.ipynb were not run from top to bottom: running it again may give other outputs."
    ]


def test_many_notebooks_with_one_fault_are_one_finding() -> None:
    (outcome,) = outcomes("notebooks.order", context({f"{name}.ipynb": SHUFFLED for name in "abcde"}))
    assert outcome.message == (
        "5 notebooks were not run from top to bottom, so that running them again may give other outputs "
        "(a.ipynb, b.ipynb, c.ipynb and 2 more)."
    )
    assert [place.path for place in outcome.evidence] == [f"{name}.ipynb" for name in "abcde"]


def test_a_notebook_that_installs_the_project_itself_from_its_address() -> None:
    line = "!pip install git+https://github.com/someone/project@main\n"
    assert failures("notebooks.installs", context({"a.ipynb": notebook((line, 1, []))})) == []


def test_a_notebook_beside_code_weighs_less() -> None:
    (alone,) = outcomes("notebooks.order", context({"a.ipynb": SHUFFLED}))
    (beside,) = outcomes("notebooks.order", context({"a.ipynb": SHUFFLED, **CODE}))
    assert (alone.severity, beside.severity) == (None, Severity.INFO)


def test_outputs_of_cells_that_were_not_run_and_errors() -> None:
    stale = notebook(("a = 1", None, ["1"]), ("raise ValueError", 2, ["error: no"]))
    (message,) = failures("notebooks.outputs", context({"a.ipynb": stale}))
    assert message.startswith("a.ipynb keeps 2 outputs that no run of the notebook as it stands has given: ")
    assert status("notebooks.outputs", context({"a.ipynb": FINE})) is Status.PASS


def test_outputs_without_any_execution_count_tell_no_order() -> None:
    stripped = notebook(("a = 1", None, ["1"]), ("print(a)", None, ["1"]))
    (outcome,) = outcomes("notebooks.outputs", context({"a.ipynb": stripped}))
    assert outcome.message == (
        "a.ipynb keeps outputs and no execution counts: in which order its cells ran cannot be told."
    )
    assert outcome.severity is Severity.INFO


def test_size() -> None:
    assert status("notebooks.size", context({"a.ipynb": FINE})) is Status.PASS
    huge = notebook(("print(1)", 1, ["x" * (6 * 2**20)]))
    assert failures("notebooks.size", context({"a.ipynb": huge})) == [
        "a.ipynb holds 6 MiB, nearly all of it outputs."
    ]
    assert status("notebooks.size", context(CODE)) is Status.NOT_APPLICABLE


def test_installs() -> None:
    loose = notebook(("!pip install torch einops==0.8.0", None, []))
    assert failures("notebooks.installs", context({"a.ipynb": loose})) == [
        "a.ipynb installs torch without a version."
    ]
    exact = notebook(("%pip install einops==0.8.0", None, []))
    assert status("notebooks.installs", context({"a.ipynb": exact})) is Status.PASS
    assert status("notebooks.installs", context({"a.ipynb": FINE})) is Status.NOT_APPLICABLE
    assert status("notebooks.installs", context(CODE)) is Status.NOT_APPLICABLE


def test_installing_the_project_itself_is_no_dependency() -> None:
    own = notebook(("!pip install -U pip project", None, []))
    assert failures("notebooks.installs", context({"a.ipynb": own})) == []
