"""From a log line to places of the checkout."""

# ruff: noqa: E501  (texts of files and logs)

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.failure.gates import evaluate
from audit.failure.gates.checkout import Checkout
from audit.failure.model import Kind, Line, LogSource, Reading
from audit.failure.trace import trace
from audit.failure.trace.frames import frames_around
from audit.failure.trace.paths import in_checkout
from audit.source.folder import folder_snapshot
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Telemetry
from audit.telemetry.registry import read_bytes

Make = Callable[[Mapping[str, str]], Snapshot]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def write(files: Mapping[str, str]) -> Snapshot:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder_snapshot(str(tmp_path))

    return write


def log_of(text: str) -> Reading:
    rows = text.split("\n")
    lines = tuple(Line("log.txt", n, row, row, kinds=frozenset({Kind.GATE})) for n, row in enumerate(rows, 1))
    return Reading((LogSource("log.txt", len(rows), len(text)),), lines, ())


def at(line: int) -> SimpleNamespace:
    return SimpleNamespace(file="log.txt", line=line)


TRACEBACK = """\
##[group]Run python -m pkg.train --config c.yaml
Traceback (most recent call last):
  File "/home/runner/work/proj/proj/pkg/train.py", line 12, in <module>
    main()
  File "/home/runner/work/proj/proj/pkg/train.py", line 9, in main
    step(batch)
  File "/opt/hostedtoolcache/Python/3.11.7/x64/lib/python3.11/site-packages/torch/nn/functional.py", line 3104, in step
    raise ValueError("x")
ValueError: bad label
Process completed with exit code 1."""


def test_frames_of_the_checkout_without_those_of_libraries(make: Make) -> None:
    repo = make(
        {
            "pkg/train.py": "\n" * 20,
            "torch/nn/functional.py": "x = 1\n",
            ".github/workflows/ci.yml": "on: push\njobs:\n  t:\n    runs-on: x\n    steps:\n      - name: Train\n        run: python -m pkg.train --config c.yaml\n",
        }
    )
    steps = trace(repo, log_of(TRACEBACK), at(9))
    assert [(s.path, s.line, s.symbol) for s in steps] == [
        (".github/workflows/ci.yml", 7, "Train"),
        ("pkg/train.py", 12, "<module>"),
        ("pkg/train.py", 9, "main"),
    ]
    assert steps[-1].why == "innermost frame of the traceback in the checkout"


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("/home/runner/work/a/a/src/m/x.py", "src/m/x.py"),
        ("/__w/a/a/src/m/x.py", "src/m/x.py"),
        ("D:\\a\\r\\r\\src\\m\\x.py", "src/m/x.py"),
        ("./src/m/x.py", "src/m/x.py"),
        ("m/x.py", "src/m/x.py"),
        ("/builds/g/p/run.py", "run.py"),
        ("/usr/lib/python3.11/runpy.py", None),
        ("/venv/lib/python3.11/site-packages/m/x.py", None),
        ("<frozen importlib._bootstrap>", None),
        ("/elsewhere/y.py", None),
        ("util.py", None),
        ("", None),
    ],
)
def test_paths_of_runners(make: Make, printed: str, found: str | None) -> None:
    checkout = Checkout(
        make({"src/m/x.py": "", "run.py": "", "runpy.py": "", "a/util.py": "", "b/util.py": ""})
    )
    assert in_checkout(printed, checkout) == found


def test_from_the_workflow_to_the_stored_value(make: Make) -> None:
    files = {
        ".github/workflows/perf.yml": "on: push\njobs:\n  perf:\n    runs-on: x\n    steps:\n      - name: Perf gate\n        run: python tools/gate.py\n",
        "tools/gate.py": "import json, sys\nspec = json.load(open('ci/base.json'))\nrows = [json.loads(l) for l in open('out/m.jsonl')]\ntps = rows[-1]['tps']\n"
        "if tps < spec['floor']:\n    sys.exit(f'throughput {tps:.1f} below the floor')\n",
        "ci/base.json": '{\n  "note": "x",\n  "floor": 100\n}\n',
    }
    repo = make(files)
    reading = log_of(
        "##[group]Run python tools/gate.py\nthroughput 90.0 below the floor\n##[error]Process completed with exit code 1."
    )
    gates = evaluate(
        repo, read_bytes("m.jsonl", b'{"step": 1, "tps": 90.0}\n{"step": 2, "tps": 90.0}'), reading
    )
    assert [(s.path, s.line, s.symbol) for s in trace(repo, reading, at(2), gates)] == [
        (".github/workflows/perf.yml", 7, "Perf gate"),
        ("tools/gate.py", 5, ""),
        ("ci/base.json", 3, "floor"),
    ]


def test_the_failing_test_and_its_helper(make: Make) -> None:
    repo = make(
        {
            "tests/test_a.py": "from m import f\n\n\nclass TestA:\n    def test_b(self):\n        f(1)\n",
            "m.py": "\n\ndef f(x):\n    raise ValueError(x)\n",
        }
    )
    log = (
        "=== FAILURES ===\n____ TestA.test_b ____\n\n    def test_b(self):\n>       f(1)\n\ntests/test_a.py:6: \n_ _ _ _\n\nm.py:4: ValueError\n"
        "=== short test summary info ===\nFAILED tests/test_a.py::TestA::test_b - ValueError: 1"
    )
    steps = trace(repo, log_of(log), at(9))
    assert [(s.path, s.line, s.symbol) for s in steps] == [
        ("tests/test_a.py", 5, "TestA::test_b"),
        ("tests/test_a.py", 6, "test_b"),
        ("m.py", 4, "f"),
    ]


def test_the_statement_that_printed_a_line(make: Make) -> None:
    repo = make(
        {
            "data.py": "def check(n):\n    if n:\n        raise SystemExit(f'data check: {n} unknown characters present')\n"
        }
    )
    steps = trace(repo, log_of("x\ndata check: 12 unknown characters present"), at(2))
    assert [(s.path, s.line, s.symbol, s.why) for s in steps] == [("data.py", 3, "check", "prints the line")]


def test_two_statements_that_could_have_printed_it_are_none(make: Make) -> None:
    text = "print(f'data check: {n} unknown characters present')\n"
    assert (
        trace(make({"a.py": text, "b.py": text}), log_of("data check: 12 unknown characters present"), at(1))
        == []
    )


def test_nothing_to_trace(make: Make) -> None:
    assert trace(None, log_of("x"), at(1)) == []
    assert trace(make({"a.py": ""}), log_of("x"), None) == []
    assert trace(make({}), log_of("x"), at(99)) == []


@settings(deadline=None)
@given(
    st.lists(st.text(alphabet=st.sampled_from(list('File ".py:1, in abc/\\_=E')), max_size=80), max_size=20),
    st.integers(0, 30),
)
def test_any_log_is_traced(rows: list[str], line: int) -> None:
    frames_around(log_of("\n".join(rows)).lines, "log.txt", line, Checkout(None))
    evaluate(None, Telemetry(), log_of("\n".join(rows)))
