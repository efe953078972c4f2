"""Test counts: of reports, and of the summary lines that test runners print."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.make import fact
from audit.failure.model import Line, Reading
from audit.telemetry.model import Outcome, Telemetry, TestResults

_PART = re.compile(r"(\d{1,9}) (failed|passed|skipped|deselected|xfailed|xpassed|errors?|rerun)\b")
_PYTEST = re.compile(r"[=\s]*(?:\d++ [a-z]++,? ?)++in \d[\d.]*s\b")
_OTHER = re.compile(
    r"^test result: \w+\. (?P<counts>\d+ passed; \d+ failed; \d+ ignored)|^Tests:\s+(?P<counts_2>(?:\d+ (?:failed|skipped|passed|todo),? ?){1,4})\d+ total"
)
_OTHER_PART = re.compile(r"(\d{1,9}) (passed|failed|ignored|skipped)")
"""The summaries of cargo test and of Jest."""
_COLLECTED = re.compile(r"\bcollected (\d{1,9}) items?\b")
_RAN = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s")
_UNITTEST = re.compile(r"FAILED \((?:[a-z ]++=\d++,?)++\)|OK(?: \((?:[a-z ]++=\d++,?)++\))?$")
_UNITTEST_PART = re.compile(r"(?<![a-z ])([a-z ]++)=(\d++)")
_ORDER = ("failed", "errors", "passed", "skipped", "xfailed", "xpassed", "rerun")


def reports(telemetry: Telemetry) -> Iterator[Fact]:
    """The counts of each report, those it declares and those its cases give."""
    many = len(telemetry.tests) > 1
    for results in telemetry.tests[:3]:
        suffix = f" [{results.source}]" if many else ""
        for name, value, formula in _of_report(results):
            yield fact(f"{name}{suffix}", value, formula, [FactInput(formula, value, results.source)])
    if many:
        for outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.PASSED):
            total = sum(results.count(outcome) for results in telemetry.tests)
            yield fact(f"{outcome.value}_in_all_reports", total, f"test cases {outcome.value}, all reports")


def _of_report(results: TestResults) -> Iterator[tuple[str, int, str]]:
    for key, value in results.declared.items():
        if key in ("tests", "failures", "errors", "skipped", "total", "collected", "failed"):
            yield f"report_{key}", value, f"{key} that the report declares"
    if results.cases:
        yield "report_passed", results.count(Outcome.PASSED), "test cases passed"
        broken = results.count(Outcome.FAILED, Outcome.ERROR, Outcome.XPASSED)
        yield "report_failed_or_broken", broken, "test cases failed or with errors"


class _Summary:
    """One summary line, its counts, and where it stands."""

    def __init__(self, line: Line, counts: dict[str, int]) -> None:
        self.line, self.counts = line, counts

    @property
    def place(self) -> str:
        return f"{self.line.source}:{self.line.number}"


def printed(reading: Reading) -> Iterator[Fact]:
    """The counts that runs of tests printed: of the first that failed, or else the last, and of all together."""
    found = list(_summaries(reading))
    if not found:
        yield from _without_summary(reading.lines)
        return
    yield from _warnings(found)
    telling = next((s for s in found if s.counts.get("failed") or s.counts.get("errors")), found[-1])
    yield from _counts(telling, "")
    if len(found) > 1:
        totals = {key: sum(s.counts.get(key, 0) for s in found) for key in _ORDER}
        for key in _ORDER:
            if totals[key] and totals[key] != telling.counts.get(key):
                inputs = [FactInput(key, s.counts[key], s.place) for s in found if key in s.counts][:20]
                yield fact(f"{key}_in_all", totals[key], f'sum of "N {key}" over all summaries', inputs)
        seen: set[tuple[str, int]] = {(key, value) for key, value in telling.counts.items()}
        for other in [s for s in found if s is not telling][:3]:
            for key in _ORDER:
                if other.counts.get(key) and (key, other.counts[key]) not in seen:
                    seen.add((key, other.counts[key]))
                    yield fact(
                        f"{key} [{other.place}]",
                        other.counts[key],
                        f'"N {key}" of that summary',
                        [FactInput(key, other.counts[key], other.place)],
                    )
    yield from _not_run(reading.lines, telling)


_PROGRESS = re.compile(r"^\S+::\S.* (?P<word>PASSED|FAILED|SKIPPED|ERROR)\b")


def _without_summary(lines: Sequence[Line]) -> Iterator[Fact]:
    """Of a run of tests that came to no summary: what was collected, and what had passed until then."""
    collected = next(
        (line for line in reversed(lines) if "collected" in line.text and _COLLECTED.search(line.text)), None
    )
    found = _COLLECTED.search(collected.text) if collected is not None else None
    if collected is not None and found is not None:
        count = integer(found[1])
        yield fact(
            "collected",
            count,
            '"collected N items"',
            [FactInput("collected", count, f"{collected.source}:{collected.number}")],
        )
    words = [match["word"] for line in lines if "::" in line.text and (match := _PROGRESS.match(line.text))]
    for word in ("PASSED", "FAILED", "SKIPPED"):
        if word in words:
            yield fact(f"{word.lower()}_lines", words.count(word), f"lines of tests that end in {word}")


def _warnings(found: Sequence[_Summary]) -> Iterator[Fact]:
    """The warnings that pytest's summaries count."""
    for summary in found[:3]:
        told = re.search(r"\b(\d{1,7}) warnings?\b", summary.line.text)
        if told is not None:
            yield fact(
                "warnings",
                integer(told[1]),
                '"N warnings" of the summary',
                [FactInput("warnings", integer(told[1]), summary.place)],
            )
            return


def _counts(summary: _Summary, suffix: str) -> Iterator[Fact]:
    for key in _ORDER:
        if key in summary.counts:
            yield fact(
                f"{key}{suffix}",
                summary.counts[key],
                f'"N {key}" of the summary',
                [FactInput(key, summary.counts[key], summary.place)],
            )


def _summaries(reading: Reading) -> Iterator[_Summary]:
    ran: Line | None = None
    for line in reading.lines:
        text = line.text.strip()
        if len(text) > 300 or not text:
            continue
        if _PYTEST.match(text):
            counts = {(key if key != "error" else "errors"): integer(n) for n, key in _PART.findall(text)}
            if counts:
                yield _Summary(line, counts)
        elif (other := _OTHER.search(text)) is not None:
            told = _OTHER_PART.findall(other["counts"] or other["counts_2"])
            yield _Summary(line, {("skipped" if key == "ignored" else key): integer(n) for n, key in told})
        elif _RAN.match(text):
            ran = line
        elif ran is not None and line.source == ran.source and _UNITTEST.match(text):
            counted = _RAN.match(ran.text.strip())
            total = integer(counted[1]) if counted else 0
            parts = {key.strip(): integer(n) for key, n in _UNITTEST_PART.findall(text)}
            bad = {
                "failed": parts.get("failures", 0),
                "errors": parts.get("errors", 0),
                "skipped": parts.get("skipped", 0),
            }
            yield _Summary(line, {"passed": total - sum(bad.values()), **{k: v for k, v in bad.items() if v}})
            ran = None


def _not_run(lines: Sequence[Line], summary: _Summary) -> Iterator[Fact]:
    """Tests that were collected and never ran, where a run of tests was given up."""
    collected: tuple[int, Line] | None = None
    for line in lines:
        if line.source != summary.line.source or line.number > summary.line.number:
            continue
        found = _COLLECTED.search(line.text) if "collected" in line.text else None
        if found is not None:
            collected = integer(found[1]), line
    if collected is None:
        return
    ran = sum(summary.counts.get(key, 0) for key in ("failed", "passed", "skipped", "xfailed", "xpassed"))
    errors = summary.counts.get("errors", 0)
    if ran == 0 and errors and collected[0]:
        count, line = collected
        place = FactInput("collected", count, f"{line.source}:{line.number}")
        yield fact("collected_but_not_run", count, "collected tests, of which none ran", [place])
