"""IPython's additions to Python: `!commands`, `%magics`, `%%cell magics` and `help?`.

What they are is IPython's (https://ipython.readthedocs.io/en/stable/interactive/magics.html). For the Python
parser they are blanked in place, so that no line moves; what they run is handed out as shell text.
"""

import re
from collections.abc import Iterator
from typing import Final

_SHELL: Final = re.compile(
    r"^[ \t]*+(?:\w{1,60}[ \t]*+=[ \t]*+)?(!{1,2}|%{1,2}(?=s[hx]\b|system\b))[ \t]*+(?:s[hx]|system)?[ \t]*+(?P<command>[\w./~$(\[{\"'\\-].*)"
)
_MAGIC: Final = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<target>\w{1,60}[ \t]*+=[ \t]*+)?%{1,2}(?P<name>[A-Za-z_]\w{0,60})(?:[ \t]++(?P<rest>.*)|$)"
)
_HELP: Final = re.compile(r"^[ \t]*+(?:\?{1,2}[\w.%*]++|[\w.%*]++\?{1,2})[ \t]*+$")
_CELL: Final = re.compile(r"^%%(?P<name>[A-Za-z!_]\w{0,60}|!)(?P<rest>.*)")
# "Automagic": these names run without a sign where the line is no Python.
_BARE: Final = re.compile(r"^(?P<command>(?:cd|ls|cat|cp|mv|rm|mkdir|pip|conda)[ \t]++[^=\s(].*)")
_SIGN: Final = re.compile(r"[!%?]")
# Cell magics around Python, and line magics around a statement of it.
_PYTHON_CELLS: Final = frozenset(
    {"time", "timeit", "capture", "prun", "python", "python3", "snakeviz", "memit", "mprun", "wandb"}
)
_PYTHON_LINES: Final = frozenset({"time", "timeit", "prun", "memit", "snakeviz"})
_SHELL_CELLS: Final = frozenset({"bash", "sh", "shell", "system", "!", "sx"})
_INSTALLERS: Final = frozenset({"pip", "conda", "mamba", "uv"})
_OPTIONS: Final = re.compile(r"(?:-[a-zA-Z]\w*[ \t]*+(?:\d++[ \t]*+)?)++")


class Cell:
    """A code cell as (text, line of the file) pairs."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[tuple[str, int]]) -> None:
        self.lines = lines

    @property
    def line(self) -> int:
        """The line of the file where the cell starts."""
        return self.lines[0][1] if self.lines else 1

    def magic(self) -> tuple[str, str]:
        """Name and arguments of the cell magic, "" and "" for an ordinary cell."""
        first = next((text for text, _ in self.lines if text.strip()), "")
        match = _CELL.match(first)
        return (match["name"], match["rest"].strip()) if match else ("", "")

    def shell(self) -> Iterator[tuple[str, int]]:
        """(shell text, line) of everything that the cell hands to a shell or runs as a script."""
        name, rest = self.magic()
        if name in _SHELL_CELLS or (name == "script" and rest.startswith(("bash", "sh"))):
            head = next(index for index, (text, _) in enumerate(self.lines) if text.strip())
            body = self.lines[head + 1 :]
            if body:
                yield "\n".join(text for text, _ in body), body[0][1]
            return
        if name and name not in _PYTHON_CELLS:
            return
        for index, (text, line) in enumerate(self.lines):
            if command := _command(text):
                yield _continued(command, self.lines, index), line


def blank_magics(cell: Cell) -> Iterator[tuple[str, int]]:
    """The lines of `cell` as plain Python: whatever is IPython's own is `pass`, or left out."""
    name, _ = cell.magic()
    if name and name not in _PYTHON_CELLS:
        yield from (("", line) for _, line in cell.lines)
        return
    suspicious = any(_SIGN.search(text) or _BARE.match(text) for text, _ in cell.lines)
    if not suspicious or _is_python("\n".join(text for text, _ in cell.lines)):
        yield from cell.lines
        return
    continued = False
    for text, line in cell.lines:
        if continued:
            yield "", line
            continued = text.rstrip().endswith("\\")
            continue
        plain = _plain(text)
        continued = plain != text and text.rstrip().endswith("\\")
        yield plain, line


def _is_python(text: str) -> bool:
    """Whether the text parses as it is: then a line that starts with a sign is part of a string or an
    expression."""
    import ast
    import warnings

    from audit.facts.python.extract import too_much

    if too_much(text):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _plain(text: str) -> str:
    indent = text[: len(text) - len(text.lstrip())]
    if text.startswith("%%"):
        return ""
    if _SHELL.match(text):
        target, equals, _ = text.partition("=")
        return (
            f"{target}{equals} []" if equals and "!" not in target and "%" not in target else f"{indent}pass"
        )
    if match := _MAGIC.match(text):
        if match["name"] in _PYTHON_LINES and match["rest"]:
            return indent + (match["target"] or "") + _OPTIONS.sub("", match["rest"], count=1)
        return f"{indent}{match['target']}None" if match["target"] else f"{indent}pass"
    return f"{indent}pass" if _HELP.match(text) or _BARE.match(text) else text


def _command(text: str) -> str:
    if text[:1].islower() and (match := _BARE.match(text)):
        return match["command"]
    if not _SIGN.search(text[:200]):
        return ""
    if match := _SHELL.match(text):
        return match["command"]
    if match := _MAGIC.match(text):
        name, rest = match["name"], (match["rest"] or "").strip()
        if name in _INSTALLERS and rest:
            return f"{name} {rest}"
        if name == "run" and rest:
            return f"python {rest}"
    return ""


def _continued(command: str, lines: list[tuple[str, int]], index: int) -> str:
    parts = [command]
    while parts[-1].rstrip().endswith("\\") and index + 1 < len(lines) and len(parts) < 200:
        index += 1
        parts.append(lines[index][0])
    return "\n".join(parts)
