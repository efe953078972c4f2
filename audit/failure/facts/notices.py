"""Numbers that tools print about themselves: retries and waits, coverage, device architectures, examples made."""

import math
import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.make import fact
from audit.failure.model import DISCOUNTED, Line

_WAIT = re.compile(
    r"(?i)\bretr(?:y|ying)\b[^\n]{0,40}?\bin (?P<wait>\d{1,6}(?:\.\d{1,3})?) ?(?:s|sec|seconds)\b"
)
_RETRY = re.compile(
    r"(?i)\bretrying\b|\bretry \d+ ?(?:/|of) ?\d+|\[retry \d+/\d+\]|\battempt \d+ ?(?:/|of) ?\d+"
)
_TOTAL = re.compile(
    r"TOTAL +(?P<statements>\d{1,9}) +(?P<missed>\d{1,9})(?: +(?P<branches>\d{1,9}) +(?P<partial>\d{1,9}))? +(?P<share>\d{1,3}(?:\.\d+)?)%"
)
_REQUIRED = re.compile(r"(?:Required test coverage of|fail-under ?=) ?(?P<limit>\d{1,3}(?:\.\d{1,4})?)")
_TOO_NEW = re.compile(r"with CUDA capability sm_(\d{2,3})\w? is not compatible")
_SUPPORTED = re.compile(r"supports? CUDA capabilit(?:y|ies)((?: (?:sm|compute)_\d{2,3}\w?)+)")
_MADE = re.compile(r"(\d[\d,]{0,12}) examples \[")


def facts(lines: Sequence[Line]) -> Iterator[Fact]:
    """All that are found, each kind once."""
    short = [line for line in lines if len(line.text) < 2_000]
    yield from _coverage(short)
    yield from _architectures(short)
    yield from _retries(short)
    yield from _http_errors(short)
    yield from _examples(lines)
    yield from _announced(short)
    yield from _overflows(short)
    yield from _vocabularies(short)


def _place(line: Line) -> str:
    return f"{line.source}:{line.number}"


def _coverage(lines: Sequence[Line]) -> Iterator[Fact]:
    total = next(
        (line for line in reversed(lines) if "TOTAL" in line.text and _TOTAL.search(line.text)), None
    )
    found = _TOTAL.search(total.text) if total is not None else None
    if total is None or found is None or not integer(found["statements"]):
        return
    all_, missed = integer(found["statements"]), integer(found["missed"])
    if found[
        "branches"
    ]:  # coverage.py counts branches in: (covered statements + branches taken) / (statements + branches)
        all_ += integer(found["branches"])
        missed = round(all_ * (1 - float(found["share"]) / 100))
    inputs = [FactInput("statements", all_, _place(total)), FactInput("missed", missed, _place(total))]
    coverage = 1 - missed / all_
    yield fact("coverage", coverage, "1 - missed / statements", inputs)
    limit_line = next(
        (line for line in lines if "overage" in line.text and _REQUIRED.search(line.text)), None
    )
    limit = _REQUIRED.search(limit_line.text) if limit_line is not None else None
    if limit is not None and limit_line is not None:
        required = float(limit["limit"]) / 100
        told = [FactInput("required", required, _place(limit_line)), *inputs]
        yield fact("required_coverage", required, "limit / 100", told)
        if coverage < required:
            yield fact("coverage_shortfall", required - coverage, "required - coverage", told)
            needed = math.ceil(required * all_ - 1e-9) - (all_ - missed)
            yield fact("statements_to_cover", needed, "ceil(required * statements) - covered", told)


def _architectures(lines: Sequence[Line]) -> Iterator[Fact]:
    device = next(
        (line for line in lines if "CUDA capability" in line.text and _TOO_NEW.search(line.text)), None
    )
    built = next(
        (line for line in lines if "CUDA capabilit" in line.text and _SUPPORTED.search(line.text)), None
    )
    if device is not None and (found := _TOO_NEW.search(device.text)):
        yield fact(
            "device_capability",
            integer(found[1]),
            "sm_ of the device",
            [FactInput("sm", integer(found[1]), _place(device))],
        )
    if built is not None and (known := _SUPPORTED.search(built.text)):
        newest = max(integer(number) for number in re.findall(r"_(\d{2,3})", known[1]))
        yield fact(
            "newest_supported_capability",
            newest,
            "largest sm_ that the installation was built for",
            [FactInput("sm", newest, _place(built))],
        )


def _retries(lines: Sequence[Line]) -> Iterator[Fact]:
    told = [line for line in lines if "etry" in line.text and _RETRY.search(line.text)]
    waits = [(line, float(found["wait"])) for line in told if (found := _WAIT.search(line.text))]
    if told:
        yield fact(
            "retries",
            len(told),
            "lines that announce a retry",
            [FactInput("first", "retry", _place(told[0])), FactInput("last", "retry", _place(told[-1]))],
        )
    if waits:
        inputs = [FactInput("wait", wait, _place(line)) for line, wait in waits[:20]]
        yield fact(
            "retry_wait_s", sum(wait for _, wait in waits), "sum of the waits announced", inputs, unit="s"
        )


def _examples(lines: Sequence[Line]) -> Iterator[Fact]:
    for line in reversed(lines):
        text = line.raw if "\r" in line.raw else line.text
        counts = _MADE.findall(text) if " examples [" in text else []
        if counts:
            made = integer(counts[-1].replace(",", ""))
            yield fact(
                "examples_generated",
                made,
                "examples that the last progress bar shows",
                [FactInput("examples", made, _place(line))],
            )
            return


_HTTP = re.compile(
    r"\bHTTP (?:Error|status|code)?:? ?([45]\d\d)\b|\b([45]\d\d) (?:Client|Server) Error\b|\bstatus(?: code|_code)?[ :=]{1,3}([45]\d\d)\b"
)


def _http_errors(lines: Sequence[Line]) -> Iterator[Fact]:
    """How many lines tell the HTTP error that is told most often."""
    by_status: dict[int, list[Line]] = {}
    for line in lines:
        found = (
            _HTTP.search(line.text)
            if "HTTP" in line.text or " Error" in line.text or "status" in line.text
            else None
        )
        if found is not None and not line.kinds & DISCOUNTED:
            by_status.setdefault(integer(found[1] or found[2] or found[3]), []).append(line)
    if by_status:
        status, told = max(by_status.items(), key=lambda item: len(item[1]))
        yield fact(
            f"http_{status}_lines",
            len(told),
            f"lines that tell HTTP error {status}",
            [FactInput("first", status, _place(told[0]))],
        )


_HEADING = re.compile(r"(?:={2,}+>?|>{2,}+|-{2,}+>|#{2,}+) ++([A-Za-z][\w./-]{0,60})(?: \S.{0,200})?$")
_FEWEST = 3


def _announced(lines: Sequence[Line]) -> Iterator[Fact]:
    """How many runs a script announces: headings that begin alike (`==> train.py lr=0.1`, `=== seed 3`)."""
    headings: dict[str, list[Line]] = {}
    for line in lines:
        found = (
            _HEADING.match(line.text.strip()) if line.text.lstrip()[:2] in ("==", ">>", "--", "##") else None
        )
        if (
            found is not None
            and not line.text.rstrip().endswith("=")
            and not line.kinds & DISCOUNTED
            and len(headings) < 1_000
        ):
            headings.setdefault(found[1], []).append(line)
    if headings:
        word, told = max(headings.items(), key=lambda item: len(item[1]))
        if len(told) >= _FEWEST:
            yield fact(
                "announced_runs",
                len(told),
                f'headings that begin with "{word}"',
                [FactInput("first", told[0].text.strip()[:80], _place(told[0]))],
            )


_OVERFLOW = re.compile(
    r"\bOVERFLOW\b|\b[Gg]radient overflow\b|\boverflow (?:detected|occurred)\b|\b[Oo]verflow\b.{0,40}\b[Ss]kipping\b"
)


def _overflows(lines: Sequence[Line]) -> Iterator[Fact]:
    """Steps that a loss scaler skipped, as the lines of the first writer tell them."""
    told = [line for line in lines if "verflow" in line.text.lower() and _OVERFLOW.search(line.text)]
    own = [line for line in told if line.stream.rank == told[0].stream.rank] if told else []
    if len(own) > 1:
        ends = [
            FactInput("first", "overflow", _place(own[0])),
            FactInput("last", "overflow", _place(own[-1])),
        ]
        yield fact("overflow_steps", len(own), "lines that tell of an overflow", ends)


_VOCABULARY = re.compile(
    r"(?i)\b(?:padded[ _-]?)?vocab(?:ulary)?(?:[ _-]?size)?[ :=]{1,4}(?P<size>\d{3,8})\b(?!\.\d)"
)
_TOKENIZER = re.compile(
    r"(?i)\btokenizer\b.{0,240}?\b(?:len(?:gth)?|size|tokens|total)\)?[ :=]{1,4}(?P<size>\d{3,8})\b(?!\.\d)"
)


def _vocabularies(lines: Sequence[Line]) -> Iterator[Fact]:
    """The sizes of the model's vocabulary and of the tokenizer, where the log tells both and they differ."""
    model = tokenizer = None
    for line in lines:
        if "okeni" not in line.text and "vocab" not in line.text.lower():
            continue
        of_tokenizer = _TOKENIZER.search(line.text)
        of_model = _VOCABULARY.search(line.text) if of_tokenizer is None else None
        if of_tokenizer is not None:
            tokenizer = tokenizer or FactInput("tokenizer", integer(of_tokenizer["size"]), _place(line))
        elif of_model is not None:
            model = model or FactInput("vocabulary", integer(of_model["size"]), _place(line))
    if model is None or tokenizer is None or model.value == tokenizer.value:
        return
    yield fact("model_vocabulary", int(model.value or 0), "as the log tells it", [model])
    yield fact("tokenizer_vocabulary", int(tokenizer.value or 0), "as the log tells it", [tokenizer])
    yield fact(
        "tokenizer_minus_model_vocabulary",
        int(tokenizer.value or 0) - int(model.value or 0),
        "tokenizer - model",
        [tokenizer, model],
    )
