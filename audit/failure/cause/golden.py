"""Comparisons with golden values, as their test logs them: which metric, exact or within a tolerance, and how each came out.

Label policy 4: where only the exact comparison fails the golden values are stale; where the tolerant one fails too, the result changed,
or, of times and memory, the machine.
"""

import re
from collections.abc import Sequence

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Strength
from audit.failure.cause.classify import Judged
from audit.failure.model import Line
from audit.failure.structure.comparison import Comparison
from audit.failure.structure.subjects import Subject, subject_of

_COMPARED = re.compile(
    r"\b(?P<kind>Exact|Approximate) comparison of (?P<metric>.{1,120}?): (?P<outcome>FAILED|PASSED)"
)
_LISTED = re.compile(r"The following metrics failed: (?P<names>.{1,400})")
_OF_THE_RUN = (Subject.PERFORMANCE, Subject.MEMORY)


def judged(written: Sequence[Line], last: Line) -> tuple[Judged, Line] | None:
    """The comparison that decides. `written`: what the test logged, `last` its exception's line. None where neither tells of comparisons."""
    failed = [
        (found["kind"], subject_of(found["metric"]), found["metric"], line)
        for line in written
        if (found := _COMPARED.search(line.text[:600])) and found["outcome"] == "FAILED"
    ]
    tolerant = [item for item in failed if item[0] == "Approximate"]
    for _, subject, metric, line in tolerant:
        if subject not in _OF_THE_RUN:
            why = f"{metric} is farther from its golden values than the tolerance allows: the result changed."
            return Judged("golden_value_drift", Category.ML_REGRESSION, Strength.NAMED, why=why), line
    if tolerant:
        return _of_the_run(*tolerant[0][1:])
    if failed:
        why = "Only the exact comparison failed, the tolerant one holds: the golden values are of another image, machine or order of summation."
        return Judged("golden_value_mismatch", Category.METRIC_POLICY, Strength.NAMED, why=why), failed[0][3]
    listed = _LISTED.search(last.text[:600])
    names = [name.strip() for name in listed["names"].split(",")] if listed is not None else []
    if names and all(subject_of(name) in _OF_THE_RUN for name in names):
        return _of_the_run(subject_of(names[0]), names[0], last)
    return None


def _of_the_run(subject: Subject, metric: str, line: Line) -> tuple[Judged, Line]:
    why = f"Only {metric} is beyond its tolerance; the comparisons of results hold."
    found = Comparison(subject, 2, word="golden")
    return Judged(
        "golden_of_the_run", Category.METRIC_POLICY, Strength.NAMED, comparison=found, why=why
    ), line
