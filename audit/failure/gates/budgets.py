"""Gates that no Python comparison makes: coverage, time limits of steps and commands, benchmark comparisons, set by flags and configuration."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import decimal, integer
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.commands import Called, runs_pytest
from audit.failure.gates.model import GateOutcome, Origin, Subject
from audit.failure.model import Line, Reading

_MISSED: Final = re.compile(
    r"[Rr]equired test coverage of (?P<limit>\d+(?:\.\d+)?)% not reached\. Total coverage: (?P<actual>\d+(?:\.\d+)?)%"
    r"|Coverage failure: total of (?P<actual2>\d+(?:\.\d+)?) is less than fail-under=(?P<limit2>\d+(?:\.\d+)?)"
)
_TOTAL: Final = re.compile(
    r"^TOTAL\s+(?P<statements>\d{1,9})\s+(?P<missed>\d{1,9})(?:\s+\d{1,9}\s+\d{1,9})?\s+(?P<percent>\d{1,3}(?:\.\d+)?)%"
)
_BRANCHES: Final = re.compile(r"^TOTAL\s+\d{1,9}\s+\d{1,9}\s+\d{1,9}\s+\d{1,9}\s+\d")
_SET: Final = re.compile(
    r"(?:--cov-fail-under|--fail-under|fail_under|fail-under)[= \"']{1,4}(?P<n>\d{1,3}(?:\.\d+)?)"
)
_CONFIGS: Final = (
    "pyproject.toml",
    "setup.cfg",
    ".coveragerc",
    "pytest.ini",
    "tox.ini",
    "Makefile",
    "noxfile.py",
)

_TIMEOUT: Final = re.compile(
    r"^(?:g?timeout)\s+(?:(?:(?:-k|-s|--kill-after|--signal)[= ]\S{1,12}|--?[a-z][\w-]{0,30})\s+){0,4}(?P<n>\d{1,6}(?:\.\d+)?)(?P<unit>[smhd]?)\s"
)
_SECONDS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_ENDED: Final = re.compile(
    r"timeout: sending signal (?:TERM|KILL|INT) to command|exit (?:code|status):? 124\b|exceeded the maximum execution time of (?P<m>\d{1,5}) ?(?:minutes|m)\b"
    r"|has timed out after (?P<m2>\d{1,5}) minutes|execution took longer than (?P<text>[\dhms]{2,12})"
)
_BENCHMARK: Final = re.compile(
    r"--benchmark-compare-fail[= ](?P<rule>(?:min|max|mean|stddev|median):\d+(?:\.\d+)?%?)"
)
_REGRESSED: Final = re.compile(
    r"Performance has regressed|- Field '(?P<field>\w+)' has failed (?P<kind>\w+): (?P<actual>[\d.]+) > (?P<limit>[\d.]+)"
)


def budget_outcomes(
    checkout: Checkout, calls: Sequence[Called], reading: Reading | None
) -> list[GateOutcome]:
    """The budgets that the log shows to have been missed, with where they are set."""
    lines = reading.lines if reading else ()
    return [*_coverage(checkout, calls, lines), *_time(checkout, calls, lines), *_benchmarks(calls, lines)]


# -- coverage --------------------------------------------------------------------------------------------------------


def _coverage(checkout: Checkout, calls: Sequence[Called], lines: Sequence[Line]) -> Iterator[GateOutcome]:
    totals = [(line, m) for line in lines if line.text.startswith("TOTAL") and (m := _total(line.text[:400]))]
    told = [(line, m) for line in lines if "overage" in line.text and (m := _MISSED.search(line.text[:400]))]
    # Printed more than once, the finest figure counts: "91" and "90.91%".
    for line, missed in sorted(told, key=lambda item: -len(item[1]["actual"] or item[1]["actual2"]))[:1]:
        at, total = next(((row, m) for row, m in totals if row.source == line.source), (None, None))
        limit = float(missed["limit"] or missed["limit2"]) / 100
        actual = float(missed["actual"] or missed["actual2"]) / 100
        place = _where_set(checkout, calls)
        exact, facts = _exact(total, at, actual, limit, f"{place[0]}:{place[1]}")
        yield GateOutcome(
            name=f"coverage >= {limit * 100:.6g} %", path=place[0], line=place[1], symbol="fail-under", rule=f"coverage >= {limit:.6g}",
            subject=Subject.POLICY, passed=False, metric="coverage", operator=">=", actual=exact, limit=limit,
            margin=(exact - limit) / limit if limit else None, origins=(Origin("stored", "fail-under", place[0]),),
            told=(line.source, line.number), facts=tuple(facts),
        )  # fmt: skip


def _total(text: str) -> "re.Match[str] | None":
    """The report's last row where it counts statements only: with branches its per cent is of both."""
    return None if _BRANCHES.match(text) else _TOTAL.match(text)


def _exact(
    total: "re.Match[str] | None", at: Line | None, actual: float, limit: float, place: str
) -> tuple[float, list[Fact]]:
    """The coverage from the counts of the report's last row, where they agree with what is printed."""
    bound = FactInput("limit", limit, place)
    if total is None or at is None or not integer(total["statements"]):
        return actual, [
            Fact("coverage", actual, formula="as printed"),
            Fact("coverage_shortfall", limit - actual, formula="limit - coverage", inputs=(bound,)),
        ]
    statements, missed = integer(total["statements"]), integer(total["missed"])
    exact = 1 - missed / statements
    if abs(exact - actual) > 0.006:  # branches count too, or another report's row
        exact = actual
    inputs = (
        FactInput("statements", statements, f"{at.source}:{at.number}"),
        FactInput("missed", missed, f"{at.source}:{at.number}"),
    )
    needed = max(0, math.ceil(limit * statements - 1e-9) - (statements - missed))
    return exact, [
        Fact("coverage", exact, formula="1 - missed / statements", inputs=inputs),
        Fact("coverage_shortfall", limit - exact, formula="limit - coverage", inputs=(*inputs, bound)),
        Fact(
            "statements_to_cover",
            needed,
            formula="ceil(limit * statements) - covered",
            inputs=(*inputs, bound),
        ),
    ]


def _where_set(checkout: Checkout, calls: Sequence[Called]) -> tuple[str, int]:
    for call in calls:
        if (runs_pytest(call) or "coverage" in call.command.text) and _SET.search(call.command.text):
            return call.path, call.line
    for path in _CONFIGS:
        for number, line in enumerate((checkout.text(path) or "").split("\n"), 1):
            if _SET.search(line[:2_000]):
                return path, number
    return "", 0


# -- time ------------------------------------------------------------------------------------------------------------


def _time(checkout: Checkout, calls: Sequence[Called], lines: Sequence[Line]) -> Iterator[GateOutcome]:
    ended = next(((line, found) for line in lines if (found := _ENDED.search(line.text[:600]))), None)
    if ended is None:
        return
    line, found = ended
    minutes = found["m"] or found["m2"]
    limit, path, number = _limit_set(checkout, calls, float(minutes) * 60 if minutes else None)
    if limit is None:
        return
    yield GateOutcome(
        name=f"time limit of {limit:g} s", path=path, line=number, symbol="timeout", rule=f"duration <= {limit:g} s", subject=Subject.PERFORMANCE,
        passed=False, metric="duration", operator="<=", limit=limit, origins=(Origin("argument", "timeout", f"{path}:{number}"),),
        told=(line.source, line.number), facts=(Fact("time_limit_s", limit, "s", "limit as set", (FactInput("limit", limit, f"{path}:{number}"),)),),
        why="how long it would have taken is not measured",
    )  # fmt: skip


def _limit_set(
    checkout: Checkout, calls: Sequence[Called], told: float | None
) -> tuple[float | None, str, int]:
    """(seconds, path, line): a `timeout N` command where only one is set, or `timeout-minutes` with the minutes that the log names."""
    if told is not None:
        for path in [p for p in checkout.paths if p.startswith(".github/workflows/")]:
            for key, (value, line) in checkout.settings(path).items():
                if key.endswith("timeout-minutes") and decimal(value) * 60 == told:
                    return told, path, line
        return told, "", 0
    found = {(seconds, c.path, c.line) for c in calls if (seconds := _seconds(c.command.text)) is not None}
    return found.pop() if len(found) == 1 else (None, "", 0)


def _seconds(command: str) -> float | None:
    match = _TIMEOUT.match(command)
    return float(match["n"]) * _SECONDS[match["unit"]] if match else None


# -- benchmarks ------------------------------------------------------------------------------------------------------


def _benchmarks(calls: Sequence[Called], lines: Sequence[Line]) -> Iterator[GateOutcome]:
    """pytest-benchmark's comparison with a stored run."""
    setting = next(((c, m) for c in calls if (m := _BENCHMARK.search(c.command.text))), None)
    for line in lines:
        found = _REGRESSED.search(line.text[:600])
        if found is None or found["field"] is None:
            continue
        actual, limit = decimal(found["actual"].rstrip(".")), decimal(found["limit"].rstrip("."))
        if not math.isfinite(actual + limit):
            continue
        path, number = (setting[0].path, setting[0].line) if setting else ("", 0)
        rule = setting[1]["rule"] if setting else f"{found['field']} <= {limit:g}"
        yield GateOutcome(
            name=f"benchmark {found['field']}", path=path, line=number, symbol="--benchmark-compare-fail", rule=rule, subject=Subject.PERFORMANCE,
            passed=False, metric=f"benchmark {found['field']}", operator="<=", actual=actual, limit=limit,
            margin=(limit - actual) / limit if limit else None, derived=True, told=(line.source, line.number),
            facts=(Fact("benchmark_change", actual, formula="as the comparison prints it"), Fact("benchmark_limit", limit, formula=rule)),
        )  # fmt: skip
        return
