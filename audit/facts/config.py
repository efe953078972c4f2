"""Configuration files as flat lists of settings with lines: YAML, JSON (with comments), TOML, INI and gin.

Each extractor is bounded by the number of settings, not by the size of the file: what a configuration says
stands in its first two thousand values, and what has more is data. Where a bound cuts, the facts say so.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from audit.facts.extracted import Extracted
from audit.facts.model import ConfigFacts, Setting
from audit.facts.yaml_nodes import YamlError, compose, walk_leaves

MAX_SETTINGS: Final = 2_000
"""Most settings kept of one file."""
MAX_RECORDS: Final = 200
"""Most settings kept of a JSON text that is a list: that is data."""
MAX_VALUE: Final = 1_000
"""Longest value kept, in characters; longer ones end in an ellipsis."""
MAX_DEPTH: Final = 100
"""Deepest nesting that is read."""
MAX_KEY: Final = 1_000
"""Longest dotted key, in characters."""
MAX_YAML: Final = 2_000_000
"""Longest YAML or TOML text, in characters: about a second of work."""

# Keys that say by which framework a configuration is read: Hydra's, and those of jsonargparse (LightningCLI).
_STRUCTURE: Final = frozenset(
    {"_target_", "_partial_", "_recursive_", "_convert_", "defaults", "hydra", "class_path", "init_args"}
)
_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"

Leaves = Iterator[tuple[str, str, int]]


class _Partial(Exception):
    """What was read so far is good, the rest is not readable."""


def extract_yaml(text: str) -> Extracted:
    """Settings of all YAML documents in `text`; with several, keys start with the document's index."""
    if len(text) > MAX_YAML:
        return Extracted(ConfigFacts(format="yaml"), f"larger than {MAX_YAML:,} characters: not read")
    why = ""
    try:
        documents = compose(text)
    except YamlError as error:
        documents, why = list(error.documents), _with_line(error)
    settings: list[Setting] = []
    tags: set[str] = set()
    last = text.count("\n") + 1
    for index, document in enumerate(documents):
        prefix = f"{index}." if len(documents) > 1 else ""
        leaves = walk_leaves(document, MAX_SETTINGS * 4)
        # What stands nowhere, the empty document behind a last `---`, stands behind the last line for libyaml.
        placed = ((prefix + key, value, min(line, last)) for key, value, line in leaves)
        why = _collect(placed, settings, tags) or why
    if "!" in text:
        tags |= _own_tags(text)
    return Extracted(ConfigFacts(format="yaml", settings=tuple(settings), tags=tuple(sorted(tags))), why)


_OWN_TAG: Final = re.compile(r"(?:^|[\s\[{,:-])(![A-Za-z][\w./:-]{0,100})", re.MULTILINE)


def _own_tags(text: str) -> set[str]:
    return {match[1].rstrip(":") for match in _OWN_TAG.finditer(text)}


def _with_line(error: YamlError) -> str:
    return f"{error} (line {error.line})" if error.line else str(error)


def extract_json(text: str) -> Extracted:
    """Settings of a JSON text; comments, trailing commas and bare keys of JSON5 are read too."""
    is_list = _FIRST.match(text)
    return _extract("json", _json_leaves, text, MAX_RECORDS if is_list else MAX_SETTINGS)


def extract_toml(text: str) -> Extracted:
    """Settings of a TOML text. Elements of an array have the line of its key."""
    return _extract("toml", _toml_leaves, text)


def extract_ini(text: str) -> Extracted:
    """Settings of INI-like text, "section.key" each: `.ini`, `.cfg`, `.conf`, `.properties`, `.gin`.

    Sections of the same name (a list of layers) are counted: "convolutional.0.filters". A text that starts
    with a brace is JSON under another name. `format` is "gin" for gin's bindings, which have no sections.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] == "{":
        return extract_json(text)
    return _extract("gin" if _is_gin(text) else "ini", _ini_leaves, text)


def _extract(name: str, leaves: Callable[[str], Leaves], text: str, limit: int = MAX_SETTINGS) -> Extracted:
    settings: list[Setting] = []
    tags: set[str] = set()
    why = _collect(leaves(text.removeprefix("\ufeff")), settings, tags, limit)
    return Extracted(ConfigFacts(format=name, settings=tuple(settings), tags=tuple(sorted(tags))), why)


def _collect(leaves: Leaves, settings: list[Setting], tags: set[str], limit: int = MAX_SETTINGS) -> str:
    """Appends to `settings` and `tags`; answers why it stopped early, "" where it did not."""
    try:
        for key, value, line in leaves:
            if len(settings) >= limit:
                return f"more than {limit:,} values: the rest was left out"
            if len(value) > MAX_VALUE:
                value = value[:MAX_VALUE] + "…"  # noqa: PLW2901
            settings.append(Setting(key, value, line))
            if "_" in key or "defaults" in key or "hydra" in key:
                tags.update(_STRUCTURE.intersection(key.split(".")))
    except (YamlError, _Partial) as error:
        return str(error)
    return ""


# --- JSON ---

_FIRST: Final = re.compile(r"\ufeff?\s*+\[")
_TOKEN: Final = re.compile(
    r"""[ \t\r\n\f]*+(?:
        (?P<mark>[{}\[\],:])
      | "(?P<text>[^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"
      | '(?P<single>[^'\\\n]*+(?:\\.[^'\\\n]*+)*+)'
      | (?P<bare>[\w.+$-]++)
      | (?P<comment>//[^\n]*+|\#[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)
    )""",
    re.VERBOSE | re.DOTALL,
)


class _Level:
    """An open object or array: the dotted key of what stands in it, and where in it the reader is."""

    __slots__ = ("count", "expects_key", "is_object", "key", "path", "touched")

    def __init__(self, path: str, is_object: bool) -> None:
        self.path = path
        self.is_object = is_object
        self.expects_key = is_object
        self.key = ""
        self.count = 0
        self.touched = False

    def enter(self) -> str:
        """The dotted key of the value that begins here."""
        self.touched = True
        name = self.key if self.is_object else str(self.count)
        return f"{self.path}.{name}"[:MAX_KEY] if self.path else name


def _json_leaves(text: str) -> Leaves:
    """Token by token, so that what a reader does not ask for costs nothing; never recursive."""
    levels: list[_Level] = []
    root_done = False
    for kind, content, line in _json_tokens(text):
        if kind == "mark" and content in ":,":
            if levels:
                levels[-1].expects_key = content == "," and levels[-1].is_object
                levels[-1].count += content == ","
        elif kind == "mark" and content in "}]":
            if not levels or levels[-1].is_object is not (content == "}"):
                raise _Partial(f"not JSON (line {line})")
            level = levels.pop()
            root_done = not levels
            if not level.touched and level.path:
                yield level.path, "{}" if level.is_object else "[]", line
        elif kind != "mark" and levels and levels[-1].expects_key:
            levels[-1].key = content
        elif root_done:
            raise _Partial("several JSON values: only the first was read")
        elif kind == "mark":
            if len(levels) >= MAX_DEPTH:
                raise _Partial(_DEEP)
            levels.append(_Level(levels[-1].enter() if levels else "", content == "{"))
        elif levels:
            yield levels[-1].enter(), content, line
        else:
            raise _Partial("neither a JSON object nor a list")
    if levels:
        raise _Partial("JSON that ends too early")


def _json_tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """(kind, content, line): marks, strings, numbers and bare words. Raises _Partial where none fits."""
    position, line, counted = 0, 1, 0
    while match := _TOKEN.match(text, position):
        kind = match.lastgroup or ""
        line += text.count("\n", counted, match.start(kind))
        counted, position = match.start(kind), match.end()
        if kind in ("bare", "mark"):
            yield kind, match[kind], line
        elif kind != "comment":
            yield kind, _unescape(match[kind]), line
    if text[position:].strip():
        line += text.count("\n", counted, len(text) - len(text[position:].lstrip()))
        raise _Partial(f"not JSON (line {line})")


def _unescape(content: str) -> str:
    if "\\" not in content:
        return content
    try:
        return str(json.loads(f'"{content[: 2 * MAX_VALUE]}"', strict=False))
    except ValueError:
        return content


# --- TOML ---

# The standard reader takes quadratic time for a key of many parts.
_LONG_KEY: Final = re.compile(r"(?<![\w\-\"' \t.])(?:[\w\-\"' \t]++\.){100}")
_TOML_LINE: Final = re.compile(
    r"[ \t]*(?:\[\[?(?P<table>[^\]\n]{1,500})\]|(?P<key>[\w.\-\"' \t]{1,500}?)[ \t]*=)"
)


def _toml_leaves(text: str) -> Leaves:
    import tomllib

    if len(text) > MAX_YAML:
        raise _Partial(f"larger than {MAX_YAML:,} characters: not read")
    if _LONG_KEY.search(text):
        raise _Partial(_DEEP)
    try:
        document = tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)[:200]
        raise _Partial(f"not TOML: {reason}") from error
    lines = _toml_lines(text)
    stack: list[tuple[str, Any, int]] = [("", document, 1)]
    while stack:
        key, value, line = stack.pop()
        line = lines.get(key, line)
        if isinstance(value, dict | list) and value:
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            prefix = f"{key}." if key else ""
            stack.extend(reversed([(f"{prefix}{name}"[:MAX_KEY], child, line) for name, child in pairs]))
        elif key:
            yield key, _toml_text(value), line


def _toml_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    return str(value)


def _toml_lines(text: str) -> dict[str, int]:
    """The line of every table and of every key at the start of a line, by its dotted name."""
    lines: dict[str, int] = {}
    table, arrays = "", Counter[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        match = _TOML_LINE.match(line)
        if match is None:
            continue
        if match["table"]:
            table = _toml_name(match["table"])
            if line.lstrip().startswith("[["):
                arrays[table] += 1
                table = f"{table}.{arrays[table] - 1}"
            lines.setdefault(table, number)
        else:
            name = _toml_name(match["key"])
            lines.setdefault(f"{table}.{name}" if table else name, number)
    return lines


def _toml_name(written: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in written.split("."))


# --- INI and gin ---

_SECTION: Final = re.compile(r"\[([^\]\n]{1,200})\]")
_PAIR: Final = re.compile(r"([^\s=:\[{#;][^=:\n]{0,199}?)[ \t]*(?:=|:(?=[ \t]|$))[ \t]*(.*)")
_GIN_PAIR: Final = re.compile(r"((?:[\w.]{1,100}/){0,10}[\w.]{1,200}(?:\.\w{1,100})?)[ \t]*=[ \t]*(.*)")
_GIN_SIGN: Final = re.compile(r"^(?:import [\w.]+|include ['\"]|[\w./]+\.\w+[ \t]*=[ \t]*[@%])", re.MULTILINE)
_OPEN: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def _is_gin(text: str) -> bool:
    return _GIN_SIGN.search(text) is not None and not text.lstrip().startswith("[")


def _ini_leaves(text: str) -> Leaves:
    lines = text.split("\n")
    names = Counter(match[1].strip() for line in lines if (match := _SECTION.match(line)))
    if not names and _is_gin(text):
        yield from _gin_leaves(lines)
        return
    seen: Counter[str] = Counter()
    section, pending = "", None
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r")
        if not line.strip() or line.lstrip()[0] in "#;":
            continue
        if pending and line[0] in " \t":
            pending = (pending[0], f"{pending[1]}\n{line.strip()}"[: MAX_VALUE + 1], pending[2])
            continue
        if pending:
            yield pending
            pending = None
        if match := _SECTION.match(line):
            name = match[1].strip()
            section = f"{name}.{seen[name]}." if names[name] > 1 else f"{name}."
            seen[name] += 1
        elif match := _PAIR.match(line.lstrip()):
            pending = (section + match[1].strip(), _bare(match[2]), number)
    if pending:
        yield pending


def _gin_leaves(lines: list[str]) -> Leaves:
    """Bindings and macros; a value goes on while a bracket is open or a line ends in a backslash."""
    key, value, start, depth = "", "", 0, 0
    for number, raw in enumerate(lines, start=1):
        line = _bare(raw.strip())
        if key and (depth > 0 or value.endswith("\\")):
            value = f"{value.rstrip(chr(92)).rstrip()} {line}"[: MAX_VALUE + 1]
        else:
            if key:
                yield key, value, start
            match = _GIN_PAIR.match(line)
            key, value, start, depth = (match[1], match[2], number, 0) if match else ("", "", 0, 0)
            line = value
        depth += sum(_OPEN.get(char, 0) for char in line) if key else 0
    if key:
        yield key, value, start


def _bare(value: str) -> str:
    """`value` without the comment behind it. A hash inside quotes stays, as far as one line can tell."""
    for sign in (" #", " ;", "\t#", "\t;"):
        index = value.find(sign)
        if index >= 0 and not value.lstrip().startswith(("'", '"')):
            value = value[:index]
    return "" if value.startswith("#") else value.strip()
