"""Machine edits that write one version into a requirements file: only the version changes, nothing else of the line."""

import re
from collections.abc import Iterable, Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from audit.documents.finding import Edit
from audit.facts.model import LockFacts, Requirement
from audit.rules.imports import Declaration
from audit.safety.redact import redact
from audit.signals.environment import own_locks
from audit.signals.repository import Repository

_HEAD = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9._-]*(?:\s*\[[^\]\[]*\])?")
_TAIL = re.compile(r"\s*;|\s+#|\s+--|$")


class Resolutions:
    """What the lock files beside a manifest say of its packages."""

    def __init__(self, repository: Repository) -> None:
        self._locks: dict[str, LockFacts] = own_locks(repository)

    def of(self, row: Declaration) -> tuple[str, str] | None:
        """(version, lock file) of a declared package; None where no lock in the same folder or around it knows it, or where two differ."""
        folder = f"{row.path.rpartition('/')[0]}/".lstrip("/")
        found = [
            (version, path)
            for path, lock in self._locks.items()
            if folder.startswith(f"{path.rpartition('/')[0]}/".lstrip("/"))
            and (version := lock.packages.get(row.requirement.name))
        ]
        return found[-1] if len({version for version, _ in found}) == 1 else None


def pin_edits(rows: Iterable[tuple[Declaration, str]]) -> Iterator[Edit]:
    """The edits that pin each row to its version, where that is possible without changing anything else."""
    for row, version in rows:
        text = pinned(row.requirement, version)
        if text is not None:
            line = row.requirement.line
            yield Edit(row.path, line, line, text + "\n")


def pinned(requirement: Requirement, version: str) -> str | None:
    """The requirement's line with `==version`; None where the version is not one, or is outside of what the line asks for."""
    head = _HEAD.match(requirement.text)
    if head is None or redact(requirement.text) != requirement.text:
        return None
    try:
        number = Version(version)
        # A local version (2.4.1+cu121) is found on the index that it came from, which the line does not name.
        if number.local or not SpecifierSet(requirement.specifier).contains(number, prereleases=True):
            return None
    except (InvalidVersion, InvalidSpecifier):
        return None
    tail = _TAIL.search(requirement.text, head.end())
    end = tail.start() if tail else len(requirement.text)
    return f"{head[0]}=={number}{requirement.text[end:]}"
