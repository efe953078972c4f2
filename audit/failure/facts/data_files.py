"""Cells of tabular data files in a checkout that hold no finite number: where NaN in a loss can come from."""

import csv
import io
import math
import re
from collections.abc import Iterator

from audit.documents.verdict import Fact, FactInput
from audit.failure.facts.make import fact
from audit.failure.model import Reading
from audit.source.snapshot import Entry, EntryKind, Snapshot
from audit.telemetry.numbers import number

_DATA = re.compile(r"\.(?:csv|tsv)\Z", re.IGNORECASE)
_MAX_FILES = 5
_MAX_BYTES = 16 * 2**20
_MOSTLY = 0.5
"""A column of which most cells are numbers is one of numbers."""


def cells(repo: Snapshot | None, reading: Reading | None) -> Iterator[Fact]:
    """Counts of cells that are empty, NaN or infinite in columns of numbers, by file; nothing for sound files."""
    if repo is None:
        return
    found = [
        e
        for e in repo.entries
        if e.kind is EntryKind.FILE and _DATA.search(e.path) and (e.size or 0) <= _MAX_BYTES
    ]
    for entry in sorted(found, key=lambda e: (not _mentioned(e, reading), e.path))[:_MAX_FILES]:
        for _, content in repo.reader.read([entry]):
            if isinstance(content, bytes):
                yield from _of_file(entry.path, content)


def _mentioned(entry: Entry, reading: Reading | None) -> bool:
    name = entry.path.rsplit("/", 1)[-1]
    return reading is not None and any(name in line.text for line in reading.lines)


def _of_file(path: str, content: bytes) -> Iterator[Fact]:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    numbers: dict[int, int] = {}
    bad: dict[int, list[int]] = {}
    rows = 0
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        header = next(reader, [])
        for row in reader:
            rows += 1
            for index, cell in enumerate(row[: len(header)]):
                value = number(cell)
                if value is not None and math.isfinite(value):
                    numbers[index] = numbers.get(index, 0) + 1
                elif value is not None or not cell.strip():
                    bad.setdefault(index, []).append(reader.line_num)
    except csv.Error:
        return
    columns = {i: lines for i, lines in bad.items() if numbers.get(i, 0) > _MOSTLY * rows}
    if not columns:
        return
    inputs = [
        FactInput(f"column {header[i]}", len(lines), f"{path}:{lines[0]}")
        for i, lines in list(columns.items())[:10]
    ]
    yield fact(
        "nonfinite_cells",
        sum(map(len, columns.values())),
        f"cells of {path} in columns of numbers that are empty, NaN or infinite",
        inputs,
    )
    yield fact("columns_with_nonfinite_cells", len(columns), f"columns of {path} that hold them", inputs)
    yield fact("data_rows", rows, f"rows of {path}", [FactInput("rows", rows, path)])


_POINTER = b"version https://git-lfs"
_POINTER_SIZE = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)
_MAX_POINTER = 1_024


def pointers(repo: Snapshot | None, reading: Reading | None) -> Iterator[Fact]:
    """Files of the checkout that the log names and that are Git LFS pointers instead of content: the size the content has."""
    if repo is None or reading is None:
        return
    small = [
        e
        for e in repo.entries
        if e.kind is EntryKind.FILE
        and e.size is not None
        and 60 < e.size <= _MAX_POINTER
        and not _TEXTS.search(e.path)
    ]
    told = 0
    for entry in small[:2_000]:
        for found, content in repo.reader.read([entry]):
            size = (
                _POINTER_SIZE.search(content)
                if isinstance(content, bytes) and content.startswith(_POINTER)
                else None
            )
            if size is not None and _mentioned(found, reading) and told < _MAX_FILES:
                told += 1
                yield fact(
                    "content_bytes",
                    int(size[1]),
                    f"size line of the LFS pointer {entry.path}",
                    [FactInput("size", int(size[1]), f"{entry.path}:3")],
                    unit="bytes",
                )
                yield fact(
                    "pointer_bytes",
                    entry.size or 0,
                    f"bytes of {entry.path} as checked out",
                    [FactInput("size", entry.size, entry.path)],
                    unit="bytes",
                )


_TEXTS = re.compile(r"\.(?:py|md|rst|txt|ya?ml|json|toml|cfg|ini|sh|c|h|cc|cpp|cu|ipynb)\Z", re.IGNORECASE)
