"""Metric lines on standard output, of any framework that prints names beside numbers.

Instead of a pattern a framework this takes each number of a line with the words before it: `lm loss: 6.9E+00`,
`loss=1.2`, `loss 1.2`, `'loss': '1.2'` and `512.0 img/s` alike (Megatron-LM, DeepSpeed, transformers, Lightning and
tqdm bars, Keras, nanoGPT, torchtitan, timm, MMEngine, vLLM and what people write themselves).
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from audit.telemetry import mllog
from audit.telemetry.building import Collector
from audit.telemetry.model import Format, MlEvent, Run, Telemetry

MAX_TEXT = 4_000
"""Characters of a line that are looked at."""

_MAX_PIECES = 4_000
"""Pieces of one line between carriage returns: a progress bar's whole life."""

_MAX_PAIRS = 64
_MAX_RUNS = 10_000

_NUMBER = re.compile(
    r"(?<![\w.%@])(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d*+)?(?:[eE][+-]?\d++)?|[+-]?\.\d++(?:[eE][+-]?\d++)?"
    r"|(?<!of )(?<!no )(?<!any )[+-]?(?:nan|NaN|NAN|inf|Inf|INF|infinity|Infinity)(?!\w))"
    r"(?P<unit>\s?(?:it/s|s/it|iter/s|steps/s|tok/s|toks/s|tokens/s|tokens/sec|samples/s|samples/sec|img/s|images/s|req/s"
    r"|ms/step|us/step|s/step|ms/it|TFLOPS|TFLOP/s|ms|us|s|%|GiB|MiB|KiB|GB|MB|KB|B|M|K|k)(?![\w/]|\s*[:=]))?"
    r"(?![\w]|[.:-]\d)"
)
_DIGITS = re.compile(r"\d|nan|inf", re.IGNORECASE)
_KEY = re.compile(r"[A-Za-z][\w.@/%()\[\]-]*(?: [\w.@/%()-]+){0,5}\Z")
_BREAK = re.compile(r"[|,;\t{\[\]]| - | {2,}|━|█")
_EDGES = " \t:=>~'\"(<-–—*#•!?"

_STEP_NAMES = frozenset(
    ("step", "steps", "global step", "global_step", "train step", "train_step", "iteration", "iter", "it", "iters", "update",
     "num_updates", "episode", "round", "training step", "optimizer step")
)  # fmt: skip
_EPOCH_NAMES = frozenset(("epoch", "ep"))
_NOBODY = frozenset(
    ("rank", "worker", "pid", "gpu", "node", "port", "line", "local_rank", "local rank", "world_size", "v_num", "device",
     "host", "thread", "version", "python", "torch", "exit code", "code", "job", "attempt", "eta", "ok", "of", "and", "or", "at", "in", "to",
     "for", "with", "is", "was", "the", "a", "than", "over", "from", "by", "after", "on")
)  # fmt: skip
_METRIC = re.compile(
    r"loss|acc|ppl|perplex|grad|norm|(?<![a-z])lr(?![a-z])|learning|through|tok|sampl|rew(?:ard|_mean)|fps|return|score|bleu|rouge|mfu|flop"
    r"|it/s|s/it|/step|img/s|req/s|images/s|steps/s|auc|(?<![a-z])f1(?![a-z])|error|rate|(?<![a-z])map(?![a-z])|iou|latency|ttft|tpot|itl|entropy|(?<![a-z])kl(?![a-z])|bpb|bits|nll|(?<![a-z])mem(ory)?(?![a-z])"
    r"|(?<![a-z])(elapsed|iter|step|batch|data)?[ _]?time(?![a-z])|(?<![a-z])(mse|mae|rmse|wer|cer|elbo|fid)(?![a-z])"
)
"""Tried on lower case: ignoring case would cost several times as much."""
_HINTS = (
    "loss", "acc", "ppl", "perplex", "grad", "norm", " lr", "/lr", "_lr", "-lr", "'lr", '"lr', "|lr", ",lr", "(lr", "learning", "through",
    "tok", "sampl", "rew", "fps", "return", "score", "bleu", "rouge", "mfu", "flop", "it/s", "/step", "s/it", "img/s", "req/s", "images/s", "steps/s",
    "auc", "f1", "error", "rate", "map", "iou", "latency",
    "ttft", "tpot", "itl", "entropy", "kl", "bpb", "bits", "nll", "mem", "time", "mse", "mae", "wer", "cer", "elbo", "fid",
)  # fmt: skip
"""What every match of `_METRIC` holds at least one of, in lower case: to look for them costs a fiftieth of the pattern."""

_BAR = re.compile(r"(?<!\d)(?P<n>\d++)/(?P<total>\d++) \[\s?\d[\d:]*+<")
_EPOCH_LINE = re.compile(r"\s*Epoch:? \[?(?P<n>\d+)\s*/\s*(?P<total>\d+)\]?:?\s*\Z")
_HEAD = re.compile(
    r"\s*\[\s{0,8}(?P<n>\d{1,12})\s{0,2}/\s{0,8}(?P<total>\d{1,12})\]:? {1,4}[A-Za-z_][\w./ -]{0,30}[:=]? {0,4}[-+]?[\d.]"
)
"""A line that begins with its count in brackets before a name and its number: `[  610/2000] loss 2.10`."""
_ROUND = re.compile(
    r"\s*\[(?P<n>\d{1,9})\](?:\t| {1,4}(?=\w{1,30}(?:-|'s )))\w[\w' .@/#-]{0,40}: ?[-+]?[\d.]"
)
"""A boosting round: `[120]	valid-auc:0.93412` (XGBoost, LightGBM)."""
_KERAS_BAR = re.compile(r"\s*(?P<n>\d+)/(?P<total>\d+)\s*(?:\[=*>?\.*\]|━+)")
_BRACKETS = re.compile(
    r"(?:[Ee]poch\S{0,10}|[Tt]rain|[Vv]al|[Tt]est):?\s{0,4}\[?(?P<epoch>\d+)\]?\s{0,4}\[\s{0,8}(?P<n>\d+)/(?P<total>\d+)"
)
_OPEN = re.compile(r"[A-Za-z] ?\([^()]{1,40}\Z")
_REPORT = re.compile(r"error|fail|warning|traceback|assert|exception", re.IGNORECASE)
"""Words of lines that report trouble: without a step in them their numbers are no metrics."""

_NO_NAME = re.compile(
    r"(?:INFO|WARNING|WARN|ERROR|DEBUG|Engine)\Z|.*\.(?:py|cpp|cc|cu|go|rs|sh)\Z|https?:|file:"
)


class Metrics(msgspec.Struct, frozen=True):
    """What one line says. `step` of `total` and `epoch` of `epochs`: None where the line does not tell. `values`: number by
    name as printed, in the line's order; a per cent value keeps its number and has ` (%)` behind its name, an
    interval or size its unit likewise.
    """

    values: dict[str, float]
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    axis: str = "step"


class _Number(msgspec.Struct, frozen=True):
    key: str
    value: float
    unit: str
    between: str


def parse(text: str) -> Metrics | None:
    """The metrics of a line without colours, time stamps and prefixes; None where it holds none."""
    text = text[:MAX_TEXT]
    lowered = f" {text.lower()}"
    if not any(hint in lowered for hint in _HINTS):
        return None
    if _METRIC.search(lowered) is None or _DIGITS.search(text) is None:
        return None
    found = _Found()
    for number in _numbers(text):
        found.take(number)
    bar = (
        _BAR.search(text)
        or _KERAS_BAR.match(text)
        or _BRACKETS.search(text)
        or _HEAD.match(text)
        or _ROUND.match(text)
    )
    metrics = found.metrics(bar)
    placed = metrics is not None and (metrics.step is not None or metrics.epoch is not None)
    return metrics if placed or _REPORT.search(text) is None else None


def _numbers(text: str) -> Iterator[_Number]:
    end = 0
    for count, match in enumerate(_NUMBER.finditer(text)):
        if count == _MAX_PAIRS:
            return
        between = text[end : match.start()]
        if text.startswith(")", match.end()) and _OPEN.search(between):
            continue  # `finish rate (last 20) 0.65`: a part of the name
        unit = (match["unit"] or "").strip()
        end = match.end()
        if "/" in unit and _names_the_next(text, match):
            unit, end = "", match.end("number")
        # A program's lines differ in their numbers and hardly in the words between: those are read once.
        yield _Number(_key(between[-_KEY_TAIL:]), _value(match["number"]), unit, between.strip())


def _names_the_next(text: str, match: "re.Match[str]") -> bool:
    """Whether what looks like a number's unit is the name of the number after it: `loss 2.11 tok/s 48333`, where in
    `2.11 ms 48333 tok/s` each number has its own.
    """
    for _ in range(_MAX_PAIRS):
        after = _NUMBER.match(text, match.end() + 1) if text[match.end() : match.end() + 1] in " =:" else None
        if after is None:
            return False
        if not after["unit"]:
            return True
        match = after
    return False


def _value(text: str) -> float:
    return float(text.replace(",", ""))


_KEY_TAIL = 90


@lru_cache(maxsize=8192)
def _key(between: str) -> str:
    """The name that the words before a number end in: the last part after a separator, without the sign between."""
    words = between.rstrip(_EDGES)
    if between.rstrip().endswith("[") and _counter(words.rstrip("[ :").rpartition(" ")[2]):
        words = words.rstrip("[ :")  # `Step [140/3000]`
    elif between.rstrip().endswith(("(", "[", "<", "/")) or not words:
        return ""
    last = _BREAK.split(words[-80:])[-1].strip(_EDGES + ")")
    if ":" in last:
        last = _after_logger(last)
    if last.count(")") > last.count("("):
        last = last.rpartition(")")[2].strip()
    if words.endswith(")") and last.count("(") > last.count(")"):
        last += ")"
    last = " ".join(last.replace("'s ", " ").split())  # LightGBM's `valid_0's auc`
    return last if _KEY.match(last) else ""


def _after_logger(words: str) -> str:
    """A name without what a logger puts before it (`INFO:train:step`); the part of the data stays (`val: loss` is `val loss`)."""
    head, _, last = words.rpartition(":")
    part = head.rpartition(":")[2].strip().rpartition(" ")[2]
    return f"{part} {last.strip()}" if part.lower() in _PARTS and last.strip() else last.strip()


_PARTS = frozenset(("train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "dev"))


@lru_cache(maxsize=4096)
def _counter(key: str) -> str:
    """The name of the counter that a key ends in (`train step` in `rank 0 train step`), empty where it is none."""
    lowered = key.lower()
    last = lowered.rpartition(" ")[2]
    known = _STEP_NAMES | _EPOCH_NAMES
    return last if last in known else lowered if lowered in known else ""


@lru_cache(maxsize=4096)
def _is_metric(name: str) -> bool:
    return _METRIC.search(name.lower()) is not None


@lru_cache(maxsize=4096)
def _is_name(name: str) -> bool:
    return name.lower() not in _NOBODY and _NO_NAME.match(name) is None


class _Found:
    """Sorts the numbers of a line into steps, epochs, totals and values."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.step: int | None = None
        self.total: int | None = None
        self.epoch: float | None = None
        self.epochs: int | None = None
        self.axis = "step"
        self._last = ""

    def take(self, number: _Number) -> None:
        head = _counter(number.key)
        if number.between in ("/", "of") and self._last in ("step", "epoch"):
            self._of(number)
        elif (
            head in _STEP_NAMES
            and self.step is None
            and number.value == number.value // 1
            and not number.unit
        ):
            self.step, self.axis, self._last = int(number.value), head.replace(" ", "_"), "step"
            return
        elif head in _EPOCH_NAMES and self.epoch is None and math.isfinite(number.value):
            self.epoch, self._last = number.value, "epoch"
            return
        else:
            self._value(number)
        self._last = ""

    def _of(self, number: _Number) -> None:
        if not math.isfinite(number.value):
            return
        if self._last == "step":
            self.total = int(number.value)
        else:
            self.epochs = int(number.value)

    def _value(self, number: _Number) -> None:
        rate = "/" in number.unit
        name = number.key or (number.unit if rate else "")
        if not name or name in self.values or not _is_name(name):
            return
        suffix = f" ({number.unit})" if number.unit and number.key and number.unit not in number.key else ""
        self.values[name + suffix] = number.value

    def metrics(self, bar: "re.Match[str] | None") -> Metrics | None:
        if not any(map(_is_metric, self.values)):
            return None
        step, total, epoch = self.step, self.total, self.epoch
        if step is None and bar is not None:
            step, total = _int(bar["n"]), _int(bar["total"]) if "total" in bar.groupdict() else None
            # Bars of different length stand one in the other (training, evaluation): each is a counter of its own.
            single = epoch is not None or "epoch" in bar.groupdict() or total is None
            self.axis = self.axis if single else f"of {total}"
            if epoch is None and "epoch" in bar.groupdict():
                epoch = float(_int(bar["epoch"]))
        return Metrics(
            values=self.values, step=step, total=total, epoch=epoch, epochs=self.epochs, axis=self.axis,
        )  # fmt: skip


def _int(digits: str) -> int:
    return int(digits[:18])


class LineCollector:
    """Gathers the metrics of log lines into series, in the order in which the lines come; memory is bounded.

    A run is a source and a stream of it. Where the steps start over at or before the run's first one, another run
    begins (`log.txt #2`); where they go back to a later one, a new segment (a resumed run).
    """

    def __init__(self) -> None:
        self._collector = Collector(Format.STDOUT)
        self._states: dict[str, _State] = {}
        self._records: dict[str, Run] = {}
        self._events: list[MlEvent] = []

    def add(self, text: str, source: str, line: int, stream: str = "", time: float | None = None) -> None:
        """One line, without colours, time stamps and prefixes; carriage returns in it separate what a progress bar showed
        one after the other. `stream`: what tells its writer from others of the source (`rank 3`), `time` in seconds
        since the epoch.
        """
        if mllog.MARK in text:
            event = mllog.event(text, source, line)
            if event is not None and len(self._events) < mllog.MAX_EVENTS:
                self._events.append(event)
            return
        pieces = text.split("\r", _MAX_PIECES) if "\r" in text else (text,)
        for piece in pieces:
            self._piece(piece, source, line, stream, math.nan if time is None else time)

    def _piece(self, text: str, source: str, line: int, stream: str, time: float) -> None:
        key = f"{source} {stream}".rstrip()
        epoch_line = _EPOCH_LINE.match(text)
        if epoch_line is not None:
            self._state(key).epoch = _int(epoch_line["n"])
            return
        found = parse(text)
        if found is None:
            return
        bar = _KERAS_BAR.match(text)
        if bar is not None and _int(bar["n"]) < _int(bar["total"]):
            return  # a bar under way: its averages are those of an epoch only at its end
        state = self._state(key)
        step, axis = state.place(found, at_end=bar is not None)
        run = state.run(key, step, axis, found.total)
        for name, value in found.values.items():
            self._collector.add(
                name, state.row if step is None else step, value,
                run=run, source=source, axis="row" if step is None else axis, time=time, line=line,
            )  # fmt: skip
        if step is not None:
            self._record(run, source, step, found)

    def _state(self, key: str) -> "_State":
        if key not in self._states and len(self._states) < _MAX_RUNS:
            self._states[key] = _State()
        return self._states.get(key) or _State()

    def _record(self, run: str, source: str, step: int, found: Metrics) -> None:
        planned = found.total if found.total is not None else found.epochs if found.step is None else None
        known = self._records.get(run)
        if known is None and len(self._records) >= _MAX_RUNS:
            return
        minor = found.step is None or found.axis.startswith("of ")
        if minor and known is not None and (planned or 0) < (known.planned_steps or 0):
            return  # an epoch, or a shorter bar: not what the run's steps are counted by
        self._records[run] = Run(
            name=run, source=source, format=Format.STDOUT, last_step=step,
            planned_steps=planned if planned is not None else known.planned_steps if known else None,
        )  # fmt: skip

    def telemetry(self) -> Telemetry:
        """All that was gathered."""
        logged = mllog.gathered(self._events, self._events[0].source) if self._events else Telemetry()
        return Telemetry(
            series=self._collector.series() + logged.series,
            runs=tuple(self._records.values()) + logged.runs,
            events=tuple(self._events),
        )


class _State:
    """How far the runs of one stream have come."""

    def __init__(self) -> None:
        self.row = 0
        self.epoch: int | None = None
        self._base: int | None = None
        self._axes: dict[str, _Axis] = {}
        self._number = 1

    def place(self, found: Metrics, *, at_end: bool) -> tuple[int | None, str]:
        """The step of a line, counted over all epochs where it starts over in each."""
        self.row += 1
        if at_end and self.epoch is not None:
            return self.epoch, "epoch"
        epoch = found.epoch
        whole = int(epoch) if epoch is not None and epoch == int(epoch) else None
        if found.step is None:
            return (whole, "epoch") if whole is not None else (None, "row")
        if whole is not None and found.total is not None and found.step <= found.total:
            if self._base is None:
                self._base = whole
            return (whole - self._base) * found.total + found.step, found.axis
        return found.step, found.axis

    def run(self, key: str, step: int | None, axis: str, total: int | None) -> str:
        """The name of the run that a step belongs to. Steps and epochs are followed apart: one line tells the one, the next
        the other.
        """
        if step is not None:
            known = self._axes.setdefault(axis, _Axis(self._number))
            if known.restarts(step, total):
                known.number += 1
                self._number = max(self._number, known.number)
            number = known.number
        else:
            number = self._number
        return key if number == 1 else f"{key} #{number}"


class _Axis:
    """How far one counter has come."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._first: int | None = None
        self._last: int | None = None
        self._total: int | None = None

    def restarts(self, step: int, total: int | None) -> bool:
        """Whether another run begins: the steps go back to the first or before it, or go back after the last one was
        reached or under another total.
        """
        again = (
            self._last is not None
            and self._first is not None
            and step < self._last
            and (step <= self._first or self._over(total))
        )
        if again or self._first is None:
            self._first = step
        self._last = step
        self._total = total if total is not None else self._total
        return again

    def _over(self, total: int | None) -> bool:
        if total is None or self._total is None:
            return False
        return total != self._total or self._last == self._total
