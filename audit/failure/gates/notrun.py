"""Gates that looked at nothing, or whose failure nobody would see: found in the log, the test reports, the CI files and the golden values."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from audit.failure.digits import integer
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.commands import Called, called, runs_pytest
from audit.failure.gates.model import NotRun
from audit.failure.gates.paired import stored_series
from audit.failure.gates.rundata import RunData, same_metric
from audit.failure.gates.stored import GOLDEN_FILE
from audit.failure.model import Reading
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Outcome, Telemetry

MAX_FILES: Final = 60
MAX_FOUND: Final = 60
MAX_TESTS: Final = 500
"""Most test files in which names and markers are looked for."""

_NONE: Final = re.compile(r"(?:^|[= ])(?:no tests ran|collected 0 items)\b")
_SUMMARY: Final = re.compile(r"^=*\s?(?P<counts>\d{1,7} \w+(?:, \d{1,7} \w+)*) in \d")
_COUNT: Final = re.compile(r"(\d{1,7}) (\w+)")
_IGNORED: Final = re.compile(r"\|\|\s*(?:true|:|exit 0|/bin/true|echo\b)")
_TO_FIVE: Final = re.compile(r"\$\??\"?\w{0,20}\"?\s*(?:-eq|==|=)\s*5")
_GATE_NAME: Final = re.compile(
    r"(?:^|[_/.\s-])(?:test|tests|check|gate|compare|golden|eval|evaluate|budget|assert|verify|validate|bench|benchmark|regression)"
    r"(?:[_/.\s-]|$)",
    re.IGNORECASE,
)
_CONTINUE: Final = re.compile(r"(?:^|\.)(continue-on-error|allow_failure|soft_fail)$")
_SCRIPT_KEY: Final = re.compile(r"\.(?:run|command|script)(?:\.\d+)?$")
_RUNS_GATE: Final = re.compile(
    r"\b(?:pytest|unittest|nose2|tox|nox|ctest)\b|\bpython\S* [\w./ -]{0,80}(?:test|gate|check|compare|golden|eval|verify|validate|budget)\w{0,40}"
)
_MARKER: Final = re.compile(r"pytest\.mark\.(\w{1,80})|[\"'](\w{1,80}):")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")


def not_run(repo: Snapshot | None, telemetry: Telemetry, reading: Reading | None) -> list[NotRun]:
    """Gates that did not run or cannot fail. Never raises. That a gate is written so that nobody sees it fail says nothing about
    this run; `kind` tells which of both it is (model.NotRun).
    """
    checkout = Checkout(repo)
    calls = called(checkout, None)
    parts = (
        _of_log(reading),
        _of_reports(telemetry),
        _of_golden(checkout, telemetry),
        _of_metrics_lists(checkout),
        _of_commands(checkout, calls),
        _of_steps(checkout),
        _of_selection(checkout, calls),
    )
    found: list[NotRun] = []
    for part in parts:
        found += [item for _, item in zip(range(MAX_FOUND), part, strict=False)]
    return found[:MAX_FOUND]


# -- what the run shows ----------------------------------------------------------------------------------------------


def _of_log(reading: Reading | None) -> Iterator[NotRun]:
    for line in reading.lines if reading else ():
        text = line.text[:1_000]
        if _NONE.search(text) and len(text) < 200:
            yield NotRun(
                "no_tests",
                line.source,
                line.number,
                "pytest",
                "no test was collected: the gate looked at nothing",
            )
            continue
        summary = _SUMMARY.match(text)
        if summary and _all_skipped(summary["counts"]):
            yield NotRun(
                "all_skipped",
                line.source,
                line.number,
                "pytest",
                f"every test was left out: {summary['counts']}",
            )


def _all_skipped(counts: str) -> bool:
    words = {word: integer(number) for number, word in _COUNT.findall(counts)}
    left_out = words.get("skipped", 0) + words.get("deselected", 0)
    ran = sum(
        n for w, n in words.items() if w in ("passed", "failed", "error", "errors", "xfailed", "xpassed")
    )
    return left_out > 0 and ran == 0


def _of_reports(telemetry: Telemetry) -> Iterator[NotRun]:
    for results in telemetry.tests:
        if not results.cases and results.declared.get("tests", 0) == 0:
            yield NotRun("no_tests", results.source, None, "test report", "the report holds no test")
        elif results.cases and results.count(Outcome.SKIPPED) == len(results.cases):
            yield NotRun(
                "all_skipped",
                results.source,
                None,
                "test report",
                f"all {len(results.cases)} tests were skipped",
            )


def _of_golden(checkout: Checkout, telemetry: Telemetry) -> Iterator[NotRun]:
    """Golden metrics that the run does not have under that name. Without any telemetry nothing can be said."""
    data = RunData(telemetry, lambda _: False)
    if not data.series:
        return
    recorded = {series.name for series in data.series}
    for path in [p for p in checkout.paths if GOLDEN_FILE.search(p)][:MAX_FILES]:
        document = checkout.data(path)
        blocks = (
            [k for k, v in document.items() if (s := stored_series(v)) and len(s) > 1]
            if isinstance(document, dict)
            else []
        )
        for name in blocks:
            if name in recorded:
                continue
            near = [r for r in recorded if same_metric(name, r) == 2]
            if near:
                yield NotRun(
                    "key_mismatch",
                    path,
                    None,
                    name,
                    f'the run records "{near[0]}", the golden values say "{name}"',
                )


def _of_metrics_lists(checkout: Checkout) -> Iterator[NotRun]:
    """`METRICS: []` in a test case's configuration: its comparison has nothing to compare."""
    for path in [p for p in checkout.paths if p.endswith(("model_config.yaml", "test_config.yaml"))][
        :MAX_FILES
    ]:
        for number, line in enumerate((checkout.text(path) or "").split("\n"), 1):
            if re.match(r"\s*METRICS\s*:\s*(?:\[\s*\]|~|null)\s*(?:#.*)?$", line):
                yield NotRun("no_metrics", path, number, "METRICS", "the list of metrics to compare is empty")


# -- what nobody would see -------------------------------------------------------------------------------------------


def _is_gate(call: Called) -> bool:
    command = call.command
    return runs_pytest(call) or bool(command.target and _GATE_NAME.search(command.target.rpartition("/")[2]))


def _of_commands(checkout: Checkout, calls: Sequence[Called]) -> Iterator[NotRun]:
    off: set[tuple[str, str, str]] = set()
    for call in calls:
        step = (call.path, call.job, call.step)
        if call.command.program == "set":
            words = call.command.text.split()
            if any(w.startswith("+") and "e" in w for w in words[1:]):
                off.add(step)
            elif any(w.startswith("-") and "e" in w for w in words[1:]):
                off.discard(step)
            continue
        if not _is_gate(call):
            continue
        name = call.step or call.command.text[:80]
        line = _line_of(checkout, call)
        if _IGNORED.search(line) and not _TO_FIVE.search(line):
            yield NotRun(
                "ignored_status",
                call.path,
                call.line,
                name,
                f"its status is thrown away: {line.strip()[:160]}",
            )
        elif _TO_FIVE.search(line):
            yield NotRun(
                "ignored_status",
                call.path,
                call.line,
                name,
                "that no test was collected (exit code 5) counts as success",
            )
        elif step in off and not _status_kept(calls, call):
            yield NotRun(
                "ignored_status",
                call.path,
                call.line,
                name,
                "`set +e` before it, and its status is not passed on",
            )
        elif _piped(line) and call.path.endswith((".yml", ".yaml")) and not _pipefail(checkout, call):
            yield NotRun(
                "ignored_status",
                call.path,
                call.line,
                name,
                "the status of a pipe is that of its last command: a failure is lost without `pipefail`",
            )


def _line_of(checkout: Checkout, call: Called) -> str:
    """The line of the file that a command stands on, with those that it continues on."""
    lines = (checkout.text(call.path) or "").split("\n")
    at = call.line - 1
    text = lines[at] if 0 <= at < len(lines) else ""
    while text.rstrip().endswith("\\") and at + 1 < len(lines) and len(text) < 4_000:
        at += 1
        text = text.rstrip()[:-1] + " " + lines[at]
    return text


def _status_kept(calls: Sequence[Called], call: Called) -> bool:
    """Whether a later command of the step passes the status on (`exit $rc`, `exit $?`)."""
    later = [
        c
        for c in calls
        if (c.path, c.job, c.step) == (call.path, call.job, call.step) and c.line >= call.line
    ]
    return any(c.command.program in ("exit", "return") and "$" in c.command.text for c in later) or (
        bool(later) and later[-1] is call
    )


def _piped(line: str) -> bool:
    plain = re.sub(r"\|\||'[^']*'|\"[^\"]*\"", " ", line)
    return bool(re.search(r"\|\s*(?:tee|grep|tail|head|cat|sed|awk)\b", plain))


def _pipefail(checkout: Checkout, call: Called) -> bool:
    """GitHub's `shell: bash` sets pipefail, its default shell does not; a script may set it itself."""
    text = checkout.text(call.path) or ""
    return (
        "pipefail" in text
        or bool(re.search(r"^\s*-?\s*shell:\s*bash\s*$", text, re.MULTILINE))
        or ".github/" not in call.path
    )


def _of_steps(checkout: Checkout) -> Iterator[NotRun]:
    """`continue-on-error: true`, `allow_failure: true`, `soft_fail: true` on a step or job whose script runs a gate."""
    ci = [
        p
        for p in checkout.paths
        if p.startswith((".github/workflows/", ".buildkite/")) or p.endswith(".gitlab-ci.yml")
    ]
    for path in [p for p in ci if p.endswith((".yml", ".yaml"))][:MAX_FILES]:
        settings = checkout.settings(path)
        for key, (value, line) in settings.items():
            if not _CONTINUE.search(key) or value.lower() != "true":
                continue
            around = key.rpartition(".")[0] + "."
            scripts = [v for k, (v, _) in settings.items() if k.startswith(around) and _SCRIPT_KEY.search(k)]
            if any(_RUNS_GATE.search(script) for script in scripts):
                name = settings.get(f"{around}name", (around.rstrip("."), 0))[0]
                yield NotRun(
                    "continue_on_error",
                    path,
                    line,
                    name,
                    f"{key.rpartition('.')[2]}: a failure of it leaves the job green",
                )


# -- what is selected ------------------------------------------------------------------------------------------------


def _of_selection(checkout: Checkout, calls: Sequence[Called]) -> Iterator[NotRun]:
    """pytest's `-m` with a marker, and `-k` with a word, that nothing in the checkout has."""
    selecting = [
        c
        for c in calls
        if runs_pytest(c) and any(f.name in ("-m", "-k") and f.value for f in c.command.flags)
    ]
    if not selecting:
        return
    tests = [p for p in checkout.python_files() if "test" in p]
    if len(tests) > MAX_TESTS:
        return  # not all are looked at, so nothing is known to be missing
    text = "\n".join(
        checkout.text(p) or ""
        for p in [*tests, "pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "conftest.py"]
    )
    if not tests or "def test" not in text:
        return
    markers = {a or b for a, b in _MARKER.findall(text)}
    for call in selecting:
        for flag in call.command.flags:
            words = [w for w in _WORD.findall(flag.value) if w not in ("and", "or", "not")]
            if "$" in flag.value or len(words) != 1 or "not " in flag.value:
                continue
            if (
                flag.name == "-m"
                and flag.value != "pytest"
                and words[0] not in markers
                and not _added(text, words[0])
            ):
                yield NotRun(
                    "no_match", call.path, call.line, f"-m {flag.value}", f"no test has the marker {words[0]}"
                )
            elif (
                flag.name == "-k"
                and words[0].lower() not in text.lower()
                and not any(words[0].lower() in p.lower() for p in tests)
            ):
                yield NotRun(
                    "no_match", call.path, call.line, f"-k {flag.value}", f"no test's name has {words[0]}"
                )


def _added(text: str, marker: str) -> bool:
    """Whether a marker is put on tests by code (`item.add_marker("slow")`, `pytestmark = getattr(...)`)."""
    return "add_marker" in text and marker in text
