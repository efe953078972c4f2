"""A repository's own template: it may lay out, but neither insert raw text nor run on for ever."""

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt

from audit.report.overrides import MAX_SOURCE, OverrideError, render_override
from audit.report.templates import attribute_value, markdown_environment

from .hostile_text import TEXT

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
EVIL = '@you <b title="x"> [a](http://b.example) #1'


@pytest.mark.parametrize(
    "source",
    [
        "{{ x }}",
        "{{ x | safe }}",
        "{{ x | e }}",
        "{{ x | forceescape }}",
        "{{ x | tojson }}",
        "{{ x | urlize }}",
        "{{ x | list | join('') }}",
        "{{ (x | code) ~ x }}",
        "{{ [x | prose, x] | join(' ') }}",
        "{{ '%s' | format(x) }}",
        "{{ '{0}'.format(x) }}",
        "{{ x | replace('a', '<b>') }}",
        "{% autoescape true %}{{ x }}{% endautoescape %}",
        "{% autoescape false %}{{ x }}{% endautoescape %}",
        "{% set y %}{{ x }}{% endset %}{{ y }}",
        "{% set y | replace('&#8203;', '') %}{{ x }}{% endset %}{{ y }}",
        "{% macro m() %}{{ x }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ x }}{% endcall %}",
        '<i title="{{ x }}">y</i>',
    ],
)
def test_no_way_leads_around_the_quoting(source: str) -> None:
    text = markdown_environment(attribute_value).from_string(source).render(x=EVIL)
    children = [child for token in READER.parse(text) for child in token.children or []]
    assert {child.type for child in children} <= {"text", "text_special", "code_inline", "html_inline"}
    assert {child.content for child in children if child.type == "html_inline"} <= {
        '<i title="&#64;&#8203;you &#60;b title=&#34;x&#34;&#62; \\[a\\](http&#58;&#8203;//b.example) &#35;&#8203;1">',
        "</i>",
    }
    visible = "".join(child.content for child in children if child.type.startswith("text"))
    assert "@you" not in visible
    assert "#1" not in visible


@settings(max_examples=100, deadline=None)
@given(TEXT)
def test_any_value_stays_text(text: str) -> None:
    drawn = (
        markdown_environment(attribute_value)
        .from_string('# {{ x }}\n\n<i title="{{ x }}">{{ x }}</i>\n')
        .render(x=text)
    )
    tokens = [child for token in READER.parse(drawn) for child in (token, *(token.children or []))]
    assert not {"link_open", "image", "html_block", "fence", "code_block"} & {token.type for token in tokens}
    inline = [token.content for token in tokens if token.type == "html_inline"]
    assert len(inline) == 2 and inline[1] == "</i>"


def test_it_is_drawn_with_our_filters_and_blocks() -> None:
    source = '{% extends "short.md.j2" %}'
    assert render_override(source, {"passed": True, "headline": "a_b"}) == "## ✅ ML audit · a\\_b\n"
    assert render_override("{{ x | code }}", {"x": "a\udcff"}) == "`a\\xff`"


def test_what_it_writes_itself_is_made_visible_too() -> None:
    assert render_override("::error::x\n##[error]y\x1b[1m", {}) == "\\x3a:error::x\n#\\x23[error]y\\x1b[1m"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{% for i in range(10**9) %}{% endfor %}", "Range too big"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "within|time"),
        ("{% for i in range(3000) %}{{ x * 1000 }}{% endfor %}", "more than 2000000 characters"),
        ("{{ 'a' * 10**10 }}", "memory"),
        ("{{ x.__class__.__mro__ }}", "unsafe"),
        ("{{ cycler.__init__.__globals__ }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "no template /etc/passwd"),
        ("{% include '../pyproject.toml' %}", "no template"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        ("{% filter upper %}{{ x }}{% endfilter %}", "filter"),
        ("{{ nothing }}", "nothing"),
        ("\n{% if %}", "in line 2"),
        ("x" * (MAX_SOURCE + 1), "longer than"),
    ],
)
def test_what_it_may_not_do(source: str, why: str) -> None:
    with pytest.raises(OverrideError, match=why) as caught:
        render_override(source, {"x": "x"}, seconds=3)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
