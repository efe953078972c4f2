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


class _Part(NamedTuple):
    """A member as its name reads: the job, the step (None for a whole job), and its place in the order."""

    member: str
    size: int
    number: int
    job: str
    step: str | None


def run_log(members: Iterable[tuple[str, int]]) -> list[Placed]:
    """Which members (name, unpacked size) to read, in the order in which jobs and steps ran. Any other archive: all its files."""
    members = list(members)
    parts = [part for member in members if (part := _part(*member))]
    whole = {_key(part.job): part for part in parts if part.step is None}
    steps: dict[str, list[_Part]] = {}
    for part in parts:
        if part.step is not None:
            steps.setdefault(_key(part.job), []).append(part)
    placed: list[tuple[tuple[int, str, int], Placed]] = []
    for key, job in whole.items():
        own = steps.get(key, [])
        if own and sum(step.size for step in own) >= _COMPLETE * job.size:
            continue
        rest = own[0].job if own else None
        placed.append(((job.number, key, 1_000_000), Placed(job.member, rest or job.job, rest_of=rest)))
    for key, own in steps.items():
        first = whole[key].number if key in whole else 0
        placed += [((first, key, step.number), Placed(step.member, step.job, step.step)) for step in own]
    known = {part.member for part in parts}
    others = [Placed(name, _system(name)) for name, _ in members if name not in known]
    return [each for _, each in sorted(placed)] + others


def _part(name: str, size: int) -> _Part | None:
    folder, _, file = name.rpartition("/")
    found = _NUMBERED.match(file)
    if found is None or "/" in folder:
        return None
    number = int(found["number"])
    return (
        _Part(name, size, number, folder, found["name"])
        if folder
        else _Part(name, size, number, found["name"], None)
    )


def _system(name: str) -> str | None:
    """The job whose runner a `system.txt` tells of."""
    folder, _, file = name.rpartition("/")
    return folder if file == "system.txt" and folder else None


def _key(job: str) -> str:
    """Job names lose characters on their way into file names, and not the same ones in both places."""
    return re.sub(r"[^\w]+", "", job).lower()
