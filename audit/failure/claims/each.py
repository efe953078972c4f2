"""Statements about every one of several runs: "improves on every seed", "on 3 of 4 tasks", "all seeds reach 0.8"."""

import re
from typing import Final

from audit.documents.verdict import Fact
from audit.failure.claims.model import Statement
from audit.failure.claims.result import Result, agrees, fact, shown, unknown, verdict
from audit.failure.claims.runs import Runs, kinds_of, last_points, series_for
from audit.failure.claims.stated import amounts, values, whole
from audit.failure.facts import arms as repeated
from audit.failure.facts.arms import Arms
from audit.failure.facts.formulas import mean
from audit.failure.facts.make import of_point
from audit.failure.facts.metrics import Meaning, meaning, plain, slug

_KEYS: Final = {
    "task": frozenset(("task",)), "dataset": frozenset(("dataset",)), "env": frozenset(("env", "env id")), "environment": frozenset(("env", "env id")),
}  # fmt: skip
_MANY: Final = re.compile(
    r"(?<!every )(?<!each )(?<!any )\b(?P<n>\w{1,9}) ?(?:/|of|out of) ?(?:the )?(?P<m>\w{1,9}) (?:seed|run|fold|trial|task|dataset|env)",
    re.IGNORECASE,
)
_COUNT: Final = re.compile(
    r"\b(?:all|every one of|each of|of)(?: the)? (?P<m>\w{1,9}) (?:\w+ )?(?:seed|run|fold|trial|task|dataset|env)",
    re.IGNORECASE,
)
_WORSE: Final = re.compile(
    r"\b(?:worse|regress\w*|degrad\w*|drops?|lower|falls?|declin\w*|higher)\b", re.IGNORECASE
)
_NONE: Final = re.compile(r"\b(?:no|none of(?: the)?|not one of(?: the)?|without)\b", re.IGNORECASE)
_CHANGES: Final = re.compile(
    r"\b(?:improv\w*|better|worse|regress\w*|degrad\w*|gains?|higher|lower|drops?|falls?|rises?|increas\w*|decreas\w*|reduc\w*)\b",
    re.IGNORECASE,
)


def check_each(statement: Statement, runs: Runs) -> Result:
    """The change of each pair of runs, or where the sentence compares nothing the value of each run."""
    if _CHANGES.search(statement.sentence.text) is None:
        return _values(statement, runs)
    if runs.arms is None:
        return unknown(
            "it takes runs of both variants under the same seeds or tasks; their names tell of none"
        )
    metric = _metric(statement, runs.arms)
    if metric is None:
        return unknown(f"the runs given have no series for {statement.metric or 'the metric'}")
    gaps = _gaps(statement.each, runs.arms, metric)
    if len(gaps) < 2:
        return unknown(f"the runs given do not tell one {statement.each} from another")
    return _compared(statement, runs.arms, metric, gaps)


def _metric(statement: Statement, arms: Arms) -> str | None:
    """The metric by its plain name: as the sentence has it, or the only one that is evaluated."""
    if statement.metric:
        new = series_for(statement.metric, arms.candidate.mean, *kinds_of(statement.metric))
        return plain(new.name) if new is not None and plain(new.name) in arms.baseline.mean.series else None
    known = repeated.metrics(arms)
    held_out = [key for key in known if meaning(key) is not Meaning.LOSS] or known
    return held_out[0] if len(held_out) == 1 else None


def _gaps(noun: str, arms: Arms, metric: str) -> dict[str, tuple[float, list[Fact]]]:
    """Candidate - baseline of each seed (or task), the mean over what else the runs differ in."""
    wanted = _KEYS.get(noun, repeated.REPETITIONS)
    series = arms.candidate.mean.series[metric]
    found: dict[str, list[tuple[float, Fact]]] = {}
    for key, new, old in arms.pairs():
        ends = repeated.at_end(new, old, metric)
        own = {name: value for name, value in arms.candidate.keys[key].items() if name in wanted}
        if ends is None or not own:
            continue
        a, b = ends
        label = ", ".join(f"{name} {value}" for name, value in own.items())
        inputs = (
            of_point(new.series[metric], a, arms.candidate.name),
            of_point(old.series[metric], b, arms.baseline.name),
        )
        told = fact(
            f"{slug(series.name)}_difference [{key}]",
            a.value - b.value,
            f"{arms.candidate.name} - {arms.baseline.name}",
            *inputs,
        )
        found.setdefault(label, []).append((a.value - b.value, told))
    return {
        label: (mean([gap for gap, _ in held]), [told for _, told in held]) for label, held in found.items()
    }


def _compared(
    statement: Statement, arms: Arms, metric: str, gaps: dict[str, tuple[float, list[Fact]]]
) -> Result:
    text = statement.sentence.text
    quality = meaning(arms.candidate.mean.series[metric].name) is Meaning.QUALITY
    sign = 1 if quality else -1
    better = [label for label, (gap, _) in gaps.items() if gap * sign > 0]
    worse = [label for label, (gap, _) in gaps.items() if gap * sign < 0]
    facts = [told for _, held in gaps.values() for told in held][:10]
    facts = [
        fact(
            f"mean_{slug(metric)}_difference",
            mean([gap for gap, _ in gaps.values()]),
            f"mean over {len(gaps)}",
        ),
        fact(f"{slug(metric)}_better_on", len(better), f"{statement.each}s of {len(gaps)} that are better"),
        *facts,
    ]
    told = f"better on {len(better)} of {len(gaps)}"
    told += "".join(f"; {label}: {gaps[label][0]:+.4g}" for label in worse[:3])
    if _NONE.search(text) and _WORSE.search(text):
        return verdict(not worse, told, facts)
    if _WORSE.search(text) and not _says_better(text, quality):
        return unknown(told, facts)
    many = _MANY.search(text)
    wanted = whole(many["n"]) if many else None
    stated = whole(many["m"]) if many else whole(found["m"]) if (found := _COUNT.search(text)) else None
    if stated is not None and stated > len(gaps) and not worse:
        return unknown(f"{told}; {stated} are stated", facts)
    if wanted is not None:
        return verdict(len(better) >= wanted, told, facts)
    if worse:
        return verdict(False, told, facts)
    if len(better) < len(gaps):
        return unknown(f"{told}; the others are equal as recorded", facts)
    return _by_how_much(statement, gaps, told, facts)


def _says_better(text: str, quality: bool) -> bool:
    """Whether the direction is one in which the metric gets better: a lower loss, a higher score."""
    words = ("improv", "better", "gain") + (
        ("higher", "increas", "rise") if quality else ("lower", "decreas", "drop", "fall", "reduc")
    )
    return any(word in text.lower() for word in words)


def _by_how_much(
    statement: Statement, gaps: dict[str, tuple[float, list[Fact]]], told: str, facts: list[Fact]
) -> Result:
    amount = next(iter(amounts(statement, ("pp", ""))), None)
    if amount is None:
        return verdict(True, told, facts) if not amounts(statement) else unknown(told, facts)
    sizes = [abs(gap) for gap, _ in gaps.values()]
    readings = [[size * 100 for size in sizes], sizes] if amount.unit == "pp" else [sizes]
    if any(all(agrees(amount, size) for size in reading) for reading in readings):
        return verdict(True, told, facts)
    return (
        verdict(False, told, facts)
        if amount.relation
        else unknown(f"{told}, by {shown(min(sizes))} to {shown(max(sizes))}", facts)
    )


def _values(statement: Statement, runs: Runs) -> Result:
    """ "All three seeds reach at least 0.8 accuracy": the last value of each run."""
    stated = next(iter(values(statement)), None)
    looked = runs.examined if runs.arms is not None else runs.all if runs.seeds else ()
    found = last_points(looked, statement.metric, *kinds_of(statement.metric))
    if stated is None or len(found) < 2 or len(found) < len(looked):
        return unknown("the runs given do not tell the value of each")
    lasts = [point.value for _, _, point in found]
    quality = meaning(found[0][1].name) is Meaning.QUALITY
    scale = 0.01 if stated.unit == "%" and max(map(abs, lasts)) <= 1.5 else 1.0
    limit, slack = stated.value * scale, stated.half * scale
    below = stated.relation in ("<", "<=") or (not stated.relation and not quality)
    broken = [p for p in found if (p[2].value > limit + slack if below else p[2].value < limit - slack)]
    facts = [
        fact(f"final_{slug(s.name)} [{run.label[-60:]}]", p.value, "last finite value", of_point(s, p))
        for run, s, p in found[:10]
    ]
    told = f"last values from {shown(min(lasts))} to {shown(max(lasts))} over {len(lasts)} runs"
    count = whole(one["m"]) if (one := _COUNT.search(statement.sentence.text)) else None
    if count is not None and count > len(found) and not broken:
        return unknown(f"{told}; {count} are stated", facts)
    return verdict(not broken, told, facts)
