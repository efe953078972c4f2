"""Lines that a finding proposes for the manifest: written in, they are read as what the code has."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.finding import Edit
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source, Value
from audit.facts.strict_yaml import read_yaml, untyped
from audit.rules.manifest_edit import edits, written
from audit.state.manifest_reading import read_declared
from tests.rules.declaring import LEVEL_1, broken, with_manifest
from tests.rules.test_level_1 import FILES

MANIFEST = """\
project: {name: x}
experiment:
  # what it is
  profiles: [finetuning]
models:
  primary:
    id:  # TODO: which
    dtype: bfloat16
training:
    # the size of a step's batch
    batch_size: 8
    lora:
        alpha: 3
datasets:
  train: {id: acme/reviews}
"""


def applied(text: str, made: tuple[Edit, ...]) -> str:
    lines = text.splitlines(keepends=True)
    for edit in sorted(made, key=lambda each: -each.start_line):
        lines[edit.start_line - 1 : edit.end_line] = [edit.replacement]
    return "".join(lines)


def leaf(value: Value, path: str = "train.py", line: int | None = 4) -> Leaf:
    return Leaf(value, Source.CODE, Confidence.OBSERVED, "", Place(path, line))


def proposed(path: str, value: Value, text: str = MANIFEST) -> str | None:
    made = edits(read_declared(text.encode()), [(path, leaf(value))])
    return applied(text, made) if made else None


@pytest.mark.parametrize("rule", LEVEL_1, ids=lambda rule: rule.id)
def test_what_is_proposed_is_read_as_what_the_code_has(rule) -> None:
    for found in broken(rule.id, MANIFEST, FILES):
        if found.fix and found.fix.edits:
            text = applied(MANIFEST, found.fix.edits)
            assert not [each for each in broken(rule.id, text, FILES) if each.message == found.message]


def test_lines_of_one_table_are_added_together_below_its_head() -> None:
    (found,) = broken("train.hyperparameters_declared", MANIFEST, FILES)
    assert found.fix is not None and found.fix.safe
    assert found.fix.text == "Add `learning_rate: 2e-05` and `epochs: 3` if that is what ran."
    assert found.fix.edits == (
        Edit(
            "ml-audit.yaml",
            10,
            9,
            "    learning_rate: 2e-05  # from train.py:10\n    epochs: 3  # from train.py:10\n",
        ),
    )


def test_a_key_that_says_nothing_is_filled_in() -> None:
    (found,) = broken("model.primary_declared", MANIFEST, FILES)
    assert found.fix is not None
    assert found.fix.edits == (Edit("ml-audit.yaml", 7, 7, "    id: acme/tiny  # from train.py:8\n"),)


def test_only_one_of_several_ways_to_say_it_is_proposed() -> None:
    (found,) = broken("exec.seed_declared", MANIFEST, FILES)
    assert found.fix is not None and [each.replacement for each in found.fix.edits] == [
        "    seed: 7  # from train.py:10\n"
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("datasets.train.split", "train"),  # a table on one line
        ("generation.temperature", 0.5),  # a table that is not there
        ("training.learning_rate", "auto"),  # what the manifest does not take
        ("training.epochs", None),
        ("training.method", "a\udcffb"),
        ("training.learning_rate", float("inf")),
        ("training.method", "x" * 400),
    ],
)
def test_what_is_better_written_by_hand(path: str, value: Value) -> None:
    assert proposed(path, value) is None


def test_a_place_that_a_comment_could_not_hold() -> None:
    declared = read_declared(MANIFEST.encode())
    for place in (("a\nb.py", 4), ("a b.py", 4), ("a.py", None)):
        assert edits(declared, [("training.epochs", leaf(3, *place))]) == ()


def test_flow_and_mixed_tables_are_left_alone() -> None:
    assert proposed("training.epochs", 3, "training: {lora: {rank: 1},\n  batch_size: 3}\n") is None
    assert proposed("training.epochs", 3, "{training: {\n  batch_size: 3}}\n") is None
    assert proposed("training.epochs", 3, "training:\n  {\n  batch_size: 3}\n") is None


def test_an_old_manifest_gets_no_lines_of_ours() -> None:
    given = with_manifest(MANIFEST, FILES)
    assert given.declared is not None and given.declared.positions.name == "ml-audit.yaml"


@settings(deadline=None)
@given(
    st.text(min_size=1, max_size=30)
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.floats(allow_nan=False, allow_infinity=False)
)
def test_any_value_is_read_back(value: str | bool | int | float) -> None:
    text = written(value)
    read = untyped(read_yaml(f"a: {text}\n".encode()).value)["a"]
    assert read == value and type(read) is type(value)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_any_list_is_read_back(values: list[str]) -> None:
    assert untyped(read_yaml(f"a: {written(tuple(values))}\n".encode()).value)["a"] == values
