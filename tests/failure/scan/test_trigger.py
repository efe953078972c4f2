import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.failure.scan.trigger import UnsupportedPatternError, literals, trigger


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"CUDA error: (?P<what>\d+).*", rb"CUDA error: (?:[\d])"),
        (r"a.b\w{2}c", rb"a.{1,4}b[\w\x80-\xff]{2,}c"),
        ("exit code 1$", b"exit code 1"),
        (r"a\.b[0-9]", rb"a\.b[0-9]"),
        ("ab(?:cd)?", b"ab"),
        ("ab|cd", b"(?:ab|cd)"),
        ("naïve", b"na\\xc3\\xafve"),
        ("[✗x]y", rb"(?:[x]|\xe2\x9c\x97)y"),
        (r"ab.{0,60}cd", b"ab.*cd"),
        # Of parts with a gap between them, the one that says most.
        (r"^\S+\.pyi?:\d+: error: .*(\[\w+\])?$", rb"\.py(?:i)?:[\d]+: error: "),
        (r"failed .*cannot allocate memory", b"cannot allocate memory"),
        (r"cannot allocate memory.{0,300}in", b"cannot allocate memory"),
        (r"(loss|error) .*(over|above limit)", b"(?:(?:over|above limit))"),
        (r"ab .*\d{3}", rb"ab .*[\d]{3}"),
    ],
)
def test_a_trigger_is_what_the_pattern_needs(pattern: str, expected: bytes) -> None:
    assert trigger(pattern) == expected
    assert re.compile(expected)


@pytest.mark.parametrize(
    "line", ["FAIL x", "2026-01-01T00:00:00Z FAIL x", "[rank1]:FAIL x", "<stderr>:FAIL x", "50%|##|\rFAIL x"]
)
def test_the_beginning_of_a_line_is_also_behind_a_prefix(line: str) -> None:
    assert re.search(trigger("^FAIL x"), line.encode(), re.MULTILINE)


def test_the_middle_of_a_word_is_no_beginning() -> None:
    assert not re.search(trigger("^FAIL x"), b"noFAIL x", re.MULTILINE)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?!x)abc", "unless"),
        ("(?<=x)abc", "unless"),
        (r"(ab)\1", "not known"),
        ("(?i:abc)", "flags"),
        ("(abc", "unterminated"),
        (".*", "empty line"),
        ("(a|b?)", "empty line"),
    ],
)
def test_what_no_linear_scanner_can_do_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(UnsupportedPatternError, match=why):
        trigger(pattern)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(Killed|Terminated) by", (b"Killed", b"Terminated")),
        ("(ab|cd) by", (b" by",)),
        (r"exit code \d+", (b"exit code ",)),
        (r"^_{4,} x", (b"____",)),
        (r"x?(longer)?abc", (b"abc",)),
    ],
)
def test_literals_are_the_longest_that_must_be_there(pattern: str, expected: tuple[bytes, ...]) -> None:
    assert literals(pattern) == expected


def test_a_pattern_without_a_literal_is_refused() -> None:
    with pytest.raises(UnsupportedPatternError, match="two characters"):
        literals(r"\d+:\w+")


@given(st.text(alphabet="abé✗ (x)\t", max_size=40))
def test_a_trigger_meets_every_line_that_the_pattern_meets(line: str) -> None:
    for pattern in (r"^a+b", r"a\w+x$", "[é✗]b?", r"a[^b]{1,3}x", r"\bab\b.*x", "(a|é)(x|b)"):
        if re.search(pattern, line, re.MULTILINE):
            assert re.search(trigger(pattern), line.encode(), re.MULTILINE), (pattern, line)
