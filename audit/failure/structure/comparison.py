"""A sentence that says a check did not hold: what was looked at, the numbers, and whether it reads as a failure or as a success.

Gates are written by people: `900 > 200`, `0.30 < required 0.90`, `accuracy 0.903 is below the floor 0.935`, `[FAIL] throughput: …`.
The words looked for are those of comparison and of limits.
"""

import re

import msgspec

from audit.failure.digits import integer
from audit.failure.structure.subjects import Subject, higher_is_better, subject_of
from audit.failure.structure.verdict_rows import NUMBER as _N
from audit.failure.structure.verdict_rows import UNIT as _UNIT
from audit.failure.structure.verdict_rows import bad_verdict, row
from audit.failure.structure.verdict_rows import number as _value

__all__ = ["Comparison", "Subject", "better_than_bound", "comparison", "subject_of", "too_tight"]


class Comparison(msgspec.Struct, frozen=True):
    """A check that did not hold. `actual`, `limit`: the sides where the sentence gives them. `relative`: `actual` is itself an error
    and `limit` its tolerance. `strength`: 3 numbers and a relation, 2 a relation in words, 1 only a mark of failure. `stated`: the
    sentence says that the check failed; otherwise only its numbers do.
    """

    subject: Subject
    strength: int
    actual: float | None = None
    limit: float | None = None
    operator: str = ""
    relative: bool = False
    word: str = ""
    stated: bool = True


_LONGEST = 2000
"""Characters of a line that are looked at: a sentence is shorter."""
_MOST = 12
"""Operators or words of a line that are tried."""
_LIMITS = (
    "the|its|required|allowed|expected|golden|maximum|minimum|max|min|limit|threshold|floor|budget|baseline|target|tolerance|rtol|atol|"
    "ceiling|bound|cap|tol|quota|fail-under|need|reference"
)
_RELATION = re.compile(r"<=|>=|!=|==|=/=|[<>≤≥≠]")
_LEFT = re.compile(rf"(?P<a>{_N}){_UNIT} ?$")
_RIGHT = re.compile(rf" ?\(?(?:(?:{_LIMITS})\.?(?: of)?[ =:]{{1,3}}){{0,3}}(?P<b>{_N})")
_TERM = re.compile(rf" (?P<sign>[-+*/]) (?P<n>{_N})(?! ?%)")
_MOST_TERMS = 3
_WORD = re.compile(
    r"\b(?P<op>below|under|less than|lower than|smaller than|worse than|fell short of|short of|above|over|exceed(?:s|ed|ing)?|greater than|"
    r"more than|higher than|larger than|slower than|no(?:t|t any)? better than|beyond|outside(?: of)?|not within|not in|misses|missed)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"[^\d;]{{0,60}}?(?P<b>{_N})")
_COUNTED = re.compile(
    r"\s?(?:seeds|runs|episodes|epochs|iterations|samples|repeats|repetitions|trials|batches|windows|questions|items|prompts|ranks|nodes|tests)\b"
)
"""What a number counts that tells only of how much a mean was taken: `over 5 seeds` compares nothing."""
_NUMBER = re.compile(_N)
_LOW = (
    "below",
    "under",
    "less",
    "lower",
    "smaller",
    "short",
    "misses",
    "missed",
    "fell",
    "no better",
    "not better",
)
_FAIL = re.compile(
    r"^\W{0,4}(?:FAIL(?:ED|URE)?|✗|✘|❌|NOT OK|REGRESSION)\b|\[(?:FAIL(?:ED)?|ERROR|✗)\]|"
    r"\b(?:gate|check|test|threshold|budget|slo|quality|criterion|criteria)\b.{0,40}\b(?:failed|not met|not reached|violated|missed|exceeded)\b|"
    r"\b(?:regress(?:ed|ion)|not reached|not met|too (?:slow|low|high|large|many|few|tight)|exceeded|out of tolerance|mismatch|violat(?:ed|es|ion)|"
    r"NOT SOLVED|degraded|dropped|worse than|off by|differs?|did not (?:reach|improve|converge|decrease|meet))\b|^(?:ERROR|FATAL|Error)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"(?:^|\W)(?:PASS(?:ED)?|OK|✓|✔|✅|success(?:ful(?:ly)?)?)(?:\W|$)|\b(?:within (?:tolerance|limits?|budget)|gate passed|check passed|all good)\b",
    re.IGNORECASE,
)
_LIMIT_WORD = re.compile(
    r"\b(?:floor|limit|threshold|budget|baseline|tolerance|rtol|atol|golden|required|minimum|maximum|target|ceiling|bound|allowed|expected|"
    r"reference|cap|fail-under|min|max|want(?:ed)?)\b",
    re.IGNORECASE,
)
_AGREE = re.compile(
    r"(?:Tensor-likes|Scalars|Nested tensor-likes|Booleans|Values) are not (?:close|equal)|Not equal to tolerance|Arrays are not (?:almost )?equal|"
    r"assert_(?:trees_)?all_close|values? are not within"
)
_NOT_FINITE = re.compile(
    r"\b(?:is|are|was|became|turned|contains?|has|found|detected|got|=|:) ?(?:not finite|non-?finite|nan|inf(?:inite)?)\b|"
    r"\b(?:nan|non-?finite)\b.{0,30}\b(?:detected|found|encountered|at step|stopping|abort)|diverged",
    re.IGNORECASE,
)
_ERROR_WORDS = re.compile(
    r"relative (?:error|difference|diff)|rel(?:ative)?[-_ ]?err|\brtol\b|\batol\b|tolerance|abs(?:olute)? (?:error|difference|diff)|"
    r"max[-_ ]?(?:abs)?[-_ ]?diff|error",
    re.IGNORECASE,
)


_PLACES = re.compile(rf"(?P<a>{_N}) != (?P<b>{_N}) within (?:(?P<places>\d{{1,2}}) places|(?P<t>{_N}) delta)")
_APPROX = re.compile(rf"assert (?P<a>{_N}) == (?P<b>{_N}) ± (?P<t>{_N})")
_EQUAL = re.compile(rf"(?:assert |^|: )(?P<a>{_N}) (?:==|!=) (?P<b>{_N})$")
_LONG = 6
"""Digits of a decimal that was computed and not chosen."""


def comparison(text: str, context: str = "") -> Comparison | None:
    """The failed check that a line states, None where it states none. `context`: the test's id or the step's command."""
    text = text[:_LONGEST]
    failing = _FAIL.search(text)
    marked = failing is not None or bad_verdict(text)
    if not marked and _GOOD.search(text):
        return None
    if _AGREE.search(text):
        return Comparison(Subject.NUMERICS, 2, word="not close")
    if (close := _closeness(text)) is not None:
        subject = subject_of(text, context)
        return close if subject is Subject.UNKNOWN else msgspec.structs.replace(close, subject=subject)
    found = _by_row(text, marked=marked) if bad_verdict(text) else None
    found = found or _by_operator(text, limited=marked) or _by_word(text, limited=marked)
    found = found or _by_row(text, marked=marked)
    if found is None and failing is None and not _NOT_FINITE.search(text):
        return None
    subject = subject_of(text, context)
    if found is not None:
        return msgspec.structs.replace(found, subject=subject)
    if (
        failing is not None
        and (_LIMIT_WORD.search(text) or subject is not Subject.UNKNOWN)
        and _NUMBER.search(text)
    ):
        return Comparison(subject, 2, word=failing[0])
    if subject is Subject.FINITE:
        return Comparison(subject, 2, word="not finite")
    return (
        Comparison(subject, 1, word=failing[0])
        if failing is not None and subject is not Subject.UNKNOWN
        else None
    )


def _closeness(text: str) -> Comparison | None:
    """Two numbers that had to agree, as unittest, pytest's `approx` and a plain equality of long decimals print them: the relative error
    and what was allowed.
    """
    found = _PLACES.search(text) or _APPROX.search(text) or _EQUAL.search(text)
    if found is None:
        return None
    a, b = _value(found["a"]), _value(found["b"])
    if a is None or not b or (found.re is _EQUAL and min(_digits(found["a"]), _digits(found["b"])) < _LONG):
        return None
    groups = found.groupdict()
    places, allowed = groups.get("places"), _value(groups.get("t") or "0")
    limit = 0.5 * 10.0 ** -integer(places) if places else allowed or 0.0
    return Comparison(
        Subject.NUMERICS, 3, abs(a - b) / abs(b), limit / abs(b), "==", relative=True, word="not close"
    )


def _digits(text: str) -> int:
    return len(text.partition("e")[0].replace(".", "").lstrip("-+0")) if "." in text else 0


def _by_operator(text: str, *, limited: bool) -> Comparison | None:
    """`A op B` with numbers on both sides. An operator states what was required (asserted code) or what was found; both name the check."""
    limited = limited or bool(_LIMIT_WORD.search(text))
    for _, relation in zip(range(_MOST), _RELATION.finditer(text), strict=False):
        left = _LEFT.search(text[max(0, relation.start() - 40) : relation.start()])
        right = _RIGHT.match(text[relation.end() : relation.end() + 90]) if left is not None else None
        if left is None or right is None:
            continue
        at_an_end = relation.start() < 24 or relation.end() + right.end() >= len(text) - 12
        if limited or at_an_end:
            a, b = _value(left["a"]), _reckoned(text, relation.end() + right.end(), _value(right["b"]))
            return Comparison(Subject.UNKNOWN, 3, a, b, relation[0], _is_error(text, a, b), relation[0])
    return None


def _reckoned(text: str, at: int, value: float | None) -> float | None:
    """A limit that is written with its allowance: `0.775 - 0.03`, `31.2 * 0.9`."""
    for _ in range(_MOST_TERMS):
        term = _TERM.match(text, at)
        other = _value(term["n"]) if term is not None else None
        if term is None or other is None or value is None or (term["sign"] == "/" and not other):
            break
        by = {"-": -other, "+": other, "*": value * (other - 1), "/": value / (other or 1) - value}
        value += by[term["sign"]]
        at = term.end()
    return value


def _by_word(text: str, *, limited: bool) -> Comparison | None:
    """`A is below B`, with the number before it where there is one."""
    for _, word in zip(range(_MOST), _WORD.finditer(text), strict=False):
        right = _AFTER.match(text[word.end() : word.end() + 100])
        if right is None or (word["op"].lower() == "over" and _COUNTED.match(text, word.end() + right.end())):
            continue
        before = _NUMBER.findall(text[max(0, word.start() - 60) : word.start()])
        if not before and not limited and not _LIMIT_WORD.search(text):
            continue
        a, b = _value(before[-1]) if before else None, _value(right["b"])
        operator = "<" if word["op"].lower().startswith(_LOW) else ">"
        return Comparison(
            Subject.UNKNOWN, 3 if a is not None else 2, a, b, operator, _is_error(text, a, b), word["op"]
        )
    return None


def _by_row(text: str, *, marked: bool) -> Comparison | None:
    """A number and its limit beside each other. Where the line does not say that the check failed, the numbers do, which is less."""
    found = row(text)
    if found is None:
        return None
    stated = found.stated or marked
    return Comparison(
        Subject.UNKNOWN, 3 if stated else 2, found.actual, found.limit, found.required,
        _is_error(text, found.actual, found.limit), found.word, stated,
    )  # fmt: skip


def _is_error(text: str, a: float | None, b: float | None) -> bool:
    """Whether the sides are an error and its tolerance: both small, and the sentence speaks of one."""
    return bool(a is not None and b is not None and abs(b) < 0.5 and _ERROR_WORDS.search(text))


FLOAT32_EPS = 2.0**-23
TIGHT = 32 * FLOAT32_EPS
"""A relative error of a few tens of units of float32 resolution is what another order of summation, kernel or machine gives."""


def too_tight(found: Comparison) -> bool:
    """The check holds two computations closer together than float32 lets them be."""
    return bool(
        found.relative
        and found.actual is not None
        and abs(found.actual) <= TIGHT
        and found.limit is not None
        and abs(found.limit) < TIGHT
    )


_ASSERTED = re.compile(
    rf"assert\w*[ (](?P<left>[^<>]{{2,200}}?)(?P<op><=?|>=?|, ?)(?: ?)(?P<right>{_N}|[A-Z][A-Z_\d]{{2,40}})\s*(?:,|\)|#|$)"
)
_SIDE = re.compile(
    r"\b(?:upper|lower|max(?:imum)?|min(?:imum)?|ceiling|floor|at most|at least)\b", re.IGNORECASE
)


def better_than_bound(found: Comparison, text: str, source: str = "") -> bool:
    """Whether the value is on the good side of the bound that it broke: a gate of two sides, of which the one against surprises failed.

    `source`: the statement that raised. Where the order of the sides is not plain (`assert LEAST < accuracy`) nothing is said.
    """
    if found.actual is None or found.limit is None or found.relative or found.operator in ("==", "!="):
        return False
    asserted = _ASSERTED.search(source)
    named = asserted["left"] if asserted is not None else text
    better = higher_is_better(named)
    if found.subject not in (Subject.QUALITY, Subject.PERFORMANCE) or better is None:
        return False
    plain = asserted is not None or found.word not in ("<", ">", "<=", ">=", "≤", "≥")
    told = asserted is not None or (
        found.operator[:1] in ("<", ">") and found.stated and bool(_SIDE.search(text) or found.word.isupper())
    )
    return plain and told and (found.actual > found.limit if better else found.actual < found.limit)
