"""What a setting is that somebody gave a name: the path in a state that `lr`, `--learning-rate` and `optim.base_lr` all stand for."""

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml


class _Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: dict[str, tuple[str, ...]]
    keys: tuple[tuple[str, str], ...]


class _Table(msgspec.Struct, frozen=True):
    by_name: dict[str, str]
    by_key: tuple[tuple[re.Pattern[str], str], ...]


@cache
def _table() -> _Table:
    text = (Path(__file__).parent / "names.yaml").read_text(encoding="utf-8")
    data: Any = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    read = msgspec.convert(data, _Names)
    by_name: dict[str, str] = {}
    for concept_, names in read.names.items():
        for name in names:
            if name in by_name:
                raise ValueError(f"names.yaml: {name} stands under {by_name[name]} and {concept_}")
            by_name[name] = concept_
    return _Table(by_name, tuple((re.compile(pattern), concept_) for pattern, concept_ in read.keys))


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST = 200


@lru_cache(1 << 14)
def plain(name: str) -> str:
    """A name or dotted key in lower case with underscores: "--learning-rate", "learningRate" and "LEARNING_RATE" are one."""
    name = name.lstrip("-+~ ")
    if name != name.lower() and name != name.upper():
        name = _CAMEL.sub("_", name)
    return name.lower().replace("-", "_").replace(" ", "_")


@lru_cache(1 << 14)
def concept(key: str) -> str | None:
    """The path in a state that a name or dotted key stands for; None where it is none that is known. "recording": it changes no number."""
    if len(key) > _MOST:
        return None
    table, words = _table(), plain(key)
    if "." in words:
        for pattern, found in table.by_key:
            if pattern.search(words):
                return found
    elif (found_ := next((c for p, c in table.by_key if p.fullmatch(words)), None)) is not None:
        return found_
    last = words.rpartition(".")[2]
    if last.isdigit():
        last = words.rstrip("0123456789.").rpartition(".")[2]
    return table.by_name.get(last) or table.by_name.get(last.removeprefix("default_"))
