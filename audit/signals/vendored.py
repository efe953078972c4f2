"""Copies of other people's projects inside the tree, recognised by more than a folder's name."""

from typing import TYPE_CHECKING

from audit.facts.kinds import Kind
from audit.facts.model import DependencyFacts
from audit.signals.knowledge import knowledge

if TYPE_CHECKING:
    from audit.signals.repository import Repository

_MANIFESTS = (Kind.PYPROJECT, Kind.SETUP_PY, Kind.SETUP_CFG)


def vendored_folders(repository: "Repository") -> tuple[str, ...]:
    """Folders with a manifest of their own that names a library everybody installs from an index.

    A monorepo's own sub-projects have manifests too: what makes a copy is that the project named there is another, known
    one, and that the repository itself is not it.
    """
    known = knowledge().libraries
    own = repository.snapshot.repository.rpartition("/")[2].lower().replace("_", "-")
    folders: set[str] = set()
    for path, kind in repository.kinds.items():
        if kind not in _MANIFESTS or "/" not in path:
            continue
        facts = repository.facts.get(path)
        body = facts.body if facts else None
        name = body.name.lower().replace("_", "-") if isinstance(body, DependencyFacts) else ""
        if name and name in known and name != own and own not in name and name not in own:
            folders.add(path.rpartition("/")[0] + "/")
    return tuple(sorted(folders))
