"""One requirement as text: PEP 508, pip's extensions to it (VCS addresses, paths), and conda's match
specifications.

Sources: https://packaging.python.org/en/latest/specifications/dependency-specifiers/,
https://pip.pypa.io/en/stable/reference/requirement-specifiers/,
https://docs.conda.io/projects/conda/en/stable/user-guide/concepts/pkg-specs.html.
"""

import re

from audit.facts.model import Requirement

MAX_LINE = 4_000
"""Longest requirement read, in characters; hashes and options come off before."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS = re.compile(r"\s*\[[^\]\[]*\]")
_CLAUSE = re.compile(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9.*+!_-]+)\s*")
_SCHEME = re.compile(r"(?:git|hg|svn|bzr)\+|(?:https?|ftp|file|ssh|git)://|git@", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![0-9A-Fa-f])[0-9a-fA-F]{40}(?![0-9A-Fa-f])")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_SEPARATORS = re.compile(r"[-_.]+")
_ARCHIVES = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz")
_CONDA = re.compile(r"(?:[^\s:\[\]]+::)?([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(.*)", re.DOTALL)
_CONDA_EXACT = re.compile(r"==?[^=*,|<>\s]+=[^=*,|<>\s]+|==[^=*,|<>\s]+")


def normalise(name: str) -> str:
    """The name as PEP 503 compares it."""
    return _SEPARATORS.sub("-", name).strip("-").lower()


def without_credentials(url: str) -> str:
    """`url` without `user:password@`, except the bare `git@` that SSH addresses need."""
    return _CREDENTIALS.sub(lambda m: m[0] if m[0] == "git@" else "", url)


def is_exact(specifier: str) -> bool:
    """Whether `specifier` admits one version only: an `==` or `===` clause without a wildcard."""
    clauses = (clause.strip() for clause in specifier.split(","))
    return any(c.startswith("==") and "*" not in c and bool(c.strip("= ")) for c in clauses)


def parse_requirement(
    text: str,
    line: int,
    *,
    source: str = "pip",
    group: str = "",
    editable: bool = False,
    hashed: bool = False,
) -> Requirement | None:
    """The requirement that `text` (one logical line, without comment and options) states; None if it is none.

    `.` and `.[extra]`, the project itself, are no dependency: the caller asks `is_project` first.
    """
    text = _unquoted(text)
    if not text or len(text) > MAX_LINE:
        return None
    if _SCHEME.match(text) or _is_path(text):
        return _direct(text, line, "", source, group, editable, hashed)
    found = _NAME.match(text)
    if found is None:
        return None
    name = normalise(found[0])
    rest = text[found.end() :]
    extras = _EXTRAS.match(rest)
    if extras is not None:
        rest = rest[extras.end() :]
    rest = rest.strip()
    if rest.startswith("@"):
        return _direct(rest[1:].strip(), line, name, source, group, editable, hashed)
    rest, _, marker = rest.partition(";")
    specifier = rest.strip()
    if specifier.startswith("(") and specifier.endswith(")"):
        specifier = specifier[1:-1].strip()
    if not _is_specifier(specifier):
        return None
    return Requirement(
        name=name,
        specifier=specifier,
        exact=is_exact(specifier),
        line=line,
        marker=marker.strip(),
        group=group,
        hashed=hashed,
        editable=editable,
        source=source,
    )


def is_project(text: str) -> bool:
    """Whether a requirement is the project's own folder."""
    bare = text.strip().strip("'\"").partition("[")[0].rstrip("/")
    return bare in {".", "file:", "file:.", "file://.", "${PWD}", "$PWD", "$(pwd)"}


def parse_conda(text: str, line: int, *, source: str = "conda", group: str = "") -> Requirement | None:
    """The conda match specification `text` (`numpy=1.21`, `pytorch::pytorch==2.1`, `numpy=1.21.0=py38_0`).

    A single `=` is a prefix match in conda, hence not exact; with a build string, or with `==`, it is.
    """
    text = text.strip().strip("'\"").strip()
    if not text or len(text) > MAX_LINE:
        return None
    found = _CONDA.fullmatch(text)
    if found is None:
        return None
    name, rest = found[1], found[2].strip()
    if rest.startswith("["):
        version = re.search(r"version\s*=\s*['\"]?([^'\",\]]*)", rest[:MAX_LINE])
        rest = version[1].strip() if version is not None else ""
    elif rest and rest[0].isalnum():  # "numpy 1.21.0 py38_0", as conda prints it
        words = rest.split()
        rest = "=".join(["", *words]) if len(words) > 1 else f"={words[0]}"
    elif rest and rest[0] not in "=<>!~*":
        return None
    compact = re.sub(r"\s+", "", rest)
    return Requirement(
        name=normalise(name),
        specifier=rest,
        exact=_CONDA_EXACT.fullmatch(compact) is not None,
        line=line,
        source=source,
        group=group,
    )


def _unquoted(text: str) -> str:
    """`text` without the one pair of quotes around all of it; a marker's own quotes stay."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text.count(text[0]) == 2:
        text = text[1:-1].strip()
    return text


def _is_specifier(text: str) -> bool:
    position = 0
    while position < len(text):
        clause = _CLAUSE.match(text, position)
        if clause is None:
            return False
        position = clause.end()
        if position < len(text):
            if text[position] != ",":
                return False
            position += 1
    return True


def _is_path(text: str) -> bool:
    word = text.split(";", 1)[0].strip()
    if word.startswith(("./", "../", "/", "~/", ".\\", "..\\", "file:")) or word in {".", ".."}:
        return True
    return " " not in word and word.lower().endswith(_ARCHIVES)


def _direct(
    text: str, line: int, name: str, source: str, group: str, editable: bool, hashed: bool
) -> Requirement | None:
    """A requirement by address: VCS, archive, wheel, or a path."""
    address, _, marker = text.partition(" ;")
    if not _ and ";" in text and "://" not in text.split(";", 1)[1]:
        address, _, marker = text.partition(";")
    address = without_credentials(address.strip().strip("'\""))
    if not address:
        return None
    egg = _EGG.search(address)
    commit = _COMMIT.search(address.partition("#")[0])
    path = address.partition("#")[0].partition("?")[0].rstrip("/")
    name = name or (normalise(egg[1]) if egg is not None else _name_from(path))
    if not name:
        return None
    wheel = path.lower().endswith(".whl")
    return Requirement(
        name=name,
        specifier="",
        exact=commit is not None or wheel,
        line=line,
        url=address,
        commit=commit[0].lower() if commit is not None else "",
        marker=marker.strip(),
        group=group,
        hashed=hashed or "#sha256=" in address,
        editable=editable,
        source=source,
    )


def _name_from(path: str) -> str:
    """The likely project name of an address without `#egg=`: the repository's, the wheel's or the
    folder's."""
    path = re.sub(r"/archive/.*", "", path)
    last = path.replace("\\", "/").rsplit("/", 1)[-1].partition("[")[0]
    if "+" in path.partition("://")[0] or last.endswith(".git") or "@" in last:
        last = last.partition("@")[0].removesuffix(".git")
    if last.lower().endswith(".whl"):
        return normalise(last.partition("-")[0])
    for suffix in _ARCHIVES:
        last = last.removesuffix(suffix)
    stem = re.match(r"(.*?)-\d", last)
    found = _NAME.fullmatch(stem[1] if stem is not None else last)
    return normalise(found[0]) if found is not None else ""
