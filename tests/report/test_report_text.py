"""The text: stable in a pipe, wrapped and coloured in a terminal."""

import io
import re

import pytest
from github_runner import commands
from rich.cells import cell_len

from audit.documents.finding import Status
from audit.report.text import Surface, render

from . import samples

ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Stream(io.StringIO):
    def __init__(self, tty: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self._tty, self._encoding = tty, encoding

    def isatty(self) -> bool:
        return self._tty

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


@pytest.mark.parametrize(
    ("stream", "environment", "columns", "surface"),
    [
        (Stream(False), {}, 120, Surface(None, False, True)),
        (Stream(True), {}, 120, Surface(120, True, True)),
        (Stream(True), {"NO_COLOR": "1"}, 120, Surface(120, False, True)),
        (Stream(True), {"NO_COLOR": ""}, 120, Surface(120, True, True)),
        (Stream(True), {"TERM": "dumb"}, 120, Surface(120, False, True)),
        (Stream(True), {}, 10, Surface(40, True, True)),
        (Stream(False, "ascii"), {}, 80, Surface(None, False, False)),
        (Stream(False, "ISO-8859-1"), {}, 80, Surface(None, False, False)),
        (Stream(False, "UTF-8"), {}, 80, Surface(None, False, True)),
    ],
)
def test_what_is_written_to(stream, environment, columns: int, surface: Surface) -> None:
    assert Surface.of(stream, environment, columns) == surface


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_fit_the_terminal(width: int) -> None:
    text = render(samples.report(), rules=samples.RULES, surface=Surface(width, color=False))
    # A name is not parted: only a line with a space to break at must fit.
    long = [line for line in text.split("\n") if cell_len(line) > width]
    assert long == []


def test_colour_changes_no_letter() -> None:
    plain = render(samples.report(), rules=samples.RULES, surface=Surface(100, color=False))
    coloured = render(samples.report(), rules=samples.RULES, surface=Surface(100, color=True))
    assert "\x1b[" in coloured
    assert ANSI.sub("", coloured) == plain


@pytest.mark.parametrize("width", [40, 47, 80, None])
@pytest.mark.parametrize("color", [False, True])
def test_wrapping_starts_no_command(width: int | None, color: bool) -> None:
    text = render(samples.hostile(), rules=samples.evil_rules(), surface=Surface(width, color))
    assert commands(text) == []
    assert commands(ANSI.sub("", text)) == []
    assert "\x1b" not in ANSI.sub("", text)


def test_a_narrow_stream_gets_ascii() -> None:
    assert render(samples.hostile(), surface=Surface(unicode=False)).isascii()
    assert "#####....." in render(samples.report(), surface=Surface(unicode=False))


def test_passed_rules_are_shown_when_asked_for() -> None:
    line = "  data.source: The data set's source is stated."
    assert line not in render(samples.report()).split("\n")
    assert line in render(samples.report(), show_passed=True).split("\n")


def test_all_passed_rules_are_shown() -> None:
    passed = next(each for each in samples.FINDINGS if each.status is Status.PASS)
    text = render(samples.report(findings=(passed,) * 60), show_passed=True)
    assert text.count(f"  {passed.rule}: ") == 60


def test_what_is_left_out_is_told() -> None:
    text = render(samples.hostile(10_000))
    critical = samples.hostile(10_000).summary.critical
    assert f"... and {critical - 500} more CRITICAL findings; --json has them all" in text
    assert "... and 9980 more skipped; --json has them all" in text
