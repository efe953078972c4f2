"""Reports of those who start processes: which rank ended how, who was ended by the launcher itself.

torchrun (its final table and its own log lines), srun, mpirun, Ray, `multiprocessing.spawn`. What they call "root cause" is the first failure
that they noticed, which is a lead and no cause.
"""

import re
import signal
from collections.abc import Sequence

import msgspec

from audit.failure.digits import integer
from audit.failure.model import Line


class Ended(msgspec.Struct, frozen=True):
    """One process as its launcher reports it. `signal`: the name for a negative exit code. `first`: reported as the first failure noticed.
    `error_file`: None where the launcher has none. `said`: the launcher's own excerpt of the process's error.
    """

    rank: int | None
    exit_code: int | None
    signal: str | None
    line: Line
    first: bool = False
    error_file: str | None = None
    said: str = ""
    host: str | None = None


_ROW = re.compile(r"\s*(?P<key>time|host|rank|exitcode|error_file|traceback|msg)\s*: ?(?P<value>.*)$")
_INDEX = re.compile(r"\s*\[(\d+)\]:\s*$")
_CODE = re.compile(r"(?<!\d)(?P<code>-?\d{1,9}) \(pid: (?P<pid>\d{1,12})\)(?: \((?P<signal>SIG\w+)\))?")
_RANK = re.compile(r"(?<!\d)(?P<rank>\d{1,9}) \(local_rank: (?P<local>\d{1,9})\)")
_NOTICED = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: \d+\)")
_SRUN = re.compile(
    r"(?:srun|slurmstepd): error: (?P<host>\S+): tasks? (?P<tasks>[\d,-]+): (?P<how>Exited with exit code (?P<code>\d+)|[A-Z][\w ]+?)(?: \(core dumped\))?$"
)
_SPAWN = re.compile(
    r"process (?P<rank>\d+) terminated with (?:exit code (?P<code>-?\d+)|signal (?P<signal>SIG\w+))"
)
_MPI = re.compile(
    r"mpirun (?:noticed|detected) that process rank (?P<rank>\d+) .*? exited on signal (?P<signal>\d+)"
)


def reports(lines: Sequence[Line]) -> list[Ended]:
    """Every process end that a launcher reports, in order."""
    found: list[Ended] = []
    index = 0
    first = False
    while index < len(lines):
        line = lines[index]
        text = line.text
        if "Root Cause (first observed failure)" in text:
            first = True
        elif text.strip() == "Failures:":
            first = False
        elif _INDEX.match(text):
            ended, index = _entry(lines, index, first=first)
            if ended is not None:
                found.append(ended)
            continue
        elif noticed := _NOTICED.search(text):
            code = integer(noticed["code"])
            found.append(Ended(integer(noticed["local"]), code, _signal(code), line))
        elif srun := _SRUN.search(text):
            status = integer(srun["code"]) if srun["code"] else None
            found.extend(
                Ended(rank, status, None if status is not None else srun["how"], line, host=srun["host"])
                for rank in _tasks(srun["tasks"])
            )
        elif spawn := _SPAWN.search(text):
            left = integer(spawn["code"]) if spawn["code"] else None
            found.append(Ended(integer(spawn["rank"]), left, spawn["signal"] or _signal(left), line))
        elif mpi := _MPI.search(text):
            found.append(
                Ended(integer(mpi["rank"]), -integer(mpi["signal"]), _signal(-integer(mpi["signal"])), line)
            )
        index += 1
    return found


def _entry(lines: Sequence[Line], index: int, *, first: bool) -> tuple[Ended | None, int]:
    """One entry of torchrun's table: rows of `key : value` after its number."""
    values: dict[str, str] = {}
    exit_line = lines[index]
    at = index + 1
    while at < len(lines) and (row := _ROW.match(lines[at].text)):
        values[row["key"]] = row["value"].strip()
        if row["key"] == "exitcode":
            exit_line = lines[at]
        at += 1
    code = _CODE.search(values.get("exitcode", ""))
    rank = _RANK.search(values.get("rank", ""))
    if code is None and rank is None:
        return None, max(at, index + 1)
    file = values.get("error_file")
    number = integer(code["code"]) if code else None
    return (
        Ended(
            integer(rank["rank"]) if rank else None,
            number,
            (code["signal"] if code else None) or _signal(number),
            exit_line,
            first,
            None if file in (None, "", "<N/A>") else file,
            values.get("traceback", ""),
            values.get("host"),
        ),
        at,
    )


def _signal(code: int | None) -> str | None:
    """The signal's name for a negative exit code."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _tasks(text: str) -> list[int]:
    """`0-7,12` as numbers, a thousand at most."""
    ranks: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdecimal() and (not high or high.isdecimal()):
            ranks.extend(range(integer(low), min(integer(high or low), integer(low) + 999) + 1))
    return ranks[:1000]
