"""Reports of pytest-json-report (source: its README, "Format")."""

from collections.abc import Mapping

from audit.telemetry.artifact import Artifact
from audit.telemetry.model import Format, Outcome, Telemetry, TestCase, TestResults
from audit.telemetry.numbers import value, whole

MAX_CASES = 100_000
MAX_TEXT = 20_000
_PHASES = ("setup", "call", "teardown")
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


def fits(document: object) -> bool:
    """Whether it is such a report."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("tests"), list)
        and isinstance(document.get("summary"), dict)
    )


def read(document: Mapping[str, object], artifact: Artifact) -> Telemetry:
    """The tests, and the collections that failed as errors."""
    cases = [case for item in _list(document, "tests")[:MAX_CASES] if (case := _case(item)) is not None]
    cases += [
        TestCase(
            id=str(item.get("nodeid")), outcome=Outcome.ERROR, message="collection failed", text=_text(item)
        )
        for item in _list(document, "collectors")
        if item.get("outcome") == "failed"
    ]
    summary = document.get("summary")
    declared = {
        str(key): count
        for key, item in (summary if isinstance(summary, dict) else {}).items()
        if (count := whole(item)) is not None
    }
    results = TestResults(
        source=artifact.name,
        format=Format.PYTEST_JSON,
        cases=tuple(cases),
        declared=declared,
        seconds=value(document.get("duration")),
        exit_code=whole(document.get("exitcode")),
    )
    return Telemetry(tests=(results,), files=(artifact.name,))


def _list(document: Mapping[str, object], name: str) -> list[dict[str, object]]:
    items = document.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _case(item: Mapping[str, object]) -> TestCase | None:
    outcome = _OUTCOMES.get(str(item.get("outcome")))
    if outcome is None or not isinstance(item.get("nodeid"), str):
        return None
    phases = [phase for name in _PHASES if isinstance(phase := item.get(name), dict)]
    seconds = [found for phase in phases if (found := value(phase.get("duration"))) is not None]
    failed = next((phase for phase in phases if phase.get("outcome") not in ("passed", None)), {})
    crash = failed.get("crash")
    crash = crash if isinstance(crash, dict) else {}
    line = whole(crash.get("lineno"))
    text = _text(failed)
    if outcome is Outcome.FAILED and text.startswith("[XPASS(strict)]"):
        outcome = Outcome.XPASSED
    return TestCase(
        id=str(item["nodeid"]),
        outcome=outcome,
        seconds=sum(seconds) if seconds else None,
        message=str(crash.get("message") or "").split("\n", 1)[0][:500],
        text=text,
        file=str(crash["path"]) if isinstance(crash.get("path"), str) else None,
        line=line if line and line > 0 else None,
    )


def _text(item: Mapping[str, object]) -> str:
    held = item.get("longrepr")
    return held[:MAX_TEXT] if isinstance(held, str) else ""
