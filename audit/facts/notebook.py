"""Jupyter notebooks (nbformat 3 and 4): the code of all cells as one Python text, and how the outputs came
about.

Only the heads of the outputs are decoded: images in base64 are skipped by the decoder and never kept. Lines
are those of the `.ipynb` file: the decoder hands out slices of it, which are found again in order.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from audit.facts.extracted import Extracted
from audit.facts.magics import Cell, blank_magics
from audit.facts.model import Command, NotebookFacts, Requirement
from audit.facts.python.model import PythonFacts
from audit.facts.remap import remap_lines, remap_text

MAX_CELLS: Final = 5_000
MAX_CODE: Final = 4_000_000
"""Most characters of code that are parsed."""
MAX_COMMANDS: Final = 2_000
MAX_OBJECTS: Final = 1_000_000
"""Most JSON objects, those of pictures and tables included: a cell or an output takes up to a hundred bytes while it is read."""
_MAX_METADATA: Final = 10_000


class _Output(msgspec.Struct):
    output_type: Any = ""


class _Cell(msgspec.Struct):
    cell_type: str = ""
    source: msgspec.Raw = msgspec.Raw(b"null")
    input: msgspec.Raw = msgspec.Raw(b"null")  # nbformat 3
    execution_count: Any = None
    prompt_number: Any = None  # nbformat 3
    language: Any = None  # nbformat 3
    outputs: list[_Output] | None = None


class _Worksheet(msgspec.Struct):
    cells: list[msgspec.Raw] = []


class _Notebook(msgspec.Struct):
    cells: list[msgspec.Raw] = []
    worksheets: list[_Worksheet] = []
    metadata: msgspec.Raw = msgspec.Raw(b"null")


class _Metadata(msgspec.Struct):
    """Which language; the state of widgets, which can be megabytes, is passed over."""

    language_info: msgspec.Raw = msgspec.Raw(b"null")
    kernelspec: msgspec.Raw = msgspec.Raw(b"null")
    language: msgspec.Raw = msgspec.Raw(b"null")


def extract(text: str) -> Extracted:
    """Facts of a notebook. Never raises; cells that are not as the format says are left out and said."""
    data = text.removeprefix("\ufeff").encode("utf-8", "replace")
    if data.count(b"{") > MAX_OBJECTS:
        return Extracted(None, f"more than {MAX_OBJECTS:,} JSON objects: not read")
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        return Extracted(NotebookFacts(), f"not a notebook: {str(error)[:200]}")
    cells, why = _cells(data, notebook)
    return _facts(cells, _language(notebook), why)


class _Read(msgspec.Struct):
    """A code cell: its Python or other text with the lines of the file, and its run."""

    cell: Cell
    count: int | None
    outputs: list[str]


def _cells(data: bytes, notebook: _Notebook) -> tuple[list[_Read], str]:
    raws = notebook.cells or [raw for sheet in notebook.worksheets for raw in sheet.cells]
    why = f"more than {MAX_CELLS:,} cells: the rest was left out" if len(raws) > MAX_CELLS else ""
    read: list[_Read] = []
    position, line, size = 0, 1, 0
    for raw in raws[:MAX_CELLS]:
        content = bytes(raw)
        # Between the last cell and this one stand only a comma and blanks, so that the first hit is the cell
        # itself.
        start = data.find(content, position)
        if start < 0:
            continue
        line += data.count(b"\n", position, start)
        try:
            cell = msgspec.json.decode(content, type=_Cell)
            sources = _sources(content, cell, line) if cell.cell_type == "code" else None
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            why, sources = f"cell in line {line} is none: {str(error)[:200]}", None
        if sources is not None:
            size += sum(len(text) for text, _ in sources)
            if size > MAX_CODE:
                return read, f"more than {MAX_CODE:,} characters of code: the rest was left out"
            count = cell.execution_count if cell.execution_count is not None else cell.prompt_number
            read.append(
                _Read(
                    cell=Cell(sources),
                    count=count if isinstance(count, int) else None,
                    outputs=[str(output.output_type) for output in cell.outputs or []],
                )
            )
        line += content.count(b"\n")
        position = start + len(content)
    return read, why


_SOURCE_KEY: Final = re.compile(rb'"(?:source|input)"\s*+:\s*+')
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def _sources(content: bytes, cell: _Cell, first_line: int) -> list[tuple[str, int]]:
    """(text, line) of every line of the cell's source: a list of lines, or one string with all of them."""
    raw = bytes(cell.source)
    if raw == b"null":
        raw = bytes(cell.input)
    value = msgspec.json.decode(raw)
    start = next(
        (key.end() for key in _SOURCE_KEY.finditer(content) if content.startswith(raw, key.end())), 0
    )
    line = first_line + content.count(b"\n", 0, start)
    if isinstance(value, str):
        return [(text, line) for text in value.split("\n")]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return []
    lines: list[tuple[str, int]] = []
    open_line, position = "", 0
    for item, match in zip(value, _STRING.finditer(raw), strict=False):
        line += raw.count(b"\n", position, match.start())
        position = match.start()
        *whole, rest = item.split("\n")
        for text in whole:
            lines.append((open_line + text, line))
            open_line = ""
        open_line += rest
    return [*lines, (open_line, line)] if open_line else lines


def _language(notebook: _Notebook) -> str:
    """Language and version as the metadata says, "" where it says none."""
    try:
        metadata = msgspec.json.decode(notebook.metadata, type=_Metadata)
    except (msgspec.MsgspecError, RecursionError):
        metadata = _Metadata()
    info, kernel = (
        value if isinstance(value := _small(raw), dict) else {}
        for raw in (metadata.language_info, metadata.kernelspec)
    )
    language = (
        info.get("name") or kernel.get("language") or _small(metadata.language) or kernel.get("name") or ""
    )
    # "3.7.8 (default, …)\n[GCC …]" is what a kernel may call its version.
    version = (str(info.get("version") or "").split() or [""])[0]
    return f"{language} {version}".strip()[:100]


def _small(raw: msgspec.Raw) -> Any:
    """The value, None where it is too large to be what is looked for, or no JSON."""
    content = bytes(raw)
    try:
        return msgspec.json.decode(content) if len(content) <= _MAX_METADATA else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def _facts(cells: list[_Read], language: str, why: str) -> Extracted:
    python = (
        not language or "python" in language.lower() or language.lower().startswith(("conda", "py", "venv"))
    )
    code, partial = _code(cells) if python else (PythonFacts(), "")
    commands, requirements = _shell(cells) if python else ((), ())
    counts = [cell.count for cell in cells if cell.count is not None]
    facts = NotebookFacts(
        code=code,
        cells=len(cells),
        executed=len(counts),
        outputs=sum(bool(cell.outputs) for cell in cells),
        in_order=all(a < b for a, b in itertools.pairwise(counts)),
        stale=tuple(_stale(cells)),
        requirements=requirements,
        commands=commands,
        kernel=language,
    )
    return Extracted(facts, partial or why)


def _stale(cells: list[_Read]) -> Iterator[tuple[int, str]]:
    for cell in cells:
        if any(kind in ("error", "pyerr") for kind in cell.outputs):
            yield cell.cell.line, "error output"
        elif cell.outputs and cell.count is None:
            yield cell.cell.line, "output without an execution count"


def _code(cells: list[_Read]) -> tuple[PythonFacts, str]:
    from audit.facts.python.extract import extract as extract_python

    texts: list[str] = []
    lines: list[int] = []
    for cell in cells:
        for text, line in blank_magics(cell.cell):
            texts.append(text)
            lines.append(line)
    body, partial = extract_python("\n".join(texts))
    if not isinstance(body, PythonFacts):
        return PythonFacts(), partial
    return remap_lines(body, lines), remap_text(partial, lines)


def _shell(cells: list[_Read]) -> tuple[tuple[Command, ...], tuple[Requirement, ...]]:
    """What `!` and `%` lines run, and what those of them install that are installers."""
    from audit.facts.commands.shell import read_script

    commands: list[Command] = []
    requirements: list[Requirement] = []
    for text, line in (shell for cell in cells for shell in cell.cell.shell()):
        script = read_script(text, line, "notebook")
        requirements += script.requirements
        if not script.requirements:
            commands += script.commands
        if len(commands) + len(requirements) > MAX_COMMANDS:
            break
    return tuple(commands[:MAX_COMMANDS]), tuple(requirements[:MAX_COMMANDS])
