"""pyproject.toml: PEP 621, PEP 735, and the tables of Poetry, PDM, Hatch, uv, setuptools, flit and pixi.

Sources: https://packaging.python.org/en/latest/specifications/pyproject-toml/,
https://packaging.python.org/en/latest/specifications/dependency-groups/, and the tools' own documentation.
"""

from dataclasses import dataclass, field
from typing import Any

from audit.facts.dependencies.line import (
    is_project,
    normalise,
    parse_conda,
    parse_requirement,
    without_credentials,
)
from audit.facts.dependencies.poetry import poetry_requirement
from audit.facts.dependencies.toml_lines import TomlText, strings, table
from audit.facts.extracted import Extracted
from audit.facts.model import DependencyFacts, Requirement

MAX_REQUIREMENTS = 10_000


@dataclass(slots=True)
class _Found:
    toml: TomlText
    requirements: list[Requirement] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    indexes: list[tuple[str, int]] = field(default_factory=list)
    invalid: list[tuple[str, int]] = field(default_factory=list)
    python: str = ""
    python_line: int = 0
    declares: bool = False

    def add_all(self, listed: Any, group: str, where: str, key: str) -> None:
        """Requirements as strings in the list `key` of the table `where`."""
        self.declares = self.declares or isinstance(listed, list)
        after = 0
        for text in strings(listed):
            if is_project(text) or len(self.requirements) >= MAX_REQUIREMENTS:
                continue
            after = line = self.toml.line(where, key, text, after)
            requirement = parse_requirement(text, line, group=group)
            if requirement is None:
                self.invalid.append((text[:300], line))
            else:
                self.requirements.append(requirement)

    def set_python(self, value: Any, where: str, key: str) -> None:
        if isinstance(value, str) and not self.python:
            self.python = value
            self.python_line = self.toml.line(where, key)


def extract(text: str) -> Extracted:
    """The facts of a pyproject.toml. `build-system.requires` is what builds the project, not what it
    needs."""
    toml = TomlText(text)
    found = _Found(toml)
    data = toml.data
    _project(found)
    _groups(found)
    _poetry(found)
    _setuptools(found)
    _flit(found)
    _uv(found)
    _pdm(found)
    _hatch(found)
    _pixi(found)
    project, poetry = table(data, "project"), table(data, "tool", "poetry")
    name = project.get("name") or poetry.get("name") or ""
    scripts = {**_scripts(project), **_scripts(poetry)}
    return Extracted(
        DependencyFacts(
            declares=found.declares,
            requirements=tuple(found.requirements),
            includes=tuple(found.includes),
            indexes=tuple(found.indexes),
            invalid=tuple(found.invalid),
            python=found.python,
            python_line=found.python_line,
            name=name if isinstance(name, str) else "",
            scripts=scripts,
            license=_license(project) or _license(poetry),
            tools=tuple(table(data, "tool")),
        ),
        toml.error,
    )


def _scripts(data: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in ("scripts", "gui-scripts"):
        for name, value in table(data, key).items():
            reference = value.get("reference") or value.get("callable") if isinstance(value, dict) else value
            if isinstance(reference, str):
                found[name] = reference
    return found


def _license(data: dict[str, Any]) -> str:
    """The SPDX expression, the old table's text where it is short, or the classifier."""
    value = data.get("license")
    if isinstance(value, dict):
        value = value.get("text")
    if isinstance(value, str) and value and len(value) <= 100:
        return value
    classified = [c for c in strings(data.get("classifiers")) if c.startswith("License ::")]
    return classified[-1].rsplit("::", 1)[-1].strip() if classified else ""


def _project(found: _Found) -> None:
    project = table(found.toml.data, "project")
    found.add_all(project.get("dependencies"), "", "project", "dependencies")
    for extra, listed in table(project, "optional-dependencies").items():
        found.add_all(listed, extra, "project.optional-dependencies", extra)
    found.set_python(project.get("requires-python"), "project", "requires-python")


def _groups(found: _Found) -> None:
    """PEP 735. An `include-group` names a group of this same file, whose requirements are listed there."""
    for group, listed in table(found.toml.data, "dependency-groups").items():
        found.add_all(listed, group, "dependency-groups", group)


def _poetry(found: _Found) -> None:
    poetry = table(found.toml.data, "tool", "poetry")
    tables = [("", "tool.poetry.dependencies", table(poetry, "dependencies"))]
    tables.append(("dev", "tool.poetry.dev-dependencies", table(poetry, "dev-dependencies")))
    for group in table(poetry, "group"):
        where = f"tool.poetry.group.{group}.dependencies"
        tables.append((group, where, table(poetry, "group", group, "dependencies")))
    extras = {
        normalise(name): extra for extra, names in table(poetry, "extras").items() for name in strings(names)
    }
    for group, where, dependencies in tables:
        found.declares = found.declares or bool(dependencies)
        for name, value in dependencies.items():
            if name.lower() == "python" and not group:
                found.set_python(value, where, name)
                continue
            line = found.toml.line(where, name)
            versions = value if isinstance(value, list) else [value]
            for version in versions:
                requirement = poetry_requirement(name, version, line, group, extras)
                if requirement is not None:
                    found.requirements.append(requirement)
    sources = poetry.get("source")
    for source in sources if isinstance(sources, list) else []:
        _index(found, source, "tool.poetry.source")


def _index(found: _Found, source: Any, where: str) -> None:
    url = source.get("url") if isinstance(source, dict) else source
    if isinstance(url, str):
        found.indexes.append((without_credentials(url), found.toml.line(where, "", url)))


def _setuptools(found: _Found) -> None:
    """`dynamic = ["dependencies"]` with `{file = …}`, and the old `[tool.flit.metadata]`-like lists."""
    dynamic = table(found.toml.data, "tool", "setuptools", "dynamic")
    files = strings(table(dynamic, "dependencies").get("file"))
    for entry in table(dynamic, "optional-dependencies").values():
        files += strings(entry.get("file")) if isinstance(entry, dict) else []
    found.includes += files
    found.declares = found.declares or bool(files)
    hatch = table(found.toml.data, "tool", "hatch", "metadata", "hooks", "requirements_txt")
    listed = strings(hatch.get("files")) or strings(hatch.get("filename"))
    found.includes += listed
    found.declares = found.declares or bool(listed)


def _flit(found: _Found) -> None:
    metadata = table(found.toml.data, "tool", "flit", "metadata")
    found.add_all(metadata.get("requires"), "", "tool.flit.metadata", "requires")
    for extra, listed in table(metadata, "requires-extra").items():
        found.add_all(listed, extra, "tool.flit.metadata.requires-extra", extra)
    found.set_python(metadata.get("requires-python"), "tool.flit.metadata", "requires-python")


def _uv(found: _Found) -> None:
    """uv's own groups and indexes; its sources give a declared requirement an address."""
    uv = table(found.toml.data, "tool", "uv")
    found.add_all(uv.get("dev-dependencies"), "dev", "tool.uv", "dev-dependencies")
    indexes = uv.get("index")
    for source in indexes if isinstance(indexes, list) else []:
        _index(found, source, "tool.uv.index")
    for key in ("index-url", "extra-index-url", "find-links"):
        for url in strings(uv.get(key)):
            found.indexes.append((without_credentials(url), found.toml.line("tool.uv", key)))
    sources = {normalise(name): value for name, value in table(uv, "sources").items()}
    if sources:
        found.requirements = [_with_source(r, sources.get(r.name)) for r in found.requirements]


def _with_source(requirement: Requirement, source: Any) -> Requirement:
    if isinstance(source, list):
        source = source[0] if len(source) == 1 else None
    if not isinstance(source, dict) or not ({"git", "url", "path"} & source.keys()):
        return requirement
    located = poetry_requirement(requirement.name, source, requirement.line, requirement.group, {})
    if located is None:
        return requirement
    return Requirement(
        name=requirement.name,
        specifier=requirement.specifier,
        exact=requirement.exact or located.exact,
        line=requirement.line,
        url=located.url,
        commit=located.commit,
        marker=requirement.marker,
        group=requirement.group,
        editable=located.editable,
    )


def _pdm(found: _Found) -> None:
    pdm = table(found.toml.data, "tool", "pdm")
    for group, listed in table(pdm, "dev-dependencies").items():
        editable = [text.removeprefix("-e ").strip() for text in strings(listed)]
        found.add_all(editable, group, "tool.pdm.dev-dependencies", group)
    sources = pdm.get("source")
    for source in sources if isinstance(sources, list) else []:
        _index(found, source, "tool.pdm.source")


def _hatch(found: _Found) -> None:
    for name, environment in table(found.toml.data, "tool", "hatch", "envs").items():
        if not isinstance(environment, dict):
            continue
        for key in ("dependencies", "extra-dependencies"):
            if key in environment:
                found.add_all(environment[key], name, f"tool.hatch.envs.{name}", key)


def _pixi(found: _Found) -> None:
    """Conda packages of pixi, in the main list and in features."""
    pixi = table(found.toml.data, "tool", "pixi") or table(found.toml.data, "tool", "pixi", "workspace")
    tables = [("", "tool.pixi", pixi)]
    tables += [
        (n, f"tool.pixi.feature.{n}", t) for n, t in table(pixi, "feature").items() if isinstance(t, dict)
    ]
    for group, where, content in tables:
        for name, value in table(content, "dependencies").items():
            version = value.get("version", "") if isinstance(value, dict) else value
            line = found.toml.line(f"{where}.dependencies", name)
            if not isinstance(version, str):
                continue
            if name == "python" and not group:
                found.set_python(version, f"{where}.dependencies", name)
                continue
            bare = "" if version == "*" else version
            requirement = parse_conda(name + (f"={bare}" if bare[:1].isdigit() else bare), line, group=group)
            if requirement is not None:
                found.declares = True
                found.requirements.append(requirement)
        for name, value in table(content, "pypi-dependencies").items():
            line = found.toml.line(f"{where}.pypi-dependencies", name)
            requirement = poetry_requirement(name, value, line, group, {})
            if requirement is not None and not is_project(requirement.url):
                found.declares = True
                found.requirements.append(requirement)
