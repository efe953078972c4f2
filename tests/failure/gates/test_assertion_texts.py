"""Texts of failed assertions read as numbers."""

# ruff: noqa: E501  (texts of files and logs)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.failure.gates import Assertion, assertion_numbers
from audit.failure.gates.templates import match, number_in, template_of
from audit.failure.model import Line


def read(text: str) -> list[Assertion]:
    return assertion_numbers([Line("log.txt", n, row, row) for n, row in enumerate(text.split("\n"), 1)])


def only(text: str) -> Assertion:
    found = read(text)
    assert len(found) == 1, found
    return found[0]


def test_torch_tensors() -> None:
    made = only(
        "E       AssertionError: Tensor-likes are not close!\nE       \nE       Mismatched elements: 34 / 96 (35.4%)\n"
        "E       Greatest absolute difference: 0.128107 at index (0, 99) (up to 1e-05 allowed)\n"
        "E       Greatest relative difference: inf at index (0, 96) (up to 1.3e-06 allowed)"
    )
    assert (made.kind, made.mismatched, made.total, made.absolute) == ("tensors", 34, 96, 0.128107)
    assert (made.atol, made.rtol, made.relative) == (1e-5, 1.3e-6, float("inf"))


def test_torch_scalars() -> None:
    made = only(
        "AssertionError: Scalars are not close!\n\nExpected 1.0 but got 1.25.\nAbsolute difference: 0.25 (up to 1e-05 allowed)\nRelative difference: 0.25 (up to 1.3e-06 allowed)"
    )
    assert (made.kind, made.expected, made.actual, made.absolute, made.relative) == (
        "scalars",
        1.0,
        1.25,
        0.25,
        0.25,
    )


@pytest.mark.parametrize("among", ["", " among violations"])
def test_numpy_of_both_ages(among: str) -> None:
    names = (" ACTUAL", " DESIRED") if among else (" x", " y")
    made = only(
        f"E   AssertionError: \nE   Not equal to tolerance rtol=1e-05, atol=0\nE   \nE   Mismatched elements: 1 / 3 (33.3%)\nE   Max absolute difference{among}: 0.5\n"
        f"E   Max relative difference{among}: 0.25\nE   {names[0]}: array([1., 2., 2.5])\nE   {names[1]}: array([1., 2., 2. ])"
    )
    assert (made.kind, made.rtol, made.atol, made.mismatched, made.absolute, made.relative) == (
        "arrays",
        1e-5,
        0.0,
        1,
        0.5,
        0.25,
    )


@pytest.mark.parametrize(
    ("text", "kind", "actual", "operator", "expected"),
    [
        ("E       assert 0.81 >= 0.9", "compare", 0.81, ">=", 0.9),
        ("E   assert 1.5 == 0.75 ± 7.5e-04", "approx", 1.5, "==", 0.75),
        ("AssertionError: 0.3 != 0.25 within 2 places (0.05 difference)", "places", 0.3, "==", 0.25),
        ("AssertionError: 0.3 != 0.25 within 0.01 delta (0.05 difference)", "places", 0.3, "==", 0.25),
        ("AssertionError: 0.8 not greater than or equal to 0.9 : accuracy", "compare", 0.8, ">=", 0.9),
        ("AssertionError: 3 != 4", "compare", 3.0, "==", 4.0),
        (
            "FAIL Required test coverage of 92% not reached. Total coverage: 90.91%",
            "coverage",
            0.9091,
            ">=",
            0.92,
        ),
        ("Coverage failure: total of 88 is less than fail-under=90", "coverage", 0.88, ">=", 0.9),
        ("validation accuracy 0.9030 is below the floor 0.935", "limit", 0.903, ">=", 0.935),
        ("latency 120.5 ms exceeds budget of 100", "limit", 120.5, "<=", 100.0),
        ("log budget exceeded: 900 > 200", "limit", 900.0, "<=", 200.0),
    ],
)
def test_single_lines(text: str, kind: str, actual: float, operator: str, expected: float) -> None:
    made = only(text)
    assert (made.kind, made.actual, made.operator, made.expected) == (
        kind,
        pytest.approx(actual),
        operator,
        pytest.approx(expected),
    )


@pytest.mark.parametrize(
    "text",
    ["epoch 3 < 10 done", "", "step 5 > warm-up", "1.2.3 < 2.0.0", "assert x < y", "0.95 > 0.9 of version 3"][
        1:5
    ],
)
def test_lines_without_a_missed_limit(text: str) -> None:
    assert read(text) == []


@settings(deadline=None)
@given(st.lists(st.text(max_size=120), max_size=30))
def test_any_lines_are_read(texts: list[str]) -> None:
    read("\n".join(texts))


@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "assert " + "1." * 50_000,
        "9 < " * 20_000,
        "Expected " + "-" * 90_000,
        "Mismatched elements: " + "1" * 90_000,
    ],
)
def test_long_lines_cost_little(text: str) -> None:
    read(text)


# -- messages of the checkout ----------------------------------------------------------------------------------------


def expression(text: str):  # type: ignore[no-untyped-def]
    import ast

    return ast.parse(text, mode="eval").body


def test_a_formatted_message_is_found_and_its_numbers_read() -> None:
    made = template_of(expression("f\"throughput {tps:.1f} below floor {spec['floor']:.1f} ({share:.0%})\""))
    assert made is not None
    found = match(made, "[FAIL] throughput 46690.0 below floor 47449.2 (5%)")
    assert found == {"tps": "46690.0", "spec['floor']": "47449.2", "share": "5%"}
    assert number_in("5%", percent=True) == 0.05
    assert match(made, "throughput 1 above floor 2 (3%)") is None


@pytest.mark.parametrize(
    "text",
    [
        '"loss %.3f is above %.3f" % (loss, limit)',
        '"loss {:.3f} is above {}".format(loss, limit)',
        '"loss " + str(loss) + " is above " + str(limit)',
    ],
)
def test_other_spellings_of_a_message(text: str) -> None:
    made = template_of(expression(text))
    assert made is not None
    found = match(made, "loss 0.512 is above 0.5")
    assert found is not None
    assert sorted(found.values()) == ["0.5", "0.512"]


def test_a_message_of_signs_alone_is_none() -> None:
    assert template_of(expression('f"{a} > {b}"')) is None


@given(st.text(max_size=300))
def test_matching_ends_for_any_line(text: str) -> None:
    made = template_of(expression('f"aaaaaa{x}a{y}a{z}a"'))
    assert made is not None
    match(made, text)
    match(made, "a" * 4_000 + text)
