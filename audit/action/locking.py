"""What the input `lock` asks for: a gate on the lock, or the lock that there should be."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from audit.action.folder import write_document
from audit.action.inputs import Inputs
from audit.assess.gate import Gate
from audit.documents.errors import DocumentError
from audit.documents.finding import Edit, Finding, Fix, Status
from audit.documents.lock import LOCK_PATH
from audit.documents.report import Report
from audit.engine.lock import Locked, LockOptions, make
from audit.engine.options import Effects
from audit.lock.document import write

_CATEGORY = "consistency"


def checked(decided: Gate, report: Report) -> Gate:
    """The gate with all that `lock: check` closes it for: it asks whether the lock holds, not who broke it.

    Raises DocumentError where there is no manifest, so that a check which cannot fail is not taken for one that passed.
    """
    if not any(finding.rule == "consistency.lock_present" for finding in report.findings):
        raise DocumentError(
            "The input lock is check, but there is no ml-audit.yaml to lock, or level is 0.",
            "Write one with `ml-audit init`, or leave the input out.",
        )
    known = {finding.fingerprint for finding in decided.blocking}
    more = tuple(each for each in _failing(report) if each.fingerprint not in known)
    return msgspec.structs.replace(
        decided, passed=decided.passed and not more, blocking=(*decided.blocking, *more)
    )


def updated(
    target: str, inputs: Inputs, effects: Effects, roots: Sequence[Path], report: Report
) -> tuple[Report, dict[str, str]]:
    """Makes the lock of what was audited and writes it into the output folder.

    Gives the report with the new text as a suggestion on the old one, and the path by its output; neither where the lock is as it should be. Raises
    DocumentError, SourceError, FolderError.
    """
    locked = make(LockOptions(target, on_disk=False), effects, report.signals)
    if locked.unchanged:
        return report, {}
    text = write(locked.lock)
    place = (PurePosixPath(inputs.output_dir) / LOCK_PATH).as_posix()
    return _suggested(report, locked, text), {"lock-file": write_document(place, text, roots)}


def _suggested(report: Report, locked: Locked, text: str) -> Report:
    """The report in which the first finding about the lock carries the edits that bring it up to date."""
    first = next(_failing(report), None) if locked.before else None
    if first is None:
        return report
    fix = Fix("Take over the lock that this run made.", safe=True, edits=tuple(_edits(locked.before, text)))
    findings = [msgspec.structs.replace(each, fix=fix) if each is first else each for each in report.findings]
    return msgspec.structs.replace(report, findings=tuple(findings))


def _failing(report: Report) -> Iterator[Finding]:
    return (each for each in report.findings if each.category == _CATEGORY and each.status is Status.FAIL)


def _edits(before: str, after: str) -> Iterator[Edit]:
    """The differing lines. Values stand in one order, so each line is matched with the one in the same place of the tree, in time that grows with the file."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    numbers: dict[tuple[int, str, int], int] = {}
    where = {place: row for row, place in enumerate(_places(new, numbers))}
    pairs = [(row, where[place]) for row, place in enumerate(_places(old, numbers)) if place in where]
    start = first = 0
    for row, other in (*_ascending(pairs), (len(old), len(new))):
        if start < row or first < other:
            yield Edit(LOCK_PATH, start + 1, row, "".join(new[first:other]))
        start, first = row + 1, other + 1


def _places(lines: Sequence[str], numbers: dict[tuple[int, str, int], int]) -> Iterator[int]:
    """A number for each line, the same for the same line below the same lines; equal ones below one line are counted. `numbers` holds them all."""
    above: list[tuple[int, int]] = []
    seen: Counter[tuple[int, str]] = Counter()
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        while above and above[-1][0] >= indent:
            above.pop()
        key = (above[-1][1] if above else -1, line)
        number = numbers.setdefault((*key, seen[key]), len(numbers))
        seen[key] += 1
        above.append((indent, number))
        yield number


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs whose second parts rise, as their first ones do."""
    ends: list[int] = []
    last: list[int] = []
    back: list[int] = []
    for index, (_, other) in enumerate(pairs):
        at = bisect_left(ends, other)
        back.append(last[at - 1] if at else -1)
        ends[at : at + 1], last[at : at + 1] = [other], [index]
    chosen: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = back[index]
    return chosen[::-1]
