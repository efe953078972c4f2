"""What a job was configured with: files named on its command lines, and the values given there."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from audit.failure.facts.metrics import plain
from audit.failure.gates.checkout import Checkout
from audit.failure.gates.commands import Called, called, words_of
from audit.failure.model import DISCOUNTED, Reading
from audit.source.snapshot import Snapshot
from audit.telemetry.model import Scalar
from audit.telemetry.numbers import number

_CONFIG = re.compile(r"[\w./-]+\.(?:ya?ml|json|toml)\Z")
_OVERRIDE = re.compile(r"\+{0,2}([A-Za-z_][\w.]*)=(.{1,100})\Z")
_FLAG = re.compile(r"--([A-Za-z][\w.-]*)(?:=(.{1,100}))?\Z")
_MAX_LAUNCHES = 40

STEPS = frozenset(
    ("max steps", "train iters", "total steps", "num steps", "steps", "max iters", "iterations", "num iterations",
     "num train steps", "training steps", "total iters", "train steps", "n steps", "max train steps", "total training steps",
     "trees", "num trees", "n estimators", "num boost round", "boosting rounds", "num rounds", "num round", "nrounds", "rounds", "max updates",
     "num updates", "total updates", "episodes", "num episodes", "max episodes", "total timesteps", "num generations", "expect steps")
)  # fmt: skip
EPOCHS = frozenset(("epochs", "num epochs", "max epochs", "num train epochs", "n epochs", "total epochs"))
BATCH = frozenset(
    (
        "global batch size",
        "batch size",
        "train batch size",
        "bs",
        "total batch size",
        "effective batch size",
        "global batch",
    )
)
ACCUMULATION = frozenset(
    ("accum", "gradient accumulation steps", "grad accum", "accumulate grad batches", "accumulation steps", "grad accum steps", "accum steps")
)  # fmt: skip
LENGTH = frozenset(
    ("seq length", "seq len", "block size", "max seq length", "max seq len", "sequence length", "context length", "sequence len",
     "tokens per row", "model max length", "ctx len", "seqlen", "max sequence length")
)  # fmt: skip
CLIP = frozenset(
    ("grad clip", "clip grad", "max grad norm", "gradient clip val", "clip grad norm", "grad clip norm", "clip norm", "gradient clipping",
     "max norm", "gradient clip", "clip gradient norm")
)  # fmt: skip


class Setting(msgspec.Struct, frozen=True):
    """A value and where it stands: `configs/base.yaml:12`, `log.txt:244`."""

    name: str
    value: float
    place: str


class Launch(msgspec.Struct, frozen=True, eq=False):
    """One command with its settings: those of its configuration files, under those given on its line."""

    settings: dict[str, Setting]

    def number(self, names: frozenset[str]) -> Setting | None:
        """The setting of one of these names (the last parts of dotted names count), None where there is none."""
        return next(
            (item for key, item in self.settings.items() if _last(key) in names or plain(key) in names), None
        )


def _last(name: str) -> str:
    return plain(name.rsplit(".", 1)[-1])


class Settings(msgspec.Struct, frozen=True, eq=False):
    """The settings of all launches found."""

    launches: tuple[Launch, ...] = ()
    told: tuple[Setting, ...] = ()

    def number(self, names: frozenset[str]) -> Setting | None:
        """The setting that all launches which have one agree on, or else all lines of the log that tell it; None where they
        differ.
        """
        found = [item for launch in self.launches if (item := launch.number(names)) is not None]
        found = found or [item for item in self.told if plain(item.name) in names]
        return found[0] if found and len({item.value for item in found}) == 1 else None


def settings(repo: Snapshot | None, reading: Reading | None) -> Settings:
    """What the commands of the log, or else those of the checkout's CI files and scripts, set. Never raises."""
    checkout = Checkout(repo)
    calls = called(checkout, reading)
    scripts = {word for call in calls if call.logged for word in words_of(call.command)}
    run = [call for call in calls if call.logged or call.path in scripts] or calls
    launches = _distinct(_launch(call, checkout) for call in run)
    return Settings(launches or _only_config(checkout), _told(reading))


def _distinct(launches: Iterable[Launch | None]) -> tuple[Launch, ...]:
    kept: dict[tuple[tuple[str, float], ...], Launch] = {}
    for launch in launches:
        if launch is not None and len(kept) < _MAX_LAUNCHES:
            kept.setdefault(tuple((key, item.value) for key, item in launch.settings.items()), launch)
    return tuple(kept.values())


def _launch(call: Called, checkout: Checkout) -> Launch | None:
    words = words_of(call.command)
    place = f"{call.path}:{call.line}"
    found: dict[str, Setting] = {}
    configured = False
    for word in words:
        path = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        resolved = checkout.resolve(path) if _CONFIG.match(path) else None
        if resolved is not None:
            found |= _of_file(checkout, resolved)
            configured = True
    given = dict(_given(words, place))
    if not configured and not any(_last(key) in _KNOWN for key in given):
        return None
    for key, setting in given.items():
        target = next((name for name in found if plain(name) == plain(key)), None)
        target = target or next((name for name in found if _last(name) == _last(key)), None)
        found[target or key] = setting
    return Launch(found) if found else None


_KNOWN = STEPS | EPOCHS | BATCH | ACCUMULATION | LENGTH | CLIP


def _of_file(checkout: Checkout, path: str) -> dict[str, Setting]:
    found = {}
    for name, (text, line) in checkout.settings(path).items():
        value = _value(text)
        if value is not None:
            found[name] = Setting(name, value, f"{path}:{line}")
    return found


def _given(words: Sequence[str], place: str) -> Iterator[tuple[str, Setting]]:
    for index, word in enumerate(words):
        override, flag = _OVERRIDE.match(word), _FLAG.match(word)
        if override is not None:
            name, text = override[1], override[2]
        elif flag is not None:
            name, text = flag[1], flag[2] or (words[index + 1] if index + 1 < len(words) else "")
        else:
            continue
        value = _value(text)
        if value is not None:
            yield name, Setting(name, value, place)


_LARGEST = 1e15
"""No run has more steps, rows or tokens; beyond it counts are multiplied out of what numbers can hold."""


def _value(text: str) -> float | None:
    """The number that a setting's text is, None where it is none to reckon with (`inf`, `nan`, `1e300`)."""
    return _bounded(number(text))


def _bounded(value: float | None) -> float | None:
    return value if value is not None and abs(value) <= _LARGEST else None


def _told(reading: Reading | None) -> tuple[Setting, ...]:
    """Settings that a program prints (`sequence length 4096`, `seq_length ........ 4096`)."""
    found: list[Setting] = []
    for line in reading.lines if reading is not None else ():
        if len(line.text) > 1_000 or line.kinds & DISCOUNTED or not _TOLD.search(line.text):
            continue
        for match in _TOLD.finditer(line.text):
            if len(found) < 200:
                found.append(Setting(match[1], float(match[2]), f"{line.source}:{line.number}"))
    return tuple(found)


_TOLD = re.compile(
    r"(?i)(?<![\w-])((?:global|train|micro|total|effective)[ _-]batch(?:[ _-]size)?|batch[ _-]size|(?:max[ _-])?seq(?:uence)?[ _-]?len(?:gth)?"
    r"|(?:num[ _-])?(?:eval|test|val)[ _-](?:samples|rows|size|examples)|block[ _-]size|context[ _-]length"
    r"|tokens per row|train[ _-]iters|max[ _-]steps|total[ _-]steps|clip[ _-]grad|max[ _-]grad[ _-]norm)"
    r"(?: ?[:=] ?| \.{3,80} | )(\d{1,12}(?:\.\d{1,6})?)(?![\w.])"
)


def _only_config(checkout: Checkout) -> tuple[Launch, ...]:
    """The one configuration file of a checkout without a command that names any."""
    paths = [path for path in checkout.paths if _CONFIG.match(path) and not path.startswith(".")]
    found = [path for path in paths if any(_last(key) in _KNOWN for key in checkout.settings(path))]
    return (Launch(_of_file(checkout, found[0])),) if len(found) == 1 else ()


def of_run(values: Mapping[str, Scalar], names: frozenset[str], place: str) -> Setting | None:
    """The setting of one of these names among those that a tracker recorded."""
    for key, held in values.items():
        found = _bounded(
            number(held) if isinstance(held, str) else held if isinstance(held, int | float) else None
        )
        if found is not None and (_last(key) in names or plain(key) in names):
            return Setting(key, float(found), place)
    return None
