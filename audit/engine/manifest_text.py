"""A manifest as text, filled in from what the code shows: each value with the place that it comes from, each open question with what is possible.

Everything here quotes the audited repository, so every value passes through JSON's quoting and every comment through the sanitizer, and credentials are
blackened.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from audit.documents.place import Place
from audit.documents.state import Leaf, Value
from audit.facts.strict_yaml import quoted
from audit.safety.redact import redact
from audit.safety.sanitize import terminal

_SECTIONS = (
    "project", "experiment", "models", "datasets", "prompts", "generation", "inference", "training", "evaluation", "privacy", "execution",
)  # fmt: skip
_FIRST = {
    "models": (
        "id",
        "provider",
        "revision",
        "tokenizer",
        "tokenizer_revision",
        "chat_template",
        "dtype",
        "quantization",
        "adapter",
    ),
    "datasets": ("id", "path", "revision", "subset", "split", "preprocessing", "sampling"),
    "prompts": ("path", "text", "few_shot"),
}
"""Keys of the roles of a section, in the order in which people read them."""
_COMMENT = 200
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
_YAML_WORDS = frozenset("true false yes no on off null none y n nan inf".split())
_BLOCK = re.compile(r"[\n -~\u00a1-\u036f\u0370-\u1fff\u2030-\u205e\u2070-\u27ff\u2900-\u2bff\u3000-\ud7ff]+")


class Line(msgspec.Struct, frozen=True):
    """What is written for one setting: a value with where it comes from, or a question with its candidates."""

    value: Value
    note: str
    is_open: bool = False


def value_line(leaf: Leaf, others: Sequence[Leaf] = ()) -> Line:
    """The line of a value; `others` lost to it."""
    note = _origin(leaf.place, leaf.detail)
    if others:
        note += "; " + ", ".join(f"{_short(each.value)} in {_place(each.place)}" for each in others[:3])
    return Line(leaf.value, note)


def open_line(candidates: Sequence[Leaf] = (), why: str = "") -> Line:
    """The line of a question, with what the code makes possible."""
    shown = ", ".join(f"{_short(each.value)} ({_place(each.place)})" for each in candidates[:6])
    more = f" and {len(candidates) - 6} more" if len(candidates) > 6 else ""
    parts = [part for part in (why, f"perhaps {shown}{more}" if shown else "") if part]
    return Line(None, "TODO: " + ("; ".join(parts) if parts else "the code does not say"), is_open=True)


def manifest_text(lines: Mapping[str, Line], head: Sequence[str], notes: Mapping[str, str]) -> str:
    """The document. `lines`: by path; `head`: comment lines at its top; `notes`: a comment above a section."""
    tree: dict[str, Any] = {}
    for path, line in lines.items():
        _put(tree, path.split("."), line)
    parts = [*(f"# {_comment(line)}" if line else "#" for line in head), "", "schema_version: 1"]
    for section in _SECTIONS:
        if section not in tree:
            continue
        parts.append("")
        if section in notes:
            parts += [f"# {_comment(line)}" for line in notes[section].splitlines()]
        parts.append(f"{section}:")
        parts += _table(tree[section], 1, section)
    return "\n".join(parts) + "\n"


def _put(tree: dict[str, Any], parts: list[str], line: Line) -> None:
    for part in parts[:-1]:
        tree = tree.setdefault(part, {})
    tree[parts[-1]] = line


def _table(table: dict[str, Any], depth: int, section: str) -> Iterator[str]:
    for key in sorted(table, key=lambda each: _rank(section, depth, each)):
        value, indent = table[key], "  " * depth
        if isinstance(value, dict):
            yield f"{indent}{_key(key)}:"
            yield from _table(value, depth + 1, section)
        else:
            yield from _entry(indent, key, value)


def _rank(section: str, depth: int, key: str) -> tuple[int, str]:
    if depth == 1:
        return (0 if key in ("primary", "train", "name") else 1, key)
    order = _FIRST.get(section, ())
    return (order.index(key) if key in order else len(order), key)


def _entry(indent: str, key: str, line: Line) -> Iterator[str]:
    comment = f"  # {_comment(line.note)}" if line.note else ""
    if line.is_open:
        yield f"{indent}{_key(key)}:{comment}"
        return
    value = line.value
    if isinstance(value, str):
        value = redact(value)
        if "\n" in value.strip("\n") and _BLOCK.fullmatch(value) and not value.startswith((" ", "\n")):
            yield f"{indent}{_key(key)}: {_chomping(value)}{comment}"
            yield from (f"{indent}  {row}" if row else "" for row in value.removesuffix("\n").split("\n"))
            return
    yield f"{indent}{_key(key)}: {_scalars(value)}{comment}"


def _chomping(value: str) -> str:
    """How a block says whether its last line ends: `|` for one line end, `|-` for none, `|+` for more."""
    return (
        "|"
        if value.endswith("\n") and not value.endswith("\n\n")
        else "|+"
        if value.endswith("\n\n")
        else "|-"
    )


def _key(key: str) -> str:
    return (
        key
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", key) and key.lower() not in _YAML_WORDS
        else quoted(key)
    )


def _scalars(value: Value) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_scalars(item) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, str):
        text = redact(value)
        if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS and len(text) < 200:
            return text
        return quoted(_whole(text))
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _whole(text: str) -> str:
    """The text without halves of characters: a name of bytes that are not UTF-8 has them, and no YAML."""
    return text.encode("utf-8", "replace").decode()


def _number(value: float) -> str:
    """As people write it: 2.0e-05 rather than 2e-05, which YAML 1.1 takes for a text."""
    text = repr(value)
    mantissa, letter, exponent = text.partition("e")
    if letter and "." not in mantissa:
        return f"{mantissa}.0e{exponent}"
    return text


def _origin(place: Place | None, detail: str) -> str:
    if detail.startswith("library default"):
        return f"{detail}: nothing in the code sets it"
    where = f"from {_place(place)}" if place else ""
    if place is not None:
        detail = detail.replace(f" in {place.path}", "")
    return f"{where} ({detail})" if detail else where


def _place(place: Place | None) -> str:
    if place is None:
        return "the code"
    return f"{place.path}:{place.line}" if place.line else place.path


def _short(value: Value) -> str:
    text = value if isinstance(value, str) else _scalars(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _comment(text: str) -> str:
    return terminal(redact(text), _COMMENT)
