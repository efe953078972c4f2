"""The quick look before a scan passes over nothing that the scan would find."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.safety import secrets
from audit.safety.secret_filter import compiled
from tests.safety.test_secrets import FOUND, PIECES

MAY_HOLD = compiled([shape.pattern.pattern for shape in secrets._SHAPES], secrets._WORDS.pattern)


@pytest.mark.parametrize(("kind", "line"), FOUND)
@pytest.mark.parametrize("around", ["{}", "# ä\n\n{}\nlast\n", "x = 1 {} y", "名前 {} ü"])
def test_lets_through_what_the_scan_finds(kind: str, line: str, around: str) -> None:
    text = around.format(line)
    assert not secrets.scan(text) or (MAY_HOLD is not None and MAY_HOLD(text)), kind


@given(st.lists(st.sampled_from([*PIECES, *(line for _, line in FOUND), " ", "'", "é"])).map("".join))
def test_never_less_than_the_scan(text: str) -> None:
    assert MAY_HOLD is not None
    assert MAY_HOLD(text) or not secrets.scan(text)


def test_ordinary_code_is_passed_over() -> None:
    assert MAY_HOLD is not None
    assert not MAY_HOLD(
        "def gradient_accumulation_steps_for_process(x):\n    return hf_hub_download(x, 'a/b')\n" * 100
    )


def test_prepared_scan_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_may_hold", None)
    plain = [secrets.scan(line) for _, line in FOUND]
    secrets.prepare()
    assert [secrets.scan(line) for _, line in FOUND] == plain
    assert secrets.scan("nothing here") == []


@pytest.mark.parametrize("shape", [shape.pattern.pattern for shape in secrets._SHAPES])
def test_outline_is_a_plain_expression(shape: str) -> None:
    assert compiled([shape], "never_there") is not None
    assert re.compile(shape)
