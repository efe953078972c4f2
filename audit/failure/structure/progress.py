"""Signs of life: lines that a program only prints while its work goes on, and what they say of how far it came."""

import re

from audit.failure.model import Kind, Line

_STEP = re.compile(
    r"(?:^|[\s\[(|,{'\"])(?:step|iter(?:ation)?|epoch|global_step|batch|update|episode|round|trial|Train Epoch|"
    r"Epoch)s?['\"]?\s?[:=#]?\s{0,8}\[?\(?\d+(?:\s?/\s{0,8}\d+)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[:= ]\s?-?(?:\d+\.\d|\d+e[-+]?\d|nan\b|inf\b|\d+/\d+)", re.IGNORECASE)
_BAR = re.compile(
    r"(?<!\d)\d{1,3}%\|[^|]{0,200}\| ?\d|(?<!\d)\d{1,9}/\d{1,9} \[(?:[=>. ]{5,200}\]|\d\d:\d\d)"
)
_DICT = re.compile(r"\{'(?:eval_)?loss':|\{'train_runtime'")
_INFO = re.compile(
    r"^(?:\S{1,40} ){0,3}\[?(?:INFO|DEBUG)\]?[\s:|]|^\[[\d ,:.-]{8,30}\]\[[\w.]+\]\[INFO\]|^I\d{4} \d\d:|^INFO[:\s]"
)
_GOOD = re.compile(
    r"^(?:Successfully |Installing collected|Saved |Saving |saved |Loading |Loaded |\s*ok$|done\b|Done\b|Finished |finished |Completed |"
    r"completed |All .{1,40} (?:passed|done)|\d+ passed)|\b(?:fits|recovered|resumed|resuming|succeeded|successful(?:ly)?|continuing)\b"
)
_ENDING = re.compile(
    r"\b(?:shut(?:ting)?[ _-]?down|stopp(?:ing|ed)|terminat(?:ing|ed|ion)|exit(?:ing|ed)|clean(?:ing)?[ _-]?up|abort(?:ing|ed)?|kill(?:ing|ed)|"
    r"cancel\w*|emergency|preempt\w*|evict\w*|tear(?:ing)?[ _-]?down|giv(?:ing|en) up|gave up|finali[sz]ing|destroy\w*|SIG(?:TERM|INT|KILL|ABRT)|"
    r"fail(?:ed|ure)|unhealthy|crashed)\b",
    re.IGNORECASE,
)
"""What a program still tells while it ends, at whatever level: no sign of life."""
TOTAL = re.compile(
    r"(?:step|iter(?:ation)?|epoch|global_step|update|episode)s?\s?[:=]?\s{0,8}\[?\(?(?P<step>\d{1,9})\s?(?:/|of)\s{0,8}(?P<total>\d{1,9})\b",
    re.IGNORECASE,
)


def metric_line(text: str) -> bool:
    """A training or evaluation line: a step with a number, a progress bar, a Trainer's dictionary."""
    return bool((_STEP.search(text) and _NUMBER.search(text)) or _BAR.search(text) or _DICT.search(text))


def alive(line: Line) -> bool:
    """Whether the program that wrote the line was at work: training, testing, downloading, reporting success."""
    return worked(line) or (_may_tell(line) and bool(_INFO.search(line.text[:120])) and not _ends(line.text))


def worked(line: Line) -> bool:
    """Whether the line reports work done, and not only that the program still speaks."""
    if not _may_tell(line):
        return False
    text = line.text
    if text.endswith(" PASSED") or " PASSED " in text[-24:]:
        return True
    return metric_line(text) or (bool(_GOOD.search(text[:160])) and not _ends(text))


def _ends(text: str) -> bool:
    return bool(_ENDING.search(text[:400]))


def _may_tell(line: Line) -> bool:
    """Whether a line is a program's own report at all."""
    text = line.text
    if not text or (
        text[0] in " \t"
        and not line.kinds & {Kind.METRIC, Kind.PASSED}
        and "%|" not in text
        and "iteration" not in text
    ):
        return False
    if line.kinds & {Kind.ECHO, Kind.SOURCE, Kind.DUMP, Kind.TRACEBACK, Kind.EXCEPTION}:
        return False
    return "NCCL " not in text[:200]  # the library's own notes go on while a job dies
