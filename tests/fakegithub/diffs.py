"""The difference of two commits as GitHub's API tells it: files with status, counts and patch."""

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from .world import Commit, blob_sha

_UNENDED = "\n\\ No newline at end of file\n"
_LARGEST_PATCH = 1_000_000
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")


class FileChange(NamedTuple):
    """`patch` None: binary, moved only, or too large."""

    path: str
    status: str
    previous: str | None
    sha: str
    additions: int
    deletions: int
    patch: str | None


def changes(base: Commit, head: Commit) -> list[FileChange]:
    """All files that differ, by path; a file that only moved is told as renamed."""
    gone = {path: content for path, content in base.files.items() if path not in head.files}
    by_content = {content: path for path, content in gone.items()}
    found: list[FileChange] = []
    for path, content in head.files.items():
        before = base.files.get(path)
        if before == content:
            continue
        if before is None and content in by_content and by_content[content] in gone:
            previous = by_content[content]
            del gone[previous]
            found.append(FileChange(path, "renamed", previous, blob_sha(content), 0, 0, None))
        else:
            found.append(_change(path, "added" if before is None else "modified", before or b"", content))
    found += [_change(path, "removed", content, b"") for path, content in gone.items()]
    return sorted(found)


def _change(path: str, status: str, before: bytes, after: bytes) -> FileChange:
    kept = after if status != "removed" else before
    if b"\0" in before + after:
        return FileChange(path, status, None, blob_sha(kept), 0, 0, None)
    lines = list(difflib.unified_diff(_lines(before), _lines(after), n=3))[2:]
    added = sum(line.startswith("+") for line in lines)
    deleted = sum(line.startswith("-") for line in lines)
    patch = "".join(line if line.endswith("\n") else f"{line}{_UNENDED}" for line in lines).removesuffix("\n")
    # GitHub gives no patch of what it does not show.
    shown = None if len(patch) > _LARGEST_PATCH else patch
    return FileChange(path, status, None, blob_sha(kept), added, deleted, shown)


def hunks(patch: str) -> Iterator[tuple[int, int, str]]:
    """First and last line of each hunk in the new file, and the hunk's text."""
    parts = re.split(r"(?m)^(?=@@ )", patch)
    for part in parts:
        match = _HUNK.match(part)
        if match:
            start, count = int(match[1]), int(match[2] or 1)
            yield start, start + count - 1, part


def _lines(content: bytes) -> list[str]:
    """Lines with their ends, which is LF alone as for Git."""
    return [line for line in re.split(r"(?<=\n)", content.decode("utf-8", "replace")) if line]
