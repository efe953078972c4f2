"""The HTML page: nothing of the data becomes an element or an attribute, and it needs nothing from outside."""

import re
from html.parser import HTMLParser

from audit.report.html import render
from audit.report.picture import radar
from audit.report.view import dimensions

from . import samples

VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """The page's shape: elements and attribute names in order; `values` by attribute, `text` outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shape: list[tuple[str, tuple[str, ...]]] = []
        self.values: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, tuple(name for name, _ in attrs)))
        self.values += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            assert tag in ("circle", "polygon", "line"), f"{tag} closes {self.open[-1:]}"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment came from data: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction came from data: {data}")


def test_hostile_words_make_the_same_page_as_harmless_ones() -> None:
    evil = Page(render(samples.hostile()))
    harmless = Page(render(samples.hostile(texts=samples.HARMLESS)))
    # Backticks in a sentence make bare code elements, nothing else.
    assert [part for part in evil.shape if part != ("code", ())] == [
        part for part in harmless.shape if part != ("code", ())
    ]
    assert evil.open == harmless.open == []


def test_no_attribute_holds_data() -> None:
    page = Page(render(samples.hostile(), rules=samples.evil_rules()))
    assert not {tag for tag, _ in page.shape} & {"script", "img", "iframe", "object", "form", "link", "base"}
    assert not [name for _, name, _ in page.values if name.startswith("on")]
    words = [text for text in samples.EVIL if len(text.strip()) > 4]
    for tag, name, value in page.values:
        if (tag, name) not in (("a", "href"), ("meta", "content"), ("svg", "aria-labelledby")):
            assert not any(word in value for word in words), (tag, name, value)
    links = [value for tag, name, value in page.values if (tag, name) == ("a", "href")]
    assert links
    assert all(re.fullmatch(r"https://e\.example/[A-Za-z0-9/:?#=&%+,;@~._-]*", link) for link in links)


def test_hostile_words_are_there_as_text() -> None:
    text = "".join(Page(render(samples.hostile())).text)
    assert "<script>alert(1)</script>" in text
    assert "\\xff\\x80caf\\xe9.py" in text
    assert "\\u202etxt.exe" in text


def test_the_page_needs_nothing_from_outside() -> None:
    page = render(samples.report())
    assert "default-src 'none'" in page
    assert not re.search(r"""(?:src|href|action)=["']?(?:https?:)?//""", page)
    assert not re.search(r"@import|url\(", page)


def test_pictures_have_words() -> None:
    page = render(samples.report())
    assert '<title id="dial-title">Score 6.4 of 10</title>' in page
    assert '<desc id="radar-desc">Environment 5.0; Determinism 3.2;' in page
    assert "Benchmarking not applicable" in page


def test_the_radar_is_drawn_to_scale() -> None:
    drawn = radar(dimensions(samples.clean()))
    assert drawn.axes[0].dot == (drawn.x, drawn.y - 122.0) == (drawn.axes[0].x, drawn.axes[0].y)
    assert drawn.area == drawn.rings[-1]
    usual = radar(dimensions(samples.report()))
    assert usual.axes[0].dot == (250.0, 111.0)
    assert usual.axes[5].dot is None
    assert usual.area.count(",") == 7


def test_filters_stand_only_where_there_is_something_to_filter() -> None:
    assert 'id="only-new"' in render(samples.report())
    assert 'id="show-critical"' in render(samples.report())
    assert 'id="show-' not in render(samples.clean())
    assert "Nothing to mend was found." in render(samples.clean())


def test_what_is_left_out_is_told() -> None:
    page = render(samples.hostile(10_000))
    assert "and 9500 more, in the JSON report" in page
