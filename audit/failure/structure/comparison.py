"""A sentence that says a check did not hold: what was looked at, the numbers, and whether it reads as a failure or as a success.

Gates are written by people: `900 > 200`, `0.30 < required 0.90`, `accuracy 0.903 is below the floor 0.935`, `[FAIL] throughput: …`.
The words looked for are those of comparison and of limits, and the names of what is measured; none belongs to one project.
"""

import math
import re
from enum import StrEnum

import msgspec


class Subject(StrEnum):
    """What a check looks at."""

    QUALITY = "quality"  # how good the model is
    PERFORMANCE = "performance"  # time, throughput
    MEMORY = "memory"
    POLICY = "policy"  # coverage, warnings, sizes of files, style: neither the model nor the run
    NUMERICS = "numerics"  # whether two computations agree
    FINITE = "finite"  # whether values are numbers at all
    UNKNOWN = "unknown"


class Comparison(msgspec.Struct, frozen=True):
    """A check that did not hold. `actual`, `limit`: the sides where the sentence gives them. `relative`: `actual` is itself an error
    and `limit` its tolerance. `strength`: 3 numbers and a relation, 2 a relation in words, 1 only a mark of failure.
    """

    subject: Subject
    strength: int
    actual: float | None = None
    limit: float | None = None
    operator: str = ""
    relative: bool = False
    word: str = ""


_N = r"[-+]?(?:\d[\d,_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_UNIT = r"(?: ?(?:%|ms|us|s|sec|seconds|MiB|GiB|MB|GB|KB|x|pp|points?|tokens?/s(?:ec)?|samples?/s(?:ec)?|it/s|steps|lines|tok/s))?"
_LIMIT = r"(?:(?:the |its |required |allowed |expected |golden |maximum |minimum |max(?:imum)?\.? |min(?:imum)?\.? |limit(?: of)? |threshold(?: of)? |floor(?: of)? |budget(?: of)? |baseline(?: of)? |target(?: of)? |tolerance(?: of)? |rtol ?=? ?|atol ?=? ?|ceiling(?: of)? |bound(?: of)? |cap(?: of)? |tol ?=? ?|fail-under=?|quota ){0,3})"
_OPERATOR = re.compile(rf"(?P<a>{_N}){_UNIT} ?(?P<op><=|>=|!=|<|>|==|=/=|≤|≥|≠) ?{_LIMIT}[=:]? ?(?P<b>{_N})")
_WORDS = re.compile(
    rf"(?P<a>{_N})?{_UNIT}[^.;\d]{{0,40}}?\b(?P<op>below|under|less than|lower than|smaller than|worse than|fell short of|short of|above|over|exceed(?:s|ed|ing)?|greater than|more than|higher than|larger than|slower than|beyond|outside(?: of)?|not within|not in|misses|missed)\b[^\d;]{{0,60}}?(?P<b>{_N})",
    re.IGNORECASE,
)
_LOW = ("below", "under", "less", "lower", "smaller", "short", "misses", "missed", "fell")
_FAIL = re.compile(
    r"^\W{0,4}(?:FAIL(?:ED|URE)?|✗|✘|❌|NOT OK|REGRESSION)\b|\[(?:FAIL(?:ED)?|ERROR|✗)\]|\b(?:gate|check|test|threshold|budget|slo|quality|criterion|criteria)\b.{0,40}\b(?:failed|not met|not reached|violated|missed|exceeded)\b|"
    r"\b(?:regress(?:ed|ion)|not reached|not met|too (?:slow|low|high|large|many|few|tight)|exceeded|out of tolerance|mismatch|violat(?:ed|es|ion)|NOT SOLVED|degraded|dropped|worse than|off by|differs?|did not (?:reach|improve|converge|decrease|meet))\b|^(?:ERROR|FATAL|Error)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"(?:^|\W)(?:PASS(?:ED)?|OK|✓|✔|✅|success(?:ful(?:ly)?)?)(?:\W|$)|\b(?:within (?:tolerance|limits?|budget)|gate passed|check passed|all good)\b",
    re.IGNORECASE,
)
_LIMIT_WORD = re.compile(
    r"\b(?:floor|limit|threshold|budget|baseline|tolerance|rtol|atol|golden|required|minimum|maximum|target|ceiling|bound|allowed|expected|reference|cap|fail-under|min|max|want(?:ed)?)\b",
    re.IGNORECASE,
)
_SUBJECTS: tuple[tuple[Subject, "re.Pattern[str]"], ...] = (
    (Subject.FINITE, re.compile(r"\b(?:nan|inf|infinite|non-?finite|not finite|isfinite)\b", re.IGNORECASE)),
    (
        Subject.PERFORMANCE,
        re.compile(
            r"(?:iteration|step|wall|elapsed|run|epoch|train(?:ing)?|inference|compile|load|startup|response|forward|backward|kernel|data|batch|total|gpu|cpu)?[-_ ]?(?:\btime\b|times?\b|duration)|latency|throughput|tokens?[-_ /]*(?:per|/)[-_ ]*s|tok/s|samples?[-_ /]*(?:per|/)[-_ ]*s|images?/s|it/s|\bfps\b|\bqps\b|\brps\b|speed(?:-?up)?\b|slow(?:er|down)?\b|\bttft\b|\btpot\b|\bitl\b|\bmfu\b|tflops?|flop/s|bandwidth|gb/s|\bms\b|benchmark|perf(?:ormance)?\b|\bseconds\b|\bp(?:50|90|95|99)\b|utili[sz]ation",
            re.IGNORECASE,
        ),
    ),
    (
        Subject.POLICY,
        re.compile(
            r"coverage|warning(?:s|\b)|log (?:budget|lines|size)|lines? of code|\blint|docstring|complexity|(?:file|wheel|package|binary|image|artifact|checkpoint|model|bundle|diff)[-_ ]?size|changelog|deprecat|snapshot|todo|number of params|param(?:eter)?[-_ ]count|logged|logging|log_every|\bmetrics? (?:not found|missing)",
            re.IGNORECASE,
        ),
    ),
    (
        Subject.MEMORY,
        re.compile(
            r"memory|\bmem\b|mem[-_]|\brss\b|[-_ ]mem\b|allocated|\bvram\b|\bGiB\b|\bMiB\b", re.IGNORECASE
        ),
    ),
    (
        Subject.NUMERICS,
        re.compile(
            r"tensor-likes|allclose|not close|not (?:almost )?equal|mismatch(?:ed)? elements|grad(?:ient)? ?check|gradcheck|abs(?:olute)?[-_ ]diff|max[-_ ]diff|max[-_ ]?abs|bit(?:wise|-identical)|determinis|checksum|logits|hidden[-_ ]states|parity|\bulp\b|grad(?:ient)?[-_ ]norm|equivalen",
            re.IGNORECASE,
        ),
    ),
    (
        Subject.QUALITY,
        re.compile(
            r"loss|accuracy|\bacc\b|[-_]acc\b|acc[-_@]|perplexity|\bppl\b|\bauc\b|auroc|\bf1\b|[-_]f1\b|bleu|rouge|meteor|\bcer\b|\bwer\b|reward|\breturns?\b|success[-_ ]rate|solved|\bscores?\b|[-_]score|\bmap\b|mAP|m?iou\b|dice|exact[-_ ]match|\bem\b|pass@|pass[-_ ]rate|\br2\b|r²|rmse|\bmse\b|\bmae\b|mape|error[-_ ]rate|top-?[15]|\bfid\b|finish[-_ ]rate|win[-_ ]rate|recall|precision|ndcg|\bmrr\b|elbo|\bkl\b|\bquality\b|gsm8k|mmlu|hellaswag|\barc\b|eval(?:uation)?\b|converge|psnr|ssim|\blpips\b|correlation|spearman|pearson|\bmcc\b|kappa|episode|regret|calibration|\bece\b|hit[-_ ]rate|spread|seeds",
            re.IGNORECASE,
        ),
    ),
)
_AGREE = re.compile(
    r"(?:Tensor-likes|Scalars|Nested tensor-likes|Booleans|Values) are not (?:close|equal)|Not equal to tolerance|Arrays are not (?:almost )?equal|assert_(?:trees_)?all_close|values? are not within"
)
_NOT_FINITE = re.compile(
    r"\b(?:is|are|was|became|turned|contains?|has|found|detected|got|=|:) ?(?:not finite|non-?finite|nan|inf(?:inite)?)\b|\b(?:nan|non-?finite)\b.{0,30}\b(?:detected|found|encountered|at step|stopping|abort)|diverged",
    re.IGNORECASE,
)
_TINY = re.compile(
    r"relative (?:error|difference|diff)|rel(?:ative)?[-_ ]?err|\brtol\b|\batol\b|tolerance|abs(?:olute)? (?:error|difference|diff)|max[-_ ]?(?:abs)?[-_ ]?diff|error",
    re.IGNORECASE,
)


def subject_of(text: str, context: str = "") -> Subject:
    """What a check looks at, by the name that stands first in its sentence; `context` (a test's or step's name) where it has none."""
    path, _, name = context.rpartition("::")
    for part in (text, name, path):
        part = part.replace("_", " ")
        found = [
            (match.start(), order, subject)
            for order, (subject, pattern) in enumerate(_SUBJECTS)
            if (match := pattern.search(part))
        ]
        if found:
            subjects = {subject for _, _, subject in found}
            if Subject.FINITE in subjects:
                return Subject.FINITE
            return min(found)[2]
    return Subject.UNKNOWN


def comparison(text: str, context: str = "") -> Comparison | None:
    """The failed check that a line states, None where it states none."""
    text = text[:2000]
    if _GOOD.search(text) and not _FAIL.search(text):
        return None
    subject = subject_of(text, context)
    if _AGREE.search(text):
        return Comparison(Subject.NUMERICS, 2, word="not close")
    failing = _FAIL.search(text)
    operator = _OPERATOR.search(text)
    words = _WORDS.search(text)
    if operator is not None and (
        failing or _LIMIT_WORD.search(text) or operator.end() >= len(text) - 12 or operator.start() < 12
    ):
        a, b = _number(operator["a"]), _number(operator["b"])
        # an operator and its sides can state what was required ("a < b" asserted) or what was found: both sides name the check
        return Comparison(subject, 3, a, b, operator["op"], _is_error(text, a, b), operator["op"])
    if words is not None and (words["a"] or _LIMIT_WORD.search(text) or failing):
        a = _number(words["a"]) if words["a"] else _before(text, words.start("op"))
        low = words["op"].lower().startswith(_LOW)
        return Comparison(
            subject,
            3 if a is not None else 2,
            a,
            _number(words["b"]),
            "<" if low else ">",
            _is_error(text, a, _number(words["b"])),
            words["op"],
        )
    if failing and (_LIMIT_WORD.search(text) or subject is not Subject.UNKNOWN) and re.search(r"\d", text):
        return Comparison(subject, 2, word=failing[0])
    if subject is Subject.FINITE and (failing or _NOT_FINITE.search(text)):
        return Comparison(subject, 2, word="not finite")
    if failing and subject is not Subject.UNKNOWN:
        return Comparison(subject, 1, word=failing[0])
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _before(text: str, end: int) -> float | None:
    found = re.findall(_N, text[max(0, end - 80) : end])
    return _number(found[-1]) if found else None


def _is_error(text: str, a: float | None, b: float | None) -> bool:
    """Whether the sides are an error and its tolerance: both small, and the sentence speaks of one."""
    return bool(a is not None and b is not None and abs(b) < 0.5 and _TINY.search(text))


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
