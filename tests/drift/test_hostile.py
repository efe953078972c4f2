"""Whatever stands in files, their settings are read and compared, within bounds."""

import contextlib
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from audit.documents.drift import Side
from audit.documents.place import Place
from audit.documents.state import Confidence, Leaf, Source, State
from audit.facts.collect import extract_file
from audit.facts.kinds import Kind
from audit.state.drift import drift
from audit.state.settings.expressions import Unknown, entries_of, value_of
from audit.state.settings.projection import counts, is_data_file, is_prompt_file, settings_of

PIECES = st.sampled_from(
    """lr|=|0.1|    |parser.add_argument('--lr', default=|)|{|}|'|"|[|]|:|def f(lr=1e-3):|class Config:|@dataclass|AdamW(params, lr=|seed|1e|**
    |…|\x00|\u202e|prompt = \'\'\'|#2|::|@|- |&a |*a|!!python/object |<<: |torchrun --nproc_per_node | train.py |--flag=|$X |FROM |pip install
    |==|~=|^|load_dataset('a/b', split='|\\|import torch""".split("|")
).flatmap(lambda piece: st.sampled_from([piece, piece, "\n", "\r\n", "9" * 50]))
SOURCES = st.lists(PIECES | st.text(max_size=8), max_size=40).map("".join)
KINDS = st.sampled_from(
    [kind for kind in Kind if kind not in (Kind.OTHER, Kind.KEY_FILE, Kind.LICENSE, Kind.CITATION)]
)


def state_of(source: str, kind: Kind) -> State:
    return settings_of(
        {"config/file": extract_file(source.encode("utf-8", "surrogatepass"), kind)}, {"p.prompt": source}
    )


@settings(max_examples=300, deadline=None)
@given(SOURCES, SOURCES, KINDS)
def test_no_content_breaks_it(before: str, after: str, kind: Kind) -> None:
    a, b = state_of(before, kind), state_of(after, kind)
    drift(a, b, before=Side("a", "code"), after=Side("b", "code"))
    assert drift(a, state_of(before, kind), before=Side("a", "code"), after=Side("b", "code")).changes == ()


@given(st.text(max_size=60) | st.lists(PIECES, max_size=10).map("".join))
def test_no_expression_breaks_it(text: str) -> None:
    entries_of(text)
    try:
        value = value_of(text)
    except Unknown:
        return
    assert value is None or isinstance(value, (bool, int, float, str, tuple))


def test_expressions_are_bounded() -> None:
    for text in (
        "9**9**9**9",
        "(" * 2000,
        "[" * 2000,
        "{1:" * 1000,
        "int(" * 25 + "1" + ")" * 25,
        "1" * 3999,
        "-" * 3999 + "1",
        "1+" * 1500 + "1",
    ):
        started = time.perf_counter()
        with contextlib.suppress(Unknown):
            value_of(text)
        entries_of(text)
        assert time.perf_counter() - started < 5


def test_what_arithmetic_spells() -> None:
    assert value_of("5 * 8") == 40
    assert value_of("2 ** 16") == 65536
    assert value_of("1 / 1000") == 0.001
    assert value_of("float('1e-3')") == 0.001
    assert value_of("torch.bfloat16") == "torch.bfloat16"
    assert value_of("'You are ' + 'a judge.'") == "You are a judge."
    assert value_of("{'b', 'a'}") == ("a", "b")
    assert entries_of("{'lr': 1e-3, 'model': {'depth': 2, 'name': x}}") == {"lr": 1e-3, "model.depth": 2}


def many(number: int, shift: int) -> State:
    return State(
        {
            f"models.primary.id@a.py::f::Sampler.model#{n}": Leaf(f"m{n * 7919 % number + shift}", Source.CODE, Confidence.OBSERVED, "", Place("a.py", n))
            for n in range(1, number)
        }
    )  # fmt: skip


def test_thousands_of_equal_statements_cost_little() -> None:
    started = time.perf_counter()
    found = drift(many(6_000, 0), many(6_000, 6_000), before=Side("a", "code"), after=Side("b", "code"))
    assert len(found.changes) == 5_999
    unresolved = State(
        {
            k: Leaf("args.x", Source.CODE, Confidence.UNRESOLVED, "", v.place)
            for k, v in many(6_000, 0).leaves.items()
        }
    )
    drift(many(6_000, 0), unresolved, before=Side("a", "code"), after=Side("b", "code"))
    assert time.perf_counter() - started < 60  # seconds even on a busy machine; without bounds it is minutes


def test_long_paths_are_nobodys() -> None:
    path = "prompts/" * 500 + "x.txt"
    assert not counts(path)
    assert not is_prompt_file(path)
    assert not is_data_file("data/" * 500 + "x.csv")


def test_which_files_count() -> None:
    for path in (
        "train.py",
        "configs/a.yaml",
        "src/pkg/model.py",
        "scripts/run.sh",
        "preprocess.py",
        "tools/train_net.py",
    ):
        assert counts(path), path
    for path in (
        "tests/test_x.py",
        "docs/conf.py",
        "third_party/x/train.py",
        ".github/workflows/ci.yml",
        "scripts/convert_weights.py",
        "demo.py",
        "ml-audit.yaml",
        ".vscode/settings.json",
    ):
        assert not counts(path), path
    for path in (
        "prompts/judge.txt",
        "src/prompts/v2/system.md",
        "chat_template.jinja",
        "judge_prompt.txt",
        "x/rubrics/a.txt",
    ):
        assert is_prompt_file(path), path
    for path in (
        "README.md",
        "prompts/README.md",
        "Dockerfile-uv.jinja",
        "templates/page.html.j2",
        "deploy/values.yaml.j2",
        "notes.txt",
        "docs/prompts/a.txt",
    ):
        assert not is_prompt_file(path), path
    for path in ("data/train.csv", "corpus/a.jsonl", "data/words.txt"):
        assert is_data_file(path), path
    for path in (
        "results/a.csv",
        "outputs/x.jsonl",
        "tests/data/a.csv",
        "benchmark_results/x.parquet",
        "data/results.csv",
        "notes.txt",
    ):
        assert not is_data_file(path), path
