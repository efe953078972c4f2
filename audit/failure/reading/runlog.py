"""The layout of GitHub's run-log archives: which members are whole jobs, which are steps of them.

A run's archive holds `<n>_<job>.txt` for every job at its top and, for jobs whose steps were kept, a folder `<job>/` with `<n>_<step>.txt`
(the same lines again) and `system.txt`. Attempts and job logs downloaded alone lack the folders; folders may lack steps.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_NUMBERED = re.compile(r"(?P<number>\d{1,6})_(?P<name>.+)\.txt$")
# Step files that hold this share of their job's bytes hold its lines; the rest is the byte order mark of each file.
_COMPLETE = 0.98


class Placed(NamedTuple):
    """A member that is read. `rest_of`: it is the whole of a job some of whose steps are read from their own files: only lines
    outside of their times count.
    """

    name: str
    job: str | None = None
    step: str | None = None
    rest_of: str | None = None


def run_log(members: Iterable[tuple[str, int]]) -> list[Placed]:
    """Which members (name, unpacked size) to read, in the order in which jobs and steps ran. Any other archive: all its files."""
    members = list(members)
    jobs = {
        _key(found["name"]): name
        for name, _ in members
        if "/" not in name and (found := _NUMBERED.match(name))
    }
    steps = [(name, size) for name, size in members if (found := _step(name))]
    if not jobs and not steps:
        return [Placed(name) for name, _ in members]
    sizes = dict(members)
    covered: dict[str, int] = {}
    for name, size in steps:
        covered[_key(name.split("/")[0])] = covered.get(_key(name.split("/")[0]), 0) + size
    placed: list[tuple[tuple[int, str, int], Placed]] = []
    for key, name in jobs.items():
        found = _NUMBERED.match(name)
        assert found is not None
        if covered.get(key, 0) >= _COMPLETE * sizes[name] > 0:
            continue
        rest = found["name"] if key in covered else None
        placed.append(((int(found["number"]), key, 1_000_000), Placed(name, found["name"], rest_of=rest)))
    numbers = {key: int(name.split("_")[0]) for key, name in jobs.items()}
    for name, _ in steps:
        job, file = name.split("/")
        found = _NUMBERED.match(file)
        assert found is not None
        order = (numbers.get(_key(job), 0), _key(job), int(found["number"]))
        placed.append((order, Placed(name, job, found["name"])))
    known = {each.name for _, each in placed} | set(jobs.values())
    others = [
        Placed(name, name.split("/")[0] if name.endswith("/system.txt") else None)
        for name, _ in members
        if name not in known
    ]
    return [each for _, each in sorted(placed)] + others


def _step(name: str) -> re.Match[str] | None:
    folder, _, file = name.partition("/")
    return _NUMBERED.match(file) if folder and file and "/" not in file else None


def _key(job: str) -> str:
    """Job names lose characters on their way into file names, and not the same ones in both places."""
    return re.sub(r"[^\w]+", "", job).lower()
