"""Claims that something did not happen ("zero recompilations", "no record was skipped"), against what lines of the log tell of it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from audit.documents.verdict import Fact, FactInput
from audit.failure.claims.model import Sentence
from audit.failure.claims.result import Result, fact, unknown, verdict
from audit.failure.digits import integer
from audit.failure.model import DISCOUNTED, Kind, Line, Reading

_SPECIFIC: Final = (
    "recompil", "graph break", "retr", "fallback", "falling back", "overflow", "evict", "preempt", "restart", "unreadable", "corrupt", "truncat",
    "discard", "out of memory",
)  # fmt: skip
_GENERAL: Final = ("skipped", "dropped", "duplicated")
"""Words that many tools print of other things: the line has to speak of the same thing."""
_STEMS: Final = "|".join(stem.replace(" ", r"[- ]") for stem in (*_SPECIFIC, *_GENERAL))
_DENIED: Final = re.compile(
    rf"\b(?:no|zero|0|without(?: any| a)?|never|not a single|free of|none of the)\b (?P<what>(?:[\w-]+ ){{0,4}}?)(?P<event>(?:{_STEMS})\w*)",
    re.IGNORECASE,
)
_EVENT: Final = re.compile(rf"\b(?:{_STEMS})\w*", re.IGNORECASE)
_STOP: Final = frozenset(
    "was were is are be been has have any a an the of as being got one single more further data".split()
)
_COURSE: Final = re.compile(r"\b(?:nans?|infs?|spikes?|diverg\w*)\b", re.IGNORECASE)
"""What is looked for in the values themselves."""
_TESTS: Final = re.compile(r"\b\d+ (?:passed|failed|skipped)\b.* in \d|\bSKIPPED\b|\bPASSED\b|^test result:")
_UNHEARD: Final = DISCOUNTED | {Kind.COMMAND, Kind.SOURCE}
_AFTER: Final = re.compile(r"\bafter\b.{0,30}\bwarm-?up\b", re.IGNORECASE)
_WARM: Final = re.compile(r"\bwarm-?up\b", re.IGNORECASE)


def denied(text: str) -> bool:
    """Whether a sentence says that something of this kind did not happen."""
    return _DENIED.search(text) is not None and _COURSE.search(text) is None


def check_events(sentence: Sentence, reading: Reading | None) -> Result:
    """Contradicted by lines that tell of it, with how often; a log that tells of none proves nothing."""
    found = _DENIED.search(sentence.text)
    if found is None or reading is None:
        return unknown("no log was given")
    stems = [_stem(match[0]) for match in _EVENT.finditer(sentence.text)]
    nouns = [word.lower().rstrip("s") for word in found["what"].split() if word.lower() not in _STOP]
    told = list(_told(reading.lines, stems, nouns))
    if _AFTER.search(sentence.text):
        warm = max(
            (line.number for line in reading.lines if _WARM.search(line.text) and not line.kinds & _UNHEARD),
            default=None,
        )
        if warm is None and told:
            return unknown(f"{len(told)} lines tell of it; where the warm-up ends is not told")
        told = [one for one in told if warm is not None and one[0].number > warm]
    if not told:
        return unknown("no line of the log tells of it, which proves nothing")
    inputs = [FactInput("line", count, f"{line.source}:{line.number}") for line, count in told[:20]]
    facts: list[Fact] = [
        fact(f"lines_of_{stems[0].replace(' ', '_')}", len(told), "lines that tell of it", *inputs)
    ]
    total = sum(count for _, count in told if count is not None)
    if total:
        facts.append(
            fact(f"sum_of_{stems[-1].replace(' ', '_')}", total, "sum of the numbers on these lines", *inputs)
        )
    first = told[0][0]
    return verdict(False, f"{len(told)} lines tell of it, the first at {first.source}:{first.number}", facts)


def _stem(word: str) -> str:
    lowered = word.lower().replace("-", " ")
    return next(stem for stem in (*_SPECIFIC, *_GENERAL) if lowered.startswith(stem))


def _told(
    lines: Sequence[Line], stems: Sequence[str], nouns: Sequence[str]
) -> Iterator[tuple[Line, int | None]]:
    """The lines that hold each of the words, and what is spoken of where the words are common ones; with the number beside the word."""
    common = all(stem in _GENERAL for stem in stems)
    for line in lines:
        text = line.text.lower() if len(line.text) < 2_000 else ""
        if (
            not text
            or line.kinds & _UNHEARD
            or not all(_begins(stem, text) for stem in stems)
            or _TESTS.search(line.text)
        ):
            continue
        if common and not any(noun in text for noun in nouns):
            continue
        counts = [count for stem in stems if (count := _count(stem, text)) is not None]
        if 0 in counts or re.search(
            rf"\b(?:no|not|without|never|zero)\b[^.,;]{{0,24}}\b(?:{'|'.join(map(re.escape, stems))})", text
        ):
            continue
        if not counts and stems[0] == "recompil" and "recompiling" not in text:
            continue  # its reasons stand on lines of their own
        yield line, counts[0] if counts else None


def _begins(stem: str, text: str) -> bool:
    return re.search(rf"(?<![a-z]){re.escape(stem)}", text) is not None


def _count(stem: str, text: str) -> int | None:
    """The number right before or after the word: `unreadable 262`, `3 retries`, `skipped: 0`."""
    escaped = re.escape(stem)
    after = re.search(rf"(?<![a-z]){escaped}[a-z]*(?: [a-z]+)?[ :=]{{1,3}}(\d{{1,12}})\b", text)
    before = re.search(rf"\b(\d{{1,12}}) (?:[a-z]+ )?{escaped}", text)
    found = after or before
    return integer(found[1]) if found is not None else None
