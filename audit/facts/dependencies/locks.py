"""Lock files, read line by line: they run to megabytes, and only names, versions and hashes count.

Formats: uv.lock, poetry.lock, pdm.lock, Pipfile.lock, pylock.toml (PEP 751), conda-lock.yml and explicit
conda locks, pixi.lock.
"""

import re
from collections.abc import Sized

from audit.facts.dependencies.line import normalise
from audit.facts.extracted import Extracted
from audit.facts.model import LockFacts

MAX_PACKAGES = 50_000

_PACKAGE = re.compile(r"^\[\[packages?\]\][ \t]*\n", re.MULTILINE)
_TOML_VALUE = re.compile(r"^(name|version)[ \t]*=[ \t]*(['\"])([^'\"\n]*)\2", re.MULTILINE)
_TOML_PYTHON = re.compile(r"^requires[-_]python[ \t]*=[ \t]*(['\"])([^'\"\n]*)\1", re.MULTILINE)
_OWN = re.compile(r"^source = \{ (?:virtual|editable) = ", re.MULTILINE)
"""uv's mark for the projects of the workspace itself."""
_YAML_VALUE = re.compile(r"(-[ \t]+)?(name|version|manager|kind|conda|pypi|url)\s*:\s*(\S.*)?$")
_CONDA_URL = re.compile(r"https?://\S*/([^/\s#]+?)-([^-/\s#]+)-[^-/\s#]+(?:\.conda|\.tar\.bz2)")
_WHEEL_URL = re.compile(r"https?://\S*/([A-Za-z0-9_.]+?)-([0-9][^-/\s]*)(?:-[^/\s]*\.whl|\.tar\.gz|\.zip)")
_HASHES = ("sha256", "md5:", "sha512")


def extract(text: str) -> Extracted:
    """The facts of a lock file, whose format its content tells. Of several versions of one package the first
    counts."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    head = text[:4_000]
    if head.lstrip().startswith("{"):
        return _pipfile(text)
    if "@EXPLICIT" in head:
        return _explicit(text)
    if "[[package" in text:
        return _toml(text, _toml_format(text, head))
    if re.search(r"^environments:", text, re.MULTILINE):
        return _pixi(text)
    if re.search(r"^packages?:", text, re.MULTILINE):
        return _conda_lock(text)
    name = _toml_format(text, head)
    if name:
        return _toml(text, name)
    return Extracted(LockFacts(format=""), "a lock file of no known format")


def _toml_format(text: str, head: str) -> str:
    """Which tool wrote a lock in TOML."""
    if "[[packages]]" in text or "lock-version" in head.split("[[", 1)[0]:
        return "pylock"
    if "by Poetry" in head or "\ncontent-hash" in text:
        return "poetry"
    if "by PDM" in head or "\ncontent_hash" in text or "lock_version" in text[-4_000:] + head:
        return "pdm"
    return "uv" if re.search(r"^(?:version|revision|requires-python)\s*=", head, re.MULTILINE) else ""


def _toml(text: str, name: str) -> Extracted:
    packages: dict[str, str] = {}
    head, *blocks = _PACKAGE.split(text)
    for block in blocks[:MAX_PACKAGES]:
        body = block.partition("\n[")[
            0
        ]  # what a sub-table such as [package.dependencies] says is not about it
        values = {found[1]: found[3] for found in _TOML_VALUE.finditer(body)}
        if "name" in values and not (name == "uv" and _OWN.search(body)):
            packages.setdefault(normalise(values["name"]), values.get("version", ""))
    found = _TOML_PYTHON.search(head)
    return Extracted(
        LockFacts(
            format=name,
            packages=packages,
            hashed=any(mark in text for mark in _HASHES),
            python=_poetry_python(text) if name == "poetry" else found[2] if found is not None else "",
        ),
        _cut(blocks),
    )


def _poetry_python(text: str) -> str:
    """The interpreter of the whole lock, which stands in `[metadata]` at the end."""
    at = text.rfind("\n[metadata]")
    found = (
        re.search(r"python-versions\s*=\s*(['\"])([^'\"\n]*)\1", text[at : at + 4_000]) if at >= 0 else None
    )
    return found[2] if found is not None else ""


def _cut(packages: Sized) -> str:
    return f"only the first {MAX_PACKAGES:,} packages were read" if len(packages) >= MAX_PACKAGES else ""


def _pipfile(text: str) -> Extracted:
    import json

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Extracted(LockFacts(format="pipfile"), f"not JSON: {str(error)[:100]}")
    packages: dict[str, str] = {}
    hashed = False
    for section, entries in data.items() if isinstance(data, dict) else ():
        if section == "_meta" or not isinstance(entries, dict):
            continue
        for name, entry in entries.items():
            if not isinstance(entry, dict) or len(packages) >= MAX_PACKAGES:
                continue
            version = entry.get("version") or entry.get("ref") or ""
            packages.setdefault(
                normalise(name), version.removeprefix("==") if isinstance(version, str) else ""
            )
            hashed = hashed or bool(entry.get("hashes"))
    meta = data.get("_meta") if isinstance(data, dict) else None
    requires = meta.get("requires") if isinstance(meta, dict) else None
    python = (
        requires.get("python_full_version") or requires.get("python_version")
        if isinstance(requires, dict)
        else ""
    )
    known = isinstance(data, dict) and isinstance(meta, dict)
    return Extracted(
        LockFacts(
            format="pipfile" if known else "",
            packages=packages,
            hashed=hashed,
            python=python if isinstance(python, str) else "",
        ),
        _cut(packages) if known else "a lock file of no known format",
    )


def _explicit(text: str) -> Extracted:
    """`conda list --explicit`: one address a line, with an md5 behind `#` where asked for."""
    packages: dict[str, str] = {}
    hashed = False
    for found in _CONDA_URL.finditer(text):
        packages.setdefault(normalise(found[1]), found[2])
        hashed = hashed or text[found.end() : found.end() + 1] == "#"
        if len(packages) >= MAX_PACKAGES:
            break
    return Extracted(
        LockFacts(format="conda-lock", packages=packages, hashed=hashed, python=packages.get("python", "")),
        _cut(packages),
    )


def _conda_lock(text: str) -> Extracted:
    """conda-lock.yml: a list of packages with `name`, `version` and `hash`."""
    packages: dict[str, str] = {}
    name = version = ""
    for raw in text.split("\n"):
        line = raw.strip()
        found = _YAML_VALUE.match(line) if line[:1] in "-nv" else None
        if found is None or found[2] not in {"name", "version"}:
            if line.startswith("- "):
                name = version = ""
            continue
        value = (found[3] or "").strip("'\" ")
        if found[1]:
            name = version = ""
        if found[2] == "name":
            name = value
        else:
            version = value
        if name and version and len(packages) < MAX_PACKAGES:
            packages.setdefault(normalise(name), version)
            name = version = ""
    hashed = any(mark in text for mark in ("sha256:", "md5:"))
    return Extracted(
        LockFacts(format="conda-lock", packages=packages, hashed=hashed, python=packages.get("python", "")),
        _cut(packages),
    )


def _pixi(text: str) -> Extracted:
    """pixi.lock: packages by address (version 6) or by kind, name and version (version 5)."""
    packages: dict[str, str] = {}
    at = text.find("\npackages:")
    python = ""
    name = ""
    for raw in text[at if at >= 0 else 0 :].split("\n"):
        line = raw.strip()
        if line[:1] not in "-nvcpu":
            continue
        found = _YAML_VALUE.match(line)
        if found is None:
            continue
        key, value = found[2], (found[3] or "").strip("'\" ")
        if found[1]:
            name = ""
        if key in {"conda", "pypi", "url"}:
            address = (_CONDA_URL if key == "conda" else _WHEEL_URL).match(value) or _CONDA_URL.match(value)
            if address is not None and len(packages) < MAX_PACKAGES:
                packages.setdefault(normalise(address[1]), address[2])
        elif key == "name":
            name = value
        elif key == "version" and name and len(packages) < MAX_PACKAGES:
            packages[normalise(name)] = packages.get(normalise(name)) or value
    python = packages.get("python", "")
    hashed = "sha256:" in text
    return Extracted(
        LockFacts(format="pixi", packages=packages, hashed=hashed, python=python), _cut(packages)
    )
