"""What an assertion's text in a log says in numbers: torch, NumPy, pytest, unittest, coverage, and sentences that compare with a limit.

The texts follow torch.testing, numpy.testing (old and new wording), pytest's introspection and `approx`, unittest.TestCase and
pytest-cov / coverage.py.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from audit.failure.digits import integer
from audit.failure.gates.model import Assertion
from audit.failure.model import Line

MAX_TEXT: Final = 2_000
"""Characters of a line that are looked at."""
BLOCK: Final = 14
"""Lines that one assertion's text spans at most."""

_N: Final = r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)"
_TENSORS: Final = re.compile(r"(?:Tensor-likes|Scalars|Nested tensor-likes) are not (?:close|equal)!")
_MISMATCH: Final = re.compile(r"Mismatched elements: (\d+) / (\d+)")
_GREATEST: Final = re.compile(
    rf"(?:Greatest|Max) (absolute|relative) difference(?: among violations)?: {_N}(?: at index \([\d, ]*\))?(?: \(up to {_N} allowed\))?"
)
_SCALAR: Final = re.compile(rf"(Absolute|Relative) difference: {_N}(?: \(up to {_N} allowed\))?")
_EXPECTED: Final = re.compile(rf"Expected {_N} but got {_N}\.?")
_TOLERANCE: Final = re.compile(rf"Not equal to tolerance rtol={_N}, atol={_N}")
_DECIMALS: Final = re.compile(r"Arrays are not (?:almost )?equal(?: to (\d+) (?:decimals|significant))?")
_SIDE: Final = re.compile(rf"^\s*(ACTUAL|DESIRED|x|y): (?:array\()?\[?{_N}\]?\)?(?:,|$|\s)")
_COMPARE: Final = re.compile(rf"(?:^|\s|\()assert {_N} (==|!=|<=|>=|<|>) {_N}(?![\w.])")
_APPROX: Final = re.compile(rf"assert {_N} == (?:approx\()?{_N} (?:±|\+-|\+/-) {_N}")
_PLACES: Final = re.compile(rf"AssertionError: {_N} != {_N} within (?:(\d+) places|{_N} delta)")
_UNITTEST: Final = re.compile(
    rf"AssertionError: {_N} (?:not (greater than or equal to|less than or equal to|greater than|less than)|(!=|==)) {_N}"
)
_COVERAGE: Final = re.compile(
    r"[Rr]equired test coverage of (\d+(?:\.\d+)?)% not reached\. Total coverage: (\d+(?:\.\d+)?)%"
    r"|Coverage failure: total of (\d+(?:\.\d+)?) is less than fail-under=(\d+(?:\.\d+)?)"
)
_WORDS: Final = (
    ("is less than or equal to", "<="), ("is greater than or equal to", ">="), ("is less than", "<"), ("is lower than", "<"),
    ("is below", "<"), ("below", "<"), ("under", "<"), ("is greater than", ">"), ("is above", ">"), ("above", ">"), ("exceeds", ">"),
    ("exceeded", ">"), ("worse than", ">"), ("higher than", ">"), ("over", ">"), ("<=", "<="), (">=", ">="), ("<", "<"), (">", ">"),
)  # fmt: skip
_LIMIT: Final = re.compile(
    rf"(?<![\w.]){_N}\s{{0,2}}(%|s|ms|x)?\s{{1,2}}({'|'.join(re.escape(w) for w, _ in _WORDS)})\s{{1,2}}"
    rf"(?:the |its |a |an )?(?:[a-z_-]{{1,20}} ){{0,3}}{_N}\s?(%)?"
)
_OPERATOR: Final = dict(_WORDS)
_NEGATED: Final = {
    "greater than or equal to": ">=",
    "less than or equal to": "<=",
    "greater than": ">",
    "less than": "<",
}


def assertion_numbers(lines: Sequence[Line]) -> list[Assertion]:
    """The assertions that lines state, in their order. Lines of one source in ascending order; never raises."""
    found: list[Assertion] = []
    until = -1
    for index, line in enumerate(lines):
        if index < until:
            continue
        made, length = _read(lines, index, line.text[:MAX_TEXT])
        if made is not None:
            found.append(made)
            until = index + length
    return found


def _read(lines: Sequence[Line], index: int, text: str) -> tuple[Assertion | None, int]:
    line = lines[index]
    if _TENSORS.search(text):
        return _block(lines, index, "scalars" if "Scalars" in text else "tensors")
    if _TOLERANCE.search(text) or ("Arrays are not" in text and _DECIMALS.search(text)):
        return _block(lines, index, "arrays")
    for reader in (_approx, _compared, _places, _unittest, _coverage, _limit):
        fields = reader(text)
        if fields is not None:
            return Assertion(source=line.source, line=line.number, **fields), 1
    return None, 1


def _block(lines: Sequence[Line], index: int, kind: str) -> tuple[Assertion, int]:
    """An assertion over several lines: torch's and NumPy's reports."""
    first = lines[index]
    fields: dict[str, Any] = {}
    used = 1
    for offset, line in enumerate(lines[index : index + BLOCK]):
        if line.source != first.source or line.number - first.number >= BLOCK:
            break
        text = line.text[:MAX_TEXT]
        if offset and (_TENSORS.search(text) or _TOLERANCE.search(text)):
            break
        if _report_line(text, fields):
            used = offset + 1
    return Assertion(kind=kind, source=first.source, line=first.number, **fields), used


def _report_line(text: str, fields: dict[str, Any]) -> bool:
    """Takes the numbers of one line of a report; False where it has none."""
    before = len(fields)
    if found := _MISMATCH.search(text):
        fields.update(mismatched=integer(found[1]), total=integer(found[2]))
    if found := _TOLERANCE.search(text):
        fields.update(rtol=float(found[1]), atol=float(found[2]))
    if (found := _DECIMALS.search(text)) and found[1]:
        fields.update(places=integer(found[1]))
    if found := _EXPECTED.search(text):
        fields.update(expected=float(found[1]), actual=float(found[2]))
    for match in (_GREATEST.search(text), _SCALAR.search(text)):
        if match:
            which = match[1].lower()
            fields[which] = float(match[2])
            if match[3]:
                fields["atol" if which == "absolute" else "rtol"] = float(match[3])
    if found := _SIDE.search(text.removeprefix("E").strip()):
        fields.setdefault("actual" if found[1] in ("ACTUAL", "x") else "expected", float(found[2]))
    return len(fields) > before


def _approx(text: str) -> dict[str, Any] | None:
    found = _APPROX.search(text) if "assert " in text else None
    if not found:
        return None
    actual, expected, allowed = float(found[1]), float(found[2]), float(found[3])
    return {
        "kind": "approx",
        "actual": actual,
        "expected": expected,
        "operator": "==",
        "atol": allowed,
        **_errors(actual, expected),
    }


def _compared(text: str) -> dict[str, Any] | None:
    found = _COMPARE.search(text) if "assert " in text else None
    if not found:
        return None
    return {"kind": "compare", "actual": float(found[1]), "operator": found[2], "expected": float(found[3])}


def _places(text: str) -> dict[str, Any] | None:
    found = _PLACES.search(text) if "within" in text else None
    if not found:
        return None
    actual, expected = float(found[1]), float(found[2])
    places = integer(found[3]) if found[3] else None
    if places is not None and places > 300:
        return None
    allowed = 0.5 * 10.0**-places if places is not None else float(found[4])
    return {"kind": "places", "actual": actual, "expected": expected, "operator": "==", "atol": allowed, "places": places,
            **_errors(actual, expected)}  # fmt: skip


def _unittest(text: str) -> dict[str, Any] | None:
    found = _UNITTEST.search(text) if "AssertionError" in text else None
    if not found:
        return None
    operator = _NEGATED[found[2]] if found[2] else "==" if found[3] == "!=" else "!="
    return {"kind": "compare", "actual": float(found[1]), "operator": operator, "expected": float(found[4])}


def _coverage(text: str) -> dict[str, Any] | None:
    found = _COVERAGE.search(text) if "overage" in text else None
    if not found:
        return None
    actual, limit = (found[2], found[1]) if found[1] else (found[3], found[4])
    return {
        "kind": "coverage",
        "actual": float(actual) / 100,
        "expected": float(limit) / 100,
        "operator": ">=",
    }


def _limit(text: str) -> dict[str, Any] | None:
    """A sentence that states why a gate failed: the comparison that it asserted is the opposite."""
    found = _LIMIT.search(text)
    if not found:
        return None
    actual, limit = float(found[1]), float(found[4])
    said = _OPERATOR[found[3]]
    if found[2] == "%" or found[5]:
        actual, limit = actual / 100, limit / 100
    holds = {"<": actual < limit, "<=": actual <= limit, ">": actual > limit, ">=": actual >= limit}[said]
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[said]
    # "0.90 < 0.95: OK" states a check that holds, "0.30 < required 0.90" a failure: both hold as written; who reads decides.
    return {"kind": "limit", "actual": actual, "expected": limit, "operator": opposite} if holds else None


def _errors(actual: float, expected: float) -> dict[str, float]:
    if not math.isfinite(actual) or not math.isfinite(expected):
        return {}
    absolute = abs(actual - expected)
    return {"absolute": absolute} | ({"relative": absolute / abs(expected)} if expected else {})


def failed(assertion: Assertion) -> Iterator[str]:
    """Why the numbers of an assertion do not hold, in words; nothing where they do."""
    a, e = assertion.actual, assertion.expected
    if a is None or e is None or not assertion.operator:
        return
    holds = {"<": a < e, "<=": a <= e, ">": a > e, ">=": a >= e, "==": a == e, "!=": a != e}[
        assertion.operator
    ]
    if not holds:
        yield f"{a:g} {assertion.operator} {e:g} does not hold"
