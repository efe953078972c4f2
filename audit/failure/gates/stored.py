"""Golden values that no comparison of the checkout was seen to use: by the rules of the functional tests whose files they look like.

These are Megatron-LM's (tests/functional_tests/python_test_utils): an exact and an approximate check for each metric, values rounded to
five decimals, `abs(actual - golden) <= rtol * abs(golden)`, a missing value counting as infinite on both sides, some steps of the
approximate check allowed to fail, the iteration time compared by the medians of a steady window. Tolerances are read from the checkout where it
has such a table; what is built in holds where it has none.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

import msgspec

from audit.failure.gates.checkout import Checkout
from audit.failure.gates.facts import with_facts
from audit.failure.gates.model import GateOutcome, Origin, Subject
from audit.failure.gates.paired import pair, stored_series
from audit.failure.gates.rundata import RunData, folded
from audit.failure.gates.shown import Shown
from audit.failure.gates.subjects import subject_of
from audit.telemetry.model import Format, Telemetry

MAX_FILES: Final = 40
MAX_TABLES: Final = 20
DECIMALS: Final = 5
GOLDEN_FILE: Final = re.compile(r"(^|/)[^/]*(golden|expected|reference|baseline)[^/]*\.json$", re.IGNORECASE)
_ASKED: Final = ("lm loss", "num-zeros")
_FREE: Final = re.compile(
    r"\b(?:NVTE_ALLOW_NONDETERMINISTIC_ALGO|NON_DETERMINI?STIC_RESULTS)\s*[:=]\s*[\"']?1\b"
)


class Check(msgspec.Struct, frozen=True):
    """How one metric is compared: `rtol` of the approximate check, whether there is an exact one, and where that is written."""

    rtol: float
    exact: bool
    path: str = ""
    line: int = 0


def golden_outcomes(
    checkout: Checkout, telemetry: Telemetry, data: RunData, shown: Shown, known: Sequence[GateOutcome]
) -> list[GateOutcome]:
    """Outcomes for each metric of the golden file in question that has a series in the run and is not among `known`."""
    seen = {
        (o.place, folded(g.metric))
        for g in known
        if g.series is not None
        for o in g.origins
        if o.kind == "stored"
    }
    table = _tables(checkout)
    made: list[GateOutcome] = []
    for place, metric, golden, functional in _goldens(checkout, telemetry, shown):
        series = data.one(metric)
        if series is None or (place, folded(metric)) in seen:
            continue
        check = table.get(metric) or _built_in(metric)
        actual = {
            p.step: round(p.value, DECIMALS) if math.isfinite(p.value) else p.value for p in series.settled()
        }
        compared = _compared(place, metric, golden, actual, check, shown, functional)
        made += [with_facts(outcome, data) for outcome in compared]
    return made


# -- which values, which rules ---------------------------------------------------------------------------------------


def _goldens(
    checkout: Checkout, telemetry: Telemetry, shown: Shown
) -> Iterator[tuple[str, str, Mapping[int, float], bool]]:
    """(file, metric, values): of the files that the log names, else of the only ones that there are."""
    paths = [p for p in checkout.paths if GOLDEN_FILE.search(p)]
    named = [p for p in paths if shown.mentions(p)] if len(paths) > 1 else paths
    for path in (named or (paths if len(paths) <= 3 else []))[:MAX_FILES]:
        document = checkout.data(path)
        asked = _metrics_asked(checkout, path)
        for name, found, functional in _blocks(document) if isinstance(document, dict) else ():
            if asked is None or name in asked:
                yield path, name, found, functional
    for series in telemetry.series:
        if series.format is Format.GOLDEN:
            yield series.source, series.name, {p.step: p.value for p in series.settled()}, True


def _blocks(document: dict[str, Any]) -> Iterator[tuple[str, dict[int, float], bool]]:
    """(metric, values by step, whether it has the functional tests' form)."""
    for name, block in document.items():
        found = stored_series(block)
        if found and len(found) > 1:
            yield name, found, isinstance(block, dict) and "values" in block


def _metrics_asked(checkout: Checkout, golden: str) -> Sequence[str] | None:
    """The metrics that the test case beside a golden file compares; None where there is no such configuration."""
    folder = golden.rpartition("/")[0]
    config = checkout.data(f"{folder}/model_config.yaml" if folder else "model_config.yaml")
    if not isinstance(config, dict):
        return None
    metrics = config.get("METRICS", list(_ASKED))
    return [str(m) for m in metrics] if isinstance(metrics, list) else []


def _built_in(metric: str) -> Check:
    subject = subject_of(metric)
    return Check(
        0.20 if folded(metric) == "numzeros" else 0.05, subject not in (Subject.PERFORMANCE, Subject.MEMORY)
    )


def _tables(checkout: Checkout) -> dict[str, Check]:
    """A table of the checkout from metrics to checks: a dict of lists of calls with `rtol` given, as in `{"lm loss": [Exact(), Approximate(rtol=0.05)]}`."""
    found: dict[str, Check] = {}
    likely = (
        [p for p in checkout.python_files() if "test" in p and "rtol=" in (checkout.text(p) or "")]
        if len(list(checkout.paths)) < 20_000
        else []
    )
    for path in likely[:MAX_TABLES]:
        tree = checkout.tree(path)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    check = _check(value, path)
                    if check is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
                        found.setdefault(key.value, check)
    return found


def _check(node: ast.expr, path: str) -> Check | None:
    calls = [
        c
        for c in (node.elts if isinstance(node, ast.List | ast.Tuple) else [node])
        if isinstance(c, ast.Call)
    ]
    tolerances = [
        float(k.value.value)
        for c in calls
        for k in c.keywords
        if k.arg == "rtol" and isinstance(k.value, ast.Constant) and isinstance(k.value.value, int | float)
    ]
    if not tolerances:
        return None
    exact = any(word in ast.unparse(c.func).lower() for c in calls for word in ("determin", "exact"))
    return Check(max(tolerances), exact, path, node.lineno)


# -- comparing -------------------------------------------------------------------------------------------------------


def allowance(steps: int) -> int:
    """How many steps of an approximate check may be outside: one in a hundred, at least one, at most fifty; none of a single one."""
    return 0 if steps <= 1 else min(max(steps // 100, 1), 50)


def _compared(
    place: str,
    metric: str,
    golden: Mapping[int, float],
    actual: Mapping[int, float],
    check: Check,
    shown: Shown,
    functional: bool,
) -> Iterator[GateOutcome]:
    subject = subject_of(metric) or Subject.QUALITY
    base = GateOutcome(
        name=f"Approximate comparison of {metric}",
        path=check.path or place,
        line=check.line or 1,
        symbol=metric,
        rule="",
        subject=subject,
        passed=None,
        metric=metric,
        operator="close",
        rtol=check.rtol,
        atol=0.0,
        origins=(Origin("stored", metric, place),),
    )
    if folded(metric) == "iterationtime":
        yield from _by_median(base, golden, actual)
        return
    may = allowance(len(golden))
    series = pair(actual, golden, over=lambda a, g: abs(a - g) > check.rtol * abs(g), allowance=may)
    if series is None:
        return
    told = shown.told(f"Approximate comparison of {metric}: FAILED")
    rule = f"abs(actual - golden) <= {check.rtol:g} * abs(golden), {may} of {len(golden)} steps may fail"
    passed = (series.over or 0) + series.missing <= may
    known = bool(check.path) or told is not None or functional
    yield msgspec.structs.replace(
        base,
        rule=rule,
        passed=passed if known else None,
        series=series,
        told=told,
        why="" if known else "by which rule these values are compared is not known",
    )
    told = shown.told(f"Exact comparison of {metric}: FAILED")
    # Without a table of checks in the checkout only the log can say that there is an exact one.
    if told is not None or (check.exact and check.path and not shown.any_matches(_FREE)):
        exact = pair(actual, golden, over=lambda a, g: a != g, allowance=0)
        yield msgspec.structs.replace(
            base,
            name=f"Exact comparison of {metric}",
            rule=f"round(actual, {DECIMALS}) == golden at every step",
            # Values that differ within the approximate tolerance are a stale or too strict golden, not a worse model.
            subject=Subject.POLICY if passed else subject,
            passed=exact is not None and not exact.over and not exact.missing,
            rtol=0.0,
            series=exact,
            told=told,
        )


def _by_median(
    base: GateOutcome, golden: Mapping[int, float], actual: Mapping[int, float]
) -> Iterator[GateOutcome]:
    """One comparison of medians over a window after the warm-up."""
    steps = sorted(s for s, v in golden.items() if math.isfinite(v))
    if not steps:
        return
    window = range(5, 21) if steps[-1] <= 25 else range(30, 46)
    chosen = [s for s in steps if s in window] or [s for s in steps if s >= window.start][:4]
    values = [actual.get(s, math.inf) for s in chosen]
    if not chosen or not any(map(math.isfinite, values)):
        return
    a, g = median(values), median(golden[s] for s in chosen)
    rtol = base.rtol or 0.0
    yield msgspec.structs.replace(
        base,
        rule=f"abs(median - golden median) <= {rtol:g} * golden median over steps {chosen[0]} to {chosen[-1]}",
        passed=abs(a - g) <= rtol * abs(g),
        actual=a,
        limit=g,
        reference=g,
    )
