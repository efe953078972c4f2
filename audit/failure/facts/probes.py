"""What a job asked the machine, and what it answered: limits, memory of the control group, counters."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import integer
from audit.failure.facts.make import fact
from audit.failure.model import Line

_ASKED = re.compile(
    r"(?:^|[$+#>;&] ?|\bRun )(?P<command>ulimit -(?P<limit>[a-zA-Z])|cat (?P<file>/(?:sys|proc)/\S{1,200})|nproc|getconf \w{1,40}"
    r"|free(?: -(?P<unit>[bkmgh]))?\w{0,3})\s*$"
)
_ANSWER = re.compile(r"\s*(?P<value>\d{1,19}|max|unlimited)\s*$")
_COUNTER = re.compile(r"(?P<name>[a-z_]{2,30}) (?P<value>\d{1,19})$")
_STATED = re.compile(
    r"\bmemory\.(?P<file>peak|max|current|high|limit_in_bytes|usage_in_bytes|max_usage_in_bytes)\b[\s:=]{1,4}(?P<value>\d{4,19})\b"
)
_ULIMITS = {"n": "open_files_limit", "u": "processes_limit", "v": "virtual_memory_limit_kib", "l": "locked_memory_limit_kib",
            "s": "stack_limit_kib", "c": "core_limit", "m": "memory_limit_kib", "t": "cpu_seconds_limit", "f": "file_size_limit"}  # fmt: skip
_PEAKS = ("memory_peak", "memory_max_usage_in_bytes")
_LIMITS = ("memory_max", "memory_limit_in_bytes")
_MEMORY_ROW = re.compile(
    r"\s*Mem: +(?P<total>[\d.]{1,16})(?P<suffix>[BKMGT]i?)? +(?P<used>[\d.]{1,16})(?:[BKMGT]i?)? +(?P<free>[\d.]{1,16})"
)
_MIB = {"b": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 1024.0, "": 2.0**-10}
_SUFFIX_MIB = {"B": 2.0**-20, "K": 2.0**-10, "M": 1.0, "G": 1024.0, "T": 2.0**20}
_GIB = 2**30
_MOST = 10


def facts(lines: Sequence[Line]) -> Iterator[Fact]:
    """The answers, bytes in GiB too, and the peak over the limit where both are known."""
    found = dict(_answers(lines))
    for name, (value, place) in list(found.items())[:_MOST]:
        inputs = [FactInput(name, value, place)]
        if name.startswith("memory_") and value >= 2**20:
            yield fact(f"{name}_gib", value / _GIB, "bytes / 2**30", inputs, unit="GiB")
        else:
            yield fact(name, value, "as the command answered", inputs)
    peak = next((found[name] for name in _PEAKS if name in found), None)
    limit = next((found[name] for name in _LIMITS if name in found), None)
    if peak is not None and limit is not None and limit[0]:
        inputs = [FactInput("peak", *peak), FactInput("limit", *limit)]
        yield fact("memory_peak_share", peak[0] / limit[0], "memory.peak / memory.max", inputs)
    yield from _of_free(lines)


def _answers(lines: Sequence[Line]) -> Iterator[tuple[str, tuple[int, str]]]:
    """Name, value and place: of the lines after a question those that answer it, and files that are printed with their values."""
    asked, counting = "", False
    for line in lines:
        text = line.text.strip()
        question = _ASKED.search(text) if len(text) < 300 else None
        if question is not None:
            asked = _name(question)
            counting = asked.endswith(("_events", "_stat", "_events_local"))
            continue
        if not asked:
            yield from _stated(line)
            continue
        place = f"{line.source}:{line.number}"
        answer, counter = _ANSWER.match(text), _COUNTER.match(text)
        if counting and counter is not None:
            yield (
                counter["name"] if "oom" in counter["name"] else f"{asked}_{counter['name']}",
                (integer(counter["value"]), place),
            )
            continue
        if answer is not None and answer["value"].isdecimal():
            yield asked, (integer(answer["value"]), place)
        if text:
            asked = ""


def _name(question: "re.Match[str]") -> str:
    if question["limit"]:
        return _ULIMITS.get(question["limit"], f"ulimit_{question['limit']}")
    if question["file"]:
        name = question["file"].rsplit("/", 1)[-1]
        return re.sub(r"\W+", "_", name)[:60]
    return re.sub(r"\W+", "_", question["command"])[:60]


def _stated(line: Line) -> Iterator[tuple[str, tuple[int, str]]]:
    if "memory." in line.text and len(line.text) < 1_000:
        for found in _STATED.finditer(line.text):
            yield f"memory_{found['file']}", (integer(found["value"]), f"{line.source}:{line.number}")


def _of_free(lines: Sequence[Line]) -> Iterator[Fact]:
    """The machine's memory by the last `free`."""
    unit, told = "", None
    for line in lines:
        question = _ASKED.search(line.text.strip()) if "free" in line.text and len(line.text) < 300 else None
        if question is not None and question["command"].startswith("free"):
            unit = question["unit"] or ""
        row = _MEMORY_ROW.match(line.text) if line.text.lstrip().startswith("Mem:") else None
        if row is not None:
            scale = _SUFFIX_MIB[row["suffix"][0]] if row["suffix"] else _MIB.get(unit, 1.0)
            told = (scale, row, line)
    if told is None:
        return
    scale, row, line = told
    for name in ("total", "used", "free"):
        try:
            size = float(row[name]) * scale
        except ValueError:
            continue
        yield fact(
            f"{name}_memory_mib",
            size,
            "as free shows it, in MiB",
            [FactInput(name, row[name], f"{line.source}:{line.number}")],
            unit="MiB",
        )
