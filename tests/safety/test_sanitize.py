"""No dangerous character survives, whatever the text; what is safe stays readable."""

import json
import re
import sys
import unicodedata
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes

import pytest
from github_runner import commands
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from audit.safety import sanitize

PIECES = (
    "::", "##[", "##", "[", "]", "error", "]x", " ", "\n", "\r", "\r\n", "\t", "\x1b[31m", "\x1b]8;;", "\x07",
    "\x00", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\x85", "\xa0", "\u3000", "\udcff",
    "\udc80", "\ud800", "e\u0301", "👩", "🇩🇪", "`", "``", "|", "\\", "<b>", "</b>", "<!--", "-->", "&amp;",
    "&#64;", "@user", "#1", "GH-1", "http://a.b", "www.a.b", "a@b.c", "[x](y)", "![x](y)", "*", "_", "~~",
    "$", ":smile:", "- ", "1. ", "# ", "> ", "***", "===", "'", '"', "%", ",", ":", "word",
)  # fmt: skip
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=())), st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
)
INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def invisible(text: str, allowed: str = "") -> set[str]:
    return {c for c in text if unicodedata.category(c) in INVISIBLE and c not in allowed}


# --- terminal -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name.py", "plain name.py"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("caf\udce9.py", "caf\\xe9.py"),
        ("\ud800", "\\ud800"),
        ("\x85", "\\u0085"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("no\xa0break\u3000", "no break "),
        ("naïve 漢字 🙂", "naïve 漢字 🙂"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_terminal_shows_what_cannot_be_seen(text: str, shown: str) -> None:
    assert sanitize.terminal(text) == shown


EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def test_every_invisible_character_of_this_python_is_known() -> None:
    assert invisible(sanitize.terminal(EVERYTHING)) == set()


def test_nothing_that_is_seen_is_touched() -> None:
    touched = set(EVERYTHING) - set(sanitize.terminal(EVERYTHING))
    # Letters and signs by category that have no ink: fillers and the blank Braille pattern.
    inked = {character for character in touched if unicodedata.category(character)[0] in "LNPS"}
    assert inked == set("\u115f\u1160\u2800\u3164\uffa0")


@given(TEXT)
def test_terminal_is_idempotent_and_one_line(text: str) -> None:
    once = sanitize.terminal(text)
    assert sanitize.terminal(once) == once
    assert not invisible(once)
    once.encode()


@given(TEXT)
def test_several_lines_keep_their_breaks_only(text: str) -> None:
    once = sanitize.terminal(text, multiline=True)
    assert sanitize.terminal(once, multiline=True) == once
    assert not invisible(once, "\n\t")


# --- lengths ------------------------------------------------------------------------------------------------


@given(TEXT, st.integers(0, 20))
def test_cut_is_short_and_idempotent(text: str, limit: int) -> None:
    once = sanitize.cut(text, limit)
    assert len(once) <= limit
    assert sanitize.cut(once, limit) == once
    assert once == text or text.startswith(once.removesuffix("…"))


@given(TEXT, st.integers(0, 40))
def test_cut_bytes_is_short_and_idempotent(text: str, limit: int) -> None:
    once = sanitize.cut_bytes(text, limit)
    assert len(once.encode()) <= limit
    assert sanitize.cut_bytes(once, limit) == once


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc…"),
        ("abe\u0301def", 4, "ab…"),
        ("ab\u200dcd", 4, "a…"),
        ("a👍🏽bc", 3, "a…"),
        ("a🇩🇪bc", 3, "a…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("e" + "\u0301" * 100, 50, "e" + "\u0301" * 48 + "…"),
    ],
)
def test_cut_parts_no_character(text: str, limit: int, short: str) -> None:
    assert sanitize.cut(text, limit) == short


def test_cut_bytes_parts_no_character() -> None:
    assert sanitize.cut_bytes("äöüß", 8) == "äöüß"
    assert sanitize.cut_bytes("äöüßx", 8) == "äö…"
    assert sanitize.cut_bytes("🙂🙂", 7) == "🙂…"
    assert sanitize.cut_bytes("\udcff", 4) == "\\xff"


# --- log and workflow commands ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("::error::x", "\\x3a:error::x"),
        (" \t ::error::x", " \t \\x3a:error::x"),
        ("\u2003::error::x", "\u2003\\x3a:error::x"),
        ("std::vector::x", "std::vector::x"),
        ("x ##[error]y", "x #\\x23[error]y"),
        ("###[error]y", "##\\x23[error]y"),
        ("## heading", "## heading"),
    ],
)
def test_log_lines_start_no_command(line: str, safe: str) -> None:
    assert sanitize.log_line(line) == safe


@given(TEXT)
def test_no_text_starts_a_command(text: str) -> None:
    once = sanitize.log_text(sanitize.terminal(text, multiline=True))
    assert commands(once) == []
    assert sanitize.log_text(once) == once
    assert commands(sanitize.log_line(sanitize.terminal(text))) == []


@given(TEXT, TEXT)
def test_a_command_is_one_command_with_its_own_properties(name: str, message: str) -> None:
    line = sanitize.command("error", message, {"file": name, "line": 3, "col": None})
    assert commands(line) == [line]
    assert "##[" not in line
    head, _, data = line.removeprefix("::").partition("::")
    assert re.fullmatch(r"error file=[^,:\r\n]*,line=3", head)
    assert not re.search(r"[\r\n]|%(?!25|0A)", data)


def test_a_command_reads_back() -> None:
    assert sanitize.command("warning", "50%\nof a:b", {"file": "a,b:c%.py", "line": 1}) == (
        "::warning file=a%2Cb%3Ac%25.py,line=1::50%25%0Aof a:b"
    )
    assert sanitize.command("notice", "x", {}) == "::notice::x"


# --- Markdown -----------------------------------------------------------------------------------------------

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PLAIN = {
    "text",
    "text_special",
    "softbreak",
    "inline",
    "paragraph_open",
    "paragraph_close",
    "code_inline",
    "html_inline",
}
# What GitHub looks for in the text of the rendered page, outside code.
ALIVE = re.compile(r"@[A-Za-z0-9]|#[0-9]|(?<![a-z0-9])gh-[0-9]|://|www\.|:[a-z0-9_+-]+:", re.IGNORECASE)


def kinds(markdown: str) -> list[str]:
    found = []
    for token in READER.parse(markdown):
        found.append(token.type)
        found += [child.type for child in token.children or []]
    return found


def visible(markdown: str) -> str:
    return "".join(
        child.content
        for token in READER.parse(markdown)
        for child in token.children or []
        if child.type in ("text", "text_special")
    )


@given(TEXT)
def test_markdown_text_stays_text(text: str) -> None:
    quoted = sanitize.markdown(text)
    assert not invisible(quoted)
    assert commands(quoted) == []
    for place in (quoted, f"- {quoted}", f"before {quoted} after"):
        assert set(kinds(place)) <= PLAIN | {
            "bullet_list_open",
            "bullet_list_close",
            "list_item_open",
            "list_item_close",
        }
        assert "html_inline" not in kinds(place)
    shown = sanitize.terminal(text).strip()
    assert visible(quoted).replace("\u200b", "") == shown
    assert not ALIVE.search(visible(quoted))


@given(TEXT, TEXT)
def test_markdown_cells_stay_cells(left: str, right: str) -> None:
    row = f"| {sanitize.markdown(left)} | {sanitize.markdown_code(right)} |"
    found = kinds(f"| a | b |\n|---|---|\n{row}\n")
    assert found.count("td_open") == 2
    assert found.count("tr_open") == 2
    assert not {"link_open", "image", "html_block"} & set(found)


@given(TEXT)
def test_code_spans_hold_the_text_itself(text: str) -> None:
    span = sanitize.markdown_code(text)
    assert commands(span) == []
    assert not invisible(span)
    shown = sanitize.log_line("." + sanitize.terminal(text))[1:]
    if "|" in shown:
        assert span.startswith("<code>")
        assert visible(span).replace("\u200b", "") == sanitize.terminal(text).strip()
    elif shown:
        tokens = [child for token in READER.parse(f"x {span} y") for child in token.children or []]
        assert [token.type for token in tokens] == ["text", "code_inline", "text"]
        assert tokens[1].content == shown
    else:
        assert span == ""


@given(TEXT)
def test_prose_is_text_and_code(text: str) -> None:
    quoted = sanitize.markdown_prose(text)
    assert not invisible(quoted)
    assert commands(quoted) == []
    found = [child for token in READER.parse(f"- {quoted} after") for child in token.children or []]
    assert {child.type for child in found} <= PLAIN
    assert {child.content for child in found if child.type == "html_inline"} <= {"<code>", "</code>"}
    assert not ALIVE.search(visible(quoted))
    page = Page()
    page.feed(sanitize.html_prose(text))
    page.close()
    assert set(page.tags) <= {("code", ())}
    assert page.text.replace("`", "") == sanitize.terminal(text).replace("`", "")


def test_prose_marks_code() -> None:
    assert sanitize.markdown_prose("Write `a_b==1`, not a_b @x.") == (
        "Write `a_b==1`, not a\\_b &#64;&#8203;x."
    )
    assert sanitize.html_prose("Write `a<b`, a`b") == "Write <code>a&#60;b</code>, a&#96;b"


@given(TEXT)
def test_blocks_hold_the_text_itself(text: str) -> None:
    block = sanitize.markdown_block(text, "python")
    tokens = READER.parse(block)
    assert [token.type for token in tokens] == ["fence"]
    assert tokens[0].info == "python"
    assert commands(block) == []


def test_links_lead_only_where_they_say() -> None:
    assert sanitize.markdown_link("a]b", "https://e.example/a(b) c") == (
        "[a\\]b](https://e.example/a%28b%29%20c)"
    )
    for address in (
        "javascript:alert(1)",
        "//e.example",
        "/a",
        "http://",
        "ftp://e.example",
        "http://[",
        "data:x",
    ):
        assert sanitize.safe_url(address) is None
        assert sanitize.markdown_link("x", address) == "x"


# --- HTML ---------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@given(TEXT)
def test_html_is_text_or_a_value(text: str) -> None:
    quoted = sanitize.html(text)
    page = Page()
    page.feed(f"<p title=\"{quoted}\" lang='{quoted}'>{quoted}</p>")
    page.close()
    shown = sanitize.terminal(text)
    assert page.tags == [("p", (("title", shown), ("lang", shown)))]
    assert page.text == shown
    assert commands(f"  {quoted}") == []


# --- JSON and SARIF -----------------------------------------------------------------------------------------


@given(st.recursive(TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=6))
def test_json_text_is_the_same_document(document: object) -> None:
    raw = json.dumps(document, ensure_ascii=False, indent=2).encode(errors="replace").decode()
    safe = sanitize.json_text(raw)
    assert json.loads(safe) == json.loads(raw)
    assert not invisible(safe, "\n")
    assert commands(safe) == []
    assert sanitize.json_text(safe) == safe


@given(TEXT)
def test_unicode_text_is_idempotent(text: str) -> None:
    once = sanitize.unicode_text(text)
    once.encode()
    assert sanitize.unicode_text(once) == once


@given(st.binary())
def test_an_uri_keeps_the_path_byte_for_byte(name: bytes) -> None:
    uri = sanitize.sarif_uri(name.decode("utf-8", "surrogateescape"))
    assert unquote_to_bytes(uri) == name
    assert re.fullmatch(r"[A-Za-z0-9%._~/-]*", uri)
    assert not uri.startswith("/")


@given(TEXT)
def test_an_uri_is_made_of_any_text(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9%._~/-]*", sanitize.sarif_uri(text))


def test_a_colon_makes_no_scheme() -> None:
    assert sanitize.sarif_uri("javascript:x/a b.py") == "javascript%3Ax/a%20b.py"
    assert sanitize.sarif_uri("//host/x") == "%2F/host/x"


@given(TEXT)
def test_sarif_messages_hold_no_link(text: str) -> None:
    assert "](" not in sanitize.sarif_text(text)
    assert not invisible(sanitize.sarif_text(text), "\n\t")


@pytest.mark.parametrize(
    "piece", ["::", "##", ":a", "www.", "gh-", "a:", "1", "`", "`|", "\\", " ", "\u202e", "](", "x "]
)
def test_long_runs_cost_no_more_than_their_length(piece: str) -> None:
    """A quadratic pattern would take many minutes here: that this ends is the test."""
    text = piece * (300_000 // len(piece))
    for quote in (
        sanitize.terminal,
        sanitize.markdown,
        sanitize.markdown_code,
        sanitize.markdown_block,
        sanitize.html,
        sanitize.command_data,
        sanitize.command_property,
        sanitize.log_text,
        sanitize.sarif_text,
        sanitize.json_text,
    ):
        quote(text)
