"""The drift of two states, and its renderings."""

import json
import re

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit.documents.drift import Change, ChangeKind, Drift, DriftSeverity, Side
from audit.documents.place import Place
from audit.documents.report import Tool
from audit.documents.state import Confidence, Leaf, Source, State
from audit.report.drift import FORMATS, renderer
from audit.report.drift.text import render as as_text
from audit.report.drift.view import at_least, headline
from audit.state.drift import drift, text_diff
from audit.state.settings.key import Name, parsed


def code(value, file: str = "a.py", line: int = 1, resolved: bool = True) -> Leaf:
    confidence = Confidence.OBSERVED if resolved else Confidence.UNRESOLVED
    return Leaf(value, Source.CODE, confidence, "", Place(file, line))


def of(a: dict[str, Leaf], b: dict[str, Leaf], **more) -> Drift:
    return drift(State(a), State(b), before=Side("a", "code"), after=Side("b", "code"), **more)


def test_counts_order_and_comparability() -> None:
    found = of(
        {"custom.x@a.yaml::x": code(1, "a.yaml"), "training.learning_rate@a.yaml::lr": code(0.1, "a.yaml"), "training.seed@a.yaml::seed": code(1, "a.yaml")},
        {"custom.x@a.yaml::x": code(2, "a.yaml"), "training.learning_rate@a.yaml::lr": code(0.2, "a.yaml"), "training.seed@a.yaml::seed": code("1", "a.yaml")},
    )  # fmt: skip
    assert [change.severity.value for change in found.changes] == ["HIGH", "MEDIUM"]
    assert found.summary == {"HIGH": 1, "MEDIUM_HIGH": 0, "MEDIUM": 1, "LOW": 0, "NONE": 0}
    assert found.same == 1
    assert not found.comparable
    assert found.changes[0].relative == 1.0
    assert (
        headline(found)
        == "2 settings changed: 1 high, 1 medium; the results before and after are not directly comparable"
    )


def test_versions_and_seeds_have_no_percentage() -> None:
    for setting, before, after in (
        ("execution.python", "3.10", "3.11"),
        ("training.seed", 42, 43),
        ("environment.packages.rich.locked", "13.7", "13.8"),
    ):
        assert of({setting: code(before)}, {setting: code(after)}).changes[0].relative is None
    assert of({"training.epochs": code("3")}, {"training.epochs": code(4)}).changes[0].relative is not None


def test_nothing_changed() -> None:
    found = of({"training.seed": code(1)}, {"training.seed": code(1)})
    assert found.comparable
    assert headline(found) == "The experiment is the same"
    for name in FORMATS:
        assert renderer(name)(found).endswith("\n")


def test_what_a_lock_could_not_resolve_is_not_compared() -> None:
    known = Leaf("abc", Source.LOCK, Confidence.EXACT)
    unknown = Leaf(None, Source.LOCK, Confidence.UNRESOLVED)
    found = of({"models.primary.revision": known}, {"models.primary.revision": unknown})
    assert found.changes == ()
    assert found.notes == ("1 setting that a lock could not resolve was not compared.",)


def test_roles_of_a_manifest_are_no_renaming() -> None:
    declared = Leaf("acme/base", Source.MANIFEST, Confidence.DECLARED)
    found = of({"models.primary.id": declared}, {"models.judge.id": declared})
    assert [(change.setting, change.kind) for change in found.changes] == [
        ("models.judge.id", ChangeKind.ADDED),
        ("models.primary.id", ChangeKind.REMOVED),
    ]


def test_expressions_are_compared_by_what_they_compute() -> None:
    path = "training.learning_rate@a.py::main::lr"
    for before, after, changed in (
        ("args.lr", "cfg.lr", False),
        ("args.lr", "args.lr * 0.1", True),
        ("args.lr * 2", "args.lr * 4", True),
        ("a.x if a.y else b", "a.x or b", False),
    ):
        found = of({path: code(before, resolved=False)}, {path: code(after, resolved=False)})
        assert bool(found.changes) is changed, (before, after)


def test_many_packages_that_come_are_one_line() -> None:
    have = {"environment.packages.numpy.declared@r.txt::numpy": code("==1.26", "r.txt")}
    new = {f"environment.packages.p{n}.declared@r.txt::p{n}": code("==1.0", "r.txt") for n in range(9)}
    found = of(have, have | new)
    assert [change.setting for change in found.changes] == ["environment.packages@r.txt::packages"]
    assert found.changes[0].after is not None
    assert str(found.changes[0].after.value).startswith("9 packages: p0, p1")


def test_an_entry_of_a_catalogue_is_one_line() -> None:
    def entry(name: str) -> dict[str, Leaf]:
        return {
            f"training.learning_rate@zoo.yml::{name}.lr": code(0.1, "zoo.yml"),
            f"training.total_timesteps@zoo.yml::{name}.steps": code(10, "zoo.yml"),
        }

    found = of(
        entry("Ant"),
        entry("Ant") | {k: msgspec.structs.replace(v, value=7) for k, v in entry("Hopper").items()},
    )
    assert [(change.setting, change.severity.value) for change in found.changes] == [
        ("experiment.files@zoo.yml::Hopper", "LOW")
    ]


def test_one_more_call_of_a_kind_changes_none_of_the_others() -> None:
    path = "models.primary.id@a.py::main::Sampler.model"
    found = of(
        {path: code("gpt-a"), path + "#2": code("gpt-b")},
        {path: code("gpt-a"), path + "#2": code("gpt-c"), path + "#3": code("gpt-b")},
    )
    assert [
        (change.kind.value, change.severity.value, change.after.value if change.after else None)
        for change in found.changes
    ] == [("added", "LOW", "gpt-c")]


def test_differences_of_texts_are_bounded() -> None:
    before, after = "\n".join(map(str, range(10_000))), "\n".join(map(str, range(5, 20_000)))
    lines = text_diff(before, after).split("\n")
    assert len(lines) == 61
    assert lines[-1].startswith("… ")
    assert max(map(len, text_diff("x\n" + "y" * 10_000, "x\nz").split("\n"))) == 300
    assert text_diff("a", "b") == text_diff(1, 2) == ""


def test_least_severity_hides_and_counts() -> None:
    found = of(
        {"custom.x": code(1), "training.seed": code(1)}, {"custom.x": code(2), "training.seed": code(2)}
    )
    shown = at_least(found, DriftSeverity.HIGH)
    assert [change.setting for change in shown.changes] == ["training.seed"]
    assert shown.summary == found.summary
    assert "1 of less severity not shown" in as_text(shown)


def test_alike_changes_are_one_row() -> None:
    sides = [
        {f"training.batch_size@run{n}.sh::train.py::--bs": code(value, f"run{n}.sh") for n in range(4)}
        for value in (8, 16)
    ]
    found = of(*sides)
    assert len(found.changes) == 4
    assert "run0.sh:1 and 3 more  --bs (train.py)" in as_text(found)


def test_json_reads_back() -> None:
    found = of({"training.seed": code(1)}, {"training.seed": code(2)})
    assert msgspec.json.decode(renderer("json")(found).encode(), type=Drift) == found
    assert json.loads(renderer("json")(found))["changes"][0]["severity"] == "HIGH"


def test_colours_only_where_asked() -> None:
    found = of({"training.seed": code(1)}, {"training.seed": code(2)})
    assert "\x1b" not in as_text(found)
    assert "\x1b[1;31mHIGH (1)\x1b[0m" in as_text(found, color=True)


HOSTILE = st.text(max_size=60) | st.sampled_from(
    ["::error::x", "##[error]x", "@team", "#123", "<script>", "a|b\n|c", "```\n# head", "\x1b[31m", "[a](javascript:x)", "\u202e", "&#64;x", "\ud800"]
)  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | HOSTILE
    | st.lists(HOSTILE, max_size=3).map(tuple)
)
LEAVES = st.builds(
    Leaf, VALUES, st.sampled_from(Source), st.sampled_from(Confidence), HOSTILE, st.none() | st.builds(Place, HOSTILE, st.none() | st.integers(1, 99))
)  # fmt: skip
PATHS = st.sampled_from(["training.seed", "models.primary.id", "custom.x"]) | st.builds(
    lambda concept, file, scope, key: Name(concept, file or "f", scope, key or "k").path,
    st.sampled_from(["training.learning_rate", "prompts.user.text", "environment.packages.torch.locked", "custom.y"]),
    HOSTILE, HOSTILE, HOSTILE,
)  # fmt: skip
STATES = st.dictionaries(PATHS, LEAVES, max_size=8).map(State)


@settings(max_examples=150, deadline=None)
@given(STATES, STATES)
def test_no_state_and_no_text_breaks_anything(a: State, b: State) -> None:
    found = drift(a, b, before=Side("a", "code"), after=Side("b", "code"))
    for name in FORMATS:
        text = renderer(name)(found)
        text.encode()
        if name == "json":
            continue
        assert not re.search(r"(?m)^[ \t]*::|##\[", text)
    shown = MarkdownIt("commonmark", {"html": True}).enable("table").parse(renderer("markdown")(found))
    for token in shown:
        for part in token.children or ():
            assert part.type not in ("link_open", "image")
            assert "<script" not in part.content or part.type in ("text", "code_inline")


@given(STATES)
def test_a_state_has_not_drifted_from_itself(a: State) -> None:
    assert drift(a, a, before=Side("a", "code"), after=Side("b", "code")).changes == ()


@given(st.sampled_from(["a.b", "c"]), HOSTILE, HOSTILE, HOSTILE)
def test_paths_keep_their_concept(concept: str, file: str, scope: str, key: str) -> None:
    assert parsed(Name(concept, file, scope, key).path).concept == concept


def test_the_markdown_is_bounded() -> None:
    sides = code("a\n" * 500), code("b\n" * 500)
    names = [f"custom.x{n}@{'f' * 150}{n}.py::k{n}" for n in range(3000)]
    high = DriftSeverity.HIGH
    changes = tuple(
        Change(name, ChangeKind.CHANGED, high, "w " * 40, *sides, None, "d\n" * 2000) for name in names
    )
    found = Drift(
        1, Tool("ml-audit", "0"), Side("a", "code"), Side("b", "code"), False, {"HIGH": 3000}, changes, 0
    )
    text = renderer("markdown")(found)
    assert len(text.encode()) <= 1_000_000
    assert "more in the artifact diff.json" in text
