"""The runner's reading of a step's output, for tests: which commands would fire.

Grammar: the runner's ActionCommand.cs (both syntaxes, their escapes) and ActionCommandManager.cs (stop-commands).
"""

import re
from dataclasses import dataclass

_V1 = re.compile(r"##\[[^\]]*\]")
_LINES = re.compile(r"\r\n|\r|\n")
REGISTERED = frozenset(
    """add-mask add-matcher add-path debug echo endgroup error group internal-set-repo-path notice remove-matcher save-state set-env
    set-output stop-commands warning""".split()
)
_V2_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_V2_PROPERTY = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))
_V1_ANY = (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%25", "%"))


@dataclass(frozen=True)
class Command:
    """One command that the runner would carry out."""

    name: str
    properties: dict[str, str]
    data: str


def commands(output: str) -> list[str]:
    """Every line that looks like a command, in either syntax, whether the runner knows its name or not."""
    found = []
    for line in _LINES.split(output):
        body = line.lstrip()
        if (body.startswith("::") and "::" in body[2:]) or _V1.search(line):
            found.append(line)
    return found


def executed(output: str) -> list[Command]:
    """The commands that the runner carries out, in order; between `stop-commands` and its token it takes none."""
    found: list[Command] = []
    stopped: str | None = None
    for line in _LINES.split(output):
        known = REGISTERED | ({stopped.lower()} if stopped else set())
        command = _second(line, known) or _first(line, known)
        if command is None:
            continue
        if stopped is not None:
            stopped = None if command.name == stopped else stopped
        else:
            found.append(command)
            if command.name.lower() == "stop-commands":
                stopped = command.data
    return found


def _second(line: str, known: frozenset[str] | set[str]) -> Command | None:
    """`::name key=value,key=value::data`."""
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    name, _, listed = line[2:end].partition(" ")
    if name.lower() not in known:
        return None
    return Command(
        name, _properties(listed.strip(), ",", _V2_PROPERTY), _unescaped(line[end + 2 :], _V2_DATA)
    )


def _first(line: str, known: frozenset[str] | set[str]) -> Command | None:
    """`##[name key=value;key=value]data`, anywhere in a line."""
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, listed = line[start + 3 : end].partition(" ")
    if name.lower() not in known:
        return None
    return Command(name, _properties(listed.strip(), ";", _V1_ANY), _unescaped(line[end + 1 :], _V1_ANY))


def _properties(listed: str, mark: str, escapes: tuple[tuple[str, str], ...]) -> dict[str, str]:
    pairs = (part.strip().split("=", 1) for part in listed.split(mark) if part)
    return {pair[0]: _unescaped(pair[1], escapes) for pair in pairs if len(pair) == 2}


def _unescaped(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    for escaped, plain in escapes:
        text = text.replace(escaped, plain)
    return text
