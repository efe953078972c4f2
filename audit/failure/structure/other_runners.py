"""Failed tests of runners other than pytest and unittest: Cargo, GoogleTest, Go, Jest and Vitest, CTest, Bazel, TAP.

Each prints the failed test's name on one line and what went wrong on another, above or below it.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from audit.failure.model import Kind, Line

_MOST = 500
"""Failed tests that are looked at."""
_REACH = 400
"""Lines around a failed test's line in which its details stand."""


class FailedTest(msgspec.Struct, frozen=True):
    """`line` reports the failure, `detail` says what went wrong (None where the log does not show it) and `message` is its text."""

    name: str
    line: Line
    detail: Line | None = None
    message: str = ""


_CARGO = re.compile(r"test (?P<name>\S+)(?: - [\w ]{1,30})? \.\.\. FAILED$")
_NEXTEST = re.compile(r"\s{1,12}FAIL \[\s{0,6}[\d.]+s\] (?:\([\d/ ]+\) )?(?P<name>\S+ \S+)$")
_PANIC = re.compile(
    r"thread '(?P<thread>[^']{1,200})' (?:\(\d+\) )?panicked at (?:'(?P<old>.*)', )?\S+?:\d+(?::\d+)?:?$"
)
_GTEST = re.compile(r"\[  FAILED  \] (?P<name>[\w/.]+)(?:, where .{0,200})? \(\d+ ms\)$")
_GTEST_PLACE = re.compile(r"\S+\.\w{1,4}(?::\d+|\(\d+\)): (?:Failure|error: .*)$")
_GO = re.compile(r"\s{0,16}--- FAIL: (?P<name>\S+) \([\d.]+s\)$")
_GO_PLACE = re.compile(r"\s+\S+_test\.go:\d+: (?P<message>.*)$")
_JEST = re.compile(r"\s{0,4}(?:●|FAIL ) (?P<name>\S.{0,200} [›>] .{1,200})$")
_CTEST = re.compile(
    r"\s{0,6}\d+/\d+ Test\s+#\d+: (?P<name>\S+) \.*\s?\*\*\*(?:Failed|Exception|Not Run|Timeout)"
)
_BAZEL = re.compile(r"(?P<name>//[\w/.:+-]+)\s+FAILED in ")
_TAP = re.compile(r"not ok \d+(?: -)? (?P<name>.+)$")


def failed_tests(lines: Sequence[Line]) -> list[FailedTest]:
    """The failed tests in order, each once."""
    found: dict[str, FailedTest] = {}
    for index, line in enumerate(lines):
        text = line.text[:600]
        if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP} or not _WORTH.search(text):
            continue
        for pattern, details in _RUNNERS:
            match = pattern.match(text)
            if match is None:
                continue
            name = match["name"].strip()
            if name not in found and len(found) < _MOST:
                detail = details(lines, index, name)
                found[name] = FailedTest(name, line, *detail) if detail else FailedTest(name, line)
            break
    return list(found.values())


_WORTH = re.compile(r"FAIL|●|\*\*\*|^not ok")
_Detail = tuple[Line, str] | None


def _rust(lines: Sequence[Line], index: int, name: str) -> _Detail:
    """The panic of the test's own thread; of a test that returned an error, the error."""
    last = name.rpartition(" ")[2]
    inside = False
    for place in range(max(0, index - _REACH), min(len(lines), index + 10 * _REACH)):
        text = lines[place].text
        if text.startswith("---- "):
            inside = text.startswith(f"---- {last} ")
        panic = _PANIC.match(text.strip()) if "panicked at" in text else None
        if panic is not None and (inside or panic["thread"] == last):
            if panic["old"]:
                return lines[place], panic["old"]
            below = next((other for other in lines[place + 1 : place + 3] if other.text.strip()), None)
            return (below, below.text.strip()) if below is not None else (lines[place], "")
        if inside and text.startswith("Error: "):
            return lines[place], text[7:].strip()
    return None


def _gtest(lines: Sequence[Line], index: int, name: str) -> _Detail:
    """The first `file:line: Failure` since the test began; its next line says what was expected."""
    begin = next(
        (
            place
            for place in range(index - 1, max(-1, index - _REACH), -1)
            if lines[place].text.startswith("[ RUN ") and lines[place].text.endswith(name)
        ),
        max(0, index - _REACH),
    )
    for place in range(begin, index):
        if _GTEST_PLACE.match(lines[place].text):
            below = " ".join(other.text.strip() for other in lines[place + 1 : place + 5])
            return lines[place], below
    return None


def _go(lines: Sequence[Line], index: int, name: str) -> _Detail:
    """The test's own message, printed below its outcome or, with -v, since its begin."""
    below = [*range(index + 1, min(len(lines), index + 30))]
    above = [*range(index - 1, max(-1, index - _REACH), -1)]
    for places in (below, above):
        best: _Detail = None
        for place in places:
            text = lines[place].text
            if text.lstrip().startswith(("--- ", "=== RUN", "FAIL", "ok ")):
                break
            if found := _GO_PLACE.match(text):
                best = lines[place], found["message"]
                if places is below:
                    break
        if best is not None:
            return best
    return None


def _below(lines: Sequence[Line], index: int, name: str) -> _Detail:
    """The first line with text under the test's name."""
    for other in lines[index + 1 : index + 6]:
        if other.text.strip():
            return other, other.text.strip()
    return None


def _nothing(lines: Sequence[Line], index: int, name: str) -> _Detail:
    return None


_RUNNERS: tuple[tuple["re.Pattern[str]", Callable[[Sequence[Line], int, str], _Detail]], ...] = (
    (_CARGO, _rust),
    (_NEXTEST, _rust),
    (_GTEST, _gtest),
    (_GO, _go),
    (_JEST, _below),
    (_CTEST, _nothing),
    (_BAZEL, _nothing),
    (_TAP, _nothing),
)
