"""What the log shows: numbers, failing tests, lines that a message of the checkout printed."""

import math
import re
from bisect import bisect_left
from typing import Final

from audit.failure.digits import integer
from audit.failure.gates.assertion import assertion_numbers
from audit.failure.gates.model import Assertion
from audit.failure.gates.templates import Template, match
from audit.failure.model import Kind, Line, Reading

_NUMBER: Final = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
_FAILED_TEST: Final = re.compile(r"^(?:FAILED|ERROR)\s+(\S{1,400}?::\S{1,400}?)(?:\s+-\s.*)?$")
_FOOTER: Final = re.compile(
    r"^\s*(?P<path>[\w./\\-]{1,300}\.py):(?P<line>\d{1,7}): ?(?P<what>\w[\w.]{0,100})?"
)
_HEADER: Final = re.compile(r"^_{3,} (?:ERROR at \w+ of )?(?P<name>\S.{0,400}?) _{3,}$")
MAX_LINES: Final = 60_000
"""Lines of a log in which numbers and messages are looked for."""


class Section:
    """A test's block in pytest's report: the statements that its traceback ends at, and the assertion's numbers."""

    def __init__(self, lines: list[Line]) -> None:
        self.places = [
            (place["path"].replace("\\", "/"), integer(place["line"]))
            for line in lines
            if ".py:" in line.text and (place := _FOOTER.match(line.text[:600]))
        ]
        asserted = assertion_numbers([line for line in lines if line.text.lstrip().startswith("E ")])
        numbers = [a for a in asserted if a.kind != "limit"]
        self.assertion: Assertion | None = next(iter(numbers or asserted), None)

    def at(self, path: str, first: int, last: int) -> bool:
        """Whether the traceback goes through one of these lines of a file."""
        return any(first <= number <= last and (shown == path or shown.endswith("/" + path) or path.endswith("/" + shown))
                   for shown, number in self.places)  # fmt: skip


class Shown:
    """Questions about a log's kept lines, answered from indexes made once."""

    def __init__(self, reading: Reading | None) -> None:
        self.lines: list[Line] = list(reading.lines[:MAX_LINES]) if reading else []
        self._numbers: list[tuple[float, int]] | None = None
        self.failed_tests: dict[str, Line] = {}
        self.footers: dict[tuple[str, int], Line] = {}
        self._sections: dict[str, list[tuple[int, int]]] = {}
        self._made: dict[str, Section] = {}
        header: tuple[str, int] | None = None
        for at, line in enumerate(self.lines):
            self._index(line)
            if line.text.startswith(("___", "===")):
                if header is not None:
                    self._sections.setdefault(header[0], []).append((header[1], at))
                found = _HEADER.match(line.text[:600])
                header = (found["name"], at) if found else None

    def _index(self, line: Line) -> None:
        text = line.text
        if "::" in text and (found := _FAILED_TEST.match(text[:1000])):
            self.failed_tests.setdefault(found[1], line)
        elif ".py:" in text and (place := _FOOTER.match(text[:600])):
            self.footers.setdefault((place["path"].replace("\\", "/"), integer(place["line"])), line)

    def number(self, value: float) -> bool:
        """Whether some line that compares or reports shows this number, to the precision in which it is written."""
        if not math.isfinite(value):
            return False
        if self._numbers is None:
            self._numbers = sorted(self._all_numbers())
        reach = max(abs(value) * 5e-3, 1e-12)
        at = bisect_left(self._numbers, (value - reach, -1))
        while at < len(self._numbers) and self._numbers[at][0] <= value + reach:
            shown, places = self._numbers[at]
            if places >= 3 and abs(shown - value) <= 0.5 * 10.0**-places:
                return True
            at += 1
        return False

    def _all_numbers(self) -> list[tuple[float, int]]:
        found = []
        wanted = (Kind.GATE, Kind.TEST, Kind.FAILED, Kind.ERROR, Kind.EXCEPTION, Kind.PASSED)
        for line in self.lines:
            if not any(kind in line.kinds for kind in wanted):
                continue
            for match_ in _NUMBER.finditer(line.text[:2000]):
                text = match_[0].replace(",", "")
                places = len(text.partition(".")[2].partition("e")[0]) if "." in text else 0
                found.append((float(text), places))
        return found

    def failed(self, test: str) -> Line | None:
        """The line that says that a test failed: its id, with or without its parameters' spelling."""
        if test in self.failed_tests:
            return self.failed_tests[test]
        for name, line in self.failed_tests.items():
            if name.endswith("/" + test) or test.endswith("/" + name):
                return line
        return None

    def section(self, test: str) -> Section | None:
        """A failing test's block, None where the log has none or several of that name."""
        name = ".".join(test.split("::")[1:])
        if test not in self._made:
            spans = self._sections.get(name, [])
            if len(spans) != 1:
                return None
            self._made[test] = Section(self.lines[spans[0][0] : spans[0][1]])
        return self._made[test]

    def mentions(self, text: str) -> bool:
        """Whether some line has a text in it."""
        return any(text in line.text for line in self.lines)

    def any_matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is found in some line."""
        return any(pattern.search(line.text[:2_000]) for line in self.lines)

    def told(self, text: str) -> tuple[str, int] | None:
        """The last line that has a text in it and is no program text."""
        found = [line for line in self.lines if text in line.text and Kind.SOURCE not in line.kinds]
        return (found[-1].source, found[-1].number) if found else None

    def footer(self, path: str, first: int, last: int) -> Line | None:
        """The line `path:line: AssertionError` for a statement of the checkout."""
        for (shown, number), line in self.footers.items():
            if first <= number <= last and (
                shown == path or shown.endswith("/" + path) or path.endswith("/" + shown)
            ):
                return line
        return None

    def printed(self, template: Template, after: int = 0) -> tuple[Line, dict[str, str]] | None:
        """The last line that a message printed, with what stood in its gaps. Program text in a test report is no print."""
        longest = max((p.strip("\n") for p in template.pieces), key=len)
        best = None
        for line in self.lines[after:]:
            if longest not in line.text or Kind.SOURCE in line.kinds or Kind.ECHO in line.kinds:
                continue
            found = match(template, line.text)
            if found is not None and "{" not in "".join(found.values()):
                best = (line, found)
        return best
