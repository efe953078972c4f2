"""Which libraries the repository's own code really imports."""

import sys

from audit.documents.place import Place
from audit.documents.signals import Signal
from audit.facts.model import DependencyFacts
from audit.signals.repository import Repository
from audit.signals.training_path import TrainingPath

_STANDARD = frozenset(sys.stdlib_module_names) | {
    "__future__",
    "__main__",
    "setuptools",
    "pkg_resources",
    "distutils",
    "_typeshed",
    "pip",
    *"cPickle urllib2 urlparse StringIO cStringIO ConfigParser Queue HTMLParser httplib __builtin__ copy_reg Tkinter commands".split(),
}


def imported_libraries(repository: Repository, path: TrainingPath) -> dict[str, Place]:
    """Top-level import names of libraries from outside, with the first place; lazy and guarded imports count, own modules do not.

    A package that the repository itself publishes counts where it is imported by its public name.
    """
    own = {body.name.lower().replace("-", "_") for _, body in repository.bodies(DependencyFacts) if body.name}
    found: dict[str, Place] = {}
    for file, facts in repository.code.items():
        if file.rpartition("/")[2] in ("setup.py", "noxfile.py"):
            continue
        for item in facts.imports:
            root = item.module.partition(".")[0]
            if not root or root in _STANDARD or root in found:
                continue
            module, _ = path.graph.modules.resolve(item.module, file)
            if module is None or (root.lower() in own and file.partition("/")[0] not in (root, "src")):
                found[root] = Place(file, item.line)
    return dict(sorted(found.items()))


def frameworks(repository: Repository, path: TrainingPath) -> Signal[tuple[str, ...]]:
    """Import names, sorted; notebooks speak where there is no other code."""
    found = imported_libraries(repository, path)
    if not repository.code:
        for file, notebook in repository.notebooks.items():
            for item in notebook.code.imports:
                root = item.module.partition(".")[0]
                if root and root not in _STANDARD:
                    found.setdefault(root, Place(file, item.line))
    return Signal(tuple(sorted(found)), tuple(list(found.values())[:6]))
