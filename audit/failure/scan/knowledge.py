"""The catalogue and the marks, made ready to scan with; kept in the user's cache, since compiling them takes a second."""

import contextlib
import hashlib
import os
import platform
import re
import sys
import tempfile
from functools import cache, cached_property
from pathlib import Path

import msgspec

from audit.failure.catalogue.entry import Entry, files
from audit.failure.scan import marks, matcher, trigger
from audit.failure.scan.marks import MARKS, Mark
from audit.failure.scan.matcher import HyperscanMatcher, LiteralMatcher, Matcher


class _Kept(msgspec.Struct, frozen=True):
    """What the cache file holds."""

    entries: tuple[Entry, ...]
    finding: bytes | None
    marking: bytes | None


class Knowledge:
    """All that is looked for. `owners`: for each pattern of `finder` the index of its entry, or the mark."""

    def __init__(self, kept: _Kept) -> None:
        self.entries = kept.entries
        self._kept = kept
        self.owners: list[int | Mark] = [
            *(index for index, entry in enumerate(self.entries) for _ in entry.patterns),
            *(mark for mark in MARKS if mark.sparse),
        ]
        self._compiled: dict[int, tuple[list[re.Pattern[str]], list[re.Pattern[str]]]] = {}

    @cached_property
    def finder(self) -> Matcher:
        """Signatures, then the sparse marks."""
        return _matcher(_finding(self.entries), self._kept.finding)

    @cached_property
    def marker(self) -> Matcher:
        """All marks, by their place in MARKS."""
        return _matcher(_marking(), self._kept.marking)

    def confirmed(self, index: int, text: str) -> re.Match[str] | None:
        """The match of the entry's pattern on a cleaned line, None where none matches or `unless` speaks against it."""
        if index not in self._compiled:
            entry = self.entries[index]
            self._compiled[index] = (_regexes(entry.patterns), _regexes(entry.unless))
        patterns, unless = self._compiled[index]
        found = next((match for pattern in patterns if (match := pattern.search(text))), None)
        return None if found is None or any(each.search(text) for each in unless) else found


@cache
def knowledge(folder: Path | None = None) -> Knowledge:
    """The shipped catalogue. `folder`: where to keep what was compiled, None for nowhere. Raises CatalogueError."""
    file = folder / f"signatures-{_digest()}.bin" if folder else None
    kept = _read(file) if file else None
    if kept is None:
        kept = _made()
        if file:
            _write(file, kept)
    return Knowledge(kept)


def _matcher(patterns: list[str], serialised: bytes | None) -> Matcher:
    return HyperscanMatcher(patterns, serialised) if serialised else LiteralMatcher(patterns)


def _made() -> _Kept:
    from audit.failure.catalogue.load import load  # and YAML with it: seldom needed

    entries = load(files())
    if not matcher.hyperscan_version():
        return _Kept(entries, None, None)
    return _Kept(entries, matcher.compiled(_finding(entries)), matcher.compiled(_marking()))


def _finding(entries: tuple[Entry, ...]) -> list[str]:
    return [pattern for entry in entries for pattern in entry.patterns] + [
        mark.pattern for mark in MARKS if mark.sparse
    ]


def _marking() -> list[str]:
    return [mark.pattern for mark in MARKS]


def _regexes(patterns: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.MULTILINE) for pattern in patterns]


def _digest() -> str:
    """Of everything that decides what is compiled, the machine's processor included: a database is made for one."""
    digest = hashlib.sha256(
        f"1 {sys.version_info[:3]} {matcher.hyperscan_version()} {platform.machine()}".encode()
    )
    sources = [Path(str(module.__file__)) for module in (marks, matcher, trigger)]
    reader = Path(__file__).parent.parent / "catalogue"
    for path in [*sources, reader / "load.py", reader / "entry.py", *files()]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _read(file: Path) -> _Kept | None:
    """None where there is nothing, or it cannot be used on this machine."""
    try:
        kept = msgspec.msgpack.decode(file.read_bytes(), type=_Kept)
        for database in (kept.finding, kept.marking):
            if database:
                HyperscanMatcher((), database)
    except Exception:  # whatever is wrong with it, it can be made again
        return None
    return kept


def _write(file: Path, kept: _Kept) -> None:
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(msgspec.msgpack.encode(kept))
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)
