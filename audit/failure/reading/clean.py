"""Takes off a line what machines put before and around it: colours, time stamps, ranks, workers; and says what they told.

Prefixes are those of GitHub Actions, GitLab, Jenkins, Buildkite, CircleCI, Azure Pipelines, act, Kubernetes, Docker, Slurm (`srun -l`), torchrun, Open MPI,
Ray, the kernel and syslog, and the time stamps that programs put at the beginning themselves.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

_ESCAPES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor (ECMA-48 5.4)
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands
    r"|_[^\x07\x1b]*(?:\x07|\x1b\\)"  # application commands: Buildkite's time stamps
    r"|[ -/][0-~]|[0-Z\\-~])"  # the rest, of two or three characters
)
_ESCAPE = re.compile(_ESCAPES)
_ESCAPE_BYTES = re.compile(_ESCAPES.encode())
_BUILDKITE = re.compile(r"\x1b_bk;t=(\d{12,14})\x07")

_DATE = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d)?"
# Each alternative consumes one prefix with one blank after it; the text's own indentation has to stay.
_PREFIX = re.compile(
    rf"(?P<date>\[{_DATE}\]|{_DATE})(?: \d\d[OE]\+| (?:\d\d[OE]|std(?:out|err) [FP])(?: |$)|: | - | |(?=$|\[))"
    r"|\[?(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)\]?(?: |$)"
    r"|\[rank ?(?P<rank>\d{1,6})\]:? ?"
    r"|\[default(?P<local>\d{1,6})\]:? ?"
    r"|\[\d{1,6},(?:mpirank:)?(?P<mpi>\d{1,6})(?:,[\w-]{1,60})?\]<std(?:out|err|diag)>: ?"
    r"|\((?P<actor>[A-Za-z_][\w.:]{0,60}) (?:rank=(?P<arank>\d{1,6}) )?pid=(?P<pid>\d{1,9})(?:, ip=[\w.:]{1,60})?\) ?"
    r"|\[pod/(?P<pod>[\w.-]{1,120})/[\w.-]{1,120}\] "
    r"|(?P<compose>[\w.]{1,60}[-_]\d{1,5}) +\| "
    # `[worker 2] `, `[node-1]: `: a process of many; `[server] `: one of two. Other words in brackets name parts of one program.
    r"|\[(?P<peer>(?:worker|node|host|replica|pod|task|process|proc|trainer|learner|actor|executor|shard|server|client|engine|gpu|device)"
    r"(?:[ _#:/-]{0,2}\d{1,6})|server|client)\]:? "
    r"|(?P<host>[a-z][a-z0-9.]{0,60}-\d{1,5}): (?=\S)"
    r"|\[(?P<act>[\w ./()-]{1,80}/[\w ./()-]{1,80})\] +\| "
    r"|#\d{1,4} \d{1,6}\.\d{1,3} "  # BuildKit: number of the build's step, seconds
    r"|\((?P<sky>[\w.-]{1,60}), rank=(?P<srank>\d{1,6}), pid=\d{1,9}(?:, ip=[\w.:]{1,60})?\) ?"
    r"|(?P<kernel>\[ {0,8}\d{1,9}\.\d{3,6}\]) "
    r"|(?P<syslog>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80}) (?:kernel|[\w.()/-]{1,60}(?:\[\d{1,9}\])?): "
)
_NUMBERED = re.compile(r" {0,4}(?P<label>\d{1,5}): ?")
_GLOG = re.compile(r"\[?[EWIF](?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d\.\d{3,9})\b")
# `gh run view --log`: job, step, then the line.
_GH = re.compile(r"(?P<job>[^\t]{1,120})\t(?P<step>[^\t]{1,120})\t\ufeff?(?=\d{4}-\d\d-\d\dT)")
_MOST_PREFIXES = 8
_LONGEST_PREFIX = 400
_RANK_GROUPS = ("rank", "local", "mpi", "arank", "srank")
_WORKER_GROUPS = ("actor", "pod", "compose", "host", "peer", "sky")
# pytest-xdist's label belongs to what its reports say.
_XDIST = re.compile(r"\[(gw\d{1,4})\] ")
# Rules look at a line dozens of times, some in time that grows with its square: of a longer one its beginning and its end are shown to them.
_LONGEST_TEXT = 4000
_END_OF_TEXT = 1000


class Clean(msgspec.Struct, frozen=True):
    """A line without its prefixes. `time` as in `Line.time`."""

    text: str
    time: float | None = None
    rank: int | None = None
    worker: str | None = None
    job: str | None = None
    step: str | None = None
    kernel: bool = False


def without_escapes(data: bytes) -> bytes:
    """The bytes without terminal escapes; line ends stay where they are."""
    return _ESCAPE_BYTES.sub(b"", data) if b"\x1b" in data else data


def pieces(text: str) -> list[str]:
    """What a terminal showed one after the other where carriage returns overwrite a line."""
    text = text.rstrip("\r")
    return text.split("\r") if "\r" in text else [text]


def clean(raw: str, *, numbered: bool = False, year: int | None = None) -> Clean:
    """The line's text and what its prefixes tell. `numbered`: every line of this log begins with its rank (`3: text`);
    `year`: what to take for time stamps without one; without it they give no time.
    """
    time: float | None = None
    text = raw
    if "\x1b" in raw:
        if stamp := _BUILDKITE.search(raw):
            time = int(stamp[1]) / 1000
        text = _ESCAPE.sub("", raw)
    if "\x08" in text:
        text = text.replace("\x08", "")
    told = _Told(time=time)
    if "\r" in text:
        parts = pieces(text)
        text = next((part for part in reversed(parts) if part.strip()), parts[-1])
        # The stamp of the CI system stands before the first piece only.
        if text is not parts[0]:
            _strip(parts[0][:_LONGEST_PREFIX], numbered, told)
    text = _strip(text, numbered, told)
    if text.startswith("[gw") and told.worker is None and (worker := _XDIST.match(text)):
        told.worker = worker[1]
    if told.time is None and year is not None and (glog := _GLOG.match(text)):
        told.time = _short(year, glog)
    return Clean(
        _shortened(text.rstrip()), told.time, told.rank, told.worker, told.job, told.step, told.kernel
    )


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[: _LONGEST_TEXT - _END_OF_TEXT]} … {text[-_END_OF_TEXT:]}"


def matchable(raw: str, *, numbered: bool = False) -> str:
    """The text that patterns are tried on: every piece of the line, cleaned, one a line."""
    text = _ESCAPE.sub("", raw) if "\x1b" in raw else raw
    return "\n".join(_strip(part, numbered, _Told()).rstrip() for part in pieces(text))


def year_of(text: str) -> int | None:
    """The year of the first full date in a text."""
    found = re.search(r"\b(20\d\d)-\d\d-\d\d[T ]\d\d:", text)
    return int(found[1]) if found else None


class _Told:
    """What prefixes said so far; of each thing the first word counts."""

    __slots__ = ("job", "kernel", "rank", "step", "time", "worker")

    def __init__(self, time: float | None = None) -> None:
        self.time = time
        self.rank: int | None = None
        self.worker: str | None = None
        self.job: str | None = None
        self.step: str | None = None
        self.kernel = False

    def learn(self, match: re.Match[str]) -> None:
        if date := match["date"]:
            if self.time is None:
                self.time = _seconds(date.strip("[]"))
            return
        found = match.groupdict()
        if found["kernel"] or found["syslog"]:
            self.kernel = True
        for name in _RANK_GROUPS:
            if found[name] is not None and self.rank is None:
                self.rank = int(found[name])
        for name in _WORKER_GROUPS:
            if found[name]:
                worker = f"{found[name]} pid={found['pid']}" if name == "actor" else found[name]
                # One inside another is a process of its own: a server's engine beside the server.
                self.worker = worker if self.worker is None else f"{self.worker} {worker}"
        if found["act"] and self.job is None:
            self.job = found["act"].strip()


def _strip(text: str, numbered: bool, told: _Told) -> str:
    text = text.lstrip("\ufeff")
    if "\t" in text[:250] and (gh := _GH.match(text)):
        told.job, told.step = gh["job"], gh["step"]
        text = text[gh.end() :]
    if numbered and (label := _NUMBERED.match(text)):
        told.rank = int(label["label"])
        text = text[label.end() :]
    for _ in range(_MOST_PREFIXES):
        # Some programs write a blank or two before their own stamp.
        indent = 0 if text[:1] != " " else 1 if text[1:2] != " " else 2
        found = _PREFIX.match(text, indent)
        if found is None or found.end() == indent:
            break
        told.learn(found)
        text = text[found.end() :]
    return text


@lru_cache(maxsize=4096)
def _second(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace(" ", "T")).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _seconds(stamp: str) -> float | None:
    """Seconds since 1970; a stamp without a zone is taken as UTC."""
    whole = _second(stamp[:19])
    if whole is None:
        return None
    rest = stamp[19:]
    if rest[-1:] == "Z":  # the usual one
        return whole + float(rest[:-1]) if len(rest) > 2 else whole
    rest = rest.replace(",", ".").strip()
    zone = re.search(r"([+-])(\d\d):?(\d\d)$", rest)
    if zone:
        offset = timedelta(hours=int(zone[2]), minutes=int(zone[3])).total_seconds()
        whole -= offset if zone[1] == "+" else -offset
        rest = rest[: zone.start()].strip()
    return whole + float(rest) if len(rest) > 1 else whole


def _short(year: int, stamp: re.Match[str]) -> float | None:
    return _seconds(f"{year}-{stamp['month']}-{stamp['day']} {stamp['clock']}")
