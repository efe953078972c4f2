"""From a sentence to statements: what it is about, which way, with which numbers (reference 5.1).

A sentence that hedges ("should", "we expect"), that speaks of the future or of another's work states nothing that could be checked.
"""

import re
from itertools import pairwise
from typing import Final

from audit.failure.claims.events import denied
from audit.failure.claims.model import Family, Quantity, Sentence, Statement
from audit.failure.claims.quantities import quantities

_HEDGE: Final = re.compile(
    r"\b(?:up to|should|would|could|might|may|expect\w*|hope\w*|aim\w*|plan(?:ned|s)? to|will|intend\w*|target(?:s|ed|ing)?|todo|tbd|not yet|perhaps"
    r"|probably|likely|in theory|ideally|potentially|if |to be (?:done|measured|checked)|wip|untested"
    r"|proposal|proposed|paper|see #|as in #|not (?:measured|tested|checked))\b",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"\?\s*$")

_SPEED: Final = re.compile(
    r"\b(?:throughput|speed|faster|slower|speed[- ]?ups?|speeds? up|sped up|latency|tokens?/s(?:ec)?|tok/s|tokens? per second|samples?/s"
    r"|it/s|steps?/s"
    r"|step[- ]time|iteration[- ]time|time per (?:step|iteration)|wall[- ]?(?:clock|time)|runtime|training time|mfu|tflops|quicker|images/s|fps)\b",
    re.IGNORECASE,
)
_MEMORY: Final = re.compile(r"\b(?:memory|vram|mem|rss|oom|out[- ]of[- ]memory|footprint)\b", re.IGNORECASE)
_QUALITY: Final = re.compile(
    r"\b(?:loss(?:es)?|accuracy|acc|top-?[15]|f1|bleu|rouge\w*|perplexity|ppl|auc|auroc|map|miou|iou|wer|cer|score|scores|reward|returns?"
    r"|quality|rmse|mae|mse"
    r"|trains? better|converge[sd]? (?:better|faster)|bpb|pass@1|exact match|success rate|solved|win rate)\b",
    re.IGNORECASE,
)
_LIMITED: Final = re.compile(
    r"\b(?:stay(?:s|ed|ing)?|remain(?:s|ed|ing)?|kept|keeps?|never|always|throughout|at no (?:step|point|time)|not once|does not|doesn't"
    r"|(?:in|at|on) (?:every|all|each|any) steps?)\b"
    r".{0,40}\b(?:below|under|above|over|exceed\w*|within|at most|at least|less than|more than|lower than|higher than|between)\b"
    r"|\b(?:below|under|above|at most|at least|less than|more than|lower than|higher than|between)\b.{0,40}\b(?:throughout|at all times"
    r"|(?:in|at|on) (?:every|all|each) steps?)\b",
    re.IGNORECASE,
)
"""That a value keeps to one side of a number."""
_COURSE: Final = re.compile(
    r"\b(?:loss(?:es)?|norms?|kl|entropy|loss[ _-]?scale|perplexity|learning[ _-]rate|lr)\b", re.IGNORECASE
)
"""What has a course over the steps that a limit can hold for; of a score only the end is meant."""
_STABILITY: Final = re.compile(
    r"\b(?:no|without|zero|free of|never)\b[^.]{0,40}\b(?:nans?|infs?|spikes?|divergences?|overflows?|instabilit\w+|diverg\w+)\b"
    r"|\b(?:stable|stably|converge[sd]?|nan-free|does not diverge|loss is finite|stays finite|smooth(?:ly)?)\b",
    re.IGNORECASE,
)
_COMPLETION: Final = re.compile(
    r"\b(?:finish(?:ed|es)?|complet(?:ed|es|e)|converged|ran to (?:the end|completion))\b"
    r"|\b(?:all (?:\d+ )?(?:seeds|runs|steps|epochs)|(?:\d+) ?(?:/|of) ?(?:\d+) (?:seeds|runs))\b.{0,40}\b(?:ran|reach(?:ed|es)? (?:step"
    r"|the end|\d)|succeed(?:ed|s)?|done)\b",
    re.IGNORECASE,
)
_SCALE: Final = re.compile(
    r"\b(?:trained (?:on|for)|consum\w+|saw|seen|processed|tokens|steps|epochs|iterations|samples|parameters|params)\b",
    re.IGNORECASE,
)
_RAN: Final = re.compile(r"\b(?:trained|ran|run|training ran) (?:for )?(?:the )?(?:full )?\d", re.IGNORECASE)
_SPREAD: Final = re.compile(
    r"\b(?:spread|standard deviation|std|variance|varies|vary|variation|seed[- ]to[- ]seed|run[- ]to[- ]run|deviation)\b",
    re.IGNORECASE,
)
_REGRESSION: Final = re.compile(
    r"\bno\b[^.]{0,30}\b(?:regressions?|degradation|change in|difference in|loss of (?:quality|accuracy)|impact on|drop in|effect on)\b"
    r"|\b(?:does not|doesn't|without) (?:regress|degrad|affect|chang|hurt)\w*|\b(?:unchanged|neutral|identical (?:loss|accuracy|curves?|results?))\b"
    r"|\bmatch(?:es|ed|ing)?\b|\bidentical\b|\bexactly the same\b",
    re.IGNORECASE,
)
_TESTS: Final = re.compile(
    r"\b(?:all|every|the|\d+) (?:\w+ ){0,3}(?:tests?|checks?|ci)\b[^.]{0,30}\b(?:pass(?:es|ed|ing)?|green|succeed\w*|ok)\b"
    r"|\btests? (?:all )?pass(?:es|ed)?\b"
    r"|\bno (?:test )?failures\b|\bci is green\b",
    re.IGNORECASE,
)
_DETERMINISM: Final = re.compile(
    r"\b(?:bit[- ]?(?:wise[- ])?(?:identical|exact|equal|reproducible)|bitwise|deterministic"
    r"|exactly (?:the )?same (?:loss|losses|values|curve)|reproducib\w+|identical losses)\b",
    re.IGNORECASE,
)
_ORIGIN: Final = re.compile(
    r"\b(?:unrelated (?:to|failure)|not related|pre-?existing|already (?:fails|failing|broken) on|flaky|flake|also fails on main"
    r"|fails on main too)\b",
    re.IGNORECASE,
)

_BETTER: Final = re.compile(
    r"\b(?:faster|quicker|higher|better|improv\w+|increase[sd]?|gain\w*|up|speed[- ]?ups?|more|raises?|boost\w*|larger|greater)\b",
    re.IGNORECASE,
)
_WORSE: Final = re.compile(
    r"\b(?:slower|lower|worse|reduc\w+|decrease[sd]?|drop\w*|down|less|fewer|smaller|falls?|fell|cuts?|shrinks?|saves?|halv\w+)\b",
    re.IGNORECASE,
)
_INSTEAD: Final = re.compile(
    r"^[\s,;]*(?:[\w/%-]+\s){0,4}(?:\(?(?:instead of|rather than|vs\.?|versus|compared (?:to|with)|against|over|down from|up from|from|was"
    r"|previously|before))\s",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(r"\bby(?: \w+){0,2} ?[+\-−–~≈]?$", re.IGNORECASE)
_ARROW: Final = re.compile(r"^[^.\d]{0,24}(?:->|→|⟶|=>|\bto\b)[^.\d]{0,12}$")
_WITHIN: Final = re.compile(
    r"\b(?:within|below|under|less than|at most|no more than|smaller than|max(?:imum)?|±|<|<=|≤|differs? by|up to)\s*$",
    re.IGNORECASE,
)


_UNIT: Final = r"(?P<noun>seed|run|fold|trial|task|dataset|env|environment)s?\b"
_EACH: Final = re.compile(
    r"\b(?:every|each|all|none|no)\b(?: single| one)?(?: of)?(?: the| our)?(?: \w+){0,2}? " + _UNIT
    + r"|\b(?P<n>\w{1,9}) ?(?:/|of|out of) (?:the )?(?P<m>\w{1,9}) " + _UNIT.replace("noun", "noun_2"),
    re.IGNORECASE,
)  # fmt: skip
_DECLINED: Final = re.compile(r"\b(?:regress|degrad)\w*", re.IGNORECASE)
_REACHED: Final = re.compile(
    r"\b(?:reach\w*|achiev\w*|exceed\w*|stay\w*|ends?|is|are|scores?|above|below|under|over|at least|at most)\b.{0,30}\d\.\d|\d ?%",
    re.IGNORECASE,
)
_TOGETHER: Final = re.compile(r"\b(?:averag\w*|mean|median|overall|in total|together)\b", re.IGNORECASE)


def _each(text: str) -> str:
    """What a change is said of one by one: `seed` of "improves on every seed", "on 3 of 4 seeds"."""
    found = _EACH.search(text)
    changed = (_BETTER, _WORSE, _REGRESSION, _DECLINED, _REACHED)
    if found is None or _TOGETHER.search(text) or not any(pattern.search(text) for pattern in changed):
        return ""
    return (found["noun"] or found["noun_2"]).lower()


def statements(sentence: Sentence) -> list[Statement]:
    """What a sentence states, most specific first; nothing where it hedges or is about nothing measured."""
    text = sentence.text
    if _HEDGE.search(text) or _QUESTION.search(text):
        return []
    numbers = quantities(text)
    made = []
    for part in _families(text, numbers):
        made.append(_statement(part, sentence, numbers))
    return made


def _families(text: str, numbers: list[Quantity]) -> list[Family]:
    """The families of a sentence. A general word ("no regression", "unchanged") counts with what it is said of."""
    found: list[Family] = []
    units = {q.unit for q in numbers}
    alone = _alone(text, numbers)
    if alone is not None:
        return [alone]
    if _TESTS.search(text):
        found.append(Family.TESTS)
    if _SPREAD.search(text):
        return [*found, Family.SPREAD]
    if _DETERMINISM.search(text):
        found.append(Family.DETERMINISM)
    if _is_speed(text) and (
        numbers or _BETTER.search(text) or _WORSE.search(text) or _REGRESSION.search(text)
    ):
        found.append(Family.SPEED)
    if _MEMORY.search(text) and (numbers or _BETTER.search(text) or _WORSE.search(text)):
        found.append(Family.MEMORY)
    if _COMPLETION.search(text) and (
        units & {"seeds", "seed", "runs", "run", "steps", "epochs", "iterations"} or "all" in text.lower()
    ):
        found.append(Family.COMPLETION)
    if (units & {"tokens", "token", "samples"} and not found and _SCALE.search(text)) or (
        units & {"tokens", "token"} and Family.SPEED not in found
    ):
        found.append(Family.SCALE)
    if units & {"steps", "step", "iterations"} and not found and _RAN.search(text):
        found.append(Family.SCALE)
    limited = bool(numbers) and bool(_LIMITED.search(text)) and bool(_COURSE.search(text)) and not found
    if limited or (_STABILITY.search(text) and Family.COMPLETION not in found):
        found.append(Family.STABILITY)
    if (
        _QUALITY.search(text)
        and Family.STABILITY not in found
        and Family.DETERMINISM not in found
        and _says_how_much(text, numbers)
    ):
        found.append(Family.QUALITY)
    if not found and _REGRESSION.search(text) and re.search(r"\bregress|degrad", text, re.IGNORECASE):
        found.append(Family.REGRESSION)
    return found


def _alone(text: str, numbers: list[Quantity]) -> Family | None:
    """A family that leaves room for no other: whose failure it is, what did not happen, what holds of each single run."""
    if _ORIGIN.search(text):
        return Family.ORIGIN
    if _TESTS.search(text) or _MEMORY.search(text):
        return None
    if denied(text):
        return Family.EVENTS
    each = bool(_each(text)) and (bool(_QUALITY.search(text)) or not numbers)
    return Family.QUALITY if each and not _is_speed(text) else None


_PACE: Final = ("faster", "slower", "quicker")


def _is_speed(text: str) -> bool:
    """Whether a sentence is about how fast something runs: "the loss falls faster" is not."""
    words = {match[0].lower() for match in _SPEED.finditer(text)}
    return bool(words) and not (words <= set(_PACE) and _QUALITY.search(text))


def _says_how_much(text: str, numbers: list[Quantity]) -> bool:
    return bool(numbers or _BETTER.search(text) or _WORSE.search(text) or _REGRESSION.search(text))


def _statement(family: Family, sentence: Sentence, numbers: list[Quantity]) -> Statement:
    text = sentence.text
    new, old = _sides(text, _of_family(family, numbers))
    return Statement(
        family=family,
        sentence=sentence,
        metric=_metric(family, text),
        direction=_direction(text),
        quantities=tuple(numbers),
        new=new,
        old=old,
        bound=_bound(text, numbers),
        each=_each(text) if family is Family.QUALITY else "",
    )


_RATE_UNITS: Final = re.compile(r"(?:/s|per s|/ s)")


def _of_family(family: Family, numbers: list[Quantity]) -> list[Quantity]:
    """The numbers that can be values of what a statement is about: no counts of steps or seeds, no ratios."""
    if family is Family.SPEED:
        return [
            q for q in numbers if _RATE_UNITS.search(q.unit) or q.unit in ("", "ms", "s", "µs", "min", "h")
        ]
    if family is Family.MEMORY:
        return [q for q in numbers if q.unit in ("GiB", "GB", "MiB", "MB", "KiB", "kB", "")]
    return [q for q in numbers if q.unit in ("", "%", "pp")]


def _sides(text: str, numbers: list[Quantity]) -> tuple[Quantity | None, Quantity | None]:
    """(new, old) of "new instead of old", "from old to new", "old -> new"."""
    for first, second in pairwise(numbers):
        between = text[first.end : second.start]
        if len(between) > 60 or (first.unit != second.unit and first.unit and second.unit):
            continue
        if _CHANGE.search(text[max(0, first.start - 20) : first.start]):
            continue  # "improves by 0.02 to 0.81"
        if _ARROW.match(between):
            return second, first
        if _INSTEAD.match(" " + between + " ") or _INSTEAD.match(between + " "):
            return first, second
    return None, None


def _direction(text: str) -> int:
    better, worse = _BETTER.search(text), _WORSE.search(text)
    if better and worse:
        return 1 if better.start() < worse.start() else -1
    return 1 if better else -1 if worse else 0


def _bound(text: str, numbers: list[Quantity]) -> Quantity | None:
    """The number of "within 0.5 %", "spread below 0.1", "± 0.2"."""
    for number in numbers:
        if number.unit in ("steps", "seeds", "epochs", "runs", "tokens"):
            continue
        if number.relation in ("<", "<=") or _WITHIN.search(
            text[max(0, number.start - 24) : number.start].rstrip(" ±<≤=") + " "
        ):
            return number
    return None


_HELD_OUT: Final = re.compile(r"\b(?:val(?:idation)?|eval(?:uation)?|test|dev|held[- ]out)\b", re.IGNORECASE)


def _metric(family: Family, text: str) -> str:
    """The metric as the sentence names it."""
    patterns = {
        Family.SPEED: _SPEED,
        Family.MEMORY: _MEMORY,
        Family.QUALITY: _QUALITY,
        Family.SPREAD: _QUALITY,
        Family.REGRESSION: _QUALITY,
    }
    pattern = patterns.get(family)
    found = list(pattern.finditer(text)) if pattern else []
    if not found:
        return ""
    for match in found:  # "no loss regression: the validation loss is …" is about the validation loss
        held_out = _HELD_OUT.search(text[max(0, match.start() - 14) : match.start()])
        if held_out:
            return f"{held_out[0].lower()} {match[0].lower()}"
    return found[0][0].lower()
