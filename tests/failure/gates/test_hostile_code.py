"""Code can be written to trip any evaluator: it ends, raises nothing, and costs its own gates only."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.failure.gates.calc import Machine
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.entries import ScriptEntry
from audit.failure.gates.evaluate import _follow
from audit.failure.gates.rundata import RunData
from audit.source.snapshot import Entry, Snapshot
from audit.telemetry.registry import read_bytes

TELEMETRY = read_bytes(
    "m.jsonl", "\n".join(json.dumps({"step": i, "loss": 1 / i}) for i in range(1, 9)).encode()
)


class Memory:
    """A reader of one file."""

    limit = 2**20

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, entries):  # type: ignore[no-untyped-def]
        for entry in entries:
            yield entry, self.text.encode("utf-8", "surrogatepass")


def follow(text: str) -> Machine:
    snapshot = Snapshot("r", (Entry("g.py", "0" * 40, size=len(text)),), Memory(text))
    machine = Machine(Checkout(snapshot), RunData(TELEMETRY, lambda _: False), ("g.py", "1"))
    _follow(machine, ScriptEntry("g.py", ("g.py", "1"), "g.py"))
    return machine


_NAMES = st.sampled_from(
    ["a", "b", "rows", "f", "C", "x", "json", "np", "sys", "open", "max", "sorted", "range", "zip", "Path"]
)
_ATOMS = st.one_of(
    _NAMES,
    st.integers(-9, 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        [
            "'m.jsonl'",
            "'loss'",
            "None",
            "True",
            "rows[-1]",
            "rows[0]['loss']",
            "[]",
            "{}",
            "sys.argv",
            "np.array([1, 2])",
            "()",
            "...",
            "b'x'",
            "1j",
        ]
    ),
)


def _binary(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "in", "is", "and", "or", "@", "<<", "&"]
    )
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner).map(
            lambda t: f"{t[0]}[{t[1]}]" if t[0][0].isalpha() else f"({t[0]})[{t[1]}]"
        ),
        st.tuples(
            inner,
            st.sampled_from(
                ["mean", "append", "get", "items", "loss", "split", "read_text", "parent", "glob"]
            ),
            inner,
        ).map(lambda t: f"({t[0]}).{t[1]}({t[2]})"),
        st.tuples(_NAMES, inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]} for x in {t[1]} if x]"),
        st.tuples(inner, inner).map(lambda t: f"{{{t[0]}: x for x in {t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]})[{t[1]}:]"),
        inner.map(lambda t: f"(lambda x: {t})"),
        inner.map(lambda t: f"f'{{x}}' if {t} else -{t}"),
    )


_EXPRESSIONS = st.recursive(_ATOMS, _binary, max_leaves=8)
_STATEMENTS = st.one_of(
    st.tuples(_NAMES, _EXPRESSIONS).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(_NAMES, _EXPRESSIONS).map(lambda t: f"{t[0]} += {t[1]}"),
    st.tuples(_NAMES, _NAMES, _EXPRESSIONS).map(lambda t: f"{t[0]}, *{t[1]} = {t[2]}"),
    _EXPRESSIONS.map(lambda t: f"assert {t}"),
    st.tuples(_EXPRESSIONS, _EXPRESSIONS).map(lambda t: f"if {t[0]}:\n    raise ValueError({t[1]})"),
    st.tuples(_NAMES, _EXPRESSIONS, _EXPRESSIONS).map(
        lambda t: f"for {t[0]} in {t[1]}:\n    a = {t[2]}\n    if a: break"
    ),
    st.tuples(_NAMES, _EXPRESSIONS).map(lambda t: f"def {t[0]}(x=1, *a, b=2, **k):\n    return {t[1]}"),
    st.tuples(_NAMES, _EXPRESSIONS).map(
        lambda t: f"class {t[0]}:\n    a = {t[1]}\n    def __init__(self, x): self.a = x"
    ),
    _EXPRESSIONS.map(lambda t: f"sys.exit({t})"),
    st.tuples(_EXPRESSIONS, _NAMES).map(lambda t: f"with {t[0]} as {t[1]}:\n    {t[1]} = {t[1]}"),
    _EXPRESSIONS.map(lambda t: f"while {t}:\n    continue"),
)
PRELUDE = "import json, sys\nimport numpy as np\nfrom pathlib import Path\nrows = [json.loads(l) for l in open('m.jsonl')]\n"


@settings(deadline=None, max_examples=150)
@given(st.lists(_STATEMENTS, max_size=8))
def test_any_program_ends(statements: list[str]) -> None:
    follow(PRELUDE + "\n".join(statements))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_ends(text: str) -> None:
    follow(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 9 ** 9 ** 9 ** 9",
        "x = 'a' * 10 ** 10",
        "x = [[]] * 10 ** 9",
        "x = list(range(10 ** 9))",
        "def f(n): return f(n) + f(n)\nf(1)",
        "f = lambda g: g(g)\nf(f)",
        "a = []\nfor x in range(10 ** 6):\n    a.append(a)\nassert a[0] < 1",
        "a = {}\na['a'] = a\nassert a < 1",
        "a = [1]\nfor x in a:\n    a.append(x)",
        "class A:\n    def __init__(self): self.a = A()\nA()",
        "x = " + "[" * 90 + "]" * 90,
        "x = " + "+".join("1" for _ in range(5000)),
        "import g\nfrom g import *\nfrom . import g",
        "x = sum(y for y in range(10 ** 5) for z in range(10 ** 5))",
        "s = 'ab'\nwhile True:\n    s = s + s",
        "s = 'ab'\nfor i in range(60):\n    s = s.replace('a', s)",
        "open(sys.argv[1]).write('x')\n__import__('os').system('x')\nexec('x')\neval('1')",
        "x = [1, 2]\nx = max(x, key=lambda v: max(x, key=lambda w: w))",
    ],
)
def test_programs_written_to_hurt(text: str) -> None:
    machine = follow(PRELUDE + text)
    assert machine.steps <= 200_001
