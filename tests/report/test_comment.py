"""The comment: one look shows whether to merge; what matters stays; nothing of a repository becomes markup."""

import re

import pytest
from github_runner import commands
from hypothesis import given, settings
from markdown_it import MarkdownIt

from audit.assess.gate import FailOn, Scope
from audit.documents.finding import Fix, Severity, Status
from audit.documents.place import Place
from audit.report import comment, summary
from audit.report.annotations import annotations
from audit.report.fitting import utf8_bytes, utf16_units
from audit.report.story import Story, chapters, counts_line, headline, score_line
from audit.safety.sanitize import basic_plane

from . import samples, stories
from .hostile_text import TEXT
from .test_renderings import GOLDEN

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
RENDERINGS = {"comment": comment.render, "check": comment.render_check, "summary": summary.render}
C, W, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO


def tokens(markdown: str):
    for token in READER.parse(markdown):
        yield token
        yield from token.children or ()


@pytest.mark.parametrize("name", RENDERINGS)
@pytest.mark.parametrize("sample", ["usual", "passed", "clean", "hostile"])
def test_golden(name: str, sample: str, golden) -> None:
    story = {
        "usual": stories.story,
        "passed": lambda: stories.of(
            [stories.finding(1, W), stories.finding(2, INFO, False)], [stories.finding(3)]
        ),
        "clean": lambda: stories.story(samples.clean(), baseline=None, links=None),
        "hostile": lambda: stories.hostile(12, samples.EVIL[:-2]),
    }[sample]()
    golden(GOLDEN / f"{sample}.{name}.md", RENDERINGS[name](story))


# --- the decision in one line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "line"),
    [
        (stories.of([stories.finding(1, C)]), "Blocked: 1 new critical finding"),
        (
            stories.of([stories.finding(1, C), stories.finding(2, C), stories.finding(3, W)], fail_on=FailOn.WARNING),
            "Blocked: 2 new critical and 1 warning findings",
        ),
        (stories.of([stories.finding(1, C, False)]), "Passed: nothing new"),
        (stories.of([stories.finding(1, C, False)], scope=Scope.ALL), "Blocked: 1 critical finding"),
        (stories.of([stories.finding(1, W), stories.finding(2, INFO)]), "Passed: 1 new warning and 1 info findings, none at or above critical"),
        (stories.of([stories.finding(1, C)], fail_on=FailOn.NEVER), "Passed: 1 new critical finding, and nothing blocks (fail-on: never)"),
        (stories.of([], compared=False), "Passed: nothing to mend"),
        (stories.of([stories.finding(1, W, None)], compared=False), "Passed: 1 warning finding, none at or above critical"),
        (stories.of([stories.finding(1, C, None)], compared=False), "Blocked: 1 critical finding"),
        (stories.of([], [stories.finding(1)]), "Passed: nothing new"),
    ],
)  # fmt: skip
def test_the_headline_says_whether_to_merge_and_why(story: Story, line: str) -> None:
    assert headline(story) == line
    first = comment.render(story).split("\n", 1)[0]
    assert first.startswith(
        "## ✅ ML audit · Passed" if line.startswith("Passed") else "## ❌ ML audit · Blocked"
    )


def test_the_score_tells_its_change() -> None:
    assert (
        score_line(stories.story().report) == "Score 6.4 of 10 (6.9 before, −0.5), risk MEDIUM (LOW before)"
    )
    assert score_line(stories.of([]).report) == "Score 6.4 of 10 (as before), risk MEDIUM"
    assert score_line(samples.report()) == "Score 6.4 of 10, risk MEDIUM"


def test_the_counts() -> None:
    assert counts_line(stories.story()) == "1 new, 2 fixed, 3 known before, 1 not checked, 1 suppressed"
    assert counts_line(stories.of([stories.finding(1, W, None)], compared=False)) == "1 finding"


def test_each_failing_finding_stands_in_one_chapter() -> None:
    parts = chapters(stories.story())
    assert [f.rule for f in parts.blocking] == ["determinism.seed"]
    assert [f.rule for f in parts.new] == []
    assert [f.rule for f in parts.known] == [
        "security.torch-load",
        "environment.lock",
        "documentation.citation",
    ]
    assert [f.rule for f in parts.fixed] == ["environment.lock"]


# --- what a reader needs --------------------------------------------------------------------------------------


def test_what_must_be_done_stands_before_what_is_known() -> None:
    text = comment.render(
        stories.of([stories.finding(1, W, False), stories.finding(2, W), stories.finding(3, C)])
    )
    marks = ("Blocked:", "Mend before merging (1)", "number 3", "New, does not block (1)", "number 2", "<details>", "number 1")  # fmt: skip
    order = [text.index(mark) for mark in marks]
    assert order == sorted(order)


def test_places_lead_to_the_line_at_the_head() -> None:
    links = stories.LINKS
    root = f"https://github.com/example/gpt/blob/{stories.COMMIT}"
    assert links.place(Place("train.py", 31)) == f"{root}/train.py#L31"
    assert links.place(Place("README.md", 3)) == f"{root}/README.md?plain=1#L3"
    assert links.place(Place("a b/#?%.py")) == f"{root}/a%20b/%23%3F%25.py"
    assert links.place(Place("caf\udce9.py", 1)) == f"{root}/caf%E9.py#L1"
    inside = stories.Links("https://ghe.example", "o/r", "abc", "packages/model/")
    assert inside.place(Place("x.py", 1)) == "https://ghe.example/o/r/blob/abc/packages/model/x.py#L1"
    assert f"[`train.py:31`]({root}/train.py#L31)" in comment.render(stories.story())


def test_without_a_commit_on_a_server_there_are_no_links() -> None:
    text = comment.render(stories.story(links=None))
    assert "`train.py:31`" in text
    assert "/blob/" not in text


# --- sizes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [100, 800, 3_000, 10_000, 60_000])
@pytest.mark.parametrize("texts", [samples.EVIL, samples.HARMLESS], ids=["hostile", "harmless"])
def test_the_comment_fits_whole(budget: int, texts) -> None:
    text = comment.render(stories.hostile(300, texts), budget=budget)
    assert utf16_units(text) <= budget
    assert text.startswith("## ❌ ML audit · Blocked: ")
    assert not [token for token in READER.parse(text) if token.type == "fence"]
    assert text.count("<details>") == text.count("</details>")


def test_what_matters_least_goes_first_and_is_counted() -> None:
    findings = [
        *(stories.finding(n, C) for n in range(60)),
        *(stories.finding(n, W) for n in range(100, 140)),
        *(stories.finding(n, C, False) for n in range(200, 240)),
    ]
    story = stories.of(findings, [stories.finding(n) for n in range(300, 320)])
    for budget in (4_000, 12_000, 20_000, 60_000):
        text = comment.render(story, budget=budget)
        shown = [int(n) for n in re.findall(r"It is so, number (\d+)", text)]
        expected = [*range(60), *range(100, 140), *range(300, 320), *range(200, 240)]
        assert shown == expected[: len(shown)]
        hidden = sum(map(int, re.findall(r"^(?:- )?(\d+)(?: more)? in the job summary", text, re.MULTILINE)))
        assert len(shown) + hidden == len(expected)


def test_characters_beyond_the_basic_plane_count_twice() -> None:
    assert utf16_units("a🙂") == 3
    report = samples.report(findings=tuple(stories.finding(n, C) for n in range(100)))
    bright = samples.report(
        findings=tuple(
            stories.finding(n, C).__class__(
                **{**{k: getattr(f, k) for k in f.__struct_fields__}, "message": "🙂" * 590}
            )
            for n, f in enumerate(report.findings)
        )
    )
    text = comment.render(stories.story(bright))
    assert utf16_units(text) <= 60_000
    check = comment.render_check(stories.story(bright))
    assert len(check) <= 60_000
    assert check == basic_plane(check)
    assert "\\U0001f642" in check


def test_the_summary_fits_in_bytes() -> None:
    story = stories.hostile(400)
    for budget in (500, 20_000, 200_000):
        assert utf8_bytes(summary.render(story, budget=budget)) <= budget
    many = stories.of([stories.finding(n, C) for n in range(6_000)])
    text = summary.render(many)
    assert utf8_bytes(text) <= 1_000_000
    shown = len(re.findall(r"It is so, number", text))
    assert f"{6_000 - shown} more in the JSON report." in text


def test_the_summary_draws_the_dimensions() -> None:
    text = summary.render(stories.story())
    [fence] = [token for token in READER.parse(text) if token.type == "fence"]
    assert fence.info == "mermaid"
    assert fence.content.split("\n") == [
        "xychart-beta horizontal",
        '    title "Score by dimension, 0 to 10"',
        '    x-axis ["Environment", "Determinism", "Documentation", "Testing", "CI/CD", "Data", "Configuration"]',
        "    y-axis 0 --> 10",
        "    bar [5.0, 3.2, 9.0, 8.5, 10.0, 7.0, 6.0]",
        "",
    ]
    assert "The comment was not written." in summary.render(
        stories.story(), remarks=["The comment was not written."]
    )


# --- hostile content ------------------------------------------------------------------------------------------

OUR_HTML = re.compile(
    r"</details>|<details><summary>[A-Z][A-Za-z ,]+ \(\d+\)</summary>|<details><summary>Score by dimension</summary>"
)
ALIVE = re.compile(r"@[a-z0-9]|#[0-9]|(?<![a-z0-9])gh-[0-9]|://|www\.|:[a-z0-9_+-]+:", re.IGNORECASE)


def assert_inert(text: str, links: tuple[str, ...]) -> None:
    """No markup but our own: tags, links, pictures, mentions, references, commands of the runner."""
    found = list(tokens(text))
    assert {t.content for t in found if t.type == "html_inline"} <= {
        "<code>",
        "</code>",
        "<br>",
        "<sub>",
        "</sub>",
    }
    assert all(OUR_HTML.fullmatch(t.content.strip()) for t in found if t.type == "html_block")
    assert all(str(t.attrs["href"]).startswith(links) for t in found if t.type == "link_open")
    assert not [t for t in found if t.type == "image"]
    visible = "".join(t.content if t.type in ("text", "text_special") else "\0" for t in found)
    assert not ALIVE.search(visible), ALIVE.search(visible)
    assert commands(text) == []


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_hostile_report_makes_no_markup(name: str) -> None:
    text = RENDERINGS[name](stories.hostile(80))
    assert_inert(text, ("https://github.com/example/gpt/", "https://e.example/"))


@pytest.mark.parametrize("name", RENDERINGS)
def test_hostile_words_make_the_same_structure_as_harmless_ones(name: str) -> None:
    def shape(texts) -> list[str]:
        rendered = RENDERINGS[name](stories.story(samples.hostile(40, texts), rules={}))
        plain = {"text", "text_special", "code_inline", "html_inline", "softbreak", "inline"}
        return [t.type for t in tokens(rendered) if t.type not in plain]

    assert shape(samples.EVIL[:-2]) == shape(samples.HARMLESS[:-2])


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, TEXT, TEXT)
def test_any_text_anywhere_makes_no_markup(path: str, message: str, mend: str, name: str) -> None:
    finding = stories.finding(1, C).__class__(
        name or "r", name, C, Status.FAIL, 0, message, (Place(path or "p", 3, name),), Fix(mend), name, True
    )
    base = stories.Baseline(name, name, 1.0, name, (finding,))
    story = stories.story(samples.report(findings=(finding,), insights=(message,)), baseline=base, rules={})
    for render in RENDERINGS.values():
        assert_inert(render(story), ("https://github.com/example/gpt/",))
    for one in annotations(story, 10).shown:
        for text in (one["message"], one["title"], one["path"]):
            assert text == basic_plane(text)
            text.encode()


# --- annotations ----------------------------------------------------------------------------------------------


def test_annotations_are_the_new_ones_worst_first_and_capped() -> None:
    story = stories.of(
        [stories.finding(1, INFO), stories.finding(2, C), stories.finding(3, W), stories.finding(4, C, False)]
    )
    made = annotations(story, 2)
    assert [one["annotation_level"] for one in made.shown] == ["failure", "warning"]
    assert [one["start_line"] for one in made.shown] == [2, 3]
    assert (made.dropped, made.placeless) == (1, 0)
    everything = stories.of([stories.finding(4, C, False)], scope=Scope.ALL)
    assert len(annotations(everything, 10).shown) == 1


def test_an_annotation_says_what_and_where() -> None:
    [one] = annotations(stories.story(), 200).shown
    assert one == {
        "path": "train.py",
        "start_line": 31,
        "end_line": 31,
        "annotation_level": "failure",
        "message": "torch draws random numbers while training and is not seeded; numpy is.\n"
        "Also: model.py:9, data/loader.py:4\n"
        "Fix: Call torch.manual_seed(seed) before the model is built.",
        "title": "determinism.seed: Every random number generator is seeded",
    }


@pytest.mark.parametrize("path", ["caf\udce9.py", "a\nb.py", "🙂.py", "/etc/passwd", "", "\u202ex.py"])
def test_a_path_that_github_would_not_take_is_passed_over_for_the_next(path: str) -> None:
    finding = stories.finding(1, C)
    bad = finding.__class__(
        "r.a", "r", C, Status.FAIL, 0, "M.", (Place(path, 1), Place("ok.py")), None, "f", True
    )
    only = finding.__class__("r.a", "r", C, Status.FAIL, 0, "M.", (Place(path, 1),), None, "f", True)
    made = annotations(stories.of([bad, only]), 10)
    assert [(one["path"], one["start_line"]) for one in made.shown] == [("ok.py", 1)]
    assert made.placeless == 1
