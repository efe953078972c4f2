"""What category an exception or a failed check belongs to: by its signature, by the comparison it states, by its type."""

import re
from collections.abc import Sequence

import msgspec

from audit.documents.verdict import Category
from audit.failure.cause.candidate import Strength
from audit.failure.cause.scene import category_of
from audit.failure.cause.wording import (
    BAD_DATA,
    CAPITAL,
    CASCADE_TYPES,
    CODE_ONLY,
    CONFIG_TYPE,
    DATA_TYPES,
    ERRNO,
    GOLDEN,
    HTTP_STATUS,
    INFRA_TYPES,
    OS_CODES,
    PARAMETER,
    SETTING,
    TAKEN_FROM,
    is_data,
    speaks_of_surroundings,
)
from audit.failure.digits import integer
from audit.failure.model import Hit
from audit.failure.structure.comparison import (
    Comparison,
    Subject,
    better_than_bound,
    comparison,
    subject_of,
    too_tight,
)


class Judged(msgspec.Struct, frozen=True):
    """What a line was found to be. `sure`: nothing else fits."""

    signature: str
    category: Category | None
    strength: Strength
    hit: Hit | None = None
    comparison: Comparison | None = None
    sure: bool = False
    why: str = ""


STRUCTURAL = frozenset(
    {
        "uncaught_exception",
        "assertion_failed",
        "comparison_failed",
        "numeric_mismatch",
        "pytest_failed_line",
        "pytest_error_line",
        "pytest_block_header",
        "collection_error",
        "unittest_failed_line",
        "step_exit_code",
        "warning_line",
    }
)
"""Signatures that say that something failed, in a form that many failures share."""
_ORDER = {"root": 0, "confirming": 1, "cascade": 2}

_CHECKING = (
    "",
    "AssertionError",
    "Failed",
    "ValueError",
    "SystemExit",
    "RuntimeError",
    "Exception",
    "FloatingPointError",
)
"""Exceptions by which code reports that a check did not hold."""


def states_a_check(hit: Hit) -> bool:
    """Whether a signature is of a check on numbers: what the number is of decides its category."""
    return hit.signature.family == "numeric" and hit.signature.category in ("by_context", "metric_policy")


def best_hit(hits: Sequence[Hit]) -> Hit | None:
    """The hit that says most: known roots first, of them one that decides a category, then in the catalogue's order."""
    named = [hit for hit in hits if hit.signature.id not in STRUCTURAL and hit.signature.role in _ORDER]
    return min(
        named,
        key=lambda hit: (_ORDER[hit.signature.role], hit.signature.category == "by_context"),
        default=None,
    )


def judge(
    kind: str,
    message: str,
    hits: Sequence[Hit],
    *,
    context: str = "",
    place: str = "",
    extra: str = "",
    source: str = "",
) -> Judged:
    """An exception (`kind`, `message`) or a failed check (`kind` ""). `context`: the test's or step's name; `place`: the innermost
    file of the repository in its traceback; `extra`: further lines of its text; `source`: the statement that raised it.
    """
    hit = best_hit(hits)
    name = kind.rpartition(".")[2]
    if (
        name == "KeyError"
        and source
        and not TAKEN_FROM.search(source)
        and not CAPITAL.fullmatch(message.strip())
    ):
        return Judged("key_error", Category.CORRECTNESS, Strength.GENERIC)
    if (
        hit is not None
        and hit.signature.role == "root"
        and not states_a_check(hit)
        and hit.signature.category != "by_context"
    ):
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit, sure=True)
    checked = _checked(message, extra, context, source) if name in _CHECKING else None
    stated = name in ("", "SystemExit") and checked is not None and checked.strength >= 2
    if name in CASCADE_TYPES or (hit is not None and hit.signature.role == "cascade" and not stated):
        signature = hit.signature.name if hit is not None else _snake(name)
        return Judged(signature, category_of(hit.signature.category) if hit else None, Strength.CASCADE, hit)
    if checked is not None and (
        name in ("", "AssertionError", "Failed", "SystemExit") or (checked.strength >= 2 and checked.stated)
    ):
        judged = _check(checked, name, message + " " + extra, hit, context=context, source=source)
        if judged is not None:
            return judged
    if hit is not None and hit.signature.role == "root":
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit)
    return _by_type(name, message, hit, context=context, place=place, source=source)


_INTROSPECTED = re.compile(r"assert (?:[-+]?\d|\.\d)\S{0,40} (?:[<>=!]=?) .{1,80}$")


_SAYS_NOTHING = re.compile(r"(?:False is not true|True is not false|None is not true|assert False)?$")
_ASSERTED = re.compile(r"assert(?:True|False)?[ (]+(?P<left>[^<>=]{2,120}?) ?(?P<op>[<>]=?) ?[^<>=]{1,80}$")
_OF_A_FORM = re.compile(r"shape|\blen\(|numel|dtype|\bndim\b|size\(|count")


def _checked(message: str, extra: str, context: str, source: str) -> Comparison | None:
    """The check that a message states; where its own words hold no relation, the one that pytest prints below them (`assert 0.84 >= 0.95`),
    and where there are no words at all, the statement's own (`assertTrue(accuracy > 0.9)`).
    """
    found = comparison(message, context)
    if found is not None and found.actual is not None and found.limit is not None:
        return found
    subject = subject_of(message, context)
    shown = next((row for row in extra.split("\n") if _INTROSPECTED.match(row.strip())), "")
    if found is None and not shown and _SAYS_NOTHING.match(message.strip()):
        asserted = _ASSERTED.search(source)
        of = subject_of(asserted["left"]) if asserted and not _OF_A_FORM.search(source) else Subject.UNKNOWN
        if asserted is not None and of in (Subject.QUALITY, Subject.PERFORMANCE, Subject.MEMORY):
            return Comparison(of, 2, operator=asserted["op"], word=asserted["op"])
    told = comparison(shown.strip()) if shown and subject is not Subject.UNKNOWN else None
    return found if told is None else msgspec.structs.replace(told, subject=subject)


def _check(
    found: Comparison, name: str, text: str, hit: Hit | None, *, context: str, source: str
) -> Judged | None:
    """A failed check, by what it looks at."""
    signature = hit.signature.name if hit is not None else f"{found.subject.value}_gate"
    equal = found.operator in ("==", "!=") or found.word == "not close"
    match found.subject:
        case _ if too_tight(found):
            return Judged(
                "tolerance_too_tight",
                Category.METRIC_POLICY,
                Strength.NAMED,
                hit,
                found,
                why="The error is within what float32 resolution and another order of summation give.",
            )
        case _ if better_than_bound(found, text, source):
            return Judged(
                "better_than_bound",
                Category.METRIC_POLICY,
                Strength.NAMED,
                hit,
                found,
                why="The value is better than the bound against surprises allows: the reference is out of date, or the bound too near.",
            )
        case Subject.POLICY if re.search(
            r"\bcoverage\b|docstr|interrogate", f"{text} {context}", re.IGNORECASE
        ):
            return Judged("coverage_threshold", Category.METRIC_POLICY, Strength.NAMED, hit, found)
        case Subject.PERFORMANCE | Subject.MEMORY | Subject.POLICY:
            return Judged(signature, Category.METRIC_POLICY, Strength.NAMED, hit, found)
        case Subject.QUALITY if equal and not GOLDEN.search(text):
            return Judged(
                signature if hit else "numeric_mismatch", Category.CORRECTNESS, Strength.NAMED, hit, found
            )
        case Subject.QUALITY:
            return Judged(
                signature if hit else "quality_below_limit",
                Category.ML_REGRESSION,
                Strength.NAMED,
                hit,
                found,
            )
        case Subject.NUMERICS:
            return Judged(
                hit.signature.name if hit else "numeric_mismatch",
                Category.CORRECTNESS,
                Strength.NAMED,
                hit,
                found,
            )
        case Subject.FINITE:
            unit = bool(re.search(r"(?:^|/)tests?/", context)) and not re.search(
                r"train|fit|run|e2e|convergence", context
            )
            return Judged(
                "loss_not_finite",
                Category.CORRECTNESS if unit else Category.ML_REGRESSION,
                Strength.NAMED,
                hit,
                found,
            )
    if hit is not None and hit.signature.role == "root" and hit.signature.category != "by_context":
        return Judged(hit.signature.name, category_of(hit.signature.category), Strength.NAMED, hit, found)
    if name in ("", "AssertionError", "Failed"):
        data = is_data(text, context)
        return Judged(
            "assertion_failed",
            Category.DATA_CONFIG if data else Category.CORRECTNESS,
            Strength.GENERIC,
            hit,
            found,
        )
    return None


def _by_type(
    name: str, message: str, hit: Hit | None, *, context: str, place: str, source: str = ""
) -> Judged:
    """By the exception's type, where neither a signature nor a comparison decides."""
    signature = hit.signature.name if hit is not None else _snake(name) if name else "assertion_failed"
    if code := ERRNO.search(message):
        category = OS_CODES.get(integer(code[1]), Category.CORRECTNESS)
        return Judged(signature, category, Strength.GENERIC, hit)
    if (http := HTTP_STATUS.search(message)) and re.search(
        r"HTTP|Status|Client|Server|Request|API|url", name + message
    ):
        status = integer(http["code"] or http["code2"])
        infra = status >= 500 or status in (408, 429)
        return Judged(
            "http_error", Category.INFRA_RUNTIME if infra else Category.DATA_CONFIG, Strength.NAMED, hit
        )
    if name in INFRA_TYPES:
        return Judged(signature, Category.INFRA_RUNTIME, Strength.GENERIC, hit)
    if name in DATA_TYPES or CONFIG_TYPE.search(name):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name in ("KeyboardInterrupt", "SystemExit"):
        return Judged(signature, None, Strength.CASCADE, hit)
    if name in (
        "ValueError",
        "RuntimeError",
        "KeyError",
        "AssertionError",
        "IndexError",
        "Exception",
        "OSError",
        "",
    ) and is_data(message, place or context):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name not in CODE_ONLY and name and speaks_of_surroundings(message):
        return Judged(signature, Category.INFRA_RUNTIME, Strength.GENERIC, hit)
    if name not in CODE_ONLY and (BAD_DATA.search(message) or PARAMETER.search(message)):
        return Judged(signature, Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name == "KeyError" and TAKEN_FROM.search(source):
        return Judged("key_missing", Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name in (
        "ValueError",
        "KeyError",
        "RuntimeError",
        "Exception",
        "SystemExit",
        "NotImplementedError",
    ) and SETTING.search(message):
        return Judged("invalid_setting", Category.DATA_CONFIG, Strength.GENERIC, hit)
    if name == "KeyError" and CAPITAL.fullmatch(message.strip()):
        return Judged("environment_variable_missing", Category.DATA_CONFIG, Strength.GENERIC, hit)
    return Judged(signature, Category.CORRECTNESS, Strength.GENERIC, hit)


def _snake(name: str) -> str:
    """`ZeroDivisionError` as `zero_division_error`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower() or "error"
