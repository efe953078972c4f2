"""Small repositories made of text, for the tests of the signals."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from textwrap import dedent

import msgspec

from audit.facts.collect import collect
from audit.signals.repository import Repository
from audit.source.snapshot import READ_LIMIT, Entry, GitState, Snapshot


class MemoryReader(msgspec.Struct, frozen=True):
    """Hands out contents that are held in memory, by path."""

    contents: Mapping[str, bytes]
    limit: int = READ_LIMIT

    def read(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | str]]:
        for entry in entries:
            yield entry, self.contents[entry.path]


def build(files: Mapping[str, str | bytes], repository: str = "someone/project") -> Repository:
    """The repository that holds these files ({path: text, which is dedented, or bytes}), all tracked and committed."""
    contents = {
        path: text if isinstance(text, bytes) else dedent(text).encode() for path, text in files.items()
    }
    entries = tuple(
        Entry(path, hashlib.sha1(data).hexdigest(), size=len(data)) for path, data in sorted(contents.items())
    )
    git = GitState(commit="1" * 40, branch="main", modified=(), untracked=())
    snapshot = Snapshot(repository, entries, MemoryReader(contents), git)
    return Repository(snapshot, collect(snapshot, jobs=1, cache=None, now=0))
