"""Which rule of a Makefile a command belongs to."""

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.facts.commands.makefile import MAX_RULES, extract
from audit.facts.model import ScriptFacts


def _rules(text: str) -> tuple[tuple[str, tuple[str, ...], int], ...]:
    body = extract(text).body
    assert isinstance(body, ScriptFacts)
    return body.rules


def test_rules_with_prerequisites_and_lines() -> None:
    text = "DIRS := a b:c\nUNIT = unit\nall: test lint\n\ntest : $(UNIT) ## runs them\n\tpytest\nlint doc:\n\tflake8\nfast::; pytest -x\n"
    assert _rules(text) == (
        ("all", ("test", "lint"), 3),
        ("test", ("unit",), 5),
        ("lint", (), 7),
        ("doc", (), 7),
        ("fast", (), 9),
    )


def test_what_is_no_rule() -> None:
    assert _rules("# a: b\nX := y\nY ::= z\n\techo a: b\nifeq ($(A),b)\nendif\n") == ()


def test_continued_prerequisites() -> None:
    assert _rules("test: a \\\n  b\n\tpytest\n") == (("test", ("a", "b"), 1),)


def test_rules_are_bounded() -> None:
    assert len(_rules("a: b\n" * (MAX_RULES + 10))) == MAX_RULES


@settings(deadline=None)
@given(st.text(alphabet="ab:=$(){}#;\\\t\n %.", max_size=300))
def test_never_raises(text: str) -> None:
    for name, needs, line in _rules(text):
        assert name
        assert len(needs) <= 100
        assert 1 <= line <= text.count("\n") + 1
