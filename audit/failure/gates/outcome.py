"""From comparisons that were seen to outcomes of gates: which ones matter, both sides, margin, and the log line that tells of it."""

import ast
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from audit.failure.gates.calc import Seen
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.entries import ScriptEntry, TestEntry
from audit.failure.gates.facts import with_facts
from audit.failure.gates.model import Assertion, GateOutcome, Origin, Subject
from audit.failure.gates.noise import beside, comments_near, stated
from audit.failure.gates.operators import tolerances
from audit.failure.gates.paired import pair, stored_series
from audit.failure.gates.rundata import STEP_NAMES, RunData, folded
from audit.failure.gates.shown import Shown
from audit.failure.gates.subjects import subject_of
from audit.failure.gates.told import Told, label_of, passed_of, told_of
from audit.failure.gates.values import Approximate, V

MAX_OUTCOMES: Final = 200
_AXES: Final = frozenset(folded(n) for n in STEP_NAMES) | {
    "row",
    "line",
    "time",
    "timestamp",
    "seed",
    "runtime",
}
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_HOLDS: Final = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class Found(msgspec.Struct, frozen=True):
    """A comparison, and the test or script in which it was reached."""

    seen: Seen
    entry: TestEntry | ScriptEntry


def outcomes_of(found: Sequence[Found], checkout: Checkout, data: RunData, shown: Shown) -> list[GateOutcome]:
    """One outcome for each comparison that looks at the run or that the log tells of; repeated ones (a loop's) become one."""
    groups: dict[tuple[str, int, int, str, str], list[Found]] = {}
    for item in found:
        entry = item.entry
        name = entry.id if isinstance(entry, TestEntry) else " ".join(entry.argv or (entry.path,))
        key = (item.seen.path, item.seen.node.lineno, item.seen.node.col_offset, item.seen.operator, name)
        groups.setdefault(key, []).append(item)
    made: list[tuple[GateOutcome, bool]] = []
    for group in groups.values():
        outcome = _outcome(group, checkout, data, shown)
        if outcome is not None:
            made.append(outcome)
            if len(made) >= MAX_OUTCOMES:
                break
    return _placed(made)


def _placed(made: Sequence[tuple[GateOutcome, bool]]) -> list[GateOutcome]:
    """Where the log says only that a test failed, its one comparison did; of several those that do not hold, or none to be told."""
    counts = Counter(outcome.name for outcome, sure in made if not sure)
    placed = []
    for outcome, sure in made:
        if not sure and counts[outcome.name] > 1:
            computed = outcome.actual is not None and outcome.limit is not None
            keep = computed and outcome.passed is False
            passed = outcome.passed if computed else None
            placed.append(
                msgspec.structs.replace(outcome, passed=passed, told=outcome.told if keep else None)
            )
        else:
            placed.append(outcome)
    return placed


def _outcome(
    group: Sequence[Found], checkout: Checkout, data: RunData, shown: Shown
) -> tuple[GateOutcome, bool] | None:
    decisive = _decisive(group)
    seen, entry = decisive.seen, decisive.entry
    metrics = _metrics(seen)
    told = told_of(seen, entry, checkout, shown)
    if not metrics and (told is None or not told.failed or not _numeric(seen, told)):
        return None
    if isinstance(seen.left.data, str) or isinstance(seen.right.data, str):
        return None
    outcome = _sides(seen, told)
    if outcome is None or (not metrics and outcome.actual is None and isinstance(entry, ScriptEntry)):
        return None
    label = label_of(seen, checkout)
    name = (
        entry.id
        if isinstance(entry, TestEntry)
        else f"{entry.path}: {label or seen.symbol or outcome.metric or 'gate'}"
    )
    outcome = msgspec.structs.replace(outcome, name=name)
    if len(group) > 1:
        outcome = _of_many(group, outcome)
    outcome = _with_reference(outcome, seen, checkout, data)
    return with_facts(outcome, data), told is None or told.sure


def _decisive(group: Sequence[Found]) -> Found:
    """Of a loop's comparisons the first that fails, else the last."""
    for item in group:
        if passed_of(item.seen) is False:
            return item
    return group[-1]


def _metrics(seen: Seen) -> list[Origin]:
    """Metrics on either side, steps and row numbers left out."""
    origins = seen.left.origins | seen.right.origins
    return sorted(o for o in origins if o.kind == "metric" and folded(o.name) not in _AXES)


def _numeric(seen: Seen, told: Told) -> bool:
    """Whether a comparison is one of numbers as far as can be seen; a comparator's tolerance alone is worth telling."""
    known = seen.left.number is not None or seen.right.number is not None
    return seen.operator == "close" or known or bool(told.numbers) or told.assertion is not None


def _sides(seen: Seen, told: Told | None) -> GateOutcome | None:
    """The comparison with the run's side as `actual`, its operator read as what must hold."""
    operator = seen.operator
    node = seen.node
    left_text, right_text = _texts(node)
    if operator not in _HOLDS and operator != "close":
        return None
    if seen.passes is False and operator in _OPPOSITE:
        operator = _OPPOSITE[operator]
    left, right, flipped = seen.left, seen.right, False
    if not _is_actual(left, right, left_text, right_text):
        left, right, left_text, right_text, flipped = right, left, right_text, left_text, True
    if flipped:
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    actual, limit = _value(left, left_text, told), _value(right, right_text, told)
    rtol, atol = _tolerance(seen, left, right)
    stated_ = told.assertion if told is not None else None
    if stated_ is not None and stated_.kind != "limit":
        actual, limit = _stated(actual, limit, stated_, flipped)
        atol = stated_.atol if atol is None and rtol is None else atol
    passed = passed_of(seen)
    if passed is None and actual is not None and limit is not None and operator in _HOLDS and rtol is None:
        passed = _HOLDS[operator](actual, limit)
    if passed is None and told is not None and told.failed:
        passed = False
    metrics = _metrics(seen)
    metric = metrics[0].name if len({m.name for m in metrics}) == 1 else ""
    return GateOutcome(
        name="",
        path=seen.path,
        line=node.lineno,
        symbol=seen.symbol,
        rule=ast.unparse(node)[:300],
        subject=_subject(seen, metric, left_text, "close" if rtol is not None else operator),
        passed=passed,
        metric=metric,
        operator="close" if rtol is not None or operator == "close" else operator,
        actual=actual,
        limit=limit,
        margin=_margin(operator, actual, limit) if rtol is None else None,
        rtol=rtol,
        atol=atol,
        origins=tuple(sorted(seen.left.origins | seen.right.origins))[:16],
        told=(told.line.source, told.line.number) if told is not None and told.failed else None,
        why=_why(actual, limit, left_text, right_text) if passed is None else "",
    )


def _stated(
    actual: float | None, limit: float | None, assertion: Assertion, flipped: bool
) -> tuple[float | None, float | None]:
    """Sides that code and telemetry do not give, from the assertion's text in the log."""
    a, e = (assertion.expected, assertion.actual) if flipped else (assertion.actual, assertion.expected)
    return (a if actual is None else actual), (e if limit is None else limit)


def _texts(node: ast.expr) -> tuple[str, str]:
    if isinstance(node, ast.Compare):
        return ast.unparse(node.left), ast.unparse(node.comparators[-1])
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        return ast.unparse(node.args[0]), ast.unparse(node.args[1])
    return "", ""


def _is_actual(left: V, right: V, left_text: str, right_text: str) -> bool:
    """Whether the left side is the run's: it comes from telemetry, or the other is a limit by its origin or its name."""
    left_run = any(o.kind == "metric" for o in left.origins)
    right_run = any(o.kind == "metric" for o in right.origins)
    if left_run != right_run:
        return left_run
    if isinstance(right.data, Approximate) != isinstance(left.data, Approximate):
        return isinstance(right.data, Approximate)
    if left.known != right.known:
        return not left.known
    limits = (
        "limit",
        "max",
        "min",
        "threshold",
        "floor",
        "budget",
        "expected",
        "golden",
        "baseline",
        "target",
    )
    return not (
        any(w in left_text.lower() for w in limits) and not any(w in right_text.lower() for w in limits)
    )


def _value(side: V, text: str, told: Told | None) -> float | None:
    """A side's number: computed, else the one that the message states for that very expression."""
    data = side.data.expected if isinstance(side.data, Approximate) else side
    if isinstance(data, V) and data.number is not None:
        return data.number
    return told.numbers.get(text) if told is not None else None


def _tolerance(seen: Seen, left: V, right: V) -> tuple[float | None, float | None]:
    for side in (left, right):
        if isinstance(side.data, Approximate):
            both = tolerances(side.data)
            return both if both is not None else (None, None)
    return seen.rtol, seen.atol


def _margin(operator: str, actual: float | None, limit: float | None) -> float | None:
    """How far `actual` is on the good side of `limit`, as a fraction of it; negative where it is missed."""
    if actual is None or limit is None or not limit or not math.isfinite(actual) or not math.isfinite(limit):
        return None
    if operator in ("<", "<="):
        return (limit - actual) / abs(limit)
    if operator in (">", ">="):
        return (actual - limit) / abs(limit)
    return None


def _why(actual: float | None, limit: float | None, left: str, right: str) -> str:
    missing = [text for value, text in ((actual, left), (limit, right)) if value is None and text]
    return (
        f"not known from the files given: {', '.join(missing)[:200]}"
        if missing
        else "its outcome cannot be computed"
    )


def _subject(seen: Seen, metric: str, text: str, operator: str) -> Subject:
    found = subject_of(metric)
    if found is not None:
        return found
    if (operator == "close" or seen.rtol is not None) and not _metrics(seen):
        return Subject.NUMERICS  # values of a computation held against each other, whatever they are called
    node = seen.node
    names = [
        text,
        *_texts(node),
        seen.symbol,
        *sorted(o.name for o in seen.left.origins | seen.right.origins),
        seen.path.rpartition("/")[2],
    ]
    kinds = {kind for name in names if name and (kind := subject_of(name)) is not None}
    for kind in (Subject.POLICY, Subject.PERFORMANCE, Subject.MEMORY, Subject.QUALITY, Subject.COUNT):
        if kind in kinds:
            return kind
    return Subject.NUMERICS if operator == "close" or seen.rtol is not None else Subject.UNKNOWN


# -- stored values ---------------------------------------------------------------------------------------------------


def _of_many(group: Sequence[Found], outcome: GateOutcome) -> GateOutcome:
    """A comparison in a loop: it is good where every one of its rounds is."""
    results = [passed_of(item.seen) for item in group]
    passed = False if False in results else None if None in results else True
    if outcome.told is not None and passed is None:
        passed = False
    return msgspec.structs.replace(outcome, passed=passed)


def _with_reference(outcome: GateOutcome, seen: Seen, checkout: Checkout, data: RunData) -> GateOutcome:
    """Adds the stored value that the comparison rests on, the series beside it, and the noise that the repository states."""
    stored = [o for o in outcome.origins if o.kind == "stored" and checkout.has(o.place)]
    paired = _paired(outcome, stored, checkout, data)
    reference, noise = _reference(outcome, stored, checkout)
    text = checkout.text(outcome.path) or ""
    comments = [c for o in outcome.origins if o.kind == "constant" and o.place.startswith(f"{outcome.path}:")
                for c in comments_near(text, int(o.place.rpartition(":")[2]))]  # fmt: skip
    if noise is None:
        noise = stated(comments, reference if reference is not None else outcome.limit)
    derived = (
        paired is not None and outcome.actual not in (None, paired.final_actual) and outcome.rtol is None
    )
    return msgspec.structs.replace(outcome, reference=reference, noise=noise, series=paired, derived=derived)


def _beyond(outcome: GateOutcome, data: RunData) -> bool:
    """Whether the actual side cannot be the metric itself or an average of it: it lies outside of all its values."""
    series = data.one(outcome.metric) if outcome.metric else None
    if series is None or outcome.actual is None:
        return False
    finite = [v for v in series.values if math.isfinite(v)]
    return (
        bool(finite)
        and not min(finite) * (1 - 1e-9) - 1e-12 <= outcome.actual <= max(finite) * (1 + 1e-9) + 1e-12
    )


def _paired(outcome: GateOutcome, stored: Iterable[Origin], checkout: Checkout, data: RunData):  # type: ignore[no-untyped-def]
    if not outcome.metric:
        return None
    series = data.one(outcome.metric)
    if series is None:
        return None
    for origin in stored:
        golden = _golden_block(checkout, origin)
        if golden:
            actual = {p.step: p.value for p in series.settled()}
            return pair(actual, golden, over=_over(outcome))
    return None


def _golden_block(checkout: Checkout, origin: Origin) -> dict[int, float] | None:
    """The stored series that an origin's key lies in, the nearest one around it."""
    here = checkout.data(origin.place)
    best = stored_series(here)
    for part in origin.name.split("."):
        if not isinstance(here, dict) or part not in here:
            break
        here = here[part]
        best = stored_series(here) or best
    return best


def _over(outcome: GateOutcome):  # type: ignore[no-untyped-def]
    """Whether a step is outside the gate's tolerance: its own where it has one, else a small limit is a relative one."""
    if outcome.rtol is not None and outcome.atol is not None:
        rtol, atol = outcome.rtol, outcome.atol
        return lambda a, g: abs(a - g) > atol + rtol * abs(g)
    if outcome.limit is not None and outcome.operator in ("<", "<=") and 0 <= outcome.limit < 1:
        limit = outcome.limit
        return lambda a, g: abs(a - g) > limit * abs(g)
    return None


def _reference(
    outcome: GateOutcome, stored: Sequence[Origin], checkout: Checkout
) -> tuple[float | None, float | None]:
    """The stored value that a limit was made of, and its stated noise: one in the range of both sides that is not the limit itself."""
    for origin in stored:
        document = checkout.data(origin.place)
        value = _at(document, origin.name)
        if value is None or outcome.limit is None or outcome.actual is None:
            continue
        if outcome.rtol is not None or (value != outcome.limit and _alike(value, outcome.limit)):
            return value, beside(document, origin.name, value)
        if value == outcome.limit:
            return None, beside(document, origin.name, value)
    if outcome.operator == "close":
        return outcome.limit, None
    return None, None


def _alike(value: float, limit: float) -> bool:
    """Whether a limit may be a reference with an allowance: within a factor of two."""
    return value * limit > 0 and 0.5 <= value / limit <= 2


def _at(document: object, key: str) -> float | None:
    here = document
    for part in key.split("."):
        here = here.get(part) if isinstance(here, dict) else None
    return float(here) if isinstance(here, int | float) and not isinstance(here, bool) else None
