"""What names, calls and libraries mean for the experiment's state, kept as data in `vocabulary.yaml`."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from audit.documents.state import Value


class KnownCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a call sets. See the comments in `vocabulary.yaml`.

    `flags`: keyword that holds yes or no -> (setting, value where it is yes); `sets`: what the call's being there says; `named`: setting whose value is the
    call's own name; `generates`, `asks`: it makes text; `trains`: it counts only where something trains; `seeds`; `collects`: each
    call adds one to a list.
    """

    call: str
    words: dict[str, str] = {}
    args: tuple[str, ...] = ()
    flags: dict[str, tuple[str, str]] = {}
    sets: dict[str, str] = {}
    named: str = ""
    defaults: str = ""
    reads: bool = False
    generates: bool = False
    asks: bool = False
    trains: bool = False
    seeds: bool = False
    collects: bool = False


class KnownTool(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody else's program that runs experiments. `kind`: training, evaluation or inference; `commands`: the sub-commands that do; `model_first`: the
    first word behind is the model; `pairs`: a word may hold `key=value` pairs."""

    programs: tuple[str, ...]
    kind: str
    modules: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    model_first: bool = False
    pairs: bool = False


class LibraryDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a library takes where nothing is said. `of`: whose defaults these are, for people; `fields`: name of a field of
    the library's dataclass -> setting."""

    of: str
    values: dict[str, Value]
    fields: dict[str, str] = {}


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file, typed."""

    names: dict[str, tuple[str, ...]]
    kinds: dict[str, tuple[str, ...]]
    accepted: dict[str, frozenset[str]]
    switches: dict[str, tuple[str, str]]
    calls: tuple[KnownCall, ...]
    tools: tuple[KnownTool, ...]
    defaults: dict[str, LibraryDefaults]
    roles: dict[str, tuple[str, ...]]
    models: tuple[str, ...]
    datasets: tuple[str, ...]


@cache
def vocabulary() -> Vocabulary:
    """The shipped vocabulary, checked against its type."""
    text = (Path(__file__).parent / "vocabulary.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return msgspec.convert(data, Vocabulary)


@cache
def known_call(name: str) -> KnownCall | None:
    """What a call of this resolved name sets, None where that is not known."""
    return next((known for known, pattern in _patterns() if pattern.fullmatch(name)), None)


@cache
def _patterns() -> tuple[tuple[KnownCall, re.Pattern[str]], ...]:
    return tuple((known, re.compile(known.call)) for known in vocabulary().calls)


@cache
def known_load(name: str) -> bool:
    """Whether a call of this name loads a model or a data set, or asks one."""
    return bool(_LOADS.fullmatch(name))


_LOADS = re.compile(
    r"(?:.*\.)?(?:from_pretrained|load_dataset)|(?:vllm(?:\.\w+)*\.)?(?:LLM|AsyncEngineArgs|EngineArgs)|(?:sentence_transformers(?:\.\w+)*\.)?(?:SentenceTransformer|CrossEncoder)"
    r"|(?:langchain\w*(?:\.\w+)*\.)?(?:ChatOpenAI|ChatAnthropic|AzureChatOpenAI)|(?:transformers(?:\.\w+)*\.)?pipeline"
)


@cache
def settings_by_name() -> dict[str, tuple[tuple[str, int], ...]]:
    """Name of an option -> the settings that it can mean, each with how telling the name is (0 the most)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for setting, names in vocabulary().names.items():
        for index, name in enumerate(names):
            found.setdefault(name, []).append((setting, index))
    return {name: tuple(rows) for name, rows in found.items()}


_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


@cache
def role_of_name(name: str) -> str:
    """The role that a name tells (`judge_model`, `ref_model`), "" where it tells none."""
    words = {word.lower() for word in _WORDS.findall(name)}
    if "actor" in words:
        return "primary"  # what reinforcement learning trains, whatever shares its table
    return next((role for role, known in vocabulary().roles.items() if words & set(known)), "")


@cache
def without_role(name: str) -> str:
    """The last part of a key without the word for its role in front: `judge_temperature` is the temperature of the judge."""
    last = name.rpartition(".")[2]
    role = role_of_name(name.replace(".", "_"))
    heads = sorted(vocabulary().roles.get(role, ()), key=len, reverse=True)
    return re.sub(rf"^(?:{'|'.join(heads)})_(?:model_)?(?=\w)", "", last) if heads else last


def setting_of(key: str) -> tuple[tuple[str, int], ...]:
    """The settings that a dotted key can mean by its name: by its longest end that is known."""
    known, parts = settings_by_name(), key.split(".")
    ends = (".".join(parts[start:]) for start in range(len(parts)))
    found = next((known[end] for end in ends if end in known), ())
    return found or known.get(without_role(key), ())
