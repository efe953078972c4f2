"""Claims about tests: by reports, else by the summary lines of the log. A skipped test has not passed."""

import re
from collections.abc import Sequence
from typing import Final

from audit.documents.verdict import Fact
from audit.failure.claims.model import Quantity, Statement
from audit.failure.claims.result import Result, agrees, fact, unknown, verdict
from audit.failure.digits import integer
from audit.failure.model import Reading
from audit.telemetry.model import Outcome, Telemetry, TestCase

_SUMMARY: Final = re.compile(r"(\d{1,7}) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
_ALL_TESTS: Final = re.compile(
    r"\ball (?:of the )?(?P<n>\d{1,6}) (?:[\w-]+ ){0,4}(?:tests?|checks?)\b", re.IGNORECASE
)
_SHARE: Final = re.compile(
    r"(?<![\d.])(?P<n>\d{1,6}) ?(?:/|of|out of) ?(?:the |all )?(?P<m>\d{1,6})\b", re.IGNORECASE
)
_NO_FAILURES: Final = re.compile(r"\bno (?:test )?failures?\b", re.IGNORECASE)
_SUBJECT: Final = re.compile(
    r"\b(?:all|every|the|\d+) (?:of the )?(?P<words>(?:[\w-]+ ){1,4})tests?\b", re.IGNORECASE
)
_GENERAL: Final = frozenset(
    "unit new existing the of our local other all relevant regression related added pytest ci remaining current these affected own my test and".split()
)


def check_tests(statement: Statement, telemetry: Telemetry, reading: Reading | None) -> Result:
    """ "All tests pass", "31/31 tests pass": every count that the sentence states has to have passed."""
    counts = _report_counts(telemetry) or _log_counts(reading)
    if counts is None:
        return unknown("no test report and no summary of tests was given")
    text = statement.sentence.text
    facts = _facts(*_three(counts))
    subset = _subset(text, telemetry)
    passed, failed, skipped = _three(counts if subset is None else _counted(subset))
    told = f"{passed} passed, {failed} failed, {skipped} skipped"
    if _NO_FAILURES.search(text) and not failed:
        return verdict(True, told, facts) if passed else unknown(f"{told}: nothing ran", facts)
    if failed or not passed:
        return verdict(False, told, facts)
    stated = next((q for q in statement.quantities if q.unit in ("test", "tests")), None)
    share, all_of = _SHARE.search(text), _ALL_TESTS.search(text)
    if share is not None:
        enough = passed >= integer(share["n"]) and passed + failed + skipped >= integer(share["m"])
        return verdict(enough, told, facts)
    if all_of is not None:
        return verdict(passed >= integer(all_of["n"]), told, facts)
    if stated is not None:
        return verdict(_enough(stated, passed), told, facts)
    if skipped:
        return unknown(f"{told}: of the skipped ones nobody knows", facts)
    return verdict(True, told, facts)


def _three(counts: dict[str, int]) -> tuple[int, int, int]:
    return counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0), counts.get("skipped", 0)


def _facts(passed: int, failed: int, skipped: int) -> list[Fact]:
    made = [
        fact("tests_passed", passed, "tests that passed"),
        fact("tests_failed", failed, "tests that failed or could not be run"),
        fact("tests_skipped", skipped, "tests skipped"),
    ]
    total = passed + failed + skipped
    if skipped:
        made.append(fact("skipped_share", skipped / total, "skipped / all"))
    return made


def _enough(stated: Quantity, passed: int) -> bool:
    """At least as many as are stated: those that a later change adds are no contradiction."""
    relation = stated.relation or ">="
    return agrees(Quantity(stated.value, "", 0.0, relation, 0, 0), passed)


def _subset(text: str, telemetry: Telemetry) -> list[TestCase] | None:
    """The cases of a report that "all CUDA kernel tests" means: those whose names or messages hold each of the words; None where the
    sentence names no kind of test, or none of the kind is in the report.
    """
    found = _SUBJECT.search(text)
    named = re.split(r"[ -]+", found["words"].lower()) if found else []
    words = [word for word in named if word and not word.isdecimal() and word not in _GENERAL]
    cases = [case for results in telemetry.tests for case in results.cases]
    chosen = [case for case in cases if words and all(_about(case, word) for word in words)]
    return chosen or None


def _about(case: TestCase, word: str) -> bool:
    return word.rstrip("s") in f"{case.id} {case.message} {case.text[:400]}".lower()


def _counted(cases: Sequence[TestCase]) -> dict[str, int]:
    kinds = {
        Outcome.PASSED: "passed",
        Outcome.XPASSED: "passed",
        Outcome.FAILED: "failed",
        Outcome.ERROR: "error",
        Outcome.SKIPPED: "skipped",
    }
    made: dict[str, int] = {}
    for case in cases:
        if case.outcome in kinds:
            made[kinds[case.outcome]] = made.get(kinds[case.outcome], 0) + 1
    return made


def _report_counts(telemetry: Telemetry) -> dict[str, int] | None:
    if not telemetry.tests:
        return None
    made: dict[str, int] = {}
    for results in telemetry.tests:
        made["passed"] = made.get("passed", 0) + results.count(Outcome.PASSED, Outcome.XPASSED)
        made["failed"] = made.get("failed", 0) + max(
            results.count(Outcome.FAILED), results.declared.get("failures", 0)
        )
        made["error"] = made.get("error", 0) + max(
            results.count(Outcome.ERROR), results.declared.get("errors", 0)
        )
        made["skipped"] = made.get("skipped", 0) + results.count(Outcome.SKIPPED)
    return made


def _log_counts(reading: Reading | None) -> dict[str, int] | None:
    made: dict[str, int] = {}
    for line in reading.lines if reading else ():
        text = line.text.strip("= ")
        if " in " not in text or not _SUMMARY.match(text):
            continue
        for number, word in _SUMMARY.findall(text[:400]):
            key = "error" if word.startswith("error") else word
            made[key] = made.get(key, 0) + integer(number)
    return made or None
