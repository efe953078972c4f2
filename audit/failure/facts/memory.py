"""What reports of exhausted memory and storage say, in one unit and put together."""

import re
from collections.abc import Iterator, Sequence

from audit.documents.verdict import Fact, FactInput
from audit.failure.digits import decimal, integer
from audit.failure.facts.make import fact
from audit.failure.model import Line

_SIZE = r"(?P<{0}>[\d.]{{1,12}}) ?(?P<{0}_unit>bytes|[KMGT]i?B)"
_UNITS = {
    "bytes": 2.0**-30,
    "KiB": 2.0**-20,
    "MiB": 2.0**-10,
    "GiB": 1.0,
    "TiB": 2.0**10,
    "KB": 2.0**-20,
    "MB": 2.0**-10,
    "GB": 1.0,
    "TB": 2.0**10,
}
"""In GiB. The allocators print powers of 1024 under either name."""

_REQUESTED = re.compile(
    "(?:[Tt]ried to allocate|trying to allocate|Attempting to allocate|failed to allocate) "
    + _SIZE.format("requested")
)
_CAPACITY = re.compile(
    "total capacity of "
    + _SIZE.format("total")
    + "|"
    + _SIZE.format("total2")
    + " total capacity|max allowed: "
    + _SIZE.format("total3")
)
_ALLOCATED = re.compile(
    _SIZE.format("allocated")
    + " (?:already allocated|is allocated by PyTorch)|MPS allocated: "
    + _SIZE.format("allocated2")
)
_FREE = re.compile("of which " + _SIZE.format("free") + " is free|" + _SIZE.format("free2") + " free")
_OWN = re.compile("this process has " + _SIZE.format("own") + " memory in use")
_OTHER = re.compile(r"Process (?P<pid>\d+) has " + _SIZE.format("other") + " memory in use")
_KILLED = re.compile(
    r"Killed process (?P<pid>\d+).{0,200}?anon-rss:(?P<anon>\d+)kB(?:.{0,40}?file-rss:(?P<file>\d+)kB)?(?:.{0,40}?shmem-rss:(?P<shmem>\d+)kB)?"
)
_LIMIT = re.compile(r"(?i)memory[ _-]?limit\W{1,8}(?P<size>\d{1,9}(?:\.\d{1,3})?) ?(?P<unit>[KMGT]i?B?)\b")
_CGROUP = re.compile(r"memory: usage (?P<usage>\d+)kB, limit (?P<limit>\d+)kB")
_LISTED = re.compile(r"[-l][rwxsStT-]{9}[.+@]? +\d+ \S+ +\S+ +(?P<size>\d{1,15}) .{6,24} (?P<name>\S+)$")
_DIGITS = re.compile(r"\d+")


def facts(lines: Sequence[Line]) -> Iterator[Fact]:
    """Of the first report of each kind."""
    texts = [line for line in lines if len(line.text) < 4_000]
    yield from _device(
        next((line for line in texts if "to allocate" in line.text and _REQUESTED.search(line.text)), None)
    )
    yield from _killed(
        next((line for line in texts if "anon-rss" in line.text and _KILLED.search(line.text)), None)
    )
    limit = next((line for line in texts if "imit" in line.text and _LIMIT.search(line.text)), None)
    killed = any("oom" in line.text.lower() or "Killed" in line.text for line in texts)
    if limit is not None and killed:
        found = _LIMIT.search(limit.text)
        if found is not None:
            unit = found["unit"] if found["unit"].endswith("B") else found["unit"] + "B"
            mib = decimal(found["size"]) * _UNITS[unit] * 1024
            yield fact(
                "memory_limit_mib",
                mib,
                "memory limit in MiB",
                [FactInput("limit", found.group(), _place(limit))],
                unit="MiB",
            )
    usage = next((line for line in texts if "memory: usage" in line.text and _CGROUP.search(line.text)), None)
    found = _CGROUP.search(usage.text) if usage is not None else None
    if usage is not None and found is not None:
        yield fact(
            "cgroup_limit_mib",
            integer(found["limit"]) / 1024,
            "limit / 1024",
            [FactInput("limit", integer(found["limit"]), _place(usage))],
            unit="MiB",
        )
    yield from _full_volumes(texts)
    yield from _files(texts)


_VOLUME = re.compile(
    r"(?P<device>\S{1,200}) +(?P<size>[\d.]{1,9})(?P<unit>[KMGT]) +(?P<used>[\d.]{1,9})(?P<used_unit>[KMGT]?) +(?P<free>[\d.]{1,9})(?P<free_unit>[KMGT]?)"
    r" +(?P<share>\d{1,3})% (?P<mount>/\S{0,200})$"
)
_FULL = 95
_SHARED = "/dev/shm"  # noqa: S108 the name of a mount in a listing


def _full_volumes(lines: Sequence[Line]) -> Iterator[Fact]:
    """Of `df`'s rows the volumes that are full, and shared memory where it ran out: their sizes."""
    asked = any("shared memory" in line.text for line in lines)
    told: set[str] = set()
    for line in lines:
        found = _VOLUME.match(line.text.strip()) if "% /" in line.text else None
        if found is None or found["mount"] in told or len(told) == 3:
            continue
        if integer(found["share"]) >= _FULL or (found["mount"] == _SHARED and asked):
            told.add(found["mount"])
            mib = decimal(found["size"]) * _UNITS[found["unit"] + "iB"] * 1024
            yield fact(
                f"size_of {found['mount']}",
                mib,
                "size that df shows, in MiB",
                [FactInput("size", found["size"] + found["unit"], _place(line))],
                unit="MiB",
            )


def _place(line: Line) -> str:
    return f"{line.source}:{line.number}"


def _size(found: "re.Match[str] | None", name: str) -> float | None:
    """In GiB."""
    if found is None or found[name] is None:
        return None
    try:
        return decimal(found[name]) * _UNITS[found[f"{name}_unit"]]
    except ValueError:
        return None


def _any_size(found: "re.Match[str] | None", *names: str) -> float | None:
    return next((size for name in names if (size := _size(found, name)) is not None), None)


def _device(line: Line | None) -> Iterator[Fact]:
    """An allocator's report: asked for, free, used by this process and by others, in GiB and as shares."""
    if line is None:
        return
    text, place = line.text, _place(line)
    requested = _size(_REQUESTED.search(text), "requested")
    total = _any_size(_CAPACITY.search(text), "total", "total2", "total3")
    free = _any_size(_FREE.search(text), "free", "free2")
    allocated = _any_size(_ALLOCATED.search(text), "allocated", "allocated2")
    own = _size(_OWN.search(text), "own")
    others = [
        (found["pid"], size) for found in _OTHER.finditer(text) if (size := _size(found, "other")) is not None
    ]
    given = {"requested": requested, "capacity": total, "free": free, "this process": own}
    inputs = [FactInput(name, value, place) for name, value in given.items() if value is not None]
    for name, value in (
        ("requested_gib", requested),
        ("free_gib", free),
        ("own_process_gib", own),
        ("capacity_gib", total),
        ("allocated_gib", allocated),
    ):
        if value is not None:
            yield fact(name, value, "as reported, in GiB", inputs, unit="GiB")
    if requested is not None and free is not None:
        yield fact("missing_gib", requested - free, "requested - free", inputs, unit="GiB")
    used = sum(size for _, size in others)
    if others:
        by = [FactInput(f"process {pid}", size, place) for pid, size in others]
        yield fact("other_processes_gib", used, "memory of other processes", by, unit="GiB")
        if total:
            yield fact("other_processes_share", used / total, "memory of other processes / capacity", by)
    if total and own is not None:
        yield fact("own_process_share", own / total, "memory of this process / capacity", inputs)
    if free is not None and own is not None:
        yield fact(
            "accounted_gib", free + own + used, "free + this process + other processes", inputs, unit="GiB"
        )


def _killed(line: Line | None) -> Iterator[Fact]:
    found = _KILLED.search(line.text) if line is not None else None
    if line is None or found is None:
        return
    parts = [(name, integer(found[name])) for name in ("anon", "file", "shmem") if found[name]]
    inputs = [FactInput(f"{name}-rss (kB)", size, _place(line)) for name, size in parts]
    yield fact(
        "killed_process_rss_mib",
        sum(size for _, size in parts) / 1024,
        "(anon-rss + file-rss + shmem-rss) / 1024",
        inputs,
        unit="MiB",
    )
    yield fact(
        "killed_pid",
        integer(found["pid"][:12]),
        "process that the kernel killed",
        [FactInput("pid", found["pid"], _place(line))],
    )


def _files(lines: Sequence[Line]) -> Iterator[Fact]:
    """Files in a listing whose names differ in a number only: the whole size, and how much of it an unfinished one has."""
    groups: dict[str, list[tuple[str, int, Line]]] = {}
    for line in lines:
        found = _LISTED.search(line.text) if line.text[:1] in "-l" else None
        if found is not None and len(groups) < 200:
            groups.setdefault(_DIGITS.sub("#", found["name"]), []).append(
                (found["name"], integer(found["size"]), line)
            )
    for entries in groups.values():
        sizes = [size for _, size, _ in entries]
        largest, smallest = max(sizes), min(sizes)
        if len(entries) < 2 or sizes.count(largest) < 2 or smallest == largest:
            continue  # no two files agree on what a whole one is, or all are whole
        inputs = [FactInput(name, size, _place(line)) for name, size, line in entries[:10]]
        yield fact("whole_file_bytes", largest, "size of the files that agree", inputs, unit="bytes")
        yield fact(
            "unfinished_file_bytes", smallest, "size of the smallest of the same kind", inputs, unit="bytes"
        )
        yield fact("unfinished_file_share", smallest / largest, "smallest / largest", inputs)
        yield fact(
            "needed_mib",
            len(entries) * largest / 2**20,
            "number of such files * whole size / 2**20",
            inputs,
            unit="MiB",
        )
        return
