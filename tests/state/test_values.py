"""Values equal in meaning."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.state.values import is_verbatim, normal, number, relative, same, same_setting


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (2e-5, "2e-5"),
        ("2e-5", "0.00002"),
        ("0.00002", 2.0e-5),
        ("1_000", 1000),
        ("1e6", 1_000_000),
        (3, 3.0),
        (True, "true"),
        ("True", "true"),
        (None, "null"),
        ("None", None),
        ("a\r\nb", "a\nb"),
        ("'adam'", "adam"),
        ('"adam"', "adam"),
        ("[q_proj, 'v_proj']", ("q_proj", "v_proj")),
        ("(0.9, 0.95)", (0.9, "0.95")),
        ("q_proj,v_proj", ("q_proj", "v_proj")),
        ("q_proj v_proj", ("q_proj", "v_proj")),
        (("rouge",), "rouge"),
        ("[]", ()),
        ("(1,)", (1,)),
        ("inf", math.inf),
        ("nan", "nan"),
    ],
)
def test_equal_in_meaning(a, b) -> None:
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (2e-5, 3e-5),
        (1, True),
        (0, False),
        (0, None),
        ("", None),
        ("adam", "adamw"),
        ("Adam", "adam"),
        ("007", 7),
        (2**53, 2**53 + 1),
        (("a", "b"), ("b", "a")),
        (("a", "b"), ("a",)),
        ("a ", "a"),
        ("a\n", "a"),
        (0, 1e-12),
        ("'a' and 'b'", "a' and 'b"),
    ],
)
def test_different_in_meaning(a, b) -> None:
    assert not same(a, b)
    assert not same(b, a)


def test_versions_revisions_and_ids_are_no_numbers() -> None:
    assert same("3.1", "3.10")
    for setting in (
        "execution.python", "models.primary.revision", "inference.backend_version", "dependencies.torch", "models.judge.id",
        "models.primary.tokenizer_revision",
    ):  # fmt: skip
        assert is_verbatim(setting)
        assert not same_setting(setting, "3.1", "3.10")
    assert not is_verbatim("training.learning_rate")
    assert same_setting("execution.python", 3.11, "3.11")
    assert same_setting("prompts.judge.text", "a\r\nb", "a\nb")


def test_relative_change_of_numbers() -> None:
    assert relative("2e-5", "4e-5") == pytest.approx(1.0)
    assert relative(-2, -1) == pytest.approx(0.5)
    assert relative(0, 1) is None
    assert relative("a", 1) is None
    assert relative(True, 2) is None
    assert relative(math.inf, 1) is None
    assert relative(1, math.inf) is None
    assert relative(10**39, 2 * 10**39) == pytest.approx(1.0)


def test_number_and_normal() -> None:
    assert number("0x10") is None
    assert number(" 12 ") == 12
    assert number(True) is None
    assert normal("[1, 'a', true]") == (1, "a", True)
    assert normal("[[1], 2]") == "[[1], 2]"


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50)
values = scalars | st.lists(scalars, max_size=5).map(tuple)


@given(values, values)
def test_symmetric_and_never_raises(a, b) -> None:
    assert same(a, b) == same(b, a)
    relative(a, b)


@given(values)
def test_reflexive(a) -> None:
    assert same(a, a)
    assert same(a, a, verbatim=True) or a != a


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_its_text(a) -> None:
    assert same(a, repr(a))


def test_long_texts_cost_nothing() -> None:
    for text in ("1" * 10**6, "[" + "1," * 10**6 + "]", "_1" * 10**6, "'" * 10**6):
        assert same(text, text)
        assert number(text) is None
