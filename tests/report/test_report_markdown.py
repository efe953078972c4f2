"""Markdown: its structure is the template's alone, and it fits where it is meant to go."""

import re

import pytest
from markdown_it import MarkdownIt

from audit.report.markdown import render

from . import samples

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TEXT = {"text", "text_special", "code_inline", "html_inline", "softbreak"}


def tokens(markdown: str):
    for token in READER.parse(markdown):
        yield token
        yield from token.children or ()


def shape(markdown: str) -> list[str]:
    return [token.type for token in tokens(markdown) if token.type not in TEXT]


def test_hostile_words_make_the_same_structure_as_harmless_ones() -> None:
    assert shape(render(samples.hostile())) == shape(render(samples.hostile(texts=samples.HARMLESS)))


def test_html_and_links_are_the_template_s() -> None:
    found = list(tokens(render(samples.hostile(), rules=samples.evil_rules())))
    assert {t.content for t in found if t.type == "html_inline"} <= {"<code>", "</code>"}
    blocks = {t.content.strip() for t in found if t.type == "html_block"}
    assert all(
        re.fullmatch(r"</details>|<details><summary>[A-Z][a-z ]+ \(\d+\)</summary>", b) for b in blocks
    )
    links = [t.attrs["href"] for t in found if t.type == "link_open"]
    assert links
    assert all(str(link).startswith("https://e.example/") for link in links)
    assert not [t for t in found if t.type == "image"]


def test_nothing_is_left_for_github_to_link_or_notify() -> None:
    text = "\n".join(
        t.content
        for t in tokens(render(samples.hostile(), rules=samples.evil_rules()))
        if t.type.startswith("text")
    )
    joined = text.replace("\n", "")
    assert not re.search(r"@[a-z]|#[0-9]|gh-[0-9]|://|www\.|:smile:", joined, re.IGNORECASE)


@pytest.mark.parametrize("budget", [0, 10, 300, 2_000, 5_000, 20_000, 60_000])
@pytest.mark.parametrize("rules", [None, samples.evil_rules()], ids=["no-catalogue", "evil-catalogue"])
def test_a_budget_holds(budget: int, rules) -> None:
    report = samples.hostile(300)
    text = render(report, rules=rules, budget=budget)
    assert len(text.encode()) <= budget
    if budget >= 5_000:
        assert f"{report.summary.critical} critical" in text
        assert "300 files seen, 0 parsed, 300 in part, 300 skipped" in text
        shown = len(re.findall(r"^- \*\*", text, re.MULTILINE))
        hidden = sum(map(int, re.findall(r"^(\d+)(?: more)? did not fit", text, re.MULTILINE)))
        assert shown + hidden == report.summary.critical + report.summary.warning + report.summary.info
        assert hidden > 0 or budget == 60_000


def test_the_worst_findings_stay_longest() -> None:
    whole = render(samples.report())
    short = render(samples.report(), budget=len(whole.encode()) - 1)
    assert "torch draws random numbers" in short
    assert "how to cite" not in short
    assert "1 did not fit here; the JSON report has them all." in short


def test_a_budget_that_suffices_changes_nothing() -> None:
    whole = render(samples.report(), rules=samples.RULES)
    assert render(samples.report(), rules=samples.RULES, budget=len(whole.encode())) == whole
