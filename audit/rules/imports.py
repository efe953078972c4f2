"""What the repository's own code imports from outside, and which distributions its files declare."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from audit.documents.place import Place
from audit.facts.classify import is_docs_path, is_example_path, is_test_path
from audit.facts.model import LockFacts, Requirement
from audit.signals.knowledge import knowledge
from audit.signals.repository import Repository
from audit.signals.training_path import Entry, TrainingPath

_PYTHON_2 = frozenset(
    """
    ConfigParser Queue StringIO cStringIO cPickle urllib2 urlparse HTMLParser httplib commands __builtin__ copy_reg copyreg Tkinter tkMessageBox
    tkFileDialog cookielib Cookie SocketServer SimpleHTTPServer BaseHTTPServer thread dummy_thread md5 sets sha exceptions itertools2 anydbm
    imp distutils asyncore asynchat smtpd telnetlib cgi cgitb pipes crypt imghdr sndhdr nntplib uu xdrlib audioop chunk aifc sunau
    msilib nis ossaudiodev spwd mailcap lib2to3 __main__ __future__ binhex formatter parser symbol macpath
    """.split()
)
"""Modules of older standard libraries (Python 2, and those that PEP 594 and its forerunners removed)."""

_GIVEN = frozenset(
    """
    setuptools pkg_resources pip wheel Cython pybind11 google.colab IPython ipykernel nbformat kaggle_secrets kaggle_datasets dbutils pyspark_dbutils bpy
    torch_xla torch_npu torch_mlu torch_musa intel_extension_for_pytorch habana_frameworks torch_neuronx neuronx_distributed rclpy rospy pytest _pytest
    cloud_tpu_client nvidia smdistributed isaacgym isaacgymenvs
    """.split()
)
"""Import names that come with a build, a notebook service, a device's image or a test runner rather than with a declared package."""

_NAMESPACES = frozenset(
    "google azure zope jaraco backports sphinxcontrib nvidia ruamel mpl_toolkits paste tencentcloud aliyunsdkcore".split()
)
"""Packages that many distributions share: the first name alone tells nothing."""

_CODE_SUFFIXES = (
    ".py",
    ".pyx",
    ".pyi",
    ".so",
    ".pyd",
    ".cpp",
    ".cc",
    ".cu",
    ".c",
    ".proto",
    ".ipynb",
    ".rs",
    ".thrift",
)
_SIDE_FOLDERS = frozenset(
    {"benchmark", "benchmarks", "contrib", "experimental", "paper", "papers", "research", "assets", "website"}
)
_AVAILABLE = re.compile(
    r"(?:^|[._])(?:is|has)_([a-z0-9_]+?)_(?:is_)?(?:available|installed|imported|greater_or_equal)$",
    re.IGNORECASE,
)


NO_IMPORTS = "The repository's code imports nothing outside of the standard library."

_VCS = re.compile(r"(?:git|hg|svn|bzr)\+|git@|git://|.*\.git(?:[@#]|$)", re.IGNORECASE)


class Use(msgspec.Struct, frozen=True, order=True):
    """An import of something outside the repository. `optional`: inside a function, so that the file works without it;
    `side`: in an example, a benchmark or the like, or in a file that no documented or training entry point imports at once."""

    path: str
    line: int
    optional: bool
    side: bool

    @property
    def place(self) -> Place:
        return Place(self.path, self.line)


class Declaration(msgspec.Struct, frozen=True):
    """A requirement and the file that states it."""

    path: str
    requirement: Requirement

    @property
    def place(self) -> Place:
        return Place(self.path, self.requirement.line or None)

    @property
    def at(self) -> str:
        """ "requirements.txt:3"."""
        return f"{self.path}:{self.requirement.line}" if self.requirement.line else self.path

    @property
    def moves(self) -> bool:
        """Whether it names a version control address."""
        return _VCS.match(self.requirement.url) is not None

    @property
    def said(self) -> str:
        """The requirement as a reader would say it: "torch>=2.0", "numpy without a version"."""
        each = self.requirement
        if each.url:
            return f"{each.name} from {each.url[:120]}"
        gap = " " if each.specifier[:1].isalnum() else ""
        return (
            f"{each.name}{gap}{each.specifier}"
            if each.specifier.strip("* ")
            else f"{each.name} without a version"
        )


def declarations(repository: Repository) -> Iterator[Declaration]:
    """What manifests ask for, those of tests, documentation and CI tools left out."""
    for path, manifest in repository.manifests.items():
        if not is_test_path(path) and not is_docs_path(path) and not path.startswith("."):
            yield from (Declaration(path, each) for each in manifest.requirements)


def mentions(repository: Repository) -> Iterator[Declaration]:
    """What other files install: containers, scripts, notebooks, documents, CI."""
    for group in (
        repository.containers,
        repository.scripts,
        repository.notebooks,
        repository.docs,
        repository.ci,
    ):
        for path, body in group.items():
            yield from (Declaration(path, each) for each in body.requirements)


def by_name(items: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    """Declarations by normalised name, in their order."""
    found: dict[str, list[Declaration]] = defaultdict(list)
    for each in items:
        found[normalise(each.requirement.name)].append(each)
    return found


def installs_itself(each: Declaration, repository: Repository) -> bool:
    """Whether the requirement is the audited project: a README that says how to install it is no dependency."""
    address = each.requirement.url.lower()
    if (
        each.requirement.name in own_projects(repository)
        or f"/{repository.snapshot.repository.lower()}" in address
    ):
        return True
    return address.startswith((".", "/"))


def locked(repository: Repository) -> dict[str, tuple[str, str]]:
    """{distribution: (version, lock file)} of all lock files, those nearest to the root first."""
    found: dict[str, tuple[str, str]] = {}
    for path, lock in sorted(repository.bodies(LockFacts), key=lambda item: (item[0].count("/"), item[0])):
        for name, version in lock.packages.items():
            found.setdefault(name, (version, path))
    return found


def normalise(name: str) -> str:
    """The name as PEP 503 compares it; conda's name for a package becomes the index's."""
    plain = re.sub(r"[-_.]+", "-", name).strip("-").lower()
    return knowledge().aliases.get(plain, plain)


def own_projects(repository: Repository) -> frozenset[str]:
    """Names under which the repository's own work is installed or built."""
    names = [
        repository.snapshot.repository.rpartition("/")[2],
        *(body.name for body in repository.manifests.values()),
    ]
    return frozenset(normalise(name) for name in names if name)


def outside_imports(repository: Repository, path: TrainingPath) -> dict[str, list[Use]]:
    """{import name: uses} of everything that is neither the standard library's nor found in the repository, the weightiest use first.

    Imports that the code can do without (guarded, or behind a question whether the package is there) are left out.
    The import name is the first part, or the longest known one of a namespace package; where a namespace package says nothing, it is left out.
    """
    own = _own_names(repository)
    asked = _asked_for(repository)
    answers: dict[str, bool] = {}
    core = core_files(repository, path)
    started = {entry.path for entry in path.entries if entry.documented} or {e.path for e in _started(path)}
    found: dict[str, list[Use]] = defaultdict(list)
    for file, facts in repository.code.items():
        if file.startswith(".") or "/." in file:
            continue  # tools of a service, whose manifests are not looked at either
        side = (
            file not in core
            or is_example_path(file)
            or not _SIDE_FOLDERS.isdisjoint(file.lower().split("/")[:-1])
        )
        for item in facts.imports:
            if item.module.startswith("."):
                continue
            name = _import_name(item.module if item.name in ("", "*") else f"{item.module}.{item.name}")
            root = name.partition(".")[0]
            if not name or root in own or _is_given(name) or _is_given(root):
                continue
            if item.guarded:
                continue
            if root not in answers:
                answers[root] = _is_asked(root, asked)
            if answers[root]:
                continue
            kind = facts.scopes[item.scope].kind
            self_test = kind == "main" and file not in started
            found[name].append(Use(file, item.line, kind == "function" or self_test, side or self_test))
    return {
        name: sorted(uses, key=lambda use: (use.optional, use.side, use.path.count("/"), use))
        for name, uses in sorted(found.items())
    }


def _is_given(name: str) -> bool:
    return name in _GIVEN or name in _PYTHON_2 or name in sys.stdlib_module_names


def _is_asked(root: str, asked: frozenset[str]) -> bool:
    name = root.lower()
    return any(name == each or name.startswith(each + "_") or each.startswith(name + "_") for each in asked)


def core_files(repository: Repository, path: TrainingPath) -> frozenset[str]:
    """Files that run as soon as somebody starts a documented, training or evaluating entry point, or imports a package of the root.

    Only imports that happen at once are followed: what a function imports, or a guard protects, waits until it is asked for.
    """
    modules = path.graph.modules
    queue = [entry.path for entry in _started(path)]
    queue += [file for file in repository.code if file.count("/") == 1 and file.endswith("/__init__.py")]
    queue += [
        file
        for file in repository.code
        if file.startswith("src/") and file.count("/") == 2 and file.endswith("/__init__.py")
    ]
    seen: set[str] = set()
    while queue:
        file = queue.pop()
        facts = repository.code.get(file)
        if file in seen or facts is None:
            continue
        seen.add(file)
        queue += modules.package_files(file)
        for item in facts.imports:
            if item.guarded or facts.scopes[item.scope].kind == "function":
                continue
            for name in {
                item.module,
                f"{item.module}{'' if item.module.endswith('.') else '.'}{item.name}"
                if item.name
                else item.module,
            }:
                target, _ = modules.resolve(name, file)
                if target is not None:
                    queue.append(target)
    return frozenset(seen)


def _started(path: TrainingPath) -> list[Entry]:
    """The entry points that somebody starts: those that train, and those that documents name; else those that evaluate."""
    return [*path.training, *(entry for entry in path.entries if entry.documented)] or list(path.evaluating)


def _import_name(module: str) -> str:
    """The part of a dotted name that tells the distribution; "" for a namespace package that does not."""
    parts = module.split(".")
    if parts[0] not in _NAMESPACES:
        return parts[0]
    known = knowledge().distributions
    names = (".".join(parts[:size]) for size in range(min(3, len(parts)), 0, -1))
    return next((name for name in names if name in known), "")


def _own_names(repository: Repository) -> frozenset[str]:
    """Everything in the tree that an import could mean, wherever it lies: search paths are often changed at run time."""
    names: set[str] = set()
    for entry in repository.snapshot.entries:
        *folders, last = entry.path.split("/")
        if last.endswith(_CODE_SUFFIXES):
            names.add(last.partition(".")[0])
            names.update(folders)
        elif entry.kind.value == "submodule":
            names.add(last)
    for path in repository.vendored_folders:
        names.add(path.rstrip("/").rpartition("/")[2])
    for manifest in repository.manifests.values():
        if manifest.name:
            names.add(manifest.name.replace("-", "_"))
    own = repository.snapshot.repository.rpartition("/")[2]
    names.add(own.replace("-", "_"))
    return frozenset(names)


def _asked_for(repository: Repository) -> frozenset[str]:
    """Packages for which the code asks whether they are there (`is_wandb_available()`)."""
    said: set[str] = set()
    for facts in repository.code.values():
        said.update(item.name for item in facts.imports)
        for scope in facts.scopes:
            said.update(scope.refs)
    return frozenset(match[1].lower() for name in said if (match := _AVAILABLE.search(name)))
