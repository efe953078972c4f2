"""What lines around the cause state: the numbers of the lines that follow it, sizes of data, exit codes of inner tools, time limits,
how often a kind of line comes, and on how many ranks the cause was told.
"""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.make import fact
from audit.failure.facts.stated import numbers_of
from audit.failure.model import DISCOUNTED, Kind, Line

_AFTER, _BEFORE = 5, 2
_MOST_NUMBERS = 10
_LONGEST = 1_500
_UNHEARD = DISCOUNTED | {Kind.COMMAND, Kind.SOURCE, Kind.TRACEBACK}


def facts(lines: Sequence[Line], cause: Line | None, told: Sequence[Fact] = ()) -> Iterator[Fact]:
    """The general ones, after all that is computed: at most a dozen or so."""
    short = [line for line in lines if 0 < len(line.text) < _LONGEST]
    yield from _against_stated(short, cause, told)
    yield from _ranks(short, cause)
    yield from _sizes(short)
    yield from _exits(short, cause)
    yield from _limits(short)
    yield from _repeated(short)
    yield from _world(short)
    yield from _errors_of_ranks(short)
    yield from _devices(short)
    yield from _flags(short, cause)
    yield from _neighbours(short, cause)


def _place(line: Line) -> str:
    return f"{line.source}:{line.number}"


_DIGITS = re.compile(r"\d+")
_FRAME = re.compile(r'^\s*(?:File "|at |#\d+ |\d+: 0x|in |raise |return |self\.|\^|~|\|?$)|^\S+\(.*\)$')


_REFERENCE = frozenset(("main", "mean", "baseline", "reference", "history", "previous", "median", "master"))
_DEVIATION = frozenset(("std", "stdev", "sd", "sigma", "stderr", "deviation", "se"))


def _against_stated(lines: Sequence[Line], cause: Line | None, told: Sequence[Fact]) -> Iterator[Fact]:
    """The number that was judged against the mean and the deviation of earlier runs that lines beside the cause state."""
    own = next((one for one in told if one.name == "actual"), None) or next(
        (one for one in told if one.name.endswith("_limit")), None
    )
    if own is not None and own.name.endswith("_limit"):
        own = next((one for one in told if one.name == own.name.removesuffix("_limit")), None)
    if cause is None or own is None or not isinstance(own.value, int | float):
        return
    near = [cause, *_near(lines, cause)]
    stated = [(one, line) for line in near for one in numbers_of(line.text)]
    reference = next(
        ((one, line) for one, line in stated if one.name in _REFERENCE and one.value != own.value), None
    )
    if reference is None or not reference[0].value:
        return
    one, line = reference
    inputs = [*own.inputs[:1], FactInput(one.name, one.text, _place(line))]
    gap = float(own.value) - one.value
    yield fact(f"change_to_{one.name}", gap, f"actual - {one.name}", inputs)
    yield fact(f"relative_change_to_{one.name}", gap / one.value, f"actual / {one.name} - 1", inputs)
    error = next(((e, at) for e, at in stated if e.name in _DEVIATION and e.value > 0), None)
    if error is not None:
        inputs.append(FactInput(error[0].name, error[0].text, _place(error[1])))
        yield fact(
            f"deviations_from_{one.name}",
            gap / error[0].value,
            f"(actual - {one.name}) / {error[0].name}",
            inputs,
        )


def _near(lines: Sequence[Line], cause: Line) -> list[Line]:
    near = [
        line
        for line in lines
        if line.source == cause.source
        and -_BEFORE <= line.number - cause.number <= _AFTER
        and line.number != cause.number
    ]
    return sorted(near, key=lambda line: (line.number < cause.number, abs(line.number - cause.number)))


def _neighbours(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """The numbers of the lines right after the cause and before it, under the words before them."""
    if cause is None:
        return
    near = _near(lines, cause)
    named: dict[str, int] = {}
    count = 0
    for line in near:
        if line.kinds & _UNHEARD or _FRAME.match(line.text) or (cause.stream.rank != line.stream.rank):
            continue
        for one in numbers_of(line.text):
            if not (one.name or one.unit or "." in one.text) or count == _MOST_NUMBERS:
                continue
            count += 1
            name = one.name or "number"
            named[name] = named.get(name, 0) + 1
            name = f"{name}_{named[name]}" if named[name] > 1 else name
            inputs = [FactInput("number", one.text + one.unit, _place(line))]
            yield fact(
                f"{name}_beside_cause",
                one.plain,
                "as a line beside the cause says",
                inputs,
                unit=one.told_unit,
            )


def _ranks(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """How often the cause's message comes, its digits aside, and from how many ranks."""
    if cause is None:
        return
    message = _DIGITS.sub("#", cause.text.strip())
    alike = [line for line in lines if _DIGITS.sub("#", line.text.strip()) == message]
    ranks = {line.stream.rank for line in alike if line.stream.rank is not None}
    inputs = [FactInput("line", None, _place(line)) for line in alike[:20]]
    if len(ranks) > 1:
        yield fact("ranks_with_cause", len(ranks), "ranks that print the cause's message", inputs)
    if len(alike) > 1 and len(alike) != len(ranks):
        yield fact("lines_with_cause", len(alike), "lines with the cause's message", inputs)


_ERROR = re.compile(r"^[\w.]{0,80}(?:Error|Exception)\b")


def _errors_of_ranks(lines: Sequence[Line]) -> Iterator[Fact]:
    """The error that most ranks print, and how many do."""
    ranks: dict[str, dict[int, Line]] = {}
    for line in lines:
        if line.stream.rank is not None and _ERROR.match(line.text) and len(ranks) < 500:
            ranks.setdefault(_DIGITS.sub("#", line.text.strip()), {}).setdefault(line.stream.rank, line)
    most = max(ranks.values(), key=len, default={})
    if len(most) > 1:
        inputs = [
            FactInput(f"rank {rank}", "error", _place(line)) for rank, line in sorted(most.items())[:20]
        ]
        yield fact("ranks_with_same_error", len(most), "ranks that print the error that most print", inputs)


_PROCESS = re.compile(
    r"^\s*(?P<pid>\d{2,8}),?\s+(?P<mib>\d{1,7}) ?MiB\b"
    r"|^\|\s+\d+\s+N/A\s+N/A\s+(?P<pid2>\d{2,8})\s+\S+\s+\S{1,80}\s+(?P<mib2>\d{1,7})MiB"
)
_DEVICE = re.compile(r"^GPU \d{1,3}: .{1,120}\(UUID")


def _devices(lines: Sequence[Line]) -> Iterator[Fact]:
    """What nvidia-smi lists: devices, and the process that holds most."""
    listed = [line for line in lines if _DEVICE.match(line.text.strip())]
    if listed:
        inputs = [FactInput("device", None, _place(line)) for line in listed[:20]]
        yield fact(
            "devices_listed",
            len({line.text.strip() for line in listed}),
            "devices that nvidia-smi lists",
            inputs,
        )
    held = [(found, line) for line in lines if "MiB" in line.text and (found := _PROCESS.match(line.text))]
    if held:
        found, line = max(held, key=lambda item: integer(item[0]["mib"] or item[0]["mib2"]))
        size = integer(found["mib"] or found["mib2"])
        inputs = [FactInput(f"process {found['pid'] or found['pid2']}", size, _place(line))]
        yield fact(
            "largest_gpu_process_mib",
            size,
            "most that one process holds, as nvidia-smi lists it",
            inputs,
            unit="MiB",
        )


_FLAG = re.compile(
    r"(?<!\S)--(?P<name>[a-z][\w-]{1,40})(?:=| )(?:[a-z]+:)?(?P<value>\d{1,12}(?:\.\d{1,6})?)(?P<unit>%|s|m|h)?(?=\s|$|[\"'])"
)
_MOST_FLAGS = 6


def _flags(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """The numbers that the last command before the cause was given."""
    commands = [
        line
        for line in lines
        if Kind.COMMAND in line.kinds
        and " --" in line.text
        and (cause is None or (line.source == cause.source and line.number < cause.number))
    ]
    for line in commands[-1:]:
        for _, found in zip(range(_MOST_FLAGS), _FLAG.finditer(line.text), strict=False):
            value = float(found["value"]) / (100 if found["unit"] == "%" else 1)
            told = int(value) if value.is_integer() and found["unit"] != "%" else value
            inputs = [FactInput(found["name"], found["value"] + (found["unit"] or ""), _place(line))]
            yield fact(
                found["name"].replace("-", "_"),
                told,
                "as the command was given it",
                inputs,
                unit=(found["unit"] or "").replace("%", ""),
            )


_SIZE = re.compile(
    r"(?<![\w.:/-])(?P<n>\d{1,3}(?:,\d{3})+|\d{1,12}) (?P<what>(?:[a-z]+ )?(?:rows|samples|examples|records|images|sequences|documents"
    r"|files|shards|questions|prompts|entries|columns|features|classes))\b"
)
_MOST_SIZES = 4


def _sizes(lines: Sequence[Line]) -> Iterator[Fact]:
    """How much data the log tells of: `read train.csv: 2400 rows`. Of each kind the last."""
    found: dict[str, tuple[int, Line]] = {}
    for line in lines:
        if line.kinds & _UNHEARD or Kind.METRIC in line.kinds or "%|" in line.text:
            continue
        for match in _SIZE.finditer(line.text[:400]):
            found.pop(match["what"], None)
            found[match["what"]] = (integer(match["n"].replace(",", "")), line)
    for what, (count, line) in list(found.items())[-_MOST_SIZES:]:
        yield fact(
            what.replace(" ", "_"), count, "as the log tells it last", [FactInput(what, count, _place(line))]
        )


_EXIT = re.compile(
    r"(?:exit(?:ed|s)?(?: with)?(?: return)? (?:status|code)|returned? (?:with )?(?:non-zero )?(?:exit )?(?:status|code)|exitcode"
    r"|\bstatus)\s?[:=]?\s{0,2}\(?(?P<code>-?\d{1,5})\b",
    re.IGNORECASE,
)
_MOST_EXITS = 3


def _exits(lines: Sequence[Line], cause: Line | None) -> Iterator[Fact]:
    """Exit codes other than 0 of the tools of the cause's log."""
    codes: dict[int, Line] = {}
    for line in lines:
        if cause is not None and (line.source != cause.source or line.number < cause.number):
            continue
        found = _EXIT.search(line.text) if "ode" in line.text or "tatus" in line.text else None
        code = integer(found["code"].lstrip("-")) if found is not None else 0
        if code and code not in codes:
            codes[code] = line
    for code, line in list(codes.items())[:_MOST_EXITS]:
        yield fact(
            f"exit_code_{code}",
            code,
            "exit code as the log tells it",
            [FactInput("line", None, _place(line))],
        )


_TIME = re.compile(
    r"(?i)\b(?:time[- ]?(?:out|limit)|timed out|too long|longer than|exceeded|no output|maximum (?:execution )?time|deadline"
    r"|after waiting)\b\D{0,50}?"
    r"(?P<n>\d{1,7}(?:\.\d{1,3})?) ?(?P<unit>ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h)(?:(?P<s>\d{1,2})s)?\b"
    r"|\b(?P<n2>\d{1,7}) ?(?P<unit2>ms|seconds?|s|minutes?|min|m|hours?|h)(?:0s)? (?:timeout|limit|time limit)\b"
)
_SECONDS = {"ms": 1e-3, "milli": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _limits(lines: Sequence[Line]) -> Iterator[Fact]:
    """The last limit of time that the log says was reached, in seconds and in minutes."""
    for line in reversed(lines):
        found = _TIME.search(line.text) if "%|" not in line.text and not line.kinds & _UNHEARD else None
        if found is None:
            continue
        unit = (found["unit"] or found["unit2"]).lower()
        scale = _SECONDS["ms"] if unit.startswith(("ms", "milli")) else _SECONDS[unit[0]]
        seconds = float(found["n"] or found["n2"]) * scale + (integer(found["s"]) if found["s"] else 0)
        inputs = [FactInput("limit", found.group()[-60:], _place(line))]
        yield fact("time_limit_s", seconds, "limit that the log names", inputs, unit="s")
        if seconds >= 60:
            yield fact("time_limit_min", seconds / 60, "limit / 60", inputs, unit="min")
        return


_TELLING = re.compile(
    r"(?i)\b(?:wait\w*|retr\w+|attempt\w*|timed? ?out|recompil\w+|graph break|overflow\w*|skipp\w+|not ready|fail\w*|dropp\w+|evict\w+"
    r"|restart\w*|reconnect\w*|warning|ok)\b"
)
_MOST_KINDS = 3
_LEAST = 3


def _repeated(lines: Sequence[Line]) -> Iterator[Fact]:
    """How often the most frequent kinds of line come that tell of waiting, trying again, or failing."""
    kinds: dict[str, list[Line]] = {}
    for line in lines:
        if line.kinds & _UNHEARD or Kind.METRIC in line.kinds or not _TELLING.search(line.text[:200]):
            continue
        words = re.findall(r"[A-Za-z]{2,}", line.text[:120])[:2]
        key = " ".join(words).lower()
        if key in kinds or len(kinds) < 2_000:
            kinds.setdefault(key, []).append(line)
    common = sorted(
        (item for item in kinds.items() if len(item[1]) >= _LEAST), key=lambda item: -len(item[1])
    )
    for key, told in common[:_MOST_KINDS]:
        inputs = [
            FactInput("first", told[0].text[:120], _place(told[0])),
            FactInput("last", told[-1].text[:120], _place(told[-1])),
        ]
        yield fact(f"lines_of {key}", len(told), "lines that begin so", inputs)


_WORLD = re.compile(r"(?i)\b(?:dist_)?world[ _]size[\s:=.]{1,60}(?P<n>\d{1,6})\b")


def _world(lines: Sequence[Line]) -> Iterator[Fact]:
    for line in lines:
        found = _WORLD.search(line.text) if "orld" in line.text.lower() else None
        if found is not None:
            yield fact(
                "world_size",
                integer(found["n"]),
                "as the log tells it",
                [FactInput("world size", integer(found["n"]), _place(line))],
            )
            return
