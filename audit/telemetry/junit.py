"""JUnit XML, in the dialects of pytest, unittest-xml-reporting, GoogleTest, CTest, Bazel, Surefire, Jest, nextest and Go.

There is no one standard. What this relies on: `testcase` elements below `testsuite`, an outcome told by child elements
(`failure`, `error`, `skipped`, Surefire's `rerunFailure` and `flakyFailure`) or by a `status` or `result` attribute.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from audit.documents.place import Gap
from audit.telemetry.artifact import DAMAGED, Artifact
from audit.telemetry.model import Format, Outcome, Telemetry, TestCase, TestResults
from audit.telemetry.numbers import number, whole

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CASES = 100_000
MAX_TEXT = 20_000
_MAX_MESSAGE = 500
_COUNTS = ("tests", "failures", "errors", "skipped", "disabled", "flakes", "rerun", "assertions")
_ROOTS = (b"<testsuites", b"<testsuite")

_NOT_RUN = frozenset(("notrun", "disabled", "skipped", "suppressed", "ignored"))
_FAILED = frozenset(("fail", "failed", "failure"))


def is_report(artifact: Artifact) -> bool:
    """Whether its first element is one of the two that such reports have."""
    head = (
        artifact.head.replace(b"\0", b"")
        if artifact.head[:2] in (b"\xff\xfe", b"\xfe\xff")
        else artifact.head
    )
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe \r\n\t").startswith(b"<") and any(
        root in head for root in _ROOTS
    )


def read(files: Sequence[Artifact]) -> Telemetry:
    """The tests of one report, as far as its XML goes."""
    artifact = files[0]
    reading = _Reading()
    problem = ""
    try:
        with artifact.open() as stream:
            reading.run(iterparse(stream, events=("start", "end"), forbid_dtd=True))
    except ParseError as error:
        problem = f"no whole XML ({error}): read up to there"
    except (DefusedXmlException, ValueError, LookupError) as error:
        problem = f"not read: {type(error).__name__}: {error}"[:300]
    except DAMAGED:
        problem = "damaged: it does not unpack to its end"
    results = TestResults(
        source=artifact.name,
        format=Format.JUNIT,
        cases=tuple(reading.cases),
        declared=reading.declared,
        seconds=reading.seconds,
    )
    if reading.more:
        problem = problem or f"holds more than {MAX_CASES:,} tests: read up to there"
    gaps = (Gap(artifact.name, problem),) if problem else ()
    return Telemetry(tests=(results,), files=(artifact.name,), gaps=gaps)


class _Reading:
    """Goes through the elements; each is emptied once read, so that a large report costs its cases only."""

    def __init__(self) -> None:
        self.cases: list[TestCase] = []
        self.declared: dict[str, int] = {}
        self.seconds: float | None = None
        self.more = False
        self._suites: list[Mapping[str, str]] = []
        self._totalled = False

    def run(self, events: "Iterator[tuple[str, Element]]") -> None:
        inside = 0
        for event, element in events:
            name = _local(element.tag)
            if event == "start":
                inside += name == "testcase"
                if name in ("testsuites", "testsuite"):
                    self._suite(name, element.attrib)
                continue
            if name == "testcase":
                inside -= 1
                self._case(element)
            elif name == "testsuite" and self._suites:
                self._suites.pop()
            if not inside:
                element.clear()
            if self.more:
                return

    def _suite(self, name: str, attributes: Mapping[str, str]) -> None:
        """Counts add up over the suites, unless an element above them states the totals or holds them itself."""
        counts = {key: count for key in _COUNTS if (count := whole(attributes.get(key, ""))) is not None}
        outermost = not self._suites
        if name == "testsuites" and "tests" in counts:
            self._totalled = True
        elif name == "testsuite":
            counts = {} if self._totalled or not outermost else counts
            self._suites.append(attributes)
        for key, count in counts.items():
            self.declared[key] = self.declared.get(key, 0) + count
        seconds = number(attributes.get("time", ""))
        if seconds is not None and (counts or self.seconds is None) and outermost:
            self.seconds = seconds if self._totalled or self.seconds is None else self.seconds + seconds

    def _case(self, element: "Element") -> None:
        if len(self.cases) >= MAX_CASES:
            self.more = True
            return
        attributes = element.attrib
        outcome, told = _outcome(element)
        suite = self._suites[-1] if self._suites else {}
        line = whole(attributes.get("line", ""))
        if line is not None and suite.get("name", "").startswith("pytest"):
            line += 1  # pytest counts from 0
        self.cases.append(
            TestCase(
                id=_test_id(attributes, suite),
                outcome=outcome,
                seconds=number(attributes.get("time", "")),
                message=_message(told),
                text=("".join(told.itertext()) if told is not None else "")[:MAX_TEXT].strip(),
                file=attributes.get("file") or None,
                line=line if line is not None and line > 0 else None,
            )
        )


def _local(tag: object) -> str:
    return tag.rsplit("}", 1)[-1] if isinstance(tag, str) else ""


def _outcome(element: "Element") -> tuple[Outcome, "Element | None"]:
    """The outcome and the element that tells it."""
    children = {_local(child.tag): child for child in reversed(list(element))}  # the first of each kind
    if "error" in children:
        return Outcome.ERROR, children["error"]
    if "failure" in children:
        told = children["failure"]
        return (Outcome.XPASSED if "XPASS(strict)" in (told.get("message") or "") else Outcome.FAILED), told
    if "skipped" in children:
        told = children["skipped"]
        expected = told.get("type") == "pytest.xfail"
        return (Outcome.XFAILED if expected else Outcome.SKIPPED), told
    if "disabled" in children:
        return Outcome.SKIPPED, children["disabled"]
    for name in ("flakyFailure", "flakyError"):  # it passed in the end
        if name in children:
            return Outcome.PASSED, children[name]
    words = {element.get("status", "").lower(), element.get("result", "").lower()}
    if words & _FAILED:
        return Outcome.FAILED, None
    return (Outcome.SKIPPED if words & _NOT_RUN else Outcome.PASSED), None


def _message(told: "Element | None") -> str:
    if told is None:
        return ""
    text = (told.get("message") or told.get("type") or told.text or "").strip()
    return text.split("\n", 1)[0][:_MAX_MESSAGE]


def _test_id(attributes: Mapping[str, str], suite: Mapping[str, str]) -> str:
    """The test as pytest prints it where its class name tells the file, else class and name."""
    name, owner = attributes.get("name", ""), attributes.get("classname", "")
    if suite.get("name", "").startswith("pytest"):
        if owner:
            return _node_id(owner, name, attributes.get("file", ""))
        return f"{name.replace('.', '/')}.py"  # a module that could not be collected
    if not owner:
        return name
    return f"{owner}.{name}" if name else owner


def _node_id(owner: str, name: str, file: str) -> str:
    """`tests.test_a.TestB` and `test_c` are `tests/test_a.py::TestB::test_c`: classes start with a capital letter, by
    pytest's own rule for collecting them.
    """
    if file.endswith(".py"):
        module = file.removesuffix(".py").replace("/", ".").replace("\\", ".")
        rest = owner.removeprefix(module).lstrip(".") if owner.startswith(module) else ""
        return "::".join([file.replace("\\", "/"), *filter(None, rest.split(".")), name])
    parts = owner.split(".")
    depth = next((i for i, part in enumerate(parts) if i and part[:1].isupper()), len(parts))
    path = "/".join(parts[:depth]) + ".py"
    return "::".join([path, *parts[depth:], name])
